package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParts(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"plain `code` and ! alone": "plain `code` and ! alone",
		"!`git status`":            "<git status>",
		"state: !`git status` and !` git  diff `": "state: <git status> and <git  diff>",
		"done!`x` (!`y`)":                         "done!`x` (!`y`)",
		"```!\nfirst\nsecond\n```\nafter":         "<first\nsecond>\nafter",
		"```! \n a !`b`\n```":                     "<a !`b`>", // which no shell would run as b
		"```!\nnever ends":                        "```!\nnever ends",
		"!`":                                      "!`",
		"!``":                                     "",
		"!`a\nb`":                                 "<a\nb>",
		"```go\nx := !`y`\n```":                   "```go\nx := <y>\n```", // as the agent CLI has it
		"a\t!`x`!`y`":                             "a\t<x>!`y`",
	} {
		got := ""
		for _, p := range Parts(text) {
			if p.Runs {
				p.Text = "<" + p.Text + ">"
			}
			got += p.Text
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzParts: what runs is what the hook decides, and the rest of the text is kept.
func FuzzParts(f *testing.F) {
	for _, seed := range []string{"", "!`a` b !`c`", "```!\na\n```", "```! \n!`a`\n```", "x!`y`", "!`!`!`", " ```!\n```!\n```"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines, rest := Lines(text), text
		for _, p := range Parts(text) {
			if p.Runs && !slices.Contains(lines, p.Text) {
				t.Errorf("%q runs %q, of which the hook knows nothing: %q", text, p.Text, lines)
			}
			_, after, found := strings.Cut(rest, p.Text)
			if !found {
				t.Errorf("%q has no %q left", text, p.Text)
			}
			rest = after
		}
	})
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	near, far := filepath.Join(root, "near"), filepath.Join(root, "far")
	for _, name := range []string{"near/commands/a.md", "far/commands/a.md", "far/commands/b.md", "near/commands/sub/c.md", "near/skills/s/SKILL.md", "near/commands/s.md", "out.md"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a": "near/commands/a.md", "b": "far/commands/b.md", "sub:c": "near/commands/sub/c.md", "c": "near/commands/sub/c.md", "x:c": "near/commands/sub/c.md",
		"s": "near/commands/s.md", "d": "", "../../out": "error", "..:out": "error", "sub:..:..:..:out": "error", `a\b`: "error",
	} {
		got, err := Find(name, near, far)
		if err != nil {
			got = "error"
		} else if got != "" {
			got, _ = filepath.Rel(root, got)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %s (%v), want %s", name, got, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.md")
	if err := os.WriteFile(big, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{dir, big, filepath.Join(dir, "gone"), "/dev/null"} {
		if text, err := Read(file); err == nil {
			t.Errorf("%s: %q", file, text)
		}
	}
}

// TestNames: the names of commands and skills, of a directory with any name.
func TestNames(t *testing.T) {
	root := filepath.Join(t.TempDir(), "odd [x]*")
	for _, name := range []string{"commands/a.md", "commands/sub/b.md", "commands/c.txt", "commands/d.md/x", "skills/s/SKILL.md", "skills/t/other.md"} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if got := Names(root); !slices.Equal(got, []string{"a", "b", "s"}) {
		t.Errorf("%q", got)
	}
	if got := Names(filepath.Join(root, "none")); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}
