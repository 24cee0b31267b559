package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
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
	answers          []namedAnswer
	words            engine.Words // of this start
}

// namedAnswer is an answer to what was asked last: a tool in --session-allow or, with
// :once, in --session-deny.
type namedAnswer struct {
	text, tool string
	behavior   permission.Behavior
	once       bool
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
		return engine.Asked{}, usage("--tool-result-display %q: it is none, compact or full", f.exit.display)
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
	err = f.exit.take(&f.sessionDeny, "--session-deny", permission.Deny)
	if err == nil {
		err = f.exit.take(&f.sessionAllow, "--session-allow", permission.Allow)
	}
	if err != nil {
		return last, err
	}
	allow, ask, err := whole(f.allow, f.ask)
	if err != nil {
		return last, err
	}
	f.exit.bind(&last, f.prompt, allow, ask)
	f.allow, _, err = without(f.allow, f.exit.words.Unlisted)
	f.ask = append(f.ask, f.exit.words.Listed...)
	return last, err
}

// whole returns the tools as a whole in the lists of what is allowed and asked about.
func whole(allow, ask []string) (allowed, asked []string, err error) {
	if _, allowed, err = without(allow, nil); err == nil {
		_, asked, err = without(ask, nil)
	}
	return allowed, asked, err
}

// take takes the tools that answer out of a list of rules. A tool that is denied for the
// session is denied as a whole, as its rule says.
func (s *exitFlags) take(lists *[]string, flag string, b permission.Behavior) error {
	var rest []string
	for _, text := range *lists {
		rules, err := patterns.SplitList(text)
		if err != nil {
			return usage("%s %q: %w", flag, text, err)
		}
		for _, rule := range rules {
			tool, once := strings.CutSuffix(rule, ":once")
			switch {
			case once, !strings.Contains(rule, "(") && b == permission.Allow:
				s.answers = append(s.answers, namedAnswer{flag + " " + rule, tool, b, once})
				if !once {
					s.words.Named = append(s.words.Named, tool)
				}
			default:
				rest = append(rest, rule)
			}
		}
	}
	*lists = rest
	return nil
}

// bind leaves only answers to what was asked last. Of a tool that is allowed for the
// session, an editor names it at each start from then on, adds it to its own list of
// what is allowed, and removes it from the one of what is asked about: none of that is
// a word about other uses of the tool.
func (s *exitFlags) bind(last *engine.Asked, prompt string, allow, ask []string) {
	was, now := &last.Editor, &s.words
	this := slices.ContainsFunc(s.answers, func(a namedAnswer) bool { return a.once && a.tool == last.Tool })
	s.answers = slices.DeleteFunc(s.answers, func(a namedAnswer) bool {
		again := a.tool == last.Tool && !this && approves(prompt, a.tool)
		return !a.once && (this && a.tool == last.Tool || slices.Contains(was.Named, a.tool) && !again)
	})
	now.Unlisted, now.Listed = was.Unlisted, was.Listed
	for _, tool := range now.Named {
		if slices.Contains(allow, tool) && !slices.Contains(was.Allow, tool) {
			now.Unlisted = withName(now.Unlisted, tool)
		}
		if !slices.Contains(ask, tool) && slices.Contains(was.Ask, tool) {
			now.Listed = withName(now.Listed, tool)
		}
	}
	now.Allow = slices.DeleteFunc(allow, func(tool string) bool { return slices.Contains(now.Unlisted, tool) })
	now.Ask = ask
	for _, tool := range now.Listed {
		now.Ask = withName(now.Ask, tool)
	}
}

func withName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(slices.Clip(names), name)
}

// approves reports whether a prompt is what the editor writes when the person has
// allowed a tool.
func approves(prompt, tool string) bool {
	return strings.HasPrefix(prompt, "I approved the "+tool+" tool")
}

// without returns lists of rules without some tools as a whole, and the others that are
// left in them.
func without(lists, tools []string) (rest, whole []string, err error) {
	for _, text := range lists {
		rules, err := patterns.SplitList(text)
		if err != nil {
			return nil, nil, usage("%q: %w", text, err)
		}
		for _, rule := range rules {
			if slices.Contains(tools, rule) {
				continue
			}
			rest = append(rest, rule)
			if !strings.Contains(rule, "(") {
				whole = append(whole, rule)
			}
		}
	}
	return rest, whole, nil
}

// oneTurn drives the agent for an editor that answers with its next start.
func (f *runFlags) oneTurn(ctx context.Context, e *engine.Engine, agent *claude.Agent, task *wrapper.Task, events *stream, last engine.Asked) error {
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
		events.event(wrapper.Event{Type: wrapper.ErrorEvent, Message: err.Error()})
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
		if f.session == "" || f.exit.fork || a.tool != last.Tool {
			warnOf(events, fmt.Errorf("%s is no answer: %s was not what was asked about last in this session, and will be asked about", a.text, a.tool))
			continue
		}
		warnOf(events, e.AnswerAsked(a.tool, a.behavior, a.once))
	}
	warnOf(events, e.ForgetAsked())
	return nil
}

// warnOf tells of an error that does not end the turn.
func warnOf(events *stream, err error) {
	if err != nil {
		events.warn(err.Error())
	}
}
