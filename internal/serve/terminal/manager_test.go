package terminal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// kindOf returns the kind of an error, 0 if it is none.
func kindOf(err error) Kind {
	if e := new(Error); errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

func TestExecuted(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, "echo a; echo b")
	if r.Status != "executed" || r.Command != "echo a; echo b" || r.SessionID != id || r.CommandID == "" || r.Risk != "safe" || !slices.Equal(r.Reasons, []string{"it is safe"}) {
		t.Errorf("%+v", r)
	}
	c := b.store.ends(t, r.CommandID, store.CommandCompleted)
	if c.Exit == nil || *c.Exit != 0 || c.By != "agent" || c.ConversationID != "talk" || c.Risk != "safe" {
		t.Errorf("%+v", c)
	}
	if got := b.shows(id, "b\r\n"); got != "$ echo a; echo b\r\na\r\nb\r\n" {
		t.Errorf("%q", got)
	}
	b.store.until(t, "the chat has it", func() bool { return len(b.store.chats) > 0 })
	if x := b.store.chats[0]; x.Text != "[TERMINAL] $ echo a; echo b\na\nb\n" || x.Sender != "terminal" || x.Type != "terminal_output" || x.ConversationID != "talk" || x.SessionID != id {
		t.Errorf("%+v", x)
	}
	r = b.execute(id, "kill -TERM $$")
	if c = b.store.ends(t, r.CommandID, store.CommandFailed); *c.Exit != 143 {
		t.Errorf("%+v", c)
	}
	r = b.execute(id, "exit 3")
	if c = b.store.ends(t, r.CommandID, store.CommandCompleted); *c.Exit != 3 {
		t.Errorf("%+v", c)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.outcomes) != 3 || b.outcomes[2].Use != r.CommandID || *b.outcomes[2].Exit != 3 || !b.outcomes[2].Failed {
		t.Errorf("%+v", b.outcomes)
	}
}

// TestDirectory: the directory carries over to the next command, and nothing else.
func TestDirectory(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(dir, "a 'b'\nc")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, want string }{
		{"x=1; f() { :; }; export y=2; cd " + dir, dir},
		{"echo \"[$x$y$(type -t f)$BASH_ENV]\"", dir},
		{"cd a*", odd},
		{"(cd /)", odd}, {"cd / & wait", odd}, {"cd /; exec true", odd}, {"cd /; trap - EXIT", odd},
		{"pwd() { echo /; }; builtin() { echo /nowhere; }; :", odd},
		{"cd ..; exit 4", dir}, {"mkdir -p x/y; cd x/y", filepath.Join(dir, "x/y")},
		{"rm -r ../../x", filepath.Join(dir, "x/y")}, {"pwd -P", dir}, {"exec 3>x 4>y; cd /", "/"},
	} {
		r := b.execute(id, tt.line)
		c := b.store.ends(t, r.CommandID, store.CommandCompleted)
		info, err := b.Get(id)
		if err != nil || info.Dir != tt.want {
			t.Errorf("%s, from %s: %q, %v", tt.line, c.Dir, info.Dir, err)
		}
	}
	if got := b.shows(id, "[]"); !strings.Contains(got, "\r\n[]\r\n") {
		t.Errorf("%q", got)
	}
}

