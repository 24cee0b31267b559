package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// remadePlaces holds further names of directories, and remadeEnds ends of names of files,
// that tools write again and again, so that nobody misses what was in them before.
var (
	remadePlaces = map[string]bool{"tmp": true, "temp": true, "log": true, "logs": true, "cache": true, ".cache": true, "venv": true, "test-results": true}
	remadeEnds   = []string{".log", ".out", ".tmp", ".prof", ".pid", ".coverage", ".tsbuildinfo"}
)

// findUnkept raises the risk of what empties or replaces a file that git cannot bring back
// to that of its removal, where edits would run because git can undo them.
func (e *evaluation) findUnkept() {
	if e.traits.AllowsAll || !e.traits.AllowsEdits && e.holding == nil && e.policy.ByRisk[risk.Moderate].Behavior != Allow {
		return
	}
	for i := range e.acts {
		a := &e.acts[i]
		if a.sub.Kind != patterns.WritePath || !a.inside || a.scratch || a.override != nil {
			continue
		}
		why := ""
		switch {
		case a.does.Clears:
			a.unkept = e.clearedBy(a)
			why = "removes " + a.unkept + " first"
		case e.env != nil && e.replaces(a):
			a.unkept = e.unkeptBy(a)
			why = "overwrites " + a.unkept + ", which git ignores and cannot bring back"
		}
		if a.unkept == "" {
			continue
		}
		a.loses(why)
		if by := a.parent; by >= 0 && e.acts[by].override == nil && (a.does.Purpose || isEditor(&e.acts[by])) {
			e.acts[by].loses(why)
		}
	}
}

// loses gives act a the risk of the removal of a file.
func (a *act) loses(why string) {
	if a.class < risk.High {
		a.class, a.why, a.reworded = risk.High, why, true
	}
}

// clearedBy returns the place that a program removes before it writes there, for a person;
// "" if nothing is there, or only what tools make anew.
func (e *evaluation) clearedBy(a *act) string {
	for _, form := range a.forms {
		full := form.Filled("…")
		if e.env != nil && form.Known() {
			if exists, _ := e.env.Entry(full); !exists {
				continue
			}
		}
		if name := e.belowRoot(full); !madeAnew(name + "/…") {
			return name
		}
	}
	return ""
}

// replaces reports whether nothing remains of the file that a writes, other than what the
// program made itself.
func (e *evaluation) replaces(a *act) bool {
	switch {
	case a.does.NoFollow && !a.does.Found, a.does.Append, a.does.Unnamed:
		return false
	case a.does.Redirect:
		return true
	case a.parent < 0:
		return a.sub.Tool == tools.Writer
	}
	by := &e.acts[a.parent]
	if by.does.Program == nil {
		return false
	}
	switch by.does.Program.Operands {
	case program.Copy, program.Move:
		return !hasOption(by.does, "--no-clobber") || hasOption(by.does, "--force")
	case program.Fills:
		return !hasOption(by.does, "--append")
	}
	return by.class == risk.Safe || by.fetches() || a.does.Replaces && !e.makesAnew(by.does.Program, a)
}

// makesAnew reports whether what a program writes is what it made before, by the section of
// the program.
func (e *evaluation) makesAnew(p *program.Program, a *act) bool {
	return !slices.ContainsFunc(a.forms, func(form shell.Word) bool {
		return !slices.ContainsFunc(p.Makes, func(name string) bool {
			if name == program.Executable {
				return e.env.Compiled(form)
			}
			ok, err := path.Match(name, path.Base(form.Filled("…")))
			return ok && err == nil
		})
	})
}

// hasOption reports whether a command has an option.
func hasOption(does *shell.Action, name string) bool {
	return slices.ContainsFunc(shell.ScanWords(does.Program, does.Words).Args, func(arg shell.Arg) bool {
		return arg.Kind == shell.ArgOption && slices.Contains(arg.Option.Names, name)
	})
}

// unkeptBy returns the file that a replaces and git cannot bring back, for a person; "" if
// there is none. What a search finds may be any file.
func (e *evaluation) unkeptBy(a *act) string {
	for _, form := range a.forms {
		name := e.belowRoot(form.Filled("…"))
		if a.does.Found || !madeAnew(name) && e.isUnkept(form) {
			return name
		}
	}
	return ""
}

// isUnkept asks the file system, once about each file.
func (r *reading) isUnkept(file shell.Word) bool {
	w := walk{dir: file.Filled("*"), unkept: true}
	return r.ask(w, walked{found: true}, func() walked { return walked{found: r.env.Unkept(file)} }).found
}

// belowRoot returns a path in the workspace relative to its directory.
func (e *evaluation) belowRoot(name string) string {
	place := &e.know.Place
	for _, root := range append(slices.Clip(place.Roots), place.Workspace) {
		if rest, ok := subpath.Below(name, root); ok && root != "" {
			return rest
		}
	}
	return name
}

// madeAnew reports whether a file is one that tools make anew, by its path in the workspace.
func madeAnew(name string) bool {
	if slices.ContainsFunc(remadeEnds, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return true
	}
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
		_, made := remadeDirs[dir]
		return made || remadePlaces[dir]
	})
}
