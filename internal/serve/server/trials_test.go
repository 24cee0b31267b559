package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
)

// recorded returns options of a server with a record and a policy.
func recorded(t *testing.T, text string) Options {
	t.Helper()
	dir, state := workspace(t), t.TempDir()
	record := filepath.Join(state, "audit.jsonl")
	head, err := engine.Dirs{State: state}.Head(record)
	if err != nil {
		t.Fatal(err)
	}
	spec := terminalProfile(t, text)
	o := Options{Workspace: dir, Record: record, Head: head, Rules: ruler(t, dir, text)}
	o.Open = func(agent, role string, warn func(string)) (*engine.Engine, error) {
		return engine.Open(engine.Options{
			Dir: dir, Dirs: &engine.Dirs{State: state}, Isolated: true, Settings: spec, NoAdvice: true, Record: record, Agent: agent, Warn: warn,
			Sync: audit.SyncNone,
		})
	}
	return o
}

// settle has a tool use decided, and denies it if a person is asked.
func (p *parties) settle(command string) {
	p.t.Helper()
	d := p.post("/api/decisions", p.agent, bash(command), 200)
	if d["behavior"] != "ask" {
		return
	}
	id := d["approval_id"].(string)
	p.reply(p.ann, id, "deny", 200)
	p.get("/api/decisions/"+id+"?wait=20", p.agent)
}

// try tries a rule.
func (p *parties) try(rule, as string) map[string]any {
	p.t.Helper()
	return p.post("/api/rules/try", p.ann, `{"rule":`+quote(rule)+`,"as":"`+as+`"}`, 200)
}

// count returns how many decisions a trial found of one kind.
func count(t *testing.T, tried map[string]any, kind string, want int) {
	t.Helper()
	g := tried[kind].(map[string]any)
	if int(g["count"].(float64)) != want || len(g["examples"].([]any)) != min(want, maxExamples) {
		t.Errorf("%s: %v, want %d", kind, g, want)
	}
}

// TestTryRule: a trial says which decisions of the record would be others with a rule,
// and counts apart what it cannot know.
func TestTryRule(t *testing.T) {
	p := meet(t, recorded(t, ""))
	same(t, p.try("Bash(chmod:*)", "allow"), "looked", 0.0, "done", true)
	for _, command := range []string{"ls", "ls -l", "chmod 600 a.txt", "chmod 600 a.txt", "chmod 600 b.txt", "rm -rf /", "curl -H 'Authorization: Bearer abcdefghijklmnop' https://x.example"} {
		p.settle(command)
	}
	elsewhere := strings.Replace(bash("chmod 600 a.txt"), `{"tool"`, `{"cwd":"/srv","tool"`, 1)
	p.post("/api/decisions", p.agent, elsewhere, 200)

	got := p.try("Bash(chmod:*)", "allow")
	same(t, got, "rule", "Bash(chmod:*)", "line", `allow = ["Bash(chmod:*)"]`, "looked", 7.0, "masked", 1.0, "elsewhere", 0.0, "same", 3.0, "done", true)
	count(t, got, "spared", 3)
	count(t, got, "asked", 0)
	first := got["spared"].(map[string]any)["examples"].([]any)[0].(map[string]any)
	same(t, first, "text", "chmod 600 b.txt", "from", "ask", "to", "allow", "was", "deny", "risk", "moderate")

	got = p.try("Bash(ls:*)", "ask")
	count(t, got, "asked", 2)
	count(t, got, "spared", 0)
	got = p.try("Bash(ls:*)", "deny")
	count(t, got, "denied", 2)
	got = p.try("Bash(chmod 600 a.txt)", "deny")
	count(t, got, "denied", 2)
	if got["remember"] != nil {
		t.Errorf("%v", got["remember"])
	}
	for _, rule := range []string{"", "Bash(", "Bash(ls", "no such thing"} {
		if got := p.try(rule, "allow"); got["problem"] == nil {
			t.Errorf("%q: %v", rule, got)
		}
	}
	if lint := p.try("Bash", "allow")["lint"].([]any); len(lint) == 0 || lint[0].(map[string]any)["level"] != "danger" {
		t.Errorf("%v", lint)
	}
	p.want(p.do("POST", "/api/rules/try", p.ann, `{"rule":"Bash(ls)","as":"maybe"}`), 400, "bad_request")
	p.want(p.do("POST", "/api/rules/try", p.agent, `{"rule":"Bash(ls)","as":"allow"}`), 403, "insufficient_permissions")
}

