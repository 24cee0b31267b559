//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// randomPolicy allows all that the random agents do, and denies for the
// session whatever touches a name that begins with shut, and one tool.
var randomPolicy = []string{
	"--allow", "Bash,Read,Edit,Write,mcp__marks__*", "--session-deny", "Edit(shut*),Read(shut*),mcp__marks__peek",
}

// randomAgent makes a script: several turns of single and parallel tool uses
// and of subagents, in front and behind, that do the same.
type randomAgent struct {
	*rand.Rand
	b      *box
	s      script
	rows   []row
	denied map[string]bool
	behind map[string]string // last call of a background agent, with its starter
	convs  int
}

func (g *randomAgent) name(kind string) string {
	return fmt.Sprintf("%s%03d", kind, len(g.rows))
}

func (g *randomAgent) add(r row, open bool) row {
	g.rows = append(g.rows, r)
	g.denied[r.Name] = !open
	return r
}

// single is one tool use that is no agent.
func (g *randomAgent) single() call {
	open := g.IntN(2) == 0
	kind := map[bool]string{true: "open", false: "shut"}[open]
	name := g.name(kind)
	bash := func(command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": "x"}}
	}
	switch g.IntN(6) {
	case 0:
		return g.add(row{call: bash("touch " + name), Mark: "repo/" + name}, open).call
	case 1:
		return g.add(row{call: bash("cat " + kind + ".txt"), Says: "secret-of-" + kind}, open).call
	case 2:
		return g.add(row{call: bash("ls && echo x > " + name), Mark: "repo/" + name}, open).call
	case 3:
		return g.add(row{call: call{Name: name, Tool: "Write", Input: in{"file_path": g.b.Work + "/" + name, "content": "x"}}, Mark: "repo/" + name}, open).call
	case 4:
		return g.add(row{call: call{Name: name, Tool: "Read", Input: in{"file_path": g.b.Work + "/" + kind + ".txt"}}, Says: "secret-of-" + kind}, open).call
	}
	tool := map[bool]string{true: "mcp__marks__poke", false: "mcp__marks__peek"}[open]
	return g.add(row{call: call{Name: name, Tool: tool, Input: in{"mark": name}}, Mark: "marks/" + name}, open).call
}

// agent starts a conversation of its own.
func (g *randomAgent) agent(depth int) call {
	g.convs++
	key, back := fmt.Sprintf("conv%d", g.convs), g.IntN(2) == 0
	name := g.name("agent")
	c := g.add(row{call: call{Name: name, Tool: "Agent", Input: in{
		"description": "d", "prompt": "go [[" + key + "]]", "subagent_type": "general-purpose", "run_in_background": back,
	}}, Passes: true}, true).call
	g.conversation(key, depth+1)
	turns := g.s[key]
	last := turns[len(turns)-1]
	if back && depth == 0 {
		g.behind[last[len(last)-1].Name] = name
	}
	return c
}

func (g *randomAgent) conversation(key string, depth int) {
	for range 2 + g.IntN(5) {
		var t turn
		for range 1 + g.IntN(3) {
			t = append(t, g.single())
		}
		if depth < 2 && g.IntN(4) == 0 {
			t = append(t, g.agent(depth))
		}
		g.s[key] = append(g.s[key], t)
	}
	// The last turn holds one call: no other is still at work behind it.
	g.s[key] = append(g.s[key], turn{g.single()})
}

// TestRandomAgents: whatever an agent does in whatever order, what ran was
// decided, and what was denied did not run.
func TestRandomAgents(t *testing.T) {
	times := 2
	if long() {
		times = 50
	}
	source := rand.New(rand.NewPCG(seed(t), 1))
	eachRelease(t, func(t *testing.T, r release) {
		ran, denied := 0, 0
		for range times {
			v := randomRun(t, r, source)
			ran, denied = ran+v.Ran, denied+v.Denied
			if t.Failed() {
				return
			}
		}
		t.Logf("%d random agents: %d tool uses ran, %d were denied", times, ran, denied)
	})
}

func randomRun(t *testing.T, r release, source *rand.Rand) verdict {
	t.Helper()
	b := newBox(t)
	layHostile(b)
	b.write("repo/open.txt", "secret-of-open")
	b.write("repo/shut.txt", "secret-of-shut")
	g := &randomAgent{Rand: source, b: b, s: script{}, denied: map[string]bool{}, behind: map[string]string{}}
	g.conversation("main", 0)
	last := g.single()
	last.Wait = g.behind
	g.s["main"] = append(g.s["main"], turn{last})
	m := startModel(t, g.s)
	before := b.snapshot()
	res := wrapped{release: r, Policy: randomPolicy}.run(t, b, m, startWeb(t, b))
	v := judge(b, m, g.rows, before, record(t, b), func(r row) bool { return !g.denied[r.Name] })
	if res.Code != 0 || res.Errors != "" {
		v.miss("exit code %d, standard error %s, the last events %s", res.Code, short(res.Errors), lastOf(res.Out))
	}
	for _, name := range uninvited(b, m, false) {
		v.fault("%s came through", name)
	}
	for _, f := range append(v.Faults, v.Missed...) {
		t.Error(f)
	}
	return v
}
