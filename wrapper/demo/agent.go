package demo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// protocol is the version of the agent CLI whose protocol the agent implements.
const protocol = "2.1.329"

// Start returns a starter for an agent that follows the script in the workspace
// dir, for claude.Agent.Start. An agent that is started again begins the script
// anew.
func (s Script) Start(dir string) wrapper.Starter {
	return func(args []string) (wrapper.Process, error) {
		hears, in := io.Pipe()
		out, says := io.Pipe()
		p := &process{Reader: out, WriteCloser: in, pipes: []io.Closer{hears, says, in, out}, ended: make(chan struct{})}
		a := &agent{script: s, tools: tools{dir: dir}, settings: settingsOf(args), out: says, heard: make(chan line)}
		go a.listen(hears)
		go func() {
			defer close(p.ended)
			a.run()
			p.Kill()
		}()
		return p, nil
	}
}

// process is the agent as the driver sees it.
type process struct {
	io.Reader
	io.WriteCloser
	pipes []io.Closer
	ended chan struct{}
}

func (p *process) Kill() {
	for _, c := range p.pipes {
		c.Close()
	}
}

func (p *process) Wait() error {
	<-p.ended
	return nil
}

func (p *process) Complaints() string { return "" }

// agent is one run of the script.
type agent struct {
	script Script
	tools  tools
	// settings are those among the arguments.
	settings json.RawMessage
	out      io.Writer
	heard    chan line
	hook     string // callback ID of the driver's PreToolUse hook
	asked    int    // number of requests sent
}

// settingsOf returns the value of --settings among the arguments.
func settingsOf(args []string) json.RawMessage {
	for _, arg := range args {
		if text, found := strings.CutPrefix(arg, "--settings="); found {
			return json.RawMessage(text)
		}
	}
	return json.RawMessage("{}")
}

// object is a JSON object.
type object = map[string]any

// line is a line from the driver.
type line struct {
	Type    string `json:"type"`
	ID      string `json:"request_id"`
	Request struct {
		Subtype string `json:"subtype"`
		Hooks   map[string][]struct {
			Callbacks []string `json:"hookCallbackIds"`
		} `json:"hooks"`
	} `json:"request"`
	Response struct {
		ID       string          `json:"request_id"`
		Response json.RawMessage `json:"response"`
	} `json:"response"`
}

// errEnd ends the agent: its input has ended, or it was interrupted.
var errEnd = errors.New("the end")

// listen receives lines until the input ends.
func (a *agent) listen(in io.Reader) {
	defer close(a.heard)
	d := json.NewDecoder(bufio.NewReader(in))
	for {
		var l line
		if d.Decode(&l) != nil {
			return
		}
		a.heard <- l
	}
}

// run plays the script, from the first request of the driver to the end of the
// script.
func (a *agent) run() {
	defer func() {
		for range a.heard { // let listen finish
		}
	}()
	if a.prepare() != nil {
		return
	}
	err := a.work()
	if err == nil {
		a.text(a.script.Last)
		a.say(object{"type": "result", "subtype": "success", "is_error": false, "result": a.script.Last})
	} else {
		a.say(object{"type": "result", "subtype": "error_during_execution", "is_error": true})
	}
	a.state("idle")
}

func (a *agent) say(v object) {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = a.out.Write(append(b, '\n'))
	}
	_ = err // a closed output is noticed when the input ends
}

func (a *agent) text(text string) {
	if text != "" {
		a.message("assistant", object{"type": "text", "text": text}, nil)
	}
}

func (a *agent) state(name string) {
	a.say(object{"type": "system", "subtype": "session_state_changed", "state": name})
}

// message sends a message with one block; meta reports the decision about it, nil
// if there is none.
func (a *agent) message(role string, block, meta object) {
	m := object{"type": role, "message": object{"role": role, "content": []any{block}}, "parent_tool_use_id": nil}
	if meta != nil {
		m["tool_result_meta"] = []any{meta}
	}
	a.say(m)
}

