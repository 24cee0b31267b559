package claude

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// The directory of the main agent's shell persists from one command to the next,
// and the CLI runs several tool uses at once. A hook reports the directory at the
// time of the hook; a concurrent cd may change it before the tool use runs. The
// reported directory is therefore used only if no command that may change it can
// run in between: such a command is not decided while a question that relies on
// the directory is open, and a question has an unknown directory if such a
// command is open or running when it arrives, or has run since the hook. Each
// command of a subagent starts in the same directory, and commands in the
// background do not affect the shell. (Observed with the agent CLIs of the
// end-to-end tests.)

// told records the directory that a hook reports.
func (l *uses) told(e *entry, dir string) {
	twice := e.stand == hooked && dir != e.dir
	if !filepath.IsAbs(dir) || l.moving > 0 || twice {
		dir = ""
	}
	e.dir, e.told = dir, l.moved
}

// ask records a question.
func (e *entry) ask(c *canUseTool, dialect shell.Dialect) {
	if e.tool != c.Tool || e.stand != hooked {
		e.dir = "" // the directory was reported for another tool use
	}
	e.moves = c.Agent == "" && e.agent == "" && mayMove(c.Tool, c.Input, dialect)
	e.tool, e.input, e.agent, e.stand = c.Tool, c.Input, c.Agent, pending
}

// where returns the directory that a tool use starts in, "" if unknown.
func (r *run) where(q *question) string {
	e := r.uses.get(q.use.ID)
	if q.use.Agent != "" {
		return e.dir
	}
	if e.told != r.uses.moved {
		return ""
	}
	for _, other := range r.pending {
		if other != q && other.started && r.uses.get(other.use.ID).moves {
			return ""
		}
	}
	return e.dir
}

// counted reports whether an open question, or an answer that the CLI was not told,
// relies on the directory of the main agent's shell.
func (r *run) counted() bool {
	if r.uses.counting > 0 {
		return true
	}
	for _, q := range r.pending {
		if q.started && q.use.Agent == "" && q.use.Dir != "" {
			return true
		}
	}
	return false
}

// startKept starts, in order, the delayed questions that may start now. Questions
// that were cancelled meanwhile are started too, so that they are recorded.
func (r *run) startKept() {
	r.kept = slices.DeleteFunc(r.kept, func(id string) bool {
		q := r.pending[id]
		if q.ctx.Err() == nil && r.counted() {
			return false
		}
		r.start(id, q)
		return true
	})
}

// mayMove reports whether a tool use may change the directory of the agent's
// shell.
func mayMove(tool string, input json.RawMessage, dialect shell.Dialect) bool {
	switch tool {
	case "EnterWorktree", "ExitWorktree":
		return true
	case "Bash":
		return shell.Analyze(field(input, "command"), shell.Options{Dialect: dialect}).MayMove()
	}
	return false
}
