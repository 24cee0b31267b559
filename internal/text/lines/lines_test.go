package lines

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestNext: lines end with LF or CR LF, the last also with the input; blank ones are
// nothing.
func TestNext(t *testing.T) {
	r := NewReader(strings.NewReader("\n a\r\n\t\nb\n\nc"))
	for _, want := range []string{"a", "b", "c"} {
		if got, err := r.Next(); string(got) != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if got, err := r.Next(); len(got) > 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %q, %v", got, err)
	}
}

// TestLong: a line that is too long is skipped, and no part of it is taken for a line.
func TestLong(t *testing.T) {
	long := strings.Repeat("x", Max)
	r := NewReader(strings.NewReader(long + "\r\n" + long + "x\nshort\n" + long + long))
	if got, err := r.Next(); len(got) != Max || err != nil {
		t.Errorf("a line of the limit: %d bytes, %v", len(got), err)
	}
	if got, err := r.Next(); !errors.Is(err, ErrLong) {
		t.Errorf("one more: %d bytes, %v", len(got), err)
	}
	if got, err := r.Next(); string(got) != "short" || err != nil {
		t.Errorf("behind it: %.20q, %v", got, err)
	}
	if _, err := r.Next(); !errors.Is(err, ErrLong) {
		t.Errorf("at the end: %v", err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the end: %v", err)
	}
}

// failing is an output that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestLost: the first error of writing is told once, and is that of all that follows.
func TestLost(t *testing.T) {
	told := 0
	w := NewWriter(failing{}, func(error) { told++ })
	for range 3 {
		if err := w.Write("x"); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	var out bytes.Buffer
	if err := NewWriter(&out, nil).Write(map[string]string{"a": "<&>\n"}); err != nil || out.String() != "{\"a\":\"<&>\\n\"}\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
