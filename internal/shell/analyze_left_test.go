package shell

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// surviving analyzes a line in a shell that runs others behind it.
func surviving(line string, d Dialect) *Facts {
	return Analyze(line, Options{Dir: "/home/dev/proj", Home: "/home/dev", Workspace: "/home/dev/proj", Dialect: d, Survives: true})
}

// runsUnasked reports whether nothing in the facts needs a person.
func runsUnasked(f *Facts) bool {
	return !slices.ContainsFunc(f.Actions, func(a Action) bool {
		return a.Kind == Opaque || a.Unproven() || a.Environment || a.Exports
	})
}

// TestLeftToTheNextLine checks what counts as left in a shell, and that nothing does in one
// that ends with its line.
func TestLeftToTheNextLine(t *testing.T) {
	for line, want := range map[string]Cause{
		"export GOCACHEPROG=./x": causeStaysExported, "GOCACHEPROG=./x": causeStaysExported, "declare -x AWS_PROFILE=x": causeStaysExported,
		"false || export GOCACHEPROG=./x": causeStaysExported, "{ export GOCACHEPROG=./x; } > out": causeStaysExported, "eval 'export GOCACHEPROG=./x'": causeStaysExported,
		"while read -r GOCACHEPROG; do :; done < a": causeStaysExported, "f() { export GOCACHEPROG=./x; }; f": causeStaysExported, "UNHEARD=1 :": causeStaysExported,
		"set -a": causeStaysAll, "if true; then set -o allexport; fi": causeStaysAll,
		"f() { ls; }": causeStaysFunction, "f() { ls; }; f": causeStaysFunction, "if true; then f() { ls; }; fi": causeStaysFunction, "eval 'f() { ls; }'": causeStaysFunction,
		"set -x": causeStaysTraced, "set -ex; ls": causeStaysTraced, "set -o xtrace": causeStaysTraced,
		"x=$NPM_TOKEN": causeStaysSecret, "x=a${NPM_TOKEN%b}": causeStaysSecret, "for x in $NPM_TOKEN; do :; done": causeStaysSecret, "arr=($NPM_TOKEN)": causeStaysSecret,
	} {
		left := func(f *Facts) bool {
			return slices.ContainsFunc(f.Actions, func(a Action) bool { return a.Kind == Opaque && a.Why.Cause == want && a.May == 0 })
		}
		if !left(surviving(line, Bash)) {
			t.Errorf("%q: nothing is left, want %v", line, want)
		}
		if left(Analyze(line, Options{Dir: "/home/dev/proj"})) {
			t.Errorf("%q: something is left in a shell that ends", line)
		}
	}
	for _, line := range []string{"export UNHEARD=1", "export UNHEARD", "declare -x UNHEARD=1", "UNHEARD=1; export UNHEARD", "readonly -p", "declare -a", "f() { local; }; f"} {
		if runsUnasked(surviving(line, Bash)) {
			t.Errorf("%q: nothing in it is marked", line)
		}
	}
	for _, line := range []string{
		"x=1", "x=$(ls)", "for i in a b; do echo $i; done", "while read -r l; do echo $l; done < a", "cd src", "set -e", "set -euo pipefail", "readonly x=1", "declare -a x=(a b)",
		"export TZ=UTC", "export TZ", "TZ=UTC date", "export GOOS=linux NODE_ENV=test", "export GOMAXPROCS=4", "export EDITOR=true", "NPM_TOKEN=$OTHER_TOKEN", "x=${NPM_TOKEN:+set}", "x=${#NPM_TOKEN}",
		"(export GOCACHEPROG=./x)", "(f() { ls; }; f)", "(set -x; ls)", "echo $(export V=x)", "export V=x | cat", "export V=x & ls", "bash -c 'export V=x'", `[ -n "$NPM_TOKEN" ]`, "mkdir x && cd $_",
	} {
		f := surviving(line, Bash)
		if i := slices.IndexFunc(f.Actions, func(a Action) bool { return a.Exports || a.Kind == Opaque && a.May == 0 }); i >= 0 {
			t.Errorf("%q: %v", line, f.Actions[i].Why)
		}
	}
	if runsUnasked(surviving("export V; echo x | read -r V", Zsh)) {
		t.Error("zsh runs the last command of a pipe itself")
	}
}

