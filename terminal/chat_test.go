package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/store"
)

// chatting is a chat over a memory.
func chatting(t *testing.T) (*chat, *memory) {
	m := newMemory()
	c := newChats(Options{Store: m, Warn: func(s string) { t.Error(s) }})
	t.Cleanup(c.close)
	return c.open(store.Session{ID: "s", ConversationID: "talk"}), m
}

func (m *memory) texts() (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.chats {
		all = append(all, c.Text)
	}
	return all
}

func TestChatFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, m := chatting(t)
		c.write([]byte("a"))
		time.Sleep(chatDelay - 1)
		c.write([]byte("b"))
		synctest.Wait()
		if got := m.texts(); len(got) != 0 {
			t.Errorf("before %v: %q", chatDelay, got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := m.texts(); len(got) != 1 || got[0] != "[TERMINAL] ab" {
			t.Errorf("%q", got)
		}
		c.write([]byte(strings.Repeat("x", chatPiece)))
		synctest.Wait()
		if got := m.texts(); len(got) != 2 || len(got[1]) != len(chatPrefix)+chatPiece {
			t.Errorf("%d", len(got))
		}
		c.write([]byte(" \r\n"))
		time.Sleep(2 * chatDelay)
		synctest.Wait()
		if got := m.texts(); len(got) != 2 {
			t.Errorf("a blank entry: %q", got[2:])
		}
		c.write([]byte("the \x1b[1mlast\x1b[0m one, token=hunter2hunter2\r\n"))
		c.close()
		if got := m.texts(); len(got) != 3 || got[2] != "[TERMINAL]  \nthe last one, token=REDACTED\n" {
			t.Errorf("%q", got[2:])
		}
		c.write([]byte("too late"))
	})
}

// TestChatWaits: output that is not stored is bounded, and the program waits.
func TestChatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, m := chatting(t)
		m.slow = make(chan struct{})
		line := strings.Repeat("y", 99) + "\n"
		const lines = 100000
		written := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range lines {
				c.write([]byte(line))
				written++
			}
		}()
		synctest.Wait()
		if held := written * len(line); held > 2*chatBehind+chatMost || held < chatBehind {
			t.Errorf("%d bytes are held", held)
		}
		close(m.slow)
		<-done
		c.close()
		all := ""
		for _, text := range m.texts() {
			if len(text) > chatMost || !strings.HasPrefix(text, chatPrefix) {
				t.Errorf("%d bytes: %.20q", len(text), text)
			}
			all += text[len(chatPrefix):]
		}
		if all != strings.Repeat(line, lines) {
			t.Errorf("%d bytes of %d", len(all), lines*len(line))
		}
	})
}

// TestCut: an entry ends behind a line, or at least between characters.
func TestCut(t *testing.T) {
	for _, unit := range []string{"\u4f60", "x", "\xff"} {
		for n := range 5 {
			text := strings.Repeat("x", n) + strings.Repeat(unit, 2*chatMost)
			all := pieces([]byte(text))
			if got := strings.Join(all, ""); got != strings.ToValidUTF8(text, "\ufffd") && unit != "\xff" || len(all[0])+len(chatPrefix) > chatMost && unit != "\xff" {
				t.Errorf("%q: %d pieces, %d bytes", unit, len(all), len(all[0]))
			}
		}
	}
}
