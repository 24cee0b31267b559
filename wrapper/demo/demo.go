// Package demo is an agent that follows a script and speaks the agent CLI's
// protocol, so that a run can be seen where no agent CLI is. It is driven by
// package claude like any other.
//
// What it is allowed to do, it really does, but it can do little: read, write
// and edit files of its workspace, and act on the few command lines of its
// script in the way of the programs that they name. It starts no process and
// reaches no network.
package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/policy"
)

// PolicyName is what the demo's policy is called in decisions.
const PolicyName = "demo/agent-wrapper.toml"

//go:embed agent-wrapper.toml
var policyText []byte

//go:embed script.json
var scriptText []byte

// Script is what the agent does: data, to be read or changed before a run.
type Script struct {
	Files map[string]string // the workspace, by relative path
	Steps []Step
	Last  string // the agent's last words
}

// Step is one tool use and what the agent says before it.
type Step struct {
	Say   string
	Tool  string
	Input json.RawMessage
}

// Default returns the script that shows every layer of the evaluator under
// Policy.
func Default() Script {
	var s Script
	if err := json.Unmarshal(scriptText, &s); err != nil {
		panic("demo: script.json: " + err.Error()) // a test reads it
	}
	return s
}

// Policy returns the demo's policy: its file, and two rules that a person is
// thought to have set for the session.
func Policy() (*policy.Spec, error) {
	spec, err := policy.Parse(policyText, PolicyName)
	if err != nil {
		return nil, err
	}
	session := patterns.Source{Name: "session"}
	spec.SessionAllow = append(spec.SessionAllow, policy.Item{Text: "Bash(npm test)", Source: session})
	spec.SessionDeny = append(spec.SessionDeny, policy.Item{Text: "Bash(docker:*)", Source: session})
	return spec, nil
}

// Lay writes the files of the workspace below dir, which exists.
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
