package server

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
)

// TestAutoApprove: "and from now on" keeps exactly what was asked about, until it is
// revoked; what is high is never kept (S4-34).
func TestAutoApprove(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	asked := p.execute(session, "chmod 600 file.txt")
	same(t, asked, "status", "approval_required")
	p.finished(p.post(session+"/approve", p.ann, `{"approved":true,"auto_approve_future":true}`, 200))
	p.finished(p.execute(session, "chmod 600 file.txt"))
	same(t, p.post("/api/decisions", p.agent, bash("chmod 600 file.txt"), 200), "behavior", "allow")
	same(t, p.post("/api/decisions", p.agent, bash("chmod 600 other.txt"), 200), "behavior", "ask")

	rules := p.get("/api/rules", p.ann)["rules"].([]any)
	if len(rules) != 1 {
		t.Fatalf("%v", rules)
	}
	rule := rules[0].(map[string]any)
	same(t, rule, "person", "ann", "project", p.options.Workspace, "rule", "Bash(chmod 600 file.txt)")
	if rule["expires"] == nil {
		t.Error("it has no end")
	}
	if others := p.get("/api/rules", p.ben)["rules"].([]any); len(others) != 0 {
		t.Errorf("%v", others)
	}
	revoke := "/api/rules/" + rule["id"].(string) + "/revoke"
	p.want(p.do("POST", revoke, p.ben, ""), 404, "not_found")
	p.want(p.do("POST", revoke, p.agent, ""), 403, "insufficient_permissions")
	p.want(p.do("POST", revoke, p.ann, ""), 200, "")
	got := p.execute(session, "chmod 600 file.txt")
	same(t, got, "status", "approval_required")
	p.post(session+"/approve", p.ann, `{"approved":false,"approval_id":`+quote(got["approval_id"].(string))+`}`, 200)

	same(t, p.execute(session, "sudo ls"), "status", "approval_required")
	p.want(p.do("POST", session+"/approve", p.ann, `{"approved":true,"auto_approve_future":true}`), 400, "not_offered")
	if p.get(session+"/pending", p.ann)["pending_approval"] == nil {
		t.Error("the command waits no more")
	}
}

// TestAutoApproveOfAnother: an answer to one question keeps nothing of another one, and is
// not judged by it.
func TestAutoApproveOfAnother(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	first := p.execute(session, "chmod 600 file.txt")
	id := quote(first["approval_id"].(string))
	digest := quote(p.get("/api/approvals/"+first["approval_id"].(string), p.ann)["digest"].(string))
	p.post(session+"/approve", p.ann, `{"approved":false,"approval_id":`+id+`}`, 200)
	for _, next := range []string{"chmod 600 other.txt", "sudo ls"} { // the second could not be kept
		waits := p.execute(session, next)["approval_id"].(string)
		for _, named := range []string{`"approval_id":` + id, `"digest":` + digest} {
			p.want(p.do("POST", session+"/approve", p.ann, `{"approved":true,"auto_approve_future":true,`+named+`}`), 409, "conflict")
		}
		p.post(session+"/approve", p.ann, `{"approved":false,"approval_id":`+quote(waits)+`}`, 200)
	}
	if rules := p.get("/api/rules", p.ann)["rules"].([]any); len(rules) != 0 {
		t.Errorf("%v", rules)
	}
}

// TestAutoApproveNamesItsQuestion: what is kept is of the question that the answer names
// from then on, so that it does not count for one that comes in between.
func TestAutoApproveNamesItsQuestion(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	id := p.execute(session, "chmod 600 file.txt")["approval_id"].(string)
	v := verdict{Approved: true, AutoApproveFuture: true}
	kept, err := p.remember(strings.TrimPrefix(session, sessionsPath+"/"), &v, "ann")
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v, %v", kept, err)
	}
	if want := p.get("/api/approvals/"+id, p.ann)["digest"]; v.Digest != want {
		t.Errorf("%q, want %q", v.Digest, want)
	}
}

// TestRevokedPersonsRules: what somebody had remembered ends with the credential.
func TestRevokedPersonsRules(t *testing.T) {
	p := meet(t, Options{})
	session := p.begin()
	eve, id := p.token(RolePerson, "", "eve")
	p.execute(session, "chmod 600 file.txt")
	p.finished(p.post(session+"/approve", eve, `{"approved":true,"auto_approve_future":true}`, 200))
	same(t, p.post("/api/decisions", p.agent, bash("chmod 600 file.txt"), 200), "behavior", "allow")
	p.want(p.do("POST", "/api/tokens/"+id+"/revoke", eve, ""), 200, "")
	if err := p.lookAtGrants(t.Context()); err != nil { // as every second
		t.Fatal(err)
	}
	same(t, p.post("/api/decisions", p.agent, bash("chmod 600 file.txt"), 200), "behavior", "ask")
}

// TestOthersRules: what somebody had remembered who may answer no more counts no more.
func TestOthersRules(t *testing.T) {
	for people, want := range map[string]string{"ann": "allow", "ben": "ask"} {
		dir := workspace(t)
		p := meet(t, Options{Workspace: dir, Open: opener(t, dir, "[approvals]\npeople = [\""+people+"\"]\n")})
		p.get("/api/rules", p.ann) // has the server look at the credentials
		now := time.Now()
		if err := p.keep(t.Context(), []approval.Grant{{
			Person: "ann", Project: p.options.Workspace, Rule: "Bash(chmod 600 file.txt)", Risk: "moderate", Created: now, Expires: now.Add(time.Hour),
		}}); err != nil {
			t.Fatal(err)
		}
		same(t, p.post("/api/decisions", p.agent, bash("chmod 600 file.txt"), 200), "behavior", want)
	}
}

