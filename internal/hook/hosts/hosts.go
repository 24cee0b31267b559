// Package hosts is the table of the agents whose hooks agent-wrapper answers.
package hosts

import (
	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/claude"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/codex"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/copilot"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/crush"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/gemini"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/opencode"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/qwen"
)

// makers make the hosts, in the order in which they are shown.
var makers = []func() *hook.Host{claude.Host, codex.Host, gemini.Host, qwen.Host, copilot.Host, opencode.Host, crush.Host}

// All returns the hosts.
func All() []*hook.Host {
	var all []*hook.Host
	for _, host := range makers {
		all = append(all, host())
	}
	return all
}

// Named returns the host with a name, nil if there is none.
func Named(name string) *hook.Host {
	for _, h := range All() {
		if h.Name == name {
			return h
		}
	}
	return nil
}
