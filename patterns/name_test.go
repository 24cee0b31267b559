package patterns

import "testing"

func TestTools(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule, tool, name   string
		allow, deny        Match
		noAllow, noAskDeny bool
	}{
		{rule: "mcp__s__t", tool: "mcp__s__t", allow: Yes, deny: Yes},
		{rule: "mcp__s__t", tool: "mcp__s__tt"},
		{rule: "mcp__s__t", tool: "mcp__S__t"},
		{rule: "mcp__s__t", tool: "mcp__s__t__u", deny: Maybe},
		{rule: "mcp__s__t__u", tool: "mcp__s__t__u", allow: Yes, deny: Yes},
		{rule: "mcp__s", tool: "mcp__s__t", allow: Yes, deny: Yes},
		{rule: "mcp__s", tool: "mcp__s", deny: Yes},
		{rule: "mcp__s", tool: "mcp__s__a__b", deny: Yes},
		{rule: "mcp__s", tool: "mcp__s___b", deny: Yes},
		{rule: "mcp__s", tool: "mcp__sx__t"},
		{rule: "mcp__s", tool: "mcp__s_x__t"},
		{rule: "mcp__s__*", tool: "mcp__s__t", allow: Yes, deny: Yes},
		{rule: "mcp__s__*", tool: "mcp__s__a__b", deny: Yes},
		{rule: "mcp__s__get_*", tool: "mcp__s__get_x", allow: Yes, deny: Yes},
		{rule: "mcp__s__get_*", tool: "mcp__s__set_x"},
		{rule: "mcp__s__get_*", tool: "mcp__s__get_x__y", deny: Yes},
		{rule: "mcp__*", tool: "mcp__s__t", noAllow: true, deny: Yes},
		{rule: "mcp__*__get_*", tool: "mcp__s__get_x", noAllow: true, deny: Yes},
		{rule: "mcp__*__get_*", tool: "mcp__s__set_x", noAllow: true},
		{rule: "mcp__plugin_x_*", tool: "mcp__plugin_x_y__t", noAllow: true, deny: Yes},
		{rule: "*", tool: "Anything", noAllow: true, deny: Yes},
		{rule: "Skill(x)", tool: "Skill", name: "x", allow: Yes, deny: Yes},
		{rule: "Skill(x)", tool: "Skill", name: "p:x", deny: Maybe},
		{rule: "Skill(p:x)", tool: "Skill", name: "x", deny: Maybe},
		{rule: "Skill(x)", tool: "Skill", name: "xy"},
		{rule: "Skill(x)", tool: "Skill", deny: Maybe},
		{rule: "Skill(x*)", tool: "Skill", name: "xy", allow: Yes, deny: Yes},
		{rule: "Skill(run:*)", tool: "Skill", name: "run", allow: Yes, deny: Yes},
		{rule: "Skill(run:*)", tool: "Skill", name: "run:a", allow: Yes, deny: Yes},
		{rule: "Skill(run:*)", tool: "Skill", name: "runner"},
		{rule: "Skill", tool: "Skill", name: "x", allow: Yes, deny: Yes},
		{rule: "Skill(*)", tool: "Skill", name: "x", allow: Yes, deny: Yes},
		{rule: "SlashCommand(/deploy:*)", tool: "SlashCommand", name: "/deploy now", allow: Yes, deny: Yes},
		{rule: "SlashCommand(/deploy)", tool: "SlashCommand", name: "deploy", allow: Yes, deny: Yes},
		{rule: "Task(explore)", tool: "Agent", name: "explore", allow: Yes, deny: Yes},
		{rule: "Agent(explore)", tool: "Task", name: "explore", allow: Yes, deny: Yes},
		{rule: "Agent(explore)", tool: "Task", name: "other"},
		{rule: "Task(*)", tool: "Agent", name: "x", allow: Yes, deny: Yes},
		{rule: "WebSearch(cats *)", tool: "WebSearch", name: "cats and dogs", allow: Yes, deny: Yes},
		{rule: "Monitor", tool: "Monitor", allow: Yes, deny: Yes},
		{rule: "Monitor(ls)", tool: "Monitor", noAskDeny: true},
		{rule: "TodoWrite(**)", tool: "TodoWrite", allow: Yes, deny: Yes},
		{rule: "MyTool", tool: "MyTool", allow: Yes, deny: Yes},
		{rule: "MyTool", tool: "mytool"},
		{rule: "MyTool(x)", tool: "MyTool", noAskDeny: true},
		{rule: "PowerShell(npm -v)", tool: "PowerShell", name: "npm -v", allow: Yes, noAskDeny: true},
		{rule: "PowerShell(npm -v)", tool: "PowerShell", name: "npm -v; x", noAskDeny: true},
		{rule: "PowerShell(npm *)", tool: "PowerShell", name: "npm -v", noAskDeny: true},
		{rule: "PowerShell", tool: "PowerShell", name: "npm -v", allow: Yes, deny: Yes},
	} {
		sub := &Subject{Kind: UseTool, Tool: test.tool, Name: test.name}
		check := func(list List, refused bool, want Match) {
			r, _, err := Parse(test.rule, list, Source{})
			if (err != nil) != refused {
				t.Errorf("%v %s: error %v", list, test.rule, err)
				return
			}
			if err != nil {
				return
			}
			if _, m := NewSet(here, r).Match(sub, Query{}); m != want {
				t.Errorf("%v %s on %s %q: %v, want %v", list, test.rule, test.tool, test.name, m, want)
			}
		}
		check(Allow, test.noAllow, test.allow)
		check(Ask, test.noAskDeny, test.deny)
		check(Deny, test.noAskDeny, test.deny)
	}
}

