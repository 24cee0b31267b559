package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// thousand returns a record of 1,000 lines, with all kinds of records but torn.
func thousand(t *testing.T) (path string, data []byte, end position) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "log.jsonl")
	l, err := Open(path, Options{Sync: SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	for i := 2; i <= 1000; i++ {
		if i%10 == 0 {
			err = l.Outcome(Outcome{Session: "s", Use: "u", Tool: "Bash", Failed: i%20 == 0})
		} else {
			err = l.Record(context.Background(), record(fmt.Sprintf(`{"command":"echo %d"}`, i), ""))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if end, err = (head{path + ".head"}).position(); err != nil || end.Seq != 1000 {
		t.Fatal(end, err)
	}
	return path, data, end
}

// states returns the verifier's state before each line and after the last.
func states(t *testing.T, data []byte) []walker {
	t.Helper()
	w := newWalker()
	all := []walker{w}
	for line := range bytes.Lines(data) {
		if err := w.line(line); err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}

// from continues the verifier from the state before a line, over text to the
// end. The lines before are unchanged, so only their state matters.
func from(w walker, end position, line int, text []byte) *Report {
	fresh := newWalker()
	w.loose = fresh.loose
	v := &verifier{walk: w, head: end, report: &Report{Lines: line}}
	for line := range bytes.Lines(text) {
		if line[len(line)-1] != '\n' {
			v.end(line)
			return v.report
		}
		v.line(line)
	}
	v.end(nil)
	return v.report
}

// window is how many lines after a changed one are needed to find the change:
// the next has its hash, and the one after that tells which of the two was
// changed.
const window = 3

// every enables the long forms.
var every = flag.Bool("every", false, "every byte by all bits, every pair of lines, 10,000 records a process, 200 kills")

// TestEveryByte: a change of every eighth byte of 1,000 records (-every: of
// every byte) to another value (-every: by each bit, and all) is found, and its
// line or the next is named.
func TestEveryByte(t *testing.T) {
	slow.Test(t)
	_, data, end := thousand(t)
	all := states(t, data)
	lines := slices.Collect(bytes.Lines(data))
	flips := []byte{1}
	if *every {
		flips = []byte{1, 2, 4, 8, 16, 32, 64, 128, 0xff}
	}
	changes := 0
	for i, line := range lines {
		behind := bytes.Join(lines[i:min(i+window, len(lines))], nil)
		for at := range line {
			if at%sampled != i%sampled && !*every {
				continue
			}
			for _, flip := range flips {
				was := behind[at]
				behind[at] ^= flip
				known := end
				if i+window < len(lines) {
					known = all[i+window].at
				}
				r := from(all[i], known, i, behind)
				if len(r.Faults) == 0 || r.Faults[0].Line < i || r.Faults[0].Line > i+2 {
					t.Fatalf("line %d, byte %d: %q: %+v", i+1, at, behind, r.Faults)
				}
				behind[at] = was
				changes++
			}
		}
	}
	t.Logf("%d changes of %d bytes, each read with the %d lines from the changed one on", changes, len(data), window)
}

// TestEveryCut: a truncation behind every byte is found.
func TestEveryCut(t *testing.T) {
	_, data, end := thousand(t)
	all := states(t, data)
	cuts := 0
	for i, line := range slices.Collect(bytes.Lines(data)) {
		for n := range line {
			if n%sampled != i%sampled && sampled > 8 {
				continue
			}
			if r := from(all[i], end, i, line[:n]); len(r.Faults) == 0 {
				t.Fatalf("cut in line %d behind %q: nothing found", i+1, line[:n])
			}
			cuts++
		}
	}
	if sampled == 8 && cuts != len(data) {
		t.Fatalf("%d cuts of %d bytes", cuts, len(data))
	}
}

// TestEveryLine: it is found if any of 1,000 lines is removed, duplicated, or
// swapped with its neighbour or another one (-every: with each). The lines
// before it are unchanged; a tenth of the cases is read in full by Verify.
func TestEveryLine(t *testing.T) {
	slow.Test(t)
	path, data, end := thousand(t)
	all := states(t, data)
	lines := slices.Collect(bytes.Lines(data))
	r := rand.New(rand.NewPCG(1, 2))
	try := func(what string, i int, behind ...[]byte) {
		t.Helper()
		report := from(all[i], end, i, bytes.Join(behind, nil))
		if len(report.Faults) == 0 || report.Faults[0].Line < i || report.Faults[0].Line > i+2 {
			t.Fatalf("line %d %s: %+v", i+1, what, report.Faults)
		}
	}
	for i := range lines {
		next := lines[i+1 : min(i+1+window, len(lines))]
		try("taken out", i, next...)
		try("doubled", i, slices.Concat([][]byte{lines[i], lines[i]}, next)...)
		for j := i + 1; j < len(lines); j++ {
			if *every || j == i+1 || r.IntN(100) == 0 {
				try(fmt.Sprintf("swapped with %d", j+1), i, lines[j], lines[i])
			}
		}
		if j := i + 1 + r.IntN(len(lines)-i); i%(sampled+2) == 0 && j < len(lines) {
			swapped := slices.Clone(lines)
			swapped[i], swapped[j] = swapped[j], swapped[i]
			for _, text := range [][][]byte{slices.Concat(lines[:i], lines[i+1:]), swapped} {
				os.WriteFile(path, bytes.Join(text, nil), 0o600)
				if report, err := Verify(path, path+".head", ""); err != nil || len(report.Faults) == 0 {
					t.Fatalf("line %d: %+v %v", i+1, report, err)
				}
			}
		}
	}
}

// TestSampledBytes: a change in every tenth line (-every: in each) is found by
// Verify, as a check of TestEveryByte, which reads only a part.
func TestSampledBytes(t *testing.T) {
	slow.Test(t)
	path, data, _ := thousand(t)
	r := rand.New(rand.NewPCG(3, 4))
	at := 0
	for i, line := range slices.Collect(bytes.Lines(data)) {
		if at += len(line); i%(sampled+2) > 0 && !*every {
			continue
		}
		changed := slices.Clone(data)
		changed[at-1-r.IntN(len(line))] ^= byte(1 + r.IntN(255))
		os.WriteFile(path, changed, 0o600)
		report, err := Verify(path, path+".head", "")
		if err != nil || len(report.Faults) == 0 {
			t.Fatalf("line %d: %+v %v", i+1, report, err)
		}
		if named := report.Faults[0].Line; named < i || named > i+2 {
			t.Errorf("line %d: line %d is named: %+v", i+1, named, report.Faults)
		}
	}
}

// TestNamed: the descriptions of faults.
func TestNamed(t *testing.T) {
	path, data, end := thousand(t)
	text := string(data)
	lines := strings.SplitAfter(text, "\n")
	change := func(i int, old, new string) string {
		changed := slices.Clone(lines)
		changed[i-1] = strings.Replace(changed[i-1], old, new, 1)
		if changed[i-1] == lines[i-1] {
			t.Fatalf("line %d has no %q", i, old)
		}
		return strings.Join(changed, "")
	}
	for name, tt := range map[string]struct {
		text, hash string
		want       string // line and text of the first fault
	}{
		"behavior":  {text: change(501, `"behavior":"deny"`, `"behavior":"allow"`), want: "501 was changed: the next line has a different hash for it"},
		"prev":      {text: change(501, `"prev":"sha256:`, `"prev":"sha256:0`), want: "501 is not an entry: it was changed, or something was inserted"},
		"prev hash": {text: change(501, lines[500][strings.Index(lines[500], "sha256:"):][:20], "sha256:0000000000000"), want: "501 was changed: it does not have the hash of the line before it"},
		"last":      {text: change(1000, `"use":"u"`, `"use":"v"`), want: "1000 was changed: it is not entry 1000 as its head describes it"},
		"no JSON":   {text: change(7, `{`, `[`), want: "7 is not an entry: it was changed, or something was inserted"},
		"put in":    {text: change(7, `{`, "x\n{"), want: "7 is not an entry: it was changed, or something was inserted"},
		"missing":   {text: strings.Join(slices.Concat(lines[:10], lines[15:]), ""), want: "11 entries 11 to 15 are missing before it"},
		"cut":       {text: strings.Join(lines[:900], ""), want: "900 is the last line, with entry 900, but 1000 were written: the file was cut"},
		"cut line":  {text: text[:len(text)-5], want: "1000 is not an entry, but entry 1000 belongs here: it was changed, or the file was cut"},
		"empty":     {text: "", want: "0 is the last line, with entry 0, but 1000 were written: the file was cut"},
		"hash":      {text: text, hash: sum{}.String(), want: "0 no entry has the hash " + sum{}.String() + ": it was changed, or cut off"},
		"other":     {text: "# notes\n" + text, want: "1 is not an entry"},
		"good":      {text: text, hash: end.Hash.String()},
	} {
		os.WriteFile(path, []byte(tt.text), 0o600)
		r, err := Verify(path, path+".head", tt.hash)
		if err != nil {
			t.Fatal(name, err)
		}
		got := ""
		if len(r.Faults) > 0 {
			got = fmt.Sprintf("%d %s", r.Faults[0].Line, r.Faults[0].Text)
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

// TestHeadElsewhere: a hash that was noted elsewhere proves everything before
// it, even if an attacker wrote a new chain and a new head.
func TestHeadElsewhere(t *testing.T) {
	path, data, end := thousand(t)
	other, _, _ := thousand(t)
	r, err := Verify(path, path+".head", end.Hash.String())
	if err != nil || len(r.Faults) > 0 || r.Since != 0 || r.Head != end.Hash.String() {
		t.Errorf("%+v %v", r, err)
	}
	middle := states(t, data)[400].at.Hash.String()
	if r, _ = Verify(path, path+".head", middle); len(r.Faults) > 0 || r.Since != 600 {
		t.Errorf("%+v", r)
	}
	if r, _ = Verify(other, other+".head", ""); len(r.Faults) > 0 {
		t.Errorf("%+v", r)
	}
	if r, _ = Verify(other, other+".head", middle); len(r.Faults) == 0 {
		t.Error("another chain passes for this one")
	}
	if _, err = Verify(path, path+".head", "sha256:12"); err == nil {
		t.Error("a bad hash is taken")
	}
	if r, _ = Verify(path, path+".none", ""); len(r.Faults) != 1 || r.Known != 0 {
		t.Errorf("without a head: %+v", r)
	}
	if r, _ = Verify(path, path+".none", middle); len(r.Faults) > 0 || len(r.Notes) != 1 || r.Since != 600 {
		t.Errorf("a copy without a head, and a hash: %+v", r)
	}
	os.WriteFile(path+".head", []byte(`{"v":1}`), 0o600)
	if r, _ = Verify(path, path+".head", ""); len(r.Faults) != 1 {
		t.Errorf("with a broken head: %+v", r)
	}
}

// TestHeadRemoved: a record that was cut and lost its head stays marked as such: the
// next writer records that there was none.
func TestHeadRemoved(t *testing.T) {
	path, data, _ := thousand(t)
	lines := slices.Collect(bytes.Lines(data))
	for _, keep := range []int{1, 2, 700, 1000} {
		os.WriteFile(path, bytes.Join(lines[:keep], nil), 0o600)
		os.Remove(path + ".head")
		for range 2 {
			l, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Record(context.Background(), record(`{"command":"true"}`, "")); err != nil {
				t.Fatal(err)
			}
			l.Close()
			r, err := Verify(path, path+".head", "")
			if err != nil || len(r.Faults) != 1 || r.Faults[0].Line != keep+1 || !strings.Contains(r.Faults[0].Text, "had no head") {
				t.Errorf("%d lines were left: %+v %v", keep, r, err)
			}
		}
		if now, _ := os.ReadFile(path); bytes.Count(now, []byte(`"no_head"`)) != 1 {
			t.Errorf("%d lines were left: it is noted more than once", keep)
		}
	}
}

// TestKilledAtFirst: a writer that was killed with its first entry leaves a head without a
// text, and nothing is missing. Of more entries such a head says nothing.
func TestKilledAtFirst(t *testing.T) {
	path, data, _ := thousand(t)
	lines := slices.Collect(bytes.Lines(data))
	for keep, faults := range map[int]int{1: 0, 2: 1, 700: 1} {
		os.WriteFile(path, bytes.Join(lines[:keep], nil), 0o600)
		os.WriteFile(path+".head", nil, 0o600)
		before, err := Verify(path, path+".head", "")
		if err != nil || len(before.Faults) != faults {
			t.Errorf("%d lines, before they are continued: %+v %v", keep, before, err)
		}
		l := open(t, path)
		if err := l.Record(context.Background(), record(`{"command":"true"}`, "")); err != nil {
			t.Fatal(err)
		}
		l.Close()
		if after, err := Verify(path, path+".head", ""); err != nil || len(after.Faults) != faults {
			t.Errorf("%d lines, continued: %+v %v", keep, after, err)
		}
	}
}

// TestDamageIsRefused: nothing is appended to a record that was changed.
func TestDamageIsRefused(t *testing.T) {
	path, data, end := thousand(t)
	kept, _ := os.ReadFile(path + ".head")
	last := slices.Clone(data)
	last[end.Start+5] ^= 1
	for name, text := range map[string][]byte{
		"cut to a line": data[:end.Start], "cut in a line": data[:end.End-1], "last line changed": last,
		"notes": []byte("# notes\n"), "one byte": data[:1],
	} {
		os.WriteFile(path, text, 0o600)
		os.WriteFile(path+".head", kept, 0o600)
		_, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, text) {
			t.Errorf("%s: something was written", name)
		}
	}
	os.WriteFile(path, []byte("# notes\n"), 0o600)
	os.Remove(path + ".head")
	if _, err := Open(path, Options{}); err == nil {
		t.Error("a file of notes is taken for a record")
	}
}

// TestDamageInUse: nor to one that is changed, truncated, moved or replaced
// while it is open.
func TestDamageInUse(t *testing.T) {
	for name, damage := range map[string]func(path string){
		"cut":     func(path string) { os.Truncate(path, 300) },
		"emptied": func(path string) { os.Truncate(path, 0) },
		"changed": func(path string) {
			data, _ := os.ReadFile(path)
			data[len(data)-9] ^= 1
			f, _ := os.OpenFile(path, os.O_WRONLY, 0)
			f.Write(data)
			f.WriteString("{}\n")
			f.Close()
		},
		"a line put in": func(path string) {
			f, _ := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			f.WriteString(`{"v":2,"seq":9,"prev":"` + sum{}.String() + `"}` + "\n")
			f.Close()
		},
		"moved":    func(path string) { os.Rename(path, path+".1") },
		"replaced": func(path string) { os.Rename(path, path+".1"); os.WriteFile(path, nil, 0o600) },
	} {
		path := filepath.Join(t.TempDir(), "log")
		l := open(t, path)
		if err := l.Record(context.Background(), record(`{}`, "")); err != nil {
			t.Fatal(err)
		}
		damage(path)
		if err := l.Record(context.Background(), record(`{}`, "")); err == nil {
			t.Errorf("%s: the record goes on", name)
		}
	}
}

// TestGone: a record in place of a lost one says so.
func TestGone(t *testing.T) {
	path, _, end := thousand(t)
	os.Remove(path)
	open(t, path)
	r, err := Verify(path, path+".head", "")
	if err != nil || len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Text, "had reached entry 1000") {
		t.Errorf("%+v %v", r, err)
	}
	var first Entry
	json.Unmarshal([]byte(logLines(t, path)[0]), &first)
	if first.Lost == nil || *first.Lost != end {
		t.Errorf("%+v", first)
	}
}

// TestOldForm: the first record seals lines without a chain.
func TestOldForm(t *testing.T) {
	old := `{"v":1,"time":"2026-01-01T00:00:00Z","tool":"Bash","input":{"command":"ls"},"behavior":"allow"}` + "\n"
	for name, text := range map[string]string{"whole": old + old, "torn": old + old[:20]} {
		path := filepath.Join(t.TempDir(), "log")
		os.WriteFile(path, []byte(text), 0o600)
		if r, err := Verify(path, path+".head", ""); err != nil || len(r.Faults) > 0 || len(r.Notes) == 0 {
			t.Errorf("%s: %+v %v", name, r, err)
		}
		l := open(t, path)
		if err := l.Record(context.Background(), record(`{}`, "")); err != nil {
			t.Fatal(name, err)
		}
		l.Close()
		open(t, path)
		if r := proven(t, path); r.Old != 2 || r.Records != 2 {
			t.Errorf("%s: %+v", name, r)
		}
		data, _ := os.ReadFile(path)
		os.WriteFile(path, bytes.Replace(data, []byte(`"tool":"Bash"`), []byte(`"tool":"Bush"`), 1), 0o600)
		if r, _ := Verify(path, path+".head", ""); name == "whole" && len(r.Faults) == 0 {
			t.Errorf("%s: a change of an old line is not found", name)
		}
	}
}

// TestTorn: what a crash leaves is kept, ended and recorded, and the chain
// continues, wherever in the line the crash was.
func TestTorn(t *testing.T) {
	slow.Test(t)
	whole := filepath.Join(t.TempDir(), "log")
	l := open(t, whole)
	for range 3 {
		l.Record(context.Background(), record(`{"command":"ls"}`, ""))
	}
	l.Close()
	data, _ := os.ReadFile(whole)
	all := states(t, data)
	old, err := (head{whole + ".head"}).position()
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut <= len(data); cut += 7 {
		path := filepath.Join(t.TempDir(), "log")
		os.WriteFile(path, data[:cut], 0o600)
		// The head is that of the line before the torn one, which was not synced. Before the
		// first line it has no text.
		if err := (head{path + ".head"}).claim(); err != nil {
			t.Fatal(err)
		}
		if whole := bytes.Count(data[:cut], []byte("\n")); whole > 0 {
			(head{path + ".head"}).write(path, all[whole].at, false)
		}
		for range 2 {
			l := open(t, path)
			if err := l.Record(context.Background(), record(`{"command":"pwd"}`, "")); err != nil {
				t.Fatalf("cut behind byte %d: %v", cut, err)
			}
			l.Close()
		}
		r := proven(t, path)
		now, _ := os.ReadFile(path)
		if !bytes.HasPrefix(now, data[:cut]) {
			t.Fatalf("cut behind byte %d: something is lost", cut)
		}
		if atEnd := data[cut-1] == '\n' || cut < len(data) && data[cut] == '\n'; (r.Torn > 0) == atEnd && int64(cut) > old.Start {
			t.Errorf("cut behind byte %d: %+v", cut, r)
		}
	}
}

// TestTornTwice: a crash while a torn line is being ended.
func TestTornTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	open(t, path).Close()
	for _, left := range []string{`{"v":2,"seq":2`, "\n", `{"v":2,"seq":2,"kind":"torn`, "\n\n", `x`} {
		f, _ := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		f.WriteString(left)
		f.Close()
		if r := proven(t, path); len(r.Notes) == 0 {
			t.Errorf("%q: nothing is said: %+v", left, r)
		}
	}
	l := open(t, path)
	if err := l.Record(context.Background(), record(`{}`, "")); err != nil {
		t.Fatal(err)
	}
	if r := proven(t, path); r.Torn != 1 || r.Records != 3 {
		t.Errorf("%+v", r)
	}
	data, _ := os.ReadFile(path)
	os.WriteFile(path, bytes.Replace(data, []byte(`x`), []byte(`y`), 1), 0o600)
	if r, _ := Verify(path, path+".head", ""); len(r.Faults) == 0 {
		t.Error("a change of a torn line is not found")
	}
}

// TestOutcome: an outcome names its decision.
func TestOutcome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	l.Record(context.Background(), record(`{}`, `{}`))
	code := 3
	for range 2 {
		if err := l.Outcome(Outcome{Session: "s", Use: "toolu_1", Tool: "Bash", Failed: true, Exit: &code}); err != nil {
			t.Fatal(err)
		}
	}
	l.Outcome(Outcome{Tool: "Read"})
	l.Outcome(Outcome{Tool: "Bash", Took: 1500 * time.Microsecond, Note: "ended; password=hunter2hunter2"})
	l.Outcome(Outcome{Tool: "Bash", Took: time.Microsecond, Note: "late", Breach: "nobody asked"})
	lines := logLines(t, path)
	contains(t, lines[2], `{"kind":"outcome","seq":3,"of":2,"session":"s","use":"toolu_1","tool":"Bash","outcome":"failed","exit":3}`)
	contains(t, lines[4], `{"kind":"outcome","outcome":"ran"}`)
	contains(t, lines[5], `{"outcome":"ran","took_ms":1}`)
	contains(t, lines[6], `{"outcome":"breach","took_ms":0,"reason":"nobody asked"}`)
	if strings.Contains(lines[5], "hunter2") || !strings.Contains(lines[5], "ended; password=") {
		t.Error(lines[5])
	}
	if strings.Contains(lines[3], `"of"`) || strings.Contains(lines[4], "exit") || strings.Contains(lines[4], "took") {
		t.Error(lines[3:])
	}
}
