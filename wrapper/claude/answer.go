package claude

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// answer is the Decider's answer to one question, validated: allowed is true only
// if there was no error and the updated input is a JSON object.
type answer struct {
	id      string // ID of the CLI's request
	allowed bool
	result  permission.Result
	err     error
}

// errWithdrawn cancels a question that the CLI has withdrawn.
var errWithdrawn = errors.New("the question was withdrawn")

// decide asks the Decider. Anything but a valid allow becomes a denial, and so
// does an allow that comes after ctx has ended.
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
		a.err = nil // a cancelled question is not an error
	}
	return a
}

// deny turns an answer into a denial.
func (a *answer) deny() {
	a.allowed = false
	a.result.Behavior, a.result.UpdatedInput = permission.Deny, nil
}

// consult calls the Decider and turns a panic into an error.
func consult(ctx context.Context, d wrapper.Decider, use permission.ToolUse) (res permission.Result, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("the decision failed: %v", caught)
		}
	}()
	return d.CanUseTool(ctx, use)
}

// words returns the answer in the form that the CLI expects.
func (a *answer) words() any {
	if a.allowed {
		return allowance{"allow", a.result.UpdatedInput}
	}
	return denial{Behavior: "deny", Message: a.message(), Interrupt: a.result.Interrupt}
}

// message returns the text of a denial for the agent. The CLI requires one that
// is not empty.
func (a *answer) message() string {
	if a.result.Message == "" {
		return "Denied."
	}
	return a.result.Message
}
