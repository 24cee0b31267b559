package program

import "strings"

// Wraps reports whether the operands are a command that the program runs.
func (p *Program) Wraps() bool {
	switch p.Operands {
	case RunsArgs, RunsText, RunsTexts, ShellArgs:
		return true
	}
	return false
}

// Runs reports whether the operands determine what is run: a command, a script or
// code.
func (p *Program) Runs() bool {
	return p.Wraps() || p.Operands == Script || p.Operands == Code
}

// Spellings returns the entry that says how a program is spelled otherwise: that
// of its words, or if it has none (nil) the built-in one of its name.
func Spellings(p *Program, name string) *Program {
	if p == nil {
		return find(name)
	}
	return p
}

// Subcommand returns the entry of a subcommand, or nil.
func (p *Program) Subcommand(name string) *Program {
	if r := search(p.subs, name); r != nil {
		return r.decoded(p.subs)
	}
	return nil
}

// HasSubs reports whether the program has subcommands.
func (p *Program) HasSubs() bool { return len(p.subs) > 0 }

// Subs iterates over the subcommands under each of their names, sorted.
func (p *Program) Subs(yield func(*Program) bool) {
	for i := range p.subs {
		if !yield(p.subs[i].decoded(p.subs)) {
			return
		}
	}
}

// Main returns the name of a subcommand, under which it is listed first if it has
// several.
func (p *Program) Main() string {
	if p.Same != "" {
		return p.Same
	}
	return p.Name
}

// list returns the i-th list of the program's options, its own first.
func (p *Program) list(i int) []Option {
	if i == 0 {
		return p.Options
	}
	return p.Shared[i-1]
}

// All iterates over the program's own options and those it shares with others.
func (p *Program) All(yield func(*Option) bool) {
	for l := 0; l <= len(p.Shared); l++ {
		opts := p.list(l)
		for i := range opts {
			if !yield(&opts[i]) {
				return
			}
		}
	}
}

// Option returns the program's option of that name, or nil.
func (p *Program) Option(name string) *Option {
	if p.Spelling != asListed {
		return p.spelled(name)
	}
	for l := 0; l <= len(p.Shared); l++ {
		opts := p.list(l)
		for i := range opts {
			for _, n := range opts[i].Names {
				if n == name {
					return &opts[i]
				}
			}
		}
	}
	return nil
}

// spelled returns the option of a name in any of its spellings, or nil.
func (p *Program) spelled(name string) *Option {
	name = p.Spelling.plain(name)
	for o := range p.All {
		for _, n := range o.Names {
			if p.Spelling.plain(n) == name {
				return o
			}
		}
	}
	return nil
}

// plain returns the same for all spellings of the name of an option.
func (s Spelling) plain(name string) string {
	long, found := strings.CutPrefix(name, "--")
	switch {
	case s == anyCase && found:
		return strings.ToLower(name[1:])
	case s == anyCase:
		return strings.ToLower(name)
	case !found || strings.HasPrefix(long, "no-"):
		return name
	}
	var text strings.Builder
	text.WriteString("--")
	for i := 0; i < len(long); i++ {
		if long[i] == '-' && i > 0 && i+1 < len(long) {
			i++
			text.WriteString(strings.ToUpper(long[i : i+1]))
			continue
		}
		text.WriteByte(long[i])
	}
	return text.String()
}

// Letter returns the program's option of one dash and that letter, or nil.
func (p *Program) Letter(c byte) *Option {
	for l := 0; l <= len(p.Shared); l++ {
		opts := p.list(l)
		for i := range opts {
			for _, n := range opts[i].Names {
				if len(n) == 2 && n[0] == '-' && n[1] == c {
					return &opts[i]
				}
			}
		}
	}
	return nil
}

// Begins reports whether one of the option's names begins with text.
func (o *Option) Begins(text string) bool {
	for _, n := range o.Names {
		if strings.HasPrefix(n, text) {
			return true
		}
	}
	return false
}

// PrefixOf returns the length of the option's longest name that is a prefix of text,
// or 0.
func (o *Option) PrefixOf(text string) int {
	length := 0
	for _, n := range o.Names {
		if len(n) > length && strings.HasPrefix(text, n) {
			length = len(n)
		}
	}
	return length
}
