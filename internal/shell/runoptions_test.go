package shell

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// TestRunOptions checks that every option of the catalogue whose value is run, in
// each spelling that its program accepts, makes the line run that value or adds an
// opaque spot.
func TestRunOptions(t *testing.T) {
	effects := map[program.Effect]bool{program.EffRun: true, program.EffRunMore: true, program.EffProgram: true, program.EffCode: true, program.EffExec: true}
	checked := 0
	walkPrograms(func(name string, p *program.Program) {
		for o := range p.All {
			if !effects[o.Effect] {
				continue
			}
			for _, n := range o.Names {
				for _, option := range optionSpellings(p, o, n, "./zapper") {
					checked++
					line := name + " " + option
					if !runsZapper(analyze(line)) {
						t.Errorf("%s: the program is neither run nor in an opaque spot:\n%s", line, dump(analyze(line)))
					}
				}
			}
		}
	})
	if checked < 1000 {
		t.Errorf("only %d lines", checked)
	}
}

// optionSpellings returns the spellings of an option with a value that a program
// accepts.
func optionSpellings(p *program.Program, o *program.Option, name, value string) []string {
	long := strings.HasPrefix(name, "--")
	var out []string
	switch {
	case name == "+":
		return []string{"+" + value}
	case o.Value == program.NoValue:
		return []string{name}
	case o.Value == program.Pair:
		return []string{name + " a " + value}
	case o.Value == program.Required:
		out = append(out, name+" "+value)
	}
	switch {
	case long, p.Style == program.Dash, p.Style == program.Joined:
		out = append(out, name+"="+value)
	case len(name) == 2:
		out = append(out, name+value)
	}
	return out
}

func runsZapper(f *Facts) bool {
	for i := range f.Actions {
		a := &f.Actions[i]
		if a.Kind == Opaque && a.May&MayRun != 0 || a.Kind == Command && strings.HasSuffix(a.Words[0].Text, "zapper") {
			return true
		}
	}
	return false
}

// TestPathOptions checks that every option whose value is written needs cover for the
// path, and one whose value is obeyed, sent or read as a side effect needs cover
// outside the workspace, in each spelling.
func TestPathOptions(t *testing.T) {
	kinds := map[program.Effect]Kind{
		program.EffWrite: Write, program.EffOutput: Write, program.EffBelow: Write, program.EffLoad: Read, program.EffPairs: Read, program.EffRead: Read, program.EffSend: Read,
	}
	checked := 0
	walkPrograms(func(name string, p *program.Program) {
		for o := range p.All {
			kind, ok := kinds[o.Effect]
			if !ok {
				continue
			}
			for _, n := range o.Names {
				if p.Option(n) != o {
					continue // another list has the name before this one
				}
				for _, option := range optionSpellings(p, o, n, "/tmp/zapper") {
					checked++
					line := name + " " + option
					if !touchesZapper(analyze(line), kind) {
						t.Errorf("%s: no cover is needed for the path:\n%s", line, dump(analyze(line)))
					}
				}
			}
		}
	})
	if checked < 1000 {
		t.Errorf("only %d lines", checked)
	}
}

func touchesZapper(f *Facts, kind Kind) bool {
	for i := range f.Actions {
		a := &f.Actions[i]
		if a.Kind == Opaque && a.May&MayRun != 0 {
			return true
		}
		if a.Kind == kind && a.Need != NeedNone && strings.HasPrefix(a.Path.Text, "/tmp/zapper") {
			return true
		}
	}
	return false
}
