package server

import (
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
)

// bash returns the body of a decision on a command line.
func bash(line string) string { return `{"tool":"Bash","input":{"command":` + quote(line) + `}}` }

// reply answers the question with an id for a person.
func (p *parties) reply(secret, id, choice string, status int) map[string]any {
	p.t.Helper()
	digest := p.get("/api/approvals/"+id, secret)["digest"].(string)
	kind := "approve"
	if choice == "deny" {
		kind = "deny"
	}
	body := `{"digest":` + quote(digest) + `,"kind":"` + kind + `","reply":{"id":` + quote(id) + `,"digest":` + quote(digest) + `,"choice":"` + choice + `"}}`
	return p.post("/api/approvals/"+id+"/answer", secret, body, status)
}

// TestNullReply: null in a reply is nothing, and the answer counts.
func TestNullReply(t *testing.T) {
	p := meet(t, Options{})
	id := p.post("/api/decisions", p.agent, bash("chmod 600 x"), 200)["approval_id"].(string)
	digest := quote(p.get("/api/approvals/"+id, p.ann)["digest"].(string))
	p.post("/api/approvals/"+id+"/answer", p.ann, `{"digest":`+digest+`,"kind":"approve","reply":{"id":`+quote(id)+`,"digest":`+digest+
		`,"choice":"once","rung":null,"rules":null,"message":null,"input":null,"answers":null}}`, 200)
	same(t, p.get("/api/decisions/"+id+"?wait=25", p.agent), "behavior", "allow", "by", "person")
}

// TestReplies: what the asker would not take is refused when it is given, and the question
// still waits. What counts is the reply: what stands beside it may only say the same.
func TestReplies(t *testing.T) {
	p := meet(t, Options{})
	id := p.post("/api/decisions", p.agent, bash("npm install left-pad"), 200)["approval_id"].(string)
	digest := quote(p.get("/api/approvals/"+id, p.ann)["digest"].(string))
	answer := func(beside, reply string) string {
		return `{"digest":` + digest + `,` + beside + `,"reply":{"id":` + quote(id) + `,"digest":` + digest + `,` + reply + `}}`
	}
	for _, tt := range []struct{ beside, reply, want string }{
		{`"kind":"approve"`, `"choice":"once","message":"why not"`, "message does not go with choice once"},
		{`"kind":"approve"`, `"choice":"session","rung":9`, "rung 9: the choice has"},
		{`"kind":"approve"`, `"choice":"while","times":1`, "times: 1"},
		{`"kind":"approve"`, `"choice":"always"`, `choice \"always\" is not offered`},
		{`"kind":"approve"`, `"choice":"anything"`, `choice \"anything\" is not offered`},
		{`"kind":"deny"`, `"choice":"words"`, "message: it is what"},
		{`"kind":"edit"`, `"choice":"edit"`, "input: it is what"},
		{`"kind":"approve"`, `"choice":"deny"`, "does not match kind"},
		{`"kind":"approve","scope":"once"`, `"choice":"session"`, "contradict it"},
		{`"kind":"approve","rules":["Bash(npm:*)"]`, `"choice":"session","rung":0`, "contradict it"},
		{`"kind":"approve","for":"1h"`, `"choice":"while","for":60`, "contradict it"},
		{`"kind":"approve","times":3`, `"choice":"while","times":2`, "contradict it"},
	} {
		resp := p.do("POST", "/api/approvals/"+id+"/answer", p.ann, answer(tt.beside, tt.reply))
		if p.want(resp, 400, "bad_request"); !strings.Contains(string(resp.body), tt.want) {
			t.Errorf("%s, %s: %s", tt.beside, tt.reply, resp.body)
		}
	}
	for _, reply := range []string{`{"choice":"once"}`, `{"choice":"once","id":` + quote(id) + `}`, `{"choice":"once","digest":` + digest + `}`} {
		resp := p.do("POST", "/api/approvals/"+id+"/answer", p.ann, `{"digest":`+digest+`,"kind":"approve","reply":`+reply+`}`)
		if p.want(resp, 400, "bad_request"); !strings.Contains(string(resp.body), "reply: id and digest are required") {
			t.Errorf("%s: %s", reply, resp.body)
		}
	}
	same(t, p.get("/api/approvals/"+id, p.ann), "status", "pending")
	got := p.post("/api/approvals/"+id+"/answer", p.ann, answer(`"kind":"approve","message":"for the demo"`, `"choice":"session","rung":1`), 200)
	vote := got["votes"].([]any)[0].(map[string]any)
	if rules := vote["rules"].([]any); got["message"] != "for the demo" || vote["scope"] != "session" || len(rules) != 1 || rules[0] != "Bash(npm install:*)" {
		t.Errorf("%v", got)
	}
	same(t, p.get("/api/decisions/"+id+"?wait=25", p.agent), "behavior", "allow")
}

