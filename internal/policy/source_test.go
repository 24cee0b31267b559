package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

func written(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func trustIn(t *testing.T, dir string) *Trust {
	t.Helper()
	trust, err := ReadTrust(dir)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func TestFind(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	d := Dirs{Managed: filepath.Join(root, "etc"), User: filepath.Join(root, "user"), Workspace: filepath.Join(root, "ws")}
	place := patterns.Place{Workspace: d.Workspace}
	if found, _, err := d.Find(trustIn(t, state), place); err != nil || len(found) != 0 {
		t.Fatal(found, err)
	}
	written(t, filepath.Join(d.Managed, FileName), `deny = ["Bash(a:*)"]`)
	written(t, filepath.Join(d.User, FileName), `deny = ["Bash(b:*)"]`)
	project := written(t, filepath.Join(d.Workspace, FileName), `allow = ["Bash(c:*)"]`)
	local := written(t, filepath.Join(d.Workspace, LocalName), `allow = ["Bash(d:*)"]`)
	kinds := func() string {
		found, _, err := d.Find(trustIn(t, state), place)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, src := range found {
			out = append(out, src.Kind.String()+map[bool]string{true: "+", false: "-"}[src.Trusted])
		}
		return strings.Join(out, " ")
	}
	if got, want := kinds(), "managed+ user+ project- local-"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	src, err := File{Kind: Local, Path: local}.Read(nil, place)
	if err != nil {
		t.Fatal(err)
	}
	real, err := RealPath(local)
	if err != nil {
		t.Fatal(err)
	}
	if err := trustIn(t, state).Set(real, src.Spec); err != nil {
		t.Fatal(err)
	}
	if got, want := kinds(), "managed+ user+ project- local+"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	written(t, local, "# a comment\nallow = [\n  \"Bash(d:*)\",\n]\n")
	if got, want := kinds(), "managed+ user+ project- local+"; got != want {
		t.Errorf("the same settings, written otherwise: %s, want %s", got, want)
	}
	written(t, local, `allow = ["Bash(d:*)", "Bash(e:*)"]`)
	if got, want := kinds(), "managed+ user+ project- local-"; got != want {
		t.Errorf("other settings: %s, want %s", got, want)
	}
	written(t, project, `allow = ["Bash(c:*)"`)
	written(t, filepath.Join(d.User, FileName), `deny = ["Bahs(b:*)"]`)
	_, _, err = d.Find(trustIn(t, state), place)
	for _, name := range []string{project + ":1:", filepath.Join(d.User, FileName) + ":1:"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %s", err, name)
		}
	}
}

// TestEverySettingIsTrusted checks that a change of any setting changes the
// digest.
func TestEverySettingIsTrusted(t *testing.T) {
	digest := func(text string) string {
		s, err := Parse([]byte(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		return s.Digest()
	}
	seen := map[string]string{}
	for _, text := range append(append([]string{""}, settingLines...), append(settingTables,
		"[[rules]]\ntools = [\"Bash\"]\naction = \"deny\"", "[[rules]]\ntools = [\"Bash\"]\naction = \"deny\"\nmessage = \"x\"",
		"[[rules]]\ncommands = [\"a\"]\naction = \"deny\"", "[[rules]]\npaths = [\"a\"]\naction = \"deny\"", "[[rules]]\npatterns = [\"a\"]\naction = \"deny\"",
		"[[rules]]\ndomains = [\"a\"]\naction = \"deny\"", "[programs.x]\n", "[programs.x]\nsafe = true\n", "[programs.x.sub.y]\n",
		`allow = ["Read", "Bash(git:*)"]`)...) {
		if other, ok := seen[digest(text)]; ok {
			t.Errorf("%q and %q have one digest", text, other)
		}
		seen[digest(text)] = text
	}
}

func TestTrust(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "deep")
	a, b := &Spec{Mode: "plan"}, &Spec{Mode: "default"}
	trust := trustIn(t, dir)
	if trust.holds("/a", a) || trust.knows("/a") {
		t.Error("an empty list trusts")
	}
	var wg sync.WaitGroup
	for _, path := range []string{"/a", "/b", "/c", "/d", "/e", "/f"} {
		wg.Go(func() {
			mine, err := ReadTrust(dir)
			if err == nil {
				err = mine.Set(path, a)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(trustIn(t, dir).List()); n != 6 {
		t.Errorf("%d files after six were trusted at once", n)
	}
	if err := trust.Set("/a", b); err != nil {
		t.Fatal(err)
	}
	if now := trustIn(t, dir); !now.holds("/a", b) || now.holds("/a", a) || len(now.List()) != 6 {
		t.Error("new settings do not take the place of the old")
	}
	if was, err := trust.Remove("/a"); !was || err != nil {
		t.Error(was, err)
	}
	if was, err := trust.Remove("/a"); was || err != nil {
		t.Error(was, err)
	}
	if now := trustIn(t, dir); now.knows("/a") || !now.holds("/b", a) {
		t.Error("the wrong file was removed")
	}
	if info, err := os.Stat(filepath.Join(dir, trustName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

// TestTrustEnds: a list of which nothing is left, or of which nothing ever was, can be read.
func TestTrustEnds(t *testing.T) {
	dir := t.TempDir()
	trust := trustIn(t, dir)
	if was, err := trust.Remove("/a"); was || err != nil {
		t.Error(was, err)
	}
	if now := trustIn(t, dir); len(now.List()) != 0 {
		t.Error(now.List())
	}
}

// TestBrokenTrust checks that an unreadable list trusts nothing and is not
// overwritten.
func TestBrokenTrust(t *testing.T) {
	for _, text := range []string{"", "{", `{"v":2,"files":[]}`, `{"v":1,"files":[],"more":1}`, `{"v":1,"v":1,"files":[]}`, "null"} {
		dir := t.TempDir()
		path := written(t, filepath.Join(dir, trustName), text)
		trust, err := ReadTrust(dir)
		if err == nil || !strings.Contains(err.Error(), path) || trust.knows("/a") {
			t.Errorf("%q: %v", text, err)
		}
		if err := trust.Set("/a", &Spec{}); err == nil {
			t.Errorf("%q was written over", text)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%q became %q", text, after)
		}
	}
}

func TestFrontMatterIsASource(t *testing.T) {
	chat := written(t, filepath.Join(t.TempDir(), "chat.md"), "---\npermission_mode: plan\npermissions_allow:\n  - Bash(git:*)\npermissions_ask: [Edit]\npermissions_deny: [\"Read(.env)\"]\n---\n# Chat\n")
	src, err := File{Kind: FrontMatter, Path: chat}.Read(trustIn(t, t.TempDir()), mergePlace)
	if err != nil {
		t.Fatal(err)
	}
	s := src.Spec
	if src.Trusted || s.Mode != "plan" || len(s.Allow) != 1 || len(s.Ask) != 1 || s.Deny[0].Source != (patterns.Source{Name: chat, Line: 6, Col: 21}) {
		t.Errorf("%+v", src)
	}
	before := s.Digest()
	written(t, chat, "---\npermissions_deny: ['Read(.env)']\npermission_mode: plan\npermissions_ask: [Edit]\npermissions_allow: [\"Bash(git:*)\"]\nmodel: x\n---\nlonger\n")
	if s, err = ReadHead(chat); err != nil || s.Digest() != before {
		t.Error("the chat went on, and its settings count as others", err)
	}
	written(t, chat, "---\npermission_mode: auto\n---\n")
	if _, err = (File{Kind: FrontMatter, Path: chat}).Read(nil, mergePlace); err == nil || !strings.HasPrefix(err.Error(), chat+":2:18: ") {
		t.Errorf("an unknown mode: %v", err)
	}
	if _, err = (File{Kind: FrontMatter, Path: chat + "x"}).Read(nil, mergePlace); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestLinksAreNotTrusted checks that a source that is a symbolic link is not
// trusted, even if it leads to a trusted file: a repository could contain a
// link to any file of the user and so adopt its settings.
func TestLinksAreNotTrusted(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	theirs := written(t, filepath.Join(root, "mine", FileName), `mode = "bypassPermissions"`)
	chat := written(t, filepath.Join(root, "mine", "chat.md"), "---\npermission_mode: bypassPermissions\n---\n")
	trust := trustIn(t, filepath.Join(root, "state"))
	for _, f := range []File{{Kind: Project, Path: theirs}, {Kind: FrontMatter, Path: chat}} {
		src, err := f.Read(nil, patterns.Place{})
		if err == nil {
			err = trust.Set(f.Path, src.Spec)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"ws/" + FileName: theirs, "ws/" + LocalName: theirs, "ws/chat.md": chat, "ws/short.md": "../mine/chat.md",
		"ws/chain.md": "chat.md", "mine/beside.md": "chat.md", "other": "mine", "ws/deep": "../mine", "loop.md": "loop.md",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(to, path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		kind Kind
		name string
		want bool
	}{
		{Project, "ws/" + FileName, false}, {Local, "ws/" + LocalName, false}, {FrontMatter, "ws/chat.md", false},
		{FrontMatter, "ws/short.md", false}, {FrontMatter, "ws/chain.md", false}, {FrontMatter, "mine/beside.md", false},
		{Project, "mine/" + FileName, true}, {FrontMatter, "mine/chat.md", true},
		{Project, "other/" + FileName, true}, // the same directory by another name
		{FrontMatter, "ws/deep/chat.md", true}, {FrontMatter, "ws/../mine/./chat.md", true},
	} {
		src, err := File{Kind: tt.kind, Path: filepath.Join(root, tt.name)}.Read(trust, patterns.Place{})
		if err != nil || src.Trusted != tt.want {
			t.Errorf("%s: trusted %v, %v, want %v", tt.name, src.Trusted, err, tt.want)
		}
	}
	if real, err := RealPath(filepath.Join(root, "ws/chain.md")); err == nil || !strings.Contains(err.Error(), chat) {
		t.Errorf("a link is trusted as %s, %v: want an error that names %s", real, err, chat)
	}
	if _, err := RealPath(filepath.Join(root, "loop.md")); err == nil {
		t.Error("a link to itself is trusted")
	}
}

// TestSourcesAreFiles checks that a source found in a workspace must be a
// regular file: opening a pipe would block until it has a writer, and a
// terminal would take the user's input.
func TestSourcesAreFiles(t *testing.T) {
	for _, name := range []string{os.DevNull, "/dev/zero", t.TempDir()} {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		link := filepath.Join(t.TempDir(), FileName)
		if err := os.Symlink(name, link); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []Kind{Project, Local} {
			if _, err := (File{Kind: kind, Path: link}).Read(nil, patterns.Place{}); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
				t.Errorf("%v %s: %v", kind, name, err)
			}
		}
	}
	for _, kind := range []Kind{Named, FrontMatter} {
		if _, err := (File{Kind: kind, Path: os.DevNull}).Read(nil, patterns.Place{}); err != nil {
			t.Errorf("what a person names may be anything that can be read: %v", err)
		}
	}
}

// knows reports whether the file is in the list, with any settings.
func (t *Trust) knows(path string) bool {
	return slices.ContainsFunc(t.files, func(f Trusted) bool { return f.Path == path })
}
