package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

const mappedPolicy = `allow = ["run_shell", "Bash(ls:*)", "read_file", "Read(src/**)", "mcp__fs__*", "mcp__hub", "deploy(staging)"]
unlisted = "ask"
[tools.run_shell]
command = "cmd"
text = "timeout"
[tools.read_file]
read = ["path", "also[]"]
[tools.mcp__fs]
like = "filesystem"
[tools.mcp__hub__search]
text = "q"
[tools.deploy]
name = "stage"
`

func decideMapped(t *testing.T, spec *Spec, tool string, input string) permission.Decision {
	t.Helper()
	place := patterns.Place{Workspace: "/w", Home: "/h"}
	p, session, _, err := spec.Compile(place)
	if err != nil {
		t.Fatal(err)
	}
	use := permission.ToolUse{Tool: tool, Input: json.RawMessage(input), Dir: "/w"}
	return permission.Evaluate(p, session, &use, workspace.Fake{Dir: "/w"}, nil)
}

// TestTools checks that a mapped tool needs a rule of its own, and one for what
// its fields mean.
func TestTools(t *testing.T) {
	t.Parallel()
	spec, err := Parse([]byte(mappedPolicy), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ tool, input, want, reason string }{
		{"run_shell", `{"cmd":"npm install"}`, "ask", "Not in allow list: run npm install"},
		{"run_shell", `{"cmd":"ls -l","shell":"x"}`, "ask", "the field shell of run_shell is unknown"},
		{"run_shell", `{"cmd":["ls"]}`, "ask", "the field cmd of run_shell"},
		{"run_shell", `{"cmd":"ls","CMD":"rm x"}`, "ask", "the field CMD of run_shell"},
		{"run_shell", `{"cmd":"ls","timeout":5}`, "allow", "run_shell"},
		{"run_shell", `{"cmd":"rm -rf /"}`, "deny", "catastrophic"},
		{"run_shell", `{"cmd":""}`, "deny", "field cmd of run_shell"},
		{"read_file", `{"path":"/etc/hosts"}`, "ask", "read /etc/hosts"},
		{"read_file", `{"path":"src/a.go"}`, "allow", "read_file"},
		{"read_file", `{"path":"src/a.go","also":["src/b.go","x"]}`, "ask", "read x"},
		{"mcp__fs__write_file", `{"path":"/w/src/a.go","content":"x"}`, "ask", "write /w/src/a.go"},
		{"mcp__fs__read_file", `{"path":"/w/src/a.go","head":3}`, "allow", "mcp__fs"},
		{"mcp__fs__read_file", `{"path":"src/a.go"}`, "ask", "read src/a.go"}, // the server has its own working directory
		{"mcp__fs__unheard", `{"path":"/etc/x"}`, "allow", "mcp__fs"},
		{"mcp__hub__search", `{"q":"x"}`, "allow", "mcp__hub"},
		{"mcp__hub__search", `{"q":"x","then":"y"}`, "ask", "the field then"},
		{"deploy", `{"stage":"staging"}`, "allow", "deploy(staging)"},
		{"deploy", `{"stage":"production"}`, "ask", "deploy(production)"},
	} {
		d := decideMapped(t, spec, test.tool, test.input)
		if d.Behavior.String() != test.want || !strings.Contains(d.Reason, test.reason) {
			t.Errorf("%s %s: %v, %s; want %s, %s", test.tool, test.input, d.Behavior, d.Reason, test.want, test.reason)
		}
	}
}

