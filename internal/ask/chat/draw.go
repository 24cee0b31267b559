package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// draw shows the foot, if it has changed.
func (l *loop) draw() {
	l.drop()
	f := l.foot()
	if equal(&f, &l.shown) {
		return
	}
	l.shown = f
	l.screen.Foot(f)
}

func equal(a, b *ask.Foot) bool {
	return a.Row == b.Row && a.Column == b.Column && a.Dumb == b.Dumb && strings.Join(a.Rows, "\n") == strings.Join(b.Rows, "\n")
}

// foot returns the rows below what the agent does: what waits, the line, and a status.
func (l *loop) foot() ask.Foot {
	columns, lines := l.board.Size()
	if l.quit {
		return ask.Foot{}
	}
	if l.board.Dumb() {
		return l.plain(columns)
	}
	var f ask.Foot
	if len(l.queue) > 0 {
		f.Rows = append(f.Rows, l.faint(l.queued(columns-1)))
	}
	rows, row, column := l.edit.rows(columns, max(lines/2-len(f.Rows)-1, 1))
	f.Row, f.Column = len(f.Rows)+row, column
	f.Rows = append(f.Rows, rows...)
	if status := l.status(columns-1, lines/2-2); status != "" && lines > 4 {
		f.Rows = append(f.Rows, l.faint(status))
	}
	return f
}

// plain returns the foot for a terminal that cannot move its cursor, or whose rows are
// read aloud: nothing but the line, while the person may type in it.
func (l *loop) plain(columns int) ask.Foot {
	if !l.begun.IsZero() && !l.typing() {
		return ask.Foot{}
	}
	e := edit{}
	e.set(l.edit.String())
	rows, _, _ := e.rows(columns, 1)
	return ask.Foot{Rows: rows[:1], Dumb: true}
}

// queued returns the row for what waits.
func (l *loop) queued(width int) string {
	text := "waits: " + visible.Line(strings.ReplaceAll(l.queue[0].typed, "\n", " "))
	more := ""
	if n := len(l.queue) - 1; n > 0 {
		more = fmt.Sprintf("  +%d", n)
	}
	return shorter(text, width-len(more)) + more
}

// status returns the last row: a question that waits, what is searched, a hint, or what
// the agent does. room is how many lines of the text may be seen at once.
func (l *loop) status(width, room int) string {
	switch {
	case len(l.waiting) > 0:
		return shorter("Tab: a question waits, about "+l.waiting[0].about, width)
	case l.search != nil:
		return shorter(l.search.status(), width)
	case l.hint != "":
		return shorter(l.hint, width)
	}
	text := ""
	if l.options.Mode != nil {
		text = l.options.Mode()
	}
	switch {
	case l.begun.IsZero() && len(l.edit.text) == 0:
		text += "  /help"
	case l.begun.IsZero():
		text += l.edit.place(room)
	case l.stopped:
		text += "  interrupting"
	default:
		text += "  " + l.doing(width-len(text)-2)
	}
	return shorter(strings.TrimSpace(text), width)
}

// doing returns what the agent does, and how to stop it if there is room.
func (l *loop) doing(width int) string {
	const stops = "  ^C interrupts"
	if l.options.Doing != nil {
		if text := l.options.Doing(width - len(stops)); text != "" {
			return text + stops
		}
	}
	return fmt.Sprintf("working %ds", int(time.Since(l.begun)/time.Second)) + stops
}

// faint paints what is not the person's.
func (l *loop) faint(text string) string {
	if !l.options.Colour {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}

// shorter returns a line that takes at most width cells.
func shorter(line string, width int) string {
	total := 0
	for _, c := range display.Chars(line) {
		total += c.Width
	}
	if total <= width {
		return line
	}
	return within(line, max(width-1, 0)) + "…"
}
