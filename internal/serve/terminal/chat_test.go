package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
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

// TestChatSecrets: a secret that comes in two pieces is masked like one that comes at once.
func TestChatSecrets(t *testing.T) {
	const key = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
	for _, parts := range [][]string{
		{"the key is ghp_0123456789", "abcdefghijklmnopqrstuvwxyzAB\n"},
		{"the key is " + key[:39], key[39:] + " and more\n"},
		{"the key is ", key + "\n"},
		{"token=hunter2", "hunter2hunter2\n"},
		{"Authorization: Bearer ", "hunter2hunter2hunter2hunter2\n"},
		{strings.Repeat("x ", 600) + "password=hun", "ter2hunter2\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, m := chatting(t)
			for _, part := range parts {
				c.write([]byte(part))
				time.Sleep(chatDelay)
				synctest.Wait()
			}
			c.close()
			got := strings.ReplaceAll(strings.Join(m.texts(), ""), chatPrefix, "")
			if strings.Contains(got, "hun") || strings.Contains(got, "ter2") || strings.Contains(got, "ghp_") || strings.Contains(got, "xyzAB") || !strings.Contains(got, "REDACTED") {
				t.Errorf("%q becomes %q", parts, got)
			}
		})
	}
}

// TestChatWord: a word that has no end is stored, and only once.
func TestChatWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, m := chatting(t)
		c.write([]byte("Welcome\nName:"))
		time.Sleep(3 * chatDelay)
		synctest.Wait()
		if got := m.texts(); len(got) != 2 || got[0] != "[TERMINAL] Welcome\n" || got[1] != "[TERMINAL] Name:" {
			t.Errorf("%q", got)
		}
		c.write([]byte("Grüße, " + strings.Repeat("y", 2*chatContext)))
		c.write([]byte("z\n"))
		c.close()
		if got := strings.Join(m.texts()[2:], ""); strings.Count(got, "y") != 2*chatContext || !strings.Contains(got, "Grüße, y") || !strings.HasSuffix(got, "yz\n") {
			t.Errorf("%.40q…%q", got, got[max(0, len(got)-10):])
		}
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
