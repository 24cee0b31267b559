package audit

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func open(t *testing.T, path string) *Log {
	t.Helper()
	l, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }
	t.Cleanup(func() { l.Close() })
	return l
}

func record(input, updated string) permission.Record {
	r := permission.Record{Use: permission.ToolUse{
		ID: "toolu_1", Tool: "Bash", Input: json.RawMessage(input), Dir: "/p", Session: "s", Agent: "a",
	}}
	r.Result.Decision = permission.Decision{
		Behavior: permission.Deny, Layer: permission.LayerDenyList, Rule: "Bash(rm:*)",
		RuleSource: patterns.Source{Name: "p.toml", Line: 3, Col: 9}, Reason: "why", Message: "told",
		Risk: risk.Forbidden, Tier: 3, Held: true,
	}
	r.Result.By = "rule"
	r.Result.UpdatedInput = json.RawMessage(updated)
	return asRead(r)
}

// asRead adds to a record what the evaluator parsed of the command line that it
// decided.
func asRead(r permission.Record) permission.Record {
	input := r.Use.Input
	if r.Edited != nil {
		input = r.Edited
	}
	var in struct{ Command string }
	if json.Unmarshal(input, &in) == nil && in.Command != "" {
		r.Facts = shell.Analyze(in.Command, shell.Options{Dir: r.Use.Dir})
	}
	return r
}

func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	l := open(t, path)
	refused, dry := permission.Record{}, permission.Record{}
	refused.Result.Refusal = permission.Refusal{Behavior: permission.Deny, Kind: "too_long", Reason: "600 bytes, token=hunter2hunter2"}
	edited := record(`{"command":"ls"}`, "")
	edited.Edited = json.RawMessage(`{"command":"rm x"}`)
	edited = asRead(edited)
	dry.Result.Refusal = permission.Refusal{Kind: "too_long", Reason: "600 bytes"}
	granted := permission.Record{}
	granted.Result.Grants = []permission.Grant{
		{ID: 3, Rule: "Bash(npm i)", Until: time.Unix(0, 0)}, {From: "g7", Rule: "Bash(ls)"}, {ID: 4, Use: "curl -u me:hunter2hunter2", Counted: true},
	}
	voted := permission.Record{}
	voted.Result.Approval = &permission.Approval{
		ID: "ap_1", People: []permission.Answerer{{Name: "anna", Credential: "c1"}, {Name: "ben"}}, Comment: "go, token=hunter2hunter2",
	}
	for _, r := range []permission.Record{record(`{ "command": "rm x > y" }`, ""), record("{\xff", `{"a":1}`), record(`{}`, `{}`), {}, refused, dry, edited, granted, voted} {
		if err := l.Record(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`{"v":2,"seq":1,"prev":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","kind":"begin"}`,
		`{"v":2,"seq":2,"kind":"decision","time":"2026-01-02T03:04:05.000000006Z","session":"s","agent":"a","use":"toolu_1","tool":"Bash","dir":"/p",` +
			`"input":{"command":"rm x > y"},"digest":"sha256:a0dbe0e7358707d15b0a118df77485b9cbf66aa316f66233e49bc7336ce3e380",` +
			`"actions":["write /p/y","run rm x","write /p/x"],` +
			`"behavior":"deny","layer":"deny-list","rule":"Bash(rm:*)","source":"p.toml:3:9","reason":"why","message":"told",` +
			`"risk":"forbidden","tier":3,"by":"rule","held":true}`,
		`{"seq":3,"input":"{` + "\ufffd" + `","updated":{"a":1}}`,
		`{"seq":4,"input":{}}`,
		`{"seq":5,"input":"","behavior":"deny"}`,
		`{"seq":6,"objection":"too_long: 600 bytes, token=REDACTED","masked":1}`,
		`{"seq":7,"objection":"too_long: 600 bytes","would_block":true}`,
		`{"seq":8,"behavior":"deny","input":{"command":"ls"},"updated":{"command":"rm x"},"actions":["run rm x","write /p/x"]}`,
		`{"seq":9,"grants":[{"id":3,"rule":"Bash(npm i)","until":"1970-01-01T00:00:00Z"},{"id":0,"rule":"Bash(ls)","from":"g7"},{"id":4,"use":"curl -u me:REDACTED","left":0}]}`,
		`{"seq":10,"approval":"ap_1","answered":[{"name":"anna","credential":"c1"},{"name":"ben"}],"comment":"go, token=REDACTED","masked":1}`,
	}
	got := logLines(t, path)
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i, line := range want {
		contains(t, got[i], line)
	}
	if !strings.Contains(got[1], "rm x > y") {
		t.Error("the command is not written as it is")
	}
	if strings.Contains(got[1], "updated") || strings.Contains(got[3], "updated") {
		t.Error("an input that did not change is called updated")
	}
	for _, name := range []string{path, path + ".head"} {
		if info, _ := os.Stat(name); info.Mode().Perm() != 0o600 {
			t.Errorf("%s is open to others: %v", name, info.Mode())
		}
	}
	proven(t, path)
}

