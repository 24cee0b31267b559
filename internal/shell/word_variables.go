package shell

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// effect is the effect of setting a variable, in the shell or in the programs that
// obey it.
type effect uint8

const (
	varUnlisted  effect = iota // programs may obey it
	varHarmless                // output, languages, ports: nothing else runs, is read or is written
	varData                    // the shell only reads it back
	varCounter                 // evaluated by the shell as arithmetic, with the substitutions in it
	varPrompt                  // expanded and printed by the shell
	varSearch                  // search path of programs, functions, modules, libraries or settings
	varProgram                 // names or holds what is run
	varSettings                // options or option files of a program
	varReading                 // how the shell reads its line: splitting, patterns, options, names
	varPlace                   // the home, the current directory, and where relative names lead
	varFiles                   // a file that is written, truncated or loaded
	varCatalogue               // source of translated text, which bash expands
)

// class returns the class of a variable with this effect. The class of a counter
// depends on its value; see classOf.
func (e effect) class() VarClass {
	switch e {
	case varHarmless:
		return Harmless
	case varUnlisted, varData, varCounter:
		return Other
	}
	return Dangerous
}

// obeyed is the set of dialects in whose lines a variable has an effect; all of them
// if programs obey it.
type obeyed uint8

const (
	inBash obeyed = 1 << Bash
	inSh   obeyed = 1 << Sh
	inZsh  obeyed = 1 << Zsh
	always        = inBash | inSh | inZsh
)

