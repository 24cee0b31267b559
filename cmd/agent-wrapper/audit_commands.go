package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func (a *app) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Verify, watch, search and export the audit log",
		Long: `Every decision and its outcome is an entry in the audit log. Each entry has the
hash of the entry before, and a second file, the head, says how far the audit
log must go at least. Without FILE, the commands use your own audit log.`,
		Example: `  agent-wrapper audit verify
  agent-wrapper audit tail -f
  agent-wrapper audit search --behavior deny --since 24h
  agent-wrapper audit export --format csv > decisions.csv`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.auditVerifyCommand(), a.auditTailCommand(), a.auditSearchCommand(), a.auditExportCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

// atMostFile accepts at most one argument, the record.
var atMostFile = between(0, 1, "one file at most")

// recordPlace returns the path of the record in args, by default the user's, and
// that of its head.
func recordPlace(args []string) (file, head string, err error) {
	dirs := userDirs()
	if len(args) > 0 {
		file = args[0]
	} else if file, err = dirs.Record(); err != nil {
		return "", "", opening(err)
	}
	head, err = dirs.Head(file)
	return file, head, err
}

// openToRead opens the record in args.
func openToRead(args []string) (*os.File, error) {
	file, _, err := recordPlace(args)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	return f, noRecord(file, err)
}

// noRecord turns the error about a missing record into a usage error.
func noRecord(file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usage("there is no audit log %s: give the file that --audit named", file)
	}
	return err
}

func (a *app) auditVerifyCommand() *cobra.Command {
	var head string
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check that an audit log was not changed",
		Long: `verify reads the audit log from its first entry and reports every entry that was
changed, removed, inserted or moved, and every cut. The exit code is 0 if the
audit log is intact, 3 if not, 2 if there is nothing to verify.

Someone who can write to both the audit log and its head can rewrite both. To
catch that, keep the hash that verify prints somewhere else and give it with
--head later: the audit log must still have the entry with this hash.`,
		Example: `  agent-wrapper audit verify
  agent-wrapper audit verify run.jsonl --head sha256:0c4f…`,
		Args: atMostFile,
		RunE: func(_ *cobra.Command, args []string) error { return a.auditVerify(args, head, form) },
	}
	form = a.addJSON(cmd, jsonOnce)
	cmd.Flags().StringVar(&head, "head", "", "`hash` that verify printed earlier and you kept elsewhere")
	return cmd
}

func (a *app) auditVerify(args []string, hash string, form *jsonForm) error {
	file, head, err := recordPlace(args)
	if err != nil {
		return err
	}
	if err := audit.CheckHash(hash); hash != "" && err != nil {
		return usage("--head: %w", err)
	}
	report, err := audit.Verify(file, head, hash)
	if err != nil {
		return noRecord(file, err)
	}
	if form.on {
		err = form.put(newVerified(file, report))
	} else {
		err = a.writeReport(file, hash, report)
	}
	if err != nil {
		return err
	}
	switch {
	case len(report.Faults) > 0:
		return &coded{codeDenied, fmt.Errorf("%s is not as it was written: see the lines above", file)}
	case report.Records == 0:
		return usage("%s has no entry with a hash, so nothing in it can be verified", file)
	}
	return nil
}

// verifiedJSON is the output of audit verify --json.
type verifiedJSON struct {
	envelope
	File    string         `json:"file"`
	Intact  bool           `json:"intact"`
	Lines   int            `json:"lines"`
	Records uint64         `json:"records"`
	Head    string         `json:"head,omitempty"` // hash of the last entry
	Known   uint64         `json:"known"`          // the entry up to which the head proves that nothing is missing
	Since   uint64         `json:"since"`          // entries after the one with the hash of --head
	Faults  []auditFinding `json:"faults"`
	Notes   []auditFinding `json:"notes"`
}

type auditFinding struct {
	Line int    `json:"line"` // 0: the whole file
	Text string `json:"text"`
}

func newVerified(file string, r *audit.Report) *verifiedJSON {
	findings := func(list []audit.Finding) []auditFinding {
		out := []auditFinding{}
		for _, f := range list {
			out = append(out, auditFinding(f))
		}
		return out
	}
	return &verifiedJSON{
		File: absolute(file), Intact: len(r.Faults) == 0 && r.Records > 0, Lines: r.Lines, Records: r.Records, Head: r.Head,
		Known: r.Known, Since: r.Since, Faults: findings(r.Faults), Notes: findings(r.Notes),
	}
}