func TestRefused(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, ": deny")
	if r.Status != "forbidden" || r.Message != "Command is forbidden and cannot be executed" || r.Risk != "forbidden" || !slices.Equal(r.Reasons, []string{"never"}) {
		t.Errorf("%+v", r)
	}
	b.store.ends(t, r.CommandID, store.CommandForbidden)
	b.mu.Lock()
	if len(b.said) != 1 || b.said[0] != "SECURITY: Blocked forbidden command: : deny" {
		t.Errorf("%q", b.said)
	}
	b.mu.Unlock()
	r = b.execute(id, ": break")
	if r.Status != "error" || r.Error == "" {
		t.Errorf("%+v", r)
	}
	b.store.ends(t, r.CommandID, store.CommandFailed)
	if r, err := b.Execute(t.Context(), id, Request{Command: ": deny", ForceApproval: true}); err != nil || r.Status != "forbidden" {
		t.Errorf("force_approval makes a forbidden command approvable: %+v, %v", r, err)
	}
	for _, line := range []string{"a\x00b", "\xff", strings.Repeat("x", maxLine)} {
		if _, err := b.Execute(t.Context(), id, Request{Command: line}); kindOf(err) != Invalid {
			t.Errorf("%.9q: %v", line, err)
		}
	}
	if _, err := b.Execute(t.Context(), "none", Request{}); kindOf(err) != NotFound || err.Error() != "Session not found: none" {
		t.Error(err)
	}
}

func TestApproved(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, ": ask; echo done")
	if r.Status != "approval_required" || r.Risk != "high" || r.Warning == "" || r.ApprovalID == "" || r.Digest == "" || !slices.Equal(r.Reasons, []string{"it is dangerous"}) {
		t.Errorf("%+v", r)
	}
	info, err := b.Get(id)
	if p := info.Pending; err != nil || p == nil || p.CommandID != r.CommandID || p.Command != r.Command || p.ApprovalID != r.ApprovalID || p.Digest != r.Digest || p.Risk != "high" || p.Timestamp.IsZero() {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := b.Execute(t.Context(), id, Request{Command: "echo x"}); kindOf(err) != Conflict {
		t.Errorf("a second command while one is pending: %v", err)
	}
	for _, e := range []approval.Event{{ID: "x"}, {ID: r.ApprovalID, Digest: "1:x"}, {Digest: "1:x"}} {
		e.Kind, e.By = approval.Approve, answerOf(0).By
		if _, err := b.Approve(t.Context(), id, e, nil); kindOf(err) != Conflict {
			t.Errorf("%+v: %v", e, err)
		}
	}
	self := answerOf(approval.Approve)
	self.By = askingAgent
	if _, err := b.Approve(t.Context(), id, self, nil); !errors.Is(err, approval.ErrNoSay) {
		t.Errorf("the agent approves: %v", err)
	}
	e := answerOf(approval.Approve)
	e.ID, e.Digest = r.ApprovalID, r.Digest
	got, err := b.Approve(t.Context(), id, e, nil)
	if err != nil || got.Status != "approved" || !got.Executed || got.Command != ": ask; echo done" {
		t.Errorf("%+v, %v", got, err)
	}
	b.store.ends(t, r.CommandID, store.CommandCompleted)
	b.shows(id, "\r\ndone\r\n")
	if _, err := b.Approve(t.Context(), id, e, nil); kindOf(err) != Conflict {
		t.Errorf("approved twice: %v", err)
	}
	reply := string(b.store.entries[r.ApprovalID].Reply)
	if !strings.Contains(reply, `"choice":"once"`) || !strings.Contains(reply, `"by":"anna"`) {
		t.Error(reply)
	}
}

func TestDenied(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, ": ask; echo no")
	e := answerOf(approval.Deny)
	e.Message = "Too risky"
	got, err := b.Approve(t.Context(), id, e, nil) // without an id: there was one question
	if err != nil || got.Status != "denied" || got.Executed || got.Message != "Too risky" {
		t.Errorf("%+v, %v", got, err)
	}
	if c := b.store.ends(t, r.CommandID, store.CommandDenied); c.Comment != "Too risky" {
		t.Errorf("%+v", c)
	}
	if info, _ := b.Get(id); info.Pending != nil {
		t.Error("it is still pending")
	}
	if _, err := b.Execute(t.Context(), id, Request{Command: "echo x", ForceApproval: true}); err != nil {
		t.Error(err)
	}
	if info, _ := b.Get(id); info.Pending == nil {
		t.Error("force_approval asks nobody")
	}
}

