package ask

import (
	"io"
	"strings"
	"testing"
)

// TestLostAtQuestion: a question that cannot be shown cannot be answered.
func TestLostAtQuestion(t *testing.T) {
	var told error
	s := NewScreen(failing{}, func(err error) { told = err })
	s.hold()
	if _, err := s.Write([]byte("beside")); err != nil || told != nil {
		t.Errorf("what waits is lost: %v, %v", err, told)
	}
	s.Ask("may it?")
	if told == nil || s.Failed() != told {
		t.Errorf("told %v, failed %v", told, s.Failed())
	}
	s = NewScreen(failing{}, nil)
	s.hold()
	s.Write([]byte("beside"))
	if s.release(); s.Failed() == nil {
		t.Error("what had waited is lost without a word")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestStatus: the line is gone before anything else is written, and none is shown
// within a line or beside a question.
func TestStatus(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, nil)
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { s.Status("1s") }, "1s"},
		{func() { s.Status("2s") }, "\r\x1b[K2s"},
		{func() { io.WriteString(s, "text\n") }, "\r\x1b[Ktext\n"},
		{func() { s.Status("") }, ""},
		{func() { s.Status("3s") }, "3s"},
		{s.hold, "\r\x1b[K"},
		{func() { s.Status("4s") }, ""},
		{func() { s.Ask("may it? ") }, "may it? "},
		{func() { io.WriteString(s, "later\n") }, ""},
		{func() { s.Status("5s") }, ""},
		{s.release, "later\n"},
		{func() { s.Status("6s") }, "6s"},
		{func() { s.Status("") }, "\r\x1b[K"},
		{func() { io.WriteString(s, "half a line") }, "half a line"},
		{func() { s.Status("7s") }, ""},
		{func() { io.WriteString(s, "\n") }, "\n"},
		{func() { s.Status("8s") }, "8s"},
		{func() { s.ring("\a") }, "\a"},
		{func() { s.Status("9s") }, "\r\x1b[K9s"},
	} {
		out.Reset()
		if step.do(); out.String() != step.want {
			t.Errorf("%q, want %q", out.String(), step.want)
		}
	}
}