func (a *app) writeReport(file, hash string, r *audit.Report) error {
	var out strings.Builder
	file = visible.Line(file)
	finding := func(what string, f audit.Finding) {
		if f.Line > 0 {
			fmt.Fprintf(&out, "%s:%d: %s%s\n", file, f.Line, what, visible.Line(f.Text))
			return
		}
		fmt.Fprintf(&out, "%s: %s%s\n", file, what, visible.Line(f.Text))
	}
	for _, f := range r.Faults {
		finding("", f)
	}
	for _, f := range r.Notes {
		finding("note: ", f)
	}
	if len(r.Faults) == 0 && r.Head != "" {
		fmt.Fprintf(&out, "%s: %d entries, each as it was written\nhead %s\n", file, r.Records, r.Head)
		if hash != "" {
			fmt.Fprintf(&out, "the entry with the hash given is there; %d follow it\n", r.Since)
		}
	}
	_, err := io.WriteString(a.out, out.String())
	return err
}

// filterFlags are the flags for an audit.Filter.
type filterFlags struct {
	audit.Filter
	since, until string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Tool, "tool", "", "only uses of this `tool`")
	flags.StringVar(&f.Behavior, "behavior", "", "only decisions to `allow|deny|ask|advice`: ask is what a person was asked about, advice what the agent was told to write more plainly")
	flags.StringVar(&f.By, "by", "", "only decisions by this `word`: rule, person, timeout, advice, or host, the agent's own window")
	flags.StringVar(&f.Sandbox, "sandbox", "", "only command lines that run `inside|outside|within` the sandbox; met: only outcomes of commands that it stopped")
	flags.StringVar(&f.Rule, "rule", "", "only decisions by a rule that contains this `text`")
	flags.StringVar(&f.Session, "session", "", "only the session with this `id`")
	flags.StringVar(&f.Agent, "agent", "", "only the subagent with this `id`")
	flags.StringVar(&f.Use, "use", "", "only the tool use with this `id`")
	flags.StringVar(&f.Kind, "kind", "", "only entries of this kind: `decision|outcome|note|torn|begin`")
	flags.StringVar(&f.Text, "text", "", "only entries that contain this `text`, in upper or lower case")
	flags.StringVar(&f.since, "since", "", "only since this `time`: 2026-01-31, 2026-01-31T15:04:05Z, or 24h for the last 24 hours")
	flags.StringVar(&f.until, "until", "", "only before this `time`")
	complete(cmd, "behavior", recordBehaviors...)
	complete(cmd, "by", permission.Answering()...)
	complete(cmd, "kind", recordKinds...)
	complete(cmd, "sandbox", recordSandbox...)
}

var (
	recordBehaviors = []string{"allow", "deny", "ask", permission.ByAdvice}
	recordKinds     = []string{"decision", "outcome", "note", "torn", "begin"}
	recordSandbox   = []string{"inside", "outside", "within", audit.MetRefusal}
)

// parse returns the filter of the flags. A word that no record can have is an
// error: nothing found would look like an answer.
func (f *filterFlags) parse(now time.Time) (*audit.Filter, error) {
	err := cmp.Or(ifGiven("--behavior", f.Behavior, recordBehaviors...), ifGiven("--by", f.By, permission.Answering()...), ifGiven("--kind", f.Kind, recordKinds...), ifGiven("--sandbox", f.Sandbox, recordSandbox...))
	if err != nil {
		return nil, err
	}
	if f.Tool != "" {
		if _, _, err := patterns.Parse(f.Tool, patterns.Ask, patterns.Source{}); err != nil {
			return nil, usage("--tool: %w", err) // nearly the name of a tool
		}
	}
	if f.Since, err = pointInTime(f.since, now); err != nil {
		return nil, usage("--since %w", err)
	}
	if f.Until, err = pointInTime(f.until, now); err != nil {
		return nil, usage("--until %w", err)
	}
	return &f.Filter, nil
}

// pointInTime parses a time, or a duration before now.
func pointInTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if back, err := time.ParseDuration(text); err == nil {
		return now.Add(-back), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q: write 2026-01-31, 2026-01-31T15:04:05Z, or 24h for the last 24 hours", text)
}

func (a *app) auditSearchCommand() *cobra.Command {
	f, output := &filterFlags{}, ""
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "search [FILE]",
		Short: "Find entries that meet all conditions",
		Example: `  agent-wrapper audit search --behavior deny --since 24h
  agent-wrapper audit search --behavior ask --by timeout
  agent-wrapper audit search --tool Bash --text "git push" --output jsonl`,
		Args: atMostFile,
		RunE: func(_ *cobra.Command, args []string) error {
			filter, err := f.parse(time.Now())
			if err != nil {
				return err
			}
			show, err := a.showRecord(output, form)
			if err != nil {
				return err
			}
			found := false
			err = show.ended(scan(args, filter, func(e *audit.Entry, line []byte) error {
				found = true
				return show.one(e, line)
			}))
			if err == nil && !found && isTerminal(a.out) {
				fmt.Fprintln(a.err, "No entry meets all conditions.")
			}
			return err
		},
	}
	f.add(cmd)
	addRecordOutput(cmd, &output)
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

