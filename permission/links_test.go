package permission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestLinksThatGlobsMeet checks that no rule with a specifier and no mode
// proves a write if pathname expansion may give a name that is a link out of
// the workspace. Found by the effects test (internal/test/effects).
func TestLinksThatGlobsMeet(t *testing.T) {
	out := fakeFS{links: map[string]string{workspace + "/out/l": "/etc"}}
	for _, tt := range []struct {
		line, mode string
		want       Behavior
	}{
		{"touch out/*", "default", Ask},
		{"touch out/*", "acceptEdits", Ask},
		{"touch src/*", "default", Allow},
		{"touch b*", "default", Allow}, // the link is deeper
		{"touch ./*/*", "default", Ask},
		{"rm out/*", "default", Allow}, // removes the link itself
		{"rm out/*/x", "default", Ask},
		{"rm ./*/*", "default", Allow},
		{"rm ./*/*/x", "default", Ask},
		{"cp a out/*", "default", Ask},
		{"cp out/* src", "default", Ask}, // reads what is outside
		{"tee out/*.log", "acceptEdits", Ask},
		{"for f in out/*; do touch \"$f\"; done", "default", Ask},
		{"cat out/*", "default", Allow},
		{"find out -name a -exec touch {} +", "default", Ask},
		{"find src -name a -exec touch {} +", "default", Allow},
		{"find out -type f -exec touch {} +", "default", Allow},
		{"find out -type f -name a -exec touch {} +", "default", Allow},
		{"find out -type f -o -name a -exec touch {} +", "default", Ask},
		{"find out -name a -print0 | xargs -0 touch --", "default", Ask},
		{"find out -type f -print0 | xargs -0 touch --", "default", Allow},
		{"find out -name a -exec rm {} +", "default", Allow},
	} {
		s := spec{allow: "Bash(touch:*); Bash(rm:*); Bash(cp:*); Bash(cat:*); Bash(tee:*); Bash(find:*); Bash(xargs:*)", mode: tt.mode, env: out}
		if got := s.decideOn(t, using("Bash", tt.line)); got.Behavior != tt.want && (tt.want != Ask || got.Behavior != Deny) {
			t.Errorf("%s in mode %s: %s (%s)", tt.line, tt.mode, got.Behavior, got.Reason)
		}
	}
}

