package workspace

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestFiles checks that wildcards mean the paths that the shell finds, and that a limit is
// told.
func TestFiles(t *testing.T) {
	dir := tree(t, "id_rsa", ".env", "server.key", "sub/.env", "sub/a.go", "sub/deep/b.go", ".hid/c.go", "a[b")
	for pattern, want := range map[string]string{
		"i*a": "id_rsa", "*v": "", "server.*": "server.key", "s*": "server.key sub/", "*/a.go": "sub/a.go", "*/*": "sub/a.go sub/deep/", "*/*/*.go": "sub/deep/b.go",
		".*v": ".env", "sub/.e*": "sub/.env", "*/x": "", "x/*": "", "id_rsa/*": "", "sub*/": "sub/", "a[*": "a[b",
	} {
		name := shell.Word{Text: dir + "/"}
		for i, part := range strings.Split(pattern, "*") {
			if i > 0 {
				name.Holes = append(name.Holes, shell.Hole{At: len(name.Text), Kind: shell.Glob})
			}
			name.Text += part
		}
		found, all := Env{}.Files(name)
		for i := range found {
			found[i] = strings.TrimPrefix(found[i], dir+"/")
		}
		slices.Sort(found)
		if got := strings.Join(found, " "); got != want || !all {
			t.Errorf("%s means %q (all %v), want %q", pattern, got, all, want)
		}
	}
	all := shell.Word{Text: dir + "/", Holes: []shell.Hole{{At: len(dir) + 1, Kind: shell.Glob}}}
	for range farLimit {
		if err := os.WriteFile(dir+"/x"+strings.Repeat("x", len(all.Holes)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		all.Holes = append(all.Holes, all.Holes[0])
	}
	all.Holes = all.Holes[:1]
	if _, whole := (Env{Limit: 1}).Files(all); whole {
		t.Error("more names than the limit are all")
	}
}
