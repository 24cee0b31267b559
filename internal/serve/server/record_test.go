package server

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestAuditBefore: the record is read from its end, page by page, and filters count there
// too.
func TestAuditBefore(t *testing.T) {
	o := recorded(t, "")
	p := meet(t, o)
	for i := range 30 {
		p.post("/api/decisions", p.agent, bash(fmt.Sprintf("ls -%d", i)), 200)
	}
	want := 31.0
	for before := "0"; ; {
		got := p.get("/api/audit?limit=7&before="+before, p.ann)
		for _, line := range got["lines"].([]any) {
			same(t, line.(map[string]any), "seq", want)
			want--
		}
		if got["before"] == nil {
			break
		}
		before = fmt.Sprint(got["before"])
	}
	if want != 0 {
		t.Errorf("it ends behind %v", want)
	}
	got := p.get("/api/audit?before=0&limit=2&kind=decision&text=LS%20-1", p.ann)
	lines := got["lines"].([]any)
	if len(lines) != 2 {
		t.Fatalf("%v", got)
	}
	same(t, lines[0].(map[string]any), "seq", 21.0)
	same(t, got, "before", 20.0)
	p.want(p.do("GET", "/api/audit?before=0&after=3", p.ann, ""), 400, "bad_request")
	p.want(p.do("GET", "/api/audit?before=-1", p.ann, ""), 400, "bad_request")
	p.want(p.do("GET", "/api/audit?before=0", p.agent, ""), 403, "insufficient_permissions")
}

// TestAuditState: what is verified grows with the record, and what was changed is named.
func TestAuditState(t *testing.T) {
	o := recorded(t, "")
	p := meet(t, o)
	same(t, p.get("/api/audit/state", p.ann), "records", 0.0, "done", true)
	for i := range 5 {
		p.post("/api/decisions", p.agent, bash(fmt.Sprintf("ls -%d", i)), 200)
		got := p.get("/api/audit/state", p.ann)
		same(t, got, "records", float64(i+2), "lines", float64(i+2), "done", true)
		if len(got["faults"].([]any)) != 0 || got["verified"] == nil {
			t.Errorf("%v", got)
		}
	}
	data, err := os.ReadFile(o.Record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Record, bytes.Replace(data, []byte("ls -1"), []byte("ls -9"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(o.Record, later, later); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", "?whole=true"} {
		got := p.get("/api/audit/state"+query, p.ann)
		faults := got["faults"].([]any)
		if len(faults) == 0 || faults[0].(map[string]any)["line"] != 3.0 {
			t.Errorf("%s: %v", query, got)
		}
	}
	p.chain.verifying.Lock() // another request verifies
	same(t, p.get("/api/audit/state", p.ann), "records", 6.0, "done", false)
	p.chain.verifying.Unlock()
	p.want(p.do("GET", "/api/audit/state?whole=1", p.ann, ""), 400, "bad_request")
	p.want(p.do("GET", "/api/audit/state", p.agent, ""), 403, "insufficient_permissions")
}
