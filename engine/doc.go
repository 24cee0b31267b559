// Package engine puts together what a decision needs: the policies of a machine,
// a user and a workspace, found, held against what is trusted and merged; the
// whitelists that bind commands; the guard over all files that say what an agent
// may do; the session, the record of decisions and the evaluator.
//
// The command agent-wrapper is built on it, and so is a Go program that decides
// its own tool uses:
//
//	e, err := engine.Open(engine.Options{Dir: dir})
//	if err != nil {
//		return err
//	}
//	defer e.Close()
//	res, err := e.CanUseTool(ctx, permission.ToolUse{Tool: "Bash", Input: input, Dir: dir})
//	if err != nil || res.Behavior != permission.Allow {
//		return errors.New(res.Message)
//	}
//	run(res.UpdatedInput)
//
// A policy that cannot be read opens no engine, and a decision that cannot be
// recorded denies. Nobody is asked unless an approver is given: then what would
// be asked is denied.
package engine
