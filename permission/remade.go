package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// remadeDirs holds the names of directories that a tool makes anew when they are
// gone: what it installed, built, measured or remembered. True stands for names that
// are also given to directories of sources, so that git must ignore the directory.
var remadeDirs = map[string]bool{
	"node_modules": false, ".venv": false, "__pycache__": false, "coverage": false,
	"bin": true, "build": true, "dist": true, "out": true, "target": true,
	".next": false, ".nuxt": false, ".svelte-kit": false, ".turbo": false, ".parcel-cache": false, ".vite": false,
	".nyc_output": false, ".pytest_cache": false, ".mypy_cache": false, ".ruff_cache": false, ".tox": false, ".nox": false,
}

// removesRemade reports whether act i is an rm of tier 3 all of whose operands are
// directories of remadeDirs in the workspace, as they stand there. A person is asked
// about it, where any other such command is refused.
func (e *evaluation) removesRemade(i int) bool {
	by := &e.acts[i]
	if by.sub.Kind != patterns.RunCommand || !e.tier3(i) || by.override != nil || e.policy.NoRemoval || e.policy.Profile == risk.Terminal {
		return false
	}
	if nameOf(by.does) != "rm" || by.does.Words[0].Text != "rm" || by.does.Unproven() || slices.Contains(by.factors, risk.FactorCatastrophic) {
		return false
	}
	removes := false
	for j := range e.acts {
		a := &e.acts[j]
		switch {
		case a.parent != i:
		case a.sub.Kind == patterns.WritePath && e.isRemade(a):
			removes = true
		default:
			return false
		}
	}
	return removes
}

// isRemade reports whether the path of a write is proven to be a directory of
// remadeDirs in the workspace, reached through no link and no "..".
func (e *evaluation) isRemade(a *act) bool {
	if len(a.forms) != 1 || len(a.forms[0].Holes) > 0 || !a.inside || a.protected || !a.does.Path.Known() || climbs(&a.does.Path) {
		return false
	}
	name := a.forms[0].Text
	mustBeIgnored, listed := remadeDirs[path.Base(name)]
	return listed && (!mustBeIgnored || e.env != nil && e.env.Ignored(name))
}

// climbs reports whether a path has a segment "..".
func climbs(name *shell.Word) bool {
	return slices.Contains(strings.Split(name.Text, "/"), "..")
}
