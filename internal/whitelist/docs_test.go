package whitelist

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestAgentSafety: the examples of the page behave as it says.
func TestAgentSafety(t *testing.T) {
	page, err := os.ReadFile("../../docs/whitelist.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := Read("testdata/seed-default.json")
	if err != nil {
		t.Fatal(err)
	}
	_, safe, _ := strings.Cut(string(page), "<!-- safe:")
	safe, unsafe, _ := strings.Cut(safe, "<!-- unsafe:")
	unsafe, _, _ = strings.Cut(unsafe, "\n\n")
	check := func(table, row string, least int, want func(cells []string) string) {
		t.Helper()
		rows := regexp.MustCompile(row).FindAllStringSubmatch(table, -1)
		if len(rows) < least {
			t.Errorf("%d examples, want %d at least", len(rows), least)
		}
		for _, cells := range rows {
			got := ""
			if e := list.Validate(cells[1], shell.Analyze(cells[1], shell.Options{})); e != nil {
				got = string(e.Reason)
			}
			if got != want(cells) {
				t.Errorf("%s: %q, the page says %q", cells[1], got, want(cells))
			}
		}
	}
	check(safe, "(?m)^\\| `([^`]+)` \\|", 10, func([]string) string { return "" })
	check(unsafe, "(?m)^\\| `([^`]+)` \\| `([a-z_]+)` \\|", 15, func(cells []string) string { return cells[2] })
}

// TestWhitelistPage: the example loads, and every key is documented.
func TestWhitelistPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/whitelist.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json[^\n]*\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		t.Error("no example")
	}
	for _, b := range blocks {
		if _, err := Parse([]byte(b[1]), "whitelist.md"); err != nil {
			t.Error(err)
		}
	}
	for key := range described {
		if !regexp.MustCompile("(?m)^\\| `[^`]*" + key + "\\b").MatchString(string(page)) {
			t.Errorf("%s has no line", key)
		}
	}
}
