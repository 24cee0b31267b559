package audit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// watched verifies all of a record, a part at a time.
func watched(t *testing.T, w *Watch, most int64) *Progress {
	t.Helper()
	for {
		p, err := w.Next(most)
		if err != nil {
			t.Fatal(err)
		}
		if p.Done() {
			return p
		}
	}
}

// TestWatch: a record that grows is verified line by line once, and found as Verify
// finds it.
func TestWatch(t *testing.T) {
	path, data, _ := thousand(t)
	w := NewWatch(path, path+".head")
	p, err := w.Next(int64(len(data) / 3))
	if err != nil || p.Done() || !p.Anew || p.Records == 0 || p.Records > 400 || len(p.Faults) != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	l := open(t, path)
	for n := 1000; n < 1010; n++ {
		p := watched(t, w, 40_000)
		want, err := Verify(path, path+".head", "")
		if err != nil || p.Records != want.Records || p.Head != want.Head || p.Lines != want.Lines || len(p.Faults)+len(want.Faults) > 0 || int(p.Records) != n {
			t.Fatalf("%+v, want %+v, %v", p, want, err)
		}
		if p.Anew {
			t.Errorf("at %d it begins anew", n)
		}
		if err := l.Record(context.Background(), record(fmt.Sprintf(`{"command":"ls %d"}`, n), "")); err != nil {
			t.Fatal(err)
		}
	}
	w.Again()
	if p := watched(t, w, 1<<30); !p.Anew || len(p.Faults) > 0 {
		t.Errorf("%+v", p)
	}
}

// TestWatchFinds: what is changed, cut or replaced behind a Watch is found.
func TestWatchFinds(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string, data []byte){
		"a line is changed": func(t *testing.T, path string, data []byte) {
			overwrite(t, path, bytes.Replace(data, []byte("echo 77"), []byte("echo 78"), 1))
		},
		"the end is cut": func(t *testing.T, path string, data []byte) {
			overwrite(t, path, data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1])
		},
		"the last line is another": func(t *testing.T, path string, data []byte) {
			at := bytes.LastIndex(data, []byte(`"outcome":"`))
			overwrite(t, path, append(append(bytes.Clone(data[:at]), `"outcomf":"`...), data[at+11:]...))
		},
		"the file is replaced": func(t *testing.T, path string, data []byte) {
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			overwrite(t, path, data[:len(data)/2])
		},
		"the head knows another line": func(t *testing.T, path string, _ []byte) {
			text, err := os.ReadFile(path + ".head")
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(text, []byte("sha256:")) + 10
			text[at] ^= 1
			overwrite(t, path+".head", text)
		},
		"a line follows that does not fit": func(t *testing.T, path string, data []byte) {
			overwrite(t, path, append(bytes.Clone(data), data[:bytes.IndexByte(data, '\n')+1]...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, data, _ := thousand(t)
			w := NewWatch(path, path+".head")
			if p := watched(t, w, 1<<30); len(p.Faults) > 0 {
				t.Fatalf("%+v", p)
			}
			change(t, path, data)
			for range 2 {
				if p := watched(t, w, 1<<30); len(p.Faults) == 0 {
					t.Errorf("nothing is found: %+v", p)
				}
			}
		})
	}
}

// overwrite changes a file in place, at another time.
func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
}
