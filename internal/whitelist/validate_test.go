package whitelist

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
)

func analyze(line string) *shell.Facts {
	return shell.Analyze(line, shell.Options{Dir: "/w", Home: "/home/u"})
}

// result returns the reason, or "allowed".
func (l *List) result(line string) string {
	if e := l.Validate(line, analyze(line)); e != nil {
		return string(e.Reason)
	}
	return "allowed"
}

func parse(t testing.TB, text string) *List {
	t.Helper()
	l, err := Parse([]byte(text), "list.json")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// seedList returns the list that the seed ships.
func seedList(t testing.TB) *List {
	t.Helper()
	l, err := Read("testdata/seed-default.json")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// seedRows returns the cases about the whitelist.
func seedRows(t testing.TB) []corpus.Seed {
	t.Helper()
	rows, err := corpus.ReadSeeds("../../testdata/cases/seeds.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(rows, func(s corpus.Seed) bool { return s.System != "S2" })
}

// meant are rows that are deviations for other reasons (corpus.SeedDeviations),
// and here have the result that the seed expects.
var meant = map[string]string{"S2-C040": `node -e "require('child_process').execSync('id')"`}

// TestSeedRows: every row of the seed has the expected result.
func TestSeedRows(t *testing.T) {
	l, rows := seedList(t), seedRows(t)
	if len(rows) != 51 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if d, ok := corpus.SeedDeviations[row.ID]; ok {
			if got := l.result(row.Command); got != d.Got {
				t.Errorf("%s %q: %s, want %s: %s", row.ID, row.Command, got, d.Got, d.Why)
			}
			row.Command = meant[row.ID]
		}
		if got := l.result(row.Command); !slices.Contains(strings.Split(row.Expect.Result, "|"), got) {
			t.Errorf("%s %q: %s, want %s: %v", row.ID, row.Command, got, row.Expect.Result, l.Validate(row.Command, analyze(row.Command)))
		}
	}
}

// tools is a list with an example of everything.
const tools = head + `,"defaults":{
 "npm":{"commands":["test","run build","run","install"],"allow_args":["--silent","--json","--workspace *","--tag latest","-w *"],"deny_args":["--ignore-scripts","--registry *evil*","-g","publish"]},
 "git":{"commands":["status","log","remote -v","stash list","push"],"allow_args":["--oneline","-C sub","--format=%h","-n *"],"deny_args":["--exec*"]},
 "node":{"commands":["-e","--check"],"allow_args":["--inspect"],"deny_args":["--experimental-*"]},
 "make":{"commands":["test","lint"],"allow_bare":true,"allow_args":["-j*","V=1"]},
 "tar":{"commands":["tf"],"allow_positionals":true},
 "go":{"commands":["test"],"allow_args":["-run *","./..."],"deny_args":["-exec"]},
 "./gradlew":{"commands":["build"]},
 "sudo":{"commands":["apt-get"],"allow_args":["update"]},
 "frob":{"commands":["go"],"allow_args":["--a *"]},"yarn":{"commands":["lint"],"allow_args":["--fix"]}},
"custom":{
 "eslint":{"binary":"node_modules/.bin/eslint","allow_args":["--format json","--fix","-c *"]},
 "ls":{"binary":"ls","allow_args":["-l","-a"],"allow_positionals":true},
 "npx":{"binary":"npx"},"env":{"binary":"env","allow_args":["CI=1"]},"less":{"binary":"less","allow_positionals":true},
 "prog":{"binary":"prog","allow_args":["--conf *","--x=*","a*c"],"deny_args":["--conf /etc/*","-z","*secret*","-o /etc/*"],"allow_positionals":true},
 "sed":{"binary":"sed","allow_args":["-n","1e*x"],"allow_positionals":true},"sh":{"binary":"sh","allow_args":["-c *","-s"]},"xargs":{"binary":"xargs"},"perl":{"binary":"perl","allow_args":["-n"],"allow_positionals":true},"parallel":{"binary":"parallel","allow_args":["--x"],"allow_positionals":true},"awk":{"binary":"awk","allow_positionals":true},"ar":{"binary":"ar","allow_positionals":true},"bash":{"binary":"bash","allow_args":["-c"]},"echo":{"binary":"echo","allow_positionals":true}}`

const strictTools = tools + "}"

// TestValidate: many spellings for each reason.
func TestValidate(t *testing.T) {
	l := parse(t, strictTools)
	for want, lines := range map[string][]string{
		"allowed": {
			"npm test", "npm  test", "\tnpm test", "npm test\n", "npm test # a comment | x", "npm \\\n test", `'npm' "test"`, `n'p'm te"st"`, `$'npm' test`, "npm test --silent --json",
			"npm --silent test", "npm run build", "npm run --silent build", "npm run", "npm test --workspace a", "npm test --workspace=a", "npm --workspace a test", "npm test --tag latest", "npm test --tag=latest",
			"npm test -w a", "npm --workspace test test", "CI=1 npm test", "NODE_ENV=a\\ b CI='' npm test", "npm install --workspace 'a b'", "npm test --workspace 'a|b;c&d$x`y`'",
			"git status", "git log --oneline", "git log v1..v2 -n 3", "git -C sub log", "git stash list", "git remote -v", "git log --format=%h", "git push", "git log a --oneline b", "git log HEAD@{1}", "git log 'x*'",
			"node -e 'x | y'", "node --check a.js", "node --inspect --check a.js", "make", "make test", "make -j4", "make -j4 test", "make V=1", "make test V=1",
			"tar tf x.tgz", "go test ./...", "go test -run X ./...", "./gradlew build", "sudo apt-get update", "yarn lint", "yarn lint --fix",
			"eslint", "eslint --fix", "npx eslint --fix", "eslint --format json", "eslint --format=json", "node_modules/.bin/eslint --fix", "eslint -c x.json",
			"ls", "ls -l /tmp", "ls -", "npx ls -l", "frob --a go go", "sed -n 5p x", "sed s/a/b/ x", "sh -c 'ls -l'", "awk '{print $1}' x", "frob go --a=x", "env CI=1 ls", "less x", "prog", "prog --conf x", "prog --conf=x", "prog --x=1", "prog abc", "prog ac", "prog x", "bash -c ls", "echo hello world",
		},
		"too_long": {"npm test " + strings.Repeat("x", 492), strings.Repeat("é", 251), "npm test | " + strings.Repeat("x", 500)},
		"shell_operators": {
			"npm test | cat", "npm test|cat", "npm test |& cat", "npm test && ls", "npm test || ls", "npm test; ls", "npm test;", "npm test & ls", "npm test &", "npm test\nls", "npm test\n\nls", "! npm test",
			"(npm test)", "{ npm test; }", "npm test > x", "npm test >x", "npm test >> x", "npm test 2> x", "npm test &> x", "npm test >& x", "npm test < x", "npm test <> x", "npm test <<< x", "npm test <<E\nx\nE", "npm test 2>&1", "npm test > /dev/null",
			"npm test $x", "npm test ${x}", `npm test "$x"`, "npm test $(ls)", "npm test `ls`", `npm test "$(ls)"`, "npm test $((1))", "npm test <(ls)", "npm test *", "npm test a?", "npm test [ab]", "npm test ~", "npm test ~/x", "npm test {a,b}", "npm test {1..3}",
			"npm test x=~", `npm test $"x"`, "$x test", "$(ls)", "X=1", "X=1 Y=2", "CI=$x npm test", "CI=$(ls) npm test", "CI+=1 npm test", "CI[0]=1 npm test", "CI=(1) npm test", "CI=~ npm test", "PATH=x", "npm() { ls; }", "if ls; then ls; fi",
			"for x in a; do ls; done", "while ls; do ls; done", "case a in a) ls;; esac", "[[ -f x ]]", "((1))", "export CI=1", "time ls", "coproc ls", "function f { ls; }", "npm 'test", "npm test (", "npm \"test", "npm test )", "npm \x00", "npm te\\", "npm\rtest", "npx ls *", "evil | x", "constructor $x", "bash -c 'ls > x'", "bash -c 'ls $x'", "less x | less",
			"bash -c \"echo x >/etc/x\"", "let x=1", "xargs ls", "sh -c 'eval $(x)'", "declare x", "ls |\ncat", "ls &&\nls",
		},
		"not_whitelisted": {
			"", " ", "\n", "# npm test", "rm -rf x", "curl x", "constructor x", "toString", "__proto__", "hasOwnProperty", "NPM test", "npm\u00a0test", "./npm test", "/usr/bin/npm test", "npm", "npm --silent", "npm tests", "npm tes", "npm 'test '", "npm ''", "npm Test",
			"npm 'run build'", "npm run-script build", "npm ci", "npm exec evil", "npm -- test", "npm x test", "npm testx", "git", "git push-x", "git stash", "git stash pop", "git remote add", "git -x push-x", "git clone x", "frob --a go", "frob x", "node", "node evil.js", "node -p 1", "node -pe 1", "node --eval 1", "node -e=1", "node - -e", "node a.js --check",
			"make lints", "make V=2", "make V=1 x", "make -k", "tar xf x", "tar -tf x", "tar tfv x", "go run x", "gradlew build", "./gradlew", "./gradlew buildx", "gradlew", "sudo ls", "sudo -i",
			"npx evil", "npx npx evil", "env rm x", "env CI=1 rm -rf x", "bash -c 'evil x'", "bash -c 'evil; ls'", "sh -c 'ls; . x'", "sh -c 'alias x=y'", "sed -n '1e id' x", "npx sed '1e id'", "tar tf x --to-command=evil", "yarn lints", "yarn run lint", "yarn", "command npm test", "exec npm test", "timeout 5 npm test", "nice npm test", "eslint2", ".bin/eslint", "./node_modules/.bin/eslint",
			"CI=1 evil", "LD_PRELOAD=x evil", "LS", "'ls -l'", "ls\\ -l",
		},
		"dangerous_args": {
			"npm test --ignore-scripts", `npm test "--ignore-scripts"`, "npm test --ignore-script's'", `npm test \--ignore-scripts`, "npm --ignore-scripts test", "npm test --ignore-scripts=true", "npm test --ignore-s", "npm test -ignore-scripts", "npm test ---ignore-scripts", "npm --ignore-scripts ci", "npm test --workspace --ignore-scripts",
			"npm test --registry http://evil", "npm test --registry=http://evil.com/", "npm test -g", "npm test -wg", "npm test -xg", "npm test -wx", "npm publish", "npm run publish", "npm test publish", "npm test x", "npm test --coverage", "npm test -- --x", "npm test --", "npm test --silent=1", "npm test --silen", "npm test --silentx", "npm test -silent", "npm --prefix /x test", "npm test --tag next", "npm test --tag=next", "npm test --tag", "npm test --workspace", "npm test --workspace -x", "npm test -w", "npm run build extra", "npm test ''",
			"git -c core.pager=sh log", "git log --output=/etc/x", "git log -p", "git -C other log", "git -Csub log", "git --exec-path=x log", "git log --exec=x", "git push origin", "git stash list x", "git log -- x", "git push --force", "git -C sub -C other log", "git log --format", "git log --form=%h",
			"node --experimental-vm-modules -e 1", "node --experimental-x a.js", "node --check --experimental-y a.js", "node -e 1 --experimental-", "node --expe -e 1", "node -e 1 -r x", "node -e -1", "make test -k", "make -f x test", "go test -exec x ./...", "go test --exec x ./...", "go test --exec=x ./...", "go test ./x", "go test -run", "go test -runX ./...",
			"./gradlew build x", "sudo apt-get install", "sudo -u x apt-get update", "sudo -n apt-get update", "eslint src", "eslint --format html", "eslint --format", "eslint --fix json", "eslint --format json x", "ls -la", "ls --l", "ls -R", "ls -- -R", "ls x -R", "sed 's/a/b/e' x", "sed -f x y", "awk '{system($1)}' x", "npx awk '{system($1)}' x", "sh -c 'ls\r -l'", "sh -c \"'\"", "sh -s", "perl -e x", "less +!sh", "frob --b go", "frob --a x go y", "less x +5", "ar rcs x", "bash -c 'ls -l -a'", "env CI=2 ls", "yarn lint x", "yarn lint --fixx",
			"prog --conf /etc/x", "prog --conf=/etc/x", "prog --con /etc/x", "prog -z", "prog -az", "prog my-secret-file", "prog --conf=a-secret", "prog --conf a-secret", "prog -xsecret", "prog -o/etc/x", "prog -o /etc/x", "prog --conf -x", "prog -abc", "prog -=x", "prog --x", "prog --conf",
			"LD_PRELOAD=x npm test", "PATH=x npm test", "FOO=1 npm test", "CI=1 FOO=1 npm test", "ci=1 npm test", "bash -c 'ls -l'", "bash -c 'ls -R'", "bash -x -c ls", "npx ls -R", "npx -y ls", "env FOO=1 ls",
		},
	} {
		for _, line := range lines {
			if got := l.result(line); got != want {
				t.Errorf("%q: %s, want %s: %v", line, got, want, l.Validate(line, analyze(line)))
			}
		}
	}
}

// TestLengthLimit: S2-07. A line is too long only beyond the limit, which is in
// bytes, 500 by default.
func TestLengthLimit(t *testing.T) {
	shipped, err := Parse(Default, "default.json")
	if err != nil {
		t.Fatal(err)
	}
	said := parse(t, strings.Replace(strictTools, `"defaults"`, `"policy":{"max_command_length":40},"defaults"`, 1))
	for _, tt := range []struct {
		name  string
		list  *List
		limit int
	}{{"shipped", shipped, 500}, {"built in", BuiltIn(), 500}, {"of the seed", seedList(t), 500}, {"not said", parse(t, strictTools), 500}, {"said", said, 40}} {
		for _, line := range []string{"npm test", "npm test # é"} {
			full := line + strings.Repeat(" ", tt.limit-len(line))
			for n, want := range map[string]string{full[:tt.limit-1]: "allowed", full: "allowed", full + " ": "too_long"} {
				if got := tt.list.result(n); got != want {
					t.Errorf("%s: %d bytes, the limit is %d: %s, want %s", tt.name, len(n), tt.limit, got, want)
				}
			}
		}
	}
}
