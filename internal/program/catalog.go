package program

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program/catalogfile"
)

//go:generate go run ./cataloggen

// Catalog finds programs by name among the built-in entries and a user's own. A nil
// Catalog has only the built-in ones. A Catalog is immutable.
type Catalog struct {
	own map[string]*Program
}

// Lookup returns the entry of a program by its name, the last element of its path, or
// nil.
func (c *Catalog) Lookup(name string) *Program {
	if c != nil {
		if p := c.own[name]; p != nil {
			return p
		}
	}
	return Lookup(name)
}

// Lookup returns the built-in entry of a program, or nil. A program of which only the
// risk is known has no entry.
func Lookup(name string) *Program {
	if p := find(name); p != nil && !p.Wordless {
		return p
	}
	return nil
}

// Builtin iterates over the built-in entries, under each of their names.
func Builtin(yield func(*Program) bool) {
	for _, rows := range &programs {
		for i := range rows {
			if !yield(rows[i].decoded(nil)) {
				return
			}
		}
	}
}

// NewCatalog returns a catalogue of the built-in entries and those of tables, which
// have the form of catalog/*.toml (see package catalogfile) without group, use and
// special. A listed program or subcommand gets additional options and subcommands; to
// contradict its entry is an error. If a new one has no operands, nothing is known of
// its words other than options. place formats the position of a key for errors.
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
	for _, name := range []string{"group", "registry"} {
		if _, reserved := tables[name]; reserved {
			return nil, fmt.Errorf("%s: %s is no program", place([]string{name}, ""), name)
		}
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
	c.spell(catalogfile.Aliases(entries))
	return c, nil
}

// spell adds the other spellings of programs. One of a program that neither the
// tables nor the built-in entries have is found only from its other side.
func (c *Catalog) spell(aliases map[string][]catalogfile.Alias) {
	for name, list := range aliases {
		old := c.Lookup(name)
		if old == nil {
			continue
		}
		p := *old
		p.Also = slices.Clone(p.Also)
		for _, a := range list {
			p.Also = append(p.Also, Alias{From: a.From, With: a.With, To: a.To, Part: a.Part})
		}
		c.own[name] = &p
	}
}

// notName holds characters that no name to be looked up contains.
func notName(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f }

// extended returns the entry of a name: a copy of old, which may be nil, with the
// additions of e.
func extended(old *Program, e *catalogfile.Entry, name string) (Program, error) {
	for _, key := range e.Said() {
		switch {
		case catalogfile.Builtin(key):
			return Program{}, e.Errorf(key, "a policy's own entries have no %s", key)
		case old != nil && key != "also":
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

// addSubs adds subcommands, and additions to subcommands.
func (p *Program) addSubs(subs []*catalogfile.Entry) error {
	if len(subs) == 0 {
		return nil
	}
	all := map[string]*Program{}
	for sub := range p.Subs {
		all[sub.Name] = sub
	}
	for _, e := range subs {
		for _, name := range e.Names {
			sub, err := extended(all[name], e, name)
			if err != nil {
				return err
			}
			all[name] = &sub
		}
	}
	p.subs = make([]row, len(all))
	for i, name := range slices.Sorted(maps.Keys(all)) {
		p.subs[i].name, p.subs[i].own = name, all[name]
	}
	return nil
}

// fresh returns the entry of a program that is not listed yet.
func fresh(e *catalogfile.Entry, name string) (Program, error) {
	p := Program{
		Name: name, Path: e.Path, Options: options(e.Options),
		Style: styleOf(e.Text("style")), Operands: Unread, Skip: e.Skip(),
		Inherit: e.Flag("inherit"), Ends: e.Flag("ends"), Safe: e.Flag("safe"), Plain: e.Flag("plain"),
		Workdir: e.Flag("workdir"), Here: e.Flag("here"), Beside: e.Flag("beside"), Named: e.Flag("named"),
		Assigns: e.Flag("assigns"), Stdin: e.Flag("stdin"),
		Abbreviates: e.Flag("abbreviates"), Apart: e.Flag("apart"), Plugins: e.Flag("plugins"), Home: e.Text("home"),
	}
	if kind := e.Text("operands"); kind != "" {
		p.Operands = operandsOf(kind)
	}
	if main := e.Main(name); len(e.Path) > 0 && main != name {
		p.Same = main
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
