package briefing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// site is a person's home and a repository, with a reader under a policy.
type site struct {
	*Reader
	t      *testing.T
	dir    string // holds home, repo and out
	told   []string
	ran    []string
	uses   []string
	person permission.Behavior // says this to every question; 0: there is nobody
	says   func(line string) (string, int)
}

// Approve implements permission.Approver.
func (s *site) Approve(_ context.Context, ask permission.Request) (permission.Answer, error) {
	if s.person == 0 {
		return permission.Answer{}, errors.New("there is nobody to ask")
	}
	return permission.Answer{Behavior: s.person}, nil
}

// newSite makes the files, by their names below home, repo and out. A text "-> x" makes a
// link.
func newSite(t *testing.T, rules string, files map[string]string) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir}
	for _, name := range []string{"home/.claude", "repo/.git", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		s.write(name, text)
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	s.open("repo", rules)
	return s
}

// open has the reader work in a directory under rules.
func (s *site) open(name, rules string) {
	s.t.Helper()
	spec, err := policy.Parse([]byte(rules), "test")
	if err != nil {
		s.t.Fatal(err)
	}
	e, err := engine.Open(engine.Options{
		Dir: filepath.Join(s.dir, name), Dirs: &engine.Dirs{}, Isolated: true, Settings: spec, NoRecord: true, Approver: s,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { e.Close() })
	s.Reader = &Reader{
		Dir: e.Place.Workspace, Home: filepath.Join(s.dir, "home"), Config: filepath.Join(s.dir, "home/.claude"),
		Explain: func(use permission.ToolUse) permission.Decision { return e.Explain(use, nil) },
		Decide: func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
			res, err := e.CanUseTool(ctx, use)
			if res.By != permission.ByAdvice {
				s.uses = append(s.uses, fmt.Sprint(use.Tool, " ", res.Behavior))
			}
			return res, err
		},
		Run: func(_ context.Context, line string) (string, int, error) {
			s.ran = append(s.ran, line)
			if s.says == nil {
				return "<" + line + ">\n", 0, nil
			}
			out, exit := s.says(line)
			return out, exit, nil
		},
		Ended: func(use permission.ToolUse, _ string, exit *int, failed bool) {
			if failed {
				s.uses = append(s.uses, use.Tool+" failed")
			}
		},
		Warn: func(words string) { s.told = append(s.told, words) },
	}
}

func (s *site) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if target, link := strings.CutPrefix(text, "-> "); err == nil && link {
		err = os.Symlink(strings.ReplaceAll(target, "DIR/", s.dir+"/"), path)
	} else if err == nil {
		err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR/", s.dir+"/")), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// warned reports whether a warning holds all the words.
func (s *site) warned(words ...string) bool {
	return slices.ContainsFunc(s.told, func(told string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(told, word) })
	})
}

