package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var (
	_ permission.Env = Env{}
	_ permission.Env = Fake{}
)

func TestFakeResolve(t *testing.T) {
	fake := Fake{Dir: "/home/dev/proj", Symlinks: map[string]string{
		"src/link": "/etc/passwd", "src/up": "..", "src/abs": "/", "src/a": "b", "src/b": "../.env",
		"src/self": "/proc/self/root", "src/chain1": "chain2", "src/chain2": "/home/dev/.profile",
		"loop1": "loop2", "loop2": "loop1", "me": "me", "src/d": "/home/dev/.ssh/", "/abs": "proj/../x",
		"./odd//name": "y", "empty": "", "far": "a/b/../../../z",
	}}
	tests := []struct {
		path, want string // want "": not ok
	}{
		{"/home/dev/proj/src/main.go", "/home/dev/proj/src/main.go"},
		{"/home/dev/proj/src/link", "/etc/passwd"},
		{"/home/dev/proj/src/link/below", "/etc/passwd/below"},
		{"/home/dev/proj/src/up/.env", "/home/dev/proj/.env"},
		{"/home/dev/proj/src/abs/etc/shadow", "/etc/shadow"},
		{"/home/dev/proj/src/a", "/home/dev/proj/.env"},
		{"/home/dev/proj/src/chain1", "/home/dev/.profile"},
		{"/home/dev/proj/src/d/../x", "/home/dev/x"}, // ".." follows the link, as in the kernel
		{"/home/dev/proj/src/../src//./link", "/etc/passwd"},
		{"/abs/q", "/x/q"},
		{"/home/dev/proj/odd/name", "/home/dev/proj/odd/y"},
		{"/home/dev/proj/far", "/home/dev/z"},
		{"/..", "/"},
		{"/", "/"},
		{"/home/dev/proj/src/self/etc/passwd", ""},
		{"/home/dev/proj/loop1", ""},
		{"/home/dev/proj/me/x", ""},
		{"/home/dev/proj/empty", ""},
		{"relative", ""},
		{"", ""},
		{"/a\x00b", ""},
		{"/proc/self/cwd/x", ""},
		{"/proc/self", ""},
		{"/proc/thread-self/root/etc", ""},
		{"/proc/12/root/etc/passwd", ""},
		{"/proc/12/task/13/fd/3", ""},
		{"/proc/12/exe", ""},
		{"/proc/12/status", "/proc/12/status"},
		{"/proc/cpuinfo", "/proc/cpuinfo"},
		{"/proc/1x/root", "/proc/1x/root"},
		{"/dev/fd/3", ""},
		{"/dev/stdin", ""},
		{"/dev/null", "/dev/null"},
	}
	for _, tt := range tests {
		got, ok := fake.Resolve(tt.path)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Resolve(%q) = %q, %v; want %q", tt.path, got, ok, tt.want)
		}
	}
	below := func(dir, rule string) bool {
		r, _, err := patterns.Parse(rule, patterns.Deny, patterns.Source{})
		if err != nil {
			t.Fatal(err)
		}
		return fake.Below(dir, patterns.NewSet(patterns.Place{Workspace: "/p", Home: "/h"}, r).Rules()[0], true)
	}
	for rule, want := range map[string][3]bool{ // of /, /p and /p/src
		"Read(src/**)": {}, "Edit(src/**)": {true, true, false}, "Edit(./f)": {true, true, false}, "Edit(src/a/*.go)": {true, true, true}, "Edit(~/f)": {true, false, false},
	} {
		if got := [3]bool{below("/", rule), below("/p/", rule), below("/p/src", rule)}; got != want {
			t.Errorf("below %s: %v", rule, got)
		}
	}
}