// TestOwnShell: what a line leaves in its shell is asked about unless the request says that
// the shell ends with the line.
func TestOwnShell(t *testing.T) {
	p := meet(t, Options{})
	use := `{"tool":"Bash","input":{"command":"export GOCACHEPROG=./x"}`
	same(t, p.post("/api/decisions", p.agent, use+`}`, 200), "behavior", "ask")
	same(t, p.post("/api/decisions", p.agent, use+`,"own_shell":false}`, 200), "behavior", "ask")
	same(t, p.post("/api/decisions", p.agent, use+`,"own_shell":true}`, 200), "behavior", "allow")
}

// TestDecisions: what the policy allows or denies is told at once, and what it leaves to
// a person is a question, whose end can be waited for.
func TestDecisions(t *testing.T) {
	p := meet(t, Options{})
	same(t, p.post("/api/decisions", p.agent, bash("ls"), 200), "behavior", "allow", "risk", "safe")
	same(t, p.post("/api/decisions", p.agent, bash("rm -rf /"), 200), "behavior", "deny")
	asked := p.post("/api/decisions", p.agent, bash("chmod 600 x"), 200)
	same(t, asked, "behavior", "ask")
	id := asked["approval_id"].(string)
	same(t, p.get("/api/decisions/"+id, p.agent), "behavior", "ask", "approval_id", id)
	same(t, p.reply(p.ann, id, "once", 200), "status", "approved")
	got := p.get("/api/decisions/"+id+"?wait=25", p.agent)
	same(t, got, "behavior", "allow", "by", "person")
	if got["updated_input"].(map[string]any)["command"] != "chmod 600 x" {
		t.Errorf("%v", got)
	}
	if status := p.get("/api/approvals/"+id, p.ann)["status"]; status != "consumed" {
		t.Errorf("it is %v", status)
	}
	asked = p.post("/api/decisions", p.agent, bash("chmod 600 y"), 200)
	p.reply(p.ann, asked["approval_id"].(string), "deny", 200)
	same(t, p.get("/api/decisions/"+asked["approval_id"].(string)+"?wait=25", p.agent), "behavior", "deny")
	p.want(p.do("POST", "/api/decisions", p.ann, bash("ls")), 403, "insufficient_permissions")
	p.want(p.do("POST", "/api/decisions", p.agent, `{"tool":"Bash","input":{},"agent_role":"system"}`), 403, "insufficient_permissions")
	p.want(p.do("POST", "/api/decisions", p.agent, `{"input":{}}`), 400, "bad_request")
	p.want(p.do("POST", "/api/decisions", p.agent, `{"tool":"Bash","input":{},"cwd":"x"}`), 400, "bad_request")
	p.want(p.do("GET", "/api/decisions/"+id+"?wait=56", p.agent, ""), 400, "bad_request")
}

// TestSessionsAreApart: what a person answers for a session of an agent is for no other.
func TestSessionsAreApart(t *testing.T) {
	p := meet(t, Options{})
	in := func(session string) string {
		return strings.Replace(bash("chmod 600 x"), `{"tool"`, `{"session":"`+session+`","tool"`, 1)
	}
	asked := p.post("/api/decisions", p.agent, in("one"), 200)["approval_id"].(string)
	p.reply(p.ann, asked, "session", 200)
	p.get("/api/decisions/"+asked+"?wait=25", p.agent)
	same(t, p.post("/api/decisions", p.agent, in("one"), 200), "behavior", "allow")
	same(t, p.post("/api/decisions", p.agent, in("two"), 200), "behavior", "ask")
	other, _ := p.token(RoleAgent, "chat", "other")
	same(t, p.post("/api/decisions", other, in("one"), 200), "behavior", "ask")
}

