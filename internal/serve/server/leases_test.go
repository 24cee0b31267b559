package server

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"
)

// leased submits a question with a lease.
func (p *parties) leased(id string) {
	p.t.Helper()
	p.post("/api/approvals", p.agent, `{"id":"`+id+`","digest":"1:d","project":"/w","session":"s","lease":60,"question":{"id":"`+id+`","digest":"1:d","choices":[{"name":"once"},{"name":"deny"}]}}`, 200)
}

// lapses looks for askers that are gone, at a time.
func (h *harness) lapses(now time.Time) {
	h.t.Helper()
	if err := h.lapse(h.t.Context(), now); err != nil {
		h.t.Fatal(err)
	}
}

// status checks the status of an approval.
func (h *harness) status(id, want string) {
	h.t.Helper()
	e, err := h.options.Store.Get(h.t.Context(), id)
	if err != nil || e.Status.String() != want {
		h.t.Errorf("%s is %s, want %s (%v)", id, e.Status, want, err)
	}
}

// waits waits until so many requests wait for a question.
func (h *harness) waits(id string, want int) {
	h.t.Helper()
	for {
		h.leases.mu.Lock()
		n := h.leases.waits[id]
		h.leases.mu.Unlock()
		if n == want {
			return
		}
		runtime.Gosched()
	}
}

// TestAskerIsGone: what an asker waits for is not abandoned; when it dies, it is, after
// its lease. Who only looks, and another agent, are not the asker.
func TestAskerIsGone(t *testing.T) {
	p := meet(t, Options{})
	other, _ := p.token(RoleAgent, "chat", "other")
	p.leased("a")
	ctx, kill := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() { p.askFor(ctx, "a") })
	p.waits("a", 1)
	now := time.Now()
	p.lapses(now)
	p.lapses(now.Add(2 * time.Minute))
	p.status("a", "pending")
	kill()
	waiting.Wait()
	p.waits("a", 0)
	p.lapses(now.Add(2*time.Minute + 59*time.Second))
	p.status("a", "pending")
	p.get("/api/approvals/a", p.ann)
	p.want(p.do("GET", "/api/approvals/a?wait=1", other, ""), 404, "approval_not_found")
	p.lapses(now.Add(3 * time.Minute))
	p.status("a", "abandoned")
	if got := p.get("/api/approvals/a?wait=55", p.agent)["status"]; got != "abandoned" {
		t.Errorf("who comes back is told that it is %v", got)
	}
}

// askFor waits for an answer as an asker does, until it is killed.
func (p *parties) askFor(ctx context.Context, id string) {
	r, err := http.NewRequestWithContext(ctx, "GET", p.url+"/api/approvals/"+id+"?wait=55", http.NoBody)
	if err != nil {
		p.t.Error(err)
		return
	}
	if resp, err := p.web(p.agent).Do(r); err == nil {
		_ = resp.Body.Close()
	}
}

// TestAnswerEndsTheWait: who waits for an answer gets it at once.
func TestAnswerEndsTheWait(t *testing.T) {
	p := meet(t, Options{})
	p.leased("a")
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if got := p.get("/api/approvals/a?wait=55", p.agent)["status"]; got != "approved" {
			t.Errorf("it is %v", got)
		}
	})
	p.waits("a", 1)
	p.reply(p.ann, "a", "once", 200)
	waiting.Wait()
	p.want(p.do("GET", "/api/approvals/a?wait=56", p.agent, ""), 400, "bad_request")
	p.want(p.do("POST", "/api/approvals", p.agent, `{"id":"b","digest":"1:d","project":"/w","session":"s","lease":-1,"question":{"id":"b","digest":"1:d"}}`), 400, "bad_request")
}

// TestOwnQuestionsStay: what the server asks about itself has no asker that dies.
func TestOwnQuestionsStay(t *testing.T) {
	p := meet(t, Options{})
	decided := p.post("/api/decisions", p.agent, bash("chmod 600 x"), 200)["approval_id"].(string)
	command := p.execute(p.begin(), "chmod 600 y")["approval_id"].(string)
	p.lapses(time.Now().Add(24 * time.Hour))
	p.status(decided, "pending")
	p.status(command, "pending")
}

// TestLeaseAfterRestart: whoever waited when the server ended has the time of a lease to
// come back; so has everybody when the store could not be used.
func TestLeaseAfterRestart(t *testing.T) {
	kept := &flaky{Store: open(t)}
	p := meet(t, Options{Store: kept})
	p.leased("a")
	later := time.Now().Add(time.Hour)
	p.leases.looking.Lock()
	p.leases.since = later // another server, an hour later
	p.leases.looking.Unlock()
	p.lapses(later.Add(59 * time.Second))
	p.status("a", "pending")
	kept.broken.Store(true)
	if err := p.lapse(t.Context(), later.Add(time.Minute)); err == nil {
		t.Error("the store fails, and nobody is told")
	}
	kept.broken.Store(false)
	p.lapses(later.Add(119 * time.Second))
	p.status("a", "pending")
	p.lapses(later.Add(120 * time.Second))
	p.status("a", "abandoned")
}
