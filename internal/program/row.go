package program

import (
	"sort"
	"strings"
	"sync/atomic"

	"github.com/agent-wrapper/agent-wrapper/internal/program/catalogfile"
)

// row is a program or subcommand in the table that cataloggen writes: its fields as text,
// and what they decode to once it has been looked up. A process meets few programs, so
// the others stay text.
type row struct {
	name, text string
	subs       []row
	program    atomic.Pointer[Program]
	own        *Program // instead of a text, of a user's own catalogue
}

// group is a list of options that several programs share.
type group struct {
	name, text string
	options    atomic.Pointer[[]Option]
}

// find returns the built-in section of a program, or nil.
func find(name string) *Program {
	rows := programs[catalogfile.Bucket(name)]
	for i := range rows {
		if rows[i].name == name {
			return rows[i].decoded(nil)
		}
	}
	return nil
}

// search returns the row of a name in sorted rows, or nil.
func search(rows []row, name string) *row {
	lo, hi := 0, len(rows)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if rows[mid].name < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(rows) && rows[lo].name == name {
		return &rows[lo]
	}
	return nil
}

// decoded returns the program of a row. beside holds the rows of the subcommands of the
// same program, nil for a program. All callers get the same pointer.
func (r *row) decoded(beside []row) *Program {
	if p := r.program.Load(); p != nil {
		return p
	}
	if r.own != nil {
		return r.own
	}
	r.program.CompareAndSwap(nil, r.decode(beside))
	return r.program.Load()
}

// decode reads the fields, which have tabs between them, and the options behind two tabs;
// or, if the text begins with a new line, new lines for tabs.
func (r *row) decode(beside []row) *Program {
	p := &Program{subs: r.subs}
	text, lines := strings.CutPrefix(r.text, "\n")
	between := "\t"
	if lines {
		between = "\n"
	}
	fields, options, _ := strings.Cut(text, between+between)
	for field := range strings.SplitSeq(fields, between) {
		key, value, _ := strings.Cut(field, " ")
		p.set(key, value, beside)
	}
	if options != "" {
		p.Options = decodeOptions(options, between)
	}
	p.Name = r.name
	return p
}

// set sets a field from its text.
func (p *Program) set(key, value string, beside []row) {
	switch key {
	case "":
	case "alias": // another name of the same section
		if beside == nil {
			*p = *find(value)
		} else {
			*p = *search(beside, value).decoded(beside)
		}
		p.Also = nil
	case "like": // another section with the same words
		q := find(value)
		p.Options, p.Shared, p.subs, p.Equal = q.Options, q.Shared, q.subs, q.Equal
	case "style":
		p.Style = styleOf(value)
	case "operands":
		p.Operands = operandsOf(value)
	case "spelling":
		p.Spelling = spellingOf(value)
	case "skip":
		p.Skip = number(value)
	case "use":
		p.Shared = append(p.Shared, shared(value))
	case "is":
		for name := range strings.SplitSeq(value, ";") {
			p.Facts |= factOf(name)
		}
	case "risk":
		p.Risk = append(p.Risk, Row{Subs: cut(&value), With: cut(&value), Class: classOf(cut(&value)), Cause: Cause(cut(&value)), Free: cut(&value)})
	case "secret":
		p.Secrets = append(p.Secrets, Secret{Form: secretFormOf(cut(&value)), Command: cut(&value), Names: words(cut(&value)), Skip: number(cut(&value)), Sign: cut(&value)})
	case "setting":
		p.Settings = append(p.Settings, Setting{Subs: words(cut(&value)), Option: cut(&value), Prefix: cut(&value), Each: cut(&value) != "", Valued: cut(&value) != ""})
	case "also":
		p.Also = append(p.Also, Alias{From: words(cut(&value)), With: words(cut(&value)), To: words(cut(&value)), Part: cut(&value) != ""})
	case "equal":
		p.Equal = append(p.Equal, strings.Split(value, ";"))
	default:
		switch field := p.field(key).(type) {
		case *bool:
			*field = true
		case *string:
			*field = value
		case *[]string:
			*field = strings.Split(value, ";")
		default:
			panic("program: the table has an unknown field " + key) // TestTableDecodes
		}
	}
}

// cut returns what is before the first semicolon of a text, and removes both.
func cut(text *string) (part string) {
	part, *text, _ = strings.Cut(*text, ";")
	return part
}

// number returns the number that one digit stands for.
func number(digit string) int { return int(digit[0] - '0') }

// words splits a text at its blanks.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, " ")
}

// shared returns the options of a group.
func shared(name string) []Option {
	g := &groups[sort.Search(len(groups), func(i int) bool { return groups[i].name >= name })]
	if list := g.options.Load(); list != nil {
		return *list
	}
	list := decodeOptions(g.text, "\t")
	g.options.CompareAndSwap(nil, &list)
	return *g.options.Load()
}

// decodeOptions reads options. Each is its names, followed
// by the sign of its value, its effect, Pattern and Ends.
func decodeOptions(text, between string) []Option {
	list := make([]Option, 0, strings.Count(text, between)+1)
	names := make([]string, 0, strings.Count(text, " ")+cap(list))
	for one := range strings.SplitSeq(text, between) {
		var o Option
		from := len(names)
		for word := range strings.SplitSeq(one, " ") {
			switch word[0] {
			case '-', '+', ':':
				names = append(names, word)
			case '=', '?':
				o.Value = valueOf(word)
			case 'P':
				o.Pattern = true
			case 'E':
				o.Ends = true
			default:
				o.Effect = effectOf(word)
			}
		}
		o.Names = names[from:len(names):len(names)]
		list = append(list, o)
	}
	return list
}
