package patterns

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

func TestGranular(t *testing.T) {
	t.Parallel()
	run := func(line string) *Subject { return commands(line)[0] }
	edit := func(name, tool string) *Subject {
		return &Subject{Kind: WritePath, Tool: tool, Line: "x", Path: written(name, here)}
	}
	fetch := func(url, tool string) *Subject {
		return &Subject{Kind: FetchURL, Tool: tool, URL: NewURL(word(url))}
	}
	opaque := &Subject{Kind: Hidden, Tool: "Bash", Line: "x", May: shell.MayRun}
	reads := &Subject{Kind: Hidden, Tool: "Bash", Line: "x", May: shell.MayRead}
	for _, test := range []struct {
		name string
		spec GranularSpec
		no   []*Subject
		// maybe lists subjects that ask and deny may match; an allow does not.
		maybe []*Subject
		yes   []*Subject
	}{
		{
			"tool", GranularSpec{Tools: []string{"Bash"}},
			[]*Subject{edit("a", "Edit"), {Kind: UseTool, Tool: "Skill"}}, nil,
			[]*Subject{run("ls"), opaque, edit("a", "Bash")},
		},
		{
			"commands", GranularSpec{Tools: []string{"Bash"}, Commands: []string{"rm", "git push"}},
			[]*Subject{run("ls"), run("git status"), edit("a", "Bash"), reads}, []*Subject{opaque, run("$x y")},
			[]*Subject{run("rm x"), run("git push")},
		},
		{
			"paths", GranularSpec{Tools: []string{"Edit", "Write"}, Paths: []string{"*.secret", "conf/**"}},
			[]*Subject{edit("a.txt", "Edit"), {Kind: ReadPath, Tool: "Read", Path: written("a.secret", here)}, run("ls")}, []*Subject{edit("$", "Edit")},
			[]*Subject{edit("a.secret", "Write"), edit("conf/x", "Edit"), edit("a.secret", "Bash")},
		},
		{
			"a tool that only writes by itself", GranularSpec{Tools: []string{"Write"}, Paths: []string{"*.secret"}},
			[]*Subject{edit("a.secret", "Edit"), edit("a.secret", "Bash")}, nil,
			[]*Subject{edit("a.secret", "Write")},
		},
		{
			"patterns", GranularSpec{Tools: []string{"Bash"}, Patterns: []string{`^rm( -\w+)* build$`}},
			[]*Subject{run("rm build x"), run("echo rm build"), run("ls $x")}, []*Subject{run("rm $x build"), run("rm -$x build"), opaque},
			[]*Subject{run("rm build"), run("rm -r 'build'")},
		},
		{
			"domains on command lines", GranularSpec{Tools: []string{"Bash"}, Domains: []string{"github.com"}},
			[]*Subject{fetch("https://gitlab.com", "Bash")}, nil, []*Subject{fetch("https://github.com/x", "Bash")},
		},
		{
			"domains", GranularSpec{Tools: []string{"WebFetch"}, Domains: []string{"github.com"}},
			[]*Subject{fetch("https://gitlab.com", "WebFetch"), run("ls")}, []*Subject{fetch("https://$/", "WebFetch")},
			[]*Subject{fetch("https://github.com", "WebFetch"), fetch("https://github.com/x", "Bash")},
		},
		{
			"server", GranularSpec{Tools: []string{"mcp__s__*"}},
			[]*Subject{{Kind: UseTool, Tool: "mcp__x__t"}}, nil, []*Subject{{Kind: UseTool, Tool: "mcp__s__t"}},
		},
	} {
		for _, action := range []List{Allow, Ask, Deny} {
			spec := test.spec
			spec.Action = action
			g, err := CompileGranular(spec, here)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			check := func(want Match, subs []*Subject) {
				for _, sub := range subs {
					fresh := *sub
					if m := g.Match(&fresh); m != want {
						t.Errorf("%v by %s on kind %d of %s %+v: %v, want %v", action, test.name, sub.Kind, sub.Tool, sub.Command, m, want)
					}
				}
			}
			check(No, test.no)
			check(Yes, test.yes)
			if action == Allow {
				check(No, test.maybe)
			} else {
				check(Maybe, test.maybe)
			}
		}
	}
}

