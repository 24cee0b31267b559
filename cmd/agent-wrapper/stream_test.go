package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

var events = []wrapper.Event{
	{Type: "session", SessionID: "s-1"},
	{Type: "status", State: "thinking"},
	{Type: "chunk", Text: "I look\x1b]0;title\a first."},
	{Type: "status", State: "tool_use", Tool: "Bash", InputSummary: "ls"},
	{Type: "tool_use", Tool: "Bash", Command: "ls"},
	{Type: "decision", Tool: "Bash", InputSummary: "ls \u202E-la", Behavior: "allow", Layer: "default", Reason: "it is on the allow list", Rule: "Bash(ls:*)", Source: "p.toml:3:5", By: "rule", Tier: 1, Risk: "safe"},
	{Type: "tool_result", Tool: "Bash", Text: "a\nb\tc\n\x1b[31md\ne\nf\ng\n"},
	{Type: "approval_required", Tool: "Bash", Reason: "asked"},
	{Type: "decision", Tool: "Bash", Agent: "a7", InputSummary: "rm x", Behavior: "deny", Layer: "ask-list", Reason: "asked", By: "person"},
	{Type: "warning", Message: "rule 3 is\nnever used"},
	{Type: "something new"},
	{Type: "error", ToolUseID: "t1", Message: "it broke"},
	{Type: "error", Message: "the run failed"},
	{Type: "done"},
}

func TestStreamText(t *testing.T) {
	var out strings.Builder
	s, err := newStream(&out, "text")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		s.event(e)
	}
	want := `session s-1

I look<U+001B>]0;title<U+0007> first.
ALLOW  Bash  ls <U+202E>-la
       it is on the allow list  Bash(ls:*)  p.toml:3
       | a
       | b    c
       | <U+001B>[31md
       | e
       | (2 more lines)
DENY   Bash  rm x (subagent a7)
       not approved; asked
warning: rule 3 is<U+000A>never used
error: it broke
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

// One JSON object a line for every event; ASCII control characters are escaped.
func TestStreamJSONL(t *testing.T) {
	var out strings.Builder
	s, err := newStream(&out, "") // not a terminal
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		s.event(e)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(events) {
		t.Fatalf("%d lines for %d events", len(lines), len(events))
	}
	for i, line := range lines {
		var got wrapper.Event
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(events[i], got); d != "" {
			t.Error(d)
		}
		if strings.ContainsAny(line, "\x1b\a") {
			t.Errorf("line %d holds a control character", i)
		}
	}
}

func TestStreamOutputFlag(t *testing.T) {
	if _, err := newStream(&strings.Builder{}, "json"); err == nil {
		t.Error("--output json was taken")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

// A run whose stream cannot be written fails.
func TestStreamFails(t *testing.T) {
	s, _ := newStream(full{}, "jsonl")
	s.event(events[0])
	if s.failed() == nil {
		t.Error("the error is lost")
	}
}

// Paths in the workspace are shown relative to it, others unchanged.
func TestStreamBase(t *testing.T) {
	var out strings.Builder
	s := &stream{out: &out, base: "/w"}
	s.event(wrapper.Event{Type: "decision", Tool: "Read", InputSummary: "/w/a/b", Behavior: "allow", Layer: "default", Reason: "read /w/a/b"})
	s.event(wrapper.Event{Type: "decision", Tool: "Read", InputSummary: "/w2/a", Behavior: "allow", Layer: "default", Reason: "read /w2/a"})
	if d := cmp.Diff("ALLOW  Read  a/b\n       read a/b\nALLOW  Read  /w2/a\n       read /w2/a\n", out.String()); d != "" {
		t.Error(d)
	}
}

func TestPaint(t *testing.T) {
	s := &stream{colour: true}
	for behavior, want := range map[string]string{"allow": "\x1b[32mX\x1b[0m", "deny": "\x1b[31mX\x1b[0m", "new": "X"} {
		if got := s.paint(behavior, "X"); got != want {
			t.Errorf("%s: %q", behavior, got)
		}
	}
}

// What is written fits the terminal, and is broken at blanks.
func TestStreamWidth(t *testing.T) {
	shown := []wrapper.Event{
		{Type: "chunk", Text: "I push the branch that you have reviewed.\n\n    git push\n"},
		{Type: "decision", Tool: "Bash", InputSummary: "cd web && git push --set-upstream origin feature/a-long-name-of-a-branch", Behavior: "allow", Layer: "ask-list", Reason: "approved by you; asked by Bash(git push:*)", Source: "/w/agent-wrapper.toml:4:11", Rule: "Bash(git push:*)", By: "person"},
		{Type: "decision", Tool: "Bash", InputSummary: "go test -run 'A|B'", Behavior: "allow", Layer: "default", Reason: "allowed by rule Bash(go test:*): run go test -run A|B", Source: "/home/me/.config/agent-wrapper/agent-wrapper.toml:1:2", Rule: "Bash(go test:*)", By: "rule"},
		{Type: "decision", Tool: "Read", InputSummary: "/w/src/a.go", Behavior: "allow", Layer: "default", Reason: "allowed by rule Read: read /w/src/a.go", Rule: "Read", Source: "/w/agent-wrapper.toml:3:11", By: "rule"},
		{Type: "tool_result", Tool: "Read", Text: "package a\n" + strings.Repeat("x", 100) + "\nc\nd\ne"},
		{Type: "warning", Message: "a rule of this policy is never used"},
	}
	for width, want := range map[int]string{80: `
