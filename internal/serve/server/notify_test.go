package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestNotify: a question that waits at the server is told of, though nothing waits for it
// there, and one that was answered is none of those that wait.
func TestNotify(t *testing.T) {
	bodies := make(chan []byte, 9)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
	}))
	defer hook.Close()
	p := meet(t, Options{Open: opener(t, workspace(t), "[notify]\nafter = \"1s\"\nwebhook = \""+hook.URL+"\"\n")})
	first := p.post("/api/decisions", p.agent, bash("chmod 600 x"), 200)["approval_id"].(string)
	p.reply(p.ann, first, "once", 200)
	same(t, p.get("/api/decisions/"+first+"?wait=25", p.agent), "behavior", "allow")
	second := p.post("/api/decisions", p.agent, bash("chmod 600 y"), 200)["approval_id"].(string)
	for {
		var notice struct {
			Tool, Summary string
			Waiting       int
		}
		if err := json.Unmarshal(<-bodies, &notice); err != nil {
			t.Fatal(err)
		}
		if notice.Summary == "chmod 600 x" { // this machine is slow
			continue
		}
		if notice.Tool != "Bash" || notice.Summary != "chmod 600 y" || notice.Waiting != 1 {
			t.Errorf("%+v", notice)
		}
		break
	}
	p.reply(p.ann, second, "deny", 200)
	same(t, p.get("/api/decisions/"+second+"?wait=25", p.agent), "behavior", "deny")
}
