package audit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// back returns the seqs of records before one, the newest first, at most n at a time.
func back(t *testing.T, data []byte, before uint64, n int, most int64, f *Filter) (seqs []uint64, next uint64) {
	t.Helper()
	enough := errors.New("enough")
	next, err := ScanBack(bytes.NewReader(data), int64(len(data)), before, most, f, func(e *Entry, line []byte) error {
		if !bytes.Contains(line, fmt.Appendf(nil, `"seq":%d,`, e.Seq)) {
			t.Fatalf("record %d has the line %s", e.Seq, line)
		}
		if seqs = append(seqs, e.Seq); len(seqs) == n {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return seqs, next
}

// TestScanBack: the pages from the end have each record once, the newest first, also
// where a line is longer than what is read at once, or is none.
func TestScanBack(t *testing.T) {
	slow.Test(t)
	_, data, _ := thousand(t)
	lines := slices.Collect(bytes.Lines(data))
	long := bytes.Replace(lines[499], []byte(`"command":"`), []byte(`"command":"`+strings.Repeat("x", 3*backChunk)), 1)
	odd := slices.Concat([][]byte{[]byte("{\"v\":1,\"tool\":\"Bash\"}\n")}, lines[:499], [][]byte{long, []byte("torn\n"), []byte("\n")}, lines[500:], [][]byte{[]byte(`{"v":2,"seq":1001`)})
	for name, data := range map[string][]byte{"as written": data, "odd lines": bytes.Join(odd, nil)} {
		for _, most := range []int64{1, 5000, 1 << 40} {
			want := uint64(1000)
			for before := uint64(0); ; {
				seqs, next := back(t, data, before, 70, most, &Filter{})
				for _, seq := range seqs {
					if seq != want {
						t.Fatalf("%s: %d comes where %d belongs", name, seq, want)
					}
					want--
				}
				if next == 0 {
					break
				}
				if len(seqs) == 0 {
					t.Fatalf("%s: nothing before %d", name, before)
				}
				before = next
			}
			if want != 0 {
				t.Errorf("%s: it ends at %d", name, want)
			}
		}
		for before := uint64(2); before < 1100; before++ {
			if seqs, _ := back(t, data, before, 1, 1, &Filter{}); len(seqs) != 1 || seqs[0] != min(before-1, 1000) {
				t.Fatalf("%s: before %d there is %v", name, before, seqs)
			}
		}
	}
	seqs, next := back(t, data, 0, 2, 1<<40, &Filter{Text: "ECHO 77"})
	if diff := cmp.Diff([]uint64{779, 778}, seqs); diff != "" || next != 778 {
		t.Error(diff, next)
	}
	if seqs, next := back(t, nil, 0, 5, 100, &Filter{}); len(seqs) != 0 || next != 0 {
		t.Error(seqs, next)
	}
}

// TestScanBackReads: a page deep in a record reads little of it.
func TestScanBackReads(t *testing.T) {
	_, data, _ := thousand(t)
	r := &counting{Reader: bytes.NewReader(data)}
	if _, err := ScanBack(r, int64(len(data)), 500, 1, &Filter{}, func(*Entry, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if most := 64<<10*12 + backChunk + 64<<10; r.bytes > most { // bufio reads 64 KiB at once
		t.Errorf("%d bytes are read of %d, want at most %d", r.bytes, len(data), most)
	}
}

// counting counts what is read.
type counting struct {
	*bytes.Reader
	bytes int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(p, off)
	c.bytes += n
	return n, err
}
