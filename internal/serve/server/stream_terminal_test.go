package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// shown is any message of a terminal's stream.
type shown struct {
	Type, Content, Code, Message, State, Signal, Action, Person, Stream string
	Cursor, Bytes                                                       int64
	Cols, Rows                                                          int
	Since                                                               time.Time
	People                                                              []string
	Session                                                             struct {
		State, Running string
		Pending        struct {
			ID string `json:"approval_id"`
		} `json:"pending_approval"`
	}
}

// view is a viewer of a terminal.
type view struct {
	*peer
	text    string // all output
	last    shown
	viewers []string
}

// watch opens the stream of a session's terminal.
func (p *parties) watch(session, secret, query string) *view {
	p.t.Helper()
	pty := p.get(session, p.ann)["pty_session_id"].(string)
	v := &view{peer: p.dial("/api/terminal/ws/"+pty+query, secret)}
	v.read("connected")
	return v
}

// read reads until a message of a type comes, and collects the output before it.
func (v *view) read(kind string) shown {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	for {
		_, text, err := v.Read(ctx)
		if err != nil {
			v.t.Fatalf("no %s: %v; output %q", kind, err, v.text)
		}
		var m shown
		if err := json.Unmarshal(text, &m); err != nil {
			v.t.Fatal(err)
		}
		v.last = m
		switch m.Type {
		case "output":
			v.text += m.Content
		case "viewers":
			v.viewers = m.People
		}
		if m.Type == kind {
			return m
		}
	}
}

// until reads output until it has a text.
func (v *view) until(want string) {
	v.t.Helper()
	for !strings.Contains(v.text, want) {
		v.read("output")
	}
}

func (v *view) say(message string) {
	v.t.Helper()
	if err := v.Write(v.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		v.t.Fatal(err)
	}
}

// The output of a command comes at once, to who watched before and, from the beginning
// or from a cursor on, to who comes later.
func TestTerminalOutput(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	early := p.watch(session, p.ann, "")
	p.finished(p.execute(session, "echo one; echo two"))
	early.until("\r\ntwo\r\n")
	if !strings.Contains(early.text, "$ echo one; echo two") {
		t.Errorf("the command is not shown: %q", early.text)
	}
	late := p.watch(session, p.ben, "")
	late.until("\r\ntwo\r\n")
	if late.text != early.text {
		t.Errorf("%q, and before %q", late.text, early.text)
	}
	again := p.watch(session, p.ben, fmt.Sprintf("?cursor=%d", early.last.Cursor))
	p.execute(session, "echo three")
	again.until("three\r\n")
	if strings.Contains(again.text, "two") {
		t.Errorf("it comes again: %q", again.text)
	}
	agents := p.watch(session, p.agent, "")
	agents.until("three")
	agents.say(`{"type":"ping"}`)
	agents.read("pong")
}

// Output does not reach beyond the terminal of who watches.
func TestTerminalSequences(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	v := p.watch(session, p.ann, "")
	p.execute(session, `printf 'a\033]0;title\007b\033]52;c;cm0=\007c\033[21td\033[1me\n'`)
	v.until("\x1b[1me")
	if out := v.text[strings.LastIndex(v.text, "abcd"):]; !strings.HasPrefix(out, "abcd\x1b[1me") {
		t.Errorf("%q", v.text)
	}
	if strings.Contains(v.text, "\x1b]") || strings.Contains(v.text, "\a") {
		t.Errorf("%q", v.text)
	}
}

