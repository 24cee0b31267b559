package decide_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// ok returns the result of a request that must not fail.
func (c *client) ok(method, params string) string {
	c.Helper()
	c.request(`"ok"`, method, params)
	l := c.response(`"ok"`)
	if l.Error != nil {
		c.Fatalf("%s %s: %s", method, params, l.text)
	}
	return string(l.Result)
}

// fails returns the error of a request that must fail.
func (c *client) fails(method, params string, code int) string {
	c.Helper()
	c.request(`"fails"`, method, params)
	l := c.response(`"fails"`)
	if l.Error == nil || l.Error.Code != code {
		c.Fatalf("%s %s: %s, want error %d", method, params, l.text, code)
	}
	return l.Error.Message
}

// inSession asks about a command line in a session.
func (c *client) inSession(session, id, command string) {
	c.request(`"`+id+`"`, "canUseTool", fmt.Sprintf(`{"tool":"Bash","input":{"command":%q},"toolUseID":%q,"session":%q}`, command, id, session))
}

// decides returns the behavior for a command line in a session.
func (c *client) decides(session, command string) string {
	c.Helper()
	c.inSession(session, "d", command)
	return c.response(`"d"`).answer(c).Behavior
}

// TestSessions: what is answered for a session counts in that session, and again when
// it is resumed; a pause denies; a closed session denies what waits in it.
func TestSessions(t *testing.T) {
	c := start(t, options{})
	c.inSession("s", "1", "npm install a")
	q := c.question()
	c.respond(q.ID, `{"choice":"session"}`)
	c.response(`"1"`)
	if got := c.decides("s", "npm install a"); got != "allow" {
		t.Error("in the session:", got)
	}
	if got := c.ok("session", `{"action":"rules","session":"s"}`); !strings.Contains(got, `"grants":[{"id":1,"behavior":"allow","rule":"Bash(npm install a)"}],"waiting":0`) {
		t.Error(got)
	}
	c.inSession("other", "2", "npm install a")
	c.question() // in another session it is asked
	c.request(`"close"`, "session", `{"action":"close","session":"other"}`)
	got := c.responses(`"close"`, `"2"`)
	if l := got[`"close"`]; !strings.Contains(l.text, `"closed":true`) {
		t.Error(l.text)
	}
	if a := got[`"2"`].answer(t); a.Behavior != "deny" || !strings.Contains(a.Message, "the session was closed") {
		t.Errorf("%+v", a)
	}
	c.ok("session", `{"action":"pause","session":"s","reason":"look first"}`)
	c.inSession("s", "3", "ls")
	if a := c.response(`"3"`).answer(t); a.Behavior != "deny" || !strings.Contains(a.Message, "look first") {
		t.Errorf("%+v", a)
	}
	if got := c.ok("session", `{"action":"unpause","session":"s"}`); strings.Contains(got, "paused") {
		t.Error(got)
	}
	c.ok("session", `{"action":"close","session":"s"}`)
	c.ok("session", `{"action":"resume","session":"s"}`)
	if got := c.decides("s", "npm install a"); got != "allow" {
		t.Error("resumed:", got)
	}
	c.ok("session", `{"action":"revoke","session":"s","grant":1}`)
	c.inSession("s", "4", "npm install a")
	c.question()
	c.fails("session", `{"action":"revoke","session":"s","grant":1}`, -32602)
	c.fails("session", `{"action":"resume","session":"s"}`, -32602)
	c.fails("session", `{"action":"resume"}`, -32602)
	c.fails("session", `{"action":"close","session":"none"}`, -32602)
	c.fails("session", `{"action":"Open","session":"s"}`, -32602)
	c.fails("session", `{"action":"open","session":"`+strings.Repeat("x", 2000)+`"}`, -32602)
	c.end()
}

// TestHandedOn: a question that the client has handed on waits for an answer request,
// which is told why it does not count.
func TestHandedOn(t *testing.T) {
	c := start(t, options{})
	c.inSession("a", "1", "npm install a")
	first := c.question().Params
	c.inSession("b", "2", "git push")
	second := c.question().Params
	c.send(`{"jsonrpc":"2.0","id":"` + first.ID + `","result":{"handedOn":true}}`)
	c.send(`{"jsonrpc":"2.0","id":"` + second.ID + `","result":{"handedOn":true}}`)
	reply := func(id, digest, more string) string {
		return fmt.Sprintf(`{"id":%q,"digest":%q%s}`, id, digest, more)
	}
	for _, test := range []struct{ params, says string }{
		{`{}`, "params: id"},
		{reply("q9.1", first.Digest, `,"choice":"once"`), "no question with this id"},
		{reply("q1.1", first.Digest, `,"choice":"once"`), "no question with this id"},
		{reply("", first.Digest, `,"choice":"once"`), "params: id"},
		{reply(first.ID, second.Digest, `,"choice":"once"`), "a different request from the one that was shown"},
		{reply(first.ID, "", `,"choice":"once"`), "a different request from the one that was shown"},
		{reply(first.ID, first.Digest, ``), `choice "" is not offered`},
		{reply(first.ID, first.Digest, `,"choice":"session","rules":["Bash(git push)"]`), "cannot be kept"},
		{reply(first.ID, first.Digest, `,"choice":"edit","input":{"command":"npm install a"}`), "nothing was edited"},
	} {
		code := -32000
		if strings.HasPrefix(test.says, "params") {
			code = -32602
		}
		if got := c.fails("answer", test.params, code); !strings.Contains(got, test.says) {
			t.Errorf("%s: %s, want %s", test.params, got, test.says)
		}
	}
	c.request(`"a"`, "answer", reply(first.ID, first.Digest, `,"choice":"once","by":"phone"`))
	for range 2 {
		if l := c.next(); string(l.ID) == `"1"` && l.answer(t).Behavior != "allow" || l.Error != nil {
			t.Error(l.text)
		}
	}
	if got := c.fails("answer", reply(first.ID, first.Digest, `,"choice":"deny"`), -32000); !strings.Contains(got, "already approved, by phone") {
		t.Error(got)
	}
	c.request(`"close"`, "session", `{"action":"close","session":"b"}`)
	c.responses(`"close"`, `"2"`)
	c.fails("answer", reply(second.ID, second.Digest, `,"choice":"once"`), -32000)
	c.end()
}