// TestSwapped: an agent that withdraws a question and asks the next one does not get the
// answer to the first, nor does one whose question has expired.
func TestSwapped(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	first := b.execute(id, ": ask; echo harmless")
	if _, err := b.store.Withdraw(t.Context(), first.ApprovalID, askingAgent, ""); err != nil {
		t.Fatal(err)
	}
	b.store.ends(t, first.CommandID, store.CommandDenied)
	second := b.execute(id, ": ask; echo harm")
	b.rests(id)
	if _, err := b.Approve(t.Context(), id, answerOf(approval.Approve), nil); kindOf(err) != Conflict {
		t.Errorf("an answer without an id is for the second question: %v", err)
	}
	e := answerOf(approval.Approve)
	e.ID = second.ApprovalID
	if r, err := b.Approve(t.Context(), id, e, nil); err != nil || !r.Executed {
		t.Errorf("%+v, %v", r, err)
	}
	b.store.ends(t, second.CommandID, store.CommandCompleted)
	b.execute(id, ": ask; echo again")
	b.rests(id)
	if r, err := b.Approve(t.Context(), id, answerOf(approval.Approve), nil); err != nil || !r.Executed {
		t.Errorf("%+v, %v", r, err)
	}
}

// rests has the question of a session be there for as long as an answer without an id
// needs it to be.
func (b *bench) rests(id string) {
	b.t.Helper()
	s, err := b.session(id)
	if err != nil {
		b.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at.asked = s.at.asked.Add(-deliberate)
}

// TestDoubleClick: a second answer without an id, meant for the question that the first
// one settled, is none to the next question; nor is that of somebody who looks at a
// question which another has answered.
func TestDoubleClick(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, ": ask; echo first")
	click := answerOf(approval.Approve)
	click.Credential = "laptop"
	if got, err := b.Approve(t.Context(), id, click, nil); err != nil || !got.Executed {
		t.Fatalf("%+v, %v", got, err)
	}
	b.store.ends(t, r.CommandID, store.CommandCompleted)
	r = b.execute(id, ": ask; echo second")
	if _, err := b.Approve(t.Context(), id, click, nil); kindOf(err) != Conflict {
		t.Fatalf("the second click: %v", err)
	}
	b.rests(id)
	elsewhere := click
	elsewhere.Credential = "phone"
	other := answerOf(approval.Approve)
	other.By.Name, other.Credential = "ben", "laptop"
	for _, e := range []approval.Event{elsewhere, other} {
		if _, err := b.Approve(t.Context(), id, e, nil); kindOf(err) != Conflict {
			t.Errorf("%s at the %s may look at the first question: %v", e.By.Name, e.Credential, err)
		}
	}
	if got, err := b.Approve(t.Context(), id, click, nil); err != nil || !got.Executed {
		t.Errorf("%+v, %v", got, err)
	}
	b.store.ends(t, r.CommandID, store.CommandCompleted)
	third := b.execute(id, ": ask; echo third")
	other.ID = third.ApprovalID
	if got, err := b.Approve(t.Context(), id, other, nil); err != nil || !got.Executed {
		t.Errorf("with the id, at once: %+v, %v", got, err)
	}
}