// TestNotGiven: nothing that lies outside, is denied, too large or no text is given, and
// the person is told.
func TestNotGiven(t *testing.T) {
	big := strings.Repeat("secret ", maxFile/7+1)
	for _, tt := range []struct {
		name, rules string
		files       map[string]string
		warned      string // "": there is nothing to tell
	}{
		{"an import above", "", map[string]string{"repo/CLAUDE.md": "@../out/x.md", "out/x.md": "secret"}, "from outside the workspace"},
		{"an absolute import", "", map[string]string{"repo/CLAUDE.md": "@DIR/out/x.md", "out/x.md": "secret"}, "from outside the workspace"},
		{"an import from the home", "", map[string]string{"repo/CLAUDE.md": "@~/.netrc", "home/.netrc": "secret"}, "from outside the workspace"},
		{"an import by a detour", "", map[string]string{"repo/CLAUDE.md": "@sub/../../out/x.md", "out/x.md": "secret"}, "from outside the workspace"},
		{"an import without an ending", "", map[string]string{"repo/CLAUDE.md": "@/etc/hostname"}, ""},
		{"of the person's own files", "", map[string]string{"repo/CLAUDE.md": "@~/.claude/x.md", "home/.claude/x.md": "secret"}, "from outside the workspace"},
		{"a link", "", map[string]string{"repo/CLAUDE.md": "@x.md", "repo/x.md": "-> DIR/out/x.md", "out/x.md": "secret"}, "not allowed unasked"},
		{"a link on the way", "", map[string]string{"repo/CLAUDE.md": "@sub/x.md", "repo/sub": "-> DIR/out", "out/x.md": "secret"}, "not allowed unasked"},
		{"a link that is allowed", `allow = ["Read"]`, map[string]string{"repo/CLAUDE.md": "@x.md", "repo/x.md": "-> DIR/out/x.md", "out/x.md": "secret"}, "it is a link to"},
		{"a link in its place", "", map[string]string{"repo/CLAUDE.md": "-> DIR/out/x.md", "out/x.md": "secret"}, "it is a link to"},
		{"a link in its place, allowed", `allow = ["Read"]`, map[string]string{"repo/CLAUDE.local.md": "-> DIR/out/x.md", "out/x.md": "secret"}, "it is a link to"},
		{"a denied import", `deny = ["Read(.env)"]`, map[string]string{"repo/CLAUDE.md": "@.env", "repo/.env": "secret"}, "Read(.env)"},
		{"an import that is asked about", `ask = ["Read(x.md)"]`, map[string]string{"repo/CLAUDE.md": "@x.md", "repo/x.md": "secret"}, "Read(x.md)"},
		{"a sensitive import", "", map[string]string{"repo/CLAUDE.md": "@.env", "repo/.env": "secret"}, "not allowed unasked"},
		{"an import of an import", `deny = ["Read(.env)"]`, map[string]string{"repo/CLAUDE.md": "@a.md", "repo/a.md": "@.env", "repo/.env": "secret"}, "Read(.env)"},
		{"denied itself", `deny = ["Read(CLAUDE.md)"]`, map[string]string{"repo/CLAUDE.md": "secret"}, "Read(CLAUDE.md)"},
		{"denied agents", `deny = ["Read(.claude/**)"]`, map[string]string{"repo/.claude/agents/a.md": "---\ndescription: secret\n---\nx"}, "Read(.claude/**)"},
		{"denied skills", `deny = ["Read(.claude/**)"]`, map[string]string{"repo/.claude/skills/a/SKILL.md": "---\ndescription: secret\n---\nx"}, "Read(.claude/**)"},
		{"too large", "", map[string]string{"repo/CLAUDE.md": big}, "131072 are the most: make it shorter"},
		{"an import that is too large", "", map[string]string{"repo/CLAUDE.md": "@x.md", "repo/x.md": big}, "131072 are the most"},
		{"no text", "", map[string]string{"repo/CLAUDE.md": "secret\xff"}, "no UTF-8 text"},
		{"a NUL", "", map[string]string{"repo/CLAUDE.md": "secret\x00"}, "no UTF-8 text"},
		{"a directory", "", map[string]string{"repo/CLAUDE.md/x": "secret"}, "it is no file"},
		{"an agent by a link", "", map[string]string{"repo/.claude/agents/a.md": "-> DIR/out/x.md", "out/x.md": "---\ndescription: secret\n---\nsecret"}, "it is a link to"},
		{"a skill by a link", "", map[string]string{"repo/.claude/skills/s": "-> DIR/out/s", "out/s/SKILL.md": "---\ndescription: secret\n---\nsecret"}, "it is a link to"},
		{"agents by a link", "", map[string]string{"repo/.claude/agents": "-> DIR/out/a", "out/a/x.md": "---\ndescription: secret\n---\nsecret"}, ""},
		{"an agent without a text", "", map[string]string{"repo/.claude/agents/a.md": "---\ndescription: secret\n---\n"}, "needs a description"},
		{"an agent with an odd name", "", map[string]string{"repo/.claude/agents/a.md": "---\nname: a b\ndescription: secret\n---\nx"}, "the agent's name"},
		{"an agent whose tools are unclear", "", map[string]string{"repo/.claude/agents/a.md": "---\ntools: {a: b}\ndescription: secret\n---\nx"}, "its tools cannot be read"},
		{"an agent with an open head", "", map[string]string{"repo/.claude/agents/a.md": "---\ndescription: secret\n"}, "a.md:1"},
		{"no model", "", map[string]string{"repo/.claude/agents/a.md": "---\ndescription: secret\nmodel: a b\n---\nx"}, "is not the name of one"},
		{"a skill for people", "", map[string]string{"repo/.claude/skills/s/SKILL.md": "---\ndescription: secret\ndisable-model-invocation: true\n---\nx"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.rules, tt.files)
			given := s.Start()
			all, err := json.Marshal(given)
			if err != nil || strings.Contains(string(all), "secret") {
				t.Errorf("%v: %.500s", err, all)
			}
			if tt.warned == "" && len(s.told) > 0 || tt.warned != "" && !s.warned("is not given to the agent", tt.warned) {
				t.Errorf("told %q, want %q", s.told, tt.warned)
			}
			if len(s.uses) > 0 {
				t.Errorf("somebody was asked: %q", s.uses)
			}
		})
	}
}

