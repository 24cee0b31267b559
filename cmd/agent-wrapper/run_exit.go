package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/editor"
)

// exitFlags are the flags that an editor passes with --approvals exit and that nothing
// else uses. They are not in the help.
type exitFlags struct {
	flags            *pflag.FlagSet
	fork             bool
	context          []string
	language         string
	display, markers string
	signs            map[string]string // markers, read
	answers          []engine.NamedAnswer
	words            engine.Words // of this start
}

// exitNames are the flags in order; those without a use here are warned of.
var exitNames = []string{"context", "fork-session", "language", "tool-result-display", "tool-markers"}

// unused are flags of the editor's that mean nothing here, with the reason.
var unused = [][2]string{
	{"prioritize-vibing-lsp", "the agent is given no tools of the editor's; name MCP servers with --mcp-config"},
	{"mcp-enabled", "the agent is given no tools of the editor's; name MCP servers with --mcp-config"},
	{"rpc-port", "the agent's tools do not speak with the editor"},
	{"save-location-type", "nothing is saved"},
	{"save-dir", "nothing is saved"},
}

func (s *exitFlags) add(flags *pflag.FlagSet) {
	s.flags = flags
	flags.Var((*list)(&s.context), "context", "a `file` to name to the agent in a new session; repeatable")
	flags.BoolVar(&s.fork, "fork-session", false, "go on in a copy of --session")
	flags.StringVar(&s.language, "language", "", "`code` of the language that the agent answers in")
	flags.StringVar(&s.display, "tool-result-display", editor.DisplayCompact, "results of tools in the text: `none|compact|full`")
	flags.StringVar(&s.markers, "tool-markers", "", "JSON object with the signs before tools in the text")
	for _, f := range unused {
		flags.String(f[0], "", "taken, and without a use: "+f[1])
	}
	for _, name := range s.names() {
		if err := flags.MarkHidden(name); err != nil {
			panic(err) // it was added above
		}
	}
}

// names returns the names of all of them.
func (s *exitFlags) names() []string {
	names := slices.Clone(exitNames)
	for _, f := range unused {
		names = append(names, f[0])
	}
	return names
}

// given returns the first that was given, "" if none was.
func (s *exitFlags) given() string {
	for _, name := range s.names() {
		if s.flags.Changed(name) {
			return name
		}
	}
	return ""
}

// readAnswers takes the answers of an editor that answers with its next start out of
// the lists of flags, and returns what was asked last in the session.
func (f *runFlags) readAnswers() (engine.Asked, error) {
	if f.approvals != approvalsExit {
		return engine.Asked{}, nil
	}
	if f.exit.display != editor.DisplayNone && f.exit.display != editor.DisplayCompact && f.exit.display != editor.DisplayFull {
		return engine.Asked{}, among("--tool-result-display", f.exit.display, editor.DisplayNone, editor.DisplayCompact, editor.DisplayFull)
	}
	last, err := engine.Asked{}, error(nil)
	if f.exit.signs, err = editor.ParseMarkers(f.exit.markers); err != nil {
		return last, usage("--tool-markers: %w", err)
	}
	dirs := userDirs()
	last = (&engine.Options{Dir: f.cwd, Roots: f.roots, Dirs: &dirs}).LastAsked(f.session)
	if f.exit.fork { // it has no answers, but the lists that the editor has changed because of them
		last = engine.Asked{Editor: last.Editor}
	}
	lists := engine.Lists{Allow: f.allow, Ask: f.ask, SessionAllow: f.sessionAllow, SessionDeny: f.sessionDeny}
	if f.exit.answers, f.exit.words, err = last.Answers(&lists, f.prompt); err != nil {
		return last, usage("%w", err)
	}
	f.allow, f.ask, f.sessionAllow, f.sessionDeny = lists.Allow, lists.Ask, lists.SessionAllow, lists.SessionDeny
	return last, nil
}

// oneTurn drives the agent for an editor that answers with its next start.
func (f *runFlags) oneTurn(ctx context.Context, r *driven, last engine.Asked) error {
	e, agent, task, events := r.engine, r.agent, r.task, r.events
	for _, flag := range unused {
		if f.exit.flags.Changed(flag[0]) {
			events.warn("--" + flag[0] + " has no use here: " + flag[1])
		}
	}
	if f.exit.language != "" {
		agent.AppendSystemPrompt = strings.TrimSpace(agent.AppendSystemPrompt + "\n\nAnswer in the language with the code " + f.exit.language + ".")
	}
	if f.session == "" {
		task.Prompt = editor.WithFiles(task.Prompt, f.exit.context)
	}
	if err := f.answer(ctx, e, events, last); err != nil {
		events.event(wrapper.Event{Type: wrapper.ErrorEvent, Message: plain.Text(err)})
		events.event(wrapper.Event{Type: wrapper.DoneEvent})
		return runEnd(ctx, wrapper.Outcome{}, err)
	}
	later := &editor.Later{Note: func(ask *permission.Request) error { return e.NoteAsked(ask, f.exit.words) }, Display: f.exit.display, Markers: f.exit.signs}
	e.SetApprover(later)
	told := later.Events(events.event)
	task.Events = func(event wrapper.Event) {
		if event.Type == wrapper.DoneEvent {
			return
		}
		told(event)
		if event.Type == wrapper.SessionEvent { // which may be another than that of --session
			warnOf(events, e.NoteWords(f.exit.words))
		}
	}
	ctx, stop := f.limit.within(ctx)
	defer stop()
	_, err := e.Drive(ctx, agent, *task)
	warnOf(events, e.EndOnce())
	e.Leave() // the next start may come with done
	events.event(wrapper.Event{Type: wrapper.DoneEvent})
	return runEnd(ctx, wrapper.Outcome{}, err)
}

// answer has the editor's answers count. After an error there is no turn.
func (f *runFlags) answer(ctx context.Context, e *engine.Engine, events *stream, last engine.Asked) error {
	if f.session != "" && !f.exit.fork {
		err := e.ResumeAsked(ctx, f.session, last, func() {
			events.warn("another process uses this session: the turn begins when that has ended")
		})
		if ctx.Err() != nil || errors.Is(err, engine.ErrMovedOn) {
			return err
		}
		warnOf(events, err)
		warnOf(events, e.NoteWords(f.exit.words))
	}
	for _, a := range f.exit.answers {
		if f.session == "" || f.exit.fork || a.Tool != last.Tool {
			warnOf(events, fmt.Errorf("%s is no answer: %s was not what was asked about last in this session, and will be asked about", a.Text, a.Tool))
			continue
		}
		warnOf(events, e.AnswerAsked(a.Tool, a.Behavior, a.Once))
	}
	warnOf(events, e.ForgetAsked())
	return nil
}

// warnOf tells of an error that does not end the turn.
func warnOf(events *stream, err error) {
	if err != nil {
		events.warn(plain.Text(err))
	}
}
