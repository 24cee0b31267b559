package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// approvalsFlags are the flags of approvals.
type approvalsFlags struct {
	json   *jsonForm
	all    bool
	server string // "" is this machine
	// The answer.
	session, always, never bool
	edits                  bool
	rung                   int
	limit                  time.Duration
	times                  int
	message, input         string
}

func (a *app) approvalsCommand() *cobra.Command {
	f := &approvalsFlags{}
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List and answer questions from agents in other terminals",
		Long: `approvals lists and answers questions from agents that you started with
--approvals local on this machine. With --server URL it does the same at a
service (see serve), with the token that approvals login stored. The first
answer counts, here or where the agent runs. Without a command, approvals is
approvals list.

You can shorten an id as long as it fits one question. Agents cannot answer:
what an agent starts is refused. This does not stop a program that runs as the
same user; see docs/approvals.md.`,
		Example: `  agent-wrapper run --approvals local --prompt "update the dependencies"
  agent-wrapper approvals
  agent-wrapper approvals show k3f9
  agent-wrapper approvals allow k3f9 --rung 2
  agent-wrapper approvals deny k3f9 "use pnpm"
  agent-wrapper approvals --server https://approvals.example`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listApprovals(cmd.Context(), f) },
	}
	cmd.AddCommand(a.approvalsListCommand(f), a.approvalsShowCommand(f), a.approvalsAllowCommand(f), a.approvalsDenyCommand(f), a.approvalsAnswerCommand(f), a.approvalsWatchCommand(f), a.loginCommand(f), a.logoutCommand(f))
	cmd.PersistentFlags().StringVar(&f.server, "server", "", "the `URL` of the service to answer at; see approvals login")
	for _, one := range append(cmd.Commands(), cmd) {
		switch one.Name() {
		case "login", "logout": // they have nothing to tell a program
		case "watch":
			f.addJSON(a, one, jsonEvents)
		default:
			f.addJSON(a, one, jsonOnce)
		}
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "include questions that were settled in the last day")
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

// addJSON adds --json to one of the commands; f.json is that of the command that runs.
func (f *approvalsFlags) addJSON(a *app, cmd *cobra.Command, help string) {
	form := a.addJSON(cmd, help)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.json = form
		return run(cmd, args)
	}
}

// approvalsJSON is the output of approvals list --json.
type approvalsJSON struct {
	envelope
	Approvals []approval.Entry `json:"approvals"`
}

// approvalJSON is the output of --json about one question.
type approvalJSON struct {
	envelope
	Approval approval.Entry `json:"approval"`
}

func (a *app) approvalsListCommand(f *approvalsFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the questions that wait for an answer", Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listApprovals(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "include questions that were settled in the last day")
	return cmd
}

func (a *app) approvalsShowCommand(f *approvalsFlags) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a question in full, and how to answer it", Args: exactly(1, "the id of a question"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.showApproval(cmd.Context(), f, args[0]) },
	}
}