// separately are uses of one shell, one behind the other, that reach the command L with the
// variable V set to X.
var separately = [][]string{
	{"export V=X", "L"}, {"V=X; export V", "L"}, {"V=X", "export V", "L"}, {"V=X", "export V; L"}, {"export V", "V=X", "L"}, {"export V", "V=X; L"}, {"V=X", "L"},
	{"declare -x V=X", "L"}, {"typeset -gx V=X", "ls", "L"}, {"set -a", "V=X", "L"}, {"set -a", "V=X; L"}, {"V=X", "set -a; L"}, {"set -o allexport", "read V <<< X", "L"},
	{"readonly V=X", "export V", "L"}, {"read V <<< X", "export V; L"}, {"printf -v V X", "export V", "L"}, {": ${V:=X}", "export V; L"}, {"for V in X; do :; done", "export V", "L"},
	{"if true; then export V=X; fi", "L"}, {"{ export V=X; }", "L"}, {"true || export V=X", "L"}, {"for V in X; do export V; done", "L"}, {"case a in a) export V=X;; esac", "L"},
	{"f() { export V=X; }", "f", "L"}, {"f() { L; }", "export V=X", "f"}, {"f() { L; }", "V=X f"}, {"eval 'export V=X'", "L"}, {"command export V=X", "L"}, {"builtin export V=X", "L"},
	{"trap 'export V=X' DEBUG", "L"}, {"alias l='V=X L'", "l"}, {"V=X export W=1", "L"}, {"export V=X; cd src", "L"}, {"pwd; export V=X; pwd", "L"},
}

// TestSeparateUses takes the lines of testdata/lines.txt that a rule for the program
// covers, and has an earlier use of the same shell set a variable that their program
// obeys: the uses do not all run unasked if the line that joins them would not.
func TestSeparateUses(t *testing.T) {
	data, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	hostile := [][2]string{
		{"GOCACHEPROG", "./x"}, {"APT_CONFIG", "./x"}, {"PIP_LOG", "/home/dev/.bashrc"}, {"AWS_CONFIG_FILE", "./x"}, {"UNHEARD_OF", "x"},
		{"XZ_OPT", "--files=.env"}, {"DBUS_SYSTEM_BUS_ADDRESS", "unixexec:path=./x"}, {"TF_INPUT", "0"}, {"PAGER", "./x"}, {"LD_PRELOAD", "./x"}, {"TZ", "$NPM_TOKEN"},
	}
	tried := 0
	for i, line := range strings.Split(string(data), "\n") {
		command, safe := strings.CutPrefix(line, "+ ")
		if !safe || !Analyze(command, Options{}).Simple {
			continue
		}
		v := hostile[i%len(hostile)]
		filled := strings.NewReplacer("V", v[0], "X", v[1], "L", command)
		for k, uses := range separately {
			if (i+k)%3 > 0 || !refuses(filled.Replace(strings.Join(uses, "\n"))) { // a third of them
				continue
			}
			tried++
			if !slices.ContainsFunc(uses, func(use string) bool { return !runsUnasked(surviving(filled.Replace(use), Bash)) }) {
				t.Errorf("one after the other, all of these run: %q", filled.Replace(strings.Join(uses, "\n")))
			}
		}
	}
	if tried < 10000 {
		t.Errorf("only %d uses were tried", tried)
	}
}

// TestSecretBetweenUses checks the same of the value of a secret.
func TestSecretBetweenUses(t *testing.T) {
	for _, uses := range [][]string{
		{"x=$T", "ls $x"}, {"x=$T", `[ "$x" = a ]`}, {"x=${T##a*}", `[ -n "$x" ]`}, {"arr=($T)", "echo ${#arr[@]}"}, {"readonly T", "readonly -p"}, {"declare -r T", "readonly"}, {"x=($T)", "declare -a"},
		{"set -x", `[ -n "$T" ]`}, {"f() { ls $T; }", "f"}, {"export x=$T", "printenv x"}, {"TZ=$T", "date"}, {"for x in $T; do :; done", "ls $x"}, {"eval 'x=$T'", "ls $x"}, {"set -- $T", "ls $1"},
	} {
		if !slices.ContainsFunc(uses, func(use string) bool {
			return !runsUnasked(surviving(strings.ReplaceAll(use, "T", "NPM_TOKEN"), Bash))
		}) {
			t.Errorf("one after the other, all of these run: %q", uses)
		}
	}
}
