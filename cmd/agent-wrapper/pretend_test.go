package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// pretend plays the agent CLI: it implements the protocol, asks about the tool
// uses that the prompt lists, one JSON object a line (see wish), and "runs" a
// tool by reporting that it did. It repeats any other line as text. PRETEND_TASK
// takes the place of the prompt.
func pretend() {
	p := &pretender{in: bufio.NewReader(os.Stdin), out: json.NewEncoder(os.Stdout), session: cmp.Or(os.Getenv("PRETEND_SESSION"), "pretend-1")}
	settings := ""
	for _, arg := range os.Args[1:] {
		if arg == "--version" {
			fmt.Println("2.1.329 (Claude Code)")
			return
		}
		if text, ok := strings.CutPrefix(arg, "--settings="); ok {
			settings = text
		}
		if text, ok := strings.CutPrefix(arg, "--max-turns="); ok {
			p.turns, _ = strconv.Atoi(text)
		}
		if text, ok := strings.CutPrefix(arg, "--max-budget-usd="); ok {
			p.budget, _ = strconv.ParseFloat(text, 64)
		}
		p.schema = p.schema || strings.HasPrefix(arg, "--json-schema=")
		if strings.HasPrefix(arg, "--effort=") {
			p.effort = arg
		}
		if id, ok := strings.CutPrefix(arg, "--resume="); ok {
			p.session, p.resumed = id, true
		}
		if arg == "--fork-session" {
			p.session = "f" + p.session[1:]
		}
	}
	p.begin(settings)
}

type object = map[string]any

type pretender struct {
	in  *bufio.Reader
	out *json.Encoder
	n   int

	turns      int     // --max-turns, 0 for none
	budget     float64 // --max-budget-usd, 0 for none
	schema     bool    // --json-schema was given
	structured json.RawMessage
	effort     string
	session    string
	resumed    bool
}

// nextLine returns the next line as an object; at the end of the input the
// process exits.
func (p *pretender) nextLine() object {
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
		o := p.nextLine()
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

// work asks about one tool use after the other.
func (p *pretender) work(prompt string) {
	prompt = cmp.Or(os.Getenv("PRETEND_TASK"), prompt)
	if p.resumed && os.Getenv("PRETEND_LOST") != "" {
		p.stop(object{"subtype": "error_during_execution", "is_error": true, "errors": []string{"No conversation found with session ID: " + p.session}})
	}
	p.out.Encode(object{"type": "system", "subtype": "init", "session_id": p.session, "claude_code_version": "2.1.329", "permissionMode": "default"})
	for _, line := range strings.Split(strings.TrimSpace(prompt), "\n") {
		switch {
		case p.turns > 0 && p.n >= p.turns:
			p.stop(object{"subtype": "error_max_turns", "is_error": true, "errors": []string{fmt.Sprintf("Reached maximum number of turns (%d)", p.turns)}})
		case p.budget > 0 && p.cost() > p.budget:
			p.stop(object{"subtype": "error_max_budget_usd", "is_error": true, "errors": []string{fmt.Sprintf("Reached maximum budget ($%v)", p.budget)}})
		}
		var w wish
		if json.Unmarshal([]byte(line), &w) != nil {
			p.say(line)
			continue
		}
		for i := range w.Times {
			p.say(fmt.Sprintf("%d %s", i, w.Text))
		}
		if w.Tool != "" {
			p.want(&w)
		}
		if w.Tool == "StructuredOutput" && p.schema {
			p.structured = w.Input
		}
	}
	last := object{"subtype": "success", "result": strings.TrimSpace("done " + p.effort)}
	if p.structured != nil {
		last["structured_output"] = p.structured
	}
	p.stop(last)
}

// cost is what the tool uses have cost.
func (p *pretender) cost() float64 { return 0.01 * float64(p.n) }

// stop ends the work with a result.
func (p *pretender) stop(last object) {
	last["type"], last["session_id"] = "result", p.session
	last["num_turns"], last["total_cost_usd"] = p.n+1, p.cost()
	last["modelUsage"] = object{"m": object{"inputTokens": 10 * p.n, "outputTokens": p.n}}
	p.out.Encode(last)
	for {
		o := p.nextLine()
		if p.interrupted(o) {
			continue
		}
		if message, ok := o["message"].(object); ok { // the next turn
			p.work(message["content"].(string))
		}
	}
}

// interrupted answers an interrupt.
func (p *pretender) interrupted(o object) bool {
	request, _ := o["request"].(object)
	if request["subtype"] != "interrupt" {
		return false
	}
	p.out.Encode(object{"type": "control_response", "response": object{"subtype": "success", "request_id": o["request_id"], "response": object{"still_queued": []any{}}}})
	return true
}

// wish is a tool use, and what happens around it.
type wish struct {
	Tool  string
	Input json.RawMessage
	Agent string // the subagent
	// Gate is a named pipe. The agent waits until somebody writes to it before it
	// asks about the tool use or, with one of the fields below, before it acts on
	// that.
	Gate   string
	Say    string // text that it writes while it waits for the answer
	Cancel bool   // it withdraws the request
	Die    bool   // it dies while it waits
	Rogue  bool   // it runs the tool without asking
	Text   string // in place of all: text that it writes, Times times, with numbers
	Times  int
	// Beside are tool uses that it asks about at the same time.
	Beside []wish
	// Slow is a named pipe. The tool runs until somebody writes to it.
	Slow string
	// Result is what the tool returns; "" for a line with what it ran with.
	Result string
	// Type is what the agent tries to type on our terminal.
	Type string
}

// wait waits at a gate.
func wait(gate string) {
	if gate != "" {
		os.ReadFile(gate)
	}
}

func (p *pretender) say(text string) {
	p.out.Encode(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "text", "text": text}}}})
}