// TestReadsThroughLinks checks that a read which only its tier lets through does
// not leave the workspace by a link that pathname expansion or a search finds, or
// that lies below a directory which is read with the links in it.
func TestReadsThroughLinks(t *testing.T) {
	env := fakeFS{links: map[string]string{
		workspace + "/out/secret": "/srv/other/secret", // leads out
		workspace + "/out/own":    workspace + "/src",  // does not
		workspace + "/bin/own":    workspace + "/src/run",
		workspace + "/way/deep":   workspace + "/out",
	}}
	for line, want := range map[string]Behavior{
		"cat out/secret": Ask,
		"cat out/*":      Ask,
		"cat out/s*":     Ask,
		"cat out/S*":     Ask, // nocaseglob
		"cat out/o*":     Allow,
		"cat out/*.go":   Allow,
		"cat src/*":      Allow,
		"cat bin/*":      Allow,
		"cat */*":        Ask,
		"cat *":          Allow, // the links are deeper
		"cat o*/[s]*":    Ask,
		"cat way/d*/*":   Ask, // through a link that stays
		"cat way/*/s*":   Ask,
		"cat way/*/x*":   Allow,
		"cat way/*":      Allow,
		"cat < out/s*":   Ask,
		"while read l; do echo $l; done < out/?ecret": Ask,
		"for f in out/*; do cat \"$f\"; done":         Ask,
		"for f in src/*; do cat \"$f\"; done":         Allow,
		"cd out && cat *":                             Ask,
		"find out | xargs cat":                        Ask,
		"find out -exec cat {} +":                     Ask,
		"find out -name 's*' -exec cat {} ';'":        Ask,
		"find out -type f -exec cat {} +":             Allow,
		"find src -exec cat {} +":                     Allow,
		"find bin | xargs cat":                        Allow,
		"ls out | xargs cat":                          Ask,
		"rg -l x out | xargs cat":                     Ask,
		"grep -r x out":                               Allow, // grep(1): only -R follows
		"grep -R x out":                               Ask,
		"grep -Rn x .":                                Ask,
		"grep --dereference-recursive x .":            Ask,
		"grep -R x bin":                               Allow,
		"grep -R x way":                               Ask, // through a link that stays
		"grep -r x out/*":                             Ask, // and those among the operands
		"rg x":                                        Allow,
		"rg -L x":                                     Ask,
		"rg --follow x out":                           Ask,
		"rg -L x src":                                 Allow,
		"diff -r out src":                             Ask, // diff(1) follows
		"diff out/a src/a":                            Allow,
		"ls out/*":                                    Allow,
	} {
		if got := (spec{risk: true, env: env}).decideOn(t, using("Bash", line)); got.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", line, got.Behavior, got.Reason, want)
		}
	}
	for _, rule := range []string{"Bash(cat:*)", "Bash(cat out/*)", "Bash"} { // the person has thought of it
		if got := (spec{allow: rule, risk: true, env: env}).decideOn(t, using("Bash", "cat out/*")); got.Behavior != Allow {
			t.Errorf("under %s: %s (%s)", rule, got.Behavior, got.Reason)
		}
	}
	if got := (spec{allow: "Read(out/**)", risk: true, unlisted: UnlistedRisk, env: env}).decideOn(t, using("Bash", "cat out/*")); got.Behavior != Ask {
		t.Errorf("under a rule for the path: %s (%s)", got.Behavior, got.Reason)
	}
	env.many = true
	for _, line := range []string{"cat src/*", "find src -exec cat {} +", "grep -R x src"} {
		if got := (spec{risk: true, env: env}).decideOn(t, using("Bash", line)); got.Behavior != Ask || !strings.Contains(got.Reason, "too many files to check") {
			t.Errorf("%s with links that cannot be told: %s (%s)", line, got.Behavior, got.Reason)
		}
	}
	if got := (spec{mode: "acceptEdits", risk: true, env: env}).decideOn(t, using("Bash", "cp -rL out copy")); got.Behavior != Ask {
		t.Errorf("cp -rL: %s (%s)", got.Behavior, got.Reason)
	}
}

// TestDirectoriesAreSearched checks that a deny rule for a file counts for what reads
// the directory that the file lies in without an option -r.
func TestDirectoriesAreSearched(t *testing.T) {
	s := spec{allow: "Bash", deny: "Read(.env)", env: fakeFS{files: []string{workspace + "/.env"}}}
	for line, want := range map[string]Behavior{
		"grep -d recurse x .":            Ask,
		"grep -drecurse x .":             Ask,
		"grep --directories=recurse x .": Ask,
		"egrep -d recurse x":             Ask, // grep(1): without a file the working directory
		"pcregrep -d recurse x .":        Ask,
		"ug x":                           Ask,
		"ugrep -e x .":                   Ask,
		"diff . src":                     Ask, // diff(1) compares the files in them
		"diff -N src .":                  Ask,
		"colordiff --new-file . src":     Ask,
		"git grep --no-index x":          Ask,
		"git grep --untracked x":         Ask,
		"git diff --no-index . src":      Ask,
		"docker compose config":          Ask, // prints values of .env
		"docker-compose convert":         Ask,
		"docker compose config --quiet":  Allow,
		"docker compose ps":              Allow,
		"grep x a.go":                    Allow,
		"grep -d skip x src":             Allow,
		"diff src/a.go src/b.go":         Allow,
		"diff src lib":                   Allow,
		"git grep x":                     Allow,
		"git diff":                       Allow,
	} {
		if got := s.decideOn(t, using("Bash", line)); got.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", line, got.Behavior, got.Reason, want)
		}
	}
}

