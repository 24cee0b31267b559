package permission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/shell"
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

func (f countingFS) Links(dir string, depth int) bool {
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
