package hostrules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestOpenCode checks that external_directory and an explicit allow for .env keep
// their meaning, and that the report says what does not.
func TestOpenCodeOutside(t *testing.T) {
	t.Parallel()
	const commands = `"bash": {"ls *": "allow", "head *": "allow", "grep *": "allow", "cat *": "allow"}`
	for _, test := range []struct {
		permission string
		tool, text string
		want       permission.Behavior
		report     string // a part of the report
	}{
		{commands + `, "external_directory": "deny"`, "Bash", "head -1 /etc/hosts", permission.Ask, "not denied"},
		{commands + `, "external_directory": "deny"`, "Bash", "ls /etc", permission.Ask, ""},
		{commands + `, "external_directory": "deny"`, "Bash", "head ~/notes.txt", permission.Ask, ""},
		{commands + `, "external_directory": "ask"`, "Bash", "head ../x", permission.Ask, "files outside are asked about"},
		{commands + `, "external_directory": "ask"`, "Bash", "grep x a ..", permission.Ask, ""},
		{commands + `, "external_directory": "ask"`, "Bash", "grep --file=/etc/x y", permission.Ask, ""},
		{commands + `, "external_directory": "ask"`, "Bash", "head -1 README.md", permission.Allow, ""},
		{commands + `, "external_directory": "ask"`, "Bash", "ls src/a..b", permission.Allow, ""},
		{commands, "Bash", "head -1 README.md", permission.Allow, ""},
		{`"read": {".env": "allow"}`, "Read", ".env", permission.Allow, "other .env files are asked about here"},
		{`"read": {".env": "allow"}`, "Read", "sub/.env", permission.Ask, ""},
		{`"read": {"src/**": "allow"}`, "Read", ".env", permission.Deny, ""},
	} {
		made, err := Read([]File{{Name: "opencode.json", Text: []byte(`{"permission": {` + test.permission + `}}`)}}, Options{Host: "opencode", Home: lawHome})
		if err != nil {
			t.Fatal(err)
		}
		text, err := made.Draft.Text()
		if err != nil {
			t.Fatal(err)
		}
		spec, err := policy.Parse(text, "p")
		if err != nil {
			t.Fatal(err)
		}
		p, session, _, err := spec.Compile(patterns.Place{Workspace: lawDir, Home: lawHome})
		if err != nil {
			t.Fatal(err)
		}
		input, _ := json.Marshal(map[string]string{map[string]string{"Bash": "command", "Read": "file_path"}[test.tool]: test.text})
		d := permission.Evaluate(p, session, &permission.ToolUse{Tool: test.tool, Input: input, Dir: lawDir}, workspace.Fake{Dir: lawDir}, nil)
		if d.Behavior != test.want {
			t.Errorf("%s: %s %s: %v (%s), want %v", test.permission, test.tool, test.text, d.Behavior, d.Reason, test.want)
		}
		found := test.report == ""
		for _, r := range made.Rules {
			found = found || strings.Contains(r.Note, test.report)
		}
		if !found {
			t.Errorf("%s: the report does not say %q: %+v", test.permission, test.report, made.Rules)
		}
	}
}
