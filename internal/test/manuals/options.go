package manuals

import (
	"slices"
	"strings"
)

// Value describes the value that a manual shows after an option.
type Value uint8

// The values; the zero value is invalid. A page may show several for one name.
const (
	None     Value = iota + 1 // --all
	Required                  // --output=FILE, -o FILE, -oFILE
	Optional                  // --color[=WHEN]
	Perhaps                   // -c [FILE]: the next word, if it is one
	Attached                  // -B#, -bNUM: directly after a letter, possibly omitted
)

// Option is a name of an option and the value that the page shows for it.
type Option struct {
	Name   string
	Values []Value
}

// Options returns the options of a manual page, in the order of the page.
func Options(page string) []Option {
	var all []Option
	at := map[string]int{}
	for _, tag := range Tags(page) {
		for _, o := range readTag(tag) {
			i, seen := at[o.Name]
			if !seen {
				at[o.Name] = len(all)
				all = append(all, o)
				continue
			}
			for _, v := range o.Values {
				if !slices.Contains(all[i].Values, v) {
					all[i].Values = append(all[i].Values, v)
				}
			}
		}
	}
	return all
}

// found is an option in a tag.
type found struct {
	name  string
	value Value
}

// readTag returns the options that a line names. In -o, --output=FILE the value
// applies to both.
func readTag(tag string) []Option {
	var list []found
	tag, _, _ = strings.Cut(tag, "\x02: ")
	for rest := tag; ; {
		at := nextOption(rest)
		if at < 0 {
			break
		}
		rest = rest[at:]
		var f found
		f, rest = readOption(rest)
		if f.name != "" {
			list = append(list, f)
		}
	}
	return shared(list)
}

// nextOption returns where the next option of a tag begins, or -1. Options are
// separated by commas, bars, "or" and the like; after other words they are
// prose.
func nextOption(text string) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '-' && i+1 < len(text) && nameByte(text, i+1):
			return i
		case strings.IndexByte(" \t,|/[]{}().:;\x01\x02\"'`", c) >= 0:
		case strings.HasPrefix(text[i:], "or ") || strings.HasPrefix(text[i:], "or\x02") || strings.HasPrefix(text[i:], "and "):
			i += 2
		default:
			return -1
		}
	}
	return -1
}

// nameByte reports whether the byte may be the first after a dash.
func nameByte(text string, i int) bool {
	c := text[i]
	return c == '-' && i+1 < len(text) && (alnum(text[i+1]) || strings.HasPrefix(text[i+1:], "[no-]")) ||
		c != '-' && (alnum(c) || strings.IndexByte("?#@%^:~\"!+$&", c) >= 0)
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// readOption reads one option at the start of text and returns the rest.
func readOption(text string) (found, string) {
	end := 1
	for end < len(text) && text[end] == '-' {
		end++
	}
	if strings.HasPrefix(text[end:], "[no-]") {
		end += len("[no-]")
	}
	if end < len(text) && !alnum(text[end]) {
		end++
	}
	for end < len(text) && (alnum(text[end]) || strings.IndexByte("-_.:+@", text[end]) >= 0) {
		end++
	}
	name := strings.TrimRight(text[:end], ".:")
	if len(name) < 2 {
		name = text[:end]
	}
	value, rest := readValue(strings.TrimLeft(text[end:], "\x02"), len(name) == 2)
	return found{name, value}, rest
}

// readValue reads the value after the name of an option, which may be a letter.
func readValue(text string, letter bool) (Value, string) {
	if text == "" {
		return None, ""
	}
	switch text[0] {
	case '[':
		if unmarked(text[:bracket(text)]) == "[=]" {
			return Required, text[word(text):]
		}
		return Optional, text[bracket(text):]
	case '#', '<', italic:
		if letter && !strings.HasPrefix(strings.TrimLeft(text[1:], "\x01\x02"), "[") && !strings.HasPrefix(text[1:], " ") {
			return Attached, text[word(text):]
		}
		fallthrough
	case '=':
		inner := strings.TrimLeft(text[1:], " \x01\x02")
		if strings.HasPrefix(inner, "[") {
			return Perhaps, text[bracket(text):]
		}
		if text[0] == italic && strings.HasPrefix(text[1:], " ") {
			return spaced(inner)
		}
		return Required, text[word(text):]
	case ' ', '\t':
		return spaced(strings.TrimLeft(text, " \t\x02"))
	}
	return None, text
}

// spaced reads the value after a space.
func spaced(text string) (Value, string) {
	switch {
	case text == "" || strings.IndexByte("-,|/:;)]", text[0]) >= 0:
		return None, text
	case strings.HasPrefix(text, "or ") || strings.HasPrefix(text, "and ") || strings.HasPrefix(text, "or\x02"):
		return None, text
	case text[0] == '[' || text[0] == '(' || strings.HasPrefix(text, "\x01["):
		return Perhaps, text[bracket(text):]
	case prose(text):
		return None, ""
	}
	rest := text[word(text):]
	for strings.HasPrefix(rest, " ") && len(rest) > 1 && rest[1] != '-' && rest[1] != ',' && rest[1] != '|' && !strings.HasPrefix(rest, " or ") {
		rest = rest[1:]
		rest = rest[word(rest):]
	}
	return Required, rest
}

// word returns the length of the value at the start of text.
func word(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '<', '{':
			depth++
		case ']', '>', '}':
			depth--
		case ' ', '\t', ',', '|':
			if depth <= 0 {
				return max(i, 1)
			}
		}
	}
	return len(text)
}

