package briefing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

// TestPromptRefused: a prompt is not sent if a command line of it must not run, or fails.
func TestPromptRefused(t *testing.T) {
	for _, tt := range []struct{ name, rules, file, typed, want string }{
		{"denied", `deny = ["Bash(rm:*)"]`, "!`rm x`", "/c", `it runs "rm x" before the agent sees it: denied by rule Bash(rm:*)`},
		{"nobody to ask", "", "!`npm install x`", "/c", "nobody to ask"},
		{"the second", "", "!`ls` then\n```!\nnpm install x\n```", "/c", "nobody to ask"},
		{"by its words", "", "!`echo $ARGUMENTS`", "/c x; npm install y", "nobody to ask"},
		{"by one word", "", "!`echo $0`", "/c 'x; npm install y'", "nobody to ask"},
		{"not by its head", "", "---\nallowed-tools: Bash(*)\nhooks: {}\n---\n!`npm install x`", "/c", "nobody to ask"},
		{"it fails", "", "!`ls gone`", "/c", "it failed with exit code 2: no such file"},
		{"an open head", "", "---\na: b\n", "/c", "c.md:1"},
	} {
		s := newSite(t, tt.rules, map[string]string{"repo/.claude/commands/c.md": tt.file})
		s.says = func(line string) (string, int) {
			if strings.Contains(line, "gone") {
				return "no such file\n", 2
			}
			return "", 0
		}
		p, err := s.Prompt(t.Context(), tt.typed)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "/c is not sent: ") || p.Text != "" {
			t.Errorf("%s: %+v, %v, want %q", tt.name, p, err, tt.want)
		}
		if slices.ContainsFunc(s.ran, func(line string) bool { return strings.Contains(line, "npm") || strings.Contains(line, "rm") }) {
			t.Errorf("%s: ran %q", tt.name, s.ran)
		}
	}
}

// TestCommandOutside: neither a link nor a denied file is a command.
func TestCommandOutside(t *testing.T) {
	s := newSite(t, `deny = ["Read(.claude/commands/b.md)"]`, map[string]string{
		"repo/.claude/commands/a.md": "-> DIR/out/a.md", "out/a.md": "secret", "repo/.claude/commands/b.md": "secret",
	})
	for typed, want := range map[string]string{"/a": "it is a link to", "/b": "Read(.claude/commands/b.md)"} {
		if p, err := s.Prompt(t.Context(), typed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v %v", typed, p, err)
		}
	}
}

// TestPromptOfACommand: what a command's text comes to.
func TestPromptOfACommand(t *testing.T) {
	for _, tt := range []struct{ name, file, typed, want, ran string }{
		{"plain", "just text", "/c", "just text", ""},
		{"with words", "just text", "/c some words", "just text\n\nARGUMENTS: some words", ""},
		{"all", "do $ARGUMENTS now", "/c this and\nthat", "do this and\nthat now", ""},
		{"single ones", "$0|$1|$2|$ARGUMENTS[1]|$ARGUMENTS[7]", "/c a 'b c'", "a|b c||b c|", ""},
		{"an apostrophe", "$1", "/c it's here", "here", ""},
		{"quotes", "$0|$1|$2", "/c \"it's\" a\"b c\"d ''", "it's|ab cd|", ""},
		{"runs", "state: !`git status`.", "/c", "state: <git status>.", "git status"},
		{"runs with words", "!`ls $0`", "/c sub", "<ls sub>", "ls sub"},
		{"several lines", "```!\nls\npwd\n```", "/c", "<ls\npwd>", "ls\npwd"},
		{"words do not run", "do $ARGUMENTS", "/c !`touch x`", "do !`touch x`", ""},
		{"nor do they after the text", "text", "/c !`touch x`", "text\n\nARGUMENTS: !`touch x`", ""},
		{"output does not run", "!`echo '!'`", "/c", "<echo '!'>", "echo '!'"},
		{"words are not filled in again", "$0 $1", "/c $1 b", "$1 b", ""},
		{"a head", "---\ndescription: x: y\n---\ntext", "/c", "text", ""},
	} {
		s := newSite(t, "", map[string]string{"repo/.claude/commands/c.md": tt.file})
		p, err := s.Prompt(t.Context(), tt.typed)
		if err != nil || p.Text != tt.want || strings.Join(s.ran, "|") != tt.ran || len(s.told) != 0 {
			t.Errorf("%s: %q %v, want %q; ran %q; told %q", tt.name, p.Text, err, tt.want, s.ran, s.told)
		}
	}
}

