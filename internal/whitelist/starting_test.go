package whitelist

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLines: the command lines in files of each kind.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       []string
	}{
		{".github/workflows/ci.yml", "on: push\njobs:\n  a:\n    steps:\n    - uses: x/y@v1\n      with: {script: \"echo hi\"}\n    - name: run me\n      run: npm ci\n    - run: |\n        npm test -- ${{ matrix.a }}\n        npm run lint\n", []string{"npm ci", "npm test -- ${EXPRESSION}\nnpm run lint\n"}},
		{"shells.yml", "a:\n- {shell: pwsh, run: Write-Host x}\n- {run: print(1), shell: python}\n- {shell: 'bash -e {0}', run: npm ci}\n- {run: ls, shell: sh}\n- run: {shell: cmd.exe, command: dir}\n- powershell: Get-Date\n", []string{"pwsh: Write-Host x", "python: print(1)", "npm ci", "ls", "cmd.exe: dir", "powershell: Get-Date"}},
		{".gitlab-ci.yml", "x: &x\n  - make lint\na:\n  before_script: *x\n  script:\n    - make test\n    - [make build, make a]\n---\nb: {script: go vet}\n", []string{"make test", "make build", "make a", "go vet"}},
		{"config.yaml", "jobs:\n  b:\n    steps:\n    - run: {name: x, command: go test}\n    - run: go vet\n", []string{"go test", "go vet"}},
		{".travis.yml", "install: pip install tox\nscript:\n- tox\n", []string{"pip install tox", "tox"}},
		{"empty.yml", "", nil},
		{"web/package.json", `{"name":"x","scripts":{"test":"jest --ci","lint":"eslint .","a b":"x"}}`, []string{"npm run lint", "eslint .", "npm run test", "jest --ci", "npm test"}},
		{"Makefile", "all: test\ntest:\n\t@go test \\\n\t\t./...\n\t-rm -f x\nV := 1\n", []string{"make all", "make test", "go test  \t\t./...", "rm -f x"}},
		{"rules.mk", "fmt:\n\tgofmt -l .\n", []string{"make fmt", "gofmt -l ."}},
		{"plan.json", `{"schemaVersion":"1.0.0","items":[{"name":"a","gates":[{"name":"t","run":"npm test"},{"run":""}]}]}`, []string{"npm test"}},
		{"x.txt", "npm test\n\n  \ngo vet\n", []string{"npm test", "go vet"}},
		{"x.jsonl", "{\"command\":\"a\"}\n\n{\"run\":\"b\"}\n{\"cmd\":\"c\",\"id\":1}\n{}\n", []string{"a", "b", "c"}},
		{"ci/test.sh", "set -e\nnpm test\n", []string{"set -e\nnpm test\n"}},
	} {
		lines, err := Lines(tt.name, []byte(tt.data))
		var got []string
		for _, l := range lines {
			if l.Shell != "" {
				l.Text = l.Shell + ": " + l.Text
			}
			got = append(got, l.Text)
			if l.Source != tt.name {
				t.Errorf("%s: source %s", tt.name, l.Source)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", tt.name, err, diff)
		}
	}
	for name, data := range map[string]string{
		"x.exe": "", "noname": "", "a.yml": "a: [", "b.yml": "a: 1\n---\nb: [", "package.json": "{", "plan.json": "[]", "x.jsonl": "{\"command\":1}", "y.txt": strings.Repeat("x", maxFile+1), "c.yml": "a: &x [*x",
	} {
		if _, err := Lines(name, []byte(data)); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Lines("x.jsonl", []byte("{}\n{")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}

// starting returns the list made from lines, and the notes.
func starting(t testing.TB, dry bool, lines ...string) (*List, *Start) {
	t.Helper()
	var in []Line
	for _, l := range lines {
		in = append(in, Line{Text: l, Source: "f"})
	}
	start, err := Starting(in, dry)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(start.Text)), start
}

// TestStarting: a list allows the lines that it was made from, and not much
// else.
func TestStarting(t *testing.T) {
	for _, tt := range []struct {
		from, refused string // lines, separated by |
	}{
		{"npm ci|npm run build|npm test -- --coverage", "npm|npm install|npm run lint|npm run|npm test --x|npm ci x"},
		{"make|make test GO=1|make -C sub -j4", "make tests|make GO=2|make -C other|make -k|make x"},
		{"make lint test", "make lint|make test|make"},
		{"yarn lint:js --fix|yarn|yarn run a", "yarn lint:css|lint:js|yarn run b|yarn --x"},
		{"pnpm exec tsc -p .", "pnpm exec eslint|pnpm tsc|pnpm"},
		{"node scripts/x.js --all|node --check a.js", "node|node b.js|node scripts/y.js|node -e 1"},
		{"node -e 'a b'", "node -e 'a c'|node -e x|node x.js"},
		{"python -m pytest -q|python setup.py test", "python -m pip|python x.py|python -c x|python"},
		{"bash ci/x.sh a", "bash ci/y.sh|bash -c ls|bash ci/x.sh b"},
		{"cargo +nightly fmt --all -- --check|cargo nextest run", "cargo fmt --x|cargo publish|cargo +stable fmt|cargo nextest list"},
		{"git diff --exit-code|git commit -m 'a b'", "git push|git commit --amend|git diff x"},
		{"grep -rn x src", "grep -rn --x y|grep -f y x"},
		{"ls -la dist", "ls -R|lss"},
		{"sudo apt-get install -y llvm", "sudo apt-get install -y gcc|sudo rm x|sudo -i|apt-get remove llvm"},
		{"npx --package a -c b", "npx a|npx -c c|npx --package x -c b|b --x"},
		{"golangci-lint run --timeout=3m --out-format x", "golangci-lint run --fix|golangci-lint cache"},
		{"./gradlew build|./run.sh|x/run.sh --a", "gradlew build|./run.sh --a|run|y/run.sh"},
		{"CGO_ENABLED=0 go build -ldflags='-w -s' -o x ./...", "GOFLAGS=-x go build|go build -o y|go build -toolexec x"},
		{"echo 'hello world'", "echo --x|echos x"},
		{"tool --a=b c 'd e'", "tool --a=c|tool f|tool --b"},
		{"eslint -c x.json src", "eslint -c y.json src|eslint --fix src"},
		{"make -f x.mk all", "make -f y.mk all|make all2"},
		{"find . -name x -exec grep y z +", "find . -delete|find . -exec evil z +"},
		{"timeout 5 npm test", "timeout 5 npm ci|timeout -k 1 npm test|timeout 6 npm test"},
		{"jq --arg a b . x.json", "jq --args x"},
		{"cut -d' ' -f2 x", "cut --x y"},
		{"head -n5 x", "head -c 5 --x"},
		{"git log --format=%h", "git log --output=x"},
	} {
		from := strings.Split(tt.from, "|")
		l, start := starting(t, false, from...)
		for _, line := range from {
			if e := l.Validate(line, analyze(line)); e != nil {
				t.Errorf("%q does not pass its own list: %v\n%s", line, e, start.Text)
			}
		}
		for _, line := range strings.Split(tt.refused, "|") {
			if l.Validate(line, analyze(line)) == nil {
				t.Errorf("%q passes the list of %q\n%s", line, tt.from, start.Text)
			}
		}
		if start.Commands == 0 || l.Policy().DryRunMode || !l.strict {
			t.Errorf("%q: %d commands, %+v", tt.from, start.Commands, l.Policy())
		}
	}
}

// TestStartingNotes: what was left out is noted.
func TestStartingNotes(t *testing.T) {
	for _, tt := range []struct {
		line, note string
		commands   int
	}{
		{"npm test", "", 1},
		{"npm test && npm ci > log", `f: "npm test && npm ci > log" has shell operators: its commands are listed one by one`, 2},
		{"npm test $X", `f: left out "npm test $X": the word "…" is known only when it runs`, 0},
		{"npm 'test", "f: left out \"npm 'test\": the line cannot be parsed", 0},
		{"set -e\nnpm test", `f: "set -e…" has shell operators`, 1},
		{"cd x", `f: left out "cd x": cd only affects the shell it runs in`, 0},
		{"LD_PRELOAD=x npm test", "f: the variable LD_PRELOAD can change what commands do: it was left out of allow_env_vars", 1},
		{"'a b' c", `f: left out "a b c": not a program name`, 0},
		{"npm test ''", `f: left out "npm test": an empty word`, 0},
		{"npm test $'a\\nb'", `f: left out "npm test $'a\\nb'": the word "a\nb" is known only when it runs`, 0},
		{"npm run 'a b'", `f: left out "npm run a b": no plain words say what it does`, 0},
		{"echo " + strings.Repeat("x ", 300), `f: left out "echo x x`, 0},
		{"echo " + strings.Repeat("x", 100) + " > y", `f: "echo xxxxxxx`, 1},
		{"dir/ x", `f: left out "dir/ x": not a program name`, 0},
	} {
		_, start := starting(t, false, tt.line, tt.line)
		note := strings.Join(start.Notes, "\n")
		if !strings.Contains(note, tt.note) || tt.note == "" && note != "" || start.Commands != 2*tt.commands {
			t.Errorf("%q: %d commands, %s, want %s", tt.line, start.Commands, note, tt.note)
		}
	}
	l, start := starting(t, true)
	if start.Commands != 0 || l.Programs() != 0 || !l.Policy().DryRunMode {
		t.Error(string(start.Text))
	}
	l, _ = starting(t, false, "FOO=1 npm test", "BAR=1 npm test", "FOO=2 ls")
	if diff := cmp.Diff([]string{"NODE_ENV", "CI", "BAR", "FOO"}, l.Policy().AllowEnvVars); diff != "" {
		t.Error(diff)
	}
	// An option of which every spelling would pass cannot be listed.
	if _, err := Starting([]Line{{Text: "tool '-*'", Source: "f"}}, false); err == nil {
		t.Error("an entry that lets every option pass is made")
	}
}

// TestSameNames: programs of the same name in several directories have an entry
// each.
func TestSameNames(t *testing.T) {
	l, start := starting(t, false, "./a/run", "./b/run", "run build", "make x", "run")
	var f struct {
		Custom   map[string]struct{ Binary string }
		Defaults map[string]any
	}
	if err := json.Unmarshal(start.Text, &f); err != nil {
		t.Fatal(err)
	}
	if f.Custom["run"].Binary == "" || f.Custom["run-2"].Binary == "" || f.Custom["run-3"].Binary == "" {
		t.Errorf("%s", start.Text)
	}
	for _, line := range []string{"./a/run", "./b/run", "run"} {
		if l.result(line) != "allowed" {
			t.Errorf("%s: %v", line, l.Validate(line, analyze(line)))
		}
	}
}

func TestObject(t *testing.T) {
	text, err := json.Marshal(object{{"b", 1}, {"a", object{}}, {`"<`, nil}})
	if err != nil || string(text) != `{"b":1,"a":{},"\"\u003c":null}` {
		t.Error(string(text), err)
	}
	if _, err := json.Marshal(object{{"a", func() {}}}); err == nil {
		t.Error("a function is JSON")
	}
}

// TestStartingOfThis: this project's own files make a list.
func TestStartingOfThis(t *testing.T) {
	data, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := Lines("Makefile", data)
	if err != nil {
		t.Fatal(err)
	}
	start, err := Starting(lines, false)
	if err != nil || start.Commands < 5 {
		t.Fatal(err)
	}
	l := parse(t, string(start.Text))
	if l.result("make test") != "allowed" || l.result("make tset") == "allowed" {
		t.Error(l.Validate("make test", analyze("make test")))
	}
}
