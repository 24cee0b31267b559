package ask

import (
	"io"
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
