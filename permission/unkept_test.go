package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
)

// TestUnkept: where edits run because git can undo them, a file that git ignores is not
// emptied or replaced without a question.
func TestUnkept(t *testing.T) {
	files := fakeFS{
		unkept:   []string{workspace + "/data/app.db", workspace + "/notes", workspace + "/dist/x.js", workspace + "/server.log", workspace + "/tmp/x", workspace + "/tool", workspace + "/coverage.txt", workspace + "/junit.xml"},
		compiled: []string{workspace + "/tool"},
		links:    map[string]string{workspace + "/link": workspace + "/data/app.db"},
	}
	for _, tt := range []struct {
		want  Behavior
		lines string
	}{
		{Ask, ": > data/app.db | > data/app.db | echo x > ./data/app.db | echo x >| data/app.db | echo x &> data/app.db | echo x > link | tee data/app.db < src/a.go"},
		{Ask, "truncate -s 0 data/app.db | cp /dev/null data/app.db | cp src/a.go data/app.db | mv src/a.go data/app.db | mv -f a data/app.db | install a data/app.db | ln -sf a data/app.db"},
		{Ask, "cp other/app.db data/ | mv other/app.db data | cp -t data other/app.db | cd data && cp ../x/app.db . | cp a b/notes ."},
		{Ask, "truncate -s 0 data/*.db | for f in data/app.db notes; do : > $f; done | find data -name '*.db' -exec truncate -s 0 {} +"},
		{Ask, "sort -o data/app.db src/a.go | awk '{print > \"data/app.db\"}' src/a.go | uniq src/a.go data/app.db | bash -c ': > data/app.db' | git show HEAD:a > notes"},
		{Ask, "cp -nf a data/app.db | sed -i 'w notes' src/a.go"},
		{Ask, "find data -type f -exec truncate -s 0 {} \\; | find data -type f -exec tee {} \\; | find data -type f -name '*.db' -exec cp /dev/null {} \\; | find data -type f -execdir truncate -s 0 {} +"},
		{Allow, "find src -type f -name '*.go' -exec gofmt -w {} + | find src -type f -exec sed -i s/a/b/ {} + | find src -type f -exec grep a {} + | find src -type f -exec touch {} + | find src -type f -exec tee -a {} +"},
		// other files, and what leaves the contents
		{Allow, ": > src/a.go | : > data/new.db | truncate -s 0 src/a.go | cp src/a.go data/new.db | mv src/a.go src/b.go | cp src/a.go data/ | truncate -s 0 src/*.db"},
		{Allow, "echo x >> data/app.db | tee -a data/app.db < src/a.go | touch data/app.db | chmod 600 data/app.db | mv data/app.db data/old.db | cp data/app.db data/copy.db | cp -n a data/app.db | sed -i s/a/b/ data/app.db"},
		// what tools make anew
		{Allow, "echo x > dist/x.js | cp src/a.js dist/x.js | : > server.log | go test ./... > server.log | echo x > tmp/x"},
		// what sed may leave empty, and what it edits
		{Ask, "sed -i d data/app.db | sed -i '1,$d' data/app.db | sed -i -n p data/app.db | sed -n -i 5p notes | sed -i q notes | sed -i 's/.*//' notes | sed -i '/./d' notes | sed -i '/x*/d' notes | sed -i '/a/!d' notes | sed -i -e s/a/b/ -e d notes | sed -i '/a/{d}' notes | sed -i g notes | sed -i 'c x' notes"},
		{Ask, "sed -i d data/*.db | for f in data/app.db; do sed -i d $f; done | find data -type f -exec sed -i d {} + | find data -name '*.db' -exec sed -i '1,$d' {} + | bash -c 'sed -i d notes'"},
		{Ask, `sed -i '#n' notes | sed -i 1Q notes | sed -i /d/Q notes | sed -i 5q notes | sed -i 's/[a-z]//g' notes | sed -i 's/\S//g' notes | sed -i 's/[ -~]//g' notes | sed -i 's/\w*//' notes | sed -i 's/\(x\)*.*//' notes | sed -i -E '/(x)*/d' notes | sed -i -E 's/(x)?.*//' notes | sed -i -E 's/(x){0}.*//' notes | sed -i 's/x\{0,\}.*//' notes`},
		{Ask, `sed -i 's/ .*//' notes | sed -i 's/a.*//' notes | sed -i 'y/ab/  /' notes | sed -i -z 1d notes | sed -zi 's/a.*/b/' notes | sed -i ':a;N;$!ba;1d' notes | sed -i -e '1{' -e N -e '}' notes | sed -i '/a/,/b/d' notes | sed -i 's/\(a(\)*.*//' notes | sed -i 's/e\(.*\)/\1/' notes | sed -i -E 's/(a|).*//' notes | sed -i 's//x/' notes | sed -i 's/[0-9]*//g' notes`},
		{Allow, `sed -i 's/ *$//' notes | sed -i 's/^/  /' notes | sed -i 's/\r$//' notes | sed -i 's/[ \t]*$//' notes | sed -i 's/[0-9]\+/N/' notes | sed -i 's/^#//' notes | sed -i 's/foo.*/bar/' notes | sed -i '10,20s/foo/bar/' notes | sed -i 's/\(foo\)bar/\1baz/' notes | sed -i -E 's/(foo|bar)=.*/x/' notes | sed -i '/foo/{s/a/b/}' notes | sed -i 's/foo(\(.*\))/bar(\1)/' notes | sed -i 's/TODO//' notes | sed -i 's/;*$//' notes | sed -i '$a x' notes`},
		{Allow, "sed -i 3d notes | sed -i '$d' notes | sed -i '/foo/d' notes | sed -i '/^FOO=.*/d' notes | sed -i 's/[0-9]/x/g' notes | sed -i.bak s/a/b/ notes | sed -i 'y/a/b/' notes | sed -i '2i x' notes | sed -i '/a/s/.*//' notes | sed -i d src/a.go | sed -n 5p notes"},
		// options under a rule for the program, and what the program made itself
		{Ask, "go build -o notes . | go build -o=notes . | go test -coverprofile=notes | go test -coverprofile notes | pytest --junitxml=notes | pytest --cov-report xml:notes | python -m pytest --junitxml notes | pytest --junitxml=data/*.db | curl -so data/app.db localhost:80 | bash -c 'go build -o notes .'"},
		{Ask, "go build -debug-trace=notes . | go vet -debug-actiongraph=notes | go test -outputdir=data -coverprofile=app.db | go test -outputdir data -cpuprofile app.db | git mv -f src/a.go notes | git mv --force src/app.db data | pytest --debug notes | mypy --timing-stats notes src | mypy --line-checking-stats=notes src"},
		{Ask, "tsc --outfile notes | tsc -outFile notes | tsc --OutFile notes | tsc --out notes | tsc --tsbuildinfofile notes | tsc -generateCpuProfile notes | jest --json --output-file notes | jest --outputFile=notes"},
		{Allow, "tsc --noEmit | tsc -p tsconfig.json --outDir dist | jest --coverage | jest --json --output-file=junit.xml | pytest --debug -x | pytest -x --lf | mypy src | git mv -f src/a.go src/b.go | git mv src/a.go src/b.go | go test -outputdir=out -coverprofile=coverage.txt"},
		{Allow, "yapf -i notes | gen > src/a.go | go build -o tool . | go build -o new . | go build -o src/a.go . | go build -o dist/x.js . | go test -coverprofile=coverage.txt | pytest --junitxml=junit.xml | go build . | go fmt"},
	} {
		for line := range strings.SplitSeq(tt.lines, " | ") {
			s := spec{mode: "acceptEdits", allow: "Bash(go:*); Bash(yapf:*); Bash(gen); Bash(pytest:*); Bash(python -m pytest:*); Bash(curl:*); Bash(git mv:*); Bash(mypy:*); Bash(tsc:*); Bash(jest:*)", unlisted: byMode, risk: true, env: files}
			d := s.decideOn(t, using("Bash", line))
			if d.Behavior != tt.want {
				t.Errorf("%s: %v %s", line, d.Behavior, d.Reason)
			}
			if d.Behavior == Ask && (d.Risk != risk.High || !strings.Contains(d.Reason, "which git ignores and cannot bring back")) {
				t.Errorf("%s: %v %s", line, d.Risk, d.Reason)
			}
		}
	}
}

