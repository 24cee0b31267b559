package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func (a *app) checkCommand() *cobra.Command {
	var rules policyFlags
	var rows, exitCode bool
	var output string
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "check TOOL INPUT | check COMMAND-LINE | check --jsonl",
		Short: "Decide tool uses without running them",
		Long: `check decides one tool use by the policy that a run here would have.

` + inputForms + `

check --jsonl reads rows from standard input and answers each, in order. A row
with a policy is decided by that policy alone, any other row by --policy and
the rules of the flags; --risk and --unlisted are defaults. Rows never touch
the file system.

  {"id":"x","policy":{"allow":["Bash"]},"tool":"Bash","input":{"command":"ls"}}
  {"id":"x","behavior":"allow","layer":"default","rule":"Bash","reason":"…",
   "tier":1,"risk":"safe"}`,
		Example: `  agent-wrapper check Bash 'git push' --ask "Bash(git push:*)"
  agent-wrapper check 'Edit(src/main.go)' --json
  agent-wrapper check 'git push --force'
  agent-wrapper check --jsonl --risk off --unlisted ask < rows.jsonl
  agent-wrapper check --jsonl --policy agent-wrapper.toml < uses.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if rows {
				return none("the rows of --jsonl come from standard input")(cmd, args)
			}
			return oneUseArgs("a tool and its input, or --jsonl")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if rows {
				return a.checkRows(cmd, &rules, exitCode)
			}
			return a.checkOne(&rules, args, output, form, exitCode)
		},
	}
	rules.add(cmd)
	rules.addSandbox(cmd)
	form = a.addJSON(cmd, jsonOnce)
	cmd.Flags().BoolVar(&rows, "jsonl", false, "read rows from standard input and answer each")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 10 for ask, 11 for deny (with --jsonl: the strictest)")
	cmd.Flags().StringVar(&output, "output", "", "answer as `text|jsonl` (default: text on a terminal, else jsonl)")
	return cmd
}

// checkJSON is the output of check about one tool use.
type checkJSON struct {
	envelope
	answerJSON
}

// answerJSON is a decision in the words of a row's answer.
type answerJSON struct {
	Behavior string              `json:"behavior"`
	Layer    string              `json:"layer"`
	Rule     string              `json:"rule"`
	Reason   string              `json:"reason"`
	Tier     int                 `json:"tier"`
	Risk     string              `json:"risk"`
	Advice   []permission.Advice `json:"advice,omitempty"`
	// Sandbox says where a command line runs, if the sandbox is on: "inside", "outside", or
	// "within" if nothing but the sandbox allows it. SandboxWhy says why it has to run outside.
	Sandbox    string `json:"sandbox,omitempty"`
	SandboxWhy string `json:"sandbox_why,omitempty"`
}

func newAnswer(d permission.Decision) answerJSON {
	return answerJSON{d.Behavior.String(), d.Layer.String(), d.Rule, d.Reason, d.Tier, d.Risk.String(), d.Advice, d.Sandbox.String(), d.SandboxWhy}
}

// checkOne decides one tool use.
func (a *app) checkOne(rules *policyFlags, args []string, output string, form *jsonForm, exitCode bool) error {
	stream, err := newStream(a.out, output)
	switch {
	case err != nil:
		return err
	case form.on && output == outputText:
		return usage("--json and --output text do not go together: leave one of them out")
	}
	c, use, err := oneUse(rules, args)
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(a.err, "agent-wrapper: warning: %s\n", visible.Line(w))
	}
	d := c.Explain(*use, nil)
	if form.on || stream.json {
		err = form.put(&checkJSON{answerJSON: newAnswer(d)})
	} else {
		display.WriteDecision(a.out, a.terminal(), d)
	}
	if err != nil {
		return err
	}
	return decisionCode(d, exitCode)
}

// terminal returns how text for a person is written: in its width and with colours at a
// terminal, else plainly in whole lines.
func (a *app) terminal() display.TextOptions {
	if !isTerminal(a.out) {
		return display.TextOptions{}
	}
	return display.TextOptions{Width: columns(a.out), Colour: colours()}
}

// Flags that may be used with --jsonl: those of the command, and those that are the
// policy of rows without one of their own.
var (
	rowFlags    = []string{"jsonl", "risk", "unlisted", "exit-code", "output"}
	policyOfRow = []string{"policy", "mode", "allow", "ask", "deny", "session-allow", "session-deny", "rules"}
)

// rowPolicy returns the policy for rows without one, nil if the flags give none.
func (a *app) rowPolicy(flags []string, rules *policyFlags) (*policy.Spec, error) {
	if !slices.ContainsFunc(flags, func(name string) bool { return slices.Contains(policyOfRow, name) }) {
		return nil, nil
	}
	spec, err := rules.spec()
	if err != nil {
		return nil, err
	}
	if slices.Contains(flags, "policy") {
		file, err := policy.ReadFile(rules.file)
		if err != nil {
			return nil, fileError("--policy", err)
		}
		file.Add(spec)
		spec = file
	}
	if len(spec.Whitelists) > 0 {
		return nil, usage("--policy: %s names a whitelist, and --jsonl reads none: leave it out", rules.file)
	}
	_, _, warnings, err := spec.Compile(patterns.Place{Workspace: "/", Home: "/"})
	for _, w := range warnings {
		fmt.Fprintf(a.err, "agent-wrapper: warning: %s\n", visible.Line(w))
	}
	if err != nil {
		return nil, usage("%w", err)
	}
	return spec, nil
}

// checkRows answers rows of JSON, one a line.
func (a *app) checkRows(cmd *cobra.Command, rules *policyFlags, exitCode bool) error {
	flags := changed(cmd)
	for _, name := range flags {
		if !slices.Contains(rowFlags, name) && !slices.Contains(policyOfRow, name) {
			return usage("--%s does not go with --jsonl: a row has its own place, and no policy but its own or that of the flags", name)
		}
	}
	if err := rules.settings(); err != nil {
		return err
	}
	common, err := a.rowPolicy(flags, rules)
	if err != nil {
		return err
	}
	check := &policy.Check{Risk: rules.risk, Unlisted: rules.unlisted, Policy: common}
	worst := codeDone
	rows, err := a.eachRow(cmd.Context(), func(line []byte) any {
		answer := check.Line(line)
		worst = max(worst, answerCodes[answer.Behavior])
		return answer
	})
	return rowsCode(rows, worst, err, exitCode)
}

// rowsCode returns the exit code for rows if one is wanted: the highest. Without
// rows there is none.
func rowsCode(rows, worst int, err error, wanted bool) error {
	switch {
	case err != nil || !wanted:
		return err
	case rows == 0:
		return usage("no row on standard input, so --exit-code has nothing to tell: write one JSON object a line")
	}
	return exit(worst)
}

// eachRow answers each non-blank line of standard input with a line of JSON, in
// order, and returns the number of rows. Each answer is flushed, for a caller
// that waits for it.
func (a *app) eachRow(ctx context.Context, answer func(line []byte) any) (rows int, err error) {
	in, out := bufio.NewReaderSize(a.input(ctx), 1<<20), bufio.NewWriterSize(a.out, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			rows++
			if err := writeJSON(out, answer(line)); err != nil {
				return rows, err
			}
		}
		if err == io.EOF {
			return rows, out.Flush()
		}
		if err != nil {
			return rows, err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return rows, err
			}
		}
	}
}

var answerCodes = map[string]int{"allow": codeDone, "ask": codeAsk, "deny": codeDeny}