// TestGranularAllowNeedsKnownWords checks that a regular expression proves
// nothing about a command that is partly unknown or sets a variable.
func TestGranularAllowNeedsKnownWords(t *testing.T) {
	t.Parallel()
	g, err := CompileGranular(GranularSpec{Tools: []string{"Bash"}, Patterns: []string{"^ls"}, Action: Allow}, here)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]Match{"ls -l": Yes, "ls $x": No, "ls *.md": No, "FOO=1 ls": No, "CI=1 ls": Yes} {
		if m := g.Match(commands(line)[0]); m != want {
			t.Errorf("%s: %v, want %v", line, m, want)
		}
	}
}

// TestGranularLineBreaks checks that "." meets a line break in a quoted word where that
// makes a rule stricter, and only there.
func TestGranularLineBreaks(t *testing.T) {
	t.Parallel()
	for action, want := range map[List]Match{Allow: No, Ask: Yes, Deny: Yes} {
		g, err := CompileGranular(GranularSpec{Tools: []string{"Bash"}, Patterns: []string{"^git commit .*Co-Authored-By"}, Action: action}, here)
		if err != nil {
			t.Fatal(err)
		}
		if m := g.Match(commands("git commit -m \"x\n\nCo-Authored-By: A\"")[0]); m != want {
			t.Errorf("%v: %v, want %v", action, m, want)
		}
	}
}

// TestGranularDead checks that a condition that no use of a tool can meet is an error that
// names the tool and a way out.
func TestGranularDead(t *testing.T) {
	t.Parallel()
	table, err := tools.NewTable(map[string]tools.Mapping{"mcp__fs__read": {Read: []string{"path"}}, "mcp__sh__run": {Command: []string{"line"}}})
	if err != nil {
		t.Fatal(err)
	}
	spec := func(field string, names ...string) GranularSpec {
		s := GranularSpec{Tools: names, Known: table}
		switch field {
		case "paths":
			s.Paths = []string{"a"}
		case "commands":
			s.Commands = []string{"rm"}
		case "patterns":
			s.Patterns = []string{"rm"}
		case "domains":
			s.Domains = []string{"a.org"}
		}
		return s
	}
	for _, test := range []struct {
		spec GranularSpec
		want string // "" if the rule loads
	}{
		{spec("patterns", "Write"), "patterns: Write runs no commands, so the rule could never match it; use paths for Write; rules cannot match what is written yet"},
		{spec("commands", "Write"), "commands: Write runs no commands"},
		{spec("commands", "Read"), "commands: Read runs no commands, so the rule could never match it; use paths for Read"},
		{spec("patterns", "WebFetch"), "patterns: WebFetch runs no commands, so the rule could never match it; use domains for WebFetch"},
		{spec("paths", "WebFetch"), "paths: WebFetch reads and writes no paths"},
		{spec("domains", "Edit"), "domains: Edit fetches no URLs"},
		{spec("commands", "Bash", "Edit"), "commands: Edit runs no commands"},
		{spec("patterns", "Skill"), "patterns: Skill runs no commands"},
		{spec("paths", "mcp__db"), "paths: mcp__db reads and writes no paths, so the rule could never match it; remove mcp__db from the tools, or map what its fields mean"},
		{spec("paths", "mcp__db__*"), "paths: mcp__db__* reads and writes no paths"},
		{spec("domains", "mcp__fs"), "domains: mcp__fs fetches no URLs"},
		{spec("domains", "Bash"), ""},
		{spec("paths", "Bash", "Grep", "NotebookEdit"), ""},
		{spec("commands", "Monitor"), ""},
		{spec("paths", "mcp__fs"), ""},
		{spec("paths", "mcp__fs__*"), ""},
		{spec("paths", "mcp__fs__read"), ""},
		{spec("patterns", "mcp__sh__run"), ""},
		{spec("domains", "mcp__sh__run"), ""},
		{spec("", "Skill"), ""},
		{GranularSpec{Tools: []string{"Bash", "Edit"}, Commands: []string{"rm"}, Paths: []string{"a"}}, ""},
		{GranularSpec{Tools: []string{"Bash", "Edit"}, Commands: []string{"rm"}, Domains: []string{"a.org"}}, "commands: Edit runs no commands"},
		{GranularSpec{Tools: []string{"Edit"}, Commands: []string{"rm"}, Paths: []string{"a"}}, "commands: Edit runs no commands"},
	} {
		for _, action := range []List{Allow, Ask, Deny} {
			test.spec.Action = action
			_, err := CompileGranular(test.spec, here)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v %v %s: %v, want %q", action, test.spec.Tools, (&Granular{spec: test.spec}).String(), err, test.want)
			}
		}
	}
	for _, action := range []List{Ask, Deny} {
		for _, all := range []string{"*", "mcp__*"} {
			s := spec("paths", all)
			s.Action = action
			if _, err := CompileGranular(s, here); err != nil {
				t.Errorf("%v %s: %v", action, all, err)
			}
		}
	}
}

func TestGranularErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		spec GranularSpec
		want string
	}{
		{GranularSpec{Tools: []string{"Bash"}}, "no action"},
		{GranularSpec{Action: Deny}, "names no tools"},
		{GranularSpec{Action: Deny, Tools: []string{"bash"}}, `tools: "bash": there is no tool bash; did you mean Bash?`},
		{GranularSpec{Action: Deny, Tools: []string{"Bash(rm:*)"}}, "more than a tool name"},
		{GranularSpec{Action: Deny, Tools: []string{"Bash"}, Commands: []string{"rm | x"}}, "commands:"},
		{GranularSpec{Action: Deny, Tools: []string{"Bash"}, Commands: []string{" "}}, "commands: item 1 is empty"},
		{GranularSpec{Action: Deny, Tools: []string{"Edit"}, Paths: []string{"a[b"}}, `paths: "a[b"`},
		{GranularSpec{Action: Deny, Tools: []string{"Bash"}, Patterns: []string{"a("}}, "missing closing )"},
		{GranularSpec{Action: Deny, Tools: []string{"Bash"}, Patterns: []string{"a(?=b)"}}, "RE2"},
		{GranularSpec{Action: Deny, Tools: []string{"Bash"}, Patterns: []string{""}}, "would match everything"},
		{GranularSpec{Action: Deny, Tools: []string{"Bash"}, Patterns: []string{strings.Repeat("a", maxRegexp+1)}}, "longer than"},
		{GranularSpec{Action: Deny, Tools: []string{"WebFetch"}, Domains: []string{"https://x"}}, "a host, not a URL"},
	} {
		test.spec.Source = Source{Name: "p.toml", Line: 4}
		_, err := CompileGranular(test.spec, here)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "p.toml:4:") {
			t.Errorf("%+v: %v, want %q", test.spec, err, test.want)
		}
	}
}

func TestGranularFacts(t *testing.T) {
	t.Parallel()
	spec := GranularSpec{Tools: []string{"Bash", "Edit"}, Paths: []string{"a"}, Commands: []string{"rm"}, Action: Deny, Message: "no", Source: Source{Name: "f"}}
	g, err := CompileGranular(spec, here)
	if err != nil {
		t.Fatal(err)
	}
	if g.Action() != Deny || g.Message() != "no" || !g.Specific() || g.Source.Name != "f" || g.String() != "deny Bash,Edit paths=a commands=rm" {
		t.Errorf("%v %v %v %v %s", g.Action(), g.Message(), g.Specific(), g.Source, g)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	run := func(line string) *Subject { return commands(line)[0] }
	fs := links{dir: here.Workspace, to: map[string]string{"src/out": "/etc"}}
	edit := func(name string) *Subject {
		return &Subject{Kind: WritePath, Tool: "Edit", Path: NewPath(word(name), here.Workspace, here, fs.resolve)}
	}
	fetch := func(url string) *Subject {
		return &Subject{Kind: FetchURL, Tool: "WebFetch", URL: NewURL(shell.Word{Text: url})}
	}
	for _, test := range []struct {
		rule string
		sub  *Subject
		want string
	}{
		{"Bash(git push:*)", run("git push x"), ""},
		{"Bash(git push:*)", run("git pull"), `word 2 is "pull", and the rule requires "push"`},
		{"Bash(git push:*)", run("git"), `the command has no word 2`},
		{"Bash(git push:*)", run("./git push"), `the program is "./git", and the rule allows "git"`},
		{"Bash(cat a/x)", run("cat b/x"), `word 2 is "b/x", and the rule requires "a/x"`},
		{"Bash(git push)", run("git push x"), "the command has 3 words, and the rule matches exactly 2"},
		{"Bash(git push:*)", run("git $x"), "word 2 is known only when the line runs"},
		{"Bash(git * x)", run("git y"), "the words do not match the pattern"},
		{"Bash(ls && make)", run("ls"), "it matches only one exact line"},
		{"Bash(ls:*)", edit("x"), "it is about commands, not about writing a path"},
		{"Edit(src/**)", edit("lib/x"), "/home/dev/proj/lib/x does not match the pattern"},
		{"Edit(src/**)", edit("src/out/x"), "a symbolic link leads to /etc/x"},
		{"Edit(src/**)", edit("src/\x01"), "the path cannot be checked: it contains a control character"},
		{"Read(src/**)", edit("src/x"), "it is about reading, not about writing a path"},
		{"WebFetch(a.org)", fetch("https://b.org"), "the host is b.org, and the rule matches only a.org"},
		{"WebFetch(*.a.org)", fetch("https://a.org"), "and the rule matches only subdomains of a.org"},
		{"WebFetch(a.org)", fetch("https://x@a.org"), "the URL cannot be checked: it contains a user name"},
		{"Skill(x)", &Subject{Kind: UseTool, Tool: "Skill", Name: "y"}, `Skill is asked for "y"`},
		{"mcp__s", &Subject{Kind: UseTool, Tool: "Skill"}, "it is about the tool mcp__s, not about the tool Skill"},
	} {
		if got := Explain(rule(t, test.rule, Allow), test.sub); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", test.rule, got, test.want)
		}
	}
}

