package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// A use of a mapped tool is read as the use of the tool itself and, for each
// command line, path and URL in its input, as a use of the built-in tool that
// does the same. Each of them is judged, and the strictest decision counts, so
// that a mapping can only narrow.

// MappedUse is the interpretation of a field of a mapped tool's input.
type MappedUse struct {
	Field string        // "paths[2]"
	Facts *shell.Facts  // of a command line, else nil
	Does  *shell.Action // of a path, a URL or a field of unknown meaning, else nil
	// Dir and Dialect are those with which it was read.
	Dir     string
	Dialect shell.Dialect
}

// dialects are the shells that a mapping may name. Lines of other shells are
// not parsed.
var dialects = map[string]shell.Dialect{"": shell.Bash, "bash": shell.Bash, "sh": shell.Sh, "zsh": shell.Zsh}

// readMapped reads the uses in the input of a mapped tool. More of them than are
// read is an error: one that is left out could be catastrophic.
func (r *reading) readMapped() error {
	uses, ok := r.know.Tools.Read(r.use.Tool, r.input)
	switch {
	case !ok:
		return nil
	case uses.TooMany:
		return fmt.Errorf("the input of %s does too much at once: split it into several tool uses", r.use.Tool)
	}
	r.actions[0].sub.Name = uses.Name
	r.actions[0].chore = uses.Only
	use := ToolUse{Dir: r.dirOf(&uses), Agent: r.use.Agent, Session: r.use.Session, Dialect: r.dialectOf(&uses)}
	for i := range uses.List {
		r.mapped = append(r.mapped, r.readMappedUse(use, &uses.List[i]))
	}
	return nil
}

// dirOf returns the directory to which a mapped use is relative, "" if it is
// unknown. The meaning of ".." depends on links, that of "~" on the tool.
func (r *reading) dirOf(uses *tools.Uses) string {
	switch dir := uses.Dir; {
	case uses.Unplaced || slices.Contains(strings.Split(dir, "/"), "..") || strings.HasPrefix(dir, "~"):
		return ""
	case dir == "":
		return r.dir
	case path.IsAbs(dir):
		return path.Clean(dir)
	case r.dir == "":
		return ""
	}
	return path.Join(r.dir, uses.Dir)
}

// dialectOf returns the shell of a mapped use: that of the mapping, or else of
// the tool use.
func (r *reading) dialectOf(uses *tools.Uses) shell.Dialect {
	if uses.Dialect == "" {
		return r.use.Dialect
	}
	if d, known := dialects[uses.Dialect]; known {
		return d
	}
	return shell.Foreign
}

// readMappedUse reads one field as a use of a built-in tool.
func (r *reading) readMappedUse(use ToolUse, u *tools.Use) *reading {
	use.Tool = u.Does.General()
	if u.Does == tools.Write {
		use.Tool = tools.Writer // so that rules for Edit match it as well
	}
	m := readings.Get().(*reading)
	m.use, m.know, m.env, m.commandGate, m.field = use, r.know, r.env, r.commandGate, u.Field
	m.dir = knownDir(use.Dir)
	if err := m.readAs(u, r.use.Tool); err != nil {
		m.err = fmt.Errorf("field %s of %s: %w", u.Field, r.use.Tool, err)
		return m
	}
	m.askGate()
	return m
}

func (r *reading) readAs(u *tools.Use, tool string) error {
	if u.Does == 0 {
		r.use.Tool = tools.Bash // it may be anything, like hidden parts of a command line
		does := &shell.Action{
			Kind: shell.Opaque, Need: shell.NeedCover, Parent: -1, From: -1, May: shell.MayRun,
			Why: shell.Why{Cause: shell.CauseUnmappedField, Name: u.Field, Of: tool},
		}
		r.add(does, &patterns.Subject{Tool: tools.Bash})
		return nil
	}
	t := &tools.Tool{Does: u.Does, Field: u.Field, Tree: u.Tree}
	r.input = map[string]any{u.Field: u.Text}
	if u.Does == tools.Command {
		return r.readLine(t)
	}
	return r.readField(t)
}

// judgeMapped judges the use of a mapped tool and the uses in its input. An ask
// has the parts of all of them.
func judgeMapped(r *reading, p *Policy, session *standing, tr *Trace) (d Decision) {
	all := append([]*reading{r}, r.mapped...)
	for _, m := range r.mapped {
		if m.wordless = r.wordless; m.err != nil {
			return refused(m.err.Error())
		}
	}
	refusal := Refusal{}
	evals := make([]*evaluation, len(all))
	for i := range all {
		evals[i] = begin(all[i], p, session)
		tr.fill(evals[i])
		now := evals[i].decide()
		if refusal.Behavior == 0 {
			refusal = now.Refusal
		}
		if i == 0 {
			d = now
			continue
		}
		d.join(&now)
	}
	d.Refusal = refusal
	if len(d.Parts) > 0 {
		d.Parts = nil
		for _, e := range evals {
			d.Parts = append(d.Parts, e.parts(d.Held)...)
		}
	}
	for _, e := range evals {
		e.end()
	}
	return d
}

// lines returns the command lines in the input of a mapped tool.
func (r *reading) lines() []string {
	var list []string
	for _, m := range r.mapped {
		if m.facts != nil {
			list = append(list, m.facts.Source)
		}
	}
	return list
}

// mappedUses returns the record of a use of a mapped tool.
func (r *reading) mappedUses() []MappedUse {
	var list []MappedUse
	for _, m := range r.mapped {
		use := MappedUse{Field: m.field, Facts: m.facts, Dir: m.dir, Dialect: m.use.Dialect}
		if m.facts == nil && len(m.actions) > 0 {
			use.Does = m.actions[0].does
		}
		list = append(list, use)
	}
	return list
}
