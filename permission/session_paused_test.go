package permission

import "testing"

// TestSessionSaysWhyItIsPaused checks that a program can get the reason of a
// pause.
func TestSessionSaysWhyItIsPaused(t *testing.T) {
	s := NewSession(place)
	if got := s.Paused(); got != "" {
		t.Errorf("a new session is paused: %q", got)
	}
	s.Pause("three unknown commands")
	if got := s.Paused(); got != "three unknown commands" {
		t.Errorf("paused: %q", got)
	}
	s.Pause("")
	if s.Paused() == "" {
		t.Error("a pause without a reason is none")
	}
	s.Resume()
	if got := s.Paused(); got != "" {
		t.Errorf("resumed, but paused: %q", got)
	}
	if got := (*Session)(nil).Paused(); got != "" {
		t.Errorf("no session, but paused: %q", got)
	}
}
