package gates

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/workspace"
)

// Bypass is the variable of the program's own environment by which a person
// lifts a whitelist for a run. No gate gets it or may set it.
const Bypass = "LEX_BYPASS_COMMAND_VALIDATION"

// Check looks at what hangs on the place where the plan runs: that the directory
// of each gate lies in the workspace, wherever links lead, and that a gate sets
// only such variables as allowed says yes to. PATH is never one. The workspace
// is absolute and has no links in it.
func (p *Plan) Check(dir string, allowed func(name string) bool) error {
	var all faults
	for i := range p.Items {
		for j := range p.Items[i].Gates {
			g := &p.Items[i].Gates[j]
			if _, err := g.dir(dir); err != nil {
				all.add(p.fault(g.path+".cwd", "%v", err))
			}
			for _, name := range slices.Sorted(maps.Keys(g.Env)) {
				if why := refuses(name, g.Env[name], allowed); why != "" {
					all.add(p.fault(g.path+".env."+name, "%s", why))
				}
			}
		}
	}
	return errors.Join(all...)
}

// dir is the directory that the gate runs in, without links. One that is not
// there yet is where it will be.
func (g *Gate) dir(workspaceDir string) (string, error) {
	real, ok := workspace.Env{}.Resolve(filepath.Join(workspaceDir, g.Cwd))
	switch {
	case !ok:
		return "", fmt.Errorf("where %q leads cannot be told", g.Cwd)
	case !below(workspaceDir, real):
		return "", fmt.Errorf("%q leads to %s by a link, which is outside the workspace", g.Cwd, real)
	}
	return real, nil
}

// start is the directory that the gate starts in, now.
func (g *Gate) start(workspaceDir string) (string, error) {
	dir, err := g.dir(workspaceDir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", fmt.Errorf("its directory: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("its directory: %s is none", dir)
	}
	return dir, nil
}

// below reports whether a path lies in a directory or is it; both without links.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// refuses says why a gate may not set a variable, "" if it may.
func refuses(name, value string, allowed func(name string) bool) string {
	switch {
	case !variable.MatchString(name):
		return "this is no name of a variable"
	case strings.EqualFold(name, "PATH"):
		return "a gate may not say where programs are found"
	case name == Bypass:
		return "a gate may not lift the whitelist"
	case strings.IndexByte(value, 0) >= 0:
		return "its value holds a NUL byte"
	case !allowed(name):
		return "the whitelist does not allow this variable: add it to policy.allow_env_vars if it is meant"
	}
	return ""
}

// Dir is the directory that a gate of a checked plan runs in, without links.
func (g *Gate) Dir(workspaceDir string) string {
	dir, err := g.dir(workspaceDir)
	if err != nil {
		return "" // unknown: nothing is proven there
	}
	return dir
}