I push the branch that you have reviewed.

    git push
ALLOW  Bash  cd web && git push --set-upstream origin
       feature/a-long-name-of-a-branch
       approved by you; asked by Bash(git push:*)  agent-wrapper.toml:4
ALLOW  Bash  go test -run 'A|B'
       allowed by rule Bash(go test:*)
       ~/.config/agent-wrapper/agent-wrapper.toml:1
ALLOW  Read  src/a.go
       allowed by rule Read  agent-wrapper.toml:3
       | package a
       | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
       | xxxxxxxxxxxxxxxxxxxxxxxxxxxxx
       | c
       | (2 more lines)
warning: a rule of this policy is never used
`, 40: `
I push the branch that you have
reviewed.

    git push
ALLOW  Bash  cd web && git push
       --set-upstream origin
       feature/a-long-name-of-a-branch
       approved by you; asked by
       Bash(git push:*)
       agent-wrapper.toml:4
ALLOW  Bash  go test -run 'A|B'
       allowed by rule Bash(go test:*)
       ~/.config/agent-wrapper/
       agent-wrapper.toml:1
ALLOW  Read  src/a.go
       allowed by rule Read
       agent-wrapper.toml:3
       | package a
       | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
       | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
       | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
       | (3 more lines)
warning: a rule of this policy is never
  used
`, 20: `
I push the branch
that you have
reviewed.

    git push
ALLOW  Bash  cd web
  && git push
  --set-upstream
  origin
  feature/a-long-nam
  e-of-a-branch
  approved by you;
  asked by Bash(git
  push:*)
  agent-wrapper.toml
  :4
ALLOW  Bash  go test
  -run 'A|B'
  allowed by rule
  Bash(go test:*)
  ~/.config/agent-wr
  apper/agent-wrappe
  r.toml:1
ALLOW  Read
  src/a.go
  allowed by rule
  Read
  agent-wrapper.toml
  :3
  | package a
  | xxxxxxxxxxxxxxxx
  | xxxxxxxxxxxxxxxx
  | xxxxxxxxxxxxxxxx
  | (3 more lines)
warning: a rule of
  this policy is
  never used