// accounts are the answers to the preflight, by subtype of the request: the agent
// has the settings that were passed, and no others.
func (a *agent) accounts() object {
	return object{
		"initialize":            object{"claude_code_version": protocol, "current_permission_mode": "default", "hooks_applied": true, "hook_on_failure_supported": true},
		"get_settings":          object{"effective": a.settings, "sources": []any{object{"source": "flagSettings", "settings": a.settings}}},
		"list_permission_rules": object{"state": object{"managedOnly": false, "rules": []any{object{"behavior": "ask", "source": "flagSettings", "rule": "*"}}}},
		"get_hooks_listing":     object{"hooks": []any{}, "policy": object{"policyHookCount": 0}},
	}
}

// prepare answers the preflight until the prompt comes.
func (a *agent) prepare() error {
	accounts := a.accounts()
	for l := range a.heard {
		if l.Type == "user" {
			a.state("running")
			a.say(object{"type": "system", "subtype": "init", "session_id": "demo", "permissionMode": "default", "claude_code_version": protocol})
			return nil
		}
		if hooks := l.Request.Hooks["PreToolUse"]; len(hooks) == 1 && len(hooks[0].Callbacks) == 1 {
			a.hook = hooks[0].Callbacks[0]
		}
		a.say(object{"type": "control_response", "response": object{
			"subtype": "success", "request_id": l.ID, "response": accounts[l.Request.Subtype],
		}})
	}
	return errEnd
}

// work takes the steps in order.
func (a *agent) work() error {
	for i, s := range a.script.Steps {
		a.text(s.Say)
		if err := a.use(fmt.Sprintf("demo-%d", i+1), s); err != nil {
			return err
		}
	}
	return nil
}

// answer is the driver's answer about a tool use.
type answer struct {
	Behavior  string          `json:"behavior"`
	Message   string          `json:"message"`
	Interrupt bool            `json:"interrupt"`
	Input     json.RawMessage `json:"updatedInput"`
	Hook      struct {
		Decision string `json:"permissionDecision"`
		Reason   string `json:"permissionDecisionReason"`
	} `json:"hookSpecificOutput"`
}

// use asks about one tool use as the agent CLI does, by the hook and then by
// can_use_tool, and carries it out if it is allowed.
func (a *agent) use(id string, s Step) error {
	input := a.tools.expand(s)
	a.message("assistant", object{"type": "tool_use", "id": id, "name": s.Tool, "input": input}, nil)
	hook, err := a.ask(object{"subtype": "hook_callback", "callback_id": a.hook, "tool_use_id": id, "input": object{
		"hook_event_name": "PreToolUse", "cwd": a.tools.dir, "tool_name": s.Tool, "tool_input": input, "tool_use_id": id,
	}})
	if err != nil {
		return err
	}
	if hook.Hook.Decision != "ask" {
		a.gave(id, hook.Hook.Reason, true, "reject", "hook")
		return nil
	}
	can, err := a.ask(object{"subtype": "can_use_tool", "tool_name": s.Tool, "display_name": s.Tool, "input": input, "tool_use_id": id})
	if err != nil {
		return err
	}
	if can.Behavior != "allow" {
		a.gave(id, can.Message, true, "reject", "user_reject")
		if can.Interrupt {
			return errEnd
		}
		return nil
	}
	text, failed := a.tools.use(s.Tool, can.Input)
	a.gave(id, text, failed, "accept", "user_temporary")
	return nil
}

// gave sends the result of a tool use.
func (a *agent) gave(id, text string, failed bool, decision, source string) {
	a.message("user",
		object{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed},
		object{"id": id, "permission_decision": object{"decision": decision, "source": source}})
}

// ask sends a request and waits for its answer.
func (a *agent) ask(request object) (answer, error) {
	a.asked++
	id := fmt.Sprintf("ask-%d", a.asked)
	a.say(object{"type": "control_request", "request_id": id, "request": request})
	for l := range a.heard {
		switch {
		case l.Type == "control_request": // an interrupt
			a.say(object{"type": "control_cancel_request", "request_id": id})
			return answer{}, errEnd
		case l.Type == "control_response" && l.Response.ID == id:
			var said answer
			err := json.Unmarshal(l.Response.Response, &said)
			return said, err
		}
	}
	return answer{}, errEnd
}