// TestForged: an answer counts for what was shown, once, and by nobody who asked.
func TestForged(t *testing.T) {
	p := meet(t, Options{})
	other, _ := p.token(RoleAgent, "admin", "other")
	id := p.post("/api/decisions", p.agent, bash("chmod 600 x"), 200)["approval_id"].(string)
	second := p.post("/api/decisions", p.agent, bash("chmod 600 y"), 200)["approval_id"].(string)
	one, two := p.get("/api/approvals/"+id, p.ann), p.get("/api/approvals/"+second, p.ann)
	answer := func(id, digest, choice string) string {
		return `{"digest":` + quote(digest) + `,"kind":"approve","reply":{"id":` + quote(id) + `,"digest":` + quote(digest) + `,"choice":"` + choice + `"}}`
	}
	digest, otherDigest := one["digest"].(string), two["digest"].(string)
	path := "/api/approvals/" + id + "/answer"
	p.want(p.do("POST", path, p.agent, answer(id, digest, "once")), 403, "insufficient_permissions")
	p.want(p.do("POST", path, other, answer(id, digest, "once")), 403, "insufficient_permissions")
	p.want(p.do("POST", path, p.ann, answer(id, otherDigest, "once")), 409, "other_request")
	p.want(p.do("POST", path, p.ann, answer(second, otherDigest, "once")), 409, "other_request")
	p.want(p.do("POST", path, p.ann, answer(id, digest, "deny")), 400, "bad_request")
	p.want(p.do("POST", path, p.ann, answer(id, digest, "anything")), 400, "bad_request")
	p.want(p.do("POST", path, p.ann, `{"digest":`+quote(digest)+`,"kind":"approve"}`), 400, "bad_request")
	for _, path := range []string{"", "/withdraw", "/consume"} {
		method := "POST"
		if path == "" {
			method = "GET"
		}
		p.want(p.do(method, "/api/approvals/"+id+path, other, ""), 404, "approval_not_found")
	}
	p.want(p.do("GET", "/api/decisions/"+id, other, ""), 404, "approval_not_found")
	p.want(p.do("POST", "/api/approvals/"+id+"/consume", p.agent, `{"digest":`+quote(digest)+`}`), 409, "still_pending")
	same(t, p.reply(p.ann, id, "once", 200), "status", "approved")
	r := p.do("POST", path, p.ben, answer(id, digest, "once")) // replayed
	p.want(r, 409, "settled")
	if !strings.Contains(r.body, `"by":{"role":"person","name":"ann"}`) {
		t.Errorf("who was first is not told: %s", r.body)
	}
	if by := p.get("/api/approvals/"+id, p.ann)["by"].(map[string]any)["name"]; by != "ann" {
		t.Errorf("by %v", by)
	}
}