func addRecordOutput(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVar(output, "output", outputText, "print entries as `text|jsonl`")
	complete(cmd, "output", outputText, outputJSONL)
}

// recordsJSON is the output of audit search and audit tail with --json.
type recordsJSON struct {
	envelope
	Records []json.RawMessage `json:"records"` // as they stand in the audit log
}

// recordView writes records: one after the other, or all in one object at the end.
type recordView struct {
	one func(*audit.Entry, []byte) error
	end func() error
}

// ended is called with the error of reading, after the last record.
func (v *recordView) ended(err error) error {
	if err != nil {
		return err
	}
	return v.end()
}

// showRecord returns the view for --output, or for --json.
func (a *app) showRecord(output string, form *jsonForm) (*recordView, error) {
	if err := among("--output", output, outputText, outputJSONL); err != nil {
		return nil, err
	}
	v := &recordView{one: a.writeLine, end: func() error { return nil }}
	switch {
	case form.on:
		all := &recordsJSON{Records: []json.RawMessage{}}
		v.one = func(_ *audit.Entry, line []byte) error {
			all.Records = append(all.Records, slices.Clone(line))
			return nil
		}
		v.end = func() error { return form.put(all) }
	case output == outputText:
		v.one = func(e *audit.Entry, _ []byte) error {
			_, err := io.WriteString(a.out, a.row(e.String()))
			return err
		}
	}
	return v, nil
}

// row returns a line, which is broken at blanks where it is wider than the terminal.
func (a *app) row(text string) string {
	if !isTerminal(a.out) {
		return text + "\n"
	}
	words := strings.TrimLeft(text, " ")
	return folded(text[:len(text)-len(words)], strings.Repeat(" ", 8), words, columns(a.out))
}

// writeLine writes a record unchanged.
func (a *app) writeLine(_ *audit.Entry, line []byte) error {
	_, err := fmt.Fprintf(a.out, "%s\n", line)
	return err
}

// scan reads the record in args.
func scan(args []string, f *audit.Filter, each func(*audit.Entry, []byte) error) error {
	in, err := openToRead(args)
	if err != nil {
		return err
	}
	defer in.Close()
	return audit.Scan(in, f, each)
}

func (a *app) auditExportCommand() *cobra.Command {
	f, format := &filterFlags{}, ""
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Export entries as JSON lines or CSV",
		Long: `export prints the entries: as JSON lines, byte for byte as in the audit log, or
as CSV with the names of the columns in the first line. In CSV, a cell that a
spreadsheet would take for a formula begins with an apostrophe.`,
		Example: `  agent-wrapper audit export --format csv --since 2026-01-01 > decisions.csv`,
		Args:    atMostFile,
		RunE: func(_ *cobra.Command, args []string) error {
			filter, err := f.parse(time.Now())
			if err != nil {
				return err
			}
			switch format {
			case outputJSONL:
				return scan(args, filter, a.writeLine)
			case "csv":
				return a.exportCSV(args, filter)
			}
			return among("--format", format, outputJSONL, "csv")
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&format, "format", outputJSONL, "export as `jsonl|csv`")
	complete(cmd, "format", outputJSONL, "csv")
	return cmd
}

func (a *app) exportCSV(args []string, f *audit.Filter) error {
	table, err := audit.NewCSV(a.out)
	if err != nil {
		return err
	}
	err = scan(args, f, func(e *audit.Entry, _ []byte) error { return table.Write(e) })
	return errors.Join(err, table.Flush())
}

func (a *app) auditTailCommand() *cobra.Command {
	n, follow, output := 0, false, ""
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "tail [FILE]",
		Short: "Show the last entries",
		Example: `  agent-wrapper audit tail -n 50
  agent-wrapper audit tail -f`,
		Args: atMostFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			show, err := a.showRecord(output, form)
			switch {
			case err != nil:
				return err
			case n < 0:
				return usage("-n %d: write 0 or more", n)
			case follow && form.on:
				return usage("--json is one object, and --follow has no end: use --output jsonl")
			}
			return show.ended(tail(cmd.Context(), args, n, follow, show.one))
		},
	}
	cmd.Flags().IntVarP(&n, "lines", "n", 10, "how many `entries` to show")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep showing new entries until interrupted")
	addRecordOutput(cmd, &output)
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// lookAgain is the interval at which tail -f looks for new records.
const lookAgain = 200 * time.Millisecond

// tail shows the last n records and, with follow, those that are added.
func tail(ctx context.Context, args []string, n int, follow bool, show func(*audit.Entry, []byte) error) error {
	in, err := openToRead(args)
	if err != nil {
		return err
	}
	defer in.Close()
	t, err := audit.NewTail(in, n)
	if err != nil {
		return err
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if err := t.Next(show); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
