package engine

import (
	"fmt"
	"io"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Shown is what is in force, in the form of policy show --json.
type Shown struct {
	Workspace  string           `json:"workspace"`
	Roots      []string         `json:"roots,omitempty"`
	Version    string           `json:"version"`
	Sources    []ShownSource    `json:"sources"`
	Counts     []policy.Shown   `json:"counts"`
	Whitelists []ShownWhitelist `json:"whitelists,omitempty"`
	Ignored    []string         `json:"ignored"`
	Warnings   []string         `json:"warnings"`
}

// ShownSource is one source of the policy.
type ShownSource struct {
	Kind    string         `json:"kind"`
	Name    string         `json:"name"`
	Trusted bool           `json:"trusted"`
	Says    []policy.Shown `json:"says"`
}

// ShownWhitelist is a whitelist that binds commands.
type ShownWhitelist struct {
	File   string `json:"file"`
	Mode   string `json:"mode"` // strict or permissive
	DryRun bool   `json:"dry_run,omitempty"`
}

// String says which list it is, and whether it refuses anything.
func (l ShownWhitelist) String() string {
	how := "binding"
	if l.DryRun {
		how = "a dry run: it refuses nothing"
	}
	return fmt.Sprintf("whitelist %s (%s, %s)", visible.Line(l.File), l.Mode, how)
}

// Show returns what is in force, with the source of each rule.
func (r *Rules) Show() Shown {
	out := Shown{
		Workspace: r.Place.Workspace, Roots: r.Place.Roots, Version: r.Policy.Version, Counts: r.Spec.Show(),
		Ignored: []string{}, Warnings: append([]string{}, r.Warnings...),
	}
	for _, src := range r.Sources {
		out.Sources = append(out.Sources, ShownSource{src.Kind.String(), src.Name, src.Trusted, src.Spec.Show()})
	}
	for _, l := range r.Whitelists() {
		s := ShownWhitelist{l.Name(), "permissive", l.Policy().DryRunMode}
		if l.Strict() {
			s.Mode = "strict"
		}
		out.Whitelists = append(out.Whitelists, s)
	}
	for _, i := range r.Ignored {
		out.Ignored = append(out.Ignored, i.String())
	}
	return out
}

// WriteTrace writes for a person how a tool use was decided, as explain does; see
// display.WriteTrace.
func (r *Rules) WriteTrace(out io.Writer, o display.TextOptions, use *permission.ToolUse, trace *permission.Trace) {
	display.WriteTrace(out, o, use, trace, r.Policy.Mode, r.Warnings)
	if use.Tool != "Bash" && use.Tool != "Monitor" {
		return
	}
	for _, list := range r.Show().Whitelists {
		fmt.Fprintln(out, list)
	}
}