// TestSweepIsProtected checks that mode acceptEdits does not apply to a change
// of a whole directory that contains protected paths.
func TestSweepIsProtected(t *testing.T) {
	for line, want := range map[string]Behavior{
		"find . -delete": Ask, "gzip -r .": Ask, "find src -delete": Allow, "rsync -a --delete src/ .": Ask, "rsync -a --delete src/ out/": Allow,
	} {
		s := spec{allow: "Bash(find:*); Bash(gzip:*); Bash(rsync:*)", mode: "acceptEdits"}
		if got := s.decideOn(t, using("Bash", line)); got.Behavior != want && (want != Ask || got.Behavior != Deny) {
			t.Errorf("%s: %s (%s)", line, got.Behavior, got.Reason)
		}
	}
}

// TestExactOnly checks that an option that needs a rule for exactly its words
// is not covered by a rule that extends into the command. Found by the effects
// test.
func TestExactOnly(t *testing.T) {
	for rule, want := range map[string]Behavior{
		"Bash(xargs tar cf x --remove-files:*)": Ask, "Bash(xargs tar cf x --remove-files a)": Allow, "Bash(xargs tar:*)": Ask, "Bash": Allow,
	} {
		s := spec{allow: rule + "; Edit(x)"}
		if got := s.decideOn(t, using("Bash", "xargs tar cf x --remove-files a")); got.Behavior != want {
			t.Errorf("%s: %s (%s)", rule, got.Behavior, got.Reason)
		}
	}
}

// countingFS counts the calls that read directories.
type countingFS struct {
	fakeFS
	walks *int
}

func (f countingFS) Below(dir string, rule *patterns.Rule, hidden bool) bool {
	*f.walks++
	return f.fakeFS.Below(dir, rule, hidden)
}

func (f countingFS) Links(dir string, depth int) ([]string, bool) {
	*f.walks++
	return f.fakeFS.Links(dir, depth)
}

// TestWalksAreLimited checks that a directory is read once for a line, however
// often the line names it, and that beyond the limit a path may exist.
func TestWalksAreLimited(t *testing.T) {
	decide := func(line string) (Decision, int) {
		walks := 0
		s := spec{allow: "Bash; Read(**)", deny: "Read(*.pem); Read(*.key)", env: countingFS{walks: &walks}}
		return s.decideOn(t, using("Bash", line)), walks
	}
	if d, walks := decide(strings.Repeat("rg x;", 500)); d.Behavior != Allow || walks != 2 {
		t.Errorf("%s after %d walks, want one for each rule", outcome(d), walks)
	}
	if d, walks := decide(strings.Repeat("touch out/*;", 500)); walks != 1 {
		t.Errorf("%s after %d walks, want one for the links", outcome(d), walks)
	}
	var sb strings.Builder
	for i := range maxWalks {
		fmt.Fprintf(&sb, "rg x d%d;", i)
	}
	if d, walks := decide(sb.String()); outcome(d) != "ask deny-list Read(*.pem) held" || walks != maxWalks {
		t.Errorf("%s after %d walks", outcome(d), walks)
	}
}

// TestLinkedConfig checks that a program configured by its directory is not
// covered if a link leads from there out of the workspace.
func TestLinkedConfig(t *testing.T) {
	s := spec{allow: "Bash(make:*); Bash(cd:*)", env: fakeFS{links: map[string]string{workspace + "/out": "/srv/out"}}}
	why := shell.Why{Cause: shell.CauseConfigLinked, Name: "make"}.String()
	if got := s.decideOn(t, using("Bash", "make -C out test")); got.Behavior == Allow || !strings.Contains(got.Reason, why) {
		t.Errorf("%v: %s, want %q", got.Behavior, got.Reason, why)
	}
	if got := s.decideOn(t, using("Bash", "make -C src test")); got.Behavior != Allow {
		t.Errorf("%v: %s", got.Behavior, got.Reason)
	}
}
