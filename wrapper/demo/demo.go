// Package demo is an agent without a model: it follows a [Script] and implements
// the agent CLI's protocol, so that a run can be shown and tested where no agent
// CLI is installed. Package claude drives it like the CLI:
//
//	agent := claude.Agent{Start: script.Start(dir)}
//
// The agent carries out what it is allowed to do, but it can do little: read,
// write and edit files of its workspace, and imitate the few command lines that
// [Default] contains. It starts no process and does not use the network.
package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// policyName is the name of the demo's policy in decisions.
const policyName = "demo/agent-wrapper.toml"

//go:embed agent-wrapper.toml
var policyText []byte

//go:embed script.json
var scriptText []byte

// Script is what the agent does. It may be changed before a run.
type Script struct {
	Files map[string]string // the files of the workspace, by relative path
	Steps []Step
	Last  string // the agent's last message
}

// Step is one tool use. Say is what the agent writes before it, "" for nothing; a
// relative file_path in Input is relative to the workspace.
type Step struct {
	Say   string
	Tool  string
	Input json.RawMessage
}

// Default returns the script that reaches every layer of the evaluator under
// Policy.
func Default() Script {
	var s Script
	if err := json.Unmarshal(scriptText, &s); err != nil {
		panic("demo: script.json: " + err.Error()) // cannot happen: a test reads it
	}
	return s
}

// Policy returns the demo's policy: its file and two session rules, as if a
// person had approved them earlier.
func Policy() (*policy.Spec, error) {
	spec, err := policy.Parse(policyText, policyName)
	if err != nil {
		return nil, err
	}
	session := patterns.Source{Name: "session"}
	spec.SessionAllow = append(spec.SessionAllow, policy.Item{Text: "Bash(npm test)", Source: session})
	spec.SessionDeny = append(spec.SessionDeny, policy.Item{Text: "Bash(docker:*)", Source: session})
	return spec, nil
}

// Lay writes the files of the workspace below dir, which must exist.
func (s Script) Lay(dir string) error {
	for name, text := range s.Files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("demo workspace: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("demo workspace: %w", err)
		}
	}
	return nil
}
