package display

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

// TextOptions describe the terminal. The zero value is 80 cells wide, without
// colours.
type TextOptions struct {
	Width  int  // in cells; 0 means 80, the least is 20
	Height int  // in rows; 0 means no limit. Only Source.Screen uses it
	Colour bool // use colours; they carry no information of their own
	ASCII  bool // draw the frame with characters of ASCII only
	// Parts lists every action, not only what asks.
	Parts bool
}

// Text returns the Ask, without the choices, as lines of at most Width cells, in a
// frame:
//
//	┌ Bash                                       moderate: sends data to a host
//	│ │ cd web && git push origin main
//	│             ^^^^^^^^^^^^^^^^^^^^
//	├ description: Push the branch
//	│ asked by Bash(git push:*)  agent-wrapper.toml:4:8     1 more part: allowed
//
// What the agent wrote cannot be mistaken for a line of the Ask: it stands in a gutter
// of its own, after "│ │ ", or "│ + " and "│ - " in a diff, or "│ ┊ " on a continued
// line, or on the line of its field, after "├ ". No other line begins so. What caused
// the question has ^^^ below it, on a line without the gutter; whole lines of it have
// "│ ^ " before them.
func (a *Ask) Text(o TextOptions) string {
	p := newPage(o)
	p.header(a)
	p.blocks(a)
	p.causes(a)
	if o.Parts && len(a.Actions) > 1 {
		p.actions(a)
	}
	return p.out.String()
}

// Brief returns what the Ask is about in one line, cut around what caused the question,
// for a terminal where the question itself has scrolled away.
func (a *Ask) Brief(o TextOptions) string {
	p := newPage(o)
	p.out.WriteString(p.frame.side + p.frame.quote)
	row, more := a.telling(), "…"
	if o.ASCII {
		more = "..."
	}
	line := row.cells()
	room := p.width - 4
	if total(line) > room {
		line = around1(line, room, characters(more))
	}
	p.row(line, plain)
	p.out.WriteByte('\n')
	return p.out.String()
}

// Row returns a text of one line in the frame of a question, wrapped.
func (o TextOptions) Row(text string) string {
	p := newPage(o)
	p.says("", text, plain)
	return p.out.String()
}

// Field returns a text that the agent wrote in the gutter of a question, after a title
// if that is not empty.
func (o TextOptions) Field(title, text string) string {
	p := newPage(o)
	if title != "" {
		p.words(p.frame.top, p.frame.side+"  ", title, bold)
	}
	for line := range strings.SplitSeq(visible.Text(text), "\n") {
		p.line(&Line{Segments: []Segment{{Text: line}}})
	}
	return p.out.String()
}

// telling returns the line of the Ask that caused the question, or else its first.
func (a *Ask) telling() *Line {
	var first *Line
	for i := range a.Blocks {
		for j := range a.Blocks[i].Lines {
			l := &a.Blocks[i].Lines[j]
			if slices.ContainsFunc(l.Segments, func(s Segment) bool { return s.Mark }) {
				return l
			}
			if first == nil && len(l.Segments) > 0 && l.Sign == "" {
				first = l
			}
		}
	}
	if first == nil {
		first = &Line{}
	}
	return first
}