func TestExactRuleText(t *testing.T) {
	t.Parallel()
	fs := links{dir: here.Workspace, to: map[string]string{"out": "/etc"}}
	path := func(kind Kind, name string) *Subject {
		return &Subject{Kind: kind, Tool: "Bash", Path: NewPath(word(name), here.Workspace, here, fs.resolve)}
	}
	for _, test := range []struct {
		sub  *Subject
		want string
	}{
		{commands("git  'push' \"x\"")[0], "Bash(git push x)"},
		{commands("echo 'a b' '*' '' '$x' '~' A=1")[0], `Bash(echo 'a b' '*' "" '$x' '~' 'A=1')`},
		{commands(`echo "it's" 'a"b'`)[0], `Bash(echo "it'""s" 'a"b')`},
		{commands(`grep '\(a\)' "''"`)[0], `Bash(grep "\\""(a\\"")" "'""'""")`},
		{commands("echo 'a:*'")[0], "Bash(echo 'a:*')"},
		{commands("echo ')' '('")[0], "Bash(echo ')' '(')"},
		{commands("'for' x")[0], ""},
		{commands("echo $x")[0], ""},
		{commands("echo *.md")[0], ""},
		{path(ReadPath, "a"), "Read(//home/dev/proj/a)"},
		{path(WritePath, "/tmp/[x]"), `Edit(//tmp/\[x])`},
		{path(WritePath, "out/x"), ""},
		{path(WritePath, "$"), ""},
		{path(WritePath, "/dev/fd/3"), ""},
		{&Subject{Kind: FetchURL, Tool: "Bash", URL: NewURL(shell.Word{Text: "https://GitHub.com/x"})}, "WebFetch(domain:github.com)"},
		{&Subject{Kind: FetchURL, Tool: "Bash", URL: NewURL(shell.Word{Text: "https://a@b.org"})}, ""},
		{&Subject{Kind: UseTool, Tool: "mcp__s__t"}, "mcp__s__t"},
		{&Subject{Kind: UseTool, Tool: "Skill", Name: "x:y"}, "Skill(x:y)"},
		{&Subject{Kind: UseTool, Tool: "Skill"}, ""},
		{&Subject{Kind: UseTool, Tool: "TodoWrite"}, "TodoWrite"},
		{&Subject{Kind: UseTool, Tool: "fetch"}, ""},
		{&Subject{Kind: Hidden, Tool: "Bash", Line: "x"}, ""},
	} {
		if got := ExactRule(test.sub); got != test.want {
			t.Errorf("%+v: %q, want %q", test.sub, got, test.want)
		}
	}
}
