//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// openPolicy allows every tool by name; shutPolicy allows nothing but starting
// agents, by a gate, by granular rules and by a deny list.
var (
	openPolicy = []string{
		"--allow", "Bash,Read,Edit,Write,NotebookEdit,WebFetch,WebSearch,mcp__marks__*,ListMcpResourcesTool,ReadMcpResourceTool,ReadMcpResourceDirTool",
		"--allow", "Agent,ScheduleWakeup,SendMessage,Workflow,EnterWorktree,ExitWorktree,ExitPlanMode,AskUserQuestion",
	}
	shutPolicy = []string{
		"--allow", "Agent,Workflow", "--unlisted", "deny", "--deny", "Agent(Plan)",
		"--rules", `[{"tools":["TaskCreate","TaskGet","TaskList","TaskUpdate","TaskOutput","TaskStop","ToolSearch","ListAgents","ReportFindings","EnterPlanMode","SendMessage"],"action":"deny","message":"shut"}]`,
	}
)

func allowWithoutPerson(r row) bool { return !r.Person }

// TestMainJob drives the real agent CLIs through agent-wrapper, with settings
// about that try to go round it. In the short form the seed says which.
func TestMainJob(t *testing.T) {
	s := seed(t)
	for _, r := range releases() {
		for i, p := range profiles {
			if !drawn(s, i, 2, len(profiles)) {
				continue
			}
			if long() || p.Short != "shut" {
				t.Run(r.Version+"/"+p.Name+"/open", func(t *testing.T) { mainJob(t, r, p, openPolicy, allowWithoutPerson) })
			}
			if long() || p.Short != "open" {
				t.Run(r.Version+"/"+p.Name+"/shut", func(t *testing.T) { mainJob(t, r, p, shutPolicy, allowAgents) })
			}
		}
	}
}

func mainJob(t *testing.T, r release, p profile, policy []string, allowed func(row) bool) {
	sc := newScene(t, r, p)
	before := sc.b.snapshot()
	x := wrapped{release: r, profile: p, Policy: policy, Lift: []string{"CLAUDE_CODE_ENABLE_TODO_TOOLS=1"}}
	res := x.run(t, sc.b, sc.m, sc.w)
	v := judge(sc.b, sc.m, sc.rows, before, record(t, sc.b), allowed)
	if leaked(sc.m) {
		v.fault("the file that the prompt names came to the model")
	}
	for _, name := range unknownTools(offered(t, sc.b), sc.rows) {
		v.miss("the agent CLI offers a tool that the matrix lacks: %s", name)
	}
	expectQuiet(&v, sc.b, sc.m, p.Bare, res)
	report(t, v)
}

// expectQuiet notes what came uninvited, and a run that did not end well.
func expectQuiet(v *verdict, b *box, m *model, bare bool, res result) {
	for _, name := range uninvited(b, m, bare) {
		v.fault("%s came through", name)
	}
	if res.Code != 0 || res.Errors != "" {
		v.miss("exit code %d, standard error %s, the last events %s", res.Code, short(res.Errors), lastOf(res.Out))
	}
}

func report(t *testing.T, v verdict) {
	t.Helper()
	for _, f := range v.Faults {
		t.Error("fault:", f)
	}
	for i, f := range v.Missed {
		if i == 10 {
			t.Errorf("missed: %d more", len(v.Missed)-i)
			break
		}
		t.Error("missed:", f)
	}
	t.Logf("ran %d, denied %d, refused by the agent CLI %d, faults %d", v.Ran, v.Denied, v.Unseen, len(v.Faults))
}

func lastOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return short(strings.Join(lines[max(0, len(lines)-2):], " "))
}