// variables lists every variable that the manual pages bash(1), dash(1), zshparam(1)
// and zshmodules(1) give a meaning, and those of programs in the pages of ld.so, git,
// less, man, python, perl, ruby, node, java and npm. Among several rows for a name
// and a dialect the last one counts. own marks variables that the shell itself
// changes, so that an assignment does not determine a later value.
//
// Which assignments a shell evaluates was measured (TestVariables): bash 5.2
// evaluates those to counters, SECONDS and BASHPID only in some forms; zsh 5.9
// evaluates every assignment to an integer parameter, and REPORTTIME and the like
// when it uses them.
var variables = []struct {
	by    obeyed
	does  effect
	own   bool
	names string
}{
	{by: always, does: varHarmless, names: `NODE_ENV CI LANG LANGUAGE TZ GOOS GOARCH GOARM CGO_ENABLED NO_COLOR FORCE_COLOR CLICOLOR
		CLICOLOR_FORCE COLORTERM TERM DEBUG VERBOSE LOG_LEVEL RUST_LOG RUST_BACKTRACE PORT HOST ENVIRONMENT APP_ENV RAILS_ENV
		RACK_ENV TEST COVERAGE HEADLESS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONHASHSEED
		GIT_TERMINAL_PROMPT CARGO_TERM_COLOR DEBIAN_FRONTEND COLUMNS LINES LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES
		LC_NUMERIC LC_TIME`},

	// all shells
	{by: always, does: varCounter, own: true, names: "RANDOM SRANDOM SECONDS HISTCMD BASHPID OPTIND LINENO"},
	{by: always, does: varCounter, names: "BAUD DIRSTACKSIZE KEYTIMEOUT LISTMAX LOGCHECK REPORTMEMORY REPORTTIME SAVEHIST TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT"},
	{by: always, does: varPrompt, names: "PS0 PS1 PS2 PS4 MAILPATH"},
	{by: always, does: varSearch, names: "PATH FPATH MODULE_PATH CDPATH"},
	{by: always, does: varProgram, names: "ENV PROMPT_COMMAND FCEDIT STTY ARGV0 NULLCMD READNULLCMD SHELL"},
	{by: always, does: varReading, names: "IFS SHELLOPTS BASHOPTS POSIXLY_CORRECT EXECIGNORE GLOBIGNORE TIMEFORMAT histchars HISTCHARS"},
	{by: always, does: varPlace, own: true, names: "DIRSTACK"},
	{by: always, does: varPlace, names: "HOME PWD OLDPWD TMPDIR ZDOTDIR"},
	{by: always, does: varFiles, names: "HISTFILE HISTFILESIZE HOSTFILE INPUTRC TMPPREFIX TMPSUFFIX"},
	{by: always, does: varCatalogue, names: "TEXTDOMAIN TEXTDOMAINDIR NLSPATH LOCPATH"},
	{by: always, does: varData, own: true, names: "_ EPOCHSECONDS EPOCHREALTIME FUNCNAME PIPESTATUS GROUPS PPID UID EUID COPROC"},
	{by: always, does: varData, names: `BASH auto_resume CHILD_MAX COMPREPLY COMP_CWORD COMP_KEY COMP_LINE COMP_POINT COMP_TYPE COMP_WORDBREAKS
		COMP_WORDS EMACS FIGNORE FUNCNEST GLOBSORT HISTCONTROL HISTIGNORE HISTSIZE HISTTIMEFORMAT HOSTNAME HOSTTYPE IGNOREEOF
		INSIDE_EMACS MACHTYPE MAIL MAILCHECK MAPFILE OPTARG OPTERR OSTYPE PROMPT_DIRTRIM PS3 READLINE_ARGUMENT READLINE_LINE
		READLINE_MARK READLINE_POINT REPLY SHLVL TMOUT`},

	// some shells, or another meaning there
	{by: inSh | inZsh, does: varCounter, names: "COLUMNS LINES HISTSIZE SHLVL TMOUT MAILCHECK FUNCNEST ERRNO"},
	{by: inSh | inZsh, does: varPrompt, names: "PS3"},
	{by: inZsh, does: varCounter, own: true, names: "EGID EUID GID UID TTYIDLE PPID ARGC ZSH_SUBSHELL ZLE_RPROMPT_INDENT status"},
	{by: inZsh, does: varPrompt, names: `PROMPT PROMPT2 PROMPT3 PROMPT4 RPROMPT RPROMPT2 RPS1 RPS2 SPROMPT PSVAR psvar prompt TIMEFMT POSTEDIT
		PROMPT_EOL_MARK WATCHFMT WATCH watch`},
	{by: inZsh, does: varSearch, names: "path fpath cdpath manpath module_path mailpath"},
	{by: inZsh, does: varProgram, names: `commands builtins functions aliases galiases saliases dis_aliases dis_builtins dis_functions dis_galiases
		dis_saliases widgets keymaps zsh_scheduled_events functions_source dis_functions_source`},
	{by: inZsh, does: varReading, names: `options WORDCHARS KEYBOARD_HACK fignore argv 0 parameters modules patchars dis_patchars reswords dis_reswords
		pipestatus history historywords termcap terminfo ZSH_EVAL_CONTEXT zsh_eval_context`},
	{by: inZsh, does: varPlace, names: "dirstack nameddirs userdirs usergroups USERNAME"},
	{by: inZsh, does: varFiles, names: "HELPDIR mapfile"},
	{by: inZsh, does: varData, own: true, names: `funcfiletrace funcsourcetrace funcstack functrace jobdirs jobstates jobtexts signals errnos sysparams
		MATCH MBEGIN MEND match mbegin mend reply`},
	{by: inZsh, does: varData, names: `CPUTYPE CORRECT_IGNORE CORRECT_IGNORE_FILE HISTNO HISTORY_IGNORE LOGNAME TTY VENDOR ZBEEP ZLE_LINE_ABORTED
		ZLE_REMOVE_SUFFIX_CHARS ZLE_SPACE_SUFFIX_CHARS ZSH_ARGZERO ZSH_EXECUTION_STRING ZSH_NAME ZSH_PATCHLEVEL
		ZSH_SCRIPT ZSH_VERSION langinfo zle_bracketed_paste zle_highlight`},

	// programs
	{by: always, does: varSearch, names: `MANPATH NODE_PATH CLASSPATH JAVA_HOME GOROOT GOPROXY GOTOOLCHAIN TERMINFO TERMINFO_DIRS TERMCAP TEXINPUTS
		TZDIR MYPYPATH LOCATE_PATH WORDLIST AWKPATH AWKLIBPATH CURL_HOME HOSTALIASES LOCALDOMAIN OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES`},
	{by: always, does: varProgram, names: "LESSOPEN LESSCLOSE RSYNC_RSH CVS_RSH CC CXX CPP FZF_DEFAULT_COMMAND RUNNER GREP"},
	{by: always, does: varSettings, names: `LESS LESSKEY LESSKEYIN MANOPT NODE_OPTIONS GREP_OPTIONS TAR_OPTIONS MAKEFLAGS MFLAGS GNUMAKEFLAGS GOFLAGS
		RES_OPTIONS PYLINTRC YAMLLINT_CONFIG_FILE RIPGREP_CONFIG_PATH WGETRC NETRC http_proxy https_proxy all_proxy JQ_COLORS`},
}

