package main

import (
	"io"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// talks has the stream show what the agent writes while it does so, above the line of a
// conversation, which shows what runs.
func (s *stream) talks(board ask.Board) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.height = func() int { _, lines := board.Size(); return lines }
	if s.live != nil {
		s.live.silent = true
	}
}

// tailed is an output that shows rows of a text that is not complete.
type tailed interface{ Tail(rows []string) }

// delta takes a piece of what the agent writes. Whole lines are shown for good, and as much
// of the last one as there is room for.
func (s *stream) delta(text string) {
	if s.said == "" {
		s.put("\n")
	}
	s.said += text
	s.partial += text
	if at := strings.LastIndexByte(s.partial, '\n'); at >= 0 {
		whole := s.partial[:at+1]
		s.partial = s.partial[at+1:]
		s.tail(nil)
		s.put(s.prose(visible.Text(whole)))
	}
	s.wholeRows()
	if s.partial == "" {
		return
	}
	rows := strings.Split(strings.TrimSuffix(s.prose(visible.Text(s.partial)), "\n"), "\n")
	for i, row := range rows { // a line that is kept as it is may be too long
		rows[i] = within(strings.ReplaceAll(row, "\t", "    "), max(s.width()-1, 1))
	}
	s.tail(rows[max(len(rows)-max(s.height()/2-1, 1), 0):])
}

// wholeRows shows for good the rows of the last line that are full. What a terminal draws
// again with each word, it may break otherwise when its width changes. A row with characters
// that are spelled out stays.
func (s *stream) wholeRows() {
	done := ""
	for {
		row, rest, more := strings.Cut(s.prose(visible.Text(s.partial)), "\n")
		after, same := strings.CutPrefix(s.partial, row+" ")
		if !more || rest == "" || !same || strings.TrimSpace(row) == "" {
			break
		}
		done += row + "\n"
		s.partial = strings.TrimLeft(after, " ")
	}
	if done != "" {
		s.tail(nil)
		s.put(done)
	}
}

// complete shows what is left of the agent's text for good.
func (s *stream) complete() {
	if s.said == "" {
		return
	}
	s.tail(nil)
	if s.partial != "" {
		s.put(s.prose(visible.Text(s.partial)))
	}
	s.said, s.partial = "", ""
}

// flush is complete for a turn that has ended.
func (s *stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complete()
}

func (s *stream) tail(rows []string) {
	if out, ok := s.out.(tailed); ok {
		out.Tail(rows)
	}
}

func (s *stream) put(text string) {
	if _, err := io.WriteString(s.out, text); err != nil {
		s.fail(err)
	}
}

// told returns a decision as it was told when it was made.
func (s *stream) told(e wrapper.Event) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decision(e)
}