// TestDirectorySwapped: a command does not run where a link leads that has taken the
// place of its directory since it was shown.
func TestDirectorySwapped(t *testing.T) {
	b := newBench(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shown, other := filepath.Join(dir, "shown"), filepath.Join(dir, "other")
	if err := errors.Join(os.Mkdir(shown, 0o700), os.Mkdir(other, 0o700)); err != nil {
		t.Fatal(err)
	}
	info, err := b.Create(t.Context(), store.Session{AgentID: "bot", Dir: shown})
	if err != nil {
		t.Fatal(err)
	}
	r := b.execute(info.ID, ": ask; touch there")
	if err := errors.Join(os.Remove(shown), os.Symlink(other, shown)); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Approve(t.Context(), info.ID, answerOf(approval.Approve), nil); err != nil || got.Status != "error" || got.Executed {
		t.Errorf("%+v, %v", got, err)
	}
	b.store.ends(t, r.CommandID, store.CommandFailed)
	if left, _ := os.ReadDir(other); len(left) > 0 {
		t.Error("it ran elsewhere")
	}
	r = b.execute(info.ID, "touch there") // is decided where the link leads
	if c := b.store.ends(t, r.CommandID, store.CommandCompleted); c.Dir != other {
		t.Errorf("%+v", c)
	}
}

// TestShare: one agent takes no more than half of the sessions.
func TestShare(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Most = 5 })
	begin := func(owner string) (string, error) {
		info, err := b.Create(t.Context(), store.Session{AgentID: owner, Owner: owner, Dir: "/"})
		return info.ID, err
	}
	ids := make([]string, 3)
	for i := range ids {
		var err error
		if ids[i], err = begin("one"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := begin("one"); kindOf(err) != Limit || !strings.Contains(err.Error(), "this agent has 3 of the 5 sessions") {
		t.Errorf("a fourth session of five: %v", err)
	}
	for range 2 {
		if _, err := begin("two"); err != nil {
			t.Error(err)
		}
	}
	if _, err := begin("three"); kindOf(err) != Limit {
		t.Errorf("a sixth session: %v", err)
	}
	if err := b.CloseSession(t.Context(), ids[0], "done"); err != nil {
		t.Fatal(err)
	}
	if _, err := begin("one"); err != nil {
		t.Error(err)
	}
}

// TestTakeOver: what is pending is cancelled, and no answer takes the terminal back.
func TestTakeOver(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, ": ask; echo hello from it")
	h, err := b.Interrupt(t.Context(), id, "anna", false)
	if err != nil || h != (Handover{"success", "agent_control", "user_control", id}) {
		t.Fatalf("%+v, %v", h, err)
	}
	b.store.ends(t, r.CommandID, store.CommandCancelled)
	if s := b.store.entries[r.ApprovalID].Status; s != approval.Cancelled {
		t.Error(s)
	}
	e := answerOf(approval.Approve)
	e.ID, e.Digest = r.ApprovalID, r.Digest
	if _, err := b.Approve(t.Context(), id, e, nil); kindOf(err) != NoControl {
		t.Errorf("approved in user control: %v", err)
	}
	if info, _ := b.Get(id); info.State != userControl || info.Person != "anna" {
		t.Errorf("%+v", info)
	}
	if _, err := b.Execute(t.Context(), id, Request{Command: "echo x"}); kindOf(err) != NoControl || err.Error() != "Agent does not have control" {
		t.Error(err)
	}
	if _, err := b.Interrupt(t.Context(), id, "ben", false); kindOf(err) != Conflict {
		t.Error(err)
	}
	if err := b.Input(t.Context(), id, "ben", []byte("x"), false); kindOf(err) != NoControl {
		t.Error(err)
	}
	if h, err := b.Release(t.Context(), id, "anna", false); err != nil || h != (Handover{"success", "user_control", "agent_control", id}) {
		t.Errorf("%+v, %v", h, err)
	}
	if err := b.Input(t.Context(), id, "anna", []byte("x"), false); kindOf(err) != NoControl {
		t.Error(err)
	}
	if _, err := b.Release(t.Context(), id, "anna", false); kindOf(err) != NoControl {
		t.Error(err)
	}
	b.execute(id, "echo again")
	b.shows(id, "\r\nagain\r\n")
	if strings.Contains(b.store.chat(), "\nhello from it") {
		t.Error("it ran")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if want := []string{"terminal interrupt: anna has taken over terminal " + id, "terminal release: anna has released terminal " + id}; !slices.Equal(b.notes, want) {
		t.Errorf("%q", b.notes)
	}
}

// TestPersonsShell: what a person types runs without a question, and is in the history
// as the person's.
func TestPersonsShell(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	if _, err := b.Interrupt(t.Context(), id, "anna", false); err != nil {
		t.Fatal(err)
	}
	typing := func(text string) {
		t.Helper()
		if err := b.Input(t.Context(), id, "anna", []byte(text), false); err != nil {
			t.Fatal(err)
		}
	}
	typing("echo 1''2; cd /\r")
	b.shows(id, "\a12\r\n")
	typing("false\r")
	b.store.until(t, "two lines", func() bool { return len(b.store.commands) == 2 && b.store.commands[1].Exit != nil })
	b.store.mu.Lock()
	first, second := b.store.commands[0], b.store.commands[1]
	b.store.mu.Unlock()
	if first.Command != "echo 1''2; cd /" || first.By != "anna" || first.State != store.CommandCompleted || *first.Exit != 0 {
		t.Errorf("%+v", first)
	}
	if second.Command != "false" || *second.Exit != 1 || second.Dir != "/" {
		t.Errorf("%+v", second)
	}
	typing("stty -echo; echo no ech''o; read -r password; stty echo; sh -c 'echo jo''b; exec sleep 1000'\r")
	b.shows(id, "no echo\r\n")
	typing("hunter2\r")
	b.shows(id, "job\r\n")
	if _, err := b.Release(t.Context(), id, "anna", false); kindOf(err) != Conflict {
		t.Errorf("released with a job in the foreground: %v", err)
	}
	if err := b.Signal(t.Context(), id, "anna", "int"); err != nil {
		t.Error(err)
	}
	b.store.until(t, "the job's end", func() bool { return b.store.commands[2].State != store.CommandExecuting })
	if err := b.Resize(id, "anna", 100, 50); err != nil {
		t.Error(err)
	}
	typing("stty size\r")
	b.shows(id, "50 100")
	typing("sleep 999 &\r")
	b.store.until(t, "the last line's end", func() bool { return len(b.store.commands) == 5 && b.store.commands[4].Exit != nil })
	if _, err := b.Release(t.Context(), id, "anna", false); err != nil {
		t.Fatal(err)
	}
	if info, _ := b.Get(id); info.Dir != "/" {
		t.Errorf("the person's directory does not carry over: %s", info.Dir)
	}
	if said, err := os.ReadFile(filepath.Join(b.options.Private, id+"."+shellSaid)); err != nil || len(said) > 0 {
		t.Errorf("what was typed can be read: %q, %v", said, err)
	}
	if strings.Contains(b.store.chat(), "hunter2") {
		t.Error("what was typed without an echo is in the chat")
	}
	if _, err := b.Interrupt(t.Context(), id, "ben", false); err != nil {
		t.Error(err)
	}
}

// TestTakeOverRunning: what runs goes on with the person's keyboard; with signal it is
// ended.
func TestTakeOverRunning(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, "read -r x; echo \"got $x\"; read -r y; echo \"and $y\"")
	if _, err := b.Interrupt(t.Context(), id, "anna", false); err != nil {
		t.Fatal(err)
	}
	if err := b.Input(t.Context(), id, "anna", []byte("one\r"), false); err != nil {
		t.Fatal(err)
	}
	b.shows(id, "got one")
	if _, err := b.Release(t.Context(), id, "anna", false); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Execute(t.Context(), id, Request{Command: "echo x"}); kindOf(err) != Conflict {
		t.Errorf("a second command while one runs: %v", err)
	}
	if _, err := b.Interrupt(t.Context(), id, "anna", false); err != nil {
		t.Fatal(err)
	}
	if err := b.Input(t.Context(), id, "anna", []byte("two\r"), false); err != nil {
		t.Fatal(err)
	}
	b.shows(id, "and two")
	b.store.ends(t, r.CommandID, store.CommandCompleted)
	if err := b.Input(t.Context(), id, "anna", []byte("echo n''ow mine\r"), false); err != nil {
		t.Fatal(err)
	}
	b.shows(id, "\anow mine")
	if _, err := b.Release(t.Context(), id, "anna", true); err != nil {
		t.Fatal(err)
	}
	r = b.execute(id, "trap '' TERM; echo $$ runs; while :; do read -r; done")
	text := b.shows(id, " runs\r\n")
	if _, err := b.Interrupt(t.Context(), id, "anna", true); err != nil {
		t.Fatal(err)
	}
	if c := b.store.ends(t, r.CommandID, store.CommandFailed); *c.Exit != 137 {
		t.Errorf("%+v", c)
	}
	all := pids(t, text)
	if alive(all[len(all)-1]) {
		t.Error("it lives")
	}
}

