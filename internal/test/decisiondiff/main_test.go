package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRowOf: what of a corpus is a tool use, and what belongs to it.
func TestRowOf(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":"a","tool":"Bash","input":{"command":"ls"},"policy":{"allow":["Bash"]}}`:                     `{"command":"ls"}|{"allow":["Bash"]}||f`,
		`{"id":"a","class":"k","command":"ls"}`:                                                             `{"command":"ls"}|||k`,
		`{"tool":"Read","input":{"file_path":"x"},"cwd":"/w","fs":"case-insensitive","symlinks":{"x":"y"}}`: `{"file_path":"x"}||{"cwd":"/w","symlinks":{"x":"y"},"fs":"case-insensitive"}|f`,
		`{"id":"a","tool":"Bash","input":"ls"}`:                                                             "",
		`{"id":"a"}`:                                                                                        "",
		`not JSON`:                                                                                          "",
	} {
		r, ok := rowOf("f:1", []byte(line))
		if got := strings.Join([]string{string(r.Input), string(r.Policy), string(r.Context), r.Class}, "|"); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %v %s, want %s", line, ok, got, want)
		}
	}
}

// TestRowsOnce: the same use under the same policy is decided once.
func TestRowsOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.jsonl")
	if err := os.WriteFile(file, []byte(`{"command":"ls"}`+"\n"+`{"command":"ls"}`+"\n"+`{"command":"ls","policy":{}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := readRows([]string{file})
	if err != nil || len(rows) != 2 || rows[1].ID != "f:3" {
		t.Errorf("%v %v", rows, err)
	}
}

// TestDirections: the direction of a difference, by what became of the use.
func TestDirections(t *testing.T) {
	const ask = `{"question":{"reason":"a"},"result":{"behavior":"allow"}}`
	for _, tt := range []struct{ was, is, direction, paths string }{
		{`{"behavior":"allow"}`, `{"behavior":"ask"}`, stricter, "behavior"},
		{`{"behavior":"deny","reason":"a"}`, `{"behavior":"ask","reason":"b"}`, looser, "behavior reason"},
		{`{"decision":{"behavior":"ask"}}`, `{"decision":{"behavior":"allow"}}`, looser, "decision.behavior"},
		{ask, `{"question":null,"result":{"behavior":"allow"}}`, looser, "question"},
		{`{"question":null,"result":{"behavior":"allow"}}`, ask, stricter, "question"},
		{ask, `{"question":null,"result":{"behavior":"deny","decision":{"by":"advice"}}}`, fields, ""},
		{ask, `{"question":null,"result":{"behavior":"deny","decision":{"by":"rule"}}}`, stricter, ""},
		{ask, `{"question":{"reason":"b"},"result":{"behavior":"allow"}}`, words, "question.reason"},
		{`{"behavior":"ask","tier":2}`, `{"behavior":"ask","tier":3}`, fields, "tier"},
		{`{"behavior":"ask"}`, `{"behavior":"ask","rule":""}`, fields, "rule"},
		{`{"behavior":"ask","actions":[{"why":"a"},{"why":"b"}]}`, `{"behavior":"ask","actions":[{"why":"a"},{"why":"c"}]}`, words, "actions[].why"},
		{`{"behavior":"ask","actions":[{"why":"a"}]}`, `{"behavior":"ask","actions":[]}`, fields, "actions"},
		{`{"behavior":"allow"}`, `nothing`, looser, ""},
		{`{"a":1,"behavior":"allow"}`, `{"behavior":"allow","a":1}`, "", ""},
	} {
		r := newReport(2, strings.NewReplacer(), io.Discard)
		r.compare("t", &record{ID: "1", Got: []byte(tt.was)}, &record{ID: "1", Got: []byte(tt.is)})
		for _, d := range directions {
			if got := r.count[d]; got != number(d == tt.direction) {
				t.Errorf("%s, then %s: %d %s", tt.was, tt.is, got, d)
			}
		}
		for _, p := range strings.Fields(tt.paths) {
			if r.paths[tt.direction][p] != 1 {
				t.Errorf("%s, then %s: the fields are %v, want %s", tt.was, tt.is, r.paths[tt.direction], tt.paths)
			}
		}
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestReport: the hash holds every byte of every decision, what a build cannot do is
// said, and the exit code tells.
func TestReport(t *testing.T) {
	side := func(got ...string) outcome {
		var o outcome
		for _, g := range got {
			o.records = append(o.records, record{ID: "1", Class: "k", Got: []byte(g)})
		}
		return o
	}
	const allow, ask, said = `{"behavior":"allow"}`, `{"behavior":"ask"}`, `{"behavior":"allow","reason":"x"}`
	for _, tt := range []struct {
		name    string
		was, is outcome
		same    bool
		code    int
		equal   bool
		must    string
	}{
		{"equal", side(allow, ask), side(allow, ask), true, 0, true, "same          2"},
		{"looser", side(ask, ask), side(ask, allow), false, 1, false, "looser: t 1"},
		{"stricter", side(allow), side(ask), false, 0, false, "stricter      1"},
		{"stricter where all should be the same", side(allow), side(ask), true, 1, false, ""},
		{"renamed", side(strings.Replace(said, "x", "old", 1)), side(strings.Replace(said, "x", "new", 1)), true, 0, false, "same          1"},
		{"broken", outcome{err: errors.New("no such flag")}, side(ask), false, 1, false, "FAILED t: build 1: no such flag"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var dump, out strings.Builder
			r := newReport(2, strings.NewReplacer("old", "new"), &dump)
			made := task{"t", func(_ context.Context, program, _ string) outcome {
				if program == "A" {
					return tt.was
				}
				return tt.is
			}}
			if _, err := runAll(t.Context(), []task{made}, []string{"A", "B"}, "", r); err != nil {
				t.Fatal(err)
			}
			r.write(&out, []string{"A", "B"}, 5)
			if got := r.code(tt.same); got != tt.code {
				t.Errorf("exit code %d, want %d", got, tt.code)
			}
			if equal := string(r.hashes[0].Sum(nil)) == string(r.hashes[1].Sum(nil)); equal != tt.equal {
				t.Errorf("equal hashes: %v\n%s", equal, &out)
			}
			if !strings.Contains(out.String(), tt.must) {
				t.Errorf("it does not say %q:\n%s", tt.must, &out)
			}
			if strings.Count(dump.String(), "\n") != len(tt.is.records) {
				t.Errorf("the file has %q", &dump)
			}
		})
	}
}

// TestDrawn: what a run draws is no difference, and nothing else is taken out.
func TestDrawn(t *testing.T) {
	o := outcome{records: []record{{Got: []byte(`{"id":"q1.12","digest":"1:ab","d":"/var/tmp/x/t01-0/home/dev/proj","c":"/var/tmp/x/old within --directory a49b-ol6j","r":"until 10:48:46: run until false"}`)}}}
	want := `{"id":"","digest":"","d":"/home/dev/proj","c":"agent-wrapper …","r":"until …: run until false"}`
	if got := string(o.within("/var/tmp/x/t01-0").records[0].Got); got != want {
		t.Errorf("%s", got)
	}
}
