package server

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/agent-wrapper/agent-wrapper/audit"
)

// recordRoutes are the routes of the record of decisions.
func recordRoutes() []route {
	return []route{
		{method: "GET", path: "/api/audit", access: people, about: "the record of decisions and outcomes, the oldest first",
			query: []param{
				{"after", "only lines after this seq"}, {"limit", "at most so many (default and most 1000)"},
				{"session", "of the agent"}, {"agent", "the subagent"}, {"tool", "by name"}, {"behavior", "allow, ask, deny"},
				{"kind", "begin, decision, outcome, note, torn"}, {"rule", "a part of the rule"}, {"text", "a part of the line"},
				{"since", "RFC 3339"}, {"until", "RFC 3339"},
			}, action: to((*Server).audit)},
	}
}

// recordList is a part of the record.
type recordList struct {
	Lines []json.RawMessage `json:"lines"` // as they stand in the record: see docs/audit.md
	// After is the seq of the last line: the next after.
	After uint64 `json:"after"`
}

// errEnough ends the reading of the record.
var errEnough = errors.New("enough")

// audit reads the record.
func (s *Server) audit(c *call, _ *none) (recordList, error) {
	out := recordList{Lines: []json.RawMessage{}}
	f, after, limit, err := recordFilter(c)
	if err != nil {
		return out, err
	}
	file, err := os.Open(s.options.Record)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil // nothing was decided yet
	}
	if err != nil {
		return out, err
	}
	defer file.Close()
	out.After = uint64(after)
	err = audit.Scan(file, f, func(e *audit.Entry, line []byte) error {
		if e.Seq <= uint64(after) {
			return nil
		}
		out.Lines = append(out.Lines, append(json.RawMessage(nil), line...))
		out.After = e.Seq
		if int64(len(out.Lines)) == limit || c.Context().Err() != nil {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out, err
}

// recordFilter reads the query of the record.
func recordFilter(c *call) (f *audit.Filter, after, limit int64, err error) {
	q := c.URL.Query()
	f = &audit.Filter{
		Tool: q.Get("tool"), Behavior: q.Get("behavior"), Session: q.Get("session"), Agent: q.Get("agent"), Kind: q.Get("kind"),
		Rule: q.Get("rule"), Text: q.Get("text"),
	}
	for name, at := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if q.Get(name) == "" {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, q.Get(name)); err != nil {
			return nil, 0, 0, fail(http.StatusBadRequest, "bad_request", "the query: %s: it has the form 2026-01-02T15:04:05Z", name)
		}
	}
	if after, err = number(c, "after", 0, 1<<62, 0); err != nil {
		return nil, 0, 0, err
	}
	limit, err = number(c, "limit", 1, maxList, maxList)
	return f, after, limit, err
}
