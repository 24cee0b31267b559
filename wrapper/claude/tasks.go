package claude

import "slices"

// tasks knows what the agent still does in the background, and whether it is
// idle.
type tasks struct {
	told   bool            // the CLI tells its state
	busy   bool            // the state is not idle
	agents map[string]bool // subagents and workflows, by task id: they ask
	shells map[string]bool // everything else
	// due: a background agent has ended while the main one was idle; a turn
	// about it will follow.
	due bool
}

// idle reports whether nothing that may ask is at work.
func (t *tasks) idle() bool { return !(t.told && t.busy) && len(t.agents) == 0 }

// expectsMore reports whether a further turn may follow by itself.
func (t *tasks) expectsMore() bool { return t.due || len(t.shells) > 0 }

// state takes the CLI's account of itself.
func (t *tasks) state(name string) {
	t.told = true
	t.busy = name != "idle"
	if t.busy {
		t.due = false
	}
}

// agentTasks are the kinds of tasks in which an agent works.
var agentTasks = []string{"local_agent", "local_workflow"}

func (t *tasks) begin(id, kind string) {
	if t.agents == nil {
		t.agents, t.shells = map[string]bool{}, map[string]bool{}
	}
	if slices.Contains(agentTasks, kind) {
		t.agents[id] = true
		return
	}
	t.shells[id] = true
}

// end books the end of a task.
func (t *tasks) end(id string) {
	if t.agents[id] && !t.busy {
		t.due = true
	}
	delete(t.agents, id)
	delete(t.shells, id)
}

// live are the states of a task that goes on.
var live = []string{"", "pending", "running", "paused"}

func (t *tasks) update(id, status string) {
	if !slices.Contains(live, status) {
		t.end(id)
	}
}
