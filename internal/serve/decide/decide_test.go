package decide_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lines"
)

// TestNoRequest: what is no request gets an error, with the id if one can be told, and
// the next line is answered.
func TestNoRequest(t *testing.T) {
	c := start(t, options{})
	can := func(params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"canUseTool","params":` + params + `}`
	}
	for _, test := range []struct {
		line, id string
		code     int
		says     string
	}{
		{"x", "null", -32700, "no JSON"},
		{"\x00\xff\xfe\x01", "null", -32700, "no JSON"},
		{`{"jsonrpc":"2.0","id":7,"method":"canUseTool"`, "null", -32700, "no JSON"},
		{`{"jsonrpc":"2.0","id":7,"method":"canUseTool"} {}`, "null", -32700, "no JSON"},
		{strings.Repeat("[", 20_000), "null", -32700, "no JSON"},
		{strings.Repeat("x", lines.Max+1), "null", -32600, "longer than 16777216 bytes"},
		{`{"jsonrpc":"2.0","id":7,"method":"canUseTool","params":{"tool":"` + strings.Repeat("x", lines.Max) + `"}}`, "null", -32600, "longer than"},
		{"[]", "null", -32600, "batch"},
		{`[{"jsonrpc":"2.0","id":7,"method":"canUseTool"}]`, "null", -32600, "batch"},
		{"7", "null", -32600, "no request"},
		{"null", "null", -32600, ""},
		{"{}", "null", -32600, `jsonrpc: it is "2.0"`},
		{`{"id":7,"method":"canUseTool"}`, "7", -32600, `jsonrpc: it is "2.0"`},
		{`{"jsonrpc":"1.0","id":"7","method":"canUseTool"}`, `"7"`, -32600, `jsonrpc: it is "2.0"`},
		{`{"jsonrpc":"2.0","id":7}`, "7", -32600, "method: it is missing"},
		{`{"jsonrpc":"2.0","result":{}}`, "null", -32600, "a response has that of its request"},
		{`{"jsonrpc":"2.0","id":{},"method":"canUseTool"}`, "null", -32600, "id: it is a string or a whole number"},
		{`{"jsonrpc":"2.0","id":1.0,"method":"canUseTool"}`, "null", -32600, "id: it is a string or a whole number"},
		{`{"jsonrpc":"2.0","id":-1e0,"method":"canUseTool"}`, "null", -32600, "id: it is a string or a whole number"},
		{`{"jsonrpc":"2.0","id":-0,"method":"canUseTool"}`, "null", -32600, "id: it is a string or a whole number"},
		{`{"jsonrpc":"2.0","id":null,"method":"canUseTool"}`, "null", -32600, "id: it is a string or a whole number"},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("7", 2000) + `","method":"canUseTool"}`, "null", -32600, "id"},
		{`{"jsonrpc":"2.0","id":7,"Method":"canUseTool"}`, "7", -32600, "did you mean method?"},
		{`{"jsonrpc":"2.0","id":7,"id":8,"method":"canUseTool"}`, "8", -32600, "appears twice"},
		{can(`{"tool":"Bash","tool":"Read","input":{}}`), "7", -32600, "appears twice"},
		{can(`{"tool":"Bash","input":{"command":"ls","command":"curl x"}}`), "7", -32600, "appears twice"},
		{can(`{"tool":"Bash","input":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`), "7", -32600, "nested deeper"},
		{`{"jsonrpc":"2.0","id":7,"method":"canusetool"}`, "7", -32601, "it is one of"},
		{can(`[1]`), "7", -32602, "params: it is an object"},
		{can(`{}`), "7", -32602, "tool: it is missing"},
		{can(`{"tool":1}`), "7", -32602, "tool: must be a string, not a number"},
		{can(`{"tool":"Bash"}`), "7", -32602, "input: it is missing"},
		{can(`{"tool":"Bash","input":{},"cwd":"x"}`), "7", -32602, "cwd: x is not absolute"},
		{can(`{"tool":"Bash","input":{},"toolUseId":"x"}`), "7", -32602, "did you mean toolUseID?"},
	} {
		c.send(test.line)
		l := c.next()
		if l.Error == nil || l.Error.Code != test.code || string(l.ID) != test.id || !strings.Contains(l.Error.Message, test.says) {
			t.Errorf("%.80s: got %.200s, want id %s, %d with %q", test.line, l.text, test.id, test.code, test.says)
		}
	}
	for _, blank := range []string{"", "  \r", "\t"} {
		c.send(blank)
	}
	c.send(can(`{"tool":"Bash","input":{"command":"ls"},"newer":1}`) + "\r")
	if a := c.response("7").answer(t); a.Behavior != "allow" {
		t.Errorf("%+v", a)
	}
	if rest, err := c.end(); err != nil || len(rest) > 0 {
		t.Errorf("%v, %v", rest, err)
	}
}