// TestRestart: what was pending is pending again, with the same approval; what ran is
// unknown and does not run again.
func TestRestart(t *testing.T) {
	b := newBench(t)
	ran := filepath.Join(t.TempDir(), "ran")
	asked, runs, taken, other := b.begin(), b.begin(), b.begin(), b.begin()
	r := b.execute(asked, ": ask; echo approved later")
	changed := b.execute(other, ": ask; echo changed")
	if _, err := b.Interrupt(t.Context(), taken, "anna", false); err != nil {
		t.Fatal(err)
	}
	x := b.execute(runs, "echo once >>"+ran+"; echo begun; read -r x")
	b.shows(runs, "\r\nbegun")
	before, err := b.Get(runs)
	if err != nil || before.Since.IsZero() {
		t.Errorf("%+v, %v", before, err)
	}
	b.Close()
	b.store.ends(t, x.CommandID, store.CommandFailed) // the server ended in order
	b.store.mu.Lock()
	b.store.command(x.CommandID).State = store.CommandExecuting // as if it had been killed
	s := b.store.sessions[taken]
	s.State = userInterrupt
	b.store.sessions[taken] = s
	b.store.command(changed.CommandID).Command = "echo it is decided otherwise"
	b.store.mu.Unlock()

	b.open()
	b.store.ends(t, x.CommandID, store.CommandUnknown)
	b.shows(runs, "unknown")
	if after, err := b.Get(runs); err != nil || !after.Since.IsZero() || after.Stream == before.Stream {
		t.Errorf("%+v, %v", after, err)
	}
	b.store.ends(t, changed.CommandID, store.CommandCancelled)
	if info, err := b.Get(taken); err != nil || info.State != userControl || info.Person != "anna" {
		t.Errorf("%+v, %v", info, err)
	}
	if err := b.Input(t.Context(), taken, "ben", []byte("x"), false); kindOf(err) != NoControl {
		t.Errorf("another person after a restart: %v", err)
	}
	if _, err := b.Execute(t.Context(), taken, Request{Command: "echo x"}); kindOf(err) != NoControl {
		t.Error(err)
	}
	if err := b.Input(t.Context(), taken, "anna", []byte("echo st''ill\r"), false); err != nil {
		t.Error(err)
	}
	b.shows(taken, "\astill")
	b.waits(asked)
	e := answerOf(approval.Approve)
	e.ID, e.Digest = r.ApprovalID, r.Digest
	if got, err := b.Approve(t.Context(), asked, e, nil); err != nil || !got.Executed {
		t.Errorf("%+v, %v", got, err)
	}
	b.shows(asked, "\r\napproved later\r\n")
	if text, err := os.ReadFile(ran); string(text) != "once\n" {
		t.Errorf("%q, %v", text, err)
	}
	b.execute(runs, "echo next")
	b.shows(runs, "\r\nnext")
}

