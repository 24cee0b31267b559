package whitelist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// Key identifies the count that a hallucinated command adds to: that of an
// agent, as the driver names it, on a plan.
type Key struct{ Agent, Plan string }

// Event is one hallucinated command, or one that a whitelist in a dry run would
// have refused, as a line of the log in the workspace
// (.smartergpt/logs/hallucinations.jsonl).
type Event struct {
	Timestamp string `json:"timestamp"` // UTC, RFC 3339 with milliseconds
	Command   string `json:"command"`   // secrets masked, truncated
	Reason    Reason `json:"reason"`
	AgentID   string `json:"agent_id,omitempty"`
	PlanID    string `json:"plan_id,omitempty"` // absolute path of the plan, or of the workspace
	DryRun    bool   `json:"dry_run,omitempty"` // would have been refused; it is not counted
}

// The kinds of lines in a journal.
const (
	kindHallucination = "hallucination"
	kindDryRun        = "dry_run"
	kindEscalated     = "escalated"
	kindResumed       = "resumed"
	kindReset         = "reset"
)

// entry is one line of the journal.
type entry struct {
	Kind string `json:"kind"`
	Event
	// Of a hallucination: the count since the last reset including it, and
	// whether it pauses the agent. Both are in one line, so that a crash loses
	// both or neither.
	Count  int  `json:"count,omitempty"`
	Paused bool `json:"paused,omitempty"`
	// Of an escalation: the way, and the error, "" if it succeeded.
	How   string `json:"how,omitempty"`
	Error string `json:"error,omitempty"`
	By    string `json:"by,omitempty"` // of a resume or reset: the person
}

// Journal persists hallucinated commands, pauses and their ends: an append-only
// file with one JSON object a line, in a directory that no agent may write to.
// Several processes may use it at once.
type Journal struct {
	path string
	now  func() time.Time

	mu    sync.Mutex // guards the fields below
	seen  fs.FileInfo
	read  int64 // offset up to which the file was read
	lines int
	state map[Key]standing
}

// standing is the state of an agent on a plan.
type standing struct {
	count     int  // since the last reset
	led       int  // events that led to the pause and later ones; a reset before the pause clears it
	paused    bool // until a person resumes it
	escalated bool // the pause was reported to a person
}

// maxLine is the maximum length of a line of the journal in bytes.
const maxLine = 64 << 10

// NewJournal returns the journal at path, which need not exist yet.
func NewJournal(path string) *Journal { return &Journal{path: path, now: time.Now} }

// standing returns the current state of an agent, including what other
// processes wrote.
func (j *Journal) standing(k Key) (standing, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.follow(); err != nil {
		return standing{}, err
	}
	return j.state[k], nil
}

// follow reads what was appended since the last call. A last line without a
// line feed is incomplete and does not count.
func (j *Journal) follow() error {
	info, err := os.Stat(j.path)
	if errors.Is(err, fs.ErrNotExist) && j.seen == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: cannot tell whether the agent is paused", j.path)
	}
	if err != nil {
		return err
	}
	if j.seen == nil || !os.SameFile(j.seen, info) || info.Size() < j.read {
		j.read, j.lines, j.state = 0, 0, map[Key]standing{}
	}
	j.seen = info
	if info.Size() == j.read {
		return nil
	}
	data, err := os.ReadFile(j.path)
	if err != nil {
		return err
	}
	return j.take(data[min(j.read, int64(len(data))):])
}

// take applies whole lines to the state.
func (j *Journal) take(data []byte) error {
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(whole) {
		e, err := parseEntry(line)
		if err != nil {
			return fmt.Errorf("%s:%d: %w: inspect it, then run agent-wrapper hallucinations reset --broken", j.path, j.lines+1, err)
		}
		j.lines++
		j.state[e.key()] = e.after(j.state[e.key()])
		j.read += int64(len(line))
	}
	return nil
}

func parseEntry(line []byte) (*entry, error) {
	var e entry
	if err := strictjson.Decode(bytes.TrimSpace(line), &e, strictjson.MaxSize(maxLine), strictjson.IgnoreUnknown); err != nil {
		return nil, err
	}
	switch e.Kind {
	case kindHallucination, kindDryRun, kindEscalated, kindResumed, kindReset:
		return &e, nil
	}
	return nil, fmt.Errorf("%q is not a known kind of line", e.Kind)
}

func (e *entry) key() Key { return Key{e.AgentID, e.PlanID} }