// want asks about a tool use and those beside it, and reports their results.
func (p *pretender) want(w *wish) {
	if w.Rogue {
		p.n++
		p.mention("rogue", w)
		p.tell("rogue", w, object{"behavior": "allow"})
		return
	}
	later := w.Say != "" || w.Cancel || w.Die
	if !later {
		wait(w.Gate)
	}
	all := append([]wish{*w}, w.Beside...)
	ids := make([]string, len(all))
	for i := range all {
		p.n++
		ids[i] = fmt.Sprintf("toolu_%d", p.n)
		p.begins(ids[i], &all[i])
	}
	if w.Type != "" {
		p.types(w.Type)
	}
	if later {
		wait(w.Gate)
	}
	switch {
	case w.Say != "":
		p.say(w.Say)
	case w.Die:
		os.Exit(9)
	case w.Cancel:
		p.out.Encode(object{"type": "control_cancel_request", "request_id": "hook-" + ids[0]})
		p.tell(ids[0], w, nil)
		return
	}
	answers := map[string]object{}
	for len(answers) < len(all) {
		name, answer := p.answer()
		kind, id, _ := strings.Cut(name, "-")
		at := slices.Index(ids, id)
		switch {
		case at < 0:
		case kind == "ask":
			answers[id] = answer
		case kind == "hook":
			if reason, denied := deniedBy(answer); denied {
				answers[id] = object{"behavior": "deny", "message": reason}
				continue
			}
			w := &all[at]
			p.ask("ask-"+id, object{"subtype": "can_use_tool", "tool_name": w.Tool, "input": w.Input, "tool_use_id": id, "agent_id": w.Agent})
		}
	}
	for i := range all {
		p.tell(ids[i], &all[i], answers[ids[i]])
	}
}

// begins announces a tool use and calls the hook.
func (p *pretender) begins(id string, w *wish) {
	dir, _ := os.Getwd()
	p.mention(id, w)
	p.ask("hook-"+id, object{"subtype": "hook_callback", "callback_id": "decide", "tool_use_id": id, "input": object{
		"hook_event_name": "PreToolUse", "cwd": dir, "tool_name": w.Tool, "tool_input": w.Input, "tool_use_id": id, "agent_id": w.Agent,
	}})
}

// mention announces a tool use.
func (p *pretender) mention(id string, w *wish) {
	p.out.Encode(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "tool_use", "id": id, "name": w.Tool, "input": w.Input}}}})
}

// deniedBy reads the answer to a call of the hook.
func deniedBy(answer object) (reason string, denied bool) {
	output, _ := answer["hookSpecificOutput"].(object)
	reason, _ = output["permissionDecisionReason"].(string)
	return reason, output["permissionDecision"] != "ask"
}

// types tries to type on the terminal of the program.
func (p *pretender) types(text string) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		p.say("no terminal: " + err.Error())
		return
	}
	defer tty.Close()
	typeOn(tty, text)
	p.say("there is a terminal")
}

// tell reports the result of a tool use.
func (p *pretender) tell(id string, w *wish, answer object) {
	allowed := answer["behavior"] == "allow"
	text, decision := fmt.Sprint(answer["message"]), object{"decision": "reject", "source": "user_reject"}
	if allowed {
		updated, _ := json.Marshal(answer["updatedInput"])
		wait(w.Slow)
		ran(updated)
		text, decision = cmp.Or(w.Result, w.Tool+" ran with "+string(updated)), object{"decision": "accept", "source": "user_temporary"}
	}
	p.out.Encode(object{
		"type":             "user",
		"message":          object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": !allowed}}},
		"tool_result_meta": []object{{"id": id, "permission_decision": decision}},
	})
}

// ran notes in the file PRETEND_RAN that a tool has run.
func ran(input []byte) {
	name := os.Getenv("PRETEND_RAN")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(9)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\n", input)
}

// ask sends a request.
func (p *pretender) ask(id string, request object) {
	p.out.Encode(object{"type": "control_request", "request_id": id, "request": request})
}

// answer waits for the answer to a request.
func (p *pretender) answer() (id string, answer object) {
	for {
		o := p.nextLine()
		if p.interrupted(o) {
			p.stop(object{"subtype": "error_during_execution", "is_error": true})
		}
		if response, ok := o["response"].(object); ok {
			id, _ = response["request_id"].(string)
			answer, _ = response["response"].(object)
			return id, answer
		}
	}
}
