package shell

import (
	"strings"
	"testing"
)

// TestRunOptions: every option of the catalogue whose value is run, in each way
// in which its program reads it, makes the line run that program or holds an
// opaque spot.
func TestRunOptions(t *testing.T) {
	effects := map[Effect]bool{EffRun: true, EffRunMore: true, EffProgram: true, EffCode: true, EffExec: true}
	checked := 0
	walkPrograms(func(name string, p *Program) {
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

// optionSpellings are the ways in which a program reads an option with a value.
func optionSpellings(p *Program, o *Option, name, value string) []string {
	long := strings.HasPrefix(name, "--")
	var out []string
	switch {
	case name == "+":
		return []string{"+" + value}
	case o.Value == NoValue:
		return []string{name}
	case o.Value == Pair:
		return []string{name + " a " + value}
	case o.Value == Required:
		out = append(out, name+" "+value)
	}
	switch {
	case long, p.Style == Dash, p.Style == Joined:
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

// TestPathOptions: every option whose value is written needs cover for the path,
// and one whose value is obeyed, sent or read beside the purpose needs cover
// outside the workspace, in each spelling.
func TestPathOptions(t *testing.T) {
	kinds := map[Effect]Kind{
		EffWrite: Write, EffOutput: Write, EffBelow: Write, EffLoad: Read, EffPairs: Read, EffRead: Read, EffSend: Read,
	}
	checked := 0
	walkPrograms(func(name string, p *Program) {
		for o := range p.All {
			kind, ok := kinds[o.Effect]
			if !ok {
				continue
			}
			for _, n := range o.Names {
				if p.option(n) != o {
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
