package server

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
)

// recordRoutes are the routes of the audit log.
func recordRoutes() []route {
	return []route{
		{method: "GET", path: "/api/audit", access: people, about: "read the audit log, oldest first; with before, newest first",
			query: []param{
				{"after", "only lines after this seq"}, {"before", "only lines before this seq, newest first; 0: from the end"}, {"limit", "the largest number to return (default and maximum 1000)"},
				{"session", "of the agent"}, {"agent", "the subagent"}, {"tool", "by name"}, {"behavior", "allow, ask, deny"},
				{"kind", "begin, decision, outcome, note, torn"}, {"by", "rule, person, timeout, advice"}, {"rule", "part of the rule"}, {"text", "part of the line"},
				{"since", "RFC 3339"}, {"until", "RFC 3339"},
			}, action: to((*Server).audit)},
		{method: "GET", path: "/api/audit/state", access: people, about: "check that the audit log is unchanged: lines added since the last check are verified, some at a time",
			query: []param{{"whole", "true: start from the first line"}}, action: to((*Server).auditState)},
	}
}

// recordList is a part of the record.
type recordList struct {
	Lines []json.RawMessage `json:"lines"` // as they stand in the audit log: see docs/audit-log.md
	// After is the seq of the last line: the next after.
	After uint64 `json:"after"`
	// Before is the next before; absent if nothing is left. There may be more though
	// there are fewer lines than the limit: a request looks at maxLook bytes.
	Before uint64 `json:"before,omitempty"`
}

// maxLook is how many bytes of the record one request looks through backwards.
const maxLook = 16 << 20

// errEnough ends the reading of the record.
var errEnough = errors.New("enough")

// audit reads the record.
func (s *Server) audit(c *call, _ *none) (recordList, error) {
	out := recordList{Lines: []json.RawMessage{}}
	f, after, limit, err := recordFilter(c)
	if err != nil {
		return out, err
	}
	back := c.URL.Query().Has("before")
	before, err := number(c, "before", 0, 1<<62, 0)
	if err == nil && back && after > 0 {
		err = fail(http.StatusBadRequest, "bad_request", "the query: use after or before, not both")
	}
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
	if back {
		return backwards(c, file, f, uint64(before), int(limit))
	}
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

// backwards reads the record from the newest line.
func backwards(c *call, file *os.File, f *audit.Filter, before uint64, limit int) (recordList, error) {
	out := recordList{Lines: []json.RawMessage{}}
	info, err := file.Stat()
	if err != nil {
		return out, err
	}
	out.Before, err = audit.ScanBack(file, info.Size(), before, maxLook, f, func(e *audit.Entry, line []byte) error {
		out.Lines = append(out.Lines, append(json.RawMessage(nil), line...))
		out.After = max(out.After, e.Seq)
		if len(out.Lines) == limit || c.Context().Err() != nil {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out, err
}

// chainState is how the chain of the record stands.
type chainState struct {
	Lines    int        `json:"lines"`    // that were verified
	Records  uint64     `json:"records"`  // seq of the last of them
	Head     string     `json:"head"`     // its hash; "" if there is none
	Known    uint64     `json:"known"`    // up to this seq the head proves that nothing is missing; 0 without a head
	Old      int        `json:"old"`      // lines of version 1, which have no chain
	Torn     int        `json:"torn"`     // lines that a crash tore
	Bytes    int64      `json:"bytes"`    // that were verified
	Size     int64      `json:"size"`     // of the audit log
	Done     bool       `json:"done"`     // all was verified; otherwise ask again
	Verified *time.Time `json:"verified"` // when all was; null: not yet
	Whole    *time.Time `json:"whole"`    // when the first line was
	Faults   []finding  `json:"faults"`   // what is not as it was written
	Notes    []finding  `json:"notes"`
}

// finding is what is worth knowing about a line; 0 stands for the whole record.
type finding struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// maxNotes is how many notes about a record are told.
const maxNotes = 20

func findings(all []audit.Finding) []finding {
	out := []finding{}
	for _, f := range all[:min(len(all), maxNotes)] {
		out = append(out, finding(f))
	}
	return out
}

// chain verifies the record. One request at a time does so; the others are told what it
// had found before.
type chain struct {
	verifying sync.Mutex
	watch     *audit.Watch

	mu   sync.Mutex
	last chainState
}

// maxVerified is how many bytes of the record one request verifies.
const maxVerified = 64 << 20

// auditState says whether the record is as it was written.
func (s *Server) auditState(c *call, _ *none) (chainState, error) {
	whole := c.URL.Query().Get("whole")
	if whole != "" && whole != "true" {
		return chainState{}, fail(http.StatusBadRequest, "bad_request", "the query: whole: use true, or omit it")
	}
	k := &s.chain
	if !k.verifying.TryLock() {
		out := k.known()
		out.Done = false
		return out, nil
	}
	defer k.verifying.Unlock()
	if k.watch == nil {
		k.watch = audit.NewWatch(s.options.Record, s.options.Head)
	}
	if whole != "" {
		k.watch.Again()
	}
	p, err := k.watch.Next(maxVerified)
	if errors.Is(err, fs.ErrNotExist) {
		p, err = &audit.Progress{}, nil // nothing was decided yet
	}
	if err != nil {
		return chainState{}, err
	}
	return k.note(p, time.Now()), nil
}

// known returns what is known.
func (k *chain) known() chainState {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last.Faults == nil {
		k.last.Faults, k.last.Notes = []finding{}, []finding{}
	}
	return k.last
}

// note keeps how far the record is verified, and returns it.
func (k *chain) note(p *audit.Progress, now time.Time) chainState {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := chainState{
		Lines: p.Lines, Records: p.Records, Head: p.Head, Known: p.Known, Old: p.Old, Torn: p.Torn, Bytes: p.Bytes, Size: p.Size,
		Done: p.Done(), Verified: k.last.Verified, Whole: k.last.Whole, Faults: findings(p.Faults), Notes: findings(p.Notes),
	}
	if p.Anew {
		next.Whole = when(now)
	}
	if next.Done {
		next.Verified = when(now)
	}
	k.last = next
	return next
}

// recordFilter reads the query of the record.
func recordFilter(c *call) (f *audit.Filter, after, limit int64, err error) {
	q := c.URL.Query()
	f = &audit.Filter{
		Tool: q.Get("tool"), Behavior: q.Get("behavior"), Session: q.Get("session"), Agent: q.Get("agent"), Kind: q.Get("kind"), By: q.Get("by"),
		Rule: q.Get("rule"), Text: q.Get("text"),
	}
	for name, at := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if q.Get(name) == "" {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, q.Get(name)); err != nil {
			return nil, 0, 0, fail(http.StatusBadRequest, "bad_request", "the query: %s: write it like 2026-01-02T15:04:05Z", name)
		}
	}
	if after, err = number(c, "after", 0, 1<<62, 0); err != nil {
		return nil, 0, 0, err
	}
	limit, err = number(c, "limit", 1, maxList, maxList)
	return f, after, limit, err
}
