// Package claude drives the agent CLI through its stream-json control
// protocol. [Agent] is its [wrapper.Driver].
//
// The CLI's own permission system is made to ask about every tool use, in two
// independent ways: by the ask rule "*" in settings that replace all others,
// and by a PreToolUse hook. The hook waits for the Decider and answers deny, or ask
// if the answer is an allow. The CLI then sends exactly one can_use_tool request for
// each tool use, including those of subagents, and receives the Decider's answer if
// the tool use is still the same; otherwise the Decider answers anew. The hook also
// reports the directory that the agent's shell is in.
//
// Before the prompt is sent, a preflight verifies that the ask rule is in
// effect. After that, every tool result is compared with what was approved. A
// tool that ran without an approval is a breach: the CLI and all of its
// descendants are killed, and Run returns a *wrapper.Breach.
//
// Failures deny. The CLI denies a tool use that it cannot ask about, so nothing
// runs if this process dies, closes the connection or sends an invalid answer.
//
// The protocol, with one JSON object a line:
//
//	-> control_request initialize (the hook)
//	-> control_request get_settings, list_permission_rules, get_hooks_listing
//	-> user (the prompt)
//	<- control_request hook_callback       -> control_response ask | deny
//	<- control_request can_use_tool        -> control_response allow | deny
//	<- control_cancel_request              (the request is withdrawn)
//	<- system, assistant, user, result     (events; tool results are checked)
package claude