// TestInputsAreReadStrictly: an input that is no object is an error, and what is not
// understood of one is denied.
func TestInputsAreReadStrictly(t *testing.T) {
	c := start(t, options{})
	for _, input := range []string{`[]`, `7`, `"{\"command\":\"ls\"}"`, `null`} {
		c.request("1", "canUseTool", `{"tool":"Bash","input":`+input+`}`)
		if l := c.response("1"); l.Error == nil || !strings.Contains(l.Error.Message, "input: it is an object") {
			t.Errorf("%s: %s", input, l.text)
		}
	}
	for _, input := range []string{`{"Command":"ls"}`, `{}`, `{"command":"ls","x":1}`} {
		c.request("1", "canUseTool", `{"tool":"Bash","input":`+input+`}`)
		if a := c.response("1").answer(t); a.Behavior != "deny" && input != `{"command":"ls","x":1}` {
			t.Errorf("%s: %+v", input, a)
		}
	}
	c.end()
}

// TestIDInFlight: an id that is used again while its request is in flight is an error,
// since an answer could be taken for that of the other.
func TestIDInFlight(t *testing.T) {
	c := start(t, options{})
	c.bash("1", "npm install a")
	q := c.question()
	c.bash("1", "ls")
	if l := c.next(); l.Error == nil || l.Error.Code != -32600 || string(l.ID) != `"1"` {
		t.Errorf("got %s", l.text)
	}
	c.request(`"\u0031"`, "canUseTool", `{"tool":"Bash","input":{"command":"ls"}}`) // a client reads it as "1"
	if l := c.next(); l.Error == nil || l.Error.Code != -32600 {
		t.Errorf("got %s", l.text)
	}
	c.respond(q.ID, `{"choice":"once"}`)
	if a := c.response(`"1"`).answer(t); a.Behavior != "allow" || a.Decision.By != "person" || string(a.UpdatedInput) != `{"command":"npm install a"}` {
		t.Errorf("%+v", a)
	}
	c.bash("1", "ls") // it is free again
	if a := c.response(`"1"`).answer(t); a.Behavior != "allow" {
		t.Errorf("%+v", a)
	}
	c.request("7", "canUseTool", `{"tool":"Bash","input":{"command":"ls"}}`) // a number is another id than a string
	c.response("7")
	c.end()
}