// TestAlwaysIsKept: the answer says where a rule was written.
func TestAlwaysIsKept(t *testing.T) {
	c := start(t, options{})
	c.inSession("a", "1", "npm install a")
	q := c.question().Params
	c.send(`{"jsonrpc":"2.0","id":"` + q.ID + `","result":{"handedOn":true}}`)
	c.request(`"a"`, "answer", fmt.Sprintf(`{"id":%q,"digest":%q,"choice":"always","rung":1}`, q.ID, q.Digest))
	for range 2 {
		if l := c.next(); string(l.ID) == `"a"` && !strings.Contains(string(l.Result), "agent-wrapper.local.toml:") {
			t.Error(l.text)
		}
	}
	data, err := os.ReadFile(filepath.Join(c.dir, "agent-wrapper.local.toml"))
	if err != nil || !strings.Contains(string(data), "Bash(npm install:*)") {
		t.Errorf("%s, %v", data, err)
	}
	c.end()
}

// TestExplain: explain decides nothing, asks nobody and records nothing.
func TestExplain(t *testing.T) {
	c := start(t, options{})
	before := c.verify().Records
	var got struct {
		Decision struct{ Behavior, Layer, Rule, By string }
		Actions  []struct {
			Action, Risk string
			Layers       []struct {
				Layer, Behavior, Rule string
				Decides               bool
			}
		}
		Text string
	}
	if err := json.Unmarshal([]byte(c.ok("explain", `{"tool":"Bash","input":{"command":"ls && npm install a"}}`)), &got); err != nil {
		t.Fatal(err)
	}
	if d := got.Decision; d.Behavior != "ask" || d.Layer != "ask-list" || d.Rule != "Bash(npm install:*)" || d.By != "" {
		t.Errorf("%+v", d)
	}
	if len(got.Actions) != 2 || got.Actions[1].Action != "run npm install a" || !strings.Contains(got.Text, "ASK, by ask-list") {
		t.Errorf("%+v", got)
	}
	c.fails("explain", `{"tool":"Bash"}`, -32602)
	if after := c.verify().Records; after != before {
		t.Errorf("%d records became %d", before, after)
	}
	if got := c.ok("policy", `{}`); !strings.Contains(got, `{"key":"deny","text":"Bash(curl:*)","source":"rules:4:10"}`) {
		t.Error(got)
	}
	c.end()
}

// TestOutcome: what became of an allowed tool use is recorded, once.
func TestOutcome(t *testing.T) {
	c := start(t, options{})
	for id, command := range map[string]string{"a": "ls", "b": "make", "c": "curl x"} {
		c.bash(id, command)
		c.response(`"` + id + `"`)
	}
	c.ok("outcome", `{"toolUseID":"a"}`)
	c.send(`{"jsonrpc":"2.0","method":"outcome","params":{"toolUseID":"b","failed":true,"exit":2}}`)
	c.fails("outcome", `{"toolUseID":"a"}`, -32602)
	c.fails("outcome", `{"toolUseID":"c"}`, -32602)
	c.fails("outcome", `{"toolUseID":"a","session":"none"}`, -32602)
	c.fails("outcome", `{}`, -32602)
	c.end()
	data, err := os.ReadFile(c.record)
	for _, want := range []string{`"use":"a","tool":"Bash","of":`, `"outcome":"ran"`, `"outcome":"failed","exit":2`} {
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%v: no %s in %s", err, want, data)
		}
	}
	if strings.Count(string(data), `"kind":"outcome"`) != 2 {
		t.Errorf("%s", data)
	}
}

// TestSessionsAtOnce: several engines of a process write one record, whose chain holds.
func TestSessionsAtOnce(t *testing.T) {
	slow.Test(t)
	c := start(t, options{})
	const sessions, uses = 20, 50
	go func() {
		for i := range sessions * uses {
			c.inSession(fmt.Sprint("s", i%sessions), fmt.Sprint("u", i), fmt.Sprint("ls a", i))
		}
	}()
	for n := 0; n < sessions*uses; {
		if l := c.next(); l.Method == "" {
			n++
			if a := l.answer(t); a.Behavior != "allow" {
				t.Fatalf("%+v", a)
			}
		}
	}
	if report := c.verify(); report.Records != sessions*uses+1 {
		t.Errorf("%d records", report.Records)
	}
	c.end()
}
