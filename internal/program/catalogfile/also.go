package catalogfile

import (
	"fmt"
	"slices"
	"strings"
)

// Alias is another spelling of a use of a program; see program.Alias.
type Alias struct {
	From, With, To []string
	Part           bool
}

// readAlso parses the key also.
func (e *Entry) readAlso(value any) error {
	list, err := e.words("also", value)
	if err != nil {
		return err
	}
	if len(e.Path) > 0 {
		return e.where.errorf("also", "the other spellings of a subcommand stand in its program's")
	}
	for i, text := range list {
		aliases, why := parseAlso(text)
		if why != "" {
			return e.where.fault(fmt.Sprintf("also[%d]", i), text, fmt.Sprintf("also %q: %s", text, why))
		}
		e.also = append(e.also, aliases...)
	}
	return nil
}

// parseAlso parses "container rm|exec = . *" and "subtree push ~ . push"; the
// second result is the error.
func parseAlso(text string) ([]Alias, string) {
	words := strings.Fields(text)
	at := slices.IndexFunc(words, func(w string) bool { return w == "=" || w == "~" })
	if at < 0 {
		words, at = append([]string{"="}, words...), 0
	}
	from, to, part := words[:at], words[at+1:], words[at] == "~"
	if len(to) == 0 {
		return nil, "no program stands on the right"
	}
	for i, w := range words {
		if i != at && (w == "=" || w == "~" || i > at && strings.Contains(w, "|")) || i == at+1 && w[0] == '-' {
			return nil, w + " is no name of a program or subcommand"
		}
	}
	names := slices.IndexFunc(from, option)
	if names < 0 {
		names = at
	}
	from, with := from[:names], from[names:]
	if len(with) > 0 && !part {
		return nil, "with options it is one-way"
	}
	if names == 0 {
		return []Alias{{With: with, To: to, Part: part}}, ""
	}
	var out []Alias
	for name := range strings.SplitSeq(from[names-1], "|") {
		a := Alias{From: append(slices.Clone(from[:names-1]), name), With: with, Part: part}
		for _, w := range to {
			if w == "*" {
				w = name
			}
			a.To = append(a.To, w)
		}
		out = append(out, a)
	}
	return out, ""
}

// Aliases returns the other spellings of each program, by its name: those that
// its table states, and the way back of those that other tables state to be the
// same as one of its own.
func Aliases(entries []*Entry) map[string][]Alias {
	out := map[string][]Alias{}
	for _, e := range entries {
		for _, name := range e.Names {
			for _, a := range e.also {
				addAlias(out, name, a)
			}
		}
	}
	return out
}

// addAlias adds an alias of a program and, if both sides are the same, its way
// back.
func addAlias(out map[string][]Alias, name string, a Alias) {
	a.To = slices.Clone(a.To)
	if a.To[0] == "." {
		a.To[0] = name
	}
	if a.To[0] == name && slices.Equal(a.To[1:], a.From) && len(a.With) == 0 {
		return
	}
	out[name] = append(out[name], a)
	if !a.Part {
		back := Alias{From: a.To[1:], To: append([]string{name}, a.From...)}
		out[a.To[0]] = append(out[a.To[0]], back)
	}
}

// readAlike parses the key alike.
func (e *Entry) readAlike(value any) error {
	list, err := e.words("alike", value)
	if err != nil {
		return err
	}
	if len(e.Path) == 0 {
		return e.where.errorf("alike", "only subcommands are listed together")
	}
	for i, text := range list {
		names := strings.Split(text, "|")
		if slices.Contains(names, "") {
			return e.where.fault(fmt.Sprintf("alike[%d]", i), text, fmt.Sprintf("alike %q: a name is empty", text))
		}
		e.alike = append(e.alike, names)
	}
	return nil
}

// readEqual parses the key equal.
func (e *Entry) readEqual(value any) error {
	list, err := e.words("equal", value)
	if err != nil {
		return err
	}
	for i, text := range list {
		words := strings.Split(text, "|")
		if len(words) < 2 || slices.Contains(words, "") {
			return e.where.fault(fmt.Sprintf("equal[%d]", i), text, fmt.Sprintf("equal %q: there are not two words", text))
		}
		e.Equal = append(e.Equal, words)
	}
	return nil
}

// All returns the names of the entry and of the subcommands that are listed with it.
func (e *Entry) All() []string {
	names := slices.Clone(e.Names)
	for _, list := range e.alike {
		names = append(names, list...)
	}
	return names
}

// Main returns the main name of a subcommand that is listed under name in this entry.
func (e *Entry) Main(name string) string {
	for _, list := range e.alike {
		if slices.Contains(list, name) {
			return list[0]
		}
	}
	return e.Names[0]
}
