package main

import (
	"context"
	"errors"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/editor"
)

// The values of --approvals: the program that started us answers questions on standard
// input, or with its next start.
const (
	approvalsStdio = "stdio"
	approvalsExit  = "exit"
)

// runForEditor runs the agent for an editor that has started us.
func (a *app) runForEditor(ctx context.Context, f *runFlags) (err error) {
	if err := f.forEditor(); err != nil {
		return err
	}
	last, err := f.readAnswers()
	if err != nil {
		return err
	}
	ctx, r, err := f.start(ctx, a, outputJSONL, nil)
	if err != nil {
		return err
	}
	defer closing(r, &err)
	if f.approvals == approvalsExit {
		err = f.oneTurn(ctx, r, last)
	} else {
		err = f.converse(ctx, a, r)
	}
	if lost := r.screen.Failed(); lost != nil {
		return lost
	}
	return exit(exitCode(err)) // the editor was told of it as an event
}

// forEditor checks the flags that do not go together with --approvals.
func (f *runFlags) forEditor() error {
	switch {
	case f.approvals != approvalsStdio && f.approvals != approvalsExit:
		return among("--approvals", f.approvals, approvalsLocal, "the URL of a server", approvalsStdio, approvalsExit)
	case f.approvals != approvalsExit && f.exit.given() != "":
		return usage("--%s belongs to --approvals exit: add that, or leave it out", f.exit.given())
	case f.output != "" && f.output != outputJSONL:
		return usage("--output %s: with --approvals it must be jsonl", f.output)
	case f.prompt == "-" && f.approvals == approvalsStdio:
		return usage("--prompt - does not go with --approvals stdio, which has standard input: send the task as a user_message")
	case f.talk.goesOn || f.talk.input != "":
		return usage("--continue and --input-format do not go with --approvals %s: name the session with --session", f.approvals)
	case f.failOn != "":
		return usage("--fail-on does not go with --approvals: leave it out; the editor is told of each decision")
	case f.noInput:
		return usage("--no-input and --approvals do not go together: --no-input asks nobody; leave one of them out")
	}
	return nil
}

// converse leads the conversation of an editor that answers on standard input.
func (f *runFlags) converse(ctx context.Context, a *app, r *driven) error {
	talk := editor.New(f.leads(a, r, func(ctx context.Context, task wrapper.Task) error {
		_, err := r.engine.Drive(ctx, r.agent, task)
		return runEnd(ctx, wrapper.Outcome{}, err)
	}))
	r.engine.SetApprover(talk)
	return talk.Serve(ctx, *r.task)
}

// leads returns the options of a conversation on standard input whose turns are driven by
// turn.
func (f *runFlags) leads(a *app, r *driven, turn func(ctx context.Context, task wrapper.Task) error) editor.Options {
	e := r.engine
	menu := desk.Menu{Session: e.Session, Edit: true}
	if e.Keeps() {
		menu.Keep, menu.Into = e.Keep, e.KeepsIn
	}
	return editor.Options{
		In: a.in, Events: r.events.event,
		Desk: desk.Options{Menu: menu, File: desk.EditedFile, By: "editor"},
		Turn: func(ctx context.Context, task wrapper.Task) error {
			ctx, stop := f.limit.within(ctx)
			defer stop()
			return turn(ctx, task)
		},
		SetMode: func(mode string) error { return f.setMode(e, mode) },
		Modes: func() (names []string) {
			for _, mode := range e.Session.Modes(e.Policy) {
				names = append(names, mode.String())
			}
			return names
		},
	}
}

// setMode changes the mode in which the agent is decided. The person's own editor may
// also loosen it.
func (f *runFlags) setMode(e *engine.Engine, name string) error {
	mode, err := modes.Parse(name)
	if err != nil {
		return err
	}
	if mode == modes.BypassPermissions && !f.bypass {
		return errors.New("mode bypassPermissions needs --dangerously-skip-permissions at the start")
	}
	e.Session.SetMode(mode)
	return nil
}