// TestDropped: what a head says of permissions does not reach the agent, and one warning
// tells of all.
func TestDropped(t *testing.T) {
	s := newSite(t, "", map[string]string{
		"repo/.claude/agents/evil.md": "---\nname: evil\ndescription: d\npermissionMode: bypassPermissions\nhooks:\n  PreToolUse:\n    - hooks: [{type: command, command: touch x}]\n" +
			"mcpServers: [{x: {command: y}}]\ntools: Bash(rm *), Read, mcp__a__b\ndisallowedTools: [Write]\nmodel: sonnet\ncolor: red\nnew: 1\n---\nprompt",
		"home/.claude/agents/mine.md":       "---\ndescription: d\npermissionMode: acceptEdits\n---\nprompt",
		"repo/.claude/skills/s/SKILL.md":    "---\ndescription: d\nallowed-tools: Bash(*)\nhooks: {}\ncontext: fork\n---\ntext !`touch x`",
		"repo/.claude/skills/fine/SKILL.md": "---\nname: fine\ndescription: d\nlicense: MIT\n---\ntext",
	})
	given := s.Start()
	evil, err := json.Marshal(given.Agents["evil"])
	want := `{"description":"d","prompt":"prompt","tools":["Bash","Read","mcp__a__b"],"disallowedTools":["Write"],"model":"sonnet"}`
	if err != nil || string(evil) != want {
		t.Errorf("%s", evil)
	}
	mine := given.Agents["mine"]
	if mine.Prompt != "prompt" || mine.Tools != nil {
		t.Errorf("%+v", mine)
	}
	warning := "your policy decides what runs; not taken over from the agent's files: allowed-tools (.claude/skills/s/SKILL.md), context (.claude/skills/s/SKILL.md), " +
		"hooks (.claude/skills/s/SKILL.md, .claude/agents/evil.md), mcpServers (.claude/agents/evil.md), new (.claude/agents/evil.md), permissionMode (~/.claude/agents/mine.md, .claude/agents/evil.md)"
	if len(s.told) != 1 || s.told[0] != warning {
		t.Errorf("%q", s.told)
	}
	for _, said := range []string{"Bash(*)", "touch x", "fork"} {
		if strings.Contains(given.Instructions, said) {
			t.Errorf("the agent is told %s", said)
		}
	}
}

// TestInstructions: the person's, then those of the repository from its root down, each
// with its imports, once.
func TestInstructions(t *testing.T) {
	s := newSite(t, "", map[string]string{
		"home/.claude/CLAUDE.md": "user @more.md @~/.claude/more.md", "home/.claude/more.md": "user-import",
		"repo/CLAUDE.md": "root @docs/a.md @alice @types/node `@docs/code.md`", "repo/CLAUDE.local.md": "root-local",
		"repo/sub/CLAUDE.md":         "sub @docs/a.md, @docs/a.md and @\"docs/b c.md\".\n```\n@docs/code.md\n```\n@docs/c#part",
		"repo/sub/.claude/CLAUDE.md": "sub-claude @../docs/d.md", "repo/sub/AGENTS.md": "-> CLAUDE.md",
		"repo/sub/docs/a.md": "a @a.md @b\\ c.md @../CLAUDE.md", "repo/sub/docs/b c.md": "b", "repo/sub/docs/c": "c", "repo/sub/docs/d.md": "d", "repo/sub/docs/code.md": "no",
		"CLAUDE.md": "above the repository",
	})
	s.open("repo/sub", "")
	given := s.Start()
	var got []string
	for _, part := range strings.Split(given.Instructions, "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n\n")
		word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		got = append(got, s.short(name)+"="+word)
	}
	want := "~/.claude/CLAUDE.md=user ~/.claude/more.md=user-import " + s.dir + "/repo/CLAUDE.md=root " + s.dir + "/repo/CLAUDE.local.md=root-local " +
		"CLAUDE.md=sub docs/a.md=a docs/b c.md=b docs/c=c .claude/CLAUDE.md=sub-claude docs/d.md=d"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if len(given.Files) != 10 || !strings.HasPrefix(given.Files[0], "~/.claude/CLAUDE.md (32 bytes, sha256:") {
		t.Errorf("%q", given.Files)
	}
	if !s.warned(s.dir+"/repo/docs/a.md", "from outside the workspace") || len(s.told) != 1 {
		t.Errorf("%q", s.told)
	}
}

// TestDotfiles: what is the person's own may be a link.
func TestDotfiles(t *testing.T) {
	s := newSite(t, "", map[string]string{"home/.claude/CLAUDE.md": "-> DIR/out/dotfiles.md", "out/dotfiles.md": "mine", "home/.claude/agents/a.md": "-> DIR/out/a.md", "out/a.md": "---\ndescription: d\n---\nx"})
	given := s.Start()
	if !strings.Contains(given.Instructions, "mine") || len(given.Agents) != 1 || len(s.told) != 0 {
		t.Errorf("%+v %q", given, s.told)
	}
}