// families match variables without a row by the beginning or end of the name.
var families = struct{ dangerous, harmless, ends []string }{
	dangerous: []string{
		"LD_", "DYLD_", "GIT_", "PYTHON", "BASH_", "npm_config_", "NPM_CONFIG_", "GCONV_", "PERL5",
		"RUBY", "LUA_", "CARGO_", "RUSTC", "SSH_", "DOCKER_", "KUBE", "GLIBC_", "MALLOC_", "XDG_",
	},
	harmless: []string{"LC_"},
	ends: []string{
		"PAGER", "EDITOR", "VISUAL", "BROWSER", "_OPTIONS", "_OPTS", "_COMMAND", "_ASKPASS",
		"_PRELOAD", "_proxy", "_PROXY",
	},
}

// variable holds what is known of a name, by dialect.
type variable struct {
	does [Foreign]effect
	own  [Foreign]bool
}

// knownVariables indexes the rows by name. It is built when a line first sets a
// variable.
var knownVariables = sync.OnceValue(func() map[string]variable {
	known := map[string]variable{}
	for _, row := range variables {
		for _, name := range strings.Fields(row.names) {
			v := known[name]
			for d := range Foreign {
				if row.by&(1<<d) != 0 {
					v.does[d], v.own[d] = row.does, row.own
				}
			}
			known[name] = v
		}
	}
	return known
})

// changes reports whether a shell of the dialect changes a variable by itself.
func (d Dialect) changes(name string) bool { return d < Foreign && knownVariables()[name].own[d] }

// effectOf returns the effect of setting a variable in a line of the dialect.
func (d Dialect) effectOf(name string) effect {
	if v, ok := knownVariables()[name]; ok && d < Foreign && v.does[d] != varUnlisted {
		return v.does[d]
	}
	switch {
	case begins(name, families.harmless):
		return varHarmless
	case begins(name, families.dangerous), ends(name, families.ends):
		return varSettings
	}
	return varUnlisted
}

// classOf returns the class of setting a variable to a value. A nil value means that
// the variable keeps its value, or loses it.
func (d Dialect) classOf(name string, value *Word) VarClass {
	switch does := d.effectOf(name); {
	case value != nil && (does == varUnlisted || does == varSettings || does == varProgram) && harmlessValue(name, value):
		return Harmless
	case does != varCounter:
		return does.class()
	case value != nil && !number(value):
		return Dangerous
	case Bash.effectOf(name) == varHarmless:
		return Harmless
	}
	return Other
}