// waits waits until a session asks.
func (b *bench) waits(id string) {
	b.t.Helper()
	for {
		b.store.mu.Lock()
		change := b.store.change
		b.store.mu.Unlock()
		if info, err := b.Get(id); err != nil || info.Pending != nil {
			return
		}
		<-change
	}
}

// TestPolicyOverRestart: a question that would be another one is not the one that was
// answered.
func TestPolicyOverRestart(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, ": ask; echo x")
	b.Close()
	b.version = "2"
	b.open()
	b.store.until(t, "it is over", func() bool { return b.store.command(r.CommandID).State != store.CommandPending })
	if c := b.store.command(r.CommandID); c.State == store.CommandExecuting || c.State == store.CommandCompleted {
		t.Errorf("%+v", c)
	}
}

// TestClickOverRestart: an answer without an id, meant for a question from before a
// restart, is none to the first question after it.
func TestClickOverRestart(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, ": ask; echo shown")
	b.Close()
	b.version = "2" // the question goes away
	b.open()
	b.store.until(t, "it is over", func() bool { return b.store.command(r.CommandID).State != store.CommandPending })
	next := b.execute(id, ": ask; echo not shown")
	if _, err := b.Approve(t.Context(), id, answerOf(approval.Approve), nil); kindOf(err) != Conflict {
		t.Fatalf("who looks at the question of before: %v", err)
	}
	quoted := answerOf(approval.Approve)
	quoted.ID = next.ApprovalID
	if got, err := b.Approve(t.Context(), id, quoted, nil); err != nil || !got.Executed {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestClosed(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Most = 2 })
	id, other := b.begin(), b.begin()
	if _, err := b.Create(t.Context(), store.Session{Dir: "/"}); kindOf(err) != Limit {
		t.Error(err)
	}
	r := b.execute(id, "sleep 1000 & echo $! runs; wait")
	text := b.shows(id, " runs\r\n")
	v, err := b.Subscribe(id, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.CloseSession(t.Context(), id, "by hand"); err != nil {
		t.Fatal(err)
	}
	all := pids(t, text)
	gone(t, all[len(all)-1])
	b.store.ends(t, r.CommandID, store.CommandFailed)
	for err == nil {
		_, err = v.Next(t.Context())
	}
	if err.Error() != "EOF" {
		t.Error(err)
	}
	if _, err := b.Get(id); kindOf(err) != NotFound {
		t.Error(err)
	}
	asked := b.execute(other, ": ask")
	if err := b.CloseSession(t.Context(), other, "by hand"); err != nil {
		t.Fatal(err)
	}
	b.store.ends(t, asked.CommandID, store.CommandCancelled)
	if s := b.store.entries[asked.ApprovalID].Status; s != approval.Cancelled {
		t.Error(s)
	}
	if left, _ := os.ReadDir(b.options.Private); len(b.List()) != 0 || len(b.store.sessions) != 0 || len(left) != 0 {
		t.Errorf("sessions or files are left: %v", left)
	}
	if _, err := b.Create(t.Context(), store.Session{Dir: "here"}); kindOf(err) != Invalid {
		t.Error(err)
	}
}

