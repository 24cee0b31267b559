package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

const root = "../../"

// sources returns the files of the repository that keep accepts, by their path from
// its root, with slashes.
func sources(t *testing.T, keep func(name string) bool) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(file, filepath.FromSlash(root)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"node_modules", "testdata", ".git", "proof"}, d.Name())):
			return fs.SkipDir
		case d.Type().IsRegular() && keep(name):
			text, err := os.ReadFile(file)
			found[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func isPage(name string) bool { return path.Ext(name) == ".md" }

// prose returns a page without what stands in fences and in code, where nothing is
// a link or a heading.
func prose(text string) string {
	return codeSpan.ReplaceAllString(anyFence.ReplaceAllString(text, ""), "`$1`")
}

var (
	anyFence = regexp.MustCompile("(?ms)^```.*?^```$")
	codeSpan = regexp.MustCompile("``?((?:[^`\n])+)``?")
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	link     = regexp.MustCompile(`(?:\]\(|(?:src|srcset|href)=")([^)"\s]+)[)"]`)
	inText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors returns the names by which the headings of a page can be linked, as GitHub
// makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(prose(text), -1) {
		title := inText.ReplaceAllString(m[1], "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title))
		name := slug
		for i := 1; found[name]; i++ {
			name = slug + "-" + strconv.Itoa(i)
		}
		found[name] = true
	}
	return found
}

// TestLinks: each relative link of each page leads to a file and a heading that are
// there, and each page for readers can be reached from docs/README.md.
func TestLinks(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	pages := sources(t, isPage)
	to := map[string][]string{}
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(prose(text), -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path.Join(path.Dir(name), file)
			if file == "" {
				target = name
			}
			if _, err := os.Stat(root + target); err != nil {
				t.Errorf("%s links %s: no such file", name, m[1])
				continue
			}
			if anchor != "" && !anchors(pages[target])[anchor] {
				t.Errorf("%s links %s: no such heading", name, m[1])
			}
			to[name] = append(to[name], target)
		}
	}
	reached, next := map[string]bool{}, []string{"docs/README.md"}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if !reached[name] {
			reached[name] = true
			next = append(next, to[name]...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if strings.HasPrefix(name, "docs/") && !reached[name] {
			t.Errorf("%s cannot be reached from docs/README.md", name)
		}
	}
	if len(pages) < 50 {
		t.Errorf("%d pages found", len(pages))
	}
}

var named = regexp.MustCompile(`\bdocs/[\w./-]+\.(?:md|svg|png)\b`)

// TestPagesNamed: a page that a source file, a help text or a page names by its path is there.
func TestPagesNamed(t *testing.T) {
	t.Parallel()
	keep := func(name string) bool {
		return slices.Contains([]string{".md", ".go", ".ts", ".mjs", ".js", ".py", ".lua", ".json", ".toml", ".txt"}, path.Ext(name)) &&
			!strings.HasSuffix(name, "_test.go")
	}
	found := 0
	for name, text := range sources(t, keep) {
		for _, m := range named.FindAllString(text, -1) {
			found++
			if _, err := os.Stat(root + m); err != nil {
				t.Errorf("%s names %s, which is not there", name, m)
			}
		}
	}
	if found < 40 {
		t.Errorf("%d names found", found)
	}
}
