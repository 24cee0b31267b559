package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// use decides a tool use. While a person is asked elsewhere, the session is free for
// other processes.
func (s *session) use(ctx context.Context, e *Event) (Verdict, error) {
	if err := s.withdraw(ctx, e.dialogs(), "the agent goes on"); err != nil {
		return Verdict{}, err
	}
	ask := &asking{session: s, native: e.Asks}
	res, err := ask.decide(ctx, e.Use)
	if err != nil {
		return Verdict{}, err
	}
	return s.verdict(e, res)
}

// dialog decides a tool use about which the host asks a person at this moment. What the
// policy denies is denied; about what it asks, a person may answer elsewhere too; what it
// allows is left to the host, which has reasons of its own.
func (s *session) dialog(ctx context.Context, e *Event) (Verdict, error) {
	if s.light {
		return Verdict{}, errWhole
	}
	d := s.Explain(e.Use, nil)
	if v, ok := stands(&d); ok {
		return v, nil
	}
	if s.ask == nil {
		return left, nil
	}
	ask := &asking{session: s, dialog: e}
	res, err := ask.decide(ctx, e.Use)
	if err != nil || res.By != "person" {
		return left, nil // the host's own dialog is still there
	}
	return s.verdict(e, res)
}

// asking is a tool use that may have to wait.
type asking struct {
	*session
	native bool   // the host asks
	dialog *Event // the host asks at the same time; nil: it does not
	id     string // of the question that waits; "": none does
	whole  bool   // the question cannot be put by a light run
}

// decide decides a tool use, and waits for the answer to its question.
func (a *asking) decide(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	a.SetApprover(a)
	if err := a.Enter(ctx, a.session.id); err != nil {
		return permission.Result{}, err
	}
	if err := a.enclose(use); err != nil {
		return permission.Result{}, errors.Join(err, a.Exit())
	}
	res, err := a.CanUseTool(ctx, use)
	for parked := new(permission.Parked); errors.As(err, &parked); {
		if a.whole {
			a.Leave() // nothing is kept: it is decided anew
			return permission.Result{}, errWhole
		}
		if err := a.Exit(); err != nil {
			return permission.Result{}, err
		}
		if err := a.wait(ctx); err != nil {
			return permission.Result{}, err
		}
		if err := a.Enter(context.WithoutCancel(ctx), a.session.id); err != nil {
			return permission.Result{}, err
		}
		if res, err = parked.Resume(ctx); err == nil && res.Sandbox == permission.Within {
			err = errors.New("it is allowed only inside the sandbox, and was not when the question was put: try again")
		}
	}
	if err == nil {
		err = a.proven(&res)
	}
	return res, errors.Join(err, a.Exit())
}

// wait waits until the question has ended, or ctx ends. What nobody answers beside a
// dialog of the host is left to that, with errLeft.
func (a *asking) wait(ctx context.Context) error {
	if a.dialog == nil {
		a.asker.Wait(ctx, a.id) // Resume says what came of it
		return nil
	}
	file := a.waits(a.dialog)
	if os.WriteFile(file, []byte(a.id), 0o600) == nil {
		defer os.Remove(file)
	}
	if a.asker.Wait(ctx, a.id) {
		return nil
	}
	_ = a.asker.Withdraw(context.WithoutCancel(ctx), a.id, "it is left to the window of "+a.host.Title) // it may be settled
	return errLeft
}

// errLeft is why there is no decision on a tool use that a dialog of the host is about.
var errLeft = errors.New("it is left to the window of the agent")

// Approve implements permission.Approver: it leaves the question to the host, or puts it
// where it can wait.
func (a *asking) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	if a.native {
		return permission.Answer{}, permission.ErrHanded
	}
	asker, err := a.elsewhere()
	if errors.Is(err, errWhole) {
		a.whole = true
		return permission.Answer{}, permission.ErrParked
	}
	if err != nil {
		return permission.Answer{}, err
	}
	ask.Besides = append(ask.Besides, a.besides()...)
	answer, id, err := asker.Park(ctx, ask, a.id)
	a.id = id
	return answer, err
}

// Questions that wait beside a dialog of the host have a file each in the directory of
// the session, with the question's id. Its name says which agent asks about which tool
// use, so that the next event of that agent withdraws it.

const waitsName = "waits"

// key returns what an event is about, for comparison: the agent, the tool and its input.
func (e *Event) key() string {
	sum := sha256.Sum256([]byte(e.Use.Tool + "\x00" + string(e.Use.Input)))
	return e.dialogs() + hex.EncodeToString(sum[:8])
}

// dialogs returns the beginning of the keys of all dialogs of the agent of an event.
func (e *Event) dialogs() string {
	sum := sha256.Sum256([]byte(e.Use.Agent))
	return hex.EncodeToString(sum[:8]) + "-"
}

// waits returns the file of a question of this process.
func (s *session) waits(e *Event) string {
	dir := filepath.Join(place(s.state, s.fixed.Host, s.fixed.Session), waitsName)
	_ = os.Mkdir(dir, 0o700)
	return filepath.Join(dir, fmt.Sprintf("%s-%d", e.key(), os.Getpid()))
}

// withdraw takes back the questions of the session whose file begins with a key.
func (s *session) withdraw(ctx context.Context, key, why string) error {
	dir := filepath.Join(place(s.state, s.fixed.Host, s.fixed.Session), waitsName)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there are none
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), key) {
			continue
		}
		asker, err := s.elsewhere()
		if err != nil {
			return err
		}
		file := filepath.Join(dir, entry.Name())
		if id, err := os.ReadFile(file); err == nil && len(id) > 0 {
			_ = asker.Withdraw(ctx, string(id), why) // it may be settled
		}
		_ = os.Remove(file)
	}
	return nil
}