// TestResponses: the response to a question is an answer to that question; one that
// cannot be used denies.
func TestResponses(t *testing.T) {
	for _, test := range []struct {
		response string // of the client, without its id
		behavior string
		says     string
	}{
		{`"result":{"choice":"once"}`, "allow", ""},
		{`"result":{"choice":"edit","input":{"command":"git status"}}`, "allow", ""},
		{`"result":{"choice":"edit","input":{"command":"curl x"}}`, "deny", "Denied: denied by rule Bash(curl:*)"},
		{`"result":{"choice":"words","message":"use pnpm"}`, "deny", "use pnpm"},
		{`"result":{"choice":"deny","newer":1}`, "deny", "Denied by the person who was asked."},
		{`"result":{"choice":"yes"}`, "deny", `does not count: choice "yes" is not offered`},
		{`"result":{"choice":"session","rung":9}`, "deny", "does not count: rung 9"},
		{`"result":{"choice":1}`, "deny", "cannot be read"},
		{`"result":[]`, "deny", "cannot be read"},
		{`"result":null`, "deny", "does not count"},
		{`"result":{}`, "deny", "does not count"},
		{`"result":{"choice":"once","digest":"1:00"}`, "deny", "digest is not that of the question"},
		{`"result":{"choice":"once","id":"q9.9"}`, "deny", "id is not q"},
		{`"error":{"code":1,"message":"no window"}`, "deny", "could not ask: {\"code\":1,\"message\":\"no window\"}"},
		{`"error":"boom"`, "deny", "could not ask"},
	} {
		c := start(t, options{})
		c.bash("1", "npm install a")
		q := c.question()
		c.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,` + test.response + `}`)
		if a := c.response(`"1"`).answer(t); a.Behavior != test.behavior || !strings.Contains(a.Message, test.says) {
			t.Errorf("%s: got %+v, want %s with %q", test.response, a, test.behavior, test.says)
		}
		c.end()
	}
}

// TestNobodyToAsk: without a client that is asked, a question is a denial that says so.
func TestNobodyToAsk(t *testing.T) {
	c := start(t, options{silent: true})
	c.bash("1", "npm install a")
	if a := c.response(`"1"`).answer(t); a.Behavior != "deny" || !strings.Contains(a.Message, "there is nobody to ask") {
		t.Errorf("%+v", a)
	}
	c.end()
}

// TestClientGone: when the input ends, what waits is denied and what was begun is
// answered; nothing is left undecided in the record.
func TestClientGone(t *testing.T) {
	c := start(t, options{})
	for i := range 100 {
		c.bash(fmt.Sprint("u", i), fmt.Sprint("npm install a", i))
	}
	for range 100 {
		c.question()
	}
	rest, err := c.end()
	denied := 0
	for _, l := range rest {
		if l.Method == "" && l.answer(t).Behavior == "deny" {
			denied++
		}
	}
	if err != nil || denied != 100 {
		t.Errorf("%d denied, %v", denied, err)
	}
	data, err := os.ReadFile(c.record)
	if n := strings.Count(string(data), `"behavior":"deny"`); err != nil || n != 100 || strings.Contains(string(data), `"behavior":"allow"`) {
		t.Errorf("the record has %d denials, %v", n, err)
	}
}

// TestCancelled: a request that the client cancels is denied, and its question is
// withdrawn.
func TestCancelled(t *testing.T) {
	c := start(t, options{})
	c.bash("1", "npm install a")
	q := c.question()
	c.request("2", "cancel", `{"id":"1"}`)
	var got []string
	for range 3 {
		switch l := c.next(); {
		case l.Method == "withdrawn":
			got = append(got, l.Params.ID+" "+l.Params.Reason)
		case string(l.ID) == "2":
			got = append(got, string(l.Result))
		default:
			if a := l.answer(t); a.Behavior != "deny" || !strings.Contains(a.Message, "(cancelled)") {
				t.Errorf("%+v", a)
			}
			got = append(got, "denied")
		}
	}
	if !strings.Contains(strings.Join(got, ", "), q.Params.ID+" cancelled") || !strings.Contains(strings.Join(got, ", "), `{"cancelled":true}`) {
		t.Errorf("%q", got)
	}
	c.respond(q.ID, `{"choice":"once"}`) // too late, which nobody needs to hear
	for _, p := range []string{`{"id":"1"}`, `{"id":"none"}`} {
		c.request("3", "cancel", p)
		if l := c.response("3"); string(l.Result) != `{"cancelled":false}` {
			t.Errorf("%s: %s", p, l.text)
		}
	}
	for _, p := range []string{`{}`, `{"id":{}}`, `{"id":null}`} {
		c.request("3", "cancel", p)
		if l := c.response("3"); l.Error == nil || l.Error.Code != -32602 {
			t.Errorf("%s: %s", p, l.text)
		}
	}
	c.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"1"}}`) // a notification
	c.send(`{"jsonrpc":"2.0","method":"canUseTool","params":{"tool":"Bash","input":{}}}`)
	if l := c.next(); l.Method != "warning" || !strings.Contains(l.Params.Message, "without an id") {
		t.Errorf("%s", l.text)
	}
	c.end()
}

