// Package audit keeps a record of every decision: a file of JSON lines, one a
// decision, added in one write each, so that several processes may share it.
//
// A line is one object. Its keys, in this order:
//
//	v         1, the version of this form
//	time      when it was recorded, UTC, RFC 3339 with nanoseconds
//	session   of the agent, absent if not known; so agent, use and dir
//	agent     the subagent
//	use       the agent's id of the tool use
//	tool      "Bash"
//	dir       the directory the agent's shell was in
//	input     what the agent sent, without blanks between its parts; as a
//	          string if it is no JSON
//	digest    "sha256:…" of input, byte for byte as it stands here
//	behavior  allow, ask or deny
//	layer     that decided; rule and source ("file:line:col") if one did
//	reason    for a person
//	message   what the model was told
//	risk, tier
//	by        who decided: rule, person, timeout
//	held      true: only a person could allow it
//	updated   the input that the tool ran with, where it is another one
//
// Later versions only add keys.
package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Log is an open record. It is safe for concurrent use.
type Log struct {
	now func() time.Time

	mu   sync.Mutex
	file *os.File
	// torn: the last write ended inside a line.
	torn bool
}

// Open opens the record at path for appending and makes it, readable by its
// owner only, if it is not there.
func Open(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the record: %w", err)
	}
	return &Log{file: f, now: time.Now}, nil
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// Record adds one line. An error means that the decision is not in the record.
func (l *Log) Record(ctx context.Context, r permission.Record) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false) // the text of commands is to be found as it is
	if err := e.Encode(l.entry(r)); err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	return l.add(line.Bytes())
}

func (l *Log) add(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.file.Write(line)
	if n > 0 {
		l.torn = n < len(line)
	}
	if err != nil {
		return fmt.Errorf("record the decision: %w", err)
	}
	return nil
}

// entry is one line.
type entry struct {
	V        int             `json:"v"`
	Time     string          `json:"time"`
	Session  string          `json:"session,omitempty"`
	Agent    string          `json:"agent,omitempty"`
	Use      string          `json:"use,omitempty"`
	Tool     string          `json:"tool"`
	Dir      string          `json:"dir,omitempty"`
	Input    json.RawMessage `json:"input"`
	Digest   string          `json:"digest"`
	Behavior string          `json:"behavior"`
	Layer    string          `json:"layer"`
	Rule     string          `json:"rule,omitempty"`
	Source   string          `json:"source,omitempty"`
	Reason   string          `json:"reason"`
	Message  string          `json:"message,omitempty"`
	Risk     string          `json:"risk,omitempty"`
	Tier     int             `json:"tier,omitempty"`
	By       string          `json:"by"`
	Held     bool            `json:"held,omitempty"`
	Updated  json.RawMessage `json:"updated,omitempty"`
}

func (l *Log) entry(r permission.Record) entry {
	use, d := r.Use, r.Result.Decision
	input := asJSON(use.Input)
	return entry{
		V: 1, Time: l.now().UTC().Format(time.RFC3339Nano),
		Session: use.Session, Agent: use.Agent, Use: use.ID, Tool: use.Tool, Dir: use.Dir,
		Input: input, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(input)),
		Behavior: d.Behavior.String(), Layer: d.Layer.String(), Rule: d.Rule, Source: place(d.RuleSource),
		Reason: d.Reason, Message: d.Message, Risk: d.Risk.String(), Tier: d.Tier,
		By: r.Result.By, Held: d.Held, Updated: changed(use.Input, r.Result.UpdatedInput),
	}
}

// asJSON returns the input, as a string if it is no JSON or not UTF-8.
func asJSON(input json.RawMessage) json.RawMessage {
	var short bytes.Buffer
	if utf8.Valid(input) && json.Compact(&short, input) == nil {
		return short.Bytes()
	}
	text, _ := json.Marshal(strings.ToValidUTF8(string(input), "\ufffd")) // a string always has a form
	return text
}

func changed(before, after json.RawMessage) json.RawMessage {
	if len(after) == 0 || string(before) == string(after) {
		return nil
	}
	return asJSON(after)
}

func place(s patterns.Source) string {
	if s.Line == 0 {
		return s.Name
	}
	return fmt.Sprintf("%s:%d:%d", s.Name, s.Line, s.Col)
}
