package audit

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// few returns a record of a begin, three decisions and an outcome.
func few(t *testing.T) (path string, l *Log) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "log")
	l = open(t, path)
	for i, input := range []string{`{"command":"git push"}`, `{"file_path":"/srv/Éx"}`, `{"command":"=cmd|' /C calc'!A0\n\u001b[2J"}`} {
		r := record(input, "")
		r.Use.Tool = []string{"Bash", "Read", "Bash"}[i]
		r.Use.Agent = []string{"", "a1", ""}[i]
		l.now = func() time.Time { return time.Date(2026, 1, 2+i, 0, 0, 0, 0, time.UTC) }
		if err := l.Record(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	code := 1
	l.Outcome(Outcome{Session: "s", Use: "toolu_1", Tool: "Bash", Failed: true, Exit: &code, Took: 40 * time.Millisecond})
	return path, l
}

func seqs(t *testing.T, path string, f *Filter) (found []uint64) {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := Scan(in, f, func(e *Entry, _ []byte) error { found = append(found, e.Seq); return nil }); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFilter(t *testing.T) {
	path, _ := few(t)
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		f    Filter
		want []uint64
	}{
		{Filter{}, []uint64{1, 2, 3, 4, 5}}, {Filter{Tool: "Bash"}, []uint64{2, 4, 5}}, {Filter{Tool: "Ba"}, nil},
		{Filter{Behavior: "deny", Tool: "Read"}, []uint64{3}}, {Filter{Agent: "a1"}, []uint64{3}}, {Filter{Session: "s", Kind: "outcome"}, []uint64{5}},
		{Filter{Rule: "rm"}, []uint64{2, 3, 4}}, {Filter{By: "rule"}, []uint64{2, 3, 4}}, {Filter{By: "person"}, nil}, {Filter{Text: "GIT PUSH"}, []uint64{2}}, {Filter{Text: "éX"}, []uint64{3}}, {Filter{Text: "calc'!A0\n"}, []uint64{4}},
		{Filter{Since: day(3), Kind: "decision"}, []uint64{3, 4}}, {Filter{Until: day(3), Kind: "decision"}, []uint64{2}}, {Filter{Use: "toolu_1"}, []uint64{2, 3, 4, 5}},
	} {
		if diff := cmp.Diff(tt.want, seqs(t, path, &tt.f)); diff != "" {
			t.Errorf("%+v: %s", tt.f, diff)
		}
	}
}

// TestString checks that no character is printed that a terminal would
// interpret.
func TestString(t *testing.T) {
	path, _ := few(t)
	in, _ := os.Open(path)
	defer in.Close()
	var got []string
	Scan(in, &Filter{}, func(e *Entry, _ []byte) error { got = append(got, e.String()); return nil })
	want := []string{
		"     2 2026-01-02 00:00:00  deny   Bash: git push (deny-list Bash(rm:*); by rule)",
		"     3 2026-01-03 00:00:00  deny   Read: /srv/Éx (deny-list Bash(rm:*); by rule)",
		"     4 2026-01-04 00:00:00  deny   Bash: =cmd|' /C calc'!A0<U+000A><U+001B>[2J (deny-list Bash(rm:*); by rule)",
		"     5 2026-01-04 00:00:00  failed Bash, exit code 1, 40 ms",
	}
	if diff := cmp.Diff(want, got[1:]); diff != "" || !strings.HasSuffix(got[0], "  begin") {
		t.Error(diff, got[0])
	}
	long := &Entry{Kind: kindDecision, Input: asText(strings.Repeat("x", 500))}
	if text := long.String(); !strings.Contains(text, "… (502 bytes)") {
		t.Errorf("what is left out is not said: %s", text)
	}
}

// TestCSV: the table can be read back and has no formulas.
func TestCSV(t *testing.T) {
	path, _ := few(t)
	in, _ := os.Open(path)
	defer in.Close()
	var out strings.Builder
	table, err := NewCSV(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := Scan(in, &Filter{}, func(e *Entry, _ []byte) error { return table.Write(e) }); err != nil {
		t.Fatal(err)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(rows) != 6 {
		t.Fatal(len(rows), err)
	}
	cell := func(row int, name string) string { return rows[row][slices.Index(rows[0], name)] }
	if cell(2, "tool") != "Bash" || cell(2, "tier") != "3" || cell(2, "held") != "true" || cell(5, "exit") != "1" || cell(5, "took_ms") != "40" || cell(2, "took_ms") != "" || cell(1, "of") != "" {
		t.Errorf("%q", rows)
	}
	for _, c := range []struct{ cell, want string }{
		{"=1+1", "'=1+1"}, {"+1", "'+1"}, {"-1", "'-1"}, {"@x", "'@x"}, {"\tx", "'\tx"}, {"\r=x", "'\r=x"}, {"\nx", "'\nx"}, {" =x", "' =x"},
		{"\u00a0=x", "'\u00a0=x"}, {"＝x", "'＝x"}, {"x=1", "x=1"}, {"", ""}, {"1", "1"}, {"'=x", "'=x"}, {" x", " x"},
	} {
		if got := harmless(c.cell); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.cell, got, c.want)
		}
	}
}

// TestTail: the last lines, then what is appended, and only whole lines.
func TestTail(t *testing.T) {
	path, l := few(t)
	in, _ := os.Open(path)
	defer in.Close()
	for n, want := range [][]uint64{nil, {5}, {4, 5}, {3, 4, 5}, {2, 3, 4, 5}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}} {
		tail, err := NewTail(in, n)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		next := func() {
			t.Helper()
			if err := tail.Next(func(e *Entry, _ []byte) error { got = append(got, e.Seq); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		next()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the last %d: %s", n, diff)
		}
	}
	tail, _ := NewTail(in, 0)
	var got []uint64
	next := func() error {
		return tail.Next(func(e *Entry, _ []byte) error { got = append(got, e.Seq); return nil })
	}
	end, _ := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	defer end.Close()
	end.WriteString(`{"v":2,"se`)
	next()
	if len(got) != 0 {
		t.Errorf("half a line is shown: %v", got)
	}
	if err := l.Record(context.Background(), record(`{}`, "")); err != nil {
		t.Fatal(err)
	}
	if err := next(); err != nil || !slices.Equal(got, []uint64{6, 7}) {
		t.Errorf("%v %v", got, err)
	}
	os.Truncate(path, 100)
	if next() == nil {
		t.Error("a record that became shorter is read on")
	}
}

// TestLongLines: a line longer than any that we write ends the reading, in
// bounded memory.
func TestLongLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	open(t, path)
	f, _ := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	f.Truncate(maxLine + 1000)
	f.Close()
	r, err := Verify(path, path+".head", "")
	if err != nil || len(r.Faults) != 1 || r.Faults[0].Line != 2 || !strings.Contains(r.Faults[0].Text, "longer") {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := Open(path, Options{}); err == nil {
		t.Error("it is opened")
	}
}

// TestHeadFile: a record has one head, however its path is written.
func TestHeadFile(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "real"), 0o700)
	os.Symlink("real", filepath.Join(dir, "link"))
	want, err := HeadFile("/heads", filepath.Join(dir, "real", "a.jsonl"))
	if err != nil || !strings.HasPrefix(want, "/heads/a.jsonl-") {
		t.Fatal(want, err)
	}
	os.Symlink(filepath.Join(dir, "real", "a.jsonl"), filepath.Join(dir, "b.jsonl"))
	os.WriteFile(filepath.Join(dir, "real", "a.jsonl"), nil, 0o600)
	for _, path := range []string{"link/a.jsonl", "link/../real/a.jsonl", "b.jsonl"} {
		if got, _ := HeadFile("/heads", filepath.Join(dir, filepath.FromSlash(path))); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got, _ := HeadFile("/heads", filepath.Join(dir, "a.jsonl")); got == want {
		t.Error("another record has the same head")
	}
}

// TestShownInput: the line for a person names what the tool is asked for, not
// some other member that the agent added, and what ran if a person changed it.
func TestShownInput(t *testing.T) {
	for _, tt := range []struct{ tool, input, updated, want string }{
		{"Bash", `{"command":"ls","file_path":"x"}`, "", "Bash: ls ("},
		{"Bash", `{"description":"x","command":"ls"}`, `{"command":"ls -a"}`, "Bash: ls, changed to ls -a ("},
		{"Bash", `{"Command":"ls"}`, "", `Bash: {"Command":"ls"} (`},
		{"Bash", `{"command":7}`, "", `Bash: {"command":7} (`},
		{"Bash", `{"command":"true","command":"rm x"}`, "", `Bash: {"command":"true","command":"rm x"} (`},
		{"Write", `{"command":"ls","file_path":"/etc/passwd","content":""}`, "", "Write: /etc/passwd ("},
		{"NotebookEdit", `{"file_path":"a","notebook_path":"b"}`, "", "NotebookEdit: b ("},
		{"WebFetch", `{"command":"ls","url":"http://x"}`, "", "WebFetch: http://x ("},
		{"LS", `{"pattern":"a","path":"b"}`, "", "LS: b ("},
		{"Grep", `{"pattern":"a","path":"b"}`, "", "Grep: a ("},
		{"mcp__db__drop", `{"command":"ls","table":"t"}`, "", `mcp__db__drop: {"command":"ls","table":"t"} (`},
		{"Bash", `"no object"`, "", `Bash: "no object" (`},
	} {
		e := &Entry{Kind: kindDecision, Tool: tt.tool, Input: json.RawMessage(tt.input), Behavior: "allow"}
		if tt.updated != "" {
			e.Updated = json.RawMessage(tt.updated)
		}
		if got := e.String(); !strings.Contains(got, "allow  "+tt.want) {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// ask and advice select what a person was asked about, and what was answered with advice,
// whatever the decision.
func TestFilterBehavior(t *testing.T) {
	for _, tt := range []struct{ wanted, behavior, by string }{
		{"deny", "deny", "rule"}, {"ask deny", "deny", "person"}, {"ask deny", "deny", "timeout"}, {"advice deny", "deny", "advice"},
		{"allow", "allow", "rule"}, {"allow ask", "allow", "person"}, {"ask", "ask", "host"},
	} {
		var got []string
		for _, behavior := range []string{"advice", "allow", "ask", "deny"} {
			if (&Filter{Behavior: behavior}).matches(&Entry{Behavior: tt.behavior, By: tt.by}, nil) {
				got = append(got, behavior)
			}
		}
		if strings.Join(got, " ") != tt.wanted {
			t.Errorf("%s by %s is %q, want %q", tt.behavior, tt.by, got, tt.wanted)
		}
	}
}

// TestMet: the record says what the sandbox refused a command, with secrets masked, and finds it.
func TestMet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	r := record(`{"command":"make"}`, "")
	r.Result.Sandbox = permission.Inside
	if err := l.Record(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	code := 2
	l.Outcome(Outcome{Session: "s", Use: "toolu_1", Tool: "Bash", Failed: true, Exit: &code, Met: []string{"write /etc", "read /w/password=hunter2hunter2"}})
	l.Outcome(Outcome{Session: "s", Use: "toolu_2", Tool: "Bash"})
	for _, x := range []struct {
		f    Filter
		want []uint64
	}{{Filter{Sandbox: "inside"}, []uint64{2}}, {Filter{Sandbox: "outside"}, nil}, {Filter{Sandbox: MetRefusal}, []uint64{3}}, {Filter{Sandbox: MetRefusal, Text: "write /ETC"}, []uint64{3}}, {Filter{Kind: "outcome"}, []uint64{3, 4}}} {
		if got := seqs(t, path, &x.f); !slices.Equal(got, x.want) {
			t.Errorf("%+v: %v, want %v", x.f, got, x.want)
		}
	}
	lines := logLines(t, path)
	contains(t, lines[2], `{"kind":"outcome","exit":2,"met":["write /etc","read /w/password=REDACTED"]}`)
	e, err := readEntry([]byte(lines[2]))
	if err != nil || !strings.Contains(e.String(), "failed Bash, exit code 2, was stopped by the sandbox: write /etc, read /w/") {
		t.Errorf("%v, %v", e, err)
	}
	if strings.Contains(lines[3], `"met"`) {
		t.Errorf("%s", lines[3])
	}
}
