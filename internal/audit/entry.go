package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The kinds of records.
const (
	kindBegin    = "begin"
	kindDecision = "decision"
	kindOutcome  = "outcome"
	kindNote     = "note"
	kindTorn     = "torn"
)

// noteHeadless is the note of a record that was opened with entries and without a head.
const noteHeadless = "no_head"

// Entry is one record. The package comment documents its fields.
type Entry struct {
	V    int    `json:"v"`
	Seq  uint64 `json:"seq"`
	Prev sum    `json:"prev"`
	Time string `json:"time"`
	Kind string `json:"kind"`

	Before int       `json:"before,omitempty"` // lines of version 1
	Lost   *position `json:"lost,omitempty"`
	Torn   *fragment `json:"torn,omitempty"`

	Session  string          `json:"session,omitempty"`
	Agent    string          `json:"agent,omitempty"`
	Use      string          `json:"use,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Dir      string          `json:"dir,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Masked   int             `json:"masked,omitempty"`
	Cut      int             `json:"cut,omitempty"`
	Digest   string          `json:"digest,omitempty"`
	Actions  []string        `json:"actions,omitempty"`
	More     int             `json:"more,omitempty"`
	Behavior string          `json:"behavior,omitempty"`
	Layer    string          `json:"layer,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Source   string          `json:"source,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Message  string          `json:"message,omitempty"`
	Risk     string          `json:"risk,omitempty"`
	Tier     int             `json:"tier,omitempty"`
	By       string          `json:"by,omitempty"`
	Held     bool            `json:"held,omitempty"`
	Sandbox  string          `json:"sandbox,omitempty"`
	Grants   []grant         `json:"grants,omitempty"`
	Approval string          `json:"approval,omitempty"`
	Answered []answerer      `json:"answered,omitempty"`
	Comment  string          `json:"comment,omitempty"`

	Refusal    string `json:"objection,omitempty"`
	WouldBlock bool   `json:"would_block,omitempty"`

	Updated json.RawMessage `json:"updated,omitempty"`

	Note string `json:"note,omitempty"`

	Of      uint64   `json:"of,omitempty"`
	Outcome string   `json:"outcome,omitempty"`
	Exit    *int     `json:"exit,omitempty"`
	TookMS  *int64   `json:"took_ms,omitempty"`
	Met     []string `json:"met,omitempty"`
}

// grant is a lasting answer of a person.
type grant struct {
	ID    int    `json:"id"`
	Rule  string `json:"rule,omitempty"`
	Use   string `json:"use,omitempty"`
	Until string `json:"until,omitempty"`
	Left  *int   `json:"left,omitempty"` // nil: any number
	From  string `json:"from,omitempty"` // the id of a remembered approval
	// UpTo is the highest risk for which it answers.
	UpTo risk.Grade `json:"up_to,omitzero"`
	// Edits says that all edits in the workspace were accepted.
	Edits bool `json:"edits,omitempty"`
}

// answerer is a person who answered a question.
type answerer struct {
	Name       string `json:"name"`
	Credential string `json:"credential,omitempty"`
}

// approved adds who answered a question that was put to others.
func (e *Entry) approved(a *permission.Approval) {
	if a == nil {
		return
	}
	e.Approval, e.Comment = e.hide(a.ID), e.hide(a.Comment)
	for _, p := range a.People {
		e.Answered = append(e.Answered, answerer{e.hide(p.Name), e.hide(p.Credential)})
	}
}

// grants returns the lasting answers by which a tool use was allowed.
func (e *Entry) grants(all []permission.Grant) (out []grant) {
	for _, g := range all {
		one := grant{ID: g.ID, Rule: e.hide(g.Rule), Use: e.hide(g.Use), From: e.hide(g.From), UpTo: g.UpTo, Edits: g.Edits}
		if !g.Until.IsZero() {
			one.Until = g.Until.UTC().Format(time.RFC3339)
		}
		if g.Counted {
			one.Left = &g.Left
		}
		out = append(out, one)
	}
	return out
}