// TestQuorum: what several have to approve, one person does not, twice or for all time.
func TestQuorum(t *testing.T) {
	dir := workspace(t)
	p := meet(t, Options{Workspace: dir, Open: opener(t, dir, "[approvals]\nquorum.moderate = 2\n")})
	session := p.begin()
	asked := p.execute(session, "chmod 600 file.txt")
	same(t, p.post(session+"/approve", p.ann, `{"approved":true,"auto_approve_future":true}`, 200),
		"status", "approval_required", "executed", nil, "message", "1 of 2 people have approved it")
	again, _ := p.token(RolePerson, "", "ann")
	p.want(p.do("POST", session+"/approve", again, `{"approved":true}`), 409, "voted_already")
	same(t, p.finishedOr(asked), "status", "pending_approval")
	same(t, p.post(session+"/approve", p.ben, `{"approved":true}`, 200), "executed", true)
	p.finished(asked)
	same(t, p.execute(session, "chmod 600 file.txt"), "status", "approval_required")
}

// finishedOr returns a command as it is.
func (p *parties) finishedOr(c map[string]any) map[string]any {
	p.t.Helper()
	return p.get("/api/agent-terminal/commands/"+c["command_id"].(string), p.ann)
}

// TestAudit: every command is in the record, with who answered, and the record is whole
// (S4-29, S4-40).
func TestAudit(t *testing.T) {
	dir, state := workspace(t), t.TempDir()
	record := filepath.Join(state, "audit.jsonl")
	o := Options{Workspace: dir, Record: record}
	o.Open = func(agent, role string, warn func(string)) (*engine.Engine, error) {
		return engine.Open(engine.Options{Dir: dir, Dirs: &engine.Dirs{State: state}, Isolated: true, Settings: terminalProfile(t, ""), NoAdvice: true, Record: record, Warn: warn})
	}
	p := meet(t, o)
	if lines := p.get("/api/audit", p.ann)["lines"].([]any); len(lines) != 0 {
		t.Errorf("%v", lines)
	}
	session := p.begin()
	p.execute(session, "chmod 600 file.txt")
	p.finished(p.post(session+"/approve", p.ann, `{"approved":true,"comment":"fine"}`, 200))
	p.execute(session, "rm -rf /")
	id := strings.TrimPrefix(session, sessionsPath+"/")
	got := p.get("/api/audit?kind=decision&session="+id, p.ann)
	lines := got["lines"].([]any)
	if len(lines) != 2 {
		t.Fatalf("%v", lines)
	}
	same(t, lines[0].(map[string]any), "behavior", "allow", "by", "person", "risk", "moderate", "session", id)
	same(t, lines[1].(map[string]any), "behavior", "deny")
	first := p.get("/api/audit?kind=decision&limit=1", p.ann)
	if len(first["lines"].([]any)) != 1 {
		t.Errorf("%v", first)
	}
	rest := p.get("/api/audit?kind=decision&behavior=deny&since=2020-01-01T00:00:00Z", p.ann)["lines"].([]any)
	if len(rest) != 1 {
		t.Errorf("%v", rest)
	}
	p.want(p.do("GET", "/api/audit", p.agent, ""), 403, "insufficient_permissions")
	p.want(p.do("GET", "/api/audit?since=yesterday", p.ann, ""), 400, "bad_request")
	head, err := engine.Dirs{State: state}.Head(record)
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(record, head, "")
	if err != nil || len(report.Faults) > 0 {
		t.Errorf("%v, %v", report, err)
	}
	if data, err := os.ReadFile(record); err != nil || strings.Contains(string(data), p.ann) {
		t.Errorf("a token is in the record, or there is none: %v", err)
	}
}

// TestManySessions: sessions that nobody uses make room for others.
func TestManySessions(t *testing.T) {
	p := meet(t, Options{})
	for i := range maxDeciders + 10 {
		session := strings.Repeat("x", i%7) + time.Duration(i).String()
		same(t, p.post("/api/decisions", p.agent, strings.Replace(bash("ls"), `{"tool"`, `{"session":"`+session+`","tool"`, 1), 200), "behavior", "allow")
	}
}

// TestSessionsOfOne: one agent whose tool uses wait in many sessions leaves room for
// another.
func TestSessionsOfOne(t *testing.T) {
	p := meet(t, Options{})
	in := func(i int) string {
		return strings.Replace(bash("chmod 600 x"), `{"tool"`, `{"session":"s`+strconv.Itoa(i)+`","tool"`, 1)
	}
	var last string
	for i := range maxDeciders / 2 {
		last = p.post("/api/decisions", p.agent, in(i), 200)["approval_id"].(string)
	}
	p.want(p.do("POST", "/api/decisions", p.agent, in(maxDeciders)), 429, "too_many_sessions")
	same(t, p.post("/api/decisions", p.agent, in(0), 200), "behavior", "ask")
	other, _ := p.token(RoleAgent, "chat", "other")
	same(t, p.post("/api/decisions", other, in(0), 200), "behavior", "ask")
	p.reply(p.ann, last, "deny", 200)
	p.decision(last)
	same(t, p.post("/api/decisions", p.agent, in(maxDeciders), 200), "behavior", "ask")
}
