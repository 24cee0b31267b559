//go:build nvim

package neovim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// asAgent makes the test binary play the agent CLI. The next argument is the file with
// its script.
const asAgent = "--as-agent"

// session is the agent's.
const session = "5f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90"

type object = map[string]any

// step is what the scripted agent does: it says something, uses tools, or both.
type step struct {
	Say    string
	Tool   string
	Input  object
	Agent  string            // the subagent that uses the tool
	Result string            // what the tool returns if it is allowed
	Files  map[string]string // what the tool writes then
	Beside []step            // tool uses at the same time
	// Gate is a named pipe: the agent waits until somebody writes to it before it goes on
	// with the step, or with what follows below.
	Gate   string
	Cancel bool // it withdraws the tool use
	Die    bool // it dies while the question waits
	Talk   int  // it says so many pieces of text
}

// turns holds the steps by prompt.
type turns map[string][]step

// pretender plays the agent CLI.
type pretender struct {
	in     *bufio.Reader
	out    *json.Encoder
	n      int
	script turns
}

// playAgent plays until its input ends.
func playAgent(script string, args []string) {
	if slices.Contains(args, "--version") {
		fmt.Println("2.1.329 (Claude Code)")
		return
	}
	p := &pretender{in: bufio.NewReader(os.Stdin), out: json.NewEncoder(os.Stdout)}
	data, err := os.ReadFile(script)
	if err == nil {
		err = json.Unmarshal(data, &p.script)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	settings := ""
	for _, arg := range args {
		if text, ok := strings.CutPrefix(arg, "--settings="); ok {
			settings = text
		}
	}
	p.begin(settings)
}

func (p *pretender) next() object {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	var o object
	if json.Unmarshal(line, &o) != nil {
		os.Exit(9)
	}
	return o
}

// begin answers the preflight and waits for the prompt.
func (p *pretender) begin(settings string) {
	for {
		o := p.next()
		if o["type"] == "user" {
			p.work(o["message"].(object)["content"].(string))
			return
		}
		kind := o["request"].(object)["subtype"].(string)
		p.out.Encode(object{"type": "control_response", "response": object{
			"subtype": "success", "request_id": o["request_id"], "response": account(kind, settings),
		}})
	}
}

// account returns a report of the CLI about itself.
func account(kind, settings string) object {
	switch kind {
	case "initialize":
		return object{"claude_code_version": "2.1.329", "current_permission_mode": "default", "hooks_applied": true, "hook_on_failure_supported": true}
	case "get_settings":
		ask := object{"permissions": object{"ask": []string{"*"}}}
		return object{"effective": ask, "sources": []object{{"source": "flagSettings", "settings": json.RawMessage(settings)}}}
	case "list_permission_rules":
		return object{"state": object{"managedOnly": false, "rules": []object{{"behavior": "ask", "source": "flagSettings", "rule": "*"}}}}
	}
	return object{"hooks": []object{}, "policy": object{"policyHookCount": 0}}
}

// work does the steps of a prompt.
func (p *pretender) work(prompt string) {
	p.out.Encode(object{"type": "system", "subtype": "init", "session_id": session, "claude_code_version": "2.1.329", "permissionMode": "default"})
	steps, known := p.script[prompt]
	if !known {
		p.say("You said: " + prompt)
	}
	for i := range steps {
		p.step(&steps[i])
	}
	p.out.Encode(object{"type": "result", "subtype": "success", "result": "done", "session_id": session})
	for {
		p.next()
	}
}

func (p *pretender) say(text string) {
	p.out.Encode(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "text", "text": text}}}})
}

func gate(pipe string) {
	if pipe != "" {
		os.ReadFile(pipe)
	}
}

