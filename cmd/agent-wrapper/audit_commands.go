package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
)

func (a *app) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Verify, watch, search and export the record of decisions",
		Long: `Every decision, and what became of it, is a line in the record. Each line
carries the hash of the one before, and a second file, the head, holds how far
the record goes at least. Without FILE it is the record of this user.`,
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
func atMostFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one FILE at most; arguments given: %d", cmd.CommandPath(), len(args))
	}
	return nil
}

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
		return usage("there is no record %s: give its FILE, as --audit had it", file)
	}
	return err
}

func (a *app) auditVerifyCommand() *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Look whether a record is the one that was written",
		Long: `verify reads the record from its first line and finds every line that was
changed, taken out, put in or moved, and every cut. It names the line. The exit
code is 0 if all is as it was written, 3 if not, 2 if there is nothing to
verify.

Who can write to the record and to its head can write both anew. To find that,
keep the hash that verify prints somewhere else, and give it with --head later:
the record must still have the line with this hash.`,
		Example: `  agent-wrapper audit verify
  agent-wrapper audit verify run.jsonl --head sha256:0c4f…`,
		Args: atMostFile,
		RunE: func(_ *cobra.Command, args []string) error { return a.auditVerify(args, head) },
	}
	cmd.Flags().StringVar(&head, "head", "", "`hash` of a record that was kept elsewhere")
	return cmd
}

func (a *app) auditVerify(args []string, hash string) error {
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
	if err := a.writeReport(file, hash, report); err != nil {
		return err
	}
	switch {
	case len(report.Faults) > 0:
		return &coded{codeDenied, fmt.Errorf("%s is not as it was written", file)}
	case report.Records == 0:
		return usage("%s holds no record with a hash, so nothing in it can be verified", file)
	}
	return nil
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
		fmt.Fprintf(&out, "%s: %d records, each as it was written\nhead %s\n", file, r.Records, r.Head)
		if hash != "" {
			fmt.Fprintf(&out, "the record with the hash given is there; %d follow it\n", r.Since)
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
	flags.StringVar(&f.Tool, "tool", "", "only this `tool`")
	flags.StringVar(&f.Behavior, "behavior", "", "only decisions that came to `allow|deny`")
	flags.StringVar(&f.Rule, "rule", "", "only decisions by a rule that has this `text` in it")
	flags.StringVar(&f.Session, "session", "", "only this session, by its `id`")
	flags.StringVar(&f.Agent, "agent", "", "only this subagent, by its `id`")
	flags.StringVar(&f.Use, "use", "", "only this tool use, by its `id`")
	flags.StringVar(&f.Kind, "kind", "", "only records of this kind: `decision|outcome|note|torn|begin`")
	flags.StringVar(&f.Text, "text", "", "only records that have this `text` anywhere, in whatever case")
	flags.StringVar(&f.since, "since", "", "only from this `time` on: 2026-01-31, 2026-01-31T15:04:05Z, or 24h for the last day")
	flags.StringVar(&f.until, "until", "", "only before this `time`")
	complete(cmd, "behavior", recordBehaviors...)
	complete(cmd, "kind", recordKinds...)
}

var (
	recordBehaviors = []string{"allow", "deny"}
	recordKinds     = []string{"decision", "outcome", "note", "torn", "begin"}
)

// parse returns the filter of the flags. A word that no record can have is an
// error: nothing found would look like an answer.
func (f *filterFlags) parse(now time.Time) (*audit.Filter, error) {
	if f.Behavior != "" && !slices.Contains(recordBehaviors, f.Behavior) {
		return nil, usage("--behavior %q: it is one of %s", f.Behavior, strings.Join(recordBehaviors, ", "))
	}
	if f.Kind != "" && !slices.Contains(recordKinds, f.Kind) {
		return nil, usage("--kind %q: it is one of %s", f.Kind, strings.Join(recordKinds, ", "))
	}
	var err error
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
	return time.Time{}, fmt.Errorf("%q: write 2026-01-31, 2026-01-31T15:04:05Z, or a time span like 24h", text)
}

func (a *app) auditSearchCommand() *cobra.Command {
	f, output := &filterFlags{}, ""
	cmd := &cobra.Command{
		Use:   "search [FILE]",
		Short: "Find records; several conditions must all hold",
		Example: `  agent-wrapper audit search --behavior deny --since 24h
  agent-wrapper audit search --tool Bash --text "git push" --output jsonl`,
		Args: atMostFile,
		RunE: func(_ *cobra.Command, args []string) error {
			filter, err := f.parse(time.Now())
			if err != nil {
				return err
			}
			show, err := a.showRecord(output)
			if err != nil {
				return err
			}
			return scan(args, filter, show)
		},
	}
	f.add(cmd)
	addRecordOutput(cmd, &output)
	return cmd
}

func addRecordOutput(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVar(output, "output", outputText, "form of a record: `text|jsonl`")
	complete(cmd, "output", outputText, outputJSONL)
}

// showRecord returns the function that writes records in the form of --output.
func (a *app) showRecord(output string) (func(*audit.Entry, []byte) error, error) {
	switch output {
	case outputText:
		return func(e *audit.Entry, _ []byte) error {
			_, err := fmt.Fprintln(a.out, e)
			return err
		}, nil
	case outputJSONL:
		return a.writeLine, nil
	}
	return nil, usage("--output %q: it is text or jsonl", output)
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
		Short: "Write records as JSON lines or comma-separated values",
		Long: `export writes the records to standard output: as JSON lines byte for byte as
they stand in the record, or as CSV, the first line with the names of the
columns. In CSV a cell that a spreadsheet would take for a formula gets an
apostrophe in front.`,
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
			return usage("--format %q: it is jsonl or csv", format)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&format, "format", outputJSONL, "form of the export: `jsonl|csv`")
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
	cmd := &cobra.Command{
		Use:   "tail [FILE]",
		Short: "Show the last records",
		Example: `  agent-wrapper audit tail -n 50
  agent-wrapper audit tail -f`,
		Args: atMostFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			show, err := a.showRecord(output)
			if err != nil {
				return err
			}
			if n < 0 {
				return usage("-n %d: it is 0 or more", n)
			}
			return tail(cmd.Context(), args, n, follow, show)
		},
	}
	cmd.Flags().IntVarP(&n, "lines", "n", 10, "how many `records`")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is added, until interrupted")
	addRecordOutput(cmd, &output)
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
