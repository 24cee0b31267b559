package shell

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// settingWays are the ways to set the variable N to V, in all of the shells.
var settingWays = []string{
	"N=V", "N=V", "N=V c1", "export N=V", "readonly N=V", ": ${N:=V}", ": ${N=V}", "unset N; : ${N:=V}", "unset N; N=V", "x=V; N=$x", "x=V; export N=\"$x\"",
	"for N in V; do c1; done", "read N <<< V", "read N <<E\n\"V\"\nE\n", "read x N <<< \"a \"V", "read -r N < a.txt", "echo V | while read -r N; do c1; done", "eval N=V", "eval \"N=\"V",
	"x=V; getopts x N -x", "set -- -x; x=V; while getopts x N; do c1; done", "export 'N'=V", "env N=V sh -c 'c1; c1'", "N=V sh -c 'c1; c1'", "export N=V; bash -c 'c1; c1'", "command export N=V", "f() { N=V; }; f",
	"N+=V", "N[0]=V", "N[x]=V", "N=(V)", "N+=(V)", "N=([0]=V)", "declare N=V", "typeset N=V", "declare -g N=V", "builtin declare N=V", "f() { local N=V; }; f", "f() { typeset N=V; }; f", "declare -x N=V", "declare -a N=V",
	"select N in V; do c1; break; done", "read -a N <<< V", "read -ra N <<< V", "mapfile -t N <<< V", "readarray -t N <<< V", "printf -v N %s V", "printf -v N V", "printf -vN %s V", "printf -v 'N[0]' %s V",
	"coproc N { c1; }", "exec {N}>f", "wait -p N", "(( N = 1 ))", "let N=1", "declare -n x=N; x=V", "local N=V", "set -a; N=V; c1", "N=V env N=V c1", "for ((N=1; N<2; N++)); do c1; done", "[[ V =~ (.*) ]]; N=$BASH_REMATCH",
	"integer N=V", "set -A N V", "print -v N V", ": ${N::=V}", "float N=V", "N=V; c1; cd sub; set -x; c1", "N=V; set -x; c1 | c2", "N=V; time c1; nosuch <a.txt", "typeset -gx N=V",
}

// settingNothing and settingZsh list those of settingWays that set N to a number of
// their own, and those that only zsh has.
var (
	settingNothing = []string{"exec {N}>f", "(( N = 1 ))", "let N=1", "for ((N=1; N<2; N++)); do c1; done"}
	settingZsh     = []string{"integer N=V", "set -A N V", "print -v N V", ": ${N::=V}", "float N=V"}
)

// TestManualVariables checks that the table lists every variable of the manual pages.
func TestManualVariables(t *testing.T) {
	data, err := os.ReadFile("testdata/variables.txt")
	if err != nil {
		t.Fatal(err)
	}
	dialects := map[string]Dialect{"bash": Bash, "dash": Sh, "zsh": Zsh}
	d, names := Foreign, 0
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "\t") {
			d = dialects[strings.TrimSpace(line)]
			continue
		}
		for _, name := range strings.Fields(line) {
			if names++; d.effectOf(name) == varUnlisted {
				t.Errorf("the table does not know %s in dialect %d", name, d)
			}
		}
	}
	if names < 200 {
		t.Errorf("only %d names were read", names)
	}
}

