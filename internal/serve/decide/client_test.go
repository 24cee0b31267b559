package decide_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/decide"
)

// rules allow some commands and ask about others.
const rules = `
allow = ["Bash", "Read"]
ask = ["Bash(npm install:*)", "Bash(git push:*)", "Edit"]
deny = ["Bash(curl:*)"]
unlisted = "ask"
`

// line is a line of the server.
type line struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ID        string `json:"id"`
		Digest    string `json:"digest"`
		ToolUseID string `json:"tool_use_id"`
		Reason    string `json:"reason"`
		Message   string `json:"message"`
		Session   string `json:"session"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	text string
}

// answer returns the result of canUseTool.
func (l *line) answer(t testing.TB) (a struct {
	Behavior, Message string
	UpdatedInput      json.RawMessage
	Decision          struct{ Behavior, Layer, By, Reason string }
}) {
	t.Helper()
	if l.Error != nil || json.Unmarshal(l.Result, &a) != nil {
		t.Fatalf("no answer: %s", l.text)
	}
	return a
}

// client is a program that asks.
type client struct {
	testing.TB
	dir, record string
	dirs        engine.Dirs
	in          io.WriteCloser
	out         *bufio.Reader
	cancel      context.CancelFunc
	ended       chan error
	over        chan bool
	mu          sync.Mutex // for writing
}

// options are those of a server for a test.
type options struct {
	rules  string
	silent bool // ask nobody
	record string
	open   func(engine.Options) (*engine.Engine, error)
}

// start starts a server, and stops it at the end of the test.
func start(t testing.TB, o options) *client {
	t.Helper()
	c := prepare(t, &o)
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReaderSize(out, 1<<16)
	c.serve(o, serverIn, serverOut)
	t.Cleanup(func() {
		in.Close()
		out.Close()
		c.cancel()
		<-c.over
	})
	if l := c.next(); l.Method != "warning" || !strings.Contains(l.Params.Message, "rule Bash") {
		t.Fatalf("no warning of the policy: %s", l.text)
	}
	return c
}

// prepare makes the directories of a client.
func prepare(t testing.TB, o *options) *client {
	c := &client{TB: t, dir: t.TempDir(), ended: make(chan error, 1), over: make(chan bool)}
	state := t.TempDir()
	c.dirs = engine.Dirs{State: state, User: filepath.Join(state, "user")}
	c.record = filepath.Join(state, "audit.jsonl")
	if o.rules == "" {
		o.rules = rules
	}
	if o.record != "" {
		c.record = o.record
	}
	return c
}

// serve runs the server on a connection.
func (c *client) serve(o options, in io.Reader, out io.WriteCloser) {
	spec, err := policy.Parse([]byte(o.rules), "rules")
	if err != nil {
		c.Fatal(err)
	}
	if o.open == nil {
		o.open = engine.Open
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(c.over)
		defer out.Close()
		c.ended <- decide.Serve(ctx, in, out, decide.Options{
			Ask: !o.silent,
			Open: func(warn func(string)) (*engine.Engine, error) {
				return o.open(engine.Options{Dir: c.dir, Dirs: &c.dirs, Settings: spec, Record: c.record, Sync: audit.SyncNone, NoAdvice: true, Warn: warn})
			},
		})
	}()
}

// send writes a line.
func (c *client) send(text string) {
	if len(text) < 1<<20 {
		c.asked(text)
	}
	c.plain(text)
}

// plain writes a line that is not held against the schema.
func (c *client) plain(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.Errorf("send %.100s: %v", text, err)
	}
}

// request writes a request.
func (c *client) request(id, method, params string) {
	c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
}

// bash asks about a command line; the id is that of the request and of the tool use.
func (c *client) bash(id, command string) {
	text, _ := json.Marshal(command)
	c.request(`"`+id+`"`, "canUseTool", `{"tool":"Bash","input":{"command":`+string(text)+`},"toolUseID":"`+id+`"}`)
}

// respond writes the response to a request of the server.
func (c *client) respond(id json.RawMessage, result string) {
	c.send(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

// raw returns the next line of the server as it is.
func (c *client) raw() string {
	c.Helper()
	text, err := c.out.ReadString('\n')
	if err != nil {
		c.Fatalf("the server is gone: %v", err)
	}
	return text
}

// next returns the next line of the server.
func (c *client) next() *line {
	c.Helper()
	text := c.raw()
	c.conforms(text)
	l := &line{text: strings.TrimSpace(text)}
	if err := json.Unmarshal([]byte(text), l); err != nil {
		c.Fatalf("%s: %v", text, err)
	}
	return l
}

// response returns the response to a request, and drops notifications.
func (c *client) response(id string) *line {
	c.Helper()
	for {
		l := c.next()
		switch {
		case l.Method == "" && string(l.ID) == id:
			return l
		case l.Method == "approve" || l.Method == "":
			c.Fatalf("in place of the response to %s: %s", id, l.text)
		}
	}
}

// responses returns the responses to several requests, in any order.
func (c *client) responses(ids ...string) map[string]*line {
	c.Helper()
	all := map[string]*line{}
	for len(all) < len(ids) {
		switch l := c.next(); {
		case l.Method == "" && slices.Contains(ids, string(l.ID)):
			all[string(l.ID)] = l
		case l.Method == "approve" || l.Method == "":
			c.Fatalf("in place of the responses to %s: %s", ids, l.text)
		}
	}
	return all
}

// question returns the next question, and drops notifications.
func (c *client) question() *line {
	c.Helper()
	for {
		if l := c.next(); l.Method == "approve" {
			return l
		} else if l.Method == "" {
			c.Fatalf("in place of a question: %s", l.text)
		}
	}
}

// end ends the input and returns what is left of the output, with the error of Serve.
// The record must be whole.
func (c *client) end() (rest []*line, err error) {
	c.Helper()
	c.in.Close()
	done := make(chan bool)
	go func() {
		defer close(done)
		for {
			text, err := c.out.ReadString('\n')
			if err != nil {
				return
			}
			c.conforms(text)
			l := &line{text: text}
			if err := json.Unmarshal([]byte(text), l); err != nil {
				c.Errorf("%s: %v", text, err)
			}
			rest = append(rest, l)
		}
	}()
	err = <-c.ended
	<-done
	c.verify()
	return rest, err
}

// verify checks the chain of the record.
func (c *client) verify() *audit.Report {
	c.Helper()
	head, err := c.dirs.Head(c.record)
	if err != nil {
		c.Fatal(err)
	}
	report, err := audit.Verify(c.record, head, "")
	if err != nil || len(report.Faults) > 0 {
		c.Errorf("the record: %v, %v", err, report)
	}
	return report
}
