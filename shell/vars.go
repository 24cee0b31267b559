package shell

import "strings"

// classOf tells how far a variable's value can change what a program does.
// The names are those of the manual pages of bash, ld.so, git, less, man,
// python, perl, ruby, node, java and npm.
func classOf(name string) VarClass {
	switch {
	case harmlessVars[name] || strings.HasPrefix(name, "LC_"):
		return Harmless
	case dangerousVars[name] || dangerousName(name):
		return Dangerous
	}
	return Other
}

func dangerousName(name string) bool {
	for _, p := range dangerousPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, s := range dangerousSuffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

var dangerousPrefixes = []string{
	"LD_", "DYLD_", "GIT_", "PYTHON", "BASH_", "npm_config_", "NPM_CONFIG_", "GCONV_", "PERL5",
	"RUBY", "LUA_", "CARGO_", "RUSTC", "SSH_", "DOCKER_", "KUBE", "GLIBC_", "MALLOC_", "XDG_",
}

var dangerousSuffixes = []string{
	"PAGER", "EDITOR", "VISUAL", "BROWSER", "_OPTIONS", "_OPTS", "_COMMAND", "_ASKPASS",
	"_PRELOAD", "_proxy", "_PROXY",
}

var dangerousVars = set(
	"PATH", "IFS", "ENV", "PS0", "PS1", "PS2", "PS4", "HOME", "CDPATH", "SHELL", "SHELLOPTS",
	"BASHOPTS", "PROMPT_COMMAND", "LESS", "LESSOPEN", "LESSCLOSE", "LESSKEY", "LESSKEYIN", "MANOPT",
	"MANPATH", "NODE_PATH", "NODE_OPTIONS", "CLASSPATH", "JAVA_HOME", "GREP_OPTIONS",
	"TAR_OPTIONS", "RSYNC_RSH", "CVS_RSH", "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "GOFLAGS",
	"GOROOT", "GOTOOLCHAIN", "GOPROXY", "CC", "CXX", "CPP", "TERMINFO", "TERMCAP",
	"HISTFILE", "INPUTRC", "OLDPWD", "PWD", "TMPDIR", "TEXINPUTS", "FPATH", "ZDOTDIR",
	"POSIXLY_CORRECT", "EXECIGNORE", "GLOBIGNORE", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS",
	"NLSPATH", "TZDIR", "RIPGREP_CONFIG_PATH", "FZF_DEFAULT_COMMAND", "AWKPATH", "AWKLIBPATH",
	"CURL_HOME", "WGETRC", "NETRC", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES",
	"http_proxy", "https_proxy", "all_proxy", "TIMEFORMAT", "RUNNER", "JQ_COLORS",
)

var harmlessVars = set(
	"NODE_ENV", "CI", "LANG", "LANGUAGE", "TZ", "GOOS", "GOARCH", "GOARM", "CGO_ENABLED", "NO_COLOR",
	"FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "TERM", "COLUMNS", "LINES", "DEBUG",
	"VERBOSE", "LOG_LEVEL", "RUST_LOG", "RUST_BACKTRACE", "PORT", "HOST", "ENVIRONMENT", "APP_ENV",
	"RAILS_ENV", "RACK_ENV", "TEST", "COVERAGE", "HEADLESS", "PYTHONUNBUFFERED",
	"PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONHASHSEED", "GIT_TERMINAL_PROMPT",
	"CARGO_TERM_COLOR", "DEBIAN_FRONTEND",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
