package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/chat"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
	"github.com/agent-wrapper/agent-wrapper/wrapper/editor"
)

// talkFlags are the flags of run about conversations.
type talkFlags struct {
	goesOn bool   // --continue
	input  string // --input-format
	keep   string // --history
	typed  bool   // a person types the prompts at the terminal
}

// The values of --input-format.
const (
	inputText  = "text"
	inputJSONL = "jsonl"
)

func (t *talkFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&t.goesOn, "continue", false, "continue the last session of this workspace")
	flags.StringVar(&t.input, "input-format", "", "`text|jsonl`: what standard input is; jsonl is a conversation with a program, one message a line (docs/reference/protocol.md)")
	flags.StringVar(&t.keep, "history", "", "keep what you type in a conversation for later ones, secrets masked: `on|off` (default: on)")
	complete(cmd, "input-format", inputText, inputJSONL)
	complete(cmd, "history", "on", "off")
}

// choose selects the kind of the run, and rejects flags that do not belong to it.
func (t *talkFlags) choose(f *runFlags, atTerminal bool) error {
	if err := ifGiven("--input-format", t.input, inputText, inputJSONL); err != nil {
		return err
	}
	if err := ifGiven("--history", t.keep, "on", "off"); err != nil {
		return err
	}
	if t.input == inputJSONL {
		switch {
		case f.prompt == "-":
			return usage("--prompt - does not go with --input-format jsonl, which has standard input: send the task as a user_message")
		case f.output != "" && f.output != outputJSONL:
			return usage("--output %s: with --input-format jsonl it must be jsonl", f.output)
		}
	}
	t.typed = t.input != inputJSONL && f.prompt == "" && atTerminal && (f.output == "" || f.output == outputText)
	switch {
	case t.goesOn && f.session != "":
		return usage("--continue and --session do not go together: --continue takes the last session of the workspace; leave one of them out")
	case t.typed && f.schema != "":
		return usage("--json-schema is for one turn: give the task with --prompt, or leave it out")
	case t.typed && f.failOn != "":
		return usage("--fail-on is for one turn: give the task with --prompt, or leave it out")
	}
	return nil
}

// goOn has a run go on with the last session if that is wanted, and its own be the last.
func (t *talkFlags) goOn(r *driven) error {
	folder := folderOf(r.engine)
	if t.goesOn {
		last, err := folder.Last()
		if err != nil {
			return err
		}
		if last == "" {
			return usage("--continue: there is no session of %s to continue; leave it out to begin one", r.engine.Place.Workspace)
		}
		r.task.Session = last
	}
	r.task.Events = func(e wrapper.Event) {
		r.events.event(e)
		if e.Type != wrapper.SessionEvent {
			return
		}
		if err := folder.SetLast(e.SessionID, time.Now()); err != nil {
			r.events.warn("--continue will not find this session: " + plain.Text(err))
		}
	}
	return nil
}

// folderOf returns what is kept of the conversations in a workspace.
func folderOf(e *engine.Engine) chat.Folder {
	return chat.FolderOf(userDirs().State, e.Place.Workspace)
}

// atTerminal reports whether a person can type, and see what is written.
func (a *app) atTerminal() bool { return isTerminal(a.in) && isTerminal(a.out) }

// talks leads a conversation with the person at the terminal.
func (a *app) talks(ctx context.Context, f *runFlags, r *driven, out *report) (err error) {
	in, _ := a.in.(*os.File)
	screen, _ := written(a.out).(*os.File)
	e, notes := r.engine, &notes{}
	board := ask.Terminal(in, screen)
	r.agent.Stream = !board.Dumb()
	agent := wrapper.NewConversation(ctx, func(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
		return drive(ctx, e, watched{r.agent, notes}, &task, r.events)
	})
	defer func() { err = errors.Join(err, agent.Close()) }()
	commands := f.slashes(e, r.events, notes)
	o := chat.Options{
		Turn:     func(ctx context.Context, prompt string) error { return f.turn(ctx, r, agent, prompt, out) },
		Idle:     agent.Interrupt,
		Prompt:   func(typed string) (string, error) { return f.composed(typed, e.Place.Workspace, commands) },
		Commands: commands,
		Mode:     func() string { return e.Session.Modes(e.Policy)[0].String() },
		Doing:    r.events.live.doing,
		Colour:   r.events.colour,
	}
	if !f.bare {
		o.Texts = func() []string { return claude.Commands(e.Place.Workspace) }
	}
	if f.talk.keep != "off" {
		o.Folder = folderOf(e)
	}
	talk := chat.New(board, r.screen, o)
	r.events.talks(board)
	others, err := f.asksBeside(a, r, talk)
	if err != nil {
		return err
	}
	defer closing(others, &err)
	if r.task.Session != "" && !r.task.Fork {
		warnOf(r.events, e.Resume(r.task.Session)) // for /rules, and for what is said before the first turn
	}
	if r.task.Session == "" {
		r.events.note("type what the agent is to do; /help lists what else there is\n")
	}
	err = talk.Serve(ctx, "")
	r.events.ends(out.outcome.Spent, time.Since(a.began))
	if agent.Session() != "" {
		r.events.note("\nrun --continue goes on with this conversation\n")
	}
	if lost := r.screen.Failed(); lost != nil {
		return lost
	}
	return runEnd(ctx, out.outcome, err)
}

