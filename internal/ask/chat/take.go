package chat

import (
	"context"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// wanted is a question that wants the terminal.
type wanted struct {
	about   string // what it is about, in a line
	ctx     context.Context
	granted chan bool // whether the person has asked for it
	done    chan struct{}
}

// Board returns the terminal for questions beside the conversation.
func (c *Chat) Board() ask.Shared { return &lent{Board: c.board, chat: c} }

// lent is the terminal while a question has it.
type lent struct {
	ask.Board
	chat *Chat
	has  *wanted
}

// Take waits until the person does not type, or asks for the question.
func (b *lent) Take(ctx context.Context, about *permission.Request) (bool, error) {
	w := &wanted{about: visible.Line(about.Use.Tool), ctx: ctx, granted: make(chan bool), done: make(chan struct{})}
	select {
	case b.chat.wants <- w:
	case <-b.chat.over:
		return false, tty.ErrGone
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case asked := <-w.granted:
		b.has = w
		return asked, nil
	case <-b.chat.over:
		return false, tty.ErrGone
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// Give gives the terminal back to the conversation.
func (b *lent) Give() { close(b.has.done) }

// lend gives the terminal to the question that has waited longest, until it is answered.
func (l *loop) lend(asked bool) error {
	w := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.screen.Foot(ask.Foot{})
	l.shown = ask.Foot{}
	l.board.Close()
	select {
	case w.granted <- asked:
		<-w.done
	case <-w.ctx.Done():
	}
	l.keys.Flush()
	return l.board.Open()
}

// drop forgets questions that nobody asks any more.
func (l *loop) drop() {
	still := l.waiting[:0]
	for _, w := range l.waiting {
		if w.ctx.Err() == nil {
			still = append(still, w)
		}
	}
	l.waiting = still
}