// TestAboveTheWorkspace: a link there may be another person's, and is not followed.
func TestAboveTheWorkspace(t *testing.T) {
	s := newSite(t, "", map[string]string{"repo/CLAUDE.md": "-> DIR/repo/x.md", "repo/x.md": "secret", "repo/sub/y": ""})
	s.open("repo/sub", "")
	if given := s.Start(); given.Instructions != "" || !s.warned("not a file of yours") {
		t.Errorf("%+v %q", given, s.told)
	}
}

// TestDepth: imports end at a depth, and a circle ends at once.
func TestDepth(t *testing.T) {
	files := map[string]string{"repo/CLAUDE.md": "text0 @f1.md @CLAUDE.md"}
	for i := 1; i <= maxDepth+1; i++ {
		files[fmt.Sprintf("repo/f%d.md", i)] = fmt.Sprintf("text%d @f%d.md @f1.md", i, i+1)
	}
	s := newSite(t, "", files)
	given := s.Start()
	if n := strings.Count(given.Instructions, "text"); n != maxDepth+1 || !s.warned(fmt.Sprintf("f%d.md", maxDepth+1), "within another") || len(s.told) != 1 {
		t.Errorf("%d %q", n, s.told)
	}
}

// TestManyFiles: there is a limit on all, told once.
func TestManyFiles(t *testing.T) {
	files := map[string]string{}
	for i := range 10 {
		files[fmt.Sprintf("repo/.claude/agents/a%d.md", i)] = "---\ndescription: d\n---\n" + strings.Repeat("x", 100<<10)
	}
	s := newSite(t, "", files)
	if given := s.Start(); len(given.Agents) != 5 || len(s.told) != 1 || !s.warned("524288 bytes in all at most") {
		t.Errorf("%d %q", len(given.Agents), s.told)
	}
	files = map[string]string{"repo/CLAUDE.md": "x"}
	for i := range maxFiles + 5 {
		files[fmt.Sprintf("repo/.claude/agents/a%03d.md", i)] = "---\ndescription: d\n---\nx"
	}
	s = newSite(t, "", files)
	if given := s.Start(); len(given.Agents) != maxFiles-1 || len(s.told) != 1 {
		t.Errorf("%d %q", len(given.Agents), s.told)
	}
}

// TestSkills: skills are named with what they are for, the nearest of a name.
func TestSkills(t *testing.T) {
	long := strings.Repeat("é", cutDescription)
	s := newSite(t, "", map[string]string{
		"home/.claude/skills/mine/SKILL.md":  "---\nname: mine\ndescription: of the person\n---\ntext-of-mine",
		"home/.claude/skills/both/SKILL.md":  "---\ndescription: far\n---\nx",
		"repo/.claude/skills/both/SKILL.md":  "---\ndescription: |\n  near\n  by\nwhen_to_use: always\n---\nx",
		"repo/.claude/skills/long/SKILL.md":  "---\ndescription: " + long + "\n---\nx",
		"repo/.claude/skills/none/SKILL.md":  "text without a head",
		"repo/.claude/skills/empty/notes.md": "",
	})
	given := s.Start()
	_, list, _ := strings.Cut(given.Instructions, skillsHead)
	want := fmt.Sprintf("- both: near by always (%s/repo/.claude/skills/both/SKILL.md)\n- mine: of the person (%s/home/.claude/skills/mine/SKILL.md)\n- long: %s … (%s/repo/.claude/skills/long/SKILL.md)\n", s.dir, s.dir, long[:cutDescription], s.dir)
	if list != want || len(s.told) != 0 {
		t.Errorf("%q %q", list, s.told)
	}
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("repo/.claude/skills/s%d/SKILL.md", i)] = "---\ndescription: " + long + "\n---\nx"
	}
	s = newSite(t, "", files)
	if given := s.Start(); len(given.Instructions) > maxSkills+len(skillsHead) || !s.warned("skills are not named to the agent") {
		t.Errorf("%d %q", len(given.Instructions), s.told)
	}
}

// TestAgents: the nearest of a name counts.
func TestAgents(t *testing.T) {
	s := newSite(t, "", map[string]string{
		"home/.claude/agents/a.md":          "---\ndescription: far\n---\nx",
		"repo/.claude/agents/a.md":          "---\nname: a\ndescription: \"root\"\n---\nx",
		"repo/sub/.claude/agents/deep/b.md": "---\nname: a\ndescription: Use it when: \"x\"\ntools: *\n---\nx",
		"repo/sub/.claude/agents/c.txt":     "no",
	})
	s.open("repo/sub", "")
	given := s.Start()
	if a := given.Agents["a"]; len(given.Agents) != 1 || a.Description != `Use it when: "x"` || fmt.Sprint(a.Tools) != "[*]" || len(s.told) != 0 {
		t.Errorf("%+v %q", given.Agents, s.told)
	}
}
