package agentwrapper_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
	"github.com/agent-wrapper/agent-wrapper/wrapper/demo"
)

// rules parses a policy, such as one that is part of the program.
func rules(text string) *agentwrapper.Policy {
	spec, err := agentwrapper.ParsePolicy([]byte(text), "my rules")
	if err != nil {
		log.Fatal(err)
	}
	return spec
}

// command returns the tool use for a command line in the workspace.
func command(e *agentwrapper.Engine, line string) permission.ToolUse {
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		log.Fatal(err)
	}
	return permission.ToolUse{Tool: "Bash", Input: input, Dir: e.Place.Workspace}
}

// Decide tool uses, here of an agent with the tool Bash.
func Example() {
	e, err := agentwrapper.Open(agentwrapper.Options{
		Isolated: true, NoRecord: true, // an example leaves no traces
		Settings: rules(`allow = ["Bash(go test:*)"]
deny = ["Bash(rm:*)"]`),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for _, line := range []string{"go test ./...", "go test ./... && rm -rf build"} {
		res, err := e.CanUseTool(context.Background(), command(e, line))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Behavior, res.Rule)
	}
	// Output:
	// allow Bash(go test:*)
	// deny Bash(rm:*)
}

// A tool of the program's own: the policy says what the fields of its input mean.
func Example_customTool() {
	e, err := agentwrapper.Open(agentwrapper.Options{
		Isolated: true, NoRecord: true,
		Settings: rules(`allow = ["run_shell", "Bash(go test:*)"]
deny = ["Bash(rm:*)"]
[tools.run_shell]
command = "cmd"
text = ["why"]`),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for _, input := range []string{
		`{"cmd": "go test ./...", "why": "to see"}`,
		`{"cmd": "go test ./... && rm -rf build"}`,
		`{"cmd": "go test ./...", "shell": "fish"}`,
	} {
		use := permission.ToolUse{Tool: "run_shell", Input: json.RawMessage(input), Dir: e.Place.Workspace}
		fmt.Println(e.Explain(use, nil).Behavior)
	}
	// Output:
	// allow
	// deny
	// ask
}

// careful is an approver: it allows pushes to topic branches and denies
// everything else that the rules ask about.
type careful struct{}

func (careful) Approve(_ context.Context, ask permission.Request) (permission.Answer, error) {
	if strings.Contains(string(ask.Use.Input), "git push origin topic/") {
		return permission.Answer{Behavior: permission.Allow}, nil
	}
	return permission.Answer{Behavior: permission.Deny, Message: "Push to a topic branch."}, nil
}

// An approver answers what the rules leave to a person.
func Example_approver() {
	e, err := agentwrapper.Open(agentwrapper.Options{
		Isolated: true, NoRecord: true, Approver: careful{},
		Settings: rules(`ask = ["Bash(git push:*)"]`),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for _, line := range []string{"git push origin topic/x", "git push origin main"} {
		res, err := e.CanUseTool(context.Background(), command(e, line))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %q\n", res.Behavior, res.Message)
	}
	// Output:
	// allow ""
	// deny "Push to a topic branch."
}

// Session rules hold from the next decision on, for the agent and its subagents.
func Example_session() {
	e, err := agentwrapper.Open(agentwrapper.Options{Isolated: true, NoRecord: true})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	fmt.Println(e.Explain(command(e, "npm test"), nil).Behavior)
	if err := e.Session.Allow("Bash(npm test)"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Explain(command(e, "npm test"), nil).Behavior)
	// Output:
	// ask
	// allow
}

// Test a policy from Go as agent-wrapper test does.
func ExampleTestPolicies() {
	dir, err := os.MkdirTemp("", "policy-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		"agent-wrapper.toml": `ask = ["Bash(git push:*)"]`,
		"git.cases.toml":     "[[case]]\nuse = \"Bash(git push)\"\nexpect = \"ask ask-list Bash(git push:*)\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	report, err := agentwrapper.TestPolicies(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(report.Text(false))
	// Output: cases: 1 passed, 0 failed (100 %)
}

// Drive runs an agent, here the demo's, decides its tool uses and reports events.
func ExampleEngine_Drive() {
	dir, err := os.MkdirTemp("", "demo-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	script := demo.Script{
		Files: map[string]string{"notes.txt": "boil at 100\n"},
		Steps: []demo.Step{{Tool: "Read", Input: json.RawMessage(`{"file_path":"notes.txt"}`)}},
		Last:  "That is all.",
	}
	if err := script.Lay(dir); err != nil {
		log.Fatal(err)
	}
	e, err := agentwrapper.Open(agentwrapper.Options{Dir: dir, Isolated: true, NoRecord: true})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	agent := claude.Agent{Start: script.Start(dir)} // without Start it runs the agent CLI
	outcome, err := e.Drive(context.Background(), agent, wrapper.Task{
		Prompt: "look at the notes",
		Events: func(event wrapper.Event) {
			if event.Type == wrapper.DecisionEvent {
				fmt.Println(event.Tool, event.Behavior)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Text)
	// Output:
	// Read allow
	// That is all.
}

// Make the terms of an approval that people elsewhere give.
func ExampleRules_Demands() {
	r, err := agentwrapper.Load(agentwrapper.Options{Isolated: true, Settings: rules(`ask = ["Bash(git push:*)"]
[approvals]
timeout_seconds = 600
quorum.moderate = 2`)})
	if err != nil {
		log.Fatal(err)
	}
	ask := r.Evaluator().Request(permission.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"git push"}`), Dir: r.Place.Workspace})
	demands, now := r.Demands(), time.Now()
	terms, err := demands.Terms(&ask, "ap_1", approval.Principal{Role: approval.Agent, Name: "main"}, now)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(terms.Quorum, "people within", terms.Expires.Sub(now))
	// Output: 2 people within 10m0s
}

// Remember what a person has approved beyond the session: exactly that, for 30 days.
func ExampleRules_Recall() {
	e, err := agentwrapper.Open(agentwrapper.Options{Isolated: true, NoRecord: true})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ask := e.Evaluator().Request(command(e, "npm install left-pad"))
	kept, err := approval.Remember(&ask, nil, "anna", e.Place.Workspace, time.Now())
	if err != nil {
		log.Fatal(err)
	}
	kept[0].ID = "g1" // a store gives it one

	if err := e.Recall("anna", kept); err != nil {
		log.Fatal(err)
	}
	for _, line := range []string{"npm install left-pad", "npm install right-pad"} {
		fmt.Println(e.Explain(command(e, line), nil).Behavior)
	}
	// Output:
	// allow
	// ask
}

// Decide for an agent of a role, as a server does by the agent's credential.
func Example_role() {
	for _, role := range []string{"chat", "automation"} {
		e, err := agentwrapper.Open(agentwrapper.Options{Isolated: true, NoRecord: true, Settings: &agentwrapper.Policy{Profile: "terminal", Role: role}})
		if err != nil {
			log.Fatal(err)
		}
		for _, line := range []string{"chmod 755 x", "sudo apt install nginx", "rm -rf build"} {
			d := e.Explain(command(e, line), nil)
			fmt.Println(role, d.Risk, d.Behavior)
		}
		if err := e.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// chat moderate ask
	// chat high ask
	// chat forbidden deny
	// automation moderate allow
	// automation high ask
	// automation forbidden deny
}

// Have what runs inside the sandbox be answered with a command line that runs it there, for a
// program whose shell runs what it is answered.
func Example_sandbox() {
	ctx, path := context.Background(), "/usr/local/bin/agent-wrapper"
	build, err := exec.Command(path, "within", "--build").Output()
	if err != nil {
		return // it is not installed here
	}
	rules, err := agentwrapper.Load(agentwrapper.Options{Within: path, WithinBuild: strings.TrimSpace(string(build))})
	if err == nil && rules.Sandboxed() && agentwrapper.ProbeSandbox(ctx) == nil {
		err = rules.Within()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Check that an audit log has every entry, as agent-wrapper audit verify does.
func ExampleVerifyAuditLog() {
	dir, err := os.MkdirTemp("", "audit-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", dir) // an example leaves no traces
	file := filepath.Join(dir, "decisions.jsonl")
	e, err := agentwrapper.Open(agentwrapper.Options{Dir: dir, Record: file})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := e.CanUseTool(context.Background(), command(e, "git status")); err != nil {
		log.Fatal(err)
	}
	if err := e.Close(); err != nil {
		log.Fatal(err)
	}
	report, err := agentwrapper.VerifyAuditLog(file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Records, "entries,", len(report.Faults), "faults")
	// Output: 2 entries, 0 faults
}
