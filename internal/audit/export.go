package audit

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// columns are the columns of the CSV, in order.
var columns = []struct {
	name string
	of   func(*Entry) string
}{
	{"seq", func(e *Entry) string { return strconv.FormatUint(e.Seq, 10) }},
	{"time", func(e *Entry) string { return e.Time }},
	{"kind", func(e *Entry) string { return e.Kind }},
	{"session", func(e *Entry) string { return e.Session }},
	{"agent", func(e *Entry) string { return e.Agent }},
	{"use", func(e *Entry) string { return e.Use }},
	{"tool", func(e *Entry) string { return e.Tool }},
	{"dir", func(e *Entry) string { return e.Dir }},
	{"input", func(e *Entry) string { return string(e.Input) }},
	{"actions", func(e *Entry) string { return strings.Join(e.Actions, "\n") }},
	{"behavior", func(e *Entry) string { return e.Behavior }},
	{"layer", func(e *Entry) string { return e.Layer }},
	{"rule", func(e *Entry) string { return e.Rule }},
	{"source", func(e *Entry) string { return e.Source }},
	{"reason", func(e *Entry) string { return e.Reason }},
	{"message", func(e *Entry) string { return e.Message }},
	{"risk", func(e *Entry) string { return e.Risk }},
	{"tier", func(e *Entry) string { return number(uint64(e.Tier)) }},
	{"by", func(e *Entry) string { return e.By }},
	{"held", func(e *Entry) string { return strconv.FormatBool(e.Held) }},
	{"objection", func(e *Entry) string { return e.Refusal }},
	{"would_block", func(e *Entry) string { return strconv.FormatBool(e.WouldBlock) }},
	{"updated", func(e *Entry) string { return string(e.Updated) }},
	{"digest", func(e *Entry) string { return e.Digest }},
	{"note", func(e *Entry) string { return e.Note }},
	{"of", func(e *Entry) string { return number(e.Of) }},
	{"outcome", func(e *Entry) string { return e.Outcome }},
	{"exit", (*Entry).exit},
	{"took_ms", (*Entry).took},
	{"approval", func(e *Entry) string { return e.Approval }},
	{"answered", (*Entry).people},
	{"comment", func(e *Entry) string { return e.Comment }},
	{"sandbox", func(e *Entry) string { return e.Sandbox }},
	{"met", func(e *Entry) string { return strings.Join(e.Met, "\n") }},
}

func number(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// people returns who answered, by name, one a line.
func (e *Entry) people() string {
	var names []string
	for _, p := range e.Answered {
		names = append(names, p.Name)
	}
	return strings.Join(names, "\n")
}

func (e *Entry) exit() string {
	if e.Exit == nil {
		return ""
	}
	return strconv.Itoa(*e.Exit)
}

func (e *Entry) took() string {
	if e.TookMS == nil {
		return ""
	}
	return strconv.FormatInt(*e.TookMS, 10)
}

// CSV writes records as comma-separated values, after a line with the names of
// the columns. Call Flush at the end.
type CSV struct{ out *csv.Writer }

// NewCSV returns a CSV that has written the names of the columns.
func NewCSV(w io.Writer) (*CSV, error) {
	c := &CSV{csv.NewWriter(w)}
	var names []string
	for _, col := range columns {
		names = append(names, col.name)
	}
	return c, c.out.Write(names)
}

// Write writes a record.
func (c *CSV) Write(e *Entry) error {
	row := make([]string, len(columns))
	for i, col := range columns {
		row[i] = harmless(visible.Text(col.of(e)))
	}
	return c.out.Write(row)
}

// Flush writes buffered records.
func (c *CSV) Flush() error {
	c.out.Flush()
	return c.out.Error()
}

// harmless returns a cell that no spreadsheet takes for a formula: it prefixes
// one that would be with an apostrophe.
func harmless(cell string) string {
	begin := strings.TrimLeft(cell, " \t\r\n\u00a0\ufeff")
	if begin != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(begin)[0]) || cell != "" && strings.IndexByte("\t\r\n", cell[0]) >= 0 {
		return "'" + cell
	}
	return cell
}
