package patterns

import (
	"strings"
	"testing"
)

// TestSpellsLast checks the names with which a rule must end.
func TestSpellsLast(t *testing.T) {
	for rule, want := range map[string]bool{
		"Edit(.github)": true, "Edit(.github/**)": false, "Edit(.github/x)": false, "Edit(//w/.github)": true, "Bash(rm -r .github)": true, "Bash(rm -r .github/x)": false,
	} {
		r, _, err := Parse(rule, Allow, Source{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.spells([]Named{{Names: []string{".github"}, Least: 1, Last: true}}); got != want {
			t.Errorf("%s: %v", rule, got)
		}
	}
}

// TestSpells checks that a rule only spells out a path if it contains its names
// literally.
func TestSpells(t *testing.T) {
	for _, tt := range []struct {
		rule, path string
		least      int
		want       bool
	}{
		// Paths.
		{"Edit", ".git/config", 1, false},
		{"Edit(*)", ".git/config", 1, false},
		{"Edit(**)", ".git/config", 1, false},
		{"Edit(src/**)", ".git/config", 1, false},
		{"Write(**/*.json)", ".vscode/settings.json", 1, false},
		{"Edit(.g[i]t/config)", ".git/config", 1, false},
		{"Edit(.gi?/config)", ".git/config", 1, false},
		{"Edit(.git*/config)", ".git/config", 1, false},
		{"Edit(.gitx/config)", ".git/config", 1, false},
		{"Edit({.git,src}/**)", ".git/config", 1, false},
		{"Edit(.github/**)", ".github/workflows/ci.yml", 2, false},
		{"Edit(workflows/**)", ".github/workflows/ci.yml", 2, false},
		{"Edit(.github/*/ci.yml)", ".github/workflows/ci.yml", 2, false},
		{"Edit(.github/x/workflows/**)", ".github/workflows/ci.yml", 2, false},
		{"Read", ".git/config", 1, false},
		{"mcp__x__y", ".git/config", 1, false},
		{"WebFetch(git)", "git", 1, false},
		{"Skill(.git)", ".git", 1, false},
		{"Edit(.git/config)", ".git/config", 1, true},
		{"Edit(.git/**)", ".git/config", 1, true},
		{"Edit(./.git/**)", ".git/config", 1, true},
		{"Edit(**/.git/hooks/*)", ".git/hooks/x", 1, true},
		{"Edit(.GIT/**)", ".git/config", 1, true},
		{"Edit({.git/config,.git/info/**})", ".git/config", 1, true},
		{"Edit(~/.bashrc)", ".bashrc", 1, true},
		{"Edit(//home/x/.bashrc)", ".bashrc", 1, true},
		{"Edit(.github/workflows/**)", ".github/workflows/ci.yml", 2, true},
		{"Write(.envrc)", ".envrc", 1, true},
		// Commands.
		{"Bash", ".git/hooks/x", 1, false},
		{"Bash(*)", ".git/hooks/x", 1, false},
		{"Bash(cp:*)", ".git/hooks/x", 1, false},
		{"Bash(cp * *)", ".git/hooks/x", 1, false},
		{"Bash(cp *.git/hooks/x)", ".git/hooks/x", 1, false},
		{"Bash(cp x.git/hooks/x)", ".git/hooks/x", 1, false},
		{"Bash(cp y .gi*)", ".git/hooks/x", 1, false},
		{"Bash(cp y .github/x)", ".git/hooks/x", 1, false},
		{"Bash(cp .git/config:*)", ".git/hooks/x", 1, false},
		{"Bash(cp y .git/hooks/xy)", ".git/hooks/x", 1, false},
		{"Bash(cp y .git/hooks/x/z)", ".git/hooks/x", 1, false},
		{"Bash(cp y .git/h/*)", ".git/hooks/x", 1, false},
		{"Bash(cp y .git/hooks/y*)", ".git/hooks/x", 1, false},
		{"Bash(cp y .git/../x)", ".git/hooks/x", 1, false},
		{"Bash(cp y .github/*)", ".github/workflows/x", 2, false},
		{"Bash(cp y .github)", ".github/workflows/x", 2, false},
		{"Bash(cp y .git/hooks/x)", ".git/hooks/x", 1, true},
		{"Bash(cp y ./.git/hooks/x)", ".git/hooks/x", 1, true},
		{"Bash(cp y '.git/hooks/x')", ".git/hooks/x", 1, true},
		{"Bash(cp y /w/.git/hooks/x)", ".git/hooks/x", 1, true},
		{"Bash(cp y .git/hooks)", ".git/hooks/x", 1, true},
		{"Bash(cp y .git/hooks/)", ".git/hooks/x", 1, true},
		{"Bash(cp y .GIT/hooks/x)", ".git/hooks/x", 1, true},
		{"Bash(cp * .git/hooks/*)", ".git/hooks/x", 1, true},
		{"Bash(cp * .git/ho*)", ".git/hooks/x", 1, true},
		{"Bash(rm -r .git:*)", ".git", 1, true},
		{"Bash(sort -o.git/hooks/x y)", ".git/hooks/x", 1, false},
		{"Bash(sort --output=.git/hooks/x y)", ".git/hooks/x", 1, true},
		{"Bash(echo x > .git/hooks/x)", ".git/hooks/x", 1, true},
		{"Bash(cd a && touch .git/hooks/x)", ".git/hooks/x", 1, true},
		{"Bash(cp y .github/workflows/*)", ".github/workflows/x", 2, true},
	} {
		r, _, err := Parse(tt.rule, Allow, Source{})
		if err != nil {
			t.Fatal(err)
		}
		n := Named{Names: strings.Split(tt.path, "/"), Least: tt.least}
		if got := r.spells([]Named{n}); got != tt.want {
			t.Errorf("%s spells %s (%d): %v", tt.rule, tt.path, tt.least, got)
		}
		if got := r.spells([]Named{n, {Names: []string{"other"}, Least: 1}}); got {
			t.Errorf("%s spells two paths", tt.rule)
		}
	}
}
