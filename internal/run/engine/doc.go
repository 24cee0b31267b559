// Package engine decides the tool uses of an agent by the policies of a machine, a
// user and a workspace. It finds the policies, applies those that are trusted and
// lets others only narrow, adds the whitelists of commands, guards the files that
// decide what the agent may do, and records every decision.
//
// A Go program that runs an agent's tools opens an [Engine], asks it about each
// tool use, and runs what it allows:
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
// Errors deny: a policy that cannot be read opens no engine, and a decision that
// cannot be recorded is a denial. What the policies leave to a person is denied
// unless there is an [Options.Approver].
//
// The page docs/sdks.md has a whole program. [Load] serves programs that explain
// decisions without recording them, [Cases] the tests of a policy, and
// [Engine.Drive] runs a whole agent.
package engine
