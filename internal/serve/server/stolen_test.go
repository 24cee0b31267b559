package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// stolen are what an agent has, and the token of another one.
type stolen struct {
	*parties
	thief string            // the token
	ids   map[string]string // of the agent's things, by the beginning of a path
	marks []string          // what only the agent may see
}

func steal(t *testing.T) *stolen {
	t.Helper()
	p := meet(t, Options{})
	s := &stolen{parties: p}
	var token string
	s.thief, token = p.token(RoleAgent, "admin", "thief")
	session := p.begin()
	p.finished(p.execute(session, "echo mark-of''-output"))
	command := p.execute(session, "chmod 600 mark-of-command")
	p.leased("mark-of-approval")
	decision := p.post("/api/decisions", p.agent, bash("chmod 600 mark-of-decision"), 200)["approval_id"].(string)
	i := p.get(session, p.agent)
	taped := p.recordingsOf(session)[0]["id"].(string)
	s.ids = map[string]string{
		"/api/recordings/": taped,
		sessionsPath + "/": i["session_id"].(string), "/api/terminal/ws/": i["pty_session_id"].(string), "/api/agent-terminal/commands/": command["command_id"].(string),
		"/api/approvals/": "mark-of-approval", "/api/decisions/": decision, "/api/rules/": "g", "/api/tokens/": token,
	}
	s.marks = []string{"mark-of", decision, i["session_id"].(string), i["pty_session_id"].(string)}
	for path, mark := range map[string]string{sessionsPath: s.marks[2], session + "/chat": "mark-of-output", "/api/approvals": decision} {
		if own := s.do("GET", path, s.agent, "").body; !strings.Contains(own, mark) {
			t.Fatalf("the agent itself does not see %s: %s", mark, own)
		}
	}
	return s
}

// path returns the path of a route to what the agent has.
func (s *stolen) path(rt *route) string {
	before, after, more := strings.Cut(rt.path, "{")
	if !more {
		return rt.path
	}
	id := s.ids[before]
	if id == "" {
		s.t.Fatalf("%s: nothing of the agent's stands there", rt.path)
	}
	_, after, _ = strings.Cut(after, "}")
	return before + id + after
}

// body returns a body that the route takes. It names what is the agent's where it can.
func (s *stolen) body(rt *route) string {
	switch {
	case rt.method != http.MethodPost:
		return ""
	case rt.path == sessionsPath:
		return `{"conversation_id":"talk"}`
	case rt.path == "/api/approvals":
		return `{"id":"mark-of-approval","digest":"1:d","project":"/w","session":"s","question":{"id":"mark-of-approval","digest":"1:d"}}`
	case rt.path == "/api/decisions":
		return `{"tool":"Bash","input":{"command":"ls"},"session":"s"}`
	case strings.HasSuffix(rt.path, "/execute"):
		return `{"command":"touch stolen"}`
	case strings.HasSuffix(rt.path, "/consume"):
		return `{"digest":"1:d"}`
	}
	return `{}`
}

// shows reports what of the agent's an answer shows.
func (s *stolen) shows(what, text string) {
	s.t.Helper()
	for _, mark := range s.marks {
		if strings.Contains(text, mark) {
			s.t.Errorf("%s: it shows %s: %s", what, mark, text)
		}
	}
}

// TestStolenToken: with an agent's token no route does what is for people, or tells or
// does anything of another agent.
func TestStolenToken(t *testing.T) {
	s := steal(t)
	for _, rt := range routes() {
		if rt.access == anyone || rt.stream != nil && !strings.Contains(rt.path, "{") {
			continue
		}
		what := rt.method + " " + rt.path
		r := s.do(rt.method, s.path(&rt), s.thief, s.body(&rt))
		switch {
		case rt.access&agents == 0:
			s.want(r, http.StatusForbidden, "insufficient_permissions")
		case strings.Contains(rt.path, "{") && r.status != http.StatusNotFound && r.status != http.StatusForbidden:
			t.Errorf("%s: %d %s", what, r.status, r.body)
		case r.status >= 500:
			t.Errorf("%s: %d %s", what, r.status, r.body)
		}
		_, named, _ := strings.Cut(s.path(&rt), strings.SplitN(rt.path, "{", 2)[0]) // an error may name what was asked for
		id, _, _ := strings.Cut(named, "/")
		if id != "" && r.status != http.StatusOK {
			r.body = strings.ReplaceAll(r.body, id, "")
		}
		s.shows(what, r.body)
	}
	for _, path := range []string{sessionsPath + "?agent_id=bot", sessionsPath + "?conversation_id=talk", "/api/approvals?session=s", "/api/approvals?status=pending&project=/w"} {
		s.shows(path, s.do("GET", path, s.thief, "").body)
	}
	// The same conversation, of a session of its own.
	s.want(s.do("POST", sessionsPath, s.thief, `{"conversation_id":"talk"}`), 403, "other_agent")
	same(t, s.get(sessionsPath, s.thief), "total", 0.0)
	own := sessionsPath + "/" + s.post(sessionsPath, s.thief, `{"conversation_id":"another"}`, 200)["session_id"].(string)
	for _, path := range []string{"", "/chat", "/history", "/pending", "/state"} {
		s.shows(path, s.do("GET", own+path, s.thief, "").body)
	}
	events := s.dial("/api/events", s.thief)
	for text := ""; !strings.Contains(text, `"current"`); s.shows("/api/events", text) {
		_, data, err := events.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	s.status("mark-of-approval", "pending")
	s.status(s.ids["/api/decisions/"], "pending")
	if got := s.get("/api/agent-terminal/commands/"+s.ids["/api/agent-terminal/commands/"], s.agent)["status"]; got != "pending_approval" {
		t.Errorf("the command is %v", got)
	}
}

// TestStolenTokenTypes: whatever an agent sends to a terminal of its own but a ping ends
// the stream.
func TestStolenTokenTypes(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	for _, message := range []string{
		`{"type":"input","content":"x\n"}`, `{"type":"terminal_stdin","content":"x\n","is_password":true}`, `{"type":"resize","cols":100,"rows":40}`,
		`{"type":"signal","signal":"SIGINT"}`, `{"type":"workflow_control","action":"pause"}`, `{"type":"workflow_control","action":"resume"}`, `{"type":"approve"}`,
	} {
		v := p.watch(session, p.agent, "")
		v.say(message)
		if m := v.read("security_warning"); m.Code != "insufficient_permissions" {
			t.Errorf("%s: %+v", message, m)
		}
		if code := v.gone(); code != websocket.StatusPolicyViolation {
			t.Errorf("%s: %v", message, code)
		}
	}
	if got := p.get(session+"/state", p.ann)["state"]; got != "agent_control" {
		t.Errorf("the terminal is in %v", got)
	}
}