// TestIdle: a session in which nothing happens is closed, one with a command is not.
func TestIdle(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Idle = 200 * time.Millisecond })
	quiet, busy := b.begin(), b.begin()
	b.execute(busy, ": ask")
	b.store.until(t, "the quiet one is closed", func() bool { _, there := b.store.sessions[quiet]; return !there })
	if _, err := b.Get(busy); err != nil {
		t.Error(err)
	}
}

// TestBrokenStore: what cannot be stored does not run, and a person takes over
// nevertheless.
func TestBrokenStore(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, ": ask; echo ran")
	b.store.mu.Lock()
	b.store.broken = errors.New("the disk is full")
	b.store.mu.Unlock()
	if _, err := b.Approve(t.Context(), id, answerOf(approval.Approve), nil); err == nil {
		t.Error("approved")
	}
	if _, err := b.Interrupt(t.Context(), id, "anna", false); err != nil {
		t.Error(err)
	}
	if info, _ := b.Get(id); info.State != userControl {
		t.Error(info.State)
	}
	b.store.mu.Lock()
	b.store.broken = nil
	b.store.mu.Unlock()
	if _, err := b.Release(t.Context(), id, "anna", false); err != nil {
		t.Error(err)
	}
	_ = r
}

// TestExecutingFirst: a command whose start cannot be stored does not run.
func TestExecutingFirst(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	ran := filepath.Join(t.TempDir(), "ran")
	r := b.execute(id, ": ask; echo >"+ran)
	b.store.mu.Lock()
	b.store.command(r.CommandID).State = store.CommandCancelled // by another server, say
	b.store.mu.Unlock()
	got, err := b.Approve(t.Context(), id, answerOf(approval.Approve), nil)
	if err != nil || got.Status != "error" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it ran")
	}
}

