package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// What runs is shown from the second second on, once a second, and is gone before
// anything else is written.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		var cells atomic.Int64 // which the timer reads
		cells.Store(40)
		width := func() int { return int(cells.Load()) }
		screen := ask.NewScreen(&out, nil)
		s := &stream{out: screen, base: "/w", columns: width, live: &live{screen: screen, width: width}}
		allow := func(id, tool, about string) {
			s.event(wrapper.Event{Type: "decision", Behavior: "allow", Tool: tool, ToolUseID: id, InputSummary: about, Reason: "r"})
		}
		passes := func(d time.Duration, want string) {
			t.Helper()
			out.take()
			time.Sleep(d)
			synctest.Wait()
			if got := out.take(); got != want {
				t.Errorf("after %v: %q, want %q", d, got, want)
			}
		}
		const gone = "\r\x1b[K"
		allow("1", "Bash", "go test ./...")
		passes(1999*time.Millisecond, "")
		passes(time.Millisecond, "running 2s  go test ./...")
		passes(time.Second, gone+"running 3s  go test ./...")
		allow("2", "Read", "/w/src/a.go")
		s.event(wrapper.Event{Type: "decision", Behavior: "deny", Tool: "Bash", ToolUseID: "d", InputSummary: "rm x"})
		passes(time.Second, "running 4s  go test ./...  +1 more")
		allow("3", "Bash", "make")
		out.take()
		s.event(wrapper.Event{Type: "tool_result", ToolUseID: "1", Text: "ok"})
		if got := out.take(); got != "       | ok\n" {
			t.Errorf("a result: %q", got)
		}
		passes(time.Second, "running 2s  Read src/a.go  +1 more")
		s.event(wrapper.Event{Type: "tool_result", ToolUseID: "2"})
		passes(2*time.Second, gone+"running 2s  make"+gone+"running 3s  make")
		cells.Store(20)
		passes(57*time.Second-time.Millisecond, secondsOf(4, 59, "make"))
		passes(time.Second, gone+"running 1m00s  make")
		out.take()
		s.event(wrapper.Event{Type: "tool_result", ToolUseID: "3"})
		if got := out.take(); got != gone {
			t.Errorf("the last result: %q", got)
		}
		passes(time.Hour, "")
		allow("4", "Bash", "a-command-of-some-length --with flags")
		passes(2*time.Second, "running 2s  a-comm…")
		out.take()
		s.event(wrapper.Event{Type: "done"})
		passes(time.Hour, "")
	})
}

// output is what was written to a screen: the clock writes beside the test.
type output struct {
	mu  sync.Mutex
	out strings.Builder
}

func (w *output) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// take returns what was written since the last take.
func (w *output) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.out.Reset()
	return w.out.String()
}

func secondsOf(first, last int, what string) string {
	var out strings.Builder
	for n := first; n <= last; n++ {
		out.WriteString("\r\x1b[Krunning " + lasted(time.Duration(n)*time.Second) + "  " + what)
	}
	return out.String()
}

func TestLasted(t *testing.T) {
	for d, want := range map[time.Duration]string{1999 * time.Millisecond: "1s", 59 * time.Second: "59s", time.Minute: "1m00s", 125 * time.Second: "2m05s", 3725 * time.Second: "1h02m05s"} {
		if got := lasted(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
