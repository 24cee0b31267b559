package doctor

import (
	"fmt"
	"io"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// event writes an event of a stream.
func event(w io.Writer, kind string, v any) {
	if kind != "" {
		fmt.Fprintf(w, "event: %s\n", kind)
	}
	fmt.Fprintf(w, "data: %s\n\n", encode(v))
}

// messages is the Messages API, that Claude Code speaks.
type messages struct{}

func (messages) asks(path string) (ok, stream bool) {
	return strings.HasSuffix(path, "/messages"), false
}

func (messages) aside(path string) any {
	if strings.HasSuffix(path, "/count_tokens") {
		return object{"input_tokens": 100}
	}
	return nil
}

func (messages) reply(w io.Writer, q question, c *call, id string) {
	stop, block := "end_turn", object{"type": "text", "text": "ok"}
	if c != nil {
		stop, block = "tool_use", object{"type": "tool_use", "id": id, "name": c.tool, "input": c.input}
	}
	message := object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": q.Model, "content": []any{block},
		"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 5},
	}
	if !q.Stream {
		io.WriteString(w, encode(message))
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	send := func(kind string, fields object) {
		fields["type"] = kind
		event(w, kind, fields)
	}
	send("message_start", object{"message": message})
	start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": "ok"}
	if c != nil {
		start = object{"type": "tool_use", "id": id, "name": c.tool, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": encode(c.input)}
	}
	send("content_block_start", object{"index": 0, "content_block": start})
	send("content_block_delta", object{"index": 0, "delta": delta})
	send("content_block_stop", object{"index": 0})
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 5}})
	send("message_stop", object{})
}

// responses is the Responses API, that Codex speaks.
type responses struct{}

func (responses) asks(path string) (ok, stream bool) {
	return strings.HasSuffix(path, "/responses"), true
}

func (responses) aside(string) any { return nil }

func (responses) reply(w io.Writer, _ question, c *call, id string) {
	item := object{"type": "message", "role": "assistant", "id": "msg_" + id, "content": []any{object{"type": "output_text", "text": "ok"}}}
	switch {
	case c != nil && c.free:
		item = object{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": id, "name": c.tool, "input": c.input}
	case c != nil:
		item = object{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": c.tool, "arguments": encode(c.input)}
	}
	if c != nil && c.space != "" {
		item["namespace"] = c.space
	}
	usage := object{"input_tokens": 10, "input_tokens_details": nil, "output_tokens": 5, "output_tokens_details": nil, "total_tokens": 15}
	event(w, "response.created", object{"type": "response.created", "response": object{"id": "resp_" + id}})
	event(w, "response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(w, "response.completed", object{"type": "response.completed", "response": object{"id": "resp_" + id, "usage": usage}})
}

// generate is the protocol of the Gemini API.
type generate struct{}

func (generate) asks(path string) (ok, stream bool) {
	stream = strings.HasSuffix(path, ":streamGenerateContent")
	return stream || strings.HasSuffix(path, ":generateContent"), stream
}

func (generate) aside(path string) any {
	if strings.HasSuffix(path, ":countTokens") {
		return object{"totalTokens": 100}
	}
	return nil
}

func (generate) reply(w io.Writer, q question, c *call, id string) {
	part := object{"text": "ok"}
	if c != nil {
		part = object{"functionCall": object{"id": id, "name": c.tool, "args": c.input}}
	}
	answer := object{
		"candidates":    []any{object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		"modelVersion":  "scripted", "responseId": id,
	}
	if q.Stream {
		event(w, "", answer)
		return
	}
	io.WriteString(w, encode(answer))
}

// chat is the Chat Completions API, that most other hosts speak.
type chat struct{}

func (chat) asks(path string) (ok, stream bool) {
	return strings.HasSuffix(path, "/chat/completions"), false
}

func (chat) aside(path string) any {
	if strings.HasSuffix(path, "/models") {
		return object{"object": "list", "data": []any{object{"id": "scripted", "object": "model"}}}
	}
	return nil
}

func (chat) reply(w io.Writer, q question, c *call, id string) {
	stop, message := "stop", object{"role": "assistant", "content": "ok"}
	if c != nil {
		use := object{"index": 0, "id": id, "type": "function", "function": object{"name": c.tool, "arguments": encode(c.input)}}
		stop, message = "tool_calls", object{"role": "assistant", "content": nil, "tool_calls": []any{use}}
	}
	usage := object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	answer := func(kind string, choice object) object {
		choice["index"] = 0
		return object{"id": "chatcmpl-" + id, "object": kind, "created": 1, "model": q.Model, "choices": []any{choice}, "usage": usage}
	}
	if !q.Stream {
		io.WriteString(w, encode(answer("chat.completion", object{"message": message, "finish_reason": stop})))
		return
	}
	event(w, "", answer("chat.completion.chunk", object{"delta": message, "finish_reason": nil}))
	event(w, "", answer("chat.completion.chunk", object{"delta": object{}, "finish_reason": stop}))
	io.WriteString(w, "data: [DONE]\n\n")
}