func (a *app) approvalsAllowCommand(f *approvalsFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "allow ID", Short: "Allow a tool use, once or for longer", Args: exactly(1, "the id of a question"),
		Example: `  agent-wrapper approvals allow k3f9
  agent-wrapper approvals allow k3f9 --session --rung 2
  agent-wrapper approvals allow k3f9 --for 30m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.settle(cmd.Context(), f, args[0], f.allows)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.edits, "accept-edits", false, "accept edits in the workspace for the agent's session, except of protected files")
	flags.BoolVar(&f.session, "session", false, "for the agent's session, with the first rung")
	flags.IntVar(&f.rung, "rung", 0, "for the agent's session, with the rung of this `number` (see show)")
	flags.BoolVar(&f.always, "always", false, "from now on: write the rules of the rung to the policy")
	flags.DurationVar(&f.limit, "for", 0, "for this `time`, such as 30m, with the rung")
	flags.IntVar(&f.times, "times", 0, "for this `number` of tool uses, this one included, with the rung")
	flags.StringVar(&f.input, "input", "", "run this input, as `JSON`, instead of the one asked about; it is decided again")
	flags.StringVar(&f.message, "message", "", "`comment` for the audit log")
	return cmd
}

func (a *app) approvalsDenyCommand(f *approvalsFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "deny ID [MESSAGE]", Short: "Deny a tool use, and tell the agent why",
		Args: between(1, 2, "the id of a question and, if you like, a message"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				f.message = args[1]
			}
			return a.settle(cmd.Context(), f, args[0], f.denies)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.never, "session", false, "for the agent's session, with the first rung")
	flags.IntVar(&f.rung, "rung", 0, "for the agent's session, with the rung of this `number` (see show)")
	return cmd
}

func (a *app) approvalsAnswerCommand(f *approvalsFlags) *cobra.Command {
	return &cobra.Command{
		Use: "answer ID ANSWER...", Short: "Answer the agent's own questions, in order",
		Args: between(2, math.MaxInt, "the id of a question and an answer to each thing that the agent asks"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.settle(cmd.Context(), f, args[0], func(q *desk.Question) (desk.Reply, error) { return givenAnswers(q, args[1:]) })
		},
	}
}

func (a *app) approvalsWatchCommand(f *approvalsFlags) *cobra.Command {
	return &cobra.Command{
		Use: "watch", Short: "Show questions and answers as they happen, until ^C", Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.watchApprovals(cmd.Context(), f) },
	}
}

// allows returns the reply of allow.
func (f *approvalsFlags) allows(q *desk.Question) (desk.Reply, error) {
	r := desk.Reply{Choice: desk.Once, For: int(f.limit / time.Second), Times: f.times}
	switch {
	case f.input != "":
		r.Choice, r.Input = desk.Edit, json.RawMessage(f.input)
	case f.edits && (f.always || f.session || f.rung != 0 || f.limit != 0 || f.times != 0):
		return r, usage("--accept-edits is for the rest of the session: leave out --session, --rung, --always, --for and --times")
	case f.edits:
		r.Choice = desk.AcceptEdits
	case f.always && f.limit == 0 && f.times == 0:
		r.Choice = desk.Always
	case f.always:
		return r, usage("--always has no end: leave it out, or leave out --for and --times")
	case f.limit != 0 || f.times != 0:
		r.Choice = desk.While
	case f.session || f.rung != 0:
		r.Choice = desk.Session
	}
	return r, f.rungInto(&r, q)
}

// denies returns the reply of deny.
func (f *approvalsFlags) denies(q *desk.Question) (desk.Reply, error) {
	r := desk.Reply{Choice: desk.Deny, Message: f.message}
	switch {
	case f.never || f.rung != 0:
		r.Choice = desk.Never
	case strings.TrimSpace(f.message) != "":
		r.Choice = desk.Words
	}
	return r, f.rungInto(&r, q)
}

// rungInto adds the rung, which people count from 1.
func (f *approvalsFlags) rungInto(r *desk.Reply, q *desk.Question) error {
	if f.rung < 0 {
		return usage("--rung %d: write 1 or more", f.rung)
	}
	for _, c := range q.Choices {
		if c.Name == r.Choice && f.rung > len(c.Rungs) {
			return usage("--rung %d: there are %d; see %s show %s", f.rung, len(c.Rungs), approvalsAt(f.server), q.ID)
		}
	}
	if f.rung > 0 {
		at := f.rung - 1
		r.Rung = &at
	}
	return nil
}

// givenAnswers returns the reply with answers to the agent's questions, in order.
func givenAnswers(q *desk.Question, given []string) (desk.Reply, error) {
	var input struct {
		Questions []struct {
			Question string `json:"question"`
		} `json:"questions"`
	}
	if err := json.Unmarshal(q.Input, &input); err != nil || len(input.Questions) == 0 {
		return desk.Reply{}, usage("%s is not a question of the agent itself: use approvals allow or approvals deny", q.ID)
	}
	if len(input.Questions) != len(given) {
		return desk.Reply{}, usage("the agent asks %d questions, and you gave %d answers: give one for each", len(input.Questions), len(given))
	}
	r := desk.Reply{Choice: desk.Answers, Answers: map[string]string{}}
	for i, one := range input.Questions {
		r.Answers[one.Question] = given[i]
	}
	return r, nil
}

// inquiry is an entry with its question.
type inquiry struct {
	approval.Entry
	question desk.Question
}

// readInquiry reads the question of an entry.
func readInquiry(e approval.Entry) inquiry {
	one := inquiry{Entry: e}
	if err := json.Unmarshal(harmless(e.Question), &one.question); err != nil {
		one.question = desk.Question{Ask: display.Ask{ID: e.ID, Digest: e.Digest, Tool: "?", Reason: "the question cannot be read: " + err.Error()}}
	}
	return one
}

// harmless returns a question without what a terminal would obey. A broker does not look
// at what it carries, so it is not certain that package display has made it. The input
// stays: it is shown only by package display.
func harmless(question json.RawMessage) json.RawMessage {
	var fields map[string]any
	if json.Unmarshal(question, &fields) != nil {
		return question
	}
	for name := range fields {
		if name != "input" {
			fields[name] = harmlessValue(fields[name])
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return question
	}
	return text
}

func harmlessValue(v any) any {
	switch v := v.(type) {
	case string:
		// What package display has spelled out stays so: <U+202E> is not spelled out again.
		return strings.ReplaceAll(visible.Line(v), "<U+003C>", "<")
	case []any:
		for i := range v {
			v[i] = harmlessValue(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = harmlessValue(v[name])
		}
	}
	return v
}

// find returns the question with an id, or with one that begins so. What waits goes
// first.
func (p *place) find(ctx context.Context, id string) (inquiry, error) {
	all, err := p.List(ctx, approval.Filter{})
	if err != nil {
		return inquiry{}, err
	}
	var found, waiting []approval.Entry
	for _, e := range all {
		switch {
		case e.ID == id:
			return readInquiry(e), nil
		case !strings.HasPrefix(e.ID, strings.ToLower(id)) || id == "":
			continue
		case e.Status == approval.Pending:
			waiting = append(waiting, e)
		}
		found = append(found, e)
	}
	if len(waiting) > 0 {
		found = waiting
	}
	switch len(found) {
	case 0:
		return inquiry{}, usage("no question has an id that begins with %q: run %s to list them%s", id, approvalsAt(p.server), p.others())
	case 1:
		return readInquiry(found[0]), nil
	}
	var ids []string
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	return inquiry{}, usage("%q fits several questions: write more of the id (%s)", id, strings.Join(ids, ", "))
}

// within opens the broker for a command: that of this machine, or of a server.
func (a *app) within(ctx context.Context, f *approvalsFlags, do func(p *place) error) (err error) {
	p, err := (*place)(nil), error(nil)
	if f.server == "" {
		p, err = placeAt(approvalsLocal, a.damaged)
	} else {
		p, err = a.personAt(ctx, f.server)
	}
	if err != nil {
		return err
	}
	defer closing(p, &err)
	return do(p)
}

// listApprovals lists what waits, the oldest question first.
func (a *app) listApprovals(ctx context.Context, f *approvalsFlags) error {
	return a.within(ctx, f, func(p *place) error {
		filter := approval.Filter{Status: []approval.Status{approval.Pending}}
		if f.all {
			filter.Status = nil
		}
		all, err := p.List(ctx, filter)
		if err != nil {
			return err
		}
		slices.SortStableFunc(all, func(a, b approval.Entry) int { return a.Asked.Compare(b.Asked) })
		if f.json.on {
			return f.json.put(&approvalsJSON{Approvals: orNone(all)})
		}
		for _, e := range all {
			if err := a.putApproval(f, e); err != nil {
				return err
			}
		}
		if len(all) == 0 {
			fmt.Fprintln(a.err, "No questions are waiting.")
		}
		a.tellOthers(f, p)
		return nil
	})
}

// others returns which other places the user can answer at, "" if there are none: the
// servers, for this machine.
func (p *place) others() string {
	tokens, err := userTokens()
	if p.server != "" || err != nil {
		return ""
	}
	servers, err := tokens.Servers()
	switch {
	case err != nil || len(servers) == 0: // with --server the error is told
		return ""
	case len(servers) == 1:
		return "; you also answer at a server: " + approvalsAt(servers[0])
	}
	return "; you also answer at servers, with --server: " + strings.Join(servers, ", ")
}

// tellOthers tells a person which other places there are, in one line.
func (a *app) tellOthers(f *approvalsFlags, p *place) {
	if others := p.others(); others != "" && !f.json.on {
		a.say("these are the questions of this machine%s", others)
	}
}

// putApproval writes an entry as a line.
func (a *app) putApproval(f *approvalsFlags, e approval.Entry) error {
	if f.json.on {
		return f.json.put(&approvalJSON{Approval: e})
	}
	q := readInquiry(e)
	_, err := fmt.Fprintln(a.out, cut(q.line(time.Now()), columns(a.out)))
	return err
}

// line describes a question in one line: its id, its age or its end, the risk and what
// it is about.
func (q *inquiry) line(now time.Time) string {
	state := age(now.Sub(q.Asked))
	if q.Status != approval.Pending {
		state = q.Status.String()
		if q.By.Name != "" {
			state += " by " + visible.Line(q.By.Name)
		}
	}
	use := permission.ToolUse{Tool: q.question.Tool, Input: q.question.Input}
	gone := ""
	if silent := q.silent(now); silent > 0 {
		gone = fmt.Sprintf("(asker gone for %s) ", age(silent))
	}
	return fmt.Sprintf("%-7s %-4s %-8s %s%s: %s", q.ID, state, q.question.Risk, gone, q.question.Tool, display.Summary(&use))
}

// silent returns for how long nothing was heard of the asker of a question that waits,
// if it is so long that it seems to be gone; else 0.
func (q *inquiry) silent(now time.Time) time.Duration {
	d := now.Sub(q.Heard)
	if q.Status != approval.Pending || q.Lease <= 0 || d < q.Lease/3 {
		return 0
	}
	return d
}

// age returns a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d/time.Second), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	}
	return fmt.Sprintf("%dh", int(d/time.Hour))
}

// cut cuts a line to a width.
func cut(line string, width int) string {
	if runes := []rune(line); len(runes) > width && width > 1 {
		return string(runes[:width-1]) + "…"
	}
	return line
}

// showApproval shows a question as its terminal does, and the commands that answer it.
func (a *app) showApproval(ctx context.Context, f *approvalsFlags, id string) error {
	return a.within(ctx, f, func(p *place) error {
		q, err := p.find(ctx, id)
		if err != nil {
			return err
		}
		if f.json.on {
			return f.json.put(&approvalJSON{Approval: q.Entry})
		}
		o := display.TextOptions{Width: columns(a.out), Colour: isTerminal(a.out) && colours(), Parts: true}
		_, err = io.WriteString(a.out, q.question.Text(o)+q.ways(approvalsAt(f.server), o.Width))
		return err
	})
}

// ways returns how a question was answered, or the commands that answer it: at is how
// they begin.
func (q *inquiry) ways(at string, width int) string {
	if q.Status != approval.Pending {
		end := "\n  it is " + q.Status.String()
		if q.By.Name != "" {
			end += " by " + visible.Line(q.By.Name)
		}
		if why := cmp.Or(q.Reason, q.Message); why != "" {
			end += ": " + visible.Line(why)
		}
		return wrapped(end, "  : ", width)
	}
	var out strings.Builder
	if silent := q.silent(time.Now()); silent > 0 {
		fmt.Fprintf(&out, "\n  The asker has been gone for %s; if it does not come back, the question is abandoned.\n", age(silent))
	}
	out.WriteString("\n  " + at + " …\n")
	way := func(command, words string) {
		out.WriteString(wrapped(fmt.Sprintf("    %-28s %s", command, words), strings.Repeat(" ", 31)+": ", width))
	}
	for _, c := range q.question.Choices {
		switch c.Name {
		case desk.Once:
			way("allow "+q.ID, "once")
		case desk.Session:
			for i, r := range c.Rungs {
				way(fmt.Sprintf("allow %s --rung %d", q.ID, i+1), "this session: "+cmp.Or(r.Label, "exactly this again"))
			}
		case desk.While:
			way("  … --for 30m, --times 5", "with a rung: for a while")
		case desk.Always:
			way("  … --always", "with a rung: it is written to the policy")
		case desk.Answers:
			way("answer "+q.ID+" ANSWER…", "one for each question")
		case desk.Deny:
			way("deny "+q.ID+" [MESSAGE]", "once")
		case desk.Never:
			for i, r := range c.Rungs {
				way(fmt.Sprintf("deny %s --rung %d", q.ID, i+1), "this session: "+r.Label)
			}
		}
	}
	return out.String()
}

// wrapped breaks a line at a width, at blanks where possible. The lines that follow begin
// with a text that tells them from lines of their own.
func wrapped(line, next string, width int) string {
	var out strings.Builder
	for runes := []rune(line); ; runes = append([]rune(next), runes...) {
		n := len(runes)
		if room := max(width, len(next)+20); n > room {
			n = room
			if blank := lastBlank(runes[:n]); blank > len(next)+(n-len(next))/2 {
				n = blank + 1
			}
		}
		out.WriteString(string(runes[:n]) + "\n")
		if runes = runes[n:]; len(runes) == 0 {
			return out.String()
		}
	}
}

// lastBlank returns the index of the last blank, -1 if there is none.
func lastBlank(line []rune) int {
	for i, r := range slices.Backward(line) {
		if r == ' ' {
			return i
		}
	}
	return -1
}

// settle answers a question. The digest that is sent is that of what was read, and what
// is told is what was answered.
func (a *app) settle(ctx context.Context, f *approvalsFlags, id string, reply func(*desk.Question) (desk.Reply, error)) error {
	return a.within(ctx, f, func(p *place) error {
		if err := p.answer(); err != nil {
			return err
		}
		q, err := p.find(ctx, id)
		if err != nil {
			return err
		}
		r, err := reply(&q.question)
		if err != nil {
			return err
		}
		r.ID, r.Digest, r.By = q.ID, q.Digest, p.person
		event, err := r.Event(&q.question, approval.Principal{Role: approval.Person, Name: p.person})
		if err != nil {
			return usage("%w", err)
		}
		event.Message = cmp.Or(event.Message, f.message)
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		e, err := p.Answer(ctx, event, text)
		if err != nil {
			return q.late(err)
		}
		if f.json.on {
			return f.json.put(&approvalJSON{Approval: e})
		}
		return a.answered(ctx, p, readInquiry(e), &event)
	})
}

// late returns the error of an answer that does not count, in words.
func (q *inquiry) late(err error) error {
	var settled *approval.Settled
	if !errors.As(err, &settled) {
		return err
	}
	how := settled.Status.String()
	if settled.By.Name != "" {
		how += " by " + settled.By.Name
	}
	return &coded{codeDenied, fmt.Errorf("your answer came too late: %s is already %s", q.ID, how)}
}

// answered tells what was answered, and proposes a rule where one would answer for it.
func (a *app) answered(ctx context.Context, p *place, q inquiry, event *approval.Event) error {
	how := map[approval.Kind]string{approval.Approve: "allowed", approval.Deny: "denied", approval.Edit: "answered with another input"}[event.Kind]
	if q.Status == approval.Pending {
		how += fmt.Sprintf(" (%d of %d)", len(q.Votes), max(q.Quorum, 1))
	}
	use := permission.ToolUse{Tool: q.question.Tool, Input: q.question.Input}
	fmt.Fprintf(a.out, "%s %s: %s: %s\n", how, q.ID, q.question.Tool, display.Summary(&use))
	for _, rule := range event.Rules {
		fmt.Fprintf(a.out, "  with the rule %s\n", visible.Line(rule))
	}
	if event.Kind != approval.Approve || len(event.Rules) > 0 {
		return nil
	}
	past, err := p.List(ctx, approval.Filter{Project: q.Project})
	if err != nil {
		return err
	}
	for _, one := range approval.Propose(past, p.person, q.Project, nil, time.Now()) {
		a.propose(p, &q, &one)
	}
	return nil
}

// propose tells of a rule that would answer for what a person approves again and again.
// It keeps nothing.
func (a *app) propose(p *place, q *inquiry, one *approval.Proposal) {
	fmt.Fprintf(a.out, "\nYou have allowed this %d times here:\n", one.Times)
	for _, rule := range one.Rules {
		fmt.Fprintf(a.out, "  %s\n", visible.Line(rule))
	}
	at := slices.IndexFunc(q.question.Choices, func(c display.Choice) bool { return c.Name == desk.Always })
	if at < 0 {
		return
	}
	rung := slices.IndexFunc(q.question.Choices[at].Rungs, func(r display.Rung) bool { return slices.Equal(r.Rules, one.Rules) })
	if rung >= 0 {
		fmt.Fprintf(a.out, "To allow it from now on, answer the next such question with:\n  %s allow ID --always --rung %d\n", approvalsAt(p.server), rung+1)
	}
}

// watchApprovals tells of what waits, and then of every change.
func (a *app) watchApprovals(ctx context.Context, f *approvalsFlags) error {
	return a.within(ctx, f, func(p *place) error {
		if !f.json.on {
			a.say("to answer, in another terminal: %s show ID", approvalsAt(f.server))
		}
		a.tellOthers(f, p)
		after := int64(0)
		for first := true; ; first = false {
			all, err := p.List(ctx, approval.Filter{After: after})
			for _, e := range all {
				after = max(after, e.Seq)
				if first && e.Status != approval.Pending {
					continue
				}
				if err := a.putApproval(f, e); err != nil {
					return err
				}
			}
			if err == nil {
				_, err = p.Wait(ctx, after)
			}
			if ctx.Err() != nil {
				return nil // ^C is how it ends
			}
			if err != nil {
				return err
			}
		}
	})
}
