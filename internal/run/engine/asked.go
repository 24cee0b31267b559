package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// An editor that can answer only with its next start (docs/reference/protocol.md) names a tool.
// That is the answer to the very tool use that was asked about last, and nothing more,
// whatever the editor writes into its own lists because of it.

// Asked is what is kept of the question that was put last in a session, and of the editor
// that will answer it.
type Asked struct {
	Tool    string `json:"tool,omitempty"`    // "" if nothing waits for an answer
	Exactly string `json:"exactly,omitempty"` // see permission.Request.Exactly
	Again   bool   `json:"again,omitempty"`   // it may be allowed for the whole session
	Once    int    `json:"once,omitempty"`    // ID of the last answer for once; see EndOnce
	Editor  Words  `json:"editor"`
}

// LastAsked returns what was asked last in a session of the workspace. What cannot be
// read is nothing.
func (o *Options) LastAsked(session string) Asked {
	place, err := o.Place()
	if state := o.dirs().State; err == nil && state != "" && session != "" {
		s := &sessionStore{dir: sessionDir(filepath.Join(state, sessionsName), place.Workspace, session)}
		was, err := s.read(kept{V: 1, Workspace: place.Workspace, Session: session})
		if err == nil && was.Asked != nil {
			return *was.Asked
		}
	}
	return Asked{}
}

// ErrMovedOn is the error of ResumeAsked for a session in which something else happened.
var ErrMovedOn = errors.New("another process continued the session in the meantime: look at what it did, then send the message again")

// ResumeAsked is Resume for a run that has read with LastAsked what its editor answers.
// While another process uses the session, it calls waiting and waits for its end, or
// that of ctx. If that process has asked about something, or had another start of the
// editor, the error is ErrMovedOn: the answers are about something else.
func (e *Engine) ResumeAsked(ctx context.Context, session string, last Asked, waiting func()) error {
	return e.resume(session, patient(ctx, waiting), func(was *kept) error {
		now := Asked{}
		if was.Asked != nil {
			now = *was.Asked
		}
		now.Once, last.Once = 0, 0 // ends with the turn
		if !reflect.DeepEqual(now, last) {
			return ErrMovedOn
		}
		return nil
	})
}

// patient returns a locker that calls waiting if it has to wait. It waits until ctx ends.
func patient(ctx context.Context, waiting func()) locker {
	return func(dir string) (unlock func(), free bool, err error) {
		if unlock, free, err = atomicfile.TryLock(dir); err != nil || free {
			return unlock, free, err
		}
		waiting()
		var later func()
		locked := make(chan error, 1)
		go func() {
			var err error
			later, err = atomicfile.Lock(dir)
			locked <- err
		}()
		select {
		case err := <-locked:
			return later, err == nil, err
		case <-ctx.Done(): // which does not end the wait for the lock
			go func() {
				if <-locked == nil {
					later()
				}
			}()
			return nil, false, context.Cause(ctx)
		}
	}
}

// NoteAsked keeps what a person is asked about, for an answer that comes with the next
// run, and the words of the editor at this one.
func (e *Engine) NoteAsked(r *permission.Request, now Words) error {
	digest, err := r.Exactly()
	if err != nil {
		return err
	}
	return e.keepAsked(Asked{Tool: r.Use.Tool, Exactly: digest, Again: r.CanComeAgain() == nil, Once: e.asked().Once, Editor: now})
}

func (e *Engine) keepAsked(now Asked) error {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	e.store.now.Asked = &now
	return e.writeAnswers()
}

// AnswerAsked has a person's answer count for the tool use that was asked about last in
// the session that the engine goes on with, if it is one of the tool: once, or as long
// as the session. What may not come again is allowed once.
func (e *Engine) AnswerAsked(tool string, b permission.Behavior, once bool) error {
	asked := e.asked()
	if asked.Tool != tool || asked.Exactly == "" {
		return fmt.Errorf("%s is not what this session last asked about: it will be asked about", tool)
	}
	all := e.Session.Grants()
	g := permission.Grant{ID: e.nextAnswer(all), Behavior: b, Use: tool, Exactly: asked.Exactly}
	if once || !asked.Again {
		g.Counted, g.Left = true, 1
	}
	asked.Tool, asked.Exactly = "", ""
	if g.Counted {
		asked.Once = g.ID
	}
	all = append(all, g)
	if err := e.keepAnswered(all, asked); err != nil {
		return err
	}
	return e.Session.Restore(all, g.ID)
}

// keepAnswered writes the answers, and that nothing waits for one any more. Both are
// written at once: a process that ends in between would let an answer count twice.
func (e *Engine) keepAnswered(all []permission.Grant, now Asked) error {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	e.store.now.Asked = &now
	return e.keepAnswers(all)
}

// ForgetAsked ends the question that was put last. The next start of an editor answers it
// or does not: what is said later may be about anything.
func (e *Engine) ForgetAsked() error {
	asked := e.asked()
	if asked.Tool == "" {
		return nil
	}
	return e.keepAsked(Asked{Once: asked.Once, Editor: asked.Editor})
}

// EndOnce ends an answer for once that was not used: it is for the turn that follows it.
func (e *Engine) EndOnce() error {
	asked := e.asked()
	if asked.Once == 0 {
		return nil
	}
	e.Session.Revoke(asked.Once)
	asked.Once = 0
	return e.keepAsked(asked)
}

// NoteWords keeps the words of an editor that goes on with a session.
func (e *Engine) NoteWords(now Words) error {
	asked := e.asked()
	if reflect.DeepEqual(asked.Editor, now) {
		return nil
	}
	asked.Editor = now
	return e.keepAsked(asked)
}

// asked returns what was asked last.
func (e *Engine) asked() Asked {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if e.store.now.Asked == nil {
		return Asked{}
	}
	return *e.store.now.Asked
}

// nextAnswer returns the ID for a further answer.
func (e *Engine) nextAnswer(all []permission.Grant) int {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	last := e.store.now.Last
	for _, g := range all {
		last = max(last, g.ID)
	}
	return last + 1
}
