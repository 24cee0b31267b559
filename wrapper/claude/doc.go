// Package claude drives the agent CLI through its stream-json control
// protocol and lets no tool run that the Decider did not allow.
//
// The CLI's own permission system is told to ask about everything, in two
// ways at once: an ask rule "*" in settings of our own (no other settings are
// loaded), and a PreToolUse hook that answers ask. Then the CLI sends exactly
// one can_use_tool request for each tool use, from every subagent, and the
// answer to it is the Decider's. The hook tells the directory that the
// agent's shell is in.
//
// Before the prompt is sent, a preflight proves that the ask rule is in force.
// After it, every tool result is compared with what was approved. A tool that
// ran without an approval is a breach: the CLI and all that it started are
// killed and Run returns a *Breach.
//
// Whatever goes wrong ends in a denial: the CLI denies what it cannot ask
// about, so a wrapper that dies, hangs up or answers badly lets nothing run.
//
// The protocol, one JSON object a line:
//
//	-> control_request initialize (the hook)
//	-> control_request get_settings, list_permission_rules, get_hooks_listing
//	-> user (the prompt)
//	<- control_request hook_callback       -> control_response ask | deny
//	<- control_request can_use_tool        -> control_response allow | deny
//	<- control_cancel_request              (the question is void)
//	<- system, assistant, user, result     (events; tool results are checked)
package claude
