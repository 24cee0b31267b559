package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// use is a recorded tool use, of a session or a line of everyday.jsonl.
type use struct {
	Session string          `json:"session"`
	N       int             `json:"n"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Command string          `json:"command"` // everyday: the whole input
	Cwd     string          `json:"cwd"`
	Ideal   string          `json:"ideal"`   // run, ask, deny
	Typical string          `json:"typical"` // everyday: what Ideal would be: allow, ask, deny
}

// The fates of a tool use.
const (
	run     = "run"
	advised = "advised" // the agent was told how to say it so that it runs
	asked   = "asked"
	refused = "refused"
)

// outcome is what became of a tool use.
type outcome struct {
	use
	project string // go, ts, py or everyday
	fate    string
	lasting bool                // the answer to the question was kept
	kept    bool                // it runs because of an answer that was kept before
	said    permission.Decision // what the person was shown, or the decision
}

// kinds are the projects by the names of their archives.
var kinds = []string{"go", "ts", "py"}

// everydayProject is the name of the project with the files of all kinds, in which
// single lines are decided.
const everydayProject = "everyday"

// measure drives the sessions in projects below dir. It changes the environment
// to that of the projects' owner.
func measure(cases, projects, dir string) ([]outcome, error) {
	sessions, err := readUses(filepath.Join(cases, "sessions.jsonl"))
	if err != nil {
		return nil, err
	}
	lines, err := readUses(filepath.Join(cases, "everyday.jsonl"))
	if err != nil {
		return nil, err
	}
	var archives []string
	for _, kind := range kinds {
		archives = append(archives, filepath.Join(projects, kind+".txtar"))
	}
	var all []outcome
	for i, kind := range kinds {
		ofKind := slices.DeleteFunc(slices.Clone(sessions), func(u use) bool { return !strings.HasPrefix(u.Session, kind+"-") })
		found, err := driveIn(filepath.Join(dir, kind), kind, archives[i:i+1], ofKind)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	archives = append([]string{filepath.Join(projects, everydayProject+".txtar")}, archives...)
	found, err := driveIn(filepath.Join(dir, everydayProject), everydayProject, archives, lines)
	return append(all, found...), err
}

// readRows reads a file with one row on a line.
func readRows[T any](name string) ([]T, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var rows []T
	sc := bufio.NewScanner(file)
	sc.Buffer(nil, 4<<20)
	for n := 1; sc.Scan(); n++ {
		var row T
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		rows = append(rows, row)
	}
	return rows, sc.Err()
}

// readUses reads a file of tool uses. Every line of everyday.jsonl is a session of
// its own.
func readUses(name string) ([]use, error) {
	uses, err := readRows[use](name)
	if err != nil {
		return nil, err
	}
	for i := range uses {
		u := &uses[i]
		if u.Input != nil {
			continue
		}
		if u.Input, err = json.Marshal(map[string]string{"command": u.Command}); err != nil {
			return nil, err
		}
		u.Tool, u.Session, u.N = "Bash", fmt.Sprint("line ", i+1), 1
		u.Ideal = strings.Replace(u.Typical, "allow", run, 1)
	}
	return uses, nil
}

// driveIn makes a project of archives in dir and drives the sessions there.
func driveIn(dir, name string, archives []string, uses []use) ([]outcome, error) {
	p, err := newProject(dir, archives...)
	if err != nil {
		return nil, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	var all []outcome
	for of := range slices.Values(bySession(uses)) {
		found, err := p.drive(of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of[0].Session, err)
		}
		for i := range found {
			found[i].project = name
		}
		all = append(all, found...)
	}
	return all, nil
}

// bySession splits uses into sessions, each in order.
func bySession(uses []use) [][]use {
	var all [][]use
	for i, u := range uses {
		if i == 0 || uses[i-1].Session != u.Session {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], u)
	}
	return all
}

// drive decides the uses of one session.
func (p *project) drive(uses []use) ([]outcome, error) {
	q := &person{}
	e, err := p.open(q)
	if err != nil {
		return nil, err
	}
	if len(e.Warnings) > 0 {
		return nil, fmt.Errorf("the policy of init: %s", strings.Join(e.Warnings, "; "))
	}
	var all []outcome
	for _, u := range uses {
		o, err := p.decide(e, q, u)
		if err != nil {
			return nil, fmt.Errorf("use %d: %w", u.N, err)
		}
		all = append(all, o)
	}
	return all, e.Close()
}

// decide decides one use.
func (p *project) decide(e *engine.Engine, q *person, u use) (outcome, error) {
	q.ideal, q.asked = u.Ideal, nil
	tool := permission.ToolUse{
		Tool: u.Tool, Input: json.RawMessage(p.here(string(u.Input))), Dir: p.here(cmp.Or(u.Cwd, recordedProject)), Session: u.Session,
	}
	res, err := e.CanUseTool(context.Background(), tool)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{use: u, said: res.Decision}
	switch {
	case q.asked != nil:
		o.fate, o.said, o.lasting = asked, *q.asked, q.lasting
	case res.Behavior == permission.Allow:
		o.fate = run
		o.kept, err = p.asks(tool)
	case res.By == "advice":
		o.fate = advised
	default:
		o.fate = refused
	}
	o.said.Reason = p.recorded(o.said.Reason)
	return o, err
}

// asks reports whether a use would be asked about at the beginning of a session.
func (p *project) asks(use permission.ToolUse) (bool, error) {
	e, err := p.open(nil)
	if err != nil {
		return false, err
	}
	return e.Explain(use, nil).Behavior != permission.Allow, e.Close()
}

// person answers for a session. It is told before each use what the use ought to
// be, and denies what ought to be denied.
type person struct {
	ideal   string
	asked   *permission.Decision // what was asked about the present use, nil if nothing
	lasting bool                 // the answer was kept
}

// Approve answers with the second rung of the ladder, or else the first, or else
// for this once.
func (q *person) Approve(_ context.Context, r permission.Request) (permission.Answer, error) {
	q.asked, q.lasting = &r.Decision, false
	if q.ideal == "deny" {
		return permission.Answer{Behavior: permission.Deny}, nil
	}
	answer := permission.Answer{Behavior: permission.Allow}
	if r.Decision.Question {
		return permission.Answer{Behavior: permission.Deny}, nil // there is no answer to give
	}
	if rungs, err := approval.Ladder(&r); err == nil && len(rungs) > 0 {
		q.lasting = true
		answer.Scope, answer.Rules = permission.ScopeSession, rungs[min(1, len(rungs)-1)].Rules
	} else if _, err := approval.Again(&r); err == nil {
		q.lasting = true
		answer.Scope = permission.ScopeUse
	}
	return answer, nil
}
