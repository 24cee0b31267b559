package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
)

// question puts a question about a tool use and returns its ID.
func (p *parties) question(body string) string {
	p.t.Helper()
	asked := p.post("/api/decisions", p.agent, body, 200)
	same(p.t, asked, "behavior", "ask")
	return asked["approval_id"].(string)
}

// decision waits for what becomes of a question.
func (p *parties) decision(id string) map[string]any {
	p.t.Helper()
	return p.get("/api/decisions/"+id+"?wait=25", p.agent)
}

// TestNothingRunsForWaiting: no goroutine waits with a question, and many answers that
// come at once all arrive.
func TestNothingRunsForWaiting(t *testing.T) {
	p := meet(t, Options{})
	p.question(bash("chmod 600 first"))
	before := runtime.NumGoroutine()
	ids := make([]string, 60)
	for i := range ids {
		ids[i] = p.question(bash("chmod 600 file" + strconv.Itoa(i)))
	}
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before+len(ids)/2; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			choice, want := "once", "allow"
			if i%2 == 0 {
				choice, want = "deny", "deny"
			}
			p.reply(p.ann, id, choice, 200)
			same(t, p.decision(id), "behavior", want, "by", "person")
		})
	}
	all.Wait()
}

// TestTogether: an answer for the session is also that of the other questions of the
// session that it covers.
func TestTogether(t *testing.T) {
	p := meet(t, Options{})
	first, second, other := p.question(bash("chmod 600 x")), p.question(bash("chmod 600 x")), p.question(bash("chmod 600 y"))
	p.reply(p.ann, first, "session", 200)
	same(t, p.decision(first), "behavior", "allow", "by", "person")
	same(t, p.decision(second), "behavior", "allow", "by", "person")
	same(t, p.get("/api/approvals/"+second, p.ann), "status", "cancelled", "reason", "answered together with "+first)
	same(t, p.get("/api/decisions/"+other, p.agent), "behavior", "ask")
}

// TestTogetherAfterRestart: what a restart goes on with is of the session that it
// belongs to.
func TestTogetherAfterRestart(t *testing.T) {
	kept, dir, private := open(t), workspace(t), t.TempDir()
	o := Options{Store: kept, Workspace: dir, Private: private, Open: opener(t, dir, "")}
	var agent, ann, first, second string
	t.Run("before", func(t *testing.T) {
		p := meet(t, o)
		agent, ann = p.agent, p.ann
		first, second = p.question(bash("chmod 600 x")), p.question(bash("chmod 600 x"))
	})
	t.Run("after", func(t *testing.T) {
		p := &parties{harness: listen(t, o), agent: agent, ann: ann}
		same(t, p.get("/api/decisions/"+first, agent), "behavior", "ask")
		p.parked(first, second)
		p.reply(ann, first, "session", 200)
		same(t, p.decision(first), "behavior", "allow", "by", "person")
		same(t, p.decision(second), "behavior", "allow", "by", "person")
		same(t, p.post("/api/decisions", agent, bash("chmod 600 x"), 200), "behavior", "allow", "by", "rule")
	})
}

// parked waits until questions wait again after a restart.
func (p *parties) parked(ids ...string) {
	p.t.Helper()
	for _, id := range ids {
		w := p.decisions.of(id)
		for end := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
			w.mu.Lock()
			waits := w.parked != nil
			w.mu.Unlock()
			if waits {
				break
			}
			if time.Now().After(end) {
				p.t.Fatalf("%s does not wait", id)
			}
		}
	}
}

// TestEditAsksAgain: an edit that has to be asked about is another question, which the
// first one leads to.
func TestEditAsksAgain(t *testing.T) {
	p := meet(t, Options{})
	id := p.question(bash("chmod 600 x"))
	digest := quote(p.get("/api/approvals/"+id, p.ann)["digest"].(string))
	edit := `{"digest":` + digest + `,"kind":"edit","input":{"command":"chmod 600 y"},"reply":{"id":` + quote(id) + `,"digest":` + digest +
		`,"choice":"edit","input":{"command":"chmod 600 y"}}}`
	p.post("/api/approvals/"+id+"/answer", p.ann, edit, 200)
	var next string
	for end := time.Now().Add(20 * time.Second); next == "" || next == id; {
		if time.Now().After(end) {
			t.Fatal("the edit is not asked about")
		}
		next = p.get("/api/decisions/"+id, p.agent)["approval_id"].(string)
	}
	p.reply(p.ben, next, "once", 200)
	for _, of := range []string{id, next} {
		got := p.decision(of)
		same(t, got, "behavior", "allow", "by", "person")
		if got["updated_input"].(map[string]any)["command"] != "chmod 600 y" {
			t.Errorf("%v", got)
		}
	}
}

