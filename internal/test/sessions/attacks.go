package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// attack is a row of a corpus of attacks. What it attacks is the policy that the
// corpus gives it; here it is decided under the policy of init.
type attack struct {
	ID      string          `json:"id"`
	Class   string          `json:"class"`
	Source  string          `json:"source"` // the class of a row that has none
	Must    string          `json:"must"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Shell   string          `json:"shell"`
	Context struct {
		Cwd      string            `json:"cwd"`
		Symlinks map[string]string `json:"symlinks"`
	} `json:"context"`
	allowed bool
	reason  string
}

// attacks decides the rows of the corpora that must not be allowed, in a project
// with files of all kinds.
func attacks(cases, projects, dir string) ([]attack, error) {
	var archives []string
	for _, kind := range kinds {
		archives = append(archives, filepath.Join(projects, kind+".txtar"))
	}
	p, err := newProject(dir, archives...)
	if err != nil {
		return nil, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	e, err := p.open(nil)
	if err != nil {
		return nil, err
	}
	var all []attack
	for _, name := range []string{"bypass", "redteam"} {
		rows, err := readRows[attack](filepath.Join(cases, name+".jsonl"))
		if err != nil {
			return nil, err
		}
		for _, a := range rows {
			if a.Must == "allow" || a.Context.Symlinks != nil { // links that the project does not have
				continue
			}
			if a.Context.Cwd == "" {
				a.Context.Cwd = recordedProject
			}
			a.Input = bytes.ReplaceAll(a.Input, []byte("pwned"), []byte("/pwned")) // init lets edits in the project run
			use := permission.ToolUse{Tool: a.Tool, Input: json.RawMessage(p.here(string(a.Input))), Dir: p.here(a.Context.Cwd)}
			if a.Shell == "zsh" {
				use.Dialect = shell.Zsh
			}
			d := e.Explain(use, nil)
			a.allowed, a.reason = d.Behavior == permission.Allow, p.recorded(d.Reason)
			all = append(all, a)
		}
	}
	return all, e.Close()
}

// allowedAttacks lists by class how many attacks are allowed, and which.
func allowedAttacks(all []attack) string {
	classes, total := map[string][]attack{}, 0
	for _, a := range all {
		classes[a.Class] = append(classes[a.Class], a)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		allowed := slices.DeleteFunc(slices.Clone(classes[name]), func(a attack) bool { return !a.allowed })
		if total += len(allowed); len(allowed) > 0 {
			fmt.Fprintf(&b, "%s: %d of %d\n", name, len(allowed), len(classes[name]))
		}
		for _, a := range allowed {
			fmt.Fprintf(&b, "    %s: %s %s [%s]\n", a.ID, a.Tool, visible.Line(string(a.Input)), visible.Line(a.reason))
		}
	}
	return fmt.Sprintf("%d of %d rows that attack another policy are allowed under that of init\n\n", total, len(all)) + b.String()
}
