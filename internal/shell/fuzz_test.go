package shell

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"
)

// hang is how long nothing takes that ends, on a busy machine either.
const hang = 20 * time.Second

// FuzzAnalyze checks that no line makes Analyze fail or hang, and that its facts are
// consistent.
func FuzzAnalyze(f *testing.F) {
	for _, line := range seedLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		begin := time.Now()
		facts := analyze(line)
		if d := time.Since(begin); d > hang {
			t.Fatalf("%v for %d bytes", d, len(line))
		}
		if facts.Failed != nil && facts.Failed.Why.Cause == causeReaderFailed {
			t.Fatal(facts.Failed)
		}
		for i := range facts.Actions {
			checkAction(t, facts, i)
		}
		checkBounds(t, facts, Options{Dir: "/w", Home: "/h", Workspace: "/w"})
	})
}

func checkAction(t *testing.T, f *Facts, i int) {
	a := &f.Actions[i]
	if a.Parent >= len(f.Actions) || a.Parent >= 0 && f.Actions[a.Parent].Kind != Command {
		t.Fatalf("action %d has parent %d", i, a.Parent)
	}
	if a.Parent >= 0 && a.From >= len(f.Actions[a.Parent].Words) {
		t.Fatalf("action %d begins at word %d of its parent", i, a.From)
	}
	switch {
	case a.Kind == Command && len(a.Words) == 0:
		t.Fatalf("action %d runs no words", i)
	case a.Kind == Opaque && (a.May == 0 || a.Why.Cause == 0):
		t.Fatalf("action %d is opaque without a reason", i)
	case a.Kind < Command || a.Kind > Opaque:
		t.Fatalf("action %d has kind %d", i, a.Kind)
	}
	for _, w := range append(a.Words, a.Path) {
		last := 0
		for _, h := range w.Holes {
			if h.At < last || h.At > len(w.Text) {
				t.Fatalf("action %d: hole at %d of %q", i, h.At, w.Text)
			}
			last = h.At
		}
		if w.Pos < 0 || w.End < w.Pos || w.End > len(f.Source) {
			t.Fatalf("action %d: word at %d-%d of %d bytes", i, w.Pos, w.End, len(f.Source))
		}
	}
}

func seedLines(tb testing.TB) []string {
	f, err := os.Open("testdata/lines.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []string
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var line string
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil {
			tb.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}
