package display

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// TextOptions describe the terminal. The zero value is 80 cells wide, without
// colours.
type TextOptions struct {
	Width  int  // in cells; 0 means 80, the least is 30
	Colour bool // use colours; they carry no information of their own
}

// Text returns the Ask, without the choices, as lines of at most Width cells.
// What the agent wrote follows " | ", or " : " on a continued line, so that it
// cannot be mistaken for a line of the Ask. What caused the question has ^^^
// below it.
func (a *Ask) Text(o TextOptions) string {
	p := newPage(o)
	p.header(a)
	for i := range a.Blocks {
		p.block(&a.Blocks[i])
	}
	p.out.WriteByte('\n')
	for i := range a.Actions {
		p.action(&a.Actions[i])
	}
	if a.MoreActions > 0 {
		p.words("  …      ", fmt.Sprintf("%s more actions: press v to see all", thousands(a.MoreActions)), plain)
	}
	p.foot(a)
	return p.out.String()
}

// Menu returns the choices: those that allow, those that deny, and the rules that
// would be kept.
func (a *Ask) Menu(o TextOptions) string {
	p := newPage(o)
	var line []string
	for _, c := range a.Choices {
		line = append(line, "["+c.Key+"] "+c.Label)
	}
	p.list(line)
	p.keeps(a.Choices)
	if len(a.Withheld) > 0 {
		p.words("  ", "not offered, because not everything is shown: "+strings.Join(a.Withheld, ", ")+" (press v to see all)", plain)
	}
	return p.out.String()
}

// Ladder returns the rungs of a choice as a numbered list.
func (c *Choice) Ladder(o TextOptions) string {
	p := newPage(o)
	p.rungs(c.Rungs)
	return p.out.String()
}

// ink is the colour of a piece of text.
type ink string

const (
	plain  ink = ""
	bold   ink = "1"
	dim    ink = "2"
	red    ink = "31"
	green  ink = "32"
	yellow ink = "33"
	strong ink = "1;33"
)

// page formats lines for a terminal.
type page struct {
	out    strings.Builder
	width  int
	colour bool
}

func newPage(o TextOptions) *page {
	if o.Width == 0 {
		o.Width = 80
	}
	return &page{width: max(o.Width, 30), colour: o.Colour}
}

func (p *page) paint(text string, i ink) string {
	if !p.colour || i == plain || text == "" {
		return text
	}
	return "\x1b[" + string(i) + "m" + text + "\x1b[0m"
}

// header writes which tool is asked about, for whom and where.
func (p *page) header(a *Ask) {
	text := a.Tool
	if a.Agent != "" {
		text += " (subagent " + a.Agent + ")"
	}
	p.out.WriteByte('\n')
	p.words("? ", text, bold)
	if a.Dir != "" {
		p.words("  in ", a.Dir, plain)
	}
}

// foot writes what concerns the Ask as a whole.
func (p *page) foot(a *Ask) {
	if a.whole() && a.Reason != "" {
		p.words("  ask    ", a.Reason+ruleNote(a.Rule, a.RuleSource, a.Reason), plain)
	}
	text := fmt.Sprintf("risk %s, tier %d", a.Risk, a.Tier)
	if a.Held {
		text += "; it is held: your answer counts once"
	}
	if a.Session != "" {
		text += "; session " + a.Session
	}
	p.words("  ", text, dim)
}

// whole reports whether the question is about the tool use as a whole, not because of
// one of its actions.
func (a *Ask) whole() bool {
	return !slices.ContainsFunc(a.Actions, func(one Action) bool { return one.asks() && (one.Held || !a.Held) })
}

// ruleNote returns a rule that the reason does not mention, and its source.
func ruleNote(rule, source, reason string) string {
	if strings.Contains(reason, "["+source+"]") {
		source = ""
	}
	if strings.Contains(reason, rule) {
		rule = ""
	}
	if note := strings.TrimSpace(rule + " " + source); note != "" {
		return "  [" + note + "]"
	}
	return ""
}

// action writes one action with its reasons.
func (p *page) action(a *Action) {
	verdict, i := a.Verdict, dim
	switch {
	case a.Verdict == "":
		verdict = "-"
	case a.asks() && a.Held:
		verdict, i = "held", strong
	case a.asks():
		i = strong
	}
	text := a.Text
	if a.Times > 1 {
		text += fmt.Sprintf("  (%s times)", thousands(a.Times))
	}
	p.words(fmt.Sprintf("  %-6s ", verdict), text, i)
	if !a.asks() {
		return
	}
	reason := strings.Replace(a.Reason, ": "+a.Text, "", 1)
	if why := reason + ruleNote(a.Rule, a.Source, reason); why != "" {
		p.words("         ", why, plain)
	}
	if a.Why != "" && !strings.Contains(a.Reason, a.Why) {
		p.words("         ", "risk "+a.Risk+": "+a.Why, plain)
	}
}

// block writes one part of the input, in one line with its title if it has only
// one.
func (p *page) block(b *Block) {
	notes := ""
	if len(b.Notes) > 0 {
		notes = " (" + strings.Join(b.Notes, "; ") + ")"
	}
	if len(b.Lines) == 1 && b.Lines[0].Sign == "" {
		p.line("  "+b.Title+notes+": ", &b.Lines[0])
		return
	}
	p.words("  ", b.Title+notes+":", plain)
	for i := range b.Lines {
		p.row(&b.Lines[i])
	}
}