// The person who has the terminal types, and nobody else: no agent, no other person, and
// nobody while the agent has it.
func TestTerminalKeyboard(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	ann, ben := p.watch(session, p.ann, ""), p.watch(session, p.ben, "")
	ann.say(`{"type":"input","content":"echo early\n"}`)
	if m := ann.read("error"); m.Code == "" {
		t.Errorf("%+v", m)
	}
	ann.say(`{"type":"workflow_control","action":"pause"}`)
	if m := ann.read("workflow_control_ack"); m.Action != "pause" {
		t.Errorf("%+v", m)
	}
	ann.say(`{"type":"resize","cols":100,"rows":40}`)
	ann.say(`{"type":"input","content":"echo mi''ne; stty size\n"}`)
	ann.until("mine")
	ann.until("40 100")
	ben.until("mine")
	ben.say(`{"type":"input","content":"echo the''irs\n"}`)
	if m := ben.read("error"); m.Code != "user_has_control" {
		t.Errorf("%+v", m)
	}
	ben.say(`{"type":"signal","signal":"SIGINT"}`)
	if m := ben.read("error"); m.Code != "user_has_control" {
		t.Errorf("%+v", m)
	}
	for _, bad := range []string{
		`{"type":"input","content":"x","session_id":"another"}`, `{"type":"input","content":"x","text":"y"}`, `{"type":"input","Content":"x"}`,
		`{"type":"terminal_stdin","content":"secret","is_password":true,"command_id":"command-of-another"}`,
		`{"type":"run"}`, `{}`, `[]`, `{"type":"signal","signal":"SIGSTOP"}`, `{"type":"workflow_control","action":"approve"}`,
		`{"type":"input","content":"` + strings.Repeat("x", 5000) + `"}`,
	} {
		ann.say(bad)
		if m := ann.read("error"); m.Code == "" || m.Code == "internal_error" {
			t.Errorf("%s: %+v", bad, m)
		}
	}
	agent := p.watch(session, p.agent, "")
	agent.say(`{"type":"input","content":"echo agent's\n"}`)
	if m := agent.read("security_warning"); m.Code != "insufficient_permissions" {
		t.Errorf("%+v", m)
	}
	if code := agent.gone(); code != websocket.StatusPolicyViolation {
		t.Error(code)
	}
	ann.say(`{"type":"input","content":"echo do''ne\n"}`)
	ann.until("done")
	if strings.Contains(ann.text, "theirs") || strings.Contains(ann.text, "agent's") || strings.Contains(ann.text, "early") || strings.Contains(ann.text, "secret") {
		t.Errorf("%q", ann.text)
	}
	if strings.Contains(p.logs.text(), "mi''ne") || strings.Contains(p.logs.text(), "secret") {
		t.Error("what was typed is in the log")
	}
	ann.say(`{"type":"workflow_control","action":"resume"}`)
	ann.read("workflow_control_ack")
}

// seen reads until these people watch.
func (v *view) seen(people ...string) {
	v.t.Helper()
	for !slices.Equal(v.read("viewers").People, people) {
	}
}

// Who watches is known to people by name, each once, however many streams there are; an
// agent is not told.
func TestTerminalAudience(t *testing.T) {
	p := meet(t, Options{})
	session, other := p.begin(), p.begin()
	agent := p.watch(session, p.agent, "")
	ann := p.watch(session, p.ann, "")
	ann.seen("ann")
	p.watch(other, p.ben, "").seen("ben")
	ben := p.watch(session, p.ben, "")
	ann.seen("ann", "ben")
	ben.seen("ann", "ben")
	twice := p.watch(session, p.ben, "")
	twice.seen("ann", "ben")
	ben.CloseNow()
	p.execute(session, "echo mid''way")
	ann.until("midway")
	if ann.last.Type == "viewers" {
		t.Errorf("%+v", ann.last)
	}
	twice.CloseNow()
	ann.seen("ann")
	agent.until("midway")
	ann.say(`{"type":"workflow_control","action":"pause"}`)
	for agent.read("state").State != "user_control" {
	}
	if agent.viewers != nil {
		t.Errorf("an agent was told who watches: %v", agent.viewers)
	}
}

// Who has the terminal, since when, and its size are told when they change.
func TestTerminalState(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	ben := p.watch(session, p.ben, "")
	if m := ben.last; m.State != "agent_control" || m.Person != "" || m.Cols != 80 || m.Rows != 24 || m.Since.IsZero() || m.Stream == "" {
		t.Errorf("%+v", m)
	}
	before := ben.last
	p.post(session+"/interrupt", p.ann, `{}`, 200)
	had := ben.read("state")
	for had.State != "user_control" {
		had = ben.read("state")
	}
	if had.Person != "ann" || !had.Since.After(before.Since) {
		t.Errorf("%+v", had)
	}
	if since := p.get(session, p.ben)["since"]; since != had.Since.Format(time.RFC3339Nano) {
		t.Errorf("the session has %v, its stream %v", since, had.Since)
	}
	ann := p.watch(session, p.ann, "")
	if ann.last.Stream != before.Stream {
		t.Error("the stream has another name")
	}
	ann.say(`{"type":"resize","cols":100,"rows":40}`)
	if m := ben.read("state"); m.Cols != 100 || m.Rows != 40 || m.Person != "ann" {
		t.Errorf("%+v", m)
	}
	ann.say(`{"type":"workflow_control","action":"resume"}`)
	for had.State != "agent_control" {
		had = ben.read("state")
	}
	if had.Person != "" || had.Cols != 100 {
		t.Errorf("%+v", had)
	}
	if of := p.watch(p.begin(), p.ann, ""); of.last.Stream == before.Stream {
		t.Error("another session's stream has the same name")
	}
}