// TestFileChanges: an approval of an edit is of the file as it was shown, however long
// the question has waited.
func TestFileChanges(t *testing.T) {
	dir := workspace(t)
	file := filepath.Join(dir, "agent-wrapper.toml")
	if err := os.WriteFile(file, []byte("# old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := meet(t, Options{Workspace: dir})
	id := p.question(`{"tool":"Edit","input":{"file_path":` + quote(file) + `,"old_string":"old","new_string":"new"}}`)
	if err := os.WriteFile(file, []byte("# another\n# old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.reply(p.ann, id, "once", 200)
	next := id
	for end := time.Now().Add(20 * time.Second); next == id; {
		if time.Now().After(end) {
			t.Fatal("it is not asked anew")
		}
		got := p.get("/api/decisions/"+id, p.agent)
		same(t, got, "behavior", "ask")
		next = got["approval_id"].(string)
	}
	p.reply(p.ann, next, "once", 200)
	same(t, p.decision(next), "behavior", "allow", "by", "person")
}

// TestTwoApprove: the first of two approvals leaves a question waiting.
func TestTwoApprove(t *testing.T) {
	dir := workspace(t)
	p := meet(t, Options{Workspace: dir, Open: opener(t, dir, "[approvals]\nquorum.moderate = 2\n")})
	id := p.question(bash("chmod 600 x"))
	p.reply(p.ann, id, "once", 200)
	same(t, p.get("/api/decisions/"+id, p.agent), "behavior", "ask")
	p.reply(p.ben, id, "once", 200)
	same(t, p.decision(id), "behavior", "allow", "by", "person")
}

// TestRecordedOnce: a tool use that waits is not in the record, neither when the server
// ends, and once when it is decided, before that is told.
func TestRecordedOnce(t *testing.T) {
	kept, dir, private, state := open(t), workspace(t), t.TempDir(), t.TempDir()
	o := Options{Store: kept, Workspace: dir, Private: private, Record: filepath.Join(state, "audit.jsonl")}
	o.Open = func(agent, _ string, warn func(string)) (*engine.Engine, error) {
		return engine.Open(engine.Options{
			Dir: dir, Dirs: &engine.Dirs{State: state}, Isolated: true, Settings: terminalProfile(t, ""), NoAdvice: true, Agent: agent, Warn: warn, Record: o.Record,
		})
	}
	var agent, ann, id, told string
	t.Run("before", func(t *testing.T) {
		p := meet(t, o)
		agent, ann = p.agent, p.ann
		id = p.question(bash("chmod 600 x"))
		waits := make(chan reply)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			waits <- p.do("GET", "/api/decisions/"+id+"?wait=55", agent, "")
		}()
		for p.credentials.open() < 2 { // the question, and who waits
			if ctx.Err() != nil {
				t.Fatal("nobody waits")
			}
			runtime.Gosched()
		}
		p.end()
		told = (<-waits).code()
		if lines := strings.Count(recordOf(t, o.Record), `"decision"`); lines != 0 {
			t.Errorf("%d decisions of what waits", lines)
		}
	})
	if told != "server_ends" {
		t.Errorf("who waits is told %q", told)
	}
	t.Run("after", func(t *testing.T) {
		p := &parties{harness: listen(t, o), agent: agent, ann: ann}
		p.reply(ann, id, "once", 200)
		same(t, p.decision(id), "behavior", "allow")
		if lines := strings.Count(recordOf(t, o.Record), `"decision"`); lines != 1 {
			t.Errorf("%d decisions", lines)
		}
	})
}

func recordOf(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

// TestRevokedWhileParked: the end of a credential is a decision of what waits for it, and
// says so.
func TestRevokedWhileParked(t *testing.T) {
	p := meet(t, Options{})
	root, _ := p.token(RoleAdmin, "", "root")
	agent, id := p.token(RoleAgent, "chat", "stolen")
	asked := p.post("/api/decisions", agent, bash("chmod 600 x"), 200)["approval_id"].(string)
	w := p.decisions.of(asked)
	p.want(p.do("POST", "/api/tokens/"+id+"/revoke", root, ""), 200, "")
	select {
	case <-w.done:
	case <-time.After(20 * time.Second):
		t.Fatal("its question waits still")
	}
	got, err := w.told()
	if err != nil || got.Behavior != "deny" || !strings.Contains(got.Message, errRevoked.Error()) {
		t.Errorf("%+v, %v", got, err)
	}
	same(t, p.get("/api/approvals/"+asked, p.ann), "status", "cancelled", "reason", errRevoked.Error())
}

// TestTerminalRestart: the question about a command outlasts the server.
func TestTerminalRestart(t *testing.T) {
	kept, dir, private := open(t), workspace(t), t.TempDir()
	o := Options{Store: kept, Workspace: dir, Private: private, Open: opener(t, dir, "")}
	var agent, ann, id string
	t.Run("before", func(t *testing.T) {
		p := meet(t, o)
		agent, ann = p.agent, p.ann
		id = p.execute(p.begin(), "chmod 600 file.txt")["approval_id"].(string)
	})
	t.Run("after", func(t *testing.T) {
		p := &parties{harness: listen(t, o), agent: agent, ann: ann}
		same(t, p.get("/api/approvals/"+id, ann), "status", "pending")
	})
}

// TestTerminalRecordedOnce: the end of the server decides nothing about a command that
// waits for an answer: the record has one decision, with who answered.
func TestTerminalRecordedOnce(t *testing.T) {
	kept, dir, private, state := open(t), workspace(t), t.TempDir(), t.TempDir()
	o := Options{Store: kept, Workspace: dir, Private: private, Record: filepath.Join(state, "audit.jsonl")}
	o.Open = func(agent, _ string, warn func(string)) (*engine.Engine, error) {
		return engine.Open(engine.Options{
			Dir: dir, Dirs: &engine.Dirs{State: state}, Isolated: true, Settings: terminalProfile(t, ""), NoAdvice: true, Agent: agent, Warn: warn, Record: o.Record,
		})
	}
	var agent, ann, session string
	var asked map[string]any
	t.Run("before", func(t *testing.T) {
		p := meet(t, o)
		agent, ann, session = p.agent, p.ann, p.begin()
		asked = p.execute(session, "chmod 600 file.txt")
		if logs := p.logs.String(); strings.Contains(logs, "to approve") {
			t.Errorf("the log has each question: %s", logs)
		}
	})
	if lines := strings.Count(recordOf(t, o.Record), `"kind":"decision"`); lines != 0 {
		t.Errorf("%d decisions of what waits", lines)
	}
	t.Run("after", func(t *testing.T) {
		p := &parties{harness: listen(t, o), agent: agent, ann: ann}
		approve := `{"approved":true,"approval_id":` + quote(asked["approval_id"].(string)) + `}`
		for p.do("POST", session+"/approve", ann, approve).status == http.StatusConflict {
			runtime.Gosched() // the server still puts its questions again
		}
		same(t, p.finished(asked), "status", "completed")
	})
	record := recordOf(t, o.Record)
	if lines := strings.Count(record, `"kind":"decision"`); lines != 1 || !strings.Contains(record, `"ann"`) {
		t.Errorf("%d decisions: %s", lines, record)
	}
}

// TestNothingIsWithdrawnAtTheEnd: an answer that comes while the server ends takes no other
// question away, since nothing would go on with it.
func TestNothingIsWithdrawnAtTheEnd(t *testing.T) {
	p := meet(t, Options{})
	id := p.question(bash("chmod 600 x"))
	p.end()
	by := approval.Principal{Role: approval.Agent, Name: "bot"}
	if _, err := (&link{p.options.Store, p.Server}).Withdraw(t.Context(), id, by, "answered together"); !errors.Is(err, errStays) {
		t.Error(err)
	}
	if e, err := p.options.Store.Get(t.Context(), id); err != nil || e.Status != approval.Pending {
		t.Errorf("%v, %v", e.Status, err)
	}
}

// TestEndsAreSmall: of a tool use that has ended only the end is kept.
func TestEndsAreSmall(t *testing.T) {
	p := meet(t, Options{})
	id := p.question(bash("chmod 600 x " + strings.Repeat("y", 1000)))
	p.post("/api/approvals/"+id+"/withdraw", p.agent, `{}`, 200)
	same(t, p.decision(id), "behavior", "deny")
	p.works.close()
	if w := p.decisions.of(id); w.resume.Use.Input != nil || w.decider != nil || w.parked != nil {
		t.Errorf("%+v", w.resume)
	}
}

// TestQuestionsReadNoFile: a question about a change shows the file to people, and not to
// the agent that asks, by any route.
func TestQuestionsReadNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "private.txt")
	if err := os.WriteFile(file, []byte("for people\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := meet(t, Options{})
	live := p.dial("/api/events", p.agent)
	live.is("snapshot")
	live.is("current")
	id := p.question(`{"tool":"Write","input":{"file_path":` + quote(file) + `,"content":"x\n"}}`)
	later := p.dial("/api/events", p.agent)
	later.is("snapshot")
	all := map[string]string{
		"consume":   p.do("POST", "/api/approvals/"+id+"/consume", p.agent, `{"digest":"1:0"}`).body,
		"unsettled": p.do("POST", "/api/approvals/"+id+"/consume", p.agent, `{"digest":`+quote(p.get("/api/approvals/"+id, p.ann)["digest"].(string))+`}`).body,
	}
	for from, o := range map[string]*peer{"live": live, "snapshot": later} {
		_, text, err := o.Read(t.Context())
		if err != nil || !strings.Contains(string(text), id) {
			t.Errorf("%s: %s, %v", from, text, err)
		}
		all[from] = string(text)
	}
	for _, path := range []string{"/api/approvals", "/api/approvals/" + id, "/api/decisions/" + id} {
		all[path] = p.do("GET", path, p.agent, "").body
	}
	for from, text := range all {
		if strings.Contains(text, "for people") {
			t.Errorf("%s: %s", from, text)
		}
	}
	if text := p.do("GET", "/api/approvals/"+id, p.ann, "").body; !strings.Contains(text, "for people") {
		t.Error(text)
	}
}