// TestFakeFold: on a file system that ignores letter case, a link is found under
// any spelling of its name.
func TestFakeFold(t *testing.T) {
	links := map[string]string{"Src/Link": "/etc/passwd"}
	for _, name := range []string{"/p/src/link", "/P/SRC/LINK", "/p/Src/Link"} {
		if got, ok := (Fake{Dir: "/p", Symlinks: links, Fold: true}).Resolve(name); !ok || got != "/etc/passwd" {
			t.Errorf("%s leads to %q", name, got)
		}
	}
	if got, _ := (Fake{Dir: "/p", Symlinks: links}).Resolve("/p/src/link"); got != "/p/src/link" {
		t.Error(got)
	}
	if found, _ := (Fake{Dir: "/p", Symlinks: links, Fold: true}).Links("/P/src", 1); len(found) == 0 {
		t.Error("no link in /P/src")
	}
}

// TestChain: at most as many links as in Linux are followed.
func TestChain(t *testing.T) {
	links := map[string]string{}
	for i := range maxLinks + 1 {
		links[fmt.Sprintf("/l%d", i)] = fmt.Sprintf("/l%d", i+1)
	}
	fake := Fake{Symlinks: links}
	if got, ok := fake.Resolve("/l1"); !ok || got != fmt.Sprintf("/l%d", maxLinks+1) {
		t.Errorf("%d links: %q, %v", maxLinks, got, ok)
	}
	if got, ok := fake.Resolve("/l0"); ok {
		t.Errorf("%d links: %q", maxLinks+1, got)
	}
}