func TestToolFamilies(t *testing.T) {
	t.Parallel()
	at := func(kind Kind, tool string) *Subject {
		return &Subject{Kind: kind, Tool: tool, Line: "x", Path: written("src/a", here), URL: NewURL(word("https://a.org"))}
	}
	for _, test := range []struct {
		rule string
		yes  []*Subject
		no   []*Subject
	}{
		{"Read(src/**)", []*Subject{at(ReadPath, "Read"), at(ReadPath, "Grep"), at(ReadPath, "Bash")}, []*Subject{at(WritePath, "Edit")}},
		{"Read", []*Subject{at(ReadPath, "NotebookRead"), at(ReadPath, "Bash")}, []*Subject{at(WritePath, "Bash")}},
		{"Grep(src/**)", []*Subject{at(ReadPath, "Grep")}, []*Subject{at(ReadPath, "Read"), at(ReadPath, "Bash")}},
		{"Grep", []*Subject{at(ReadPath, "Grep")}, []*Subject{at(ReadPath, "Glob")}},
		{"Edit(src/**)", []*Subject{at(WritePath, "Write"), at(WritePath, "NotebookEdit"), at(WritePath, "Bash")}, []*Subject{at(ReadPath, "Read")}},
		{"Edit", []*Subject{at(WritePath, "Write"), at(WritePath, "Bash")}, []*Subject{at(ReadPath, "Bash")}},
		{"Write(src/**)", []*Subject{at(WritePath, "Write")}, []*Subject{at(WritePath, "Edit"), at(WritePath, "Bash")}},
		{"Write", []*Subject{at(WritePath, "Write")}, []*Subject{at(WritePath, "Bash")}},
		{"MultiEdit", []*Subject{at(WritePath, "MultiEdit")}, []*Subject{at(WritePath, "Edit")}},
		{"WebFetch(a.org)", []*Subject{at(FetchURL, "WebFetch"), at(FetchURL, "Bash")}, []*Subject{at(UseTool, "WebFetch")}},
		{"Bash(rm:*)", nil, []*Subject{at(ReadPath, "Read"), at(UseTool, "Bash")}},
	} {
		for _, list := range []List{Allow, Deny} {
			set := NewSet(here, rule(t, test.rule, list))
			for _, sub := range test.yes {
				if _, m := set.Match(sub, Query{}); m != Yes {
					t.Errorf("%v %s on kind %d of %s: %v, want yes", list, test.rule, sub.Kind, sub.Tool, m)
				}
			}
			for _, sub := range test.no {
				if _, m := set.Match(sub, Query{}); m != No {
					t.Errorf("%v %s on kind %d of %s: %v, want no", list, test.rule, sub.Kind, sub.Tool, m)
				}
			}
		}
	}
}