// TestHung: whoever waits for a decision can stop waiting, and it goes on.
func TestHung(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Execute(ctx, b.begin(), Request{Command: ": ask"}); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestAskedTwice: an answer that quotes nothing does not count for a question that has
// changed since it was first shown.
func TestAskedTwice(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	r := b.execute(id, ": ask twice")
	e := answerOf(approval.Approve)
	if _, err := b.Approve(t.Context(), id, e, nil); kindOf(err) != Conflict {
		t.Errorf("answered, and asked again: %v", err)
	}
	if _, err := b.Approve(t.Context(), id, e, nil); kindOf(err) != Conflict {
		t.Errorf("without an id: %v", err)
	}
	e.ID, e.Digest = r.ApprovalID, r.Digest
	if _, err := b.Approve(t.Context(), id, e, nil); kindOf(err) != Conflict {
		t.Errorf("the first question: %v", err)
	}
	info, err := b.Get(id)
	if err != nil || info.Pending == nil {
		t.Fatal(info, err)
	}
	e.ID, e.Digest = info.Pending.ApprovalID, info.Pending.Digest
	if got, err := b.Approve(t.Context(), id, e, nil); err != nil || !got.Executed {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestStopped: a server that stops uses up no approval and withdraws no question,
// whatever its asker does.
func TestStopped(t *testing.T) {
	var broker approval.Broker
	b := newBench(t, func(o *Options) {
		inner := o.Approver
		o.Approver = func(s store.Session, b approval.Broker) permission.Approver {
			broker = b
			return inner(s, b)
		}
	})
	r := b.execute(b.begin(), ": ask")
	b.Close()
	if _, err := broker.Withdraw(t.Context(), r.ApprovalID, askingAgent, "the server stops"); err != nil {
		t.Error(err)
	}
	e := answerOf(approval.Approve)
	e.ID, e.Digest = r.ApprovalID, r.Digest
	if _, err := b.store.Answer(t.Context(), e, nil); err != nil {
		t.Errorf("the question is gone: %v", err)
	}
	if _, err := broker.Consume(t.Context(), r.ApprovalID, r.Digest); err == nil {
		t.Error("used up")
	}
	b.open()
	b.store.ends(t, r.CommandID, store.CommandCompleted)
}

// TestNeverAsked: what was not decided when the server ended is asked about, and does
// not run behind the agent's back.
func TestNeverAsked(t *testing.T) {
	b := newBench(t)
	id := b.begin()
	b.Close()
	ran := filepath.Join(t.TempDir(), "ran")
	c := store.Command{ID: "command-1", SessionID: id, Command: "echo >" + ran, Dir: "/", By: "agent", State: store.CommandPending}
	if err := b.store.CreateCommand(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.store.ends(t, c.ID, store.CommandCancelled)
	if _, err := os.Stat(ran); err == nil {
		t.Error("it ran")
	}
	b.execute(id, "echo next")
	b.shows(id, "\r\nnext")
	b.Close()
	c.ID, c.Command = "command-2", ": ask"
	if err := b.store.CreateCommand(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.waits(id)
	if info, err := b.Get(id); err != nil || info.Pending == nil || info.Pending.CommandID != c.ID {
		t.Errorf("%+v, %v", info, err)
	}
}
