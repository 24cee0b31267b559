package neovim

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocs: docs/nvim.md shows the screens as they are, and names tests that exist.
func TestDocs(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	doc, bugs := read("../../../docs/nvim.md"), read("bugs_test.go")
	shown := regexp.MustCompile(`(?m)^== .*\n\n`).Split(read("testdata/screens.txt"), -1)[1:]
	for _, screen := range shown {
		if !strings.Contains(doc, "```text\n"+strings.TrimRight(screen, "\n")+"\n```") {
			t.Errorf("docs/nvim.md does not show\n%s", screen)
		}
	}
	for _, name := range regexp.MustCompile("`(TestBug[^`]*)`").FindAllStringSubmatch(doc, -1) {
		if !strings.Contains(bugs, "func "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}
}
