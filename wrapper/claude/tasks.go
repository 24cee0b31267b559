package claude

import "slices"

// tasks tracks the agent's tasks in the background and whether it is idle.
type tasks struct {
	told   bool            // the CLI reports its state
	busy   bool            // the state is not idle
	agents map[string]bool // subagents and workflows by task ID; they may use tools
	shells map[string]bool // all other tasks by task ID
	// due is set when a background agent ends while the main one is idle; a turn
	// about it follows.
	due bool
}

// idle reports whether nothing that may use a tool is running.
func (t *tasks) idle() bool { return !(t.told && t.busy) && len(t.agents) == 0 }

// expectsMore reports whether another turn may follow without a prompt.
func (t *tasks) expectsMore() bool { return t.due || len(t.shells) > 0 }

// state handles the state that the CLI reports.
func (t *tasks) state(name string) {
	t.told = true
	t.busy = name != "idle"
	if t.busy {
		t.due = false
	}
}

// agentTasks are the types of tasks in which an agent runs.
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

// end records the end of a task.
func (t *tasks) end(id string) {
	if t.agents[id] && !t.busy {
		t.due = true
	}
	delete(t.agents, id)
	delete(t.shells, id)
}

// live are the states of a task that is not over.
var live = []string{"", "pending", "running", "paused"}

func (t *tasks) update(id, status string) {
	if !slices.Contains(live, status) {
		t.end(id)
	}
}
