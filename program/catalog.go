package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/catalogfile"
)

//go:generate go run ../internal/cataloggen

// Catalog finds programs by name: the built-in tables, and a user's own
// entries. A nil Catalog has the built-in ones only. It is never changed once
// built.
type Catalog struct {
	own map[string]*Program
}

// Lookup returns the entry for a program's name (its last path segment), or
// nil.
func (c *Catalog) Lookup(name string) *Program {
	if c != nil {
		if p := c.own[name]; p != nil {
			return p
		}
	}
	return Lookup(name)
}

// Lookup returns the built-in entry of a program, or nil. What only has a risk
// has none.
func Lookup(name string) *Program {
	if p := find(name); p != nil && !p.Wordless {
		return p
	}
	return nil
}

// Builtin goes over the built-in entries, under each of their names.
func Builtin(yield func(*Program) bool) {
	for i := range programs {
		if !yield(&programs[i]) {
			return
		}
	}
}

// NewCatalog returns the built-in entries with those of tables, which have the
// form of catalog/*.toml (see package catalogfile) without group, use and
// special. A program or subcommand that is known gets further options and
// subcommands; what is known of it stays, and to say it otherwise is an error.
// Of a new one without operands nothing is known of the words that are no
// options. place says where a key stands, for errors.
func NewCatalog(tables map[string]any, place func(table []string, key string) string) (*Catalog, error) {
	var book catalogfile.Book
	err := book.Read(tables, func(table []string, key, _ string) string { return place(table, key) })
	if err != nil {
		return nil, err
	}
	entries, err := book.Resolve()
	if err != nil {
		return nil, err
	}
	c := &Catalog{own: map[string]*Program{}}
	if _, reserved := tables["group"]; reserved {
		return nil, fmt.Errorf("%s: group is no program", place([]string{"group"}, ""))
	}
	for _, e := range entries {
		for _, name := range e.Names {
			if name == "" || strings.ContainsFunc(name, notName) {
				return nil, e.Errorf("", "%q is no name of a program: give its last path segment", name)
			}
			p, err := extended(Lookup(name), e, name)
			if err != nil {
				return nil, err
			}
			c.own[name] = &p
		}
	}
	return c, nil
}

// notName: such characters stand in no name that a line is looked up by.
func notName(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f }

// extended returns the entry of a name: old, which may be nil, with what e
// adds.
func extended(old *Program, e *catalogfile.Entry, name string) (Program, error) {
	for _, key := range e.Said() {
		switch {
		case catalogfile.Builtin(key):
			return Program{}, e.Errorf(key, "a policy's own entries have no %s", key)
		case old != nil:
			return Program{}, e.Errorf(key, "%s is known: only options and subcommands can be added", name)
		}
	}
	if old == nil {
		return fresh(e, name)
	}
	p := *old
	for i, o := range e.Options {
		for _, n := range o.Names {
			if p.Option(n) != nil {
				return Program{}, e.Errorf(fmt.Sprintf("options[%d]", i), "%s is known to have the option %s", name, n)
			}
		}
	}
	p.Shared = append([][]Option{options(e.Options)}, p.Shared...)
	err := p.addSubs(e.Subs)
	return p, err
}

// addSubs adds subcommands, or to them.
func (p *Program) addSubs(subs []*catalogfile.Entry) error {
	p.Subs = slices.Clone(p.Subs)
	for _, e := range subs {
		for _, name := range e.Names {
			at, found := slices.BinarySearchFunc(p.Subs, name, func(s Program, name string) int { return strings.Compare(s.Name, name) })
			if !found {
				p.Subs = slices.Insert(p.Subs, at, Program{})
			}
			var old *Program
			if found {
				old = &p.Subs[at]
			}
			sub, err := extended(old, e, name)
			if err != nil {
				return err
			}
			p.Subs[at] = sub
		}
	}
	return nil
}

// fresh is the entry of a program that is not known yet.
func fresh(e *catalogfile.Entry, name string) (Program, error) {
	p := Program{
		Name: name, Path: e.Path, Options: options(e.Options),
		Style: styleOf(e.Text("style")), Operands: Unread, Skip: e.Skip(),
		Inherit: e.Flag("inherit"), Ends: e.Flag("ends"), Safe: e.Flag("safe"), Plain: e.Flag("plain"),
		Workdir: e.Flag("workdir"), Here: e.Flag("here"), Beside: e.Flag("beside"), Named: e.Flag("named"),
		Assigns: e.Flag("assigns"), Stdin: e.Flag("stdin"),
		Apart: e.Flag("apart"), Plugins: e.Flag("plugins"), Home: e.Text("home"),
	}
	if kind := e.Text("operands"); kind != "" {
		p.Operands = operandsOf(kind)
	}
	err := p.addSubs(e.Subs)
	return p, err
}

func options(list []catalogfile.Option) []Option {
	var out []Option
	for _, o := range list {
		out = append(out, Option{Names: o.Names, Value: valueOf(o.Value), Effect: effectOf(o.Effect), Pattern: o.Pattern, Ends: o.Ends})
	}
	return out
}