// TestWhichCommand: the nearest counts, and what is none is sent as it is.
func TestWhichCommand(t *testing.T) {
	s := newSite(t, "", map[string]string{
		"home/.claude/commands/a.md": "person", "repo/.claude/commands/a.md": "project", "home/.claude/commands/b.md": "person's b", "repo/.claude/commands/sub/d.md": "d",
		"repo/.claude/skills/s/SKILL.md": "---\nallowed-tools: Bash(*)\nmodel: x\n---\nin ${CLAUDE_SKILL_DIR}", "repo/tmp": "",
	})
	for typed, want := range map[string]string{
		"/a": "project", "/b": "person's b", "/sub:d": "d", "\n/a \n": "project", " /a": " /a",
		"/s":           "Base directory for this skill: " + s.Dir + "/.claude/skills/s\n\nin " + s.Dir + "/.claude/skills/s",
		"/tmp is full": "/tmp is full", "/etc/hosts is wrong": "/etc/hosts is wrong", "a /b": "a /b", "/": "/", "//a": "//a", "/../a": "/../a",
	} {
		p, err := s.Prompt(t.Context(), typed)
		if err != nil || p.Text != want {
			t.Errorf("%q: %q %v", typed, p.Text, err)
		}
	}
	if len(s.told) != 2 || !s.warned("there is no command or skill /tmp") || !s.warned(notTaken+"allowed-tools (.claude/skills/s/SKILL.md), model (") {
		t.Errorf("%q", s.told)
	}
}

// TestAskedOnce: advice is for agents; the person is asked at once, and may say yes.
func TestAskedOnce(t *testing.T) {
	s := newSite(t, `deny = ["Read(.env)"]`, map[string]string{"repo/.claude/commands/c.md": "!`cat \"$f\"`"})
	s.person = permission.Allow
	p, err := s.Prompt(t.Context(), "/c")
	if err != nil || p.Text != `<cat "$f">` || fmt.Sprint(s.uses) != "[Bash allow]" {
		t.Errorf("%+v %v %q", p, err, s.uses)
	}
}

