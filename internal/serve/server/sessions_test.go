package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// parties are a server with an agent and two people.
type parties struct {
	*harness
	agent, ann, ben string // secrets
}

func meet(t *testing.T, o Options) *parties {
	t.Helper()
	p := &parties{harness: listen(t, o)}
	p.agent, _ = p.token(RoleAgent, "chat", "bot")
	p.ann, _ = p.token(RolePerson, "", "ann")
	p.ben, _ = p.token(RolePerson, "", "ben")
	return p
}

// post does a request and decodes the answer, which has to have a status.
func (h *harness) post(path, secret, body string, status int) map[string]any {
	h.t.Helper()
	r := h.do("POST", path, secret, body)
	if r.status != status {
		h.t.Fatalf("POST %s %s: got %d, want %d: %s", path, body, r.status, status, r.body)
	}
	return object(h.t, r)
}

func (h *harness) get(path, secret string) map[string]any {
	h.t.Helper()
	r := h.do("GET", path, secret, "")
	if r.status != 200 {
		h.t.Fatalf("GET %s: %d %s", path, r.status, r.body)
	}
	return object(h.t, r)
}

func object(t testing.TB, r reply) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(r.body), &out); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
	return out
}

// begin begins a session and returns its path.
func (p *parties) begin() string {
	p.t.Helper()
	return sessionsPath + "/" + p.post(sessionsPath, p.agent, `{"conversation_id":"talk"}`, 200)["session_id"].(string)
}