// row writes one line of a block that has several.
func (p *page) row(l *Line) {
	switch l.Sign {
	case "@":
		p.words("  ", l.Segments[0].Text, dim)
	case "…":
		text := thousands(l.Bytes) + " more bytes"
		if l.Count > 1 {
			text += " in " + thousands(l.Count) + " lines"
		}
		p.words("  … ", text+": press v to see all", strong)
	case `\`:
		p.words("   \\ ", "no line feed at the end", dim)
	case "-", "+":
		p.line("  "+l.Sign+"| ", l)
	default:
		p.line("   | ", l)
	}
}

// goesOn is the head of a row that continues a line.
const goesOn = "   : "

// cell is a character with its marks.
type cell struct {
	text  string
	width int
	mark  bool
}

// line writes a line after head, wrapped, with marks below it.
func (p *page) line(head string, l *Line) {
	if cells(head) > p.width/2 { // a long title gets a line of its own
		p.words("", strings.TrimSuffix(head, ": ")+":", plain)
		head = "   | "
	}
	i := plain
	switch l.Sign {
	case "-":
		i = red
	case "+":
		i = green
	}
	line := l.cells()
	for first := true; first || len(line) > 0; first = false {
		if !first {
			head = goesOn
		}
		n := fits(line, p.width-cells(head))
		p.cells(head, line[:n], i)
		line = line[n:]
	}
}

// fits returns the number of characters that fit into room cells, at least one.
func fits(line []cell, room int) int {
	n := 0
	for n < len(line) && (n == 0 || line[n].width <= room) {
		room -= line[n].width
		n++
	}
	return n
}

// cells writes one row and its marks.
func (p *page) cells(head string, row []cell, i ink) {
	p.out.WriteString(head)
	marks := strings.Repeat(" ", cells(head))
	for from := 0; from < len(row); {
		to := from
		text := ""
		for ; to < len(row) && row[to].mark == row[from].mark; to++ {
			text += row[to].text
			marks += strings.Repeat(map[bool]string{true: "^", false: " "}[row[to].mark], row[to].width)
		}
		if row[from].mark {
			p.out.WriteString(p.paint(text, strong))
		} else {
			p.out.WriteString(p.paint(text, i))
		}
		from = to
	}
	p.out.WriteByte('\n')
	if marks = strings.TrimRight(marks, " "); marks != "" {
		p.out.WriteString(p.paint(marks, strong) + "\n")
	}
}

// cells returns the characters of a line, each with its combining marks.
func (l *Line) cells() []cell {
	var out []cell
	for _, s := range l.Segments {
		for _, c := range characters(s.Text) {
			c.mark = s.Mark
			out = append(out, c)
		}
	}
	return out
}

// characters splits a text into characters with their combining marks.
func characters(text string) []cell {
	var out []cell
	for len(text) > 0 {
		if name := spelled(text); name != "" {
			out = append(out, cell{text: name, width: len(name)})
			text = text[len(name):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		w := runeWidth(r)
		if w > 0 || len(out) == 0 {
			out = append(out, cell{text: string(r), width: w})
			continue
		}
		c := &out[len(out)-1]
		c.text += string(r)
		if r == emojiStyle {
			c.width = 2
		}
	}
	return out
}

// spelled returns the escaped character that a text begins with, "" if none. It
// is not wrapped.
func spelled(text string) string {
	if !strings.HasPrefix(text, "<U+") && !strings.HasPrefix(text, "<0x") {
		return ""
	}
	return text[:strings.IndexByte(text, '>')+1]
}

// emojiStyle makes the symbol before it a wide one.
const emojiStyle = '\uFE0F'

// runeWidth returns how many cells a character takes. A terminal that uses fewer
// wraps later than it could.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	case r >= 0x1F000:
		return 2
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cells returns the width of a text.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// words writes a text of one line after head, wrapped at blanks where possible.
// Continued lines follow ": " below its beginning.
func (p *page) words(head, text string, i ink) {
	indent := strings.Repeat(" ", max(min(cells(head), 9)-2, 0)) + ": "
	line := characters(text)
	for first := true; first || len(line) > 0; first = false {
		if !first {
			head = indent
		}
		n := fits(line, p.width-cells(head))
		if n < len(line) {
			n = breakAt(line, n)
		}
		row := ""
		for _, c := range line[:n] {
			row += c.text
		}
		p.out.WriteString(head + p.paint(row, i) + "\n")
		line = line[n:]
	}
}

// breakAt returns the index after the last blank in the first n cells, n if there
// is none in their second half.
func breakAt(line []cell, n int) int {
	for at := n; at > n/2; at-- {
		if line[at-1].text == " " {
			return at
		}
	}
	return n
}

// list writes items side by side, as many as fit in a line.
func (p *page) list(items []string) {
	row := ""
	for _, item := range items {
		if row != "" && cells(row)+3+cells(item) > p.width-2 {
			p.words("  ", row, plain)
			row = ""
		}
		if row != "" {
			row += "   "
		}
		row += item
	}
	if row != "" {
		p.words("  ", row, plain)
	}
}

// keeps writes the rules that the choices which allow would keep. Those of a deny are
// shown when it is chosen: a question should fit on a screen.
func (p *page) keeps(choices []Choice) {
	var names []string
	var rungs []Rung
	for _, c := range choices {
		if c.Keeps && len(c.Rungs) > 0 {
			names = append(names, "["+c.Key+"]")
			rungs = c.Rungs
		}
	}
	if len(names) > 0 {
		p.words("  ", strings.Join(names, " and ")+" would keep:", plain)
		p.rungs(rungs)
	}
}

func (p *page) rungs(rungs []Rung) {
	for i, r := range rungs {
		text := strings.Join(r.Rules, ", ")
		switch {
		case text == "":
			text = r.Label
		case r.Label != "":
			text += "  - " + r.Label
		}
		p.words(fmt.Sprintf("    %d  ", i+1), text, plain)
	}
}
