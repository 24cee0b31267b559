package neovim

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocs: docs/editors.md shows the screens as they are, and the Neovim part of
// docs/project/question-tests.md names tests that exist.
func TestDocs(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	doc, bugs := read("../../../docs/editors.md"), read("bugs_test.go")
	_, tried, _ := strings.Cut(read("../../../docs/project/question-tests.md"), "## In Neovim")
	shown := regexp.MustCompile(`(?m)^== .*\n\n`).Split(read("testdata/screens.txt"), -1)[1:]
	for _, screen := range shown {
		if !strings.Contains(doc, "```text\n"+strings.TrimRight(screen, "\n")+"\n```") {
			t.Errorf("docs/editors.md does not show\n%s", screen)
		}
	}
	for _, name := range regexp.MustCompile("`(TestBug[^`]*)`").FindAllStringSubmatch(tried, -1) {
		if !strings.Contains(bugs, "func "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}
}
