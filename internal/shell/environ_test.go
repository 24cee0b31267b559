package shell

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// unprovenFor returns the commands of a line that a variable makes unproven, each as
// VARIABLE>program.
func unprovenFor(line string, d Dialect) string {
	f := Analyze(line, Options{Dir: "/home/dev/proj", Home: "/home/dev", Workspace: "/home/dev/proj", Dialect: d})
	var found []string
	for i := range f.Actions {
		if a := &f.Actions[i]; a.Kind == Command && a.Why.Cause == causeObeysVariable {
			found = append(found, a.Why.Name+">"+a.Words[0].Text)
		}
	}
	return strings.Join(found, " ")
}

// TestExported checks which commands get a variable that their program may obey.
func TestExported(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"V=x npm ls", "V>npm"},
		{"V=x; npm ls", ""},
		{"export V=x; npm ls; git status", "V>npm V>git"},
		{"npm ls; export V=x", ""},
		{"export CI=1 NODE_ENV=test; npm ls", ""},
		{"export CI=1 V=x W=y; npm ls", "V>npm"},

		// ways to export
		{"V=x; export V; npm ls", "V>npm"},
		{"export V; V=x; npm ls", "V>npm"},
		{"export V; npm ls", ""},
		{"export -n V=x; npm ls", ""},
		{"export V; export -n V; V=x; npm ls", "V>npm"},
		{"export V=x; unset V; npm ls", "V>npm"},
		{"export V=x; V=; npm ls", "V>npm"},
		{"declare V=x; npm ls", ""},
		{"declare -x V=x; npm ls", "V>npm"},
		{"typeset -gx V=x; npm ls", "V>npm"},
		{"readonly V=x; npm ls", ""},
		{"readonly V=x; export V; npm ls", "V>npm"},
		{"command export V=x; npm ls", "V>npm"},
		{"V=x export V; npm ls", "V>npm"},
		{"V=x readonly V; npm ls", "V>npm"},
		{"V=x :; npm ls", "V>npm"},
		{"set -a; V=x; npm ls", "V>npm"},
		{"V=x; set -a; npm ls", "V>npm"},
		{"set -o allexport; V=x; npm ls", "V>npm"},
		{"set -eao pipefail; V=x; npm ls", "V>npm"},
		{"set -e; V=x; npm ls", ""},
		{"set +a; V=x; npm ls", ""},
		{"env V=x npm ls; git status", "V>npm"},

		// ways to set what is exported
		{"export V; read V < a; npm ls", "V>npm"},
		{"export V; read -r a b < a; npm ls", ""},
		{"export V; printf -v V x; npm ls", "V>npm"},
		{"export V; : ${V:=x}; npm ls", "V>npm"},
		{"export V; : ${V=x} $(npm ls)", "V>npm"},
		{"export V; ((V=1)); npm ls", "V>npm"},
		{"export V; echo $((V++)); npm ls", "V>npm"},
		{"export V; let V=1; npm ls", "V>npm"},
		{"export V; exec {V}>f; npm ls", "V>npm"},
		{"export V; getopts x V; npm ls", "V>npm"},
		{"export V; for V in a b; do npm ls; done", "V>npm"},
		{"export V; for i in ${V:=x}; do (npm ls); done; git status", "V>npm V>git"},
		{"export V; echo x | while read -r V; do npm ls; done", "V>npm"},
		{"V=x; export V; npm ls", "V>npm"},

		// names that a program reads, so they may be exported already
		{"AWS_PROFILE=x; aws s3 ls", "AWS_PROFILE>aws"},
		{"GOPATH=x; git status", "GOPATH>git"},
		{"for PGHOST in a b; do pg_isready; done", "PGHOST>pg_isready"},
		{"read -r PIP_LOG < a; pip list", "PIP_LOG>pip"},

		// which shell exports
		{"(export V=x); npm ls", ""},
		{"(export V=x; npm ls)", "V>npm"},
		{"export V=x | cat; npm ls", ""},
		{"export V=x & npm ls", ""},
		{"echo $(export V=x); npm ls", ""},
		{"echo $(export V=x; npm ls)", "V>npm"},
		{"export V=x; (cd src; npm ls)", "V>npm"},
		{"export V=x; npm ls | head", "V>npm V>head"},
		{"export V=x; npm ls &", "V>npm"},
		{"export V=x; cat <(npm ls)", "V>npm V>cat"},
		{"export V=x; bash -c 'npm ls'", "V>bash V>npm"},
		{"bash -c 'export V=x'; npm ls", ""},
		{"bash -c 'export V=x; npm ls'", "V>npm"},
		{"bash -a -c 'V=x; npm ls'", "V>npm"},
		{"bash -o allexport -c 'V=x; npm ls'", "V>npm"},
		{"sh -eac 'V=x; npm ls'", "V>npm"},
		{"V=x bash -c 'npm ls'", "V>bash V>npm"},
		{"V=x timeout 5 npm ls", "V>timeout V>npm"},
		{"export V=x; timeout 5 npm ls", "V>timeout V>npm"},

		// branches, loops, functions, traps, texts
		{"export V=x && npm ls", "V>npm"},
		{"false || export V=x; npm ls", "V>npm"},
		{"if true; then export V=x; fi; npm ls", "V>npm"},
		{"if export V=x; then npm ls; else git status; fi", "V>npm V>git"},
		{"case a in a) export V=x;; b) npm ls;; esac; git status", "V>npm V>git"},
		{"{ export V=x; }; npm ls", "V>npm"},
		{"for i in a b; do npm ls; export V=$i; done", "V>npm"},
		{"while true; do npm ls; export V=x; done", "V>npm"},
		{"until npm ls; do export V=x; done", "V>npm"},
		{"f() { export V=x; }; f; npm ls", "V>npm"},
		{"f() { npm ls; }; export V=x; f", "V>npm"},
		{"f() { npm ls; }; (export V=x; f)", "V>npm"},
		{"f() { npm ls; }; V=x f", "V>npm"},
		{"f() { V=x; }; export V; f; npm ls", "V>npm"},
		{"f() { g; }; g() { npm ls; }; V=x f", "V>g V>npm"},
		{"f() { npm ls; }; V=x; f", ""},
		{"trap 'npm ls' EXIT; export V=x", "V>npm"},
		{"trap 'export V=x' DEBUG; npm ls", "V>npm"},
		{"eval 'export V=x'; npm ls", "V>npm"},
		{"export V=x; eval 'npm ls'", "V>npm"},
		{"V=x eval 'npm ls'", "V>npm"},

		// what no variable reaches, and what a program's entry says
		{"export V=x; cd src && echo hi && test -f a && pwd", ""},
		{"V=x cd src", ""},
		{"V=x /bin/ls", "V>/bin/ls"},
		{"export TF_INPUT=0; terraform version; git status", "TF_INPUT>git"},
		{"export GOFLAGS=-mod=vendor; go list ./...", ""},
		{"N=4; export GOMAXPROCS=$N; go list ./...", ""},
	} {
		if got := unprovenFor(tt.line, Bash); got != tt.want {
			t.Errorf("%s\n\tgot  %q\n\twant %q", tt.line, got, tt.want)
		}
	}
}

