// Package doctor finds out whether the hooks of agent-wrapper are in force in the
// agent hosts of a machine, and proves it.
//
// [Machine.Look] reads the configuration of each host, of the person, of the
// machine and of the directory, and starts nothing but the host's --version. What
// it finds is a list of findings: what is in force, what switches it off, and what
// a hook of that host never sees.
//
// [Proof.Run] starts each host against a model of our own that answers on
// loopback, in a throw-away home, and has it attempt canaries: tool uses that do
// nothing but leave an empty file. A canary was stopped if there is no file and the
// host told the model our own words, which nothing but the policy of the proof has.
// The same canaries are tried with a hook that is killed, hangs, is missing, fails
// or prints garbage, and with one that allows them: without that control the
// absence of a file would prove nothing.
//
// A proof needs no key and no network, and reads the person's files only. Of the
// configuration it copies our hook and what could switch it off; other hooks, MCP
// servers, plugins and rules are left out, and the canaries are allowed by the
// host's own rules, so that nothing but the hook stands in their way.
package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// Mark says how a finding or a result is to be taken.
type Mark string

// The marks.
const (
	OK   Mark = "ok"
	Warn Mark = "warn" // it can go wrong
	Red  Mark = "red"  // tool uses pass undecided
)

// Finding is one thing that was found out about a host.
type Finding struct {
	Mark Mark   `json:"mark"`
	Text string `json:"text"`          // what was found, and what it means
	Fix  string `json:"fix,omitempty"` // what closes it
}

// Host is what was found out about one host.
type Host struct {
	Name     string    `json:"host"`
	Title    string    `json:"title"`
	Path     string    `json:"path,omitempty"`    // of its program; "" if it is not installed
	Version  string    `json:"version,omitempty"` // as it prints it
	Findings []Finding `json:"findings"`
}

// Machine is where the doctor looks.
type Machine struct {
	Home string   // of the person
	Dir  string   // the directory in which the agents work
	Env  []string // of the person; PATH says which hosts are installed
	Root string   // holds the files of the system; "" for /
}

// agent is a host that the doctor knows.
type agent struct {
	name, title string
	program     string
	look        func(*look)
	proof       *trials
}

// agents returns the hosts that the doctor knows.
func agents() []agent {
	return []agent{
		{"claude", "Claude Code", "claude", lookClaude, claudeTrials()},
		{"codex", "Codex CLI", "codex", lookCodex, codexTrials()},
		{"gemini", "Gemini CLI", "gemini", lookGemini, geminiTrials()},
		{"qwen", "Qwen Code", "qwen", lookQwen, qwenTrials()},
		{"copilot", "Copilot CLI", "copilot", lookCopilot, copilotTrials()},
		{"opencode", "OpenCode", "opencode", lookOpenCode, openCodeTrials()},
		{"crush", "Crush", "crush", lookCrush, crushTrials()},
	}
}

// Names returns the names of the hosts that the doctor knows.
func Names() (names []string) {
	for _, a := range agents() {
		names = append(names, a.name)
	}
	return names
}

// Look finds out about hosts, or about all that are installed if none is named.
func (m *Machine) Look(ctx context.Context, hosts ...string) ([]Host, error) {
	list, err := chosen(hosts)
	if err != nil {
		return nil, err
	}
	found := []Host{}
	for _, a := range list {
		h := Host{Name: a.name, Title: a.title, Path: m.find(a.program), Findings: []Finding{}}
		switch {
		case h.Path != "":
			h.Version = m.version(ctx, h.Path)
			l := &look{Machine: m, host: a.name, version: h.Version}
			a.look(l)
			h.Findings = l.findings
		case len(hosts) > 0:
			h.Findings = []Finding{{Red, a.program + " is not on PATH, so nothing can be found out.", "Install it, or leave it out."}}
		default:
			continue
		}
		found = append(found, h)
	}
	return found, nil
}

// chosen returns the hosts of these names, or all if there are none.
func chosen(names []string) ([]agent, error) {
	all := agents()
	if len(names) == 0 {
		return all, nil
	}
	var list []agent
	for _, name := range names {
		i := slices.IndexFunc(all, func(a agent) bool { return a.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no host %q: the hosts are %s", name, strings.Join(Names(), ", "))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// variable returns a variable of the person's environment.
func (m *Machine) variable(name string) (value string) {
	for _, item := range m.Env {
		if n, v, _ := strings.Cut(item, "="); n == name {
			value = v
		}
	}
	return value
}

// system returns the path of a file of the system.
func (m *Machine) system(path string) string { return filepath.Join(m.Root, path) }

// shown returns a path as a person writes it.
func (m *Machine) shown(path string) string {
	for _, at := range []struct{ dir, as string }{{m.Dir, ""}, {m.Home, "~/"}, {m.Root, "/"}} {
		if at.dir == "" {
			continue
		}
		if rel, within := subpath.Rel(path, at.dir); within {
			return at.as + filepath.ToSlash(rel)
		}
	}
	return path
}
