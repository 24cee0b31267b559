package shell

import (
	"slices"
	"testing"
)

// showsVariables reports whether a command of the line is marked.
func showsVariables(line string, d Dialect) bool {
	facts := Analyze(line, Options{Dir: "/p", Home: "/h", Dialect: d})
	return slices.ContainsFunc(facts.Actions, func(a Action) bool { return a.Kind == Command && a.Environment })
}

// TestEnvironment checks that commands that print values of variables that may be
// secrets are marked, however they are spelled and whatever runs them.
func TestEnvironment(t *testing.T) {
	for _, line := range []string{
		"env", "env -0", "env --null", "env -u A", "env --unset=A -v", "env --", "env A=1", "env A=1 B=2", `env "$x"`, "env $x", "env -S ''", "env -u -", "/usr/bin/env",
		"printenv", "printenv -0", "printenv X", "printenv HOME GITHUB_TOKEN", "printenv $x", `printenv "$x"`, "printenv -- X", "printenv DOCKER_AUTH_CONFIG", "printenv https_proxy", "printenv JAVA_OPTS",
		"export", "export -p", "export --", "export -n", "export -p X", "export | sort", "command export -p",
		"declare", "declare -p", "declare -x", "declare +x", "declare -px", "declare -xr", "declare -g", "declare -p X", "declare -p PATH X", "typeset", "typeset -p", "builtin declare -p",
		"set", "set | grep X", "(set)", "{ set; } >out", "$(set)",
		"ps e", "ps auxe", "ps eww -p 1", "ps aux e", "ps -p 1 e", "ps axeo args", "ps -axe", "ps -auxe", "ps -xe", "ps -E", "ps -e e",
		"sudo env", "timeout 5 printenv", "nohup env", "xargs printenv", "bash -c set", "sh -c 'export -p'", "busybox printenv", "f() { declare -p; }; f", "env env", "env A=1 printenv X", "if env; then :; fi", "env -i env",
		"tmux show-environment", "tmux showenv -g", "tmux show-environment -t x TOKEN", "systemctl show-environment", "systemctl --user show-environment",
		"awk 'BEGIN { for (k in ENVIRON) print ENVIRON[k] }'", `awk 'BEGIN { print ENVIRON["NPM_TOKEN"] }'`, `gawk 'BEGIN { print SYMTAB["x"] }'`, `awk 'BEGIN { print ENVIRON["HO" "ME"] }'`,
		"jq -n env", "jq -n '$ENV'", "jq -n 'env.X'", `jq -n '"\(env.X)"'`, "jq -n '{a: env}'", "jq -n '$ENV[\"PATH\"]'", "jq -n '$ENV.PATHS'", "yq -n 'strenv(X)'", "yq -n 'env(X)'", "yq -n --expression='strenv(X)'", "yq eval -n 'strenv(X)'",
		"envsubst", "envsubst < t.yaml", "envsubst '$HOME $TOKEN'", "envsubst '${TOKEN}'", `envsubst "$x"`,
	} {
		if !showsVariables(line, Bash) {
			t.Errorf("%q: not marked", line)
		}
	}
	for _, line := range []string{
		"env -", "env -i", "env -i A=1", "env FOO=1 make", "env -u A make test", "env --help", "env --version", "env - make",
		"printenv PATH", "printenv HOME SHELL", "printenv PWD LANG LC_ALL", "printenv NODE_ENV", "printenv --help",
		"export A=1", "export A", "export -f f", "export -n A", "env -i -u -", "export PATH", "export -p PATH", "declare -p PATH", "declare -f", "declare -F", "declare -fp", "declare -i", "declare -a", "declare -pA", "declare -r", "declare x=1", "declare -x X", "readonly", "readonly -p", "local x",
		"set -e", "set -euo pipefail", "set -o", "set +o", "set -- a b", "set -", "set +", "set x", "set ''",
		"compgen -e", "compgen -v", "compgen -A export", "command -v env", "type env", "which printenv", "man env", "echo env", "echo $HOME",
		"ps", "ps aux", "ps -e", "ps -ef", "ps ax", "ps -aux", "ps -eo args", "ps -C node", "ps -C exe", "ps U dev", "ps -u dev", "ps --user dev", "ps --no-headers aux", "ps -p 1", "ps axo exe", "ps -o exe -e",
		"awk '{ print $1 }'", `awk 'BEGIN { print ENVIRON["HOME"] }'`, `awk '{ print "ENVIRON" }'`,
		"jq .env x.json", "jq '.a.env' x", `jq '.["env"]' x`, "jq '{env: .x}' x", "jq '.environment' x", `jq '{"env" : 1}' x`, "jq '.env.X' x", "jq '$environ' x", "jq myenv x", "jq -n '$ENV.PATH'", "jq -n 'env.HOME | length'", "command export PATH=.:$PATH", "command export A=$x",
		"envsubst -v '$TOKEN'", "envsubst '$HOME ${LANG}'", "envsubst --help", "envsubst ''",
		"tmux ls", "tmux show-environment PATH", "systemctl status", "docker inspect x", "kubectl exec x -- env -i",
	} {
		if showsVariables(line, Bash) {
			t.Errorf("%q: marked", line)
		}
	}
}

// TestEnvironmentOfShells checks what shells other than bash print.
func TestEnvironmentOfShells(t *testing.T) {
	for _, tt := range []struct {
		line    string
		dialect Dialect
		want    bool
	}{
		{"export -p X", Sh, true},
		{"set", Sh, true},
		{"export", Zsh, true},
		{"typeset", Zsh, true},
		{"typeset X", Zsh, true},
		{"typeset PATH", Zsh, false},
		{"typeset -m 'N*'", Zsh, true},
		{"local", Zsh, true},
		{"export -F", Zsh, true},
		{"readonly -x", Zsh, true},
		{"export -p -f", Sh, true},
		{"export -p -f", Bash, false},
		{"local", Bash, false},
		{"typeset X", Bash, false},
		{"export X", Zsh, false},
	} {
		if got := showsVariables(tt.line, tt.dialect); got != tt.want {
			t.Errorf("%q in %v: marked %v, want %v", tt.line, tt.dialect, got, tt.want)
		}
	}
}
