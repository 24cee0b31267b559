package ask

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Terminal returns the board of the terminal that reads keys from in and shows
// output written to out, for example os.Stdin and os.Stdout.
func Terminal(in, out *os.File) Board { return tty.New(in, out) }

// Board is a terminal that a person types on; it reports keys from Open to Close.
// Terminal returns one. The methods are for this package, one goroutine at a time.
type Board interface {
	Open() error
	Close()
	Keys() <-chan []byte
	Notices() <-chan tty.Notice
	Size() (columns, lines int)
	Dumb() bool
	ASCII() bool
	Retake()
	Stop() error
}

// Shared is a Board on which a person also types something else.
type Shared interface {
	Board
	// Take waits until the person does not type, or asks for the question. It reports
	// whether the person has asked for it. Give must follow if there is no error.
	Take(ctx context.Context, ask *permission.Request) (asked bool, err error)
	Give()
}

// The times during which a key must be alone.
const (
	// grace is the time without a key before one counts: a key that was typed
	// before the question appeared or changed does not answer it.
	grace = 350 * time.Millisecond
	// settle is the time without another key after one that counts: a burst of
	// keys was pasted.
	settle = 60 * time.Millisecond
)

// pace is how long a key must be alone.
type pace struct{ grace, settle time.Duration }

var (
	usual = pace{grace, settle}
	// unexpected is for a question that appears where a person types something else:
	// whoever begins to type just then types the second key before the first one counts.
	unexpected = pace{time.Second, 400 * time.Millisecond}
)

// keyboard reads what a person does while a question is open.
type keyboard struct {
	board   Board
	pace    pace
	decoder tty.Decoder
	held    tty.Notice // one that came while a key settled
	// news is read while nothing is being pressed; nil: nobody is told. What it tells
	// changes nothing that a key answers, so a key counts without a new time of grace:
	// otherwise questions that come and go could keep a person from answering.
	news <-chan struct{}
	told bool // the last notice was one of news
}

// othersWait is the notice that questions have come to wait, or gone.
const othersWait tty.Notice = 1 << 7

var errInterrupted = errors.New("interrupted")

// press is a key that counts, or a notice.
type press struct {
	tty.Key
	notice tty.Notice
}

// decision waits for a key that is pressed alone: after the time of grace, and
// with no other key right after it. It calls armed when a key begins to count and
// when it no longer does. ^C and ^Z count at any time.
func (k *keyboard) decision(ctx context.Context, armed func(bool)) (press, error) {
	for {
		if told := k.told; !told {
			if p, err := k.quiet(ctx); err != nil || p != nil {
				return deref(p), err
			}
		}
		k.told = false
		armed(true)
		keys, notice, err := k.chunk(ctx, nil)
		if k.told = notice == othersWait; err != nil || notice != 0 {
			return press{notice: notice}, err
		}
		alone, more := k.settled(ctx)
		if stop := stops(append(keys, more...)); stop != 0 {
			return press{Key: tty.Key{Kind: stop}}, nil
		}
		if key, begun := k.flushed(alone); begun {
			keys = append(keys, key)
		}
		if alone && len(keys) == 1 {
			return press{Key: keys[0]}, nil
		}
		armed(false)
	}
}

func deref(p *press) press {
	if p == nil {
		return press{}
	}
	return *p
}

// quiet waits until no key was pressed during the time of grace. It drops other
// input, except for keys that stop the question.
func (k *keyboard) quiet(ctx context.Context) (*press, error) {
	timer := time.NewTimer(k.pace.grace)
	defer timer.Stop()
	for {
		keys, notice, err := k.chunk(ctx, timer.C)
		stop := stops(keys)
		switch {
		case errors.Is(err, errQuiet):
			k.decoder.Flush()
			return nil, nil
		case err != nil:
			return nil, err
		case notice != 0:
			return &press{notice: notice}, nil
		case stop != 0:
			return &press{Key: tty.Key{Kind: stop}}, nil
		}
		timer.Reset(k.pace.grace)
	}
}

// flushed ends an escape sequence that remained incomplete.
func (k *keyboard) flushed(alone bool) (tty.Key, bool) {
	if !alone {
		return tty.Key{}, false
	}
	return k.decoder.Flush()
}

// stops returns the kind of the key that stops the question, 0 if there is none.
func stops(keys []tty.Key) tty.Kind {
	for _, key := range keys {
		if key.Kind == tty.Interrupt || key.Kind == tty.Suspend {
			return key.Kind
		}
	}
	return 0
}

// settled waits a moment and reports whether no key came.
func (k *keyboard) settled(ctx context.Context) (alone bool, more []tty.Key) {
	timer := time.NewTimer(k.pace.settle)
	defer timer.Stop()
	more, notice, err := k.chunk(ctx, timer.C)
	k.held = notice
	return errors.Is(err, errQuiet), more
}

// errQuiet says that there was no input within the limit.
var errQuiet = errors.New("nothing came")

// chunk waits for input: keys, or a notice. limit may be nil.
func (k *keyboard) chunk(ctx context.Context, limit <-chan time.Time) ([]tty.Key, tty.Notice, error) {
	if notice := k.held; notice != 0 {
		k.held = 0
		return nil, notice, nil
	}
	var news <-chan struct{}
	if limit == nil {
		news = k.news
	}
	select {
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-news:
		return nil, othersWait, nil
	case <-limit:
		return nil, 0, errQuiet
	case notice := <-k.board.Notices():
		return nil, notice, nil
	case data, open := <-k.board.Keys():
		if !open {
			return nil, 0, tty.ErrGone
		}
		return k.decoder.Feed(data), 0, nil
	}
}

// typed waits for keys of a text, which may come in bursts.
func (k *keyboard) typed(ctx context.Context) ([]tty.Key, tty.Notice, error) {
	keys, notice, err := k.chunk(ctx, nil)
	if err != nil || notice != 0 || !k.decoder.Pending() {
		return keys, notice, err
	}
	alone, more := k.settled(ctx)
	keys = append(keys, more...)
	if key, begun := k.flushed(alone); begun {
		keys = append(keys, key)
	}
	return keys, 0, nil
}