// TestTriedElsewhere: what another workspace's agents did says nothing of a rule here.
func TestTriedElsewhere(t *testing.T) {
	o := recorded(t, "")
	p := meet(t, o)
	p.settle("chmod 600 a.txt")
	data, err := os.ReadFile(o.Record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Record, bytes.ReplaceAll(data, []byte(o.Workspace), []byte("/elsewhere")), 0o600); err != nil {
		t.Fatal(err)
	}
	got := p.try("Bash(chmod:*)", "allow")
	same(t, got, "looked", 1.0, "elsewhere", 1.0)
	count(t, got, "spared", 0)
}

// TestTrialsEnd: a trial ends in time, and tells how far it came.
func TestTrialsEnd(t *testing.T) {
	p := meet(t, recorded(t, ""))
	for i := range 3 {
		p.settle(fmt.Sprintf("chmod 600 %d.txt", i))
	}
	tr, err := p.trial("allow", "Bash(chmod:*)")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := &ruleTried{}
	if err := p.replay(ctx, tr, out, nil); err != nil || out.Done || out.Looked != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestCreateRule: a rule is remembered if a question of the record has offered it, for
// the risk of that, and not otherwise.
func TestCreateRule(t *testing.T) {
	p := meet(t, recorded(t, ""))
	for _, command := range []string{"chmod 600 a.txt", "sudo ls", "rm -rf /", "ls", "kill 1234"} {
		p.settle(command)
	}
	remember := p.try("Bash(chmod 600 a.txt)", "allow")["remember"].(map[string]any)
	same(t, remember, "risk", "moderate", "count", 1.0, "why", nil)
	for _, rule := range []string{
		"Bash", "Bash(*)", "*", "Read", "Bash(chmod 600 *)", "Bash(sudo ls)", "Bash(sudo:*)", "Bash(rm -rf /)", "Bash(rm:*)", "Bash(kill:*)", "Bash(npm:*)", "Bash(ls)", "",
	} {
		if r := p.do("POST", "/api/rules", p.ann, `{"rule":`+quote(rule)+`}`); r.status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", rule, r.status, r.body)
		}
	}
	for _, body := range []string{
		`{"rule":"Bash(chmod 600 a.txt)","project":"/elsewhere"}`, `{"rule":"Bash(chmod 600 a.txt)","days":31}`, `{"rule":"Bash(chmod 600 a.txt)","days":-1}`,
		`{"rule":"Bash(chmod 600 a.txt)","person":"ben"}`, `{"rule":"Bash(chmod 600 a.txt)","risk":"high"}`, `{"rule":"Bash(chmod 600 a.txt)","as":"deny"}`,
	} {
		p.want(p.do("POST", "/api/rules", p.ann, body), 400, "bad_request")
	}
	body := `{"rule":"Bash(chmod 600 a.txt)","days":2,"project":` + quote(p.options.Workspace) + `}`
	p.want(p.do("POST", "/api/rules", p.agent, body), 403, "insufficient_permissions")
	got := p.post("/api/rules", p.ann, body, 200)
	same(t, got, "person", "ann", "risk", "moderate", "project", p.options.Workspace, "revoked", nil)
	if end, err := time.Parse(time.RFC3339, got["expires"].(string)); err != nil || time.Until(end) > 48*time.Hour || time.Until(end) < 47*time.Hour {
		t.Errorf("it ends at %v", got["expires"])
	}
	p.want(p.do("POST", "/api/rules", p.ann, body), 409, "conflict")
	if why, _ := p.try("Bash(chmod 600 a.txt)", "allow")["remember"].(map[string]any)["why"].(string); !strings.Contains(why, "already") {
		t.Errorf("it is offered again: %q", why)
	}
	same(t, p.post("/api/decisions", p.agent, bash("chmod 600 a.txt"), 200), "behavior", "allow")
	same(t, p.post("/api/decisions", p.agent, bash("chmod 600 b.txt"), 200), "behavior", "ask")
	p.want(p.do("POST", "/api/rules/"+got["id"].(string)+"/revoke", p.ann, ""), 200, "")
	same(t, p.post("/api/decisions", p.agent, bash("chmod 600 a.txt"), 200), "behavior", "ask")
}

