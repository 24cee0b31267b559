// Package manuals reads the options of a program from its manual page and
// compares them with the catalogue. It is for a test only: the pages are those
// of Debian packages, which the test downloads and unpacks without installing
// anything.
package manuals

import "strings"

// The marks around text in italics, which denotes a value.
const (
	italic  = '\x01'
	upright = '\x02'
)

// Tags returns the lines of a manual page, in man or mdoc macros, that
// introduce the description of an option. Fonts are removed except for the
// marks of italics.
func Tags(page string) []string {
	r := reader{}
	lines := strings.Split(strings.ReplaceAll(page, "\\\n", ""), "\n")
	for i, line := range lines {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		r.line(line, next)
	}
	return r.tags
}

type reader struct {
	tags   []string
	wanted bool   // the next text is a tag
	loose  bool   // the next text is a tag if an indented block follows
	open   bool   // the tag continues in the next line (mdoc: Xo)
	joined string // text that continues in the next line (\c)
}

func (r *reader) line(line, next string) {
	name, args := request(line)
	switch name {
	case "":
		r.text(line, next)
	case "TP", "TQ", "HP":
		r.wanted, r.loose = true, false
	case "IP":
		r.item(args)
	case "PP", "P", "LP", "sp", "br", "RE", "Pp", "RS":
		r.wanted, r.loose = false, name != "RS"
	case "It":
		r.open = false
		r.mdoc(args)
	case "Xc", "Oo", "Oc", "Fl", "Ar", "Ns", "No", "Op", "Sm":
		if r.open {
			r.tags[len(r.tags)-1] += " " + mdocText(append([]string{name}, args...))
		}
		r.open = r.open && name != "Xc"
	default:
		if joined, ok := fonts(name, args); ok {
			r.text(joined, next)
		}
	}
}

// item reads .IP: its tag, or the text after a bullet.
func (r *reader) item(args []string) {
	r.wanted, r.loose = false, false
	if len(args) == 0 {
		return
	}
	tag := plain(args[0])
	if option(tag) {
		r.tags = append(r.tags, tag)
		return
	}
	r.wanted = len([]rune(tag)) <= 1
}

// text reads a line that is printed.
func (r *reader) text(line, next string) {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return
	}
	line = r.joined + line
	if rest, goesOn := strings.CutSuffix(strings.TrimSuffix(line, `\fR`), `\c`); goesOn && (r.wanted || r.loose) {
		r.joined = rest
		return
	}
	r.joined = ""
	follows, _ := request(next)
	take := r.wanted || r.loose && (follows == "RS" || follows == "IP" || follows == "br")
	r.wanted, r.loose = false, false
	if tag := plain(line); take && option(tag) {
		r.tags = append(r.tags, tag)
	}
}

func (r *reader) mdoc(args []string) {
	tag := mdocText(args)
	if option(tag) {
		r.tags = append(r.tags, tag)
		r.open = len(args) > 0 && args[len(args)-1] == "Xo"
	}
}

// option reports whether a line begins with an option.
func option(line string) bool {
	line = strings.TrimLeft(line, " \t[{(\x01\x02")
	return len(line) > 1 && line[0] == '-' && line[1] != ' '
}

// request splits a line that begins with a dot into its name and arguments.
func request(line string) (string, []string) {
	if len(line) < 2 || line[0] != '.' && line[0] != '\'' {
		return "", nil
	}
	words := arguments(line[1:])
	if len(words) == 0 {
		return "", nil
	}
	return words[0], words[1:]
}

// arguments splits a request at spaces; quotes hold words together.
func arguments(text string) (words []string) {
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" || strings.HasPrefix(text, `\"`) {
			return words
		}
		end := argument(text)
		word := text[:end]
		if word[0] == '"' {
			word = strings.ReplaceAll(strings.TrimSuffix(word[1:], `"`), `""`, `"`)
		}
		words = append(words, word)
		text = text[end:]
	}
}

// argument returns the length of the first word of text.
func argument(text string) int {
	quoted := text[0] == '"'
	i := 0
	if quoted {
		i = 1
	}
	for ; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
		case quoted && text[i] == '"' && (i+1 == len(text) || text[i+1] != '"'):
			return i + 1
		case quoted && text[i] == '"':
			i++
		case !quoted && (text[i] == ' ' || text[i] == '\t'):
			return i
		}
	}
	return len(text)
}

