package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// live shows which allowed tool runs, and for how long, in the last line of a terminal.
// It is safe for concurrent use; nil shows nothing.
type live struct {
	screen *ask.Screen
	width  func() int
	silent bool // somebody else shows it: see doing

	mu    sync.Mutex
	all   []running // the oldest first
	timer *time.Timer
}

// running is an allowed tool use that has no result yet.
type running struct {
	id, what string
	since    time.Time
}

// shortest is for how long a tool runs before it is shown.
const shortest = 2 * time.Second

// heed takes an event of the run. Paths in base are shown relative to it.
func (l *live) heed(e wrapper.Event, base string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case e.Type == wrapper.DecisionEvent && e.Behavior == "allow":
		what := visible.Line(strings.TrimPrefix(e.InputSummary, base+"/"))
		if e.Tool != "Bash" {
			what = strings.TrimSpace(visible.Line(e.Tool) + " " + what)
		}
		l.all = append(l.all, running{e.ToolUseID, what, time.Now()})
		if l.timer == nil && !l.silent {
			l.timer = time.AfterFunc(shortest, l.show)
		}
	case e.Type == wrapper.ToolResultEvent:
		l.all = slices.DeleteFunc(l.all, func(r running) bool { return r.id == e.ToolUseID })
	case e.Type == wrapper.DoneEvent, e.Type == wrapper.ErrorEvent && e.ToolUseID == "":
		l.all = nil
	}
	if len(l.all) == 0 && l.timer != nil {
		l.timer.Stop()
		l.timer = nil
		l.screen.Status("")
	}
}

// show shows what runs, and comes back with the next second.
func (l *live) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		return
	}
	since := time.Since(l.all[0].since)
	if since >= shortest {
		l.screen.Status(l.line(since, l.width()-1))
	}
	l.timer.Reset(time.Second - since%time.Second)
}

// doing returns what has run for a while, in at most width cells, "" if nothing has.
func (l *live) doing(width int) string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 || time.Since(l.all[0].since) < shortest {
		return ""
	}
	return l.line(time.Since(l.all[0].since), width)
}

// line returns the line for the oldest, of at most width cells.
func (l *live) line(since time.Duration, width int) string {
	head, more := "running "+lasted(since)+"  ", ""
	if n := len(l.all) - 1; n > 0 {
		more = fmt.Sprintf("  +%d more", n)
	}
	room := width - len(head) - len(more)
	what := l.all[0].what
	if cells(what) > room {
		what = within(what, max(room-1, 1)) + "…"
	}
	return within(head+what+more, max(width, 1))
}

// lasted returns a duration in whole seconds: 12s, 2m05s, 1h02m05s.
func lasted(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm%02ds", s/3600, s/60%60, s%60)
}