`} {
		var out strings.Builder
		s := &stream{out: &out, base: "/w", home: "/home/me", columns: func() int { return width }}
		for _, e := range shown {
			s.event(e)
		}
		if d := cmp.Diff(want, out.String()); d != "" {
			t.Errorf("%d columns: %s", width, d)
		}
	}
}

// What one answer may not look like: nothing of a command stands where the reason does.
func TestFolded(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, "> "},
		{"a b", 10, "> a b"},
		{"a  b", 10, "> a  b"},
		{"aaaa bbbb cc", 7, "> aaaa|. bbbb|. cc"},
		{"aaaaaaaaaa b", 6, "> aaaa|. aaaa|. aa b"},
		{"日本語 日本", 8, "> 日本語|. 日本"},
		{"日本語", 6, "> 日本|. 語"},
		{"abc", 1, "> a|. b|. c"},
		{"aaaa    bbbb", 7, "> aaaa|. bbbb"},
		{"a/bcdef/ghi", 11, "> a/bcdef/|. ghi"},
		{"a/bcdefghij", 8, "> a/bcde|. fghij"},
	} {
		got := strings.ReplaceAll(strings.TrimSuffix(folded("> ", ". ", c.text, c.width), "\n"), "\n", "|")
		if got != strings.TrimSpace(c.want) && got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// shownFor is an output that keeps what is shown for good, and the rows that are drawn again.
type shownFor struct {
	strings.Builder
	tail, most int
	broad      string // a row that is drawn again, and may be as wide as the terminal
}

func (s *shownFor) Tail(rows []string) {
	s.tail, s.most = len(rows), max(s.most, len(rows))
	for _, row := range rows {
		if cells(row) >= 30 || strings.Contains(row, "\t") {
			s.broad = row
		}
	}
}

// TestDeltas: what is written piece by piece ends up as it does in one, and of a plain
// paragraph no more than a row is drawn again.
func TestDeltas(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int // rows that are drawn again
	}{
		{"The kettle boils at 100 degrees unless it is on a mountain, where it boils earlier.", 1},
		{"One.\n\nA second paragraph that is longer than a row.\n    code stays as it is, whatever its length is\n- end", 1},
		{"A word that is averyveryveryveryverylongword/with/a/slash.and more of it", 2},
		{"blanks   between    words   and   at   the   end   of   rows   ", 1},
		{"| a | table | that is wider than the terminal is |\nand text", 1},
		{"some words that come before a | sign in the same paragraph", 1},
		{"spelled \u202eout in a paragraph that is longer than\x1b[2J a row", 9},
		{"✅ built ✅ vetted ✅ tested ⚡ fast ⭐ good ✅ and ✅ all ✅ of ✅ it ✅", 1},
		{"a\tb\tc\td\te\tf\tg\th", 1},
		{"日本語の文章です。 日本語の文章です。 日本語の文章です。 日本語の文章です。", 1},
	} {
		for _, size := range []int{1, 3, 7, 1000} {
			out := &shownFor{}
			s := &stream{out: out, columns: func() int { return 30 }, height: func() int { return 24 }}
			for rest := tt.text; rest != ""; {
				n := min(size, len(rest))
				for n < len(rest) && !utf8.RuneStart(rest[n]) {
					n++
				}
				s.event(wrapper.Event{Type: wrapper.DeltaEvent, Text: rest[:n]})
				rest = rest[n:]
			}
			s.event(wrapper.Event{Type: wrapper.ChunkEvent, Text: tt.text})
			want := "\n" + s.prose(visible.Text(tt.text))
			got := out.String()
			if strings.Contains(tt.text, "before a |") { // what was shown before it stays broken
				got, want = strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")
			}
			if out.broad != "" {
				t.Errorf("%q is drawn again", out.broad)
			}
			if got != want || out.tail != 0 || out.most > tt.most {
				t.Errorf("in pieces of %d:\n%q\nwant\n%q\n%d rows are left, %d were drawn again", size, got, want, out.tail, out.most)
			}
		}
	}
}

// TestStreamRefused: of a denied tool use the words for the agent are left out, and what the
// agent CLI turned away by itself has a name.
func TestStreamRefused(t *testing.T) {
	var out strings.Builder
	s := &stream{out: &out}
	for _, e := range []wrapper.Event{
		{Type: wrapper.DecisionEvent, Tool: "Bash", InputSummary: "rm x", ToolUseID: "1", Behavior: "deny", Reason: "interrupted"},
		{Type: wrapper.ToolResultEvent, Tool: "Bash", ToolUseID: "1", Text: "The user doesn't want to proceed.", IsError: true},
		{Type: wrapper.DecisionEvent, Tool: "Bash", InputSummary: "ls", ToolUseID: "2", Behavior: "allow", Reason: "safe"},
		{Type: wrapper.ToolResultEvent, Tool: "Bash", ToolUseID: "2", Text: "no such file", IsError: true},
		{Type: wrapper.ToolResultEvent, Tool: "Ba\x1b[2Jsh", ToolUseID: "3", Text: "Blocked: sleep", IsError: true},
		{Type: wrapper.DecisionEvent, Tool: "Bash", InputSummary: "cp x y", ToolUseID: "4", Behavior: "deny", Reason: "no"},
		{Type: wrapper.ToolResultEvent, Tool: "Bash", ToolUseID: "4", Text: "it ran all the same"},
	} {
		s.event(e)
	}
	want := "DENY   Bash  rm x\n       interrupted\nALLOW  Bash  ls\n       safe\n       | no such file\nBa<U+001B>[2Jsh  the agent CLI did not ask about it\n       | Blocked: sleep\nDENY   Bash  cp x y\n       no\n       | it ran all the same\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