// harmlessValues are variables that programs obey, and the values with which nothing
// else runs, is found, read, written or reached: a number of threads or of
// megabytes, a pager or an editor that only passes text on, a service on this
// machine. By go help environment, node(1), git-var(1), pytest(1) and the pages of the
// services' clients.
var harmlessValues = []harmlessRow{
	{
		lazyregexp.New(`^(GOMAXPROCS|GOGC|GOMEMLIMIT|(OMP|MKL|OPENBLAS|NUMEXPR|RAYON)_NUM_THREADS|UV_THREADPOOL_SIZE|CARGO_BUILD_JOBS)$`),
		lazyregexp.New(`^([0-9]+([KMGT]i?B)?|off)$`),
	},
	{
		lazyregexp.New(`^NODE_OPTIONS$`),
		lazyregexp.New(`^( ?--(max[-_]old[-_]space[-_]size|max[-_]semi[-_]space[-_]size|stack-trace-limit|max-http-header-size)=[0-9]+| ?--(no-warnings|no-deprecation|trace-warnings|trace-deprecation|enable-source-maps|experimental-vm-modules))+$`),
	},
	{lazyregexp.New(`^((GIT|GH|SYSTEMD|BAT|DELTA|MAN|PSQL)_)?PAGER$|^MANPAGER$`), lazyregexp.New(`^(cat)?$`)},
	{lazyregexp.New(`^(GIT_EDITOR|GIT_SEQUENCE_EDITOR|EDITOR|VISUAL)$`), lazyregexp.New(`^(true|:)$`)},
	{lazyregexp.New(`^(GIT_OPTIONAL_LOCKS|ESLINT_USE_FLAT_CONFIG|DO_NOT_TRACK|NEXT_TELEMETRY_DISABLED|PIP_DISABLE_PIP_VERSION_CHECK)$`), lazyregexp.New(`^(0|1|true|false)$`)},
	{lazyregexp.New(`^GOFLAGS$`), lazyregexp.New(`^( ?-(mod=(readonly|vendor)|count=[0-9]+|short|v))+$`)},
	{lazyregexp.New(`^([A-Z0-9]+_)*(LOG_?LEVEL)$`), lazyregexp.New(`^[A-Za-z]{1,10}$`)},
	{lazyregexp.New(`^([A-Z0-9]+_)*(DB|DATABASE|REDIS|MONGO|MONGODB|PG|POSTGRES|POSTGRESQL|MYSQL|API|APP|SERVER)_?PORT$`), lazyregexp.New(`^[0-9]{1,5}$`)},
	{
		lazyregexp.New(`^([A-Z0-9]+_)*(DB|DATABASE|REDIS|MONGO|MONGODB|PG|POSTGRES|POSTGRESQL|MYSQL|AMQP|RABBITMQ)_?(URL|URI|DSN|HOST)$`),
		lazyregexp.New(`^([a-z][a-z0-9+]*://([^\s/@?#]*@)?)?(localhost|127\.0\.0\.1)(:[0-9]{1,5})?(/[\w-]*)?(\?sslmode=disable)?$`),
	},
}

// harmlessRow is a row of harmlessValues.
type harmlessRow struct{ name, value lazyregexp.Regexp }

// harmlessValue reports whether a variable has one of the values of the table.
func harmlessValue(name string, value *Word) bool {
	if !value.Known() {
		return false
	}
	for i := range harmlessValues {
		if harmlessValues[i].name.MatchString(name) {
			return harmlessValues[i].value.MatchString(value.Text)
		}
	}
	return false
}

// inherits reports whether the environment of a shell may have a variable already, so
// that a plain assignment changes what programs get: a table gives it a meaning.
func inherits(name string) bool {
	return program.Obeyed(name) || slices.ContainsFunc(harmlessValues, func(row harmlessRow) bool { return row.name.MatchString(name) })
}

// tells reports whether the value of a variable may be a secret. A name of a known
// family (GIT_…, …_OPTIONS) may still hold one.
func tells(name string) bool {
	switch Bash.effectOf(name) {
	case varUnlisted:
		return true
	case varHarmless:
		return false
	}
	return begins(name, families.dangerous) || ends(name, families.ends)
}

func tellsWord(w Word) bool { return !w.Known() || tells(w.Text) }

// plainIndex reports whether the shell evaluates nothing in a name with an optional
// index: the index is @, * or digits.
func plainIndex(name string) bool {
	at := strings.IndexByte(name, '[')
	if at < 0 {
		return syntax.ValidName(name)
	}
	index := strings.TrimSuffix(name[at+1:], "]")
	return syntax.ValidName(name[:at]) && (index == "@" || index == "*" || index != "" && strings.Trim(index, "0123456789") == "")
}

// withoutIndex returns the name of a variable without its index.
func withoutIndex(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return name
}

// assigns reports whether a word is NAME=value.
func assigns(w *Word) bool {
	name, _, found := strings.Cut(w.Text, "=")
	return found && syntax.ValidName(name)
}
