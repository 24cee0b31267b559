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
	"github.com/agent-wrapper/agent-wrapper/store"
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
	taken := map[*chat][]byte{}
	c.mu.Lock()
	for {
		for x := range c.all {
			if x.due && x.blank() {
				x.due = false // with what follows
			}
			if x.due || c.over && len(x.text) > 0 {
				taken[x] = x.text
				x.text, x.due, x.armed, x.busy = nil, false, false, true
				x.timer.Stop()
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
		for _, piece := range pieces(text) {
			masked, _ := mask.Text(piece)
			entries = append(entries, store.Chat{
				ConversationID: x.conversation, SessionID: x.session, Sender: "terminal", Type: "terminal_output", Text: chatPrefix + masked, Time: now,
			})
		}
	}
	return entries, from, over
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
