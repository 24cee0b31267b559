package claude

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// answer is what the Decider said to one question, made sound: allowed only
// if there was no error and the input is one.
type answer struct {
	id      string // of the CLI's request
	allowed bool
	result  permission.Result
	err     error
}

// errWithdrawn ends a question whose answer nobody waits for any more.
var errWithdrawn = errors.New("the question was withdrawn")

// decide asks the Decider. Whatever is not a sound allow comes back as a deny;
// so does an allow that comes when nobody waits for it any more.
func decide(ctx context.Context, d wrapper.Decider, use permission.ToolUse) answer {
	res, err := consult(ctx, d, use)
	a := answer{result: res, err: err}
	if err == nil && res.Behavior == permission.Allow {
		a.allowed = true
		_, a.err = strictjson.Object(res.UpdatedInput, strictjson.MaxSize(maxLine))
		if ctx.Err() != nil {
			a.err = context.Cause(ctx)
			a.result.Layer, a.result.Rule, a.result.Reason = permission.LayerGuard, "", a.err.Error()
		}
	}
	if a.err != nil && (a.allowed || a.result.Message == "") {
		a.result.Message = "agent-wrapper: " + a.err.Error()
	}
	if a.err != nil || !a.allowed {
		a.deny()
	}
	if ctx.Err() != nil {
		a.err = nil // that the question ended is no fault
	}
	return a
}

// deny makes an answer a deny.
func (a *answer) deny() {
	a.allowed = false
	a.result.Behavior, a.result.UpdatedInput = permission.Deny, nil
}

// consult calls the Decider; a panic is an error.
func consult(ctx context.Context, d wrapper.Decider, use permission.ToolUse) (res permission.Result, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("the decision failed: %v", caught)
		}
	}()
	return d.CanUseTool(ctx, use)
}

// words is the answer as the CLI hears it.
func (a *answer) words() any {
	if a.allowed {
		return allowance{"allow", a.result.UpdatedInput}
	}
	return denial{Behavior: "deny", Message: a.message(), Interrupt: a.result.Interrupt}
}

// message is what the agent is told of a deny; the CLI wants it not empty.
func (a *answer) message() string {
	if a.result.Message == "" {
		return "Denied."
	}
	return a.result.Message
}