// TestToolErrors checks that an invalid entry is an error with its place.
func TestToolErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[tools.Bash]\ncommand = \"cmd\"\n":                 "p.toml:1:1: tool Bash: Bash is built in",
		"[tools.bash]\ncommand = \"cmd\"\n":                 "Bash is built in",
		"[tools.x]\ncomand = \"cmd\"\n":                     "p.toml:2:10: tool x has the key comand: write command",
		"[tools.x]\ncommand = 5\n":                          "p.toml:2:11: command of tool x must be a string",
		"[tools.x]\ncommand = [\"a\", 5]\n":                 "command of tool x must be a string",
		"[tools.x]\ncommand = []\n":                         "command of tool x must be a string",
		"[tools.x]\ndialect = [\"sh\"]\n":                   "dialect of tool x must be a single string",
		"[tools.x]\ndialect = \"fish\"\n":                   `dialect is "fish": write one of bash`,
		"[tools.x]\nread = \"a..b\"\n":                      `read names the field "a..b"`,
		"[tools.x]\nread = \"a\"\ntext = \"a\"\n":           `field "a" stands in read and in text`,
		"[tools.x]\nname = \"a[]\"\n":                       "elements of a list are no one name",
		"[tools.mcp__fs]\nlike = \"filesystems\"\n":         `like is "filesystems": write`,
		"[tools.fs]\nlike = \"fetch\"\n":                    "like is for a whole MCP server",
		"[tools.mcp__fs__x]\nlike = \"fetch\"\n":            "like is for a whole MCP server",
		"[tools.mcp__fs]\nlike = \"fetch\"\ntext = \"x\"\n": "like cannot be combined",
		"[tools.mcp__sh]\ncommand = \"cmd\"\n":              "p.toml:1:1: tool mcp__sh: mcp__sh is a server, no tool of one: write [tools.mcp__sh__TOOL] for each tool",
		"[tools.mcp__sh__]\ncommand = \"cmd\"\n":            "mcp__sh__ is a server, no tool of one: write [tools.mcp__sh__TOOL]",
		"[tools.\"a b\"]\ntext = \"x\"\n":                   "cannot be the name of a tool",
	} {
		spec, err := Parse([]byte(text), "p.toml")
		if err == nil {
			_, _, _, err = spec.Compile(patterns.Place{Workspace: "/w"})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestUntrustedTools checks that the mappings of an untrusted file apply in
// addition to the policy, so that they can only narrow.
func TestUntrustedTools(t *testing.T) {
	t.Parallel()
	trusted, err := Parse([]byte(mappedPolicy), "user.toml")
	if err != nil {
		t.Fatal(err)
	}
	untrusted, err := Parse([]byte("[tools.run_shell]\ntext = [\"cmd\", \"shell\"]\n[tools.mcp__hub__search]\ncommand = \"q\"\n"), "project.toml")
	if err != nil {
		t.Fatal(err)
	}
	both, _ := Merge([]Source{{Kind: User, Name: "user.toml", Spec: trusted, Trusted: true}, {Kind: Project, Name: "project.toml", Spec: untrusted}})
	for _, test := range []struct{ tool, input, want string }{
		{"run_shell", `{"cmd":"npm install"}`, "ask"},
		{"run_shell", `{"cmd":"ls","shell":"x"}`, "ask"},
		{"run_shell", `{"cmd":"ls"}`, "allow"},
		{"mcp__hub__search", `{"q":"npm install"}`, "ask"},
		{"mcp__hub__search", `{"q":"ls x"}`, "allow"},
	} {
		if d := decideMapped(t, both, test.tool, test.input); d.Behavior.String() != test.want {
			t.Errorf("%s %s: %v, %s; want %s", test.tool, test.input, d.Behavior, d.Reason, test.want)
		}
	}
}

// TestManagedTools checks that later policies cannot change a managed policy's
// mapping.
func TestManagedTools(t *testing.T) {
	t.Parallel()
	managed, err := Parse([]byte(mappedPolicy), "managed.toml")
	if err != nil {
		t.Fatal(err)
	}
	project, err := Parse([]byte("[tools.run_shell]\ntext = [\"cmd\"]\n"), "project.toml")
	if err != nil {
		t.Fatal(err)
	}
	both, _ := Merge([]Source{{Kind: Managed, Name: "managed.toml", Spec: managed, Trusted: true}, {Kind: Project, Name: "project.toml", Spec: project, Trusted: true}})
	if d := decideMapped(t, both, "run_shell", `{"cmd":"npm install"}`); d.Behavior != permission.Ask {
		t.Errorf("%v: %s", d.Behavior, d.Reason)
	}
}
