package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

const bypassFile = "../../testdata/cases/bypass.jsonl"

// answered returns the answers of check --jsonl to rows.
func answered(t testing.TB, rows []byte) []byte {
	t.Helper()
	var out, complaints bytes.Buffer
	a := &app{in: bytes.NewReader(rows), out: &out, err: &complaints}
	if code := a.run(context.Background(), []string{"check", "--jsonl", "--risk", "off", "--unlisted", "ask"}); code != codeDone || complaints.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, complaints.String())
	}
	return out.Bytes()
}

// "core rows: no attack allowed, no deny or ask row weaker than must; at least
// 99 % of core benign rows allowed."
func TestBypassCorpus(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(bypassFile)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := corpus.Read(bypassFile)
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSpace(string(answered(t, text))), "\n")
	if len(answers) != len(rows) || len(rows) < 1000 {
		t.Fatalf("%d answers to %d rows", len(answers), len(rows))
	}
	type count struct{ held, all int }
	counts := map[string]*count{}
	for i, line := range answers {
		var a policy.Answer
		if err := json.Unmarshal([]byte(line), &a); err != nil || a.ID != rows[i].ID {
			t.Fatalf("answer %d: %q to row %s (%v)", i, line, rows[i].ID, err)
		}
		kind := rows[i].Level + " " + map[bool]string{true: "benign", false: "attack"}[rows[i].Must == "allow"]
		if counts[kind] == nil {
			counts[kind] = &count{}
		}
		counts[kind].all++
		if holds(rows[i].Must, a.Behavior) {
			counts[kind].held++
		} else if kind == "core attack" {
			t.Errorf("%s: %s, and it must be %s: %v", a.ID, a.Behavior, rows[i].Must, rows[i].Input)
		}
	}
	for kind, c := range counts {
		t.Logf("%s: %d of %d rows as they must be", kind, c.held, c.all)
	}
	if c := counts["core benign"]; c.held*100 < c.all*99 {
		t.Errorf("core benign: %d of %d allowed, fewer than 99 %%", c.held, c.all)
	}
}

// holds reports whether a behavior is at least as strict as required, or an allow
// if one is required.
func holds(must, behavior string) bool {
	switch must {
	case "not_allow", "ask":
		return behavior == "ask" || behavior == "deny"
	}
	return behavior == must
}

// manyRows returns at least 10,000 rows for check --jsonl.
func manyRows(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(bypassFile)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(text, 10_000/bytes.Count(text, []byte("\n"))+1)
}

// TestManyRows: each of 10,000 rows has an answer. How long that takes, BenchmarkCheckRows
// measures.
func TestManyRows(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	rows := manyRows(t)
	if got, want := bytes.Count(answered(t, rows), []byte("\n")), bytes.Count(rows, []byte("\n")); got != want {
		t.Errorf("%d answers to %d rows", got, want)
	}
}

// BenchmarkCheckRows decides 10,000 rows of check --jsonl.
func BenchmarkCheckRows(b *testing.B) {
	rows := manyRows(b)
	for b.Loop() {
		answered(b, rows)
	}
	b.ReportMetric(float64(bytes.Count(rows, []byte("\n"))), "rows/op")
}
