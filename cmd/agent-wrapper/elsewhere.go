package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// approvalsLocal is the value of --approvals for questions that any terminal of this
// user can answer.
const approvalsLocal = "local"

// place is a broker, and who this process is there.
type place struct {
	approval.Broker
	person string               // the name under which it may answer; "": it may not
	asks   func(root int) error // makes known that the processes below root ask
	answer func() error         // why this process may not answer, nil if it may
	close  func() error
	alone  bool   // all who answer there are one person
	server string // its URL, "" for this machine
}

// damaged tells of a question that cannot be read.
func (a *app) damaged(err error) { a.warn(plain.Text(err)) }

// placeAt opens the broker that a value of --approvals names. warn is told of questions
// that cannot be read.
func placeAt(where string, warn func(error)) (*place, error) {
	if where != approvalsLocal {
		return nil, among("--approvals", where, approvalsLocal, "the URL of a server")
	}
	state := userDirs().State
	if state == "" {
		return nil, usage("%w: set HOME or XDG_STATE_HOME", engine.ErrNoState)
	}
	l, err := broker.OpenLocal(filepath.Join(state, approvalsDir), nil)
	if err != nil {
		return nil, err
	}
	l.Warn = warn
	return &place{
		Broker: l, person: userName(), asks: l.Asks, close: l.Close, alone: true,
		answer: func() error { return mayAnswer(l) },
	}, nil
}

// agentVariables are variables that agents set for what they start, beside that of a run
// of ours.
var agentVariables = [...]string{claude.BelowRun, "CLAUDECODE", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI", "QWEN_CODE", "COPILOT_CLI", "OPENCODE", "CRUSH"}

// mayAnswer returns an error for a process that an agent has started.
func mayAnswer(l *broker.Local) error { return byPerson(l, "answer") }

// byPerson returns an error for a process that an agent has started, and that would do
// what only a person may. Another process of the same user can get around that: it keeps
// an agent from doing so by mistake or out of helpfulness, and is no boundary.
func byPerson(l *broker.Local, does string) error {
	for _, name := range agentVariables {
		if os.Getenv(name) != "" {
			return &coded{codeDenied, fmt.Errorf("this was started by an agent (%s is set): only a person may %s: run it in a terminal that no agent has started", name, does)}
		}
	}
	if err := l.Answerable(process.Ancestors()); err != nil {
		return &coded{codeDenied, err}
	}
	return nil
}

// userName returns the name of the user of this process.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "user")
}

// asksAt opens the broker at which the processes below root ask.
func (a *app) asksAt(where string, root int) (*place, error) {
	if isServer(where) {
		return a.askerAt(where)
	}
	p, err := placeAt(where, a.damaged)
	if err != nil {
		return nil, err
	}
	if err := p.asks(root); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// approver returns an approver that asks there and, if somebody is there, here.
func (p *place) approver(here permission.Approver, e *engine.Engine, menu desk.Menu, warn func(string)) permission.Approver {
	o := p.questions(e, menu, warn)
	if person, ok := here.(*ask.Approver); ok {
		o.Here = person
	}
	return broker.New(o)
}

// questions returns how the questions of an engine are put there.
func (p *place) questions(e *engine.Engine, menu desk.Menu, warn func(string)) broker.Options {
	demands := e.Demands()
	for _, people := range demands.Quorum {
		if people > 1 && p.alone {
			warn("the policy demands that several people approve, and here there is one: what needs them is not approved")
			break
		}
	}
	// Not p itself: approval.Await asks a client of a server to wait.
	return broker.Options{
		Broker: p.Broker, Person: p.person, Menu: menu, File: desk.EditedFile, Project: e.Place.Workspace,
		Show: approvalsAt(p.server) + " show", Warn: warn,
		Terms: func(ask *permission.Request) approval.Terms {
			t, err := demands.Terms(ask, "", approval.Principal{}, time.Now())
			if err != nil {
				return approval.Terms{} // it has no digest: the desk says so
			}
			return t
		},
	}
}

// Close closes the broker.
func (p *place) Close() error { return p.close() }

// menuOf returns what is offered to a person who answers elsewhere.
func menuOf(e *engine.Engine) desk.Menu {
	m := desk.Menu{Session: e.Session, Edit: true}
	if e.Keeps() {
		m.Keep, m.Into = e.Keep, e.KeepsIn
	}
	return m
}