// tree creates files (a name that ends in / is a directory) and links (from ->
// to) and returns their directory, resolved.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		from, to, link := strings.Cut(name, " -> ")
		full := filepath.Join(dir, from)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(to, full)
		case strings.HasSuffix(name, "/"):
			err = os.Mkdir(full, 0o755)
		default:
			err = os.WriteFile(full, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestResolve(t *testing.T) {
	dir := tree(t, "src/main.go", "src/up -> ..", "src/abs -> /", "src/a -> b", "src/b -> gone/x", "l1 -> l2", "l2 -> l1", "in -> src")
	tests := []struct{ path, want string }{
		{"/src/main.go", "/src/main.go"},
		{"/src/none/new.go", "/src/none/new.go"},
		{"/in/main.go", "/src/main.go"},
		{"/in/up/in/none", "/src/none"},
		{"/src/up/../x", "/../x"},
		{"/src/a", "/src/gone/x"},
		{"/src/none/../main.go", "/src/main.go"},
		{"/src/main.go/x", "/src/main.go/x"},
		{"/l1", ""},
		{"/l1/x", ""},
	}
	for _, tt := range tests {
		got, ok := Env{}.Resolve(dir + tt.path)
		want := tt.want
		if want != "" {
			want = filepath.Clean(dir + tt.want)
		}
		if got != want || ok != (want != "") {
			t.Errorf("Resolve(%q) = %q, %v; want %q", tt.path, got, ok, want)
		}
	}
	for path, want := range map[string]string{
		dir + "/src/abs/etc/none": "/etc/none", "/proc/self/root/etc": "", "/dev/fd/0": "", "/proc/mounts": "", "x": "",
		"/" + strings.Repeat("n", 300): "",
	} {
		if got, ok := (Env{}).Resolve(path); got != want || ok != (want != "") {
			t.Errorf("Resolve(%q) = %q, %v; want %q", path, got, ok, want)
		}
	}
}

// TestResolveAgrees compares Resolve with the standard library where both have an
// answer.
func TestResolveAgrees(t *testing.T) {
	dir := tree(t, "a/b/c", "a/l -> b", "a/b/up -> ../..", "x -> a/l/up/a", "y -> x/b/c")
	parts := []string{"a", "b", "c", "l", "up", "x", "y", "..", "."}
	var names []string
	for _, p := range parts {
		for _, q := range parts {
			for _, r := range parts {
				names = append(names, p+"/"+q+"/"+r)
			}
		}
	}
	compared := 0
	for _, name := range names {
		name = dir + "/" + name
		want, err := filepath.EvalSymlinks(name)
		if err != nil {
			continue
		}
		compared++
		if got, ok := (Env{}).Resolve(name); !ok || got != want {
			t.Errorf("Resolve(%q) = %q, %v; want %q", name, got, ok, want)
		}
	}
	if compared < 50 {
		t.Errorf("only %d paths exist", compared)
	}
}

func TestBelow(t *testing.T) {
	dir := tree(t, "src/a.go", "src/deep/er/key.pem", ".env", "sub/.hid/x.key", "out -> /etc", "link.key2 -> nowhere", "empty/",
		"way/to -> ../src/deep", "round/up -> ..", "round/self -> .")
	tests := []struct {
		rule   string
		below  string
		hidden bool
		want   bool
	}{
		{"Read(*.pem)", "", false, true},
		{"Read(*.pem)", "/src", false, true},
		{"Read(*.pem)", "/sub", false, false},
		{"Read(.env)", "", true, true},
		{"Read(.env)", "", false, false},
		{"Read(*.key)", "", false, false},
		{"Read(*.key)", "", true, true},
		{"Read(*.key)", "/sub/.hid", false, true},
		{"Read(./src/**)", "", false, true},
		{"Read(./src/**)", "/sub", true, false},
		{"Read(*.none)", "", true, false},
		{"Read(/etc/passwd)", "", true, true}, // a link leads there
		{"Read(*.pem)", "/way", false, true},
		{"Read(./src/deep/**)", "/way", false, true},
		{"Read(./way/to/er/**)", "", false, true},
		{"Read(./.env)", "/way", true, false},
		{"Read(./.env)", "/round", true, true},
		{"Read(*.none)", "/round", true, false},
		{"Read(*.key2)", "", false, true},
		{"Edit(*.go)", "", false, true},
		{"Read(*.go)", "/empty", true, false},
		{"Read(*.go)", "/none", true, false},
		{"Read(*.go)", "/src/a.go", true, false},
	}
	for _, tt := range tests {
		rule, _, err := patterns.Parse(tt.rule, patterns.Deny, patterns.Source{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		env := Env{Place: patterns.Place{Workspace: dir}}
		if got := env.Below(dir+tt.below, rule, tt.hidden); got != tt.want {
			t.Errorf("Below(%s, %s, %v) = %v", tt.below, tt.rule, tt.hidden, got)
		}
	}
}

// TestBelowShown checks that a search that leaves hidden names out shows those that an
// ignore file brings in, as ripgrep does.
func TestBelowShown(t *testing.T) {
	for line, want := range map[string][2]bool{ // below the directory, and below conf
		"!.env": {true, true}, "!.*": {true, true}, "!*": {true, true}, "!conf/**": {true, true}, "!/conf/.env": {true, true}, "!**/.env": {true, true}, "!con[!a]/**/.env": {true, true}, "!.e[n]v": {true, true},
		"!.env.example": {}, ".env": {}, "!.gitkeep\n!.vscode/settings.json": {}, "!dist/**": {}, "# !.env": {}, "!.env\n.env": {}, "!/.env": {},
	} {
		for _, file := range ignoreFiles {
			dir := tree(t, "conf/.env", "src/a.go")
			if err := os.WriteFile(filepath.Join(dir, file), []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			rule, _, err := patterns.Parse("Read(.env)", patterns.Deny, patterns.Source{Name: "test"})
			if err != nil {
				t.Fatal(err)
			}
			env := Env{Place: patterns.Place{Workspace: dir}}
			if got := [2]bool{env.Below(dir, rule, false), env.Below(dir+"/conf", rule, false)}; got != want {
				t.Errorf("%s with %q shows %v, want %v", file, line, got, want)
			}
			if env.Below(dir+"/src", rule, false) {
				t.Errorf("%s with %q shows something in src", file, line)
			}
		}
	}
}

func TestBelowLimit(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("d%d/f", i%3+i/3*3))
	}
	dir := tree(t, names...)
	rule, _, err := patterns.Parse("Read(*.none)", patterns.Deny, patterns.Source{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	place := patterns.Place{Workspace: dir}
	if (Env{Place: place, Limit: 60}).Below(dir, rule, true) {
		t.Error("60 names are over a limit of 60")
	}
	if !(Env{Place: place, Limit: 59}).Below(dir, rule, true) {
		t.Error("beyond the limit the answer must be true")
	}
	far, _, err := patterns.Parse("Read(./.env.*)", patterns.Deny, patterns.Source{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if (Env{Place: place, Limit: 40}).Below(dir, far, true) {
		t.Error("directories that only a link could lead out of count against the limit")
	}
	many := tree(t, names...)
	for i := range 301 {
		if err := os.WriteFile(filepath.Join(many, "d0", fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !(Env{Place: patterns.Place{Workspace: many}, Limit: 30}).Below(many, far, true) {
		t.Error("beyond the limit for links the answer must be true")
	}
	if !(Env{Place: place, Limit: 9}).Below(dir, far, true) {
		t.Error("beyond the limit, where such a path may stand, the answer must be true")
	}
	if err := os.Symlink("../.env.local", filepath.Join(dir, "d1", "l")); err != nil {
		t.Fatal(err)
	}
	if !(Env{Place: place, Limit: 62}).Below(dir, far, true) {
		t.Error("a link in a directory that is put off is not seen")
	}
	if os.Geteuid() == 0 {
		t.Log("a directory that cannot be read: root reads all")
		return
	}
	if err := os.Chmod(filepath.Join(dir, "d0"), 0); err != nil {
		t.Fatal(err)
	}
	if !(Env{Place: place}).Below(dir, rule, true) {
		t.Error("a directory that cannot be read counts as empty")
	}
}

func TestEntry(t *testing.T) {
	dir := tree(t, "src/a.go", "l -> src", "dangling -> none")
	for name, want := range map[string][2]bool{"src": {true, true}, "src/a.go": {true, true}, "l": {true, false}, "dangling": {true, false}, "none": {false, false}, "src/a.go/x": {true, false}} {
		if exists, own := (Env{}).Entry(filepath.Join(dir, name)); exists != want[0] || own != want[1] {
			t.Errorf("%s: %v %v", name, exists, own)
		}
	}
	fake := Fake{Dir: dir, Symlinks: map[string]string{"l": "src"}}
	for name, want := range map[string]bool{"l": true, "src": false} {
		if exists, own := fake.Entry(filepath.Join(dir, name)); exists != want || own {
			t.Errorf("Fake: %s: %v %v", name, exists, own)
		}
	}
}

func TestLinks(t *testing.T) {
	dir := tree(t, "src/a.go", "src/deep/er/x -> /etc", "out/l -> ../src", "plain/d/f")
	fake := Fake{Dir: dir, Symlinks: map[string]string{"src/deep/er/x": "/etc", "out/l": "../src"}}
	for _, tt := range []struct {
		below string
		depth int
		want  []string
	}{
		{"", 1, nil}, {"", 2, []string{"out/l"}}, {"", 4, []string{"out/l", "src/deep/er/x"}}, {"/src", 1, nil}, {"/src", 2, nil},
		{"/src", 3, []string{"src/deep/er/x"}}, {"/out", 1, []string{"out/l"}}, {"/plain", 9, nil}, {"/none", 3, nil}, {"/plain/d/f", 1, nil},
	} {
		var want []string
		for _, name := range tt.want {
			want = append(want, dir+"/"+name)
		}
		if got, all := (Env{}).Links(dir+tt.below, tt.depth); !all || !slices.Equal(got, want) {
			t.Errorf("Links(%s, %d) = %v, %v", tt.below, tt.depth, got, all)
		}
		if got, all := fake.Links(dir+tt.below, tt.depth); !all || !slices.Equal(got, want) {
			t.Errorf("Fake: Links(%s, %d) = %v, %v", tt.below, tt.depth, got, all)
		}
	}
}

// TestLinksLimit checks that it is told when not all links were found.
func TestLinksLimit(t *testing.T) {
	var names []string
	for i := range 2 * farLimit {
		names = append(names, fmt.Sprintf("sub/%d", i))
	}
	dir := tree(t, names...)
	if _, all := (Env{Limit: 1}).Links(dir, 2); all {
		t.Error("all links beyond the limit")
	}
	if _, all := (Env{Limit: 3}).Links(dir, 2); !all {
		t.Error("not all links within the limit")
	}
}
