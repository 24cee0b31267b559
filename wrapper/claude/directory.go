package claude

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/shell"
)

// The main agent's shell keeps its directory from one command to the next, and
// the agent CLI runs several tool uses at once. What a hook told is true when
// the hook was called; a cd beside it may end before the tool use runs. So a
// directory is counted on only where no command that may leave for another
// runs in between: one such command is not decided while a question is open
// that counts on the directory, and a question that comes while one is open,
// or runs, or has run since the hook, knows no directory. Subagents start each
// command where they began; commands in the background move nobody. (Measured
// with the agent CLIs of the end-to-end tests.)

// told books the directory that a hook tells.
func (l *uses) told(e *entry, dir string) {
	twice := e.stand == hooked && dir != e.dir
	if !filepath.IsAbs(dir) || l.moving > 0 || twice {
		dir = ""
	}
	e.dir, e.told = dir, l.moved
}

// ask books a question.
func (e *entry) ask(c *canUseTool, dialect shell.Dialect) {
	if e.tool != c.Tool || e.stand != hooked {
		e.dir = "" // told for something else
	}
	e.moves = c.Agent == "" && e.agent == "" && mayMove(c.Tool, c.Input, dialect)
	e.tool, e.input, e.agent, e.stand = c.Tool, c.Input, c.Agent, pending
}

// where returns the directory that a tool use starts in, "" if that is not
// known.
func (r *run) where(q *question) string {
	e := r.uses.get(q.use.ID)
	if q.use.Agent != "" {
		return e.dir
	}
	if e.told != r.uses.moved {
		return ""
	}
	for _, other := range r.pending {
		if other != q && r.uses.get(other.use.ID).moves {
			return ""
		}
	}
	return e.dir
}

// counted reports whether an open question counts on the directory of the main
// agent's shell.
func (r *run) counted() bool {
	for _, q := range r.pending {
		if q.started && q.use.Agent == "" && q.use.Dir != "" {
			return true
		}
	}
	return false
}

// startKept starts the questions that were kept back, in order, as far as they
// may start now; those that have ended meanwhile are started to be recorded.
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

// movers are the commands that leave the shell in another directory.
var movers = []string{"cd", "pushd", "popd"}

// mayMove reports whether a tool use may leave the agent's shell in another
// directory. A name that the catalogue does not know may be a function of the
// user's own.
func mayMove(tool string, input json.RawMessage, dialect shell.Dialect) bool {
	switch tool {
	case "EnterWorktree", "ExitWorktree":
		return true
	case "Bash":
	default:
		return false
	}
	facts := shell.Analyze(field(input, "command"), shell.Options{Dialect: dialect})
	if facts.Failed != nil {
		return true
	}
	return slices.ContainsFunc(facts.Actions, func(a shell.Action) bool {
		switch a.Kind {
		case shell.Opaque:
			return a.May&shell.MayRun != 0
		case shell.Command:
			return a.Program == nil || !a.Words[0].Known() || slices.Contains(movers, a.Words[0].Text)
		}
		return false
	})
}