// TestFiles: what a prompt names is read if that is allowed, and is decided each time.
func TestFiles(t *testing.T) {
	files := map[string]string{
		"repo/a.go": "text of a", "repo/my file.md": "spaces", "repo/.env": "secret", "repo/pic.png": pixel, "repo/anim.gif": "GIF89a...", "repo/p.webp": "RIFF\x01\x02\x03\x04WEBPx",
		"repo/bin": "\x7fELF\x00", "repo/large.txt": strings.Repeat("x", maxAttached+1), "repo/large.png": pixel + strings.Repeat("x", maxPicture), "repo/dir/x": "", "repo/link": "-> DIR/out/x.md",
		"out/x.md": "secret", "home/n.md": "secret", "repo/.claude/commands/c.md": "see @a.go, @../out/x.md, @.env and !`echo @my\\ file.md`: $ARGUMENTS",
	}
	for _, tt := range []struct{ name, typed, files, uses, warned string }{
		{"one", "look at @a.go", "a.go=text of a", "Read allow", ""},
		{"at the end of a sentence", "is it @a.go?", "a.go=text of a", "Read allow", ""},
		{"lines", "see @a.go#L3-9", "a.go=text of a", "Read allow", ""},
		{"twice", "@a.go @./a.go @a.go.", "a.go=text of a", "Read allow", ""},
		{"spaces", `@"my file.md" and @my\ file.md`, "my file.md=spaces", "Read allow", ""},
		{"pictures", "@pic.png @anim.gif @p.webp", "pic.png=image/png anim.gif=image/gif p.webp=image/webp", "Read allow, Read allow, Read allow", ""},
		{"nothing there", "@alice, @types/node a@b.c x@a.go `@a.go`", "", "", ""},
		{"a directory", "@dir", "", "", ""},
		{"denied", "@.env", "", "Read deny", "@.env is not given to the agent: denied by rule Read(.env)"},
		{"a link", "@link", "", "Read deny", "nobody to ask"},
		{"outside", "@../out/x.md @~/n.md", "", "Read deny, Read deny", "nobody to ask"},
		{"binary", "@bin", "", "Read allow, Read failed", "no UTF-8 text, and no picture"},
		{"too large", "@large.txt", "", "Read allow, Read failed", "the agent can read parts of it by itself"},
		{"too large a picture", "@large.png", "", "Read allow, Read failed", "3840000 are the most"},
		{"of a command, of its words", "/c @pic.png", "a.go=text of a pic.png=image/png", "Bash allow, Read allow, Read allow", "@.env is not given to the agent: denied by"},
	} {
		s := newSite(t, `deny = ["Read(.env)"]`, files)
		p, err := s.Prompt(t.Context(), tt.typed)
		var got []string
		for _, f := range p.Files {
			got = append(got, f.Name+"="+f.Text+f.MediaType)
		}
		if err != nil || strings.Join(got, " ") != tt.files || strings.Join(s.uses, ", ") != tt.uses {
			t.Errorf("%s: %v %.300q, want %q; %q, want %q", tt.name, err, got, tt.files, s.uses, tt.uses)
		}
		if tt.warned == "" && len(s.told) > 0 || tt.warned != "" && !s.warned("is not given to the agent", tt.warned) {
			t.Errorf("%s: told %q, want %q", tt.name, s.told, tt.warned)
		}
		if strings.Contains(fmt.Sprint(p), "secret") {
			t.Errorf("%s: %v", tt.name, p)
		}
	}
}

// TestAskedAboutAFile: a person may allow what the rules ask about, but not for what a
// command names by itself.
func TestAskedAboutAFile(t *testing.T) {
	s := newSite(t, `ask = ["Read(x.md)"]`, map[string]string{"repo/x.md": "text", "repo/.claude/commands/c.md": "@x.md"})
	s.person = permission.Allow
	if p, err := s.Prompt(t.Context(), "@x.md"); err != nil || len(p.Files) != 1 {
		t.Errorf("%+v %v", p, err)
	}
	s.uses = nil
	if p, err := s.Prompt(t.Context(), "/c"); err != nil || len(p.Files) != 0 || len(s.uses) != 0 || !s.warned("Read(x.md)") {
		t.Errorf("%+v %v %q %q", p, err, s.uses, s.told)
	}
}

// TestManyNames: a prompt gives a limited number of files.
func TestManyNames(t *testing.T) {
	files, typed := map[string]string{}, ""
	for i := range maxNames + 2 {
		name := fmt.Sprintf("f%02d", i)
		files["repo/"+name] = "x"
		typed += " @" + name
	}
	s := newSite(t, "", files)
	p, err := s.Prompt(t.Context(), typed)
	if err != nil || len(p.Files) != maxNames || len(s.told) != 2 || !s.warned("@f21", "20 files at most") {
		t.Errorf("%d %v %q", len(p.Files), err, s.told)
	}
}

// TestReplaced: a file that leads elsewhere once it was decided about is not read.
func TestReplaced(t *testing.T) {
	s := newSite(t, "", map[string]string{"out/x.md": "secret", "repo/x.md": "harmless"})
	a := &attaching{Reader: s.Reader}
	s.write("repo/y.md", "-> DIR/out/x.md")
	if f, err := a.load(s.Dir+"/y.md", s.Dir+"/x.md"); err == nil {
		t.Errorf("%+v", f)
	}
	if _, err := content(s.Dir+"/y.md", s.Dir+"/y.md", 100); err == nil {
		t.Error("a link is followed")
	}
}