// TestAgentsList: an agent sees its own questions only.
func TestAgentsList(t *testing.T) {
	p := meet(t, Options{})
	other, _ := p.token(RoleAgent, "chat", "other")
	mine := p.post("/api/decisions", p.agent, bash("chmod 600 x"), 200)["approval_id"]
	p.post("/api/decisions", other, bash("chmod 600 y"), 200)
	list := p.get("/api/approvals?status=pending", p.agent)["approvals"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["id"] != mine {
		t.Errorf("%v", list)
	}
	all := p.get("/api/approvals?status=pending", p.ann)
	if len(all["approvals"].([]any)) != 2 {
		t.Errorf("%v", all)
	}
	// The server hears of its own changes a moment later; what it says is never ahead.
	if none := p.get("/api/approvals?status=denied", p.ann); none["seq"].(float64) > all["seq"].(float64) || len(none["approvals"].([]any)) > 0 {
		t.Errorf("%v, after %v", none, all["seq"])
	}
	for _, query := range []string{"status=maybe", "limit=0", "after=-1", "wait=x", "token=x", "limit=1&limit=2"} {
		p.want(p.do("GET", "/api/approvals?"+query, p.ann, ""), 400, "bad_request")
	}
}

// TestWait: a list waits for a change.
func TestWait(t *testing.T) {
	p := meet(t, Options{})
	got := make(chan reply)
	go func() { got <- p.do("GET", "/api/approvals?status=pending&wait=25", p.ann, "") }()
	id := p.post("/api/decisions", p.agent, bash("chmod 600 x"), 200)["approval_id"].(string)
	if r := <-got; r.status != 200 || !strings.Contains(r.body, id) {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestSubmitted: a program of an agent puts its own questions, and nobody else's.
func TestSubmitted(t *testing.T) {
	p := meet(t, Options{})
	other, _ := p.token(RoleAgent, "chat", "other")
	body := func(id, digest string) string {
		return `{"id":"` + id + `","digest":"1:aa","project":"/p","session":"s","question":{"id":"q","digest":"` + digest + `","tool":"Bash"}}`
	}
	good := strings.Replace(body("q", "1:aa"), `"id":"q"`, `"id":"q"`, 1)
	same(t, p.post("/api/approvals", p.agent, good, 200), "status", "pending", "id", "q")
	same(t, p.post("/api/approvals", p.agent, good, 200), "status", "pending") // again
	p.want(p.do("POST", "/api/approvals", other, good), 409, "begun_already")
	if r := p.do("POST", "/api/approvals", other, good); strings.Contains(r.body, `"approval"`) {
		t.Errorf("another's question is told: %s", r.body)
	}
	p.want(p.do("POST", "/api/approvals", p.agent, body("../q", "1:aa")), 400, "bad_request")
	p.want(p.do("POST", "/api/approvals", p.agent, body("q", "1:bb")), 400, "bad_request")
	p.want(p.do("POST", "/api/approvals", p.ann, good), 403, "insufficient_permissions")
	same(t, p.post("/api/approvals/q/withdraw", p.agent, `{"reason":"not needed"}`, 200), "status", "cancelled")
	p.want(p.do("POST", "/api/approvals/q/withdraw", p.agent, `{}`), 409, "settled")
}

// TestExpired: what was not answered in time is gone.
func TestExpired(t *testing.T) {
	p := meet(t, Options{})
	end := time.Now().Add(time.Millisecond).UTC().Format(time.RFC3339Nano)
	body := `{"id":"q","digest":"1:aa","project":"/p","session":"s","expires":"` + end + `","question":{"id":"q","digest":"1:aa","tool":"Bash"}}`
	p.post("/api/approvals", p.agent, body, 200)
	for p.get("/api/approvals/q", p.ann)["status"] != "expired" {
	}
	p.want(p.do("POST", "/api/approvals/q/consume", p.agent, `{"digest":"1:aa"}`), 410, "settled")
}

// TestRevokedAgent: the questions of an agent whose credential is revoked are withdrawn.
func TestRevokedAgent(t *testing.T) {
	p := meet(t, Options{})
	root, _ := p.token(RoleAdmin, "", "root")
	agent, id := p.token(RoleAgent, "chat", "stolen")
	asked := p.post("/api/decisions", agent, bash("chmod 600 x"), 200)["approval_id"].(string)
	p.want(p.do("POST", "/api/tokens/"+id+"/revoke", root, ""), 200, "")
	for end := time.Now().Add(20 * time.Second); p.get("/api/approvals/"+asked, p.ann)["status"] == "pending"; {
		if time.Now().After(end) {
			t.Fatal("its question waits still")
		}
	}
	p.want(p.do("GET", "/api/decisions/"+asked, agent, ""), 401, "unauthorized")
}

// TestRestart: a question outlasts the server, and its answer reaches who asked.
func TestRestart(t *testing.T) {
	kept, dir, private := open(t), workspace(t), t.TempDir()
	o := Options{Store: kept, Workspace: dir, Private: private, Open: opener(t, dir, "")}
	var agent, ann, id, answered string
	t.Run("before", func(t *testing.T) {
		p := meet(t, o)
		agent, ann = p.agent, p.ann
		id = p.post("/api/decisions", agent, bash("chmod 600 x"), 200)["approval_id"].(string)
		answered = p.post("/api/decisions", agent, bash("chmod 600 y"), 200)["approval_id"].(string)
	})
	e, err := kept.Get(t.Context(), answered)
	if err != nil || e.Status != approval.Pending {
		t.Fatalf("%v, %v", e.Status, err)
	}
	if _, err := kept.Answer(t.Context(), approval.Event{ // while no server runs
		Kind: approval.Approve, ID: answered, Digest: e.Digest, By: approval.Principal{Role: approval.Person, Name: "ann"},
	}, nil); err != nil {
		t.Fatal(err)
	}
	t.Run("after", func(t *testing.T) {
		p := &parties{harness: listen(t, o), agent: agent, ann: ann}
		same(t, p.get("/api/decisions/"+answered+"?wait=25", agent), "behavior", "allow", "by", "person")
		same(t, p.get("/api/decisions/"+id, agent), "behavior", "ask")
		p.reply(ann, id, "once", http.StatusOK)
		same(t, p.get("/api/decisions/"+id+"?wait=25", agent), "behavior", "allow")
		p.want(p.do("GET", "/api/decisions/nothing", agent, ""), 404, "approval_not_found")
	})
}

// TestForgedResumption: what a restart goes on with is not for an agent to write. It
// would choose the role in which it is decided.
func TestForgedResumption(t *testing.T) {
	p := meet(t, Options{Name: "one"})
	for _, name := range []string{"resumption", `res\u0075mption`} {
		body := `{"id":"q","digest":"1:aa","project":"/p","session":"s","question":{"id":"q","digest":"1:aa","tool":"Bash","` + name +
			`":{"server":"one","role":"admin","use":{"tool":"Bash","input":{"command":"ls"}}}}}`
		p.want(p.do("POST", "/api/approvals", p.agent, body), 400, "bad_request")
	}
}

// TestManyWaiting: what waits for an answer is bounded. docs/performance.md has what
// 2,000 questions should take.
func TestManyWaiting(t *testing.T) {
	n := 200
	if os.Getenv("AW_LONG") != "" {
		n = 2000
	}
	p := meet(t, Options{})
	p.post("/api/decisions", p.agent, bash("ls"), 200) // opens the engine
	idle := inUse()
	for i := range n {
		same(t, p.post("/api/decisions", p.agent, bash("chmod 600 file"+strconv.Itoa(i)), 200), "behavior", "ask")
	}
	more := inUse() - idle
	t.Logf("%d questions wait: %d KiB in use", n, more>>10)
	if limit := int64(n) * (256 << 10); more > limit {
		t.Errorf("%d bytes, want at most %d", more, limit)
	}
}

// inUse returns the memory of the process that is in use, stacks included.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