// turn has the agent take a turn.
func (f *runFlags) turn(ctx context.Context, r *driven, agent *wrapper.Conversation, prompt string, out *report) error {
	ctx, stop := f.limit.within(ctx)
	defer stop()
	r.engine.BeginTurn()
	now := *r.task
	now.Prompt = prompt
	outcome, err := agent.Turn(ctx, now)
	out.outcome = outcome
	r.events.flush()
	if err == nil && outcome.Failed != "" {
		return turnFailed(outcome)
	}
	return err
}

// turnFailed tells a person why the agent gave up, but for what it has written itself.
func turnFailed(o wrapper.Outcome) error {
	if o.Failed == o.Text {
		return errors.New("the agent gave up")
	}
	return errors.New(o.Failed)
}

// composed returns what is sent for what was typed: the driver fills in what that stands
// for. The conversation's own commands come before those of the project.
func (f *runFlags) composed(typed, dir string, commands []chat.Command) (string, error) {
	if chat.Unknown(typed, commands) == nil {
		return typed, nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimLeft(typed, "\n"), "/"), " ")
	if !f.bare && claude.HasCommand(dir, name) {
		return typed, nil
	}
	var texts []string
	if !f.bare {
		texts = claude.Commands(dir)
	}
	return "", chat.Unknown(typed, commands, texts...)
}

// asksBeside sets who is asked: the person in the conversation, and those of --approvals.
func (f *runFlags) asksBeside(a *app, r *driven, talk *chat.Chat) (others io.Closer, err error) {
	others = io.NopCloser(nil)
	var here permission.Approver
	if !f.noInput {
		o := keeping(r.engine.Rules)
		in, _ := a.in.(*os.File)
		o.Colour, o.Editor, o.Interrupt = colours(), ask.NewEditor(in, r.engine.OwnPath()), func() { talk.Interrupt() }
		here = ask.New(talk.Board(), r.screen, o)
	}
	rings := ringing(here)
	if f.approvals != "" {
		p, err := a.asksAt(f.approvals, os.Getpid())
		if err != nil {
			return others, err
		}
		others, here = p, p.approver(here, r.engine, menuOf(r.engine), r.events.warn)
	}
	r.engine.SetApprover(r.engine.Notifying(here, rings))
	return others, nil
}

// runForProgram leads a conversation with a program that sends prompts on standard input,
// and answers no questions.
func (a *app) runForProgram(ctx context.Context, f *runFlags) (err error) {
	ctx, r, err := f.start(ctx, a, outputJSONL, nil)
	if err != nil {
		return err
	}
	defer closing(r, &err)
	if f.approvals != "" {
		p, failed := a.asksAt(f.approvals, os.Getpid())
		if failed != nil {
			return failed
		}
		defer closing(p, &err)
		r.engine.SetApprover(r.engine.Notifying(p.approver(nil, r.engine, menuOf(r.engine), r.events.warn), nil))
	}
	agent := wrapper.NewConversation(ctx, func(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
		return r.engine.Drive(ctx, r.agent, task)
	})
	o := f.leads(a, r, func(ctx context.Context, task wrapper.Task) error {
		r.engine.BeginTurn()
		_, err := agent.Turn(ctx, task)
		return runEnd(ctx, wrapper.Outcome{}, err)
	})
	o.Finish = true
	talk := editor.New(o)
	err = errors.Join(talk.Serve(ctx, *r.task), agent.Close())
	if lost := r.screen.Failed(); lost != nil {
		return lost
	}
	return exit(exitCode(err))
}
