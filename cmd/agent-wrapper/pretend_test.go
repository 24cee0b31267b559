package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// pretend is a stand-in for the agent CLI: it speaks the same protocol, wants
// the tool uses that the prompt lists, one JSON object {"tool","input"} a
// line, and "runs" a tool by saying so.
func pretend() {
	p := &pretender{in: bufio.NewReader(os.Stdin), out: json.NewEncoder(os.Stdout)}
	settings := ""
	for _, arg := range os.Args[1:] {
		if arg == "--version" {
			fmt.Println("2.1.329 (Claude Code)")
			return
		}
		if text, ok := strings.CutPrefix(arg, "--settings="); ok {
			settings = text
		}
	}
	p.begin(settings)
}

type object = map[string]any

type pretender struct {
	in  *bufio.Reader
	out *json.Encoder
	n   int
}

// read returns the next line as an object; at the end the process ends.
func (p *pretender) read() object {
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
		o := p.read()
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

// account is what the CLI says of itself.
func account(kind, settings string) object {
	switch kind {
	case "initialize":
		version := cmp.Or(os.Getenv("PRETEND_VERSION"), "2.1.329")
		return object{"claude_code_version": version, "current_permission_mode": "default", "hooks_applied": true, "hook_on_failure_supported": true}
	case "get_settings":
		ask := object{"permissions": object{"ask": []string{"*"}}}
		return object{"effective": ask, "sources": []object{{"source": "flagSettings", "settings": json.RawMessage(settings)}}}
	case "list_permission_rules":
		return object{"state": object{"managedOnly": false, "rules": []object{{"behavior": "ask", "source": "flagSettings", "rule": "*"}}}}
	}
	return object{"hooks": []object{}, "policy": object{"policyHookCount": 0}}
}

// work wants one tool use after the other.
func (p *pretender) work(prompt string) {
	p.out.Encode(object{"type": "system", "subtype": "init", "session_id": "pretend-1", "claude_code_version": "2.1.329", "permissionMode": "default"})
	for _, line := range strings.Split(strings.TrimSpace(prompt), "\n") {
		var use struct {
			Tool  string
			Input json.RawMessage
		}
		if json.Unmarshal([]byte(line), &use) != nil {
			p.out.Encode(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "text", "text": line}}}})
			continue
		}
		p.want(use.Tool, use.Input)
	}
	p.out.Encode(object{"type": "result", "subtype": "success", "result": "done", "session_id": "pretend-1"})
	for {
		p.read()
	}
}

// want asks about one tool use and tells what came of it.
func (p *pretender) want(tool string, input json.RawMessage) {
	p.n++
	id := fmt.Sprintf("toolu_%d", p.n)
	dir, _ := os.Getwd()
	p.out.Encode(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "tool_use", "id": id, "name": tool, "input": input}}}})
	p.ask("hook-"+id, object{"subtype": "hook_callback", "callback_id": "decide", "tool_use_id": id, "input": object{
		"hook_event_name": "PreToolUse", "cwd": dir, "tool_name": tool, "tool_input": input, "tool_use_id": id,
	}})
	answer := p.ask("ask-"+id, object{"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": id})
	allowed := answer["behavior"] == "allow"
	text, decision := fmt.Sprint(answer["message"]), object{"decision": "reject", "source": "user_reject"}
	if allowed {
		updated, _ := json.Marshal(answer["updatedInput"])
		text, decision = tool+" ran with "+string(updated), object{"decision": "accept", "source": "user_temporary"}
	}
	p.out.Encode(object{
		"type":             "user",
		"message":          object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": !allowed}}},
		"tool_result_meta": []object{{"id": id, "permission_decision": decision}},
	})
}

// ask sends a request and waits for its answer.
func (p *pretender) ask(id string, request object) object {
	p.out.Encode(object{"type": "control_request", "request_id": id, "request": request})
	for {
		o := p.read()
		response, ok := o["response"].(object)
		if ok && response["request_id"] == id {
			answer, _ := response["response"].(object)
			return answer
		}
	}
}
