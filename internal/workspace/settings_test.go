package workspace

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// show writes settings as git config --list does.
func show(settings []shell.Setting) string {
	var lines []string
	for _, s := range settings {
		lines = append(lines, s.Key+"="+s.Value)
	}
	return strings.Join(lines, "\n")
}

func TestParseGitConfig(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"# a\n; b\n":                        "",
		"[a]\nb = c\n":                      "a.b=c",
		"\ufeff[a]\nb=c":                    "a.b=c",
		"[A]\r\n\tB = C D \r\n":             "a.b=C D",
		"[a] b = c":                         "a.b=c",
		"[a]\nb\nc=":                        "a.b=true\na.c=",
		"[a \"X y\"]\nb=1":                  "a.X y.b=1",
		"[a \"q\\\"\\\\\\z\"]\nb=1":         "a.q\"\\z.b=1",
		"[a.X]\nb=1":                        "a.x.b=1",
		"[a]\nb = x # y\nc = \"x # y\" ; z": "a.b=x\na.c=x # y",
		"[a]\nb = \" x \"\nc= x  y  ":       "a.b= x \na.c=x  y",
		"[a]\nb = x\\\ny\nc = 1":            "a.b=xy\na.c=1",
		"[a]\nb = x\\\\\\\"\\t\\n":          "a.b=x\\\"\t\n",
		"[a]\nb = x\"y\\\nz\"":              "a.b=xyz",
		"[core]fsmonitor=./x":               "core.fsmonitor=./x",
		"[a]b=1[c]d=2":                      "a.b=1[c]d=2",
		"[core]\n[x]\n[core] ; x\nfsmonitor\t=\t./x": "core.fsmonitor=./x",
	} {
		found, err := parseGitConfig(text)
		if got := show(found); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"b = c", "[a", "[a\nb=c", "[]\nb=c", "[a b]", "[a \"b]\nc=d", "[a \"b\" ]", "[a \"b\nc\"]\nd=e", "[a \"b\\\n\"]", "[ \"b\"]\nc=d", "[a]\n1=2", "[a]\nb c", "[a]\nb # c",
		"[a]\nb = \"c\nd=e", "[a]\nb = \\x", "[a]\nb=\"c", "[a]\nb=c\\", "[a]\nb=\x00", "[a!]\nb=c", "[a]\n=c", "[a]\n\x0bb=c",
	} {
		if found, err := parseGitConfig(text); err == nil {
			t.Errorf("%q is read: %s", text, show(found))
		}
	}
}

// FuzzParseGitConfig checks that no text makes the reader fail or run on.
func FuzzParseGitConfig(f *testing.F) {
	for _, text := range []string{"[a]\nb = c\n", "[a \"b\"]\nc = \"d\\\ne\" # f", "\ufeff[a]b", "[a]\r\nb=\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parseGitConfig(text)
		for _, s := range found {
			if err == nil && !strings.Contains(s.Key, ".") {
				t.Errorf("%q gives the key %q", text, s.Key)
			}
		}
	})
}

const bare = "HEAD objects/ refs/"

