package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// historyFlags select runs.
type historyFlags struct {
	file, search, since, status string
	limit                       int
	json                        *jsonForm
}

// The statuses of a run.
const (
	statusAuto     = "auto"
	statusApproved = "approved"
	statusDenied   = "denied"
)

func (a *app) execHistoryCommand() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the commands given to exec, newest first",
		Long: `history lists runs of exec from the audit log: those that ran by themselves
(auto), those that a person approved, once or for a session, and those that were
denied. The output of commands is not kept, since nothing in an audit log can be
deleted and output may hold secrets.`,
		Example: `  agent-wrapper exec history --since 24h --status denied
  agent-wrapper exec history --search kubectl --json`,
		Args: none(""),
		RunE: func(*cobra.Command, []string) error { return a.execHistory(f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.limit, "limit", 100, "show this `many` at most")
	flags.StringVar(&f.search, "search", "", "only commands that contain this `text`, in upper or lower case")
	flags.StringVar(&f.since, "since", "", "only since this `time`: 2026-01-31, 2026-01-31T15:04:05Z, or 24h for the last 24 hours")
	flags.StringVar(&f.status, "status", "", "only commands that were `auto|approved|denied`")
	flags.StringVar(&f.file, "audit", "", "`file` with the audit log (default: your own)")
	f.json = a.addJSON(cmd, jsonOnce)
	complete(cmd, "status", statusAuto, statusApproved, statusDenied)
	return cmd
}

// execRun is one run of exec, in the form of history --json.
type execRun struct {
	ID         string `json:"id"`
	Command    string `json:"command"`
	Tier       int    `json:"tier"`
	Risk       string `json:"risk"`
	Status     string `json:"approval_status"`
	Reason     string `json:"reason"`
	Rule       string `json:"rule,omitempty"`
	Session    string `json:"session"`
	Dir        string `json:"dir"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Outcome    string `json:"outcome,omitempty"` // ran, failed; "" if it did not run or its end was not seen
	Note       string `json:"note,omitempty"`    // what ended it, if it did not end by itself
	Exit       *int   `json:"exit_code,omitempty"`
	TookMS     *int64 `json:"execution_time_ms,omitempty"`
	At         string `json:"executed_at"`
	seq        uint64
}

func (a *app) execHistory(f *historyFlags) error {
	since, err := pointInTime(f.since, time.Now())
	switch {
	case err != nil:
		return usage("--since %w", err)
	case f.limit < 1:
		return usage("--limit %d: write 1 or more", f.limit)
	}
	if err := ifGiven("--status", f.status, statusAuto, statusApproved, statusDenied); err != nil {
		return err
	}
	var args []string
	if f.file != "" {
		args = []string{f.file}
	}
	h := &history{flags: f, bySeq: map[uint64]*execRun{}}
	if err := scan(args, &audit.Filter{Since: since}, h.add); err != nil {
		return err
	}
	slices.Reverse(h.runs)
	switch {
	case f.json.on:
		return f.json.put(&historyJSON{Runs: orNone(h.runs)})
	case len(h.runs) == 0:
		a.say("exec has run nothing of that kind")
		return nil
	}
	return a.writeRuns(h.runs)
}

// history collects the last runs that are selected.
type history struct {
	flags *historyFlags
	runs  []*execRun
	bySeq map[uint64]*execRun
}

// add adds a record.
func (h *history) add(e *audit.Entry, _ []byte) error {
	if !strings.HasPrefix(e.Session, execSession) {
		return nil
	}
	if run := h.bySeq[e.Of]; e.Of > 0 && run != nil {
		run.Outcome, run.Exit, run.TookMS, run.Note = e.Outcome, e.Exit, e.TookMS, e.Reason
		return nil
	}
	if e.Kind != "decision" {
		return nil
	}
	run := runOf(e)
	if h.flags.status != "" && h.flags.status != run.Status || !strings.Contains(strings.ToLower(run.Command), strings.ToLower(h.flags.search)) {
		return nil
	}
	h.runs, h.bySeq[run.seq] = append(h.runs, run), run
	if len(h.runs) > h.flags.limit {
		delete(h.bySeq, h.runs[0].seq)
		h.runs = h.runs[1:]
	}
	return nil
}

// runOf returns the run of a decision.
func runOf(e *audit.Entry) *execRun {
	run := &execRun{
		ID: e.Use, Tier: e.Tier, Risk: e.Risk, Status: status(e), Reason: e.Reason, Rule: e.Rule,
		Session: strings.TrimPrefix(e.Session, execSession), Dir: e.Dir, At: e.Time, seq: e.Seq,
	}
	input := e.Input
	if len(e.Updated) > 0 {
		input = e.Updated // what ran
	}
	var in bashInput
	if json.Unmarshal(input, &in) != nil || in.Command == "" {
		in.Command = string(input) // truncated because of its length
	}
	run.Command, run.Kubeconfig = in.Command, in.Kubeconfig
	return run
}

// status returns how a decision came about. A rule of the session counts as a
// person's answer.
func status(e *audit.Entry) string {
	switch {
	case e.Behavior != "allow":
		return statusDenied
	case e.By == "person" || e.Layer == "session-allow":
		return statusApproved
	}
	return statusAuto
}

// historyJSON is the output of exec history --json.
type historyJSON struct {
	envelope
	Runs []*execRun `json:"runs"`
}

func (a *app) writeRuns(runs []*execRun) error {
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TIME\tSTATUS\tTIER\tEXIT\tMS\tCOMMAND")
	for _, r := range runs {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\n", localTime(r.At), r.Status, r.Tier, optional(r.Exit), optional(r.TookMS), visible.Line(r.Command))
	}
	return table.Flush()
}

func localTime(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return visible.Line(text)
	}
	return at.Local().Format("2006-01-02 15:04:05")
}

// optional formats a number that may be missing.
func optional[N int | int64](n *N) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(int64(*n), 10)
}