// execute has a command decided.
func (p *parties) execute(session, command string) map[string]any {
	p.t.Helper()
	return p.post(session+"/execute", p.agent, `{"command":`+quote(command)+`,"description":"why not"}`, 200)
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// same compares fields of an answer.
func same(t testing.TB, got map[string]any, want ...any) {
	t.Helper()
	for i := 0; i < len(want); i += 2 {
		if got[want[i].(string)] != want[i+1] {
			t.Errorf("%s is %v, want %v, in %v", want[i], got[want[i].(string)], want[i+1], got)
		}
	}
}

// TestSessionFields: a session has the fields of the document, and begins under the
// agent's control (S4-01, S4-23, S4-41, S4-x1).
func TestSessionFields(t *testing.T) {
	p := meet(t, Options{})
	got := p.post(sessionsPath, p.agent, `{"agent_role":"CHAT_AGENT","conversation_id":"talk","host":"frontend","metadata":{"a":1}}`, 200)
	for _, field := range []string{"session_id", "agent_id", "agent_role", "conversation_id", "host", "state", "pending_approval", "pty_session_id", "metadata"} {
		if _, ok := got[field]; !ok {
			t.Errorf("%s is missing", field)
		}
	}
	same(t, got, "status", "created", "agent_id", "bot", "agent_role", "chat", "host", "frontend", "state", "agent_control", "pending_approval", nil)
	same(t, p.post(sessionsPath, p.agent, `{}`, 200), "host", "main")
	list := p.get(sessionsPath+"?conversation_id=talk&agent_id=bot", p.ann)
	same(t, list, "status", "success", "total", 1.0)
	session := sessionsPath + "/" + got["session_id"].(string)
	if p.get(session, p.agent)["session_id"] != got["session_id"] {
		t.Error("it cannot be read")
	}
	p.want(p.do("POST", sessionsPath, p.agent, `{"agent_role":"wizard"}`), 400, "invalid_agent_role")
	p.want(p.do("DELETE", session, p.agent, ""), 200, "")
	p.want(p.do("GET", session, p.agent, ""), 404, "session_not_found")
}

// TestExecute: what is safe runs, what is moderate or high is asked about, what is
// forbidden is blocked (S4-02 to S4-16, S4-30 to S4-33).
func TestExecute(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	got := p.execute(session, "ls -la")
	same(t, got, "status", "executed", "command", "ls -la", "session_id", strings.TrimPrefix(session, sessionsPath+"/"))

	p.finished(got)
	got = p.execute(session, "rm -rf /")
	same(t, got, "status", "forbidden", "risk", "forbidden", "message", "Command is forbidden and cannot be executed")
	if got["reasons"] == nil || !strings.Contains(p.logs.text(), "SECURITY: Blocked forbidden command") {
		t.Errorf("%v, %s", got, p.logs.text())
	}
	got = p.execute(session, "sudo apt install nginx")
	same(t, got, "status", "approval_required", "risk", "high", "command", "sudo apt install nginx")
	if got["warning"] == "" || got["reasons"] == nil || got["approval_id"] == nil {
		t.Errorf("%v", got)
	}
	pending := p.get(session+"/pending", p.ann)["pending_approval"].(map[string]any)
	same(t, pending, "command", "sudo apt install nginx", "description", "why not", "risk", "high")
	if pending["timestamp"] == nil || pending["digest"] == nil {
		t.Errorf("%v", pending)
	}
	p.want(p.do("POST", session+"/execute", p.agent, `{"command":"ls"}`), 409, "conflict")
	same(t, p.post(session+"/approve", p.ann, `{"approved":false,"user_id":"ann","comment":"Too risky"}`, 200), "status", "denied")
	if p.get(session+"/pending", p.ann)["pending_approval"] != nil {
		t.Error("it is pending still")
	}

	got = p.execute(session, "chmod 777 file.txt")
	same(t, got, "status", "approval_required", "risk", "moderate")
	p.want(p.do("POST", session+"/approve", p.ann, `{"approved":true}`), 409, "conflict") // a second click on the first
	got = p.post(session+"/approve", p.ann, `{"approved":true,"approval_id":`+quote(got["approval_id"].(string))+`}`, 200)
	same(t, got, "status", "approved", "command", "chmod 777 file.txt", "executed", true)
	p.finished(got)
	history := p.get(session+"/history", p.agent)["commands"].([]any)
	var states []string
	for _, c := range history {
		states = append(states, c.(map[string]any)["status"].(string))
	}
	if strings.Join(states, " ") != "completed forbidden denied completed" {
		t.Errorf("%v", states)
	}
}

// finished waits for the end of a command.
func (p *parties) finished(c map[string]any) map[string]any {
	p.t.Helper()
	for {
		got := p.get("/api/agent-terminal/commands/"+c["command_id"].(string), p.ann)
		if got["status"] != "executing" && got["status"] != "approved" && got["status"] != "pending_approval" {
			return got
		}
	}
}

// TestForceApproval: it has a person asked even about what is safe, and makes nothing
// approvable that is forbidden (S4-09).
func TestForceApproval(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	got := p.post(session+"/execute", p.agent, `{"command":"ls","force_approval":true}`, 200)
	same(t, got, "status", "approval_required")
	p.finished(p.post(session+"/approve", p.ann, `{"approved":true}`, 200))
	got = p.post(session+"/execute", p.agent, `{"command":"mkfs /dev/sda","force_approval":true}`, 200)
	same(t, got, "status", "forbidden")
}

// TestUnknownSession: S4-05.
func TestUnknownSession(t *testing.T) {
	p := meet(t, Options{})
	r := p.do("POST", sessionsPath+"/nothing/execute", p.agent, `{"command":"ls"}`)
	p.want(r, 404, "session_not_found")
	if !strings.Contains(r.body, "Session not found: nothing") {
		t.Errorf("%s", r.body)
	}
}

// TestTakeover: a person takes the terminal, and the agent has none until it is
// released; what waited is cancelled, and an approval of it has no effect (S4-06, S4-21
// to S4-26; fault 4).
func TestTakeover(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	id := strings.TrimPrefix(session, sessionsPath+"/")
	asked := p.execute(session, "chmod 777 file.txt")
	same(t, p.post(session+"/interrupt", p.ann, `{"user_id":"ann"}`, 200),
		"status", "success", "previous_state", "agent_control", "new_state", "user_control", "session_id", id)
	same(t, p.get(session+"/state", p.agent), "state", "user_control", "person", "ann")
	same(t, p.finished(asked), "status", "cancelled")
	r := p.do("POST", session+"/execute", p.agent, `{"command":"ls"}`)
	p.want(r, 403, "user_has_control")
	if !strings.Contains(r.body, "Agent does not have control") {
		t.Errorf("%s", r.body)
	}
	r = p.do("POST", session+"/approve", p.ann, `{"approved":true,"approval_id":`+quote(asked["approval_id"].(string))+`}`)
	if r.status != 403 && r.status != 409 {
		t.Errorf("%d %s", r.status, r.body)
	}
	same(t, p.get(session+"/state", p.agent), "state", "user_control")
	p.want(p.do("POST", session+"/interrupt", p.ben, `{}`), 409, "conflict")
	same(t, p.post(session+"/release", p.ann, `{}`, 200), "new_state", "agent_control")
	same(t, p.execute(session, "ls"), "status", "executed")
	if _, err := os.Stat(filepath.Join(p.options.Workspace, "file.txt")); err == nil {
		t.Error("something ran")
	}
}

// TestChat: the terminal's output is in the conversation (S4-20).
func TestChat(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	p.finished(p.execute(session, "echo hello from the terminal"))
	for {
		list := p.get(session+"/chat", p.agent)
		messages := list["messages"].([]any)
		if len(messages) == 0 {
			continue
		}
		first := messages[0].(map[string]any)
		same(t, first, "sender", "terminal", "message_type", "terminal_output")
		same(t, list, "conversation_id", "talk")
		if _, told := list["last"]; told {
			t.Error("an agent is told how long the conversation is")
		}
		if last, _ := p.get(session+"/chat?limit=1", p.ann)["last"].(float64); last < float64(len(messages)) {
			t.Errorf("the last of at least %d is %v", len(messages), last)
		}
		if strings.HasPrefix(first["text"].(string), "[TERMINAL] ") {
			return
		}
		t.Fatalf("%v", first)
	}
}

// TestChatOfSession: an agent is told what its session wrote, however much others of the
// conversation have written before; people are told all.
func TestChatOfSession(t *testing.T) {
	p := meet(t, Options{})
	one, two := p.begin(), p.begin()
	entry := func(session string) store.Chat {
		return store.Chat{ConversationID: "talk", SessionID: strings.TrimPrefix(session, sessionsPath+"/"), Sender: "terminal", Type: "terminal_output"}
	}
	if _, err := p.options.Store.AppendChat(t.Context(), entry(one), entry(one), entry(two)); err != nil {
		t.Fatal(err)
	}
	messages := p.get(two+"/chat?limit=1", p.agent)["messages"].([]any)
	if len(messages) != 1 || messages[0].(map[string]any)["seq"] != 3.0 {
		t.Errorf("%v", messages)
	}
	if all := p.get(two+"/chat", p.ann)["messages"].([]any); len(all) != 3 {
		t.Errorf("%v", all)
	}
}

// TestRevokedCommand: a command of an agent whose credential is revoked waits no more, and
// no answer has it run; that of another credential of the agent waits on.
func TestRevokedCommand(t *testing.T) {
	p := meet(t, Options{})
	root, _ := p.token(RoleAdmin, "", "root")
	stolen, id := p.token(RoleAgent, "chat", "bot")
	mine, theirs := p.begin(), p.begin()
	waits := p.execute(mine, "chmod 600 file.txt")
	asked := p.post(theirs+"/execute", stolen, `{"command":"chmod 777 file.txt"}`, 200)
	p.want(p.do("POST", "/api/tokens/"+id+"/revoke", root, ""), 200, "")
	if r := p.do("POST", theirs+"/approve", p.ann, `{"approved":true}`); r.status == 200 {
		t.Errorf("the answer counts: %s", r.body)
	}
	command := "/api/agent-terminal/commands/" + asked["command_id"].(string)
	for end := time.Now().Add(20 * time.Second); p.get(command, p.ann)["status"] == "pending_approval"; {
		if time.Now().After(end) {
			t.Fatal("it waits still")
		}
	}
	if got := p.get(command, p.ann); got["status"] != "cancelled" && got["status"] != "failed" || got["exit_code"] != nil {
		t.Errorf("%v", got)
	}
	if got := p.get("/api/approvals/"+asked["approval_id"].(string), p.ann)["status"]; got == "pending" {
		t.Errorf("its question is %v", got)
	}
	p.finished(p.post(mine+"/approve", p.ann, `{"approved":true,"approval_id":`+quote(waits["approval_id"].(string))+`}`, 200))
}

// TestRevokedWithdrawn: nobody has to answer for that.
func TestRevokedWithdrawn(t *testing.T) {
	p := meet(t, Options{})
	root, _ := p.token(RoleAdmin, "", "root")
	stolen, id := p.token(RoleAgent, "chat", "bot")
	asked := p.post(p.begin()+"/execute", stolen, `{"command":"chmod 777 file.txt"}`, 200)
	p.want(p.do("POST", "/api/tokens/"+id+"/revoke", root, ""), 200, "")
	question := "/api/approvals/" + asked["approval_id"].(string)
	for end := time.Now().Add(20 * time.Second); p.get(question, p.ann)["status"] == "pending"; {
		if time.Now().After(end) {
			t.Fatal("its question waits still")
		}
	}
	same(t, p.get(question, p.ann), "status", "cancelled")
	same(t, p.get("/api/agent-terminal/commands/"+asked["command_id"].(string), p.ann), "status", "cancelled")
}

// TestWhoAnswers: who approves, takes over or releases is the owner of the credential,
// never an agent, and another name in the body is refused (faults 1, 2 and 19).
func TestWhoAnswers(t *testing.T) {
	p := meet(t, Options{})
	other, _ := p.token(RoleAgent, "admin", "other")
	session := p.begin()
	got := p.execute(session, "chmod 777 file.txt")
	for _, path := range []string{"/approve", "/interrupt", "/release"} {
		p.want(p.do("POST", session+path, p.agent, `{"approved":true}`), 403, "insufficient_permissions")
		p.want(p.do("POST", session+path, other, `{"approved":true}`), 403, "insufficient_permissions")
	}
	for _, body := range []string{`{"approved":true,"user_id":"current_user"}`, `{"approved":true,"user_id":"ben"}`} {
		p.want(p.do("POST", session+"/approve", p.ann, body), 403, "other_user")
	}
	p.want(p.do("POST", session+"/approve", p.ann, `{"approved":true,"approval_id":"another"}`), 409, "conflict")
	p.want(p.do("POST", session+"/approve", p.ann, `{"approved":true,"digest":"1:00"}`), 409, "conflict")
	for _, path := range []string{"", "/history", "/state", "/pending", "/chat"} {
		p.want(p.do("GET", session+path, other, ""), 404, "session_not_found")
	}
	p.want(p.do("POST", session+"/execute", other, `{"command":"ls"}`), 404, "session_not_found")
	p.want(p.do("DELETE", session, other, ""), 404, "session_not_found")
	p.want(p.do("GET", "/api/agent-terminal/commands/"+got["command_id"].(string), other, ""), 404, "command_not_found")
	p.want(p.do("GET", "/api/approvals/"+got["approval_id"].(string), other, ""), 404, "approval_not_found")
	same(t, p.get(sessionsPath, other), "total", 0.0)
	p.want(p.do("POST", sessionsPath, p.agent, `{"agent_role":"admin"}`), 403, "insufficient_permissions")
	p.want(p.do("POST", sessionsPath, p.agent, `{"agent_id":"other"}`), 403, "other_agent")
	p.want(p.do("POST", sessionsPath, p.agent, `{"dir":"/etc"}`), 400, "bad_request")
	for _, body := range []string{`{"agent_id":"bot/\u0000"}`, `{"conversation_id":"a\u001b[2J"}`, `{"host":"a\u202eb"}`} {
		p.want(p.do("POST", sessionsPath, p.agent, body), 400, "bad_request")
	}
	same(t, p.post(sessionsPath, p.agent, `{"agent_id":"bot/zwei","conversation_id":"Gespräch 1"}`, 200), "status", "created")
	same(t, p.post(session+"/approve", p.ben, `{"approved":true,"user_id":"ben"}`, 200), "executed", true)
	p.want(p.do("POST", session+"/approve", p.ann, `{"approved":true}`), 409, "conflict") // a second time
}

// TestCommandBytes: what would run otherwise than it is shown does not run (fault 12).
func TestCommandBytes(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	got := p.execute(session, "echo one\x03; touch two")
	if got["status"] == "executed" {
		t.Errorf("%v", got)
	}
	p.want(p.do("POST", session+"/approve", p.ann, `{"approved":false}`), 200, "")
	if _, err := os.Stat(filepath.Join(p.options.Workspace, "two")); err == nil {
		t.Error("it ran")
	}
}

// TestDeleteTaken: an agent does not end the session of which a person has the terminal.
func TestDeleteTaken(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	p.post(session+"/interrupt", p.ann, `{}`, 200)
	p.want(p.do("DELETE", session, p.agent, ""), 403, "user_has_control")
	p.post(session+"/release", p.ann, `{}`, 200)
	p.want(p.do("DELETE", session, p.agent, ""), 200, "")
}