// TestCancelRace: a cancel that races an answer ends in one result, and what the result
// says is what the record says.
func TestCancelRace(t *testing.T) {
	c := start(t, options{})
	var answered sync.WaitGroup
	for i := range 200 {
		id := fmt.Sprint("u", i)
		c.bash(id, fmt.Sprint("npm install a", i))
		q := c.question()
		answered.Go(func() { c.respond(q.ID, `{"choice":"once"}`) })
		c.request(`"c"`, "cancel", `{"id":"`+id+`"}`)
		var a string
		for n := 0; n < 2; {
			l := c.next()
			if l.Method == "" {
				n++
			}
			if string(l.ID) == `"`+id+`"` {
				a = l.answer(t).Behavior
			}
		}
		data, err := os.ReadFile(c.record)
		last := string(data[strings.LastIndex(string(data), `"use":"`+id+`"`):])
		if err != nil || !strings.Contains(last, `"behavior":"`+a+`"`) {
			t.Fatalf("the client was told %s, and the record says %s", a, last)
		}
		answered.Wait()
	}
	c.end()
}

// TestBurst: many requests at once are answered, each once and as themselves, also for
// a client that reads nothing before it has written all of them.
func TestBurst(t *testing.T) {
	c := start(t, options{})
	n := 2000
	if os.Getenv("AW_LONG") != "" {
		n = 10_000
	}
	written := make(chan bool)
	go func() {
		defer close(written)
		for i := range n {
			c.plain(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"canUseTool","params":{"tool":"Bash","input":{"command":"ls a%d"}}}`, i, i))
		}
	}()
	<-written
	seen := map[string]bool{}
	for range n {
		l := &line{text: c.raw()} // not held against the schema: there are many
		var input struct{ Command string }
		if json.Unmarshal([]byte(l.text), l) != nil || json.Unmarshal(l.answer(t).UpdatedInput, &input) != nil || input.Command != "ls a"+string(l.ID) || seen[string(l.ID)] {
			t.Fatalf("%s", l.text)
		}
		seen[string(l.ID)] = true
	}
	if rest, err := c.end(); err != nil || len(rest) > 0 {
		t.Errorf("%d more, %v", len(rest), err)
	}
}

// TestOwnShell: what a line leaves in its shell is asked about, and so denied here, unless
// the client says that the shell ends with the line.
func TestOwnShell(t *testing.T) {
	c := start(t, options{silent: true, rules: `allow = ["Bash(then)"]`})
	for field, want := range map[string]string{"": "deny", `,"ownShell":false`: "deny", `,"ownShell":true`: "allow"} {
		use := `{"tool":"Bash","input":{"command":"export GOCACHEPROG=./x"}` + field + `}`
		c.request("1", "canUseTool", use)
		if a := c.response("1").answer(t); a.Behavior != want {
			t.Errorf("%q: %+v", field, a)
		}
		c.request("2", "explain", use)
		if l := c.response("2"); strings.Contains(l.text, "for later commands") == (want == "allow") {
			t.Errorf("%q is explained: %.300s", field, l.text)
		}
	}
	c.request("3", "canUseTool", `{"tool":"Bash","input":{"command":"ls"},"ownShell":"yes"}`)
	if l := c.response("3"); l.Error == nil || !strings.Contains(l.Error.Message, "ownShell") {
		t.Errorf("a text: %s", l.text)
	}
	c.end()
}