// usualLine is the length in bytes that most lines do not exceed.
const usualLine = 1 << 10

// line returns the record as it is written, with its line feed.
func (e *Entry) line() ([]byte, error) {
	var line bytes.Buffer
	line.Grow(usualLine)
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // so that the text of commands can be searched for
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	return plain(line.Bytes()), nil
}

// plain escapes the characters of a JSON text that a terminal would interpret,
// hide or reorder.
func plain(text []byte) []byte {
	odd := func(r rune) bool { return r >= 0x7f && r != utf8.RuneError && !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, odd) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case !odd(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// decision returns the record of a decision, without its place in the chain.
func decision(r permission.Record) *Entry {
	use, d := r.Use, r.Result.Decision
	e := &Entry{
		Kind:     kindDecision,
		Behavior: d.Behavior.String(), Layer: d.Layer.String(), Source: d.RuleSource.String(),
		Risk: d.Risk.String(), Tier: d.Tier, By: r.Result.By, Held: d.Held, Sandbox: d.Sandbox.String(),
	}
	e.named(use.Session, use.Agent, use.ID, use.Tool)
	e.Grants = e.grants(d.Grants)
	e.approved(r.Result.Approval)
	if o := d.Refusal; o.Kind != "" {
		e.Refusal, e.WouldBlock = o.Kind+": "+e.hide(o.Reason), o.Behavior == 0
	}
	e.Dir, e.Rule, e.Reason, e.Message = e.hide(use.Dir), e.hide(d.Rule), e.hide(d.Reason), e.hide(d.Message)
	m := &liner{dialect: use.Dialect}
	e.Input, e.Digest = e.keep(e.masked(use.Input, m))
	after := r.Result.UpdatedInput
	if len(after) == 0 {
		after = r.Edited
	}
	if len(after) > 0 && !bytes.Equal(use.Input, after) {
		e.Updated, _ = e.keep(e.masked(after, m))
	}
	e.Actions, e.More = e.actions(r, m)
	return e
}

// maxText and maxInput are the maximum lengths of a text and an input in bytes;
// of longer ones the beginning is kept.
const (
	maxText   = 64 << 10
	maxInput  = 1 << 20
	beginning = 4 << 10
)

// hide masks a text.
func (e *Entry) hide(text string) string {
	text, n := mask.Text(text)
	e.Masked += n
	if len(text) > maxText {
		e.Cut = max(e.Cut, len(text))
		text = start(text)
	}
	return text
}

// named sets the identity of the tool use.
func (e *Entry) named(session, agent, use, tool string) {
	e.Session, e.Agent, e.Use, e.Tool = e.hide(session), e.hide(agent), e.hide(use), e.hide(tool)
}

// start returns the beginning of a long text.
func start(text string) string {
	return strings.ToValidUTF8(text[:beginning], "") + "…"
}

// masked returns an input with its secrets hidden.
func (e *Entry) masked(input json.RawMessage, m *liner) json.RawMessage {
	out, n := mask.JSON(asJSON(input), m.mask)
	e.Masked += n
	return plain(out)
}

// keep returns an input as it is recorded, and the digest of the whole.
func (e *Entry) keep(input json.RawMessage) (kept json.RawMessage, digest string) {
	digest = sum(sha256.Sum256(input)).String()
	if len(input) <= maxInput {
		return input, digest
	}
	e.Cut = max(e.Cut, len(input))
	return asText(start(string(input))), digest
}

// asJSON returns the input, as a string if it is not valid JSON or UTF-8.
func asJSON(input json.RawMessage) json.RawMessage {
	var short bytes.Buffer
	if utf8.Valid(input) && json.Compact(&short, input) == nil {
		return short.Bytes()
	}
	return asText(strings.ToValidUTF8(string(input), "\ufffd"))
}

func asText(s string) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // cannot fail for a string
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