func logLines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// proven verifies a record and returns the report.
func proven(t *testing.T, path string) *Report {
	t.Helper()
	r, err := Verify(path, path+".head", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Faults) > 0 {
		t.Errorf("%+v", r.Faults)
	}
	return r
}

// contains checks that a line has the members of want with their values.
func contains(t *testing.T, line, want string) {
	t.Helper()
	var got, members map[string]any
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if err := json.Unmarshal([]byte(want), &members); err != nil {
		t.Fatal(err)
	}
	for key, value := range members {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

// TestKeys: the first keys have the documented order.
func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := open(t, path).Record(context.Background(), record(`{"z":1}`, `{"z":2}`)); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(logLines(t, path)[1]))
	d.Token()
	var keys []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var skip json.RawMessage
		d.Decode(&skip)
	}
	want := strings.Fields("v seq prev time kind session agent use tool dir input digest behavior layer rule source reason message risk tier by held updated")
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
}

// TestShared: two logs and many goroutines write to one file; every line is
// whole.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	logs := []*Log{open(t, path), open(t, path)}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				r := record(`{"command":"`+strings.Repeat("x", 9000)+`"}`, "")
				if err := logs[i%2].Record(context.Background(), r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if lines := logLines(t, path); len(lines) != 401 {
		t.Errorf("%d lines, want 401", len(lines))
	}
	if r := proven(t, path); r.Records != 401 || r.Known != 401 {
		t.Errorf("%+v", r)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none", "log"), Options{}); err == nil {
		t.Error("a record in a directory that is not there opens")
	}
	l := open(t, filepath.Join(dir, "log"))
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Record(done, record(`{}`, "")); err == nil {
		t.Error("a cancelled record is no error")
	}
	l.Close()
	if err := l.Record(context.Background(), record(`{}`, "")); err == nil {
		t.Error("a record in a closed file is no error")
	}
	if _, err := Open(os.DevNull, Options{Head: filepath.Join(dir, "head")}); err == nil {
		t.Error("a device is taken for a record")
	}
}

// TestNote: a note is a record like any other, and an error if it may not be
// durable.
func TestNote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	if err := l.Note("s1", "whitelist_bypass", "it was lifted \x1b[2J with token=hunter2hunter2"); err != nil {
		t.Fatal(err)
	}
	contains(t, logLines(t, path)[1], `{"v":2,"seq":2,"kind":"note","session":"s1","note":"whitelist_bypass","reason":"it was lifted \u001b[2J with token=REDACTED","masked":1}`)
	if diff := cmp.Diff([]uint64{2}, seqs(t, path, &Filter{Kind: "note"})); diff != "" {
		t.Error(diff)
	}
	e, err := readEntry([]byte(logLines(t, path)[1]))
	if err != nil {
		t.Fatal(err)
	}
	if want := "note   whitelist_bypass: it was lifted <U+001B>[2J with token=REDACTED"; !strings.HasSuffix(e.String(), want) {
		t.Errorf("%s, want %s", e, want)
	}
	var table strings.Builder
	rows, _ := NewCSV(&table)
	rows.Write(e)
	rows.Flush()
	if !strings.Contains(table.String(), ",whitelist_bypass,") {
		t.Error(table.String())
	}
	if r := proven(t, path); r.Records != 2 {
		t.Errorf("%+v", r)
	}
	l.Close()
	if err := l.Note("", "whitelist_bypass", "x"); err == nil || !strings.HasPrefix(err.Error(), "record the whitelist_bypass: ") {
		t.Errorf("a record that is closed takes a note: %v", err)
	}
}

// TestMappedUse: the record names what the input of a mapped tool asks for,
// with the secrets of its command lines hidden.
func TestMappedUse(t *testing.T) {
	t.Parallel()
	line := "mysql -uroot -phunter2hunter2 shop"
	r := record(`{"cmd":"`+line+`","path":"/tmp/x"}`, "")
	r.Use.Tool = "run_shell"
	r.Mapped = []permission.MappedUse{
		{Field: "cmd", Facts: shell.Analyze(line, shell.Options{})},
		{Field: "path", Does: &shell.Action{Kind: shell.Read, Path: shell.Word{Text: "/tmp/x"}}},
	}
	e := decision(r)
	text := string(e.Input) + strings.Join(e.Actions, "\n")
	if strings.Contains(text, "hunter2") || !strings.Contains(text, "run mysql") || !strings.Contains(text, "read /tmp/x") || e.Masked == 0 {
		t.Errorf("%s\n%q", e.Input, e.Actions)
	}
}