// TestClears: what a program removes before it writes is removed, unless tools make it anew.
func TestClears(t *testing.T) {
	files := fakeFS{files: []string{workspace + "/src/a.go", workspace + "/dist/x.js", workspace + "/.venv/bin/python", workspace + "/venv/x", workspace + "/coverage/x", workspace + "/packages/a/dist/x"}}
	for _, tt := range []struct {
		want  Behavior
		lines string
	}{
		{Ask, "pytest --basetemp=src | pytest -q --basetemp src tests | python -m pytest --basetemp=./src | pytest --basetemp=. | D=src; pytest --basetemp=$D"},
		{Ask, "vite build --outDir src --emptyOutDir | vite build --outDir=src | tsup src/a.ts --clean --out-dir src | vitest run --coverage --coverage.reportsDirectory=src | playwright test --output=src"},
		{Ask, "deno test --clean --coverage=src | python -m venv src --clear | python3 -m venv --clear src | virtualenv --clear src | uv venv --clear src | bash -c 'pytest --basetemp=src'"},
		{Ask, "jest --clearCache --cacheDirectory=src | jest --clear-cache --cache-directory src"},
		{Allow, "jest --clearCache | jest --clearCache --cacheDirectory=dist/c | jest --cacheDirectory=src"},
		{Allow, "pytest --basetemp=new | pytest --basetemp=tmp | pytest --basetemp=dist/t | python -m venv src2 --clear | python -m venv .venv --clear | python -m venv venv --clear | uv venv --clear .venv"},
		{Allow, "vite build | vite build --outDir dist --emptyOutDir | vite build --outDir packages/a/dist | deno test --clean --coverage=coverage | deno test --coverage=src | tsup src/a.ts --out-dir src"},
	} {
		for line := range strings.SplitSeq(tt.lines, " | ") {
			s := spec{mode: "acceptEdits", allow: "Bash(pytest:*); Bash(python:*); Bash(python3:*); Bash(vite:*); Bash(tsup:*); Bash(jest:*); Bash(vitest:*); Bash(playwright:*); Bash(deno test:*); Bash(virtualenv:*); Bash(uv venv:*)", unlisted: byMode, risk: true, env: files}
			d := s.decideOn(t, using("Bash", line))
			if d.Behavior != tt.want {
				t.Errorf("%s: %v %s", line, d.Behavior, d.Reason)
			}
		}
	}
}