// A terminal is found by its own id, and only by who may see it.
func TestTerminalsOfOthers(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	other, _ := p.token(RoleAgent, "admin", "other")
	pty := p.get(session, p.ann)["pty_session_id"].(string)
	id := p.get(session, p.ann)["session_id"].(string)
	for name, at := range map[string][2]string{"another agent": {pty, other}, "the session's id": {id, p.ann}, "no terminal": {"pty-0", p.ann}} {
		if conn, resp, err := p.tryDial("/api/terminal/ws/"+at[0], at[1]); err == nil {
			conn.CloseNow()
			t.Errorf("%s: it is open", name)
		} else if resp == nil || resp.StatusCode != 404 {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
}

// The stream ends with the session, and with the credential.
func TestTerminalEnds(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	ann, ben := p.watch(session, p.ann, ""), p.watch(session, p.ben, "")
	secret, id := p.token(RolePerson, "", "carl")
	carl := p.watch(session, secret, "")
	if err := p.credentials.revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if code := carl.gone(); code != websocket.StatusPolicyViolation {
		t.Error(code)
	}
	ann.say(strings.Repeat(" ", maxMessage+1))
	if code := ann.gone(); code != websocket.StatusMessageTooBig {
		t.Error(code)
	}
	if r := p.do("DELETE", session, p.ann, ""); r.status != 200 {
		t.Fatal(r)
	}
	ben.read("terminal_closed")
	if code := ben.gone(); code != websocket.StatusNormalClosure {
		t.Error(code)
	}
}

// What happens in a session is in the events, with what became of a command's approval.
func TestSessionEvents(t *testing.T) {
	p := meet(t, Options{})
	v := &view{peer: p.dial("/api/events", p.ann)}
	other, _ := p.token(RoleAgent, "admin", "other")
	blind := p.dial("/api/events", other)
	v.read("current")
	blind.is("snapshot")
	blind.is("current")
	session := p.begin()
	v.read("session")
	p.execute(session, "echo hi")
	v.read("command")
	v.read("command_approval_status")
	late := &view{peer: p.dial("/api/events", p.ben)}
	late.read("snapshot")
	late.read("session")
	late.read("current")
	if r := p.do("DELETE", session, p.ann, ""); r.status != 200 {
		t.Fatal(r)
	}
	for v.read("session").Session.State != "closed" {
	}
	p.ask("1", "other") // the first thing that the other agent sees
	blind.is("approval 1 pending")
}

// What waits in a session, and what runs, comes with the session, when it begins and when
// it is over.
func TestSessionEventsOfCommands(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	v := &view{peer: p.dial("/api/events", p.ann)}
	v.read("current")
	id, _ := p.execute(session, "cat >file.txt; chmod 600 file.txt")["approval_id"].(string)
	if id == "" {
		t.Fatal("nobody is asked")
	}
	for v.read("session").Session.Pending.ID != id {
	}
	p.post(session+"/approve", p.ann, `{"approved":true}`, 200)
	for m := v.read("session").Session; m.Running == "" || m.Pending.ID != ""; m = v.read("session").Session {
	}
	p.post(session+"/interrupt", p.ann, `{"signal":true}`, 200)
	for m := v.read("session").Session; m.Running != ""; m = v.read("session").Session {
	}
}

// A session that has changed comes with the same fields as in a snapshot: also with the
// command that runs.
func TestSessionEventIsWhole(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	p.execute(session, "cat") // until somebody types
	v := p.dial("/api/events", p.ann)
	if got := p.post(session+"/interrupt", p.ann, `{}`, 200); got["state"] == "agent_control" {
		t.Fatal(got)
	}
	var m sessionMessage
	for m.Session.State != "user_control" {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, text, err := v.Read(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"type":"session"`) {
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := p.get(session, p.ann)
	if m.Session.Running == "" || want["running"] != m.Session.Running || m.Session.Person != "ann" {
		t.Errorf("%+v, and the session itself is %v", m.Session, want)
	}
}