// fonts removes the requests that print their words in one font or in two
// alternating fonts.
func fonts(name string, args []string) (string, bool) {
	switch name {
	case "B", "SM", "SB":
		return strings.Join(args, " "), true
	case "I":
		return `\fI` + strings.Join(args, " ") + `\fR`, true
	case "BR", "RB":
		return strings.Join(args, ""), true
	case "BI", "RI", "IR", "IB":
		return alternate(args, name[0] == 'I'), true
	}
	return "", false
}

func alternate(words []string, slanted bool) string {
	var sb strings.Builder
	for _, w := range words {
		if slanted {
			w = `\fI` + w + `\fR`
		}
		sb.WriteString(w)
		slanted = !slanted
	}
	return sb.String()
}

// escapes replaces the escapes that print one character or none.
var escapes = strings.NewReplacer(
	`\-`, "-", `\.`, ".", `\e`, "\\", `\ `, " ", `\~`, " ", `\&`, "", `\|`, "", `\^`, "", `\,`, "", `\/`, "", `\%`, "", `\:`, "", `\c`, "", `\'`, "'", `\0`, " ",
	`\(hy`, "-", `\(mi`, "-", `\(en`, "-", `\(aq`, "'", `\(dq`, `"`, `\(bv`, "|", `\(ha`, "^", `\(ti`, "~", `\(lq`, `"`, `\(rq`, `"`, `\(bu`, "*", `\[ci]`, "o", `\[u2022]`, "*", `\[bu]`, "*",
	`\[char46]`, ".", `\(or`, "|",
	`\fI`, string(italic), `\fR`, string(upright), `\fP`, string(upright), `\fB`, string(upright), `\f1`, string(upright), `\f2`, string(italic), `\f3`, string(upright),
	`\f[I]`, string(italic), `\f[R]`, string(upright), `\f[B]`, string(upright), `\f[]`, string(upright), `\f[BI]`, string(italic), `\f(BI`, string(italic), `\f(CW`, string(upright), `\f[C]`, string(upright), `\f[CB]`, string(upright), `\f[V]`, string(upright), `\f[CR]`, string(upright),
	`\fC`, string(upright), `\*(C`, "", `\*(R"`, "", `\s-1`, "", `\s0`, "", `\s+1`, "", `\s-2`, "", `\s+2`, "", `\*(--`, "--", `\*(-`, "-",
)

// plain replaces the escapes of a line.
func plain(line string) string { return escapes.Replace(line) }

// mdocText prints the words of an mdoc item: Fl v is -v, Ar is a value.
func mdocText(words []string) string {
	var sb strings.Builder
	var macro string
	glue := true // no space before the next word
	put := func(text string) {
		if !glue {
			sb.WriteByte(' ')
		}
		sb.WriteString(text)
		glue = false
	}
	for i, w := range words {
		switch w {
		case "Fl":
			macro = w
			if i+1 < len(words) && words[i+1] == "Fl" {
				put("-")
				glue = true
			}
		case "Ar", "Cm", "Ic", "Li", "Pa", "Sy", "Em", "No", "Va", "Ad", "Ql", "Dq", "Xo", "Xc", "Sm":
			macro = w
			last := i+1 == len(words) || mdocMacro(words[i+1])
			if w == "Ar" && last {
				put(string(italic) + "file" + string(upright))
			}
		case "Ns":
			glue, macro = true, "No"
		case "Op", "Oo", "Bq":
			put("[")
			glue = true
		case "Oc":
			sb.WriteByte(']')
		case ",", "|", ".", ")", ";":
			sb.WriteString(w)
		default:
			put(mdocWord(macro, plain(w)))
		}
	}
	return sb.String()
}

func mdocMacro(word string) bool {
	switch word {
	case "Fl", "Ar", "Cm", "Ns", "Oo", "Oc", "Op", "Xo", "Xc", ",", "|":
		return true
	}
	return false
}

func mdocWord(macro, word string) string {
	switch macro {
	case "Fl":
		return "-" + word
	case "Ar":
		return string(italic) + word + string(upright)
	}
	return word
}