// TestUnkeptByTools: the Write tool replaces a file. An edit has its old text in the input.
func TestUnkeptByTools(t *testing.T) {
	files := fakeFS{unkept: []string{workspace + "/data/app.db"}}
	for _, tt := range []struct {
		spec spec
		use  string
		want Behavior
	}{
		{spec{mode: "acceptEdits"}, "Write data/app.db", Ask},
		{spec{mode: "acceptEdits"}, "Write data/new.db", Allow},
		{spec{mode: "acceptEdits"}, "Edit data/app.db", Allow},
		{spec{mode: "acceptEdits", allow: "Edit(data/**)"}, "Write data/app.db", Allow},
		{spec{mode: "acceptEdits", allow: "Bash(cp:*)"}, "Bash cp a data/app.db", Allow},
		{spec{mode: "bypassPermissions"}, "Write data/app.db", Allow},
		{spec{mode: "bypassPermissions"}, "Bash : > data/app.db", Allow},
		{spec{mode: "default"}, "Write data/app.db", Ask},
	} {
		tt.spec.env, tt.spec.risk, tt.spec.unlisted = files, true, byMode
		tool, text, _ := strings.Cut(tt.use, " ")
		if d := tt.spec.decideOn(t, using(tool, text)); d.Behavior != tt.want {
			t.Errorf("%s under %s: %v %s", tt.use, tt.spec.mode, d.Behavior, d.Reason)
		}
	}
}

// TestUnkeptByOptions: no option that writes, of no program of the catalogue, replaces a file
// that git ignores without a question, under a rule for the program.
func TestUnkeptByOptions(t *testing.T) {
	env := fakeFS{unkept: []string{workspace + "/data/app.db"}}
	lines, free := 0, 0
	var walk func(words string, p *program.Program)
	walk = func(words string, p *program.Program) {
		for o := range p.All {
			if o.Effect != program.EffWrite && o.Effect != program.EffOutput || o.Value == program.NoValue {
				continue
			}
			for _, name := range o.Names {
				decide := func(file string) Behavior {
					line := words + " " + optionWith(name, file, o.Value)
					s := spec{mode: "acceptEdits", allow: "Bash(" + words + ":*)", unlisted: byMode, risk: true, env: env}
					return s.decideOn(t, using("Bash", line)).Behavior
				}
				if lines++; decide("data/app.db") == Allow {
					t.Errorf("allowed: %s", words+" "+optionWith(name, "data/app.db", o.Value))
				}
				if decide("data/new.db") == Allow {
					free++
				}
			}
		}
		for sub := range p.Subs {
			walk(words+" "+sub.Name, sub)
		}
	}
	for p := range program.Builtin {
		walk(p.Name, p)
	}
	if t.Logf("%d lines, %d allowed with a new file", lines, free); free < lines/3 {
		t.Errorf("only %d of %d lines are allowed with a new file: the test shows little", free, lines)
	}
}

// optionWith returns an option with its value, as a program takes it.
func optionWith(name, value string, mode program.ValueMode) string {
	switch {
	case mode == program.Pair:
		return name + " x " + value
	case mode == program.Optional && strings.HasPrefix(name, "--"):
		return name + "=" + value
	case mode == program.Optional:
		return name + value
	}
	return name + " " + value
}