// after returns the state of an agent after the entry.
func (e *entry) after(s standing) standing {
	switch e.Kind {
	case kindHallucination:
		s.count++
		s.led++
		s.paused = s.paused || e.Paused
	case kindEscalated:
		s.escalated = s.escalated || e.Error == ""
	case kindReset:
		s.count = 0
		if !s.paused {
			s.led = 0
		}
	case kindResumed:
		s = standing{}
	}
	return s
}

// add appends the entries that make returns for the current state, which no
// other process changes meanwhile. When it returns, they are on disk.
func (j *Journal) add(make func(map[Key]standing) []*entry) error {
	unlock, err := j.lock()
	if err != nil {
		return err
	}
	defer unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.follow(); err != nil {
		return err
	}
	return j.write(make(j.state))
}

// lock excludes other processes, and creates the journal's directory.
func (j *Journal) lock() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(j.path), 0o700); err != nil {
		return nil, err
	}
	return atomicfile.Lock(filepath.Dir(j.path))
}

// write appends entries after the last whole line, under the lock. An
// incomplete last line is truncated: its writer was killed before it reported
// success.
func (j *Journal) write(entries []*entry) error {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, e := range entries {
		e.Timestamp = j.now().UTC().Format("2006-01-02T15:04:05.000Z07:00")
		_ = enc.Encode(e) // cannot fail: strings and numbers only
	}
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err = f.Truncate(j.read); err == nil {
		_, err = f.WriteAt(lines.Bytes(), j.read)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = j.follow()
	}
	return err
}

// Events returns the last n hallucinated commands for which keep returns true,
// oldest first; all of them if n is below 1. Those of a dry run are among them.
func (j *Journal) Events(n int, keep func(*Event) bool) ([]Event, error) {
	data, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var events []Event
	line := 0
	for text := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
		line++
		e, err := parseEntry(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", j.path, line, err)
		}
		if (e.Kind == kindHallucination || e.Kind == kindDryRun) && keep(&e.Event) {
			events = append(events, e.Event)
		}
	}
	if n > 0 && len(events) > n {
		events = events[len(events)-n:]
	}
	return events, nil
}

// Standing is the state of an agent on a plan.
type Standing struct {
	Key
	Count  int  // hallucinated commands since the last reset
	Paused bool // until a person resumes it
	Led    int  // while paused: the hallucinated commands that led to the pause, and later ones
}

func (s standing) of(k Key) Standing {
	now := Standing{Key: k, Count: s.count, Paused: s.paused}
	if s.paused {
		now.Led = s.led
	}
	return now
}

// Standings returns the states of all agents that differ from the initial one,
// ordered by plan and agent.
func (j *Journal) Standings() ([]Standing, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.follow(); err != nil {
		return nil, err
	}
	var all []Standing
	for k, s := range j.state {
		if s.count > 0 || s.paused {
			all = append(all, s.of(k))
		}
	}
	sortStandings(all)
	return all, nil
}

// Resume ends the pause of the agents on a plan, of a single one if agent is
// not "", and resets their counts. It returns those that were paused.
func (j *Journal) Resume(plan, agent, by string) ([]Standing, error) {
	return j.clear(kindResumed, by, func(s Standing) bool {
		return s.Paused && s.Plan == plan && (agent == "" || s.Agent == agent)
	})
}

// Reset resets the counts of those for which which returns true. It does not
// end a pause.
func (j *Journal) Reset(by string, which func(Standing) bool) ([]Standing, error) {
	return j.clear(kindReset, by, func(s Standing) bool { return s.Count > 0 && which(s) })
}

func (j *Journal) clear(kind, by string, which func(Standing) bool) (cleared []Standing, err error) {
	err = j.add(func(state map[Key]standing) (entries []*entry) {
		for k, s := range state {
			if now := s.of(k); which(now) {
				cleared = append(cleared, now)
				entries = append(entries, &entry{Kind: kind, By: by, Event: Event{AgentID: k.Agent, PlanID: k.Plan}})
			}
		}
		return entries
	})
	sortStandings(cleared)
	return cleared, err
}

// SetAside renames a journal that cannot be read to its path with the time
// appended, and starts an empty one. Pauses in the old one end with that.
func (j *Journal) SetAside() (string, error) {
	unlock, err := j.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	aside := j.path + "." + strings.ReplaceAll(j.now().UTC().Format("20060102T150405.000000000"), ".", "-")
	if err := os.Rename(j.path, aside); err != nil {
		return "", err
	}
	// A process that has the old file open notices that the path names another.
	return aside, os.WriteFile(j.path, nil, 0o600)
}