// TestSettings checks which settings a directory's repository has, as git finds it.
func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		about string
		files map[string]string // name/ is a directory; the value of a name of several is that of all
		at    string
		want  string // "?": not ok
	}{
		{"no repository", map[string]string{"w/": ""}, "w", ""},
		{"the repository's", map[string]string{"w/.git/ " + prefix("w/.git/", bare): "", "w/.git/config": "[core]\nfsmonitor=./x"}, "w", "core.fsmonitor=./x"},
		{"from below", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[a]\nb=c", "w/d/e/": ""}, "w/d/e", "a.b=c"},
		{"of a directory that is not there yet", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[a]\nb=c"}, "w/d/e", "a.b=c"},
		{"the inner one's", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[a]\nb=c", prefix("w/d/.git/", bare): "", "w/d/.git/config": "[a]\nb=d"}, "w/d", "a.b=d"},
		{"both where the inner one may be none", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[a]\nb=c", "w/d/.git/config": "[a]\nb=d"}, "w/d", "a.b=d\na.b=c"},
		{"a bare one's", map[string]string{prefix("w/", bare): "", "w/config": "[a]\nb=c"}, "w", "a.b=c"},
		{"one with its objects elsewhere", map[string]string{"w/HEAD": "x", "w/commondir": "../m", "m/config": "[a]\nb=c"}, "w", "a.b=c"},
		{"kept apart", map[string]string{"w/.git": "gitdir: ../store\n", "store/config": "[a]\nb=c"}, "w", "a.b=c"},
		{"a worktree's", map[string]string{"w/.git": "gitdir: ../m/.git/worktrees/w", "m/.git/worktrees/w/commondir": "../..", "m/.git/config": "[a]\nb=c", "m/.git/worktrees/w/config.worktree": "[a]\nb=d"}, "w", "a.b=c\na.b=d"},
		{"included", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[include]\npath=x\n[includeIf \"gitdir:/nowhere\"]\npath=../y", "w/.git/x": "[a]\nb=c", "w/y": "[a]\nb=d"}, "w", "a.b=c\na.b=d"},
		{"included from home", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[include]\npath=~/x", "home/x": "[a]\nb=c"}, "w", "a.b=c"},
		{"included and gone", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[include]\npath=x\n[a]\nb=c"}, "w", "a.b=c"},
		{"included from another's home", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[include]\npath=~root/x"}, "w", "?"},
		{"included by itself", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[include]\npath=config"}, "w", "?"},
		{"not to be read", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[core\nfsmonitor=x"}, "w", "?"},
		{"a directory in its place", map[string]string{prefix("w/.git/", bare): "", "w/.git/config/": ""}, "w", "?"},
		{"no path in .git", map[string]string{"w/.git": "x"}, "w", "?"},
		{"no path in commondir", map[string]string{prefix("w/.git/", bare): "", "w/.git/commondir": " "}, "w", "?"},
		{"the person's own", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[core]\nfsmonitor=./x\npager=less\n[a]\nb=c", "home/.gitconfig": "[core]\npager=less\nfsmonitor=./y\n[include]\npath=more", "home/more": "[a]\nb=c"}, "w", "core.fsmonitor=./x"},
		{"the person's own on a condition", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[a]\nb=c", "home/.gitconfig": "[includeIf \"gitdir:x\"]\npath=more", "home/more": "[a]\nb=c"}, "w", "a.b=c"},
		{"the person's own in another place", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[a]\nb=c", "home/.config/git/config": "[a]\nb=c"}, "w", ""},
		{"the person's own that cannot be read", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[a]\nb=c", "home/.gitconfig": "[a]\nb=c\n["}, "w", "a.b=c"},
		{"a hook", map[string]string{prefix("w/.git/", bare): "", "w/.git/hooks/post-index-change": "#!"}, "w", "hooks/post-index-change=w/.git/hooks/post-index-change"},
		{"another hook", map[string]string{prefix("w/.git/", bare): "", "w/.git/hooks/pre-commit": "#!"}, "w", ""},
		{"a hook elsewhere", map[string]string{prefix("w/.git/", bare): "", "w/.git/config": "[core]\nhooksPath=.husky", "w/.husky/post-index-change": "#!"}, "w", "core.hookspath=.husky\nhooks/post-index-change=w/.husky/post-index-change"},
		{"hooks of the person's own", map[string]string{prefix("w/.git/", bare): "", "w/.git/hooks/post-index-change": "#!", "home/.gitconfig": "[core]\nhooksPath=~/hooks"}, "w", ""},
	} {
		t.Run(tt.about, func(t *testing.T) {
			top := layRepository(t, tt.files)
			got, ok := Env{Place: patterns.Place{Home: filepath.Join(top, "home")}}.Settings(filepath.Join(top, tt.at))
			text := strings.ReplaceAll(show(got), top+"/", "")
			if !ok {
				text = "?"
			}
			if text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

// prefix puts a directory before each of several names.
func prefix(dir, names string) string {
	var all []string
	for name := range strings.FieldsSeq(names) {
		all = append(all, dir+name)
	}
	return strings.Join(all, " ")
}

// layRepository makes files, and has git's own configuration lie nowhere else.
func layRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	for _, name := range []string{"GIT_DIR", "GIT_COMMON_DIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for names, text := range files {
		for name := range strings.FieldsSeq(names) {
			at := filepath.Join(top, name)
			if strings.HasSuffix(name, "/") {
				err = os.MkdirAll(at, 0o755)
			} else if err = os.MkdirAll(filepath.Dir(at), 0o755); err == nil {
				err = os.WriteFile(at, []byte(text), 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return top
}

// TestSettingsByEnvironment checks that a repository that the environment names counts.
func TestSettingsByEnvironment(t *testing.T) {
	top := layRepository(t, map[string]string{"w/": "", "dots/config": "[a]\nb=c"})
	t.Setenv("GIT_DIR", filepath.Join(top, "dots"))
	if got, ok := (Env{}).Settings(filepath.Join(top, "w")); !ok || show(got) != "a.b=c" {
		t.Errorf("%q, %v", show(got), ok)
	}
}

// TestSettingsThroughLink checks that the repository is looked for where the directory
// really is.
func TestSettingsThroughLink(t *testing.T) {
	top := layRepository(t, map[string]string{"w/": "", prefix("m/.git/", bare): "", "m/.git/config": "[a]\nb=c", "m/d/": ""})
	if err := os.Symlink("../m/d", filepath.Join(top, "w/link")); err != nil {
		t.Fatal(err)
	}
	if got, ok := (Env{}).Settings(filepath.Join(top, "w/link")); !ok || show(got) != "a.b=c" {
		t.Errorf("%q, %v", show(got), ok)
	}
}

// index makes an index of a version, with a submodule at each of the paths and a file
// before each.
func index(version, hash int, links ...string) string {
	out := []byte("DIRC")
	out = binary.BigEndian.AppendUint32(out, uint32(version))
	out = binary.BigEndian.AppendUint32(out, uint32(2*len(links)))
	before := ""
	add := func(mode uint32, name string) {
		start := len(out)
		out = append(out, make([]byte, modeAt)...)
		out = binary.BigEndian.AppendUint32(out, mode)
		out = append(out, make([]byte, statSize-modeAt-4+hash)...)
		if version == 2 {
			out = append(out, 0, 0)
		} else {
			out = append(out, 0x40, 0, 0, 0)
		}
		if version == 4 {
			out = append(out, byte(len(before)))
			out = append(append(out, name...), 0)
		} else {
			out = append(append(out, name...), 0)
			for (len(out)-start)%8 != 0 {
				out = append(out, 0)
			}
		}
		before = name
	}
	for _, link := range links {
		add(0o100644, link+".txt")
		add(kindGitlink, link)
	}
	out = append(out, "TREE\x00\x00\x00\x02xx"...)
	return string(append(out, make([]byte, hash)...))
}

// TestSettingsOfSubmodules checks that the submodules that are checked out count,
// whatever form the index has.
func TestSettingsOfSubmodules(t *testing.T) {
	for version := 2; version <= 4; version++ {
		for hash, format := range map[int]string{20: "", 32: "[extensions]\nobjectFormat=sha256\n"} {
			top := layRepository(t, map[string]string{
				prefix("w/.git/", bare): "", "w/.git/config": format, "w/.git/index": index(version, hash, "a", "deep/b", "gone"),
				prefix("w/a/.git/", bare): "", "w/a/.git/config": "[a]\nb=c", "w/deep/b/.git": "gitdir: ../../.git/modules/b", "w/.git/modules/b/config": "[a]\nb=d",
			})
			if got, ok := (Env{}).Settings(filepath.Join(top, "w")); !ok || !strings.HasSuffix(show(got), "a.b=c\na.b=d") {
				t.Errorf("version %d, hashes of %d bytes: %q, %v", version, hash, show(got), ok)
			}
		}
	}
	for about, text := range map[string]string{
		"short": "DIRC", "of another version": index(5, 20), "cut off": index(2, 20, "a")[:80], "outside": index(2, 20, "../x"), "no index": "x",
		"a hash too much": index(2, 20, "a") + "x", "an entry too much": index(2, 20, "a")[:11] + "\x03" + index(2, 20, "a")[12:],
	} {
		if about == "of another version" {
			text = strings.Replace(index(2, 20), "\x00\x00\x00\x02", "\x00\x00\x00\x05", 1)
		}
		top := layRepository(t, map[string]string{prefix("w/.git/", bare): "", "w/.git/index": text, "w/a/": ""})
		if got, ok := (Env{}).Settings(filepath.Join(top, "w")); ok {
			t.Errorf("an index that is %s is read: %q", about, show(got))
		}
	}
	nested := map[string]string{}
	dir := "w/"
	for i := range maxSubmodules + 2 {
		nested[prefix(dir+".git/", bare)] = ""
		nested[dir+".git/index"] = index(2, 20, fmt.Sprint("s", i))
		dir += fmt.Sprint("s", i, "/")
	}
	if _, ok := (Env{}).Settings(filepath.Join(layRepository(t, nested), "w")); ok {
		t.Error("submodules nested without end are read")
	}
}

// TestSplitIndex checks that the index that another one completes counts.
func TestSplitIndex(t *testing.T) {
	split := index(2, 20)
	split = split[:len(split)-20] + "link\x00\x00\x00\x14" + strings.Repeat("\xab", 20) + split[len(split)-20:]
	files := map[string]string{
		prefix("w/.git/", bare): "", "w/.git/index": split, "w/.git/sharedindex." + strings.Repeat("ab", 20): index(2, 20, "a"),
		prefix("w/a/.git/", bare): "", "w/a/.git/config": "[a]\nb=c",
	}
	if got, ok := (Env{}).Settings(filepath.Join(layRepository(t, files), "w")); !ok || show(got) != "a.b=c" {
		t.Errorf("%q, %v", show(got), ok)
	}
}

// TestFakeSettings checks that a row may say what the repository has.
func TestFakeSettings(t *testing.T) {
	want := []shell.Setting{{Key: "a.b", Value: "c"}}
	if got, ok := (Fake{Git: want}).Settings("/w"); !ok || !slices.Equal(got, want) {
		t.Error(got, ok)
	}
}
