// Package agentwrapper decides what an AI agent may do. A Go program that runs an agent's
// tools opens an [Engine], asks it about each tool use, and runs what it allows:
//
//	e, err := agentwrapper.Open(agentwrapper.Options{Dir: dir})
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
// The engine finds the policies of the machine, the user and the workspace, applies those that
// are trusted and lets others only narrow, guards the files that say what the agent may do, and
// records every decision. Errors deny: a policy that cannot be read opens no engine, and a
// decision that cannot be recorded is a denial. What the policies leave to a person is denied
// unless there is an [Options.Approver].
//
// Package permission has tool uses, answers and decisions; docs/sdks.md has a whole program.
package agentwrapper

import (
	"context"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
)

// Engine decides tool uses and records every decision: Engine.CanUseTool decides one that is
// to run, Engine.Explain says what would be decided and records nothing, Engine.Drive runs a
// whole agent, Engine.Close ends it.
type Engine = engine.Engine

// Options say where an engine works and which policies count. The zero value is the workspace
// around the current directory, with all policies that are found.
type Options = engine.Options

// Rules are what an engine decides by, for programs that explain decisions, and run and record
// nothing.
type Rules = engine.Rules

// Policy is what a policy file says, for [Options.Settings].
type Policy = policy.Spec

// Open finds and reads the policies, opens the audit log and returns the engine that decides by
// them. The error says what is wrong with which file, and where.
func Open(o Options) (*Engine, error) { return engine.Open(o) }

// Load is [Open] without the audit log.
func Load(o Options) (*Rules, error) { return engine.Load(o) }

// ParsePolicy reads the text of a policy, in TOML. The name stands for the file in errors
// ("name:line:column: …") and in what a decision says of its rule.
func ParsePolicy(text []byte, name string) (*Policy, error) { return policy.Parse(text, name) }

// TestReport is what TestPolicies found: TestReport.Text shows it, TestReport.Failed counts the
// decisions that differ from what was expected.
type TestReport = policy.Report

// TestPolicies decides the cases of all *.cases.toml files below a directory, as agent-wrapper
// test does. The error says what could not be read; another decision than the expected one is
// none.
func TestPolicies(dir string) (TestReport, error) {
	return policy.RunTests(dir, policy.TestOptions{Evaluator: engine.Cases})
}

// AuditReport is what VerifyAuditLog found: an audit log with AuditReport.Faults was changed.
type AuditReport = audit.Report

// VerifyAuditLog checks the chain of an audit log from its first entry on, and that it has all
// entries which the user's state directory vouches for. The error says why it could not be read.
func VerifyAuditLog(file string) (*AuditReport, error) {
	head, err := engine.UserDirs().Head(file)
	if err != nil {
		return nil, err
	}
	return audit.Verify(file, head, "")
}

// ProbeSandbox reports whether this machine can build a sandbox; the error says what is missing.
// Rules.Within then has command lines run inside.
func ProbeSandbox(ctx context.Context) error { return kernel.Probe(ctx) }
