package manuals

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// Entry is the catalogue's entry for a manual page: the program, and the
// subcommands that lead to it.
type Entry struct {
	Words []string           // git log
	Chain []*program.Program // git, git log
}

// Find returns the entry for a page, by its name: git-log is git log if the
// catalogue has git and no git-log.
func Find(page string) (Entry, bool) {
	parts := strings.Split(page, "-")
	for n := len(parts); n > 0; n-- {
		p := program.Lookup(strings.Join(parts[:n], "-"))
		if p == nil {
			continue
		}
		e := Entry{Words: []string{p.Name}, Chain: []*program.Program{p}}
		return e, e.below(parts[n:])
	}
	return Entry{}, false
}

// below descends to the subcommand named by parts.
func (e *Entry) below(parts []string) bool {
	if len(parts) == 0 {
		return true
	}
	p := e.Chain[len(e.Chain)-1]
	for n := len(parts); n > 0; n-- {
		name := strings.Join(parts[:n], "-")
		if sub := p.Subcommand(name); sub != nil {
			e.Words = append(e.Words, name)
			e.Chain = append(e.Chain, sub)
			return e.below(parts[n:])
		}
	}
	return false
}

// Fault is a difference between an option of a manual page and the catalogue.
type Fault struct {
	Option string
	What   string
}

func (f Fault) String() string { return f.Option + ": " + f.What }

// Check compares the options of a page with an entry. A name that the entry
// does not list is a fault, and so is a listed value that the page does not
// show, or a shown one that the entry does not list.
func (e Entry) Check(options []Option) (faults []Fault) {
	for _, o := range options {
		listed := e.option(o.Name)
		if listed == nil {
			faults = append(faults, Fault{o.Name, "not listed" + shows(o.Values)})
		} else if !agree(o.Values, listed.Value, o.Name) {
			faults = append(faults, Fault{o.Name, fmt.Sprintf("listed %s, the page shows%s", takes(listed.Value), shows(o.Values))})
		}
	}
	return faults
}

// option returns the option of the entry with that name, or nil.
func (e Entry) option(name string) *program.Option {
	for i := len(e.Chain) - 1; i >= 0; i-- {
		p := e.Chain[i]
		for o := range p.All {
			if slices.Contains(o.Names, name) || number(name) && slices.Contains(o.Names, "-#") {
				return o
			}
			if short, ok := strings.CutPrefix(name, "--"); ok && (p.Style == program.Dash || p.Style == program.Joined) && slices.Contains(o.Names, "-"+short) {
				return o
			}
		}
		if i > 0 && !e.Chain[i-1].Inherit {
			break
		}
	}
	return nil
}

// number reports whether the name stands for -1, -2 and so on.
func number(name string) bool {
	rest := strings.TrimPrefix(name, "-")
	if rest == "" || len(rest) == len(name) {
		return false
	}
	return strings.Trim(rest, "0123456789") == "" || strings.EqualFold(rest, "num") || strings.EqualFold(rest, "number")
}

// agree reports whether one of the values that the page shows is the listed
// one.
func agree(shown []Value, listed program.ValueMode, name string) bool {
	if listed == program.Optional && slices.Contains(shown, None) && slices.Contains(shown, Required) {
		return true
	}
	for _, v := range shown {
		switch {
		case v == Perhaps,
			v == None && listed == program.NoValue,
			v == Required && (listed == program.Required || listed == program.Pair),
			(v == Optional || v == Attached) && listed == program.Optional,
			v == Attached && listed == program.Required:
			return true
		}
	}
	return number(name)
}

func shows(values []Value) string {
	var text []string
	for _, v := range values {
		text = append(text, [...]string{"", "no value", "a value", "a value that may be left out", "a value or the next option", "an attached value"}[v])
	}
	return " " + strings.Join(text, " or ")
}

func takes(m program.ValueMode) string {
	return [...]string{"without a value", "with a value", "with an attached value", "with two values"}[m]
}
