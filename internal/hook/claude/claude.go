// Package claude is the agent Claude Code as a host of hooks, as measured on 2.1.330.
//
// The denial that counts is permissionDecision in hookSpecificOutput; a "decision" of
// "deny" beside it makes the host ignore the whole answer, and nothing at all, or
// anything that is no JSON, on exit code 0 lets the tool run.
package claude

import (
	"errors"
	"path"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Host returns the host.
func Host() *hook.Host {
	return &hook.Host{
		Name: hook.Claude, Title: "Claude Code", Limit: entry.Limit,
		Project: []string{"CLAUDE_PROJECT_DIR"}, Tools: builtins(), MCP: true,
		Events: events, Read: read, Answer: answer, Loosens: loosens, Inline: commandLines, Rewrites: "2.1.330", Ruled: ruled,
		OwnShell: true, // it starts a shell, which writes its directory to a file at its end
	}
}

// builtins are the tools that have the same names and fields here.
func builtins() hook.Tools {
	var names []string
	tools.Builtins(func(name string) { names = append(names, name) })
	return hook.Same(names...)
}

// events are those that the host is configured to send, and others that do no harm.
var events = map[string]hook.Kind{
	"PreToolUse": hook.Use, "PermissionRequest": hook.Dialog, "PostToolUse": hook.Ran, "PostToolUseFailure": hook.Failed,
	"PermissionDenied": hook.Refused, "ConfigChange": hook.Settings, "UserPromptExpansion": hook.Expansion,
	"UserPromptSubmit": hook.Turn, "SessionEnd": hook.End,
	"SessionStart": hook.About, "Stop": hook.About, "SubagentStart": hook.About, "SubagentStop": hook.About, "Notification": hook.About,
	"InstructionsLoaded": hook.About, "PreCompact": hook.About, "PostCompact": hook.About, "CwdChanged": hook.About,
}

func read(p *hook.Payload, env func(string) string) (*hook.Event, error) {
	e := &hook.Event{Name: p.Event, File: p.File, Command: p.Command, From: p.From, Words: p.Words}
	e.Use = permission.ToolUse{ID: p.Use, Session: p.Session, Agent: p.Agent, Dir: p.Dir, Dialect: dialect(env)}
	e.Plan = p.Mode == "plan"
	e.Asks = asks(p.Mode, env)
	if p.Session == "" {
		return nil, errors.New("the payload names no session")
	}
	return e, nil
}

// asks reports whether the host shows an ask to a person. In mode auto a model answers
// it, in bypassPermissions protected files are written unasked, dontAsk denies, and
// with -p there is nobody.
func asks(mode string, env func(string) string) bool {
	switch mode {
	case "default", "acceptEdits", "plan":
		return env("CLAUDE_CODE_ENTRYPOINT") == "cli" && env("CLAUDE_CODE_SESSION_ATTENDED") != "0"
	}
	return false
}

// dialect returns the shell that runs commands: the person's own, if the host knows
// that one.
func dialect(env func(string) string) shell.Dialect {
	name := env("CLAUDE_CODE_SHELL")
	if name == "" {
		name = env("SHELL")
	}
	if path.Base(name) == "zsh" {
		return shell.Zsh
	}
	return shell.Bash
}

// dialogAnswer is the answer to a PermissionRequest.
type dialogAnswer struct {
	Specific struct {
		Event    string `json:"hookEventName"`
		Decision struct {
			Behavior string `json:"behavior"`
			Message  string `json:"message,omitempty"`
			Input    any    `json:"updatedInput,omitempty"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

func answer(e *hook.Event, v hook.Verdict) hook.Output {
	switch e.Kind {
	case hook.Use:
		return hook.NestedAnswer(e, v)
	case hook.Dialog:
		return dialog(e, v)
	case hook.Settings, hook.Expansion:
		if !v.Allows() {
			return hook.Block(v.Reason)
		}
	}
	return hook.Output{}
}

// dialog answers beside a dialog, which stays if the answer is left to it.
func dialog(e *hook.Event, v hook.Verdict) hook.Output {
	if !v.Allows() && !v.Denies() {
		return hook.Output{}
	}
	var a dialogAnswer
	a.Specific.Event = e.Name
	d := &a.Specific.Decision
	d.Behavior = v.Word()
	if !v.Allows() {
		d.Message = v.Reason
	} else if v.Input != nil {
		d.Input = v.Input
	}
	return hook.JSON(a)
}
