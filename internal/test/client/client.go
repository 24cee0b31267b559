// Package client drives "agent-wrapper decide --stdio" as a program does that has an
// agent of its own. It speaks the wire protocol only, so that it drives builds of any
// age. It is for tests only.
package client

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Use is a tool use of an agent.
type Use struct {
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Dir     string          `json:"cwd,omitempty"`
	Session string          `json:"session,omitempty"`
	ID      string          `json:"toolUseID,omitempty"`
}

// Client is a decide that runs. It is used by one goroutine.
type Client struct {
	cmd      *exec.Cmd
	said     *strings.Builder // standard error; to be read when it has ended
	in       io.WriteCloser
	out      *bufio.Reader
	requests int
}

// Start starts decide in the project, with further flags.
func (p *Project) Start(flags ...string) (*Client, error) {
	args := append([]string{"decide", "--stdio", "--approvals", "stdio", "--cwd", p.Dir}, flags...)
	c := &Client{cmd: p.command(p.program, args...), said: &strings.Builder{}}
	c.cmd.Stderr = c.said
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReaderSize(out, 1<<20)
	return c, c.cmd.Start()
}

// Close ends decide.
func (c *Client) Close() error {
	c.in.Close()
	return c.cmd.Wait()
}

// ended returns the error of a decide that has ended too early, with the last that it said.
func (c *Client) ended(err error) error {
	if c.Close() == nil {
		return fmt.Errorf("decide has ended: %w", err)
	}
	said := strings.TrimSpace(c.said.String())
	return fmt.Errorf("decide has ended: %s: %s", c.cmd.ProcessState, said[strings.LastIndexByte(said, '\n')+1:])
}

// request is a line to decide.
type request struct {
	Version string `json:"jsonrpc"`
	ID      any    `json:"id"`
	Method  string `json:"method,omitempty"`
	Params  any    `json:"params,omitempty"`
	Result  any    `json:"result,omitempty"`
}

func (c *Client) send(r request) error {
	r.Version = "2.0"
	data, err := json.Marshal(r)
	if err == nil {
		_, err = c.in.Write(append(data, '\n'))
	}
	return err
}

// A Reply is what decide answers.
type Reply struct {
	Result   json.RawMessage // or the error, as it was sent
	Question json.RawMessage // that was put to the person before, nil if none
}

// An Answerer answers a question as a person would.
type Answerer func(question json.RawMessage) (answer any)

// call sends a request and waits for its result. Questions are answered.
func (c *Client) call(method string, params any, person Answerer) (r Reply, err error) {
	c.requests++
	id := fmt.Sprint("u", c.requests)
	if err := c.send(request{ID: id, Method: method, Params: params}); err != nil {
		return r, c.ended(err)
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return r, c.ended(err)
		}
		var m struct {
			ID, Params, Result, Error json.RawMessage
			Method                    string
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return r, fmt.Errorf("%w: %s", err, line)
		}
		switch {
		case m.Method == "approve":
			r.Question = m.Params
			if err := c.send(request{ID: m.ID, Result: person(m.Params)}); err != nil {
				return r, err
			}
		case string(m.ID) == `"`+id+`"`:
			if r.Result = m.Result; m.Result == nil {
				r.Result = m.Error
			}
			return r, nil
		}
	}
}

// Explain has a tool use explained, which changes nothing.
func (c *Client) Explain(u Use) (Reply, error) { return c.call("explain", u, nil) }

// CanUse has a tool use decided.
func (c *Client) CanUse(u Use, person Answerer) (Reply, error) {
	u.ID = fmt.Sprint("u", c.requests+1)
	return c.call("canUseTool", u, person)
}

// EndSession ends a session; what was answered for it is forgotten.
func (c *Client) EndSession(name string) error {
	_, err := c.call("session", map[string]string{"action": "close", "session": name}, nil)
	return err
}
