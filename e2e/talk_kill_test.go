//go:build e2e

package e2e

import (
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestConversationKilled kills the agent CLI at random moments of a turn that is streamed:
// the screen always says that it has ended, what it was about is in the line again, and the
// next prompt goes on with the session.
func TestConversationKilled(t *testing.T) {
	times := 3
	if long() {
		times = 20
	}
	random := rand.New(rand.NewPCG(seed(t), 0))
	eachRelease(t, func(t *testing.T, r release) {
		b := newShownBox(t)
		slow := tells(strings.Repeat("and on ", 100) + "it goes.")
		slow.Beat = 5 * time.Millisecond
		m := startModel(t, script{"main": slices.Repeat([]turn{{slow}}, 3*times)})
		s := wrapped{release: r}.converses(t, b, m, startWeb(t, b))
		s.idle("/help lists")
		midst, lost := 0, 0
		for i := range times {
			s.says("[[main]] go on")
			s.writes(random.IntN(100))
			if n := s.lost(); n > lost { // it was killed before it had kept it
				lost = n
				s.types("\r")
				s.writes(random.IntN(100))
			}
			for _, pid := range agents(r.Path) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			s.until("what became of the agent", func() bool { return s.told() == i+1 })
			if failed := s.told() - strings.Count(s.all(), betweenTurns); failed > midst {
				midst++
				s.until("the prompt again", func() bool { return strings.HasSuffix(s.line(), "> [[main]] go on") && !s.works() })
				s.types("\x15")
			}
			s.until("an empty line", func() bool { return s.line() == ">" })
		}
		s.says("the last") // a conversation that the script does not know the end of
		s.until("an answer", func() bool { return strings.HasSuffix(strings.TrimSpace(s.shown()), "/help") })
		s.types("\x04")
		if code := s.ends(); code != 0 {
			t.Errorf("exit code %d:\n%s", code, s.all())
		}
		if sessions := strings.Count(s.all(), "session "); sessions < 1 || midst == 0 {
			t.Errorf("%d sessions, %d kills in the midst of a turn:\n%s", sessions, midst, s.all())
		}
		t.Logf("%d kills, %d of them in the midst of a turn", times, midst)
	})
}

// betweenTurns is what the screen says of an agent that ends while nobody waits for it.
const betweenTurns = "the agent CLI has ended by itself"

// told counts how often the screen said that the agent has ended: in a turn, between two, or
// as it was asked for its version, which older ones are by a process of its own.
func (s *seat) told() int {
	n := 0
	for _, words := range []string{"the agent CLI broke off", betweenTurns, "the agent CLI does not tell its version"} {
		n += strings.Count(s.all(), words)
	}
	return n
}

// lost counts how often the screen said that a session is not there.
func (s *seat) lost() int { return strings.Count(s.all(), "the agent CLI has no session") }

// line returns the row in which the person types, above the status.
func (s *seat) line() string {
	rows := strings.Split(strings.TrimSpace(s.shown()), "\n")
	return strings.TrimSpace(rows[max(len(rows)-2, 0)])
}

// works reports whether the status says that the agent works.
func (s *seat) works() bool {
	shown := strings.TrimSpace(s.shown())
	return strings.Contains(shown[strings.LastIndex(shown, "\n")+1:], "working")
}

// writes waits until the agent works, and until the screen has changed so many times since,
// or the agent works no more.
func (s *seat) writes(times int) {
	s.t.Helper()
	begun, lost := false, s.lost()
	limit := time.After(2 * time.Minute)
	for n := 0; n <= times; {
		if begun {
			n++
		}
		s.mu.Lock()
		wrote := s.wrote
		s.mu.Unlock()
		if begun && !s.works() || s.lost() > lost {
			return
		}
		begun = begun || s.works()
		select {
		case <-wrote:
		case <-s.over:
			return
		case <-limit:
			s.t.Fatalf("nothing more is written:\n%s", s.all())
		}
	}
}