// counters returns the variables that a shell of the dialect evaluates.
func counters(d Dialect) []string {
	var names []string
	for name := range knownVariables() {
		if d.effectOf(name) == varCounter {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestCounters checks that a counter set to a value that a shell would evaluate, in
// any way, makes an opaque spot that names it.
func TestCounters(t *testing.T) {
	for _, d := range []Dialect{Bash, Sh, Zsh} {
		names := counters(d)
		if len(names) < 10 {
			t.Errorf("dialect %d has only the counters %v", d, names)
		}
		for _, name := range names {
			for _, value := range []string{"'b[$(c9)]'", "b[\\$\\(c9\\)]", "$'b[\\x24(c9)]'", "x", `"$x"`, "`c2`"} {
				for _, way := range settingWays {
					if slices.Contains(settingNothing, way) || d != Zsh && slices.Contains(settingZsh, way) {
						continue
					}
					line := strings.NewReplacer("N", name, "V", value).Replace(way)
					if f := Analyze(line, Options{Dir: "/w", Dialect: d}); !hasOpaque(f, MayRun) {
						t.Errorf("dialect %d, %q: no opaque spot\n%s", d, line, dump(f))
					}
				}
			}
		}
	}
}

// TestCountersOfLoops checks that one value of a loop that is not a number is enough.
func TestCountersOfLoops(t *testing.T) {
	for _, line := range []string{"for RANDOM in 1 'b[$(c9)]'; do ls; done", "for RANDOM in 1 $x; do ls; done", "for RANDOM; do ls; done", "x=1; x='b[$(c9)]'; RANDOM=$x"} {
		if f := analyze(line); !hasOpaque(f, MayRun) {
			t.Errorf("%q: no opaque spot\n%s", line, dump(f))
		}
	}
}

// TestCountersTakeNumbers checks that counters may be set to plain numbers.
func TestCountersTakeNumbers(t *testing.T) {
	for _, line := range []string{
		"SECONDS=0; make; echo $SECONDS", "RANDOM=42", "OPTIND=1", "unset OPTIND", "export SECONDS=0", "declare RANDOM=7", "SECONDS+=5", "RANDOM[0]=1",
		"for OPTIND in 1 2; do ls; done", "n=5; SECONDS=$n", "SECONDS=$((1 + 2))", "OPTIND=1 ls", "COLUMNS=80 ls", "COLUMNS=$w ls", "LINES=10 ls", "UID=x ls",
		"path=src; ls $path", "status=1; echo $status", "GID=$g; ls", "options=x; ls", "HISTSIZE=x ls", "SHLVL=x ls", "(( SECONDS = 0 ))", "exec {fd}>f",
	} {
		if f := Analyze(line, Options{Dir: "/w", Dialect: Bash}); hasOpaque(f, MayRun) {
			t.Errorf("%q: an opaque spot\n%s", line, dump(f))
		}
	}
	for _, line := range []string{"COLUMNS=80 ls", "SECONDS=0; make", "LINES=$((1+1)); ls", "path_=src; ls"} {
		for _, d := range []Dialect{Sh, Zsh} {
			if f := Analyze(line, Options{Dir: "/w", Dialect: d}); d == Sh && hasOpaque(f, MayRun) {
				t.Errorf("dialect %d, %q: an opaque spot\n%s", d, line, dump(f))
			}
		}
	}
	for _, class := range []struct {
		name, value string
		want        VarClass
	}{{"COLUMNS", "80", Harmless}, {"SECONDS", "0", Other}, {"SECONDS", "x", Dangerous}, {"RANDOM", "", Dangerous}, {"HISTFILESIZE", "0", Dangerous}, {"FOO", "x", Other}, {"LC_X", "x", Harmless}, {"MY_PAGER", "x", Dangerous},
		{"NODE_OPTIONS", "--max-old-space-size=4096 --no-warnings", Harmless}, {"NODE_OPTIONS", "--max-old-space-size=4096 --require=./x", Dangerous}, {"NODE_OPTIONS", "-r ./x", Dangerous}, {"NODE_OPTIONS", "", Dangerous},
		{"GOMAXPROCS", "2", Harmless}, {"GOMAXPROCS", "x", Other}, {"GOFLAGS", "-mod=vendor -count=1", Harmless}, {"GOFLAGS", "-mod=mod", Dangerous}, {"GOFLAGS", "-toolexec=x", Dangerous}, {"GOFLAGS", "-mod=vendor -toolexec=x", Dangerous},
		{"GIT_PAGER", "cat", Harmless}, {"PAGER", "cat x", Dangerous}, {"PAGER", "./cat", Dangerous}, {"XPAGER", "cat", Dangerous}, {"GIT_EDITOR", "true", Harmless}, {"GIT_EDITOR", "true; rm x", Dangerous}, {"EDITOR", "vi", Dangerous},
		{"DATABASE_URL", "postgres://app:app@localhost:5432/app_test?sslmode=disable", Harmless}, {"DATABASE_URL", "postgres://db.example/app", Other}, {"DATABASE_URL", "postgres://localhost@evil.example/x", Other},
		{"DATABASE_URL", "postgres://localhost.evil.example/x", Other}, {"DATABASE_URL", "postgres://a@evil.example?@localhost/x", Other}, {"DATABASE_URL", "file:x.db", Other}, {"TEST_DB_HOST", "127.0.0.1", Harmless}, {"PIP_INDEX_URL", "http://localhost/x", Other},
		{"DB_PORT", "5433", Harmless}, {"APP_LOG_LEVEL", "debug", Harmless}, {"APP_LOG_LEVEL", "a b", Other}, {"GIT_SSH", "true", Dangerous}, {"LD_PRELOAD", "cat", Dangerous}, {"ESLINT_USE_FLAT_CONFIG", "true", Harmless}, {"CONFIG", "x.yaml", Other},
	} {
		if got := Bash.classOf(class.name, &Word{Text: class.value}); got != class.want {
			t.Errorf("%s=%s is of class %d, want %d", class.name, class.value, got, class.want)
		}
	}
}

// TestValuesOfTheShell checks that a variable changed by the shell itself does not
// hold what was assigned.
func TestValuesOfTheShell(t *testing.T) {
	for _, name := range []string{"RANDOM", "SECONDS", "_", "LINENO", "UID", "PPID", "OPTIND", "DIRSTACK", "EPOCHSECONDS"} {
		if f := analyze(name + "=1; $" + name + " x"); !hasOpaque(f, MayRun) {
			t.Errorf("%s is what it was set to: %s", name, dump(f))
		}
	}
	if f := analyze("reply=ls; $reply x"); hasOpaque(f, MayRun) {
		t.Errorf("reply is changed by zsh only: %s", dump(f))
	}
}

// TestZshEvaluates checks that what zsh evaluates as arithmetic must be a number.
func TestZshEvaluates(t *testing.T) {
	for _, line := range []string{
		"break 'path[$(c9)]'", "continue x", "shift 'path[$(c9)]'", "shift -- x", "return x", "exit 'path[$(c9)]'", "bye x", "logout x", "builtin exit x",
		"printf %d 'path[$(c9)]'", "printf '%s %i' a x", "printf '%*s' x a", "printf '%.*f' x 1", "printf \"$f\" x", "test -t x", "[ -t 'path[$(c9)]' ]",
		"[[ -t 'path[$(c9)]' ]]", "x=-t; test $x y", "command -a x", "command -l x", "exec -p x", `echo $"a"`,
	} {
		if f := Analyze(line, Options{Dir: "/w", Dialect: Zsh}); !hasOpaque(f, MayRun) {
			t.Errorf("%q: no opaque spot\n%s", line, dump(f))
		}
	}
	for _, line := range []string{
		"exit 1", "exit $?", "exit", "shift", "shift 2", "return 0", "break", "printf '%s\\n' x", "printf %d 5", "printf x", "printf '%s %s' a", "test -t 1", "[ -t 0 ]",
		`[ -n "$x" ]`, `[ "$a" != b ]`, "test -f x", "[[ -t 1 ]]", "command -v x", "printf '100%%\\n'", "printf '%-5s|%q\\n' a b",
	} {
		if f := Analyze(line, Options{Dir: "/w", Dialect: Zsh}); hasOpaque(f, MayRun) {
			t.Errorf("%q: an opaque spot\n%s", line, dump(f))
		}
		if f := Analyze(strings.Replace(line, "exec", "true", 1), Options{Dir: "/w"}); hasOpaque(f, MayRun) {
			t.Errorf("bash, %q: an opaque spot\n%s", line, dump(f))
		}
	}
}

// TestTranslated checks that $"..", which bash translates and then expands, is opaque
// everywhere.
func TestTranslated(t *testing.T) {
	for _, line := range []string{
		`echo $"hello"`, `x=$"hello"`, `$"ls"`, `cat <<< $"hello"`, `echo "${x:-$"hello"}"`, `case $"a" in b) ls;; esac`, `[[ $"a" == b ]]`, `for x in $"a"; do ls; done`,
		`echo $(echo $"a")`, `a=($"a")`, `eval 'echo $"a"'`, `bash -c 'echo $"a"'`, `ls > $"f"`, `echo $(($"1"))`, `f() { echo $"a"; }`, `export x=$"a"`, "echo `echo $\"a\"`", `echo ${x/$"a"/b}`, `{ echo $"a"; } &`, `echo a$"b"`, `echo $""`,
	} {
		if f := analyze(line); !hasOpaque(f, MayRun) {
			t.Errorf("%q: no opaque spot\n%s", line, dump(f))
		}
	}
	for _, line := range []string{`echo '$"a"'`, `echo "\$"`, `echo a$ "b"`, "cat <<'E'\n$\"a\"\nE", `echo "x$" "y"`} {
		if f := analyze(line); hasOpaque(f, MayRun) {
			t.Errorf("%q: an opaque spot\n%s", line, dump(f))
		}
	}
}

// TestAppendedOptions checks that a harmless text behind a value that is not known
// makes the variable no harmless one.
func TestAppendedOptions(t *testing.T) {
	for line, want := range map[string]bool{
		"NODE_OPTIONS+=--no-warnings; npm test": true, "PAGER+=cat; git log": true,
		"NODE_OPTIONS=--no-warnings; npm test": false, "PAGER=cat; git log": false, "export GIT_EDITOR=true; git commit": false,
		"GIT_EDITOR=$x; git commit": true, "for PAGER in cat less; do git log; done": true,
	} {
		if got := hasOpaque(analyze(line), MayRun); got != want {
			t.Errorf("%s: an opaque spot: %v, want %v", line, got, want)
		}
	}
}
