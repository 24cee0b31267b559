package gates

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
)

// Bypass is the environment variable by which a person lifts a whitelist for a
// run. It is not passed to gates, and no gate may set it.
const Bypass = "LEX_BYPASS_COMMAND_VALIDATION"

// Check verifies what depends on the place where the plan runs: the directory
// of each gate lies in the workspace after symbolic links are resolved, and a
// gate sets only variables for which allowed returns true, never PATH. dir is
// the workspace, absolute and without links.
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

// dir returns the gate's directory without links. A directory that does not
// exist yet is where it would be created.
func (g *Gate) dir(workspaceDir string) (string, error) {
	real, ok := workspace.Env{}.Resolve(filepath.Join(workspaceDir, g.Cwd))
	switch {
	case !ok:
		return "", fmt.Errorf("cannot tell where %q leads", g.Cwd)
	case !subpath.Inside(real, workspaceDir):
		return "", fmt.Errorf("%q leads to %s through a link, which is outside the workspace", g.Cwd, real)
	}
	return real, nil
}

// start returns the gate's directory at the time of the call.
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
		return "", fmt.Errorf("its directory: %s is not a directory", dir)
	}
	return dir, nil
}

var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// refuses returns why a gate may not set a variable, or "".
func refuses(name, value string, allowed func(name string) bool) string {
	switch {
	case !variable.MatchString(name):
		return "this is not a variable name"
	case strings.EqualFold(name, "PATH"):
		return "a gate may not set where programs are found"
	case name == Bypass:
		return "a gate may not turn the whitelist off"
	case strings.IndexByte(value, 0) >= 0:
		return "its value contains a NUL byte"
	case !allowed(name):
		return "the whitelist does not allow this variable: add it to policy.allow_env_vars if it is intended"
	}
	return ""
}

// Dir returns the directory of a gate of a checked plan, without links.
func (g *Gate) Dir(workspaceDir string) string {
	dir, err := g.dir(workspaceDir)
	if err != nil {
		return "" // unknown, so nothing is proven there
	}
	return dir
}