func (p *pretender) step(s *step) {
	if s.Say != "" {
		p.say(s.Say)
	}
	for i := range s.Talk {
		p.say(fmt.Sprintf("piece %d\n", i+1))
	}
	if s.Tool == "" {
		gate(s.Gate)
		return
	}
	all := append([]step{*s}, s.Beside...)
	ids := make([]string, len(all))
	for i := range all {
		p.n++
		ids[i] = fmt.Sprintf("toolu_%d", p.n)
		p.begins(ids[i], &all[i])
	}
	gate(s.Gate)
	switch {
	case s.Die:
		os.Exit(9)
	case s.Cancel:
		p.out.Encode(object{"type": "control_cancel_request", "request_id": "hook-" + ids[0]})
		p.tell(ids[0], s, nil)
		return
	}
	p.results(ids, all)
}

// results waits for the answers and reports what the tools return.
func (p *pretender) results(ids []string, all []step) {
	answers := map[string]object{}
	for len(answers) < len(all) {
		name, answer := p.answer()
		kind, id, _ := strings.Cut(name, "-")
		at := slices.Index(ids, id)
		switch {
		case at < 0:
		case kind == "ask":
			answers[id] = answer
			p.tell(id, &all[at], answer)
		case kind == "hook":
			if reason, denied := deniedBy(answer); denied {
				answers[id] = object{"behavior": "deny", "message": reason}
				p.tell(id, &all[at], answers[id])
				continue
			}
			p.ask("ask-"+id, object{"subtype": "can_use_tool", "tool_name": all[at].Tool, "input": all[at].Input, "tool_use_id": id, "agent_id": all[at].Agent})
		}
	}
}

// begins announces a tool use and calls the hook.
func (p *pretender) begins(id string, s *step) {
	dir, _ := os.Getwd()
	p.out.Encode(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "tool_use", "id": id, "name": s.Tool, "input": s.Input}}}})
	p.ask("hook-"+id, object{"subtype": "hook_callback", "callback_id": "decide", "tool_use_id": id, "input": object{
		"hook_event_name": "PreToolUse", "cwd": dir, "tool_name": s.Tool, "tool_input": s.Input, "tool_use_id": id, "agent_id": s.Agent,
	}})
}

// deniedBy reads the answer to a call of the hook.
func deniedBy(answer object) (reason string, denied bool) {
	output, _ := answer["hookSpecificOutput"].(object)
	reason, _ = output["permissionDecisionReason"].(string)
	return reason, output["permissionDecision"] != "ask"
}

// tell reports the result of a tool use.
func (p *pretender) tell(id string, s *step, answer object) {
	allowed := answer["behavior"] == "allow"
	text, decision := fmt.Sprint(answer["message"]), object{"decision": "reject", "source": "user_reject"}
	if allowed {
		text, decision = s.Result, object{"decision": "accept", "source": "user_temporary"}
		for name, content := range s.Files {
			os.WriteFile(name, []byte(content), 0o600)
		}
		if text == "" {
			updated, _ := json.Marshal(answer["updatedInput"])
			text = "ran with " + string(updated)
		}
	}
	p.out.Encode(object{
		"type":             "user",
		"message":          object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": !allowed}}},
		"tool_result_meta": []object{{"id": id, "permission_decision": decision}},
	})
}

// ask sends a request.
func (p *pretender) ask(id string, request object) {
	p.out.Encode(object{"type": "control_request", "request_id": id, "request": request})
}

// answer waits for the answer to a request.
func (p *pretender) answer() (id string, answer object) {
	for {
		o := p.next()
		if request, ok := o["request"].(object); ok && request["subtype"] == "interrupt" {
			p.out.Encode(object{"type": "control_response", "response": object{"subtype": "success", "request_id": o["request_id"], "response": object{}}})
			p.out.Encode(object{"type": "result", "subtype": "error_during_execution", "is_error": true, "session_id": session})
			for {
				p.next()
			}
		}
		if response, ok := o["response"].(object); ok {
			id, _ = response["request_id"].(string)
			answer, _ = response["response"].(object)
			return id, answer
		}
	}
}
