package terminal

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

const (
	// chatPiece is the number of bytes from which output goes to the chat, chatDelay how
	// long less of it waits for more.
	chatPiece = 1000
	chatDelay = 500 * time.Millisecond
	// chatMost is the size of the largest entry.
	chatMost = 64 << 10
	// chatBehind is how much of a session may wait to be stored. Then its programs wait.
	chatBehind = 256 << 10
	// chatContext is how much of the line that was begun is kept to see secrets in what
	// follows, and the longest word that waits for its end.
	chatContext = 1 << 10
	// ChatPrefix begins the entries of a terminal in a conversation.
	chatPrefix = "[TERMINAL] "
)

// chats stores the output of sessions as entries of their conversations: one
// goroutine for all, which takes what has come together since it last looked. A fast
// program therefore makes large entries, and one that is faster than the store waits.
type chats struct {
	options Options
	done    chan struct{}

	mu   sync.Mutex
	wake *sync.Cond // something is due, or was stored
	all  map[*chat]bool
	over bool
}

// chat is the output of one session that is not stored yet.
type chat struct {
	*chats
	session, conversation string

	plain plain
	text  []byte
	line  []byte // the end of the line that was begun and is stored, at most chatContext
	timer *time.Timer
	armed bool // the timer runs
	due   bool // to be stored now
	busy  bool // being stored
	last  bool // nothing will follow
}

func newChats(o Options) *chats {
	c := &chats{options: o, all: map[*chat]bool{}, done: make(chan struct{})}
	c.wake = sync.NewCond(&c.mu)
	go c.run()
	return c
}

// open returns the chat of a session.
func (c *chats) open(s store.Session) *chat {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &chat{chats: c, session: s.ID, conversation: s.ConversationID}
	x.timer = time.AfterFunc(chatDelay, x.flush)
	x.timer.Stop()
	c.all[x] = true
	return x
}

// close stores what there is, and ends.
func (c *chats) close() {
	c.mu.Lock()
	c.over = true
	c.wake.Broadcast()
	c.mu.Unlock()
	<-c.done
}

// write adds output, and waits as long as too much is not stored yet.
func (c *chat) write(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.text) >= chatBehind && !c.last && !c.over {
		c.wake.Wait()
	}
	c.add(p)
}

// note adds output without waiting.
func (c *chat) note(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(p)
}

func (c *chat) add(p []byte) {
	if c.last || c.over {
		return
	}
	c.text = c.plain.append(c.text, p)
	switch {
	case len(c.text) >= chatPiece && !c.due:
		c.due = true
		c.wake.Broadcast()
	case len(c.text) > 0 && !c.armed:
		c.armed = true
		c.timer.Reset(chatDelay)
	}
}

// flush has what there is stored.
func (c *chat) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due, c.armed = len(c.text) > 0, false
	c.wake.Broadcast()
}

// close stores what there is, and waits for that.
func (c *chat) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.due = true, len(c.text) > 0
	c.wake.Broadcast()
	for len(c.text) > 0 || c.busy {
		c.wake.Wait()
	}
	c.timer.Stop()
	delete(c.all, c)
}

// run stores what is due until the end.
func (c *chats) run() {
	defer close(c.done)
	for {
		entries, from, over := c.take()
		if len(entries) > 0 {
			c.store(entries)
		}
		c.mu.Lock()
		for _, x := range from {
			x.busy = false
		}
		c.wake.Broadcast()
		c.mu.Unlock()
		if over {
			return
		}
	}
}

// take waits until something is due, and returns it.
func (c *chats) take() (entries []store.Chat, from []*chat, over bool) {
	taken := map[*chat]string{}
	c.mu.Lock()
	for {
		for x := range c.all {
			if x.due && x.blank() {
				x.due = false // with what follows
			}
			if x.due || c.over && len(x.text) > 0 {
				taken[x] = x.next()
				x.due, x.busy = false, true
			}
		}
		if len(taken) > 0 || c.over {
			break
		}
		c.wake.Wait()
	}
	over = c.over
	c.wake.Broadcast() // there is room
	c.mu.Unlock()
	now := time.Now()
	for x, text := range taken {
		from = append(from, x)
		for _, piece := range pieces([]byte(text)) {
			entries = append(entries, store.Chat{
				ConversationID: x.conversation, SessionID: x.session, Sender: "terminal", Type: "terminal_output", Text: chatPrefix + piece, Time: now,
			})
		}
	}
	return entries, from, over
}

// next takes what is stored next, with secrets masked. The lock is held.
func (c *chat) next() string {
	n := c.ready()
	all := append(c.line, c.text[:n]...)
	out := hidden(all[:len(c.line)], all)
	from := bytes.LastIndexByte(all, '\n') + 1
	c.line = bytes.Clone(all[max(from, len(all)-chatContext):])
	c.text = bytes.Clone(c.text[n:])
	if c.armed = len(c.text) > 0; c.armed {
		c.timer.Reset(chatDelay)
	} else {
		c.timer.Stop()
	}
	return out
}

// ready returns how much of the text is stored next. A word at its end may be the
// beginning of a secret: it waits once for what follows, unless it is all there is, or
// longer than chatContext.
func (c *chat) ready() int {
	n := bytes.LastIndexAny(c.text, " \t\n") + 1
	if c.last || c.over || len(c.text)-n > chatContext || len(bytes.TrimSpace(c.text[:n])) == 0 {
		return len(c.text)
	}
	return n
}

// hidden returns what follows begun in all, with secrets masked that begin before it.
func hidden(begun, all []byte) string {
	before, _ := mask.Text(strings.ToValidUTF8(string(begun), "\ufffd"))
	out, _ := mask.Text(strings.ToValidUTF8(string(all), "\ufffd"))
	n := 0
	for n < min(len(before), len(out)) && before[n] == out[n] {
		n++
	}
	for n > 0 && n < len(out) && !utf8.RuneStart(out[n]) {
		n--
	}
	return out[n:]
}

// blank reports whether there is nothing to see yet.
func (c *chat) blank() bool {
	return len(c.text) < chatPiece && !c.last && !c.over && len(bytes.TrimSpace(c.text)) == 0
}

// store stores entries.
func (c *chats) store(entries []store.Chat) {
	if _, err := c.options.Store.AppendChat(context.Background(), entries...); err != nil {
		c.options.Warn(fmt.Sprintf("%d pieces of output are missing in the chat: %v", len(entries), err))
	}
}

// pieces cuts text into entries, behind a line if possible, and leaves out blank ones.
func pieces(text []byte) (all []string) {
	for len(text) > 0 {
		n := cut(text)
		if piece := strings.ToValidUTF8(string(text[:n]), "\ufffd"); strings.TrimSpace(piece) != "" {
			all = append(all, piece)
		}
		text = text[n:]
	}
	return all
}

// cut returns the length of the next entry.
func cut(text []byte) int {
	most := chatMost - len(chatPrefix)
	if len(text) <= most {
		return len(text)
	}
	if n := bytes.LastIndexByte(text[:most], '\n'); n >= 0 {
		return n + 1
	}
	for n := most; n > most-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return most
}