// bracket returns the length of the bracket at the start of text.
func bracket(text string) int {
	if i := strings.IndexByte(text, ']'); i >= 0 {
		return i + 1
	}
	return len(text)
}

// shared gives all names of one tag the value that is shown for one of them.
func shared(list []found) (out []Option) {
	var shown Value
	for _, f := range list {
		if f.value != None {
			shown = f.value
		}
	}
	for _, f := range list {
		values := []Value{f.value}
		if f.value == None && shown != 0 {
			values = append(values[:0], inherited(list, f, shown)...)
		}
		for _, name := range both(f.name) {
			if strings.HasPrefix(name, "--no-") && name != f.name {
				out = append(out, Option{name, []Value{None}})
				continue
			}
			out = append(out, Option{name, slices.Clone(values)})
		}
	}
	return out
}

// inherited returns the values of an option without a value in a tag where
// another one has a value: the same, unless the tag shows the name both ways.
func inherited(list []found, f found, shown Value) []Value {
	for _, g := range list {
		if slices.Contains(both(f.name), g.name) && g.value != None {
			return []Value{None, Optional}
		}
	}
	letter := !strings.HasPrefix(f.name, "--")
	switch at := slices.Index(list, f); {
	case shown == Required && letter && at+1 < len(list) && list[at+1].value == Required:
		return []Value{Required}
	case letter && (shown == Optional || bothWays(list)):
		return []Value{None} // -F, --classify[=WHEN]: only the long name has it
	}
	return []Value{None, shown}
}

// bothWays reports whether a tag shows a name with a value and without one.
func bothWays(list []found) bool {
	for _, f := range list {
		for _, g := range list {
			if f.name == g.name && f.value == None && g.value != None {
				return true
			}
		}
	}
	return false
}

// prose reports whether the text behind an option is a sentence.
func prose(text string) bool {
	return strings.Count(text, " ") > 3 && !strings.ContainsAny(text, "\x01<[,|")
}

// unmarked returns text without the marks of italics.
func unmarked(text string) string {
	return strings.Map(func(c rune) rune {
		if c == italic || c == upright {
			return -1
		}
		return c
	}, text)
}

// both returns --x and --no-x for --[no-]x.
func both(name string) []string {
	if rest, ok := strings.CutPrefix(name, "--[no-]"); ok {
		return []string{"--" + rest, "--no-" + rest}
	}
	return []string{name}
}