// TestExportedZsh checks what only zsh does: it runs the last command of a pipe itself.
func TestExportedZsh(t *testing.T) {
	for line, want := range map[string]string{
		"export V; echo x | read -r V; npm ls": "V>npm",
		"integer -x V=1; npm ls":               "V>npm",
		"export V=x | cat; npm ls":             "",
	} {
		if got := unprovenFor(line, Zsh); got != want {
			t.Errorf("%s\n\tgot  %q\n\twant %q", line, got, want)
		}
	}
}

// TestExportedMany checks that many names and values stay bounded and are not lost
// behind others, which the program ignores.
func TestExportedMany(t *testing.T) {
	for _, form := range []string{"export V%d=x; ", "export TF_INPUT=%d; ", "export V; V=%d; ", "set -a; V%d=x; "} {
		var line strings.Builder
		for i := range 500 {
			fmt.Fprintf(&line, form, i)
		}
		line.WriteString("export TF_LOG_PATH=x; terraform version; LC_A=1 LC_B=2 terraform version")
		f := Analyze(line.String(), Options{Dir: "/home/dev/proj"})
		last := &f.Actions[len(f.Actions)-1]
		if last.Why.Cause != causeObeysVariable || len(last.Assigns) > maxExported+3 {
			t.Errorf("%s: the last command has %d assignments and the cause %v", form, len(last.Assigns), last.Why)
		}
	}
	many := "export TF_LOG_PATH=x; " + strings.Repeat("LC_A=1 LC_B=2 ", 40) + "terraform version"
	if got := unprovenFor(many, Bash); got != "TF_LOG_PATH>terraform" {
		t.Errorf("behind many harmless variables: %q", got)
	}
}