// TestNobodyRemembersForSeveral: where several have to approve, or only others may,
// nothing is remembered.
func TestNobodyRemembersForSeveral(t *testing.T) {
	for _, text := range []string{"[approvals]\nquorum.moderate = 2\n", "[approvals]\npeople = [\"ben\"]\n"} {
		p := meet(t, recorded(t, text))
		d := p.post("/api/decisions", p.agent, bash("chmod 600 a.txt"), 200)
		p.reply(p.ben, d["approval_id"].(string), "deny", 200)
		p.get("/api/decisions/"+d["approval_id"].(string)+"?wait=20", p.agent)
		if why := p.try("Bash(chmod 600 a.txt)", "allow")["remember"].(map[string]any)["why"]; why == nil {
			t.Errorf("%s: it is offered", text)
		}
		p.want(p.do("POST", "/api/rules", p.ann, `{"rule":"Bash(chmod 600 a.txt)"}`), 400, "not_offered")
	}
}

// TestProposals: what a person approves again and again is proposed to that person.
func TestProposals(t *testing.T) {
	p := meet(t, recorded(t, ""))
	for range 3 {
		id := p.post("/api/decisions", p.agent, bash("chmod 600 a.txt"), 200)["approval_id"].(string)
		p.reply(p.ann, id, "once", 200)
		p.get("/api/decisions/"+id+"?wait=20", p.agent)
	}
	all := p.get("/api/rules/proposals", p.ann)["proposals"].([]any)
	if len(all) != 1 {
		t.Fatalf("%v", all)
	}
	one := all[0].(map[string]any)
	same(t, one, "risk", "moderate", "times", 3.0)
	if rule := one["rules"].([]any)[0]; rule != "Bash(chmod 600 a.txt)" {
		t.Errorf("%v", rule)
	}
	if all := p.get("/api/rules/proposals", p.ben)["proposals"].([]any); len(all) != 0 {
		t.Errorf("%v", all)
	}
	p.want(p.do("GET", "/api/rules/proposals", p.agent, ""), 403, "insufficient_permissions")
}

// TestPolicy: the policy in force is told in words.
func TestPolicy(t *testing.T) {
	p := meet(t, recorded(t, "deny = [\"Bash(git push:*)\"]\n[approvals]\ntimeout_seconds = 600\npeople = [\"ann\", \"ben\"]\nquorum.high = 2\n"))
	got := p.get("/api/policy", p.ann)
	same(t, got, "workspace", p.options.Workspace, "mode", "default")
	same(t, got["approvals"].(map[string]any), "timeout_seconds", 600.0)
	same(t, got["approvals"].(map[string]any)["quorum"].(map[string]any), "high", 2.0)
	roles := got["roles"].([]any)
	if len(roles) != 4 {
		t.Fatalf("%v", roles)
	}
	for i, want := range []string{"chat ask", "automation allow"} {
		role := roles[i].(map[string]any)
		moderate := role["answers"].([]any)[1].(map[string]any)
		if text := role["name"].(string) + " " + moderate["answer"].(string); text != want || moderate["risk"] != "moderate" {
			t.Errorf("%v, want %s", role, want)
		}
	}
	if r := p.do("GET", "/api/policy", p.ann, ""); !strings.Contains(r.body, "git push") {
		t.Errorf("the rules are missing: %s", r.body)
	}
	p.want(p.do("GET", "/api/policy", p.agent, ""), 403, "insufficient_permissions")
}