// around1 cuts a line to a width around its first mark, with more where it is cut.
func around1(line []cell, room int, more []cell) []cell {
	from := max(slices.IndexFunc(line, func(c cell) bool { return c.mark }), 0)
	if from > 0 {
		from = max(from-room/4, 0)
	}
	var out []cell
	if from > 0 {
		out = append(out, more...)
		room -= total(more)
	}
	line = line[from:]
	if total(line) <= room {
		return append(out, line...)
	}
	return append(append(out, line[:fits(line, max(room-total(more), 1))]...), more...)
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

// frame has what the lines of a question begin with, each of two cells.
type frame struct{ top, side, field, quote, goesOn string }

var (
	drawn  = frame{"┌ ", "│ ", "├ ", "│ ", "┊ "}
	dashed = frame{"+ ", "| ", "- ", "| ", ": "}
)

// page formats lines for a terminal.
type page struct {
	out    strings.Builder
	width  int
	colour bool
	frame  frame
}

// minWidth is the width for which a question is made on a terminal that is narrower.
const minWidth = 20

func newPage(o TextOptions) *page {
	if o.Width == 0 {
		o.Width = 80
	}
	p := &page{width: max(o.Width, minWidth), colour: o.Colour, frame: drawn}
	if o.ASCII {
		p.frame = dashed
	}
	return p
}

func (p *page) paint(text string, i ink) string {
	if !p.colour {
		return text
	}
	return paint(text, i)
}

// paint returns a text in a colour.
func paint(text string, i ink) string {
	if i == plain || text == "" {
		return text
	}
	return "\x1b[" + string(i) + "m" + text + "\x1b[0m"
}

// header writes which tool is asked about, for whom and where, and the risk of what is
// asked about, at the right if there is room.
func (p *page) header(a *Ask) {
	text := a.Tool
	if a.Agent != "" {
		text += " (subagent " + a.Agent + ")"
	}
	switch {
	case a.here && a.below != "":
		text += " in " + a.below
	case !a.here && a.Dir != "":
		text += " in " + a.Dir
	}
	risk, i := a.danger()
	p.sides(p.frame.top, text, bold, risk, i)
}

// danger returns the risk of what is asked about, with the reason, and its colour.
func (a *Ask) danger() (string, ink) {
	risk, why, worst := a.Risk, "", -1
	for _, c := range a.Asked {
		if at := slices.Index(dangers, c.Risk); at > worst {
			risk, why, worst = c.Risk, c.short(), at
		}
	}
	i := [...]ink{green, yellow, red, red}[max(slices.Index(dangers, risk), 0)]
	if risk == "forbidden" {
		risk = "destructive"
	}
	if why == "" || strings.HasPrefix(why, risk) {
		return risk + strings.TrimPrefix(why, risk), i
	}
	return risk + ": " + why, i
}

// dangers are the classes of risk, the lowest first.
var dangers = []string{"safe", "moderate", "high", "forbidden"}

// short returns why the action has its risk, without the path that stands in the input.
func (c *Cause) short() string {
	if path, ok := strings.CutPrefix(c.Text, "write "); ok {
		return strings.TrimSuffix(c.Why, ": writes "+path)
	}
	return c.Why
}

// maxCauses is the number of causes that are told if not all actions are listed.
const maxCauses = 3

// causes writes why it is asked, one line for each cause, and how much is allowed.
func (p *page) causes(a *Ask) {
	shown := a.told()
	var notes []string
	if more := len(a.Asked) - len(shown); more > 0 {
		notes = append(notes, counted1(more, "more reason (v)", "more reasons (v)"))
	}
	if a.Allowed > 0 {
		notes = append(notes, counted1(a.Allowed, "more part: allowed", "more parts: allowed"))
	}
	for i, c := range shown {
		note := ""
		if i == len(shown)-1 {
			note = strings.Join(notes, ", ")
		}
		p.sides(p.frame.side, c.line(a), bold, note, dim)
	}
}

// told returns the causes that are told, each rule once. If only an answer to this tool
// use can allow it, what a rule could answer for matters no more.
func (a *Ask) told() []*Cause {
	var out []*Cause
	for i := range a.Asked {
		c := &a.Asked[i]
		known := slices.ContainsFunc(out, func(o *Cause) bool { return c.Rule != "" && o.Rule == c.Rule && o.Source == c.Source })
		if len(out) < maxCauses && !known && (len(out) == 0 || !a.Held || c.Held) {
			out = append(out, c)
		}
	}
	return out
}

// counted1 returns a number with a noun.
func counted1(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// line returns why it is asked, in words. The action is named unless the marks show it.
func (c *Cause) line(a *Ask) string {
	text := strings.Replace(c.Reason, "asked by rule ", "asked by ", 1) + ruleAt(c.Rule, c.Source, c.Reason)
	action := c.Text
	if len(a.Actions) == 1 || len(a.Asked) == 1 && strings.HasPrefix(action, "run ") {
		action = ""
	}
	if _, why, ok := strings.Cut(action, ": "); ok && strings.HasSuffix(c.Reason, why) {
		action = "" // the reason says it
	}
	switch {
	case c.Times > 1 && action == "":
		action = thousands(c.Times) + " parts"
	case c.Times > 1:
		action += " (" + thousands(c.Times) + " parts)"
	}
	if action != "" {
		text = action + ": " + text
	}
	return text
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

// ruleAt returns a rule that the reason does not mention, and where it is.
func ruleAt(rule, source, reason string) string {
	note := ""
	if rule != "" && !strings.Contains(reason, rule) {
		note = "  " + rule
	}
	if source != "" && !strings.Contains(reason, source) {
		note += "  " + column.ReplaceAllString(source, "$1")
	}
	return note
}

// column is the place of a rule with its column, which a person does not need.
var column = lazyregexp.New(`^(.*:[0-9]+):[0-9]+$`)

// actions lists everything that the tool use would do.
func (p *page) actions(a *Ask) {
	p.blank()
	for i := range a.Actions {
		p.action(&a.Actions[i])
	}
	if a.MoreActions > 0 {
		p.says("", "and "+counted1(a.MoreActions, "more action", "more actions")+" (v shows all)", plain)
	}
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
	p.says(fmt.Sprintf("%-5s  ", verdict), text, i)
	if !a.asks() {
		return
	}
	reason := strings.Replace(a.Reason, ": "+a.Text, "", 1)
	if why := reason + ruleAt(a.Rule, a.Source, reason); why != "" {
		p.says("       ", why, plain)
	}
	if a.Why != "" && !strings.Contains(a.Reason, a.Why) {
		p.says("       ", "risk "+a.Risk+": "+a.Why, plain)
	}
}

// blocks writes the parts of the input. The field that the tool is about needs no
// title, and stands beside that of its diff.
func (p *page) blocks(a *Ask) {
	all := a.Blocks
	if len(all) == 0 || !a.about(&all[0]) {
		p.titled(all)
		return
	}
	first := &all[0]
	if len(first.Lines) == 1 && len(first.Notes) == 0 && len(all) == 2 && all[1].diff() {
		p.change(&all[1], first)
		return
	}
	if len(first.Notes) > 0 {
		p.says("", strings.Join(first.Notes, "; "), plain)
	}
	for _, l := range runningOn(first.Lines) {
		p.line(&l)
	}
	p.titled(all[1:])
}

// about reports whether a block is the field that a built-in tool is about.
func (a *Ask) about(b *Block) bool {
	t := tools.Builtin(a.Tool)
	return t != nil && t.Does != 0 && t.Field == b.Title
}

// diff reports whether a block is a diff.
func (b *Block) diff() bool {
	return slices.ContainsFunc(b.Lines, func(l Line) bool { return l.Sign != "" && l.Sign != "…" }) ||
		len(b.Lines) == 0
}

// change writes a diff, with the file in its title.
func (p *page) change(b, file *Block) {
	lines, notes := b.placed()
	p.field(b.Title+noted(notes)+": ", &file.Lines[0])
	for i := range lines {
		p.line(&lines[i])
	}
}

func noted(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

// placed returns the lines and notes of a diff: if it is in one place only, the number
// of its line is a note.
func (b *Block) placed() ([]Line, []string) {
	at := slices.IndexFunc(b.Lines, func(l Line) bool { return l.Sign == "@" })
	if at != 0 || slices.ContainsFunc(b.Lines[1:], func(l Line) bool { return l.Sign == "@" }) {
		return b.Lines, b.Notes
	}
	var from, n, to, m int
	if _, err := fmt.Sscanf(b.Lines[0].Segments[0].Text, "@@ -%d,%d +%d,%d @@", &from, &n, &to, &m); err != nil {
		return b.Lines, b.Notes
	}
	notes := b.Notes
	if n > 0 {
		notes = append([]string{"line " + thousands(from)}, notes...)
	}
	return b.Lines[1:], notes
}

// titled writes blocks with their titles, in one line with it if there is only one.
func (p *page) titled(all []Block) {
	for i := range all {
		b := &all[i]
		lines, notes := b.placed()
		if len(lines) == 1 && lines[0].Sign == "" {
			p.field(b.Title+noted(notes)+": ", &lines[0])
			continue
		}
		p.words(p.frame.field, p.frame.side+"  ", b.Title+noted(notes)+":", plain)
		for _, l := range runningOn(lines) {
			p.line(&l)
		}
	}
}

// runningOn returns lines with a note on those that are marked as a whole beside others.
func runningOn(lines []Line) []Line {
	out := slices.Clone(lines)
	for i := range out {
		beside := i > 0 && out[i-1].marked() || i+1 < len(out) && out[i+1].marked()
		out[i].runsOn = out[i].marked() && beside
	}
	return out
}

// marked reports whether a whole line is marked.
func (l *Line) marked() bool {
	return len(l.Segments) > 0 && !slices.ContainsFunc(l.Segments, func(s Segment) bool { return !s.Mark && strings.TrimSpace(s.Text) != "" })
}

// field writes a line of text after a title, below it if the title is long.
func (p *page) field(title string, l *Line) {
	if cells(title) > p.width/2 {
		p.words(p.frame.field, p.frame.side+"  ", strings.TrimSpace(title), plain)
		p.line(l)
		return
	}
	p.wrap(p.frame.field+title, p.frame.side+p.frame.goesOn, l.cells(), plain)
}

// line writes a line of a block in the gutter, or what stands for some.
func (p *page) line(l *Line) {
	head := p.frame.side + p.frame.quote
	i := plain
	switch l.Sign {
	case "@":
		p.says("", l.Segments[0].Text, dim)
		return
	case "…":
		p.says("… ", l.gone(), strong)
		return
	case `\`:
		p.says(`\ `, "no line feed at the end", dim)
		return
	case "-", "+":
		head = p.frame.side + l.Sign + " "
		i = map[string]ink{"-": red, "+": green}[l.Sign]
	}
	line := l.cells()
	if l.runsOn && l.Sign == "" {
		head = p.frame.side + "^ "
		for at := range line {
			line[at].mark = false
		}
		i = strong
	}
	if l.goesOn {
		head = p.frame.side + p.frame.goesOn
	}
	p.wrap(head, p.frame.side+p.frame.goesOn, line, i)
}

// gone returns what is left out at a line, in words.
func (l *Line) gone() string {
	switch {
	case l.folded > 0 && l.goesOn:
		return counted1(l.folded, "character", "characters") + " (v shows all)"
	case l.folded > 0:
		return counted1(l.folded, "line", "lines") + " (v shows all)"
	}
	text := counted1(l.Bytes, "byte", "bytes")
	if l.Count > 1 {
		text += " in " + thousands(l.Count) + " lines"
	}
	return text + " (v shows all)"
}

// wrap writes cells after head, wrapped at blanks, with marks below them. Continued
// rows begin with next.
func (p *page) wrap(head, next string, line []cell, i ink) {
	for first := true; first || len(line) > 0; first = false {
		n := fits(line, p.width-cells(head))
		if n < len(line) {
			n = breakAt(line, n)
		}
		p.out.WriteString(head)
		marks := p.row(line[:n], i)
		p.out.WriteByte('\n')
		if marks != "" {
			p.out.WriteString(p.frame.side + strings.Repeat(" ", cells(head)-2) + p.paint(marks, strong) + "\n")
		}
		line, head = line[n:], next
	}
}

// row writes cells and returns their marks, "" for none.
func (p *page) row(row []cell, i ink) string {
	var marks strings.Builder
	for from := 0; from < len(row); {
		to := from
		text := ""
		for ; to < len(row) && row[to].mark == row[from].mark; to++ {
			text += row[to].text
			marks.WriteString(strings.Repeat(map[bool]string{true: "^", false: " "}[row[to].mark], row[to].width))
		}
		if row[from].mark {
			p.out.WriteString(p.paint(text, strong))
		} else {
			p.out.WriteString(p.paint(text, i))
		}
		from = to
	}
	return strings.TrimRight(marks.String(), " ")
}

// says writes a text of the Ask in the frame. Continued rows are indented below it.
func (p *page) says(head, text string, i ink) {
	p.words(p.frame.side+head, p.frame.side+strings.Repeat(" ", max(cells(head), 2)), text, i)
}

// blank writes a row with nothing but the frame.
func (p *page) blank() { p.out.WriteString(strings.TrimSpace(p.frame.side) + "\n") }

// maxAside is the column to which a text at the right is aligned, at most.
const maxAside = 100

// sides writes a text at the left and one at the right of its last row, or below it if
// they do not fit.
func (p *page) sides(head, left string, i ink, right string, j ink) {
	all := p.broken(head, p.frame.side+"  ", left)
	last := &all[len(all)-1]
	taken := cells(last.head) + cells(last.text) + cells(right)
	fits := right != "" && taken+2 <= p.width
	for _, row := range all[:len(all)-1] {
		p.out.WriteString(row.head + p.paint(row.text, i) + "\n")
	}
	p.out.WriteString(last.head + p.paint(last.text, i))
	if fits {
		p.out.WriteString(strings.Repeat(" ", max(min(p.width, maxAside)-taken, 2)) + p.paint(right, j))
	}
	p.out.WriteByte('\n')
	if right != "" && !fits {
		p.says("", right, j)
	}
}

// words writes a text after head, wrapped at blanks. Continued rows begin with next.
func (p *page) words(head, next, text string, i ink) {
	for _, row := range p.broken(head, next, text) {
		p.out.WriteString(row.head + p.paint(row.text, i) + "\n")
	}
}

// broken is a row of a text that was wrapped.
type broken struct{ head, text string }

// broken wraps a text at blanks. It returns at least one row.
func (p *page) broken(head, next, text string) (rows []broken) {
	line := characters(text)
	for first := true; first || len(line) > 0; first = false {
		n := fits(line, max(p.width-cells(head), 1))
		if n < len(line) {
			n = breakAt(line, n)
		}
		row := ""
		for _, c := range line[:n] {
			row += c.text
		}
		row = strings.TrimRight(row, " ")
		if row == "" {
			head = strings.TrimRight(head, " ")
		}
		rows = append(rows, broken{head, row})
		line, head = line[n:], next
	}
	return rows
}