// exporting are forms of a line in which the variable V with the value X reaches the
// command L as if V=X stood before it.
var exporting = []string{
	"export V=X; L", "V=X; export V; L", "export V; V=X; L", "declare -x V=X; L", "typeset -x V=X; L", "declare -gx V=X; L",
	"set -a; V=X; L", "V=X; set -a; L", "set -o allexport; V=X; L", "readonly V=X; export V; L", "export V=X && L", "export V=X\nL",
	"if true; then export V=X; fi; L", "{ export V=X; }; L", "(export V=X; L)", "true || export V=X; L", "export V; : ${V:=X}; L",
	"f() { export V=X; }; f; L", "f() { L; }; export V=X; f", "f() { L; }; V=X f", "for V in X; do export V; L; done",
	"for i in a b; do L; export V=X; done", "while true; do export V=X; done; L", "eval 'export V=X'; L", "command export V=X; L",
	"builtin export V=X; L", "case a in a) export V=X;; esac; L", "trap 'export V=X' DEBUG; L",
}

// TestExportingIsPrefixing takes the lines of testdata/lines.txt that a rule for the
// program covers, sets variables before their command in each form, and checks that
// the command is proven if, and only if, it is behind V=X.
func TestExportingIsPrefixing(t *testing.T) {
	data, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	hostile := [][2]string{
		{"GOCACHEPROG", "./x"}, {"APT_CONFIG", "./x"}, {"PIP_LOG", "/home/dev/.bashrc"}, {"AWS_CONFIG_FILE", "./x"}, {"UNHEARD_OF", "x"},
		{"XZ_OPT", "--files=.env"}, {"DBUS_SYSTEM_BUS_ADDRESS", "unixexec:path=./x"}, {"TF_INPUT", "0"}, {"GOMAXPROCS", "4"}, {"PAGER", "./x"},
	}
	compared, refusals := 0, 0
	for i, line := range strings.Split(string(data), "\n") {
		command, safe := strings.CutPrefix(line, "+ ")
		if !safe || !Analyze(command, Options{}).Simple {
			continue
		}
		v := hostile[i%len(hostile)]
		filled := func(form, name, value string) string {
			return strings.NewReplacer("V", name, "X", value, "L", command).Replace(form)
		}
		want := refuses(filled("V=X L", v[0], v[1]))
		for k, form := range exporting {
			if (i+k)%2 == 1 || refuses(filled(form, "CI", "1")) { // half of them, and none that the form itself spoils
				continue
			}
			compared++
			if want {
				refusals++
			}
			if got := refuses(filled(form, v[0], v[1])); got != want {
				t.Errorf("%q is refused: %v, and %q: %v", filled(form, v[0], v[1]), got, filled("V=X L", v[0], v[1]), want)
			}
		}
	}
	if compared < 10000 || refusals < 5000 {
		t.Errorf("%d lines were compared, %d of them refused", compared, refusals)
	}
}

// refuses reports whether a line holds an opaque spot or a command that is unproven.
func refuses(line string) bool {
	f := Analyze(line, Options{Dir: "/home/dev/proj", Home: "/home/dev", Workspace: "/home/dev/proj"})
	return slices.ContainsFunc(f.Actions, func(a Action) bool { return a.Kind == Opaque || a.Unproven() })
}
