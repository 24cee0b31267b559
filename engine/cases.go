package engine

import (
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
)

// Cases decides the cases of a policy file as an engine with Options.Policy
// decides tool uses in the file's own directory: the same sources, guards and
// whitelists. Cases lie in a file system that each of them describes, so nothing
// else is read. It is for policy.TestOptions.
func Cases(file string, spec *policy.Spec, place patterns.Place) (*permission.Evaluator, error) {
	r, err := compose(place, []policy.Source{{Kind: policy.Named, Name: file, Spec: spec, Trusted: true}})
	if err != nil {
		return nil, err
	}
	dir := absolute(filepath.Dir(file))
	if err := errors.Join(r.bindFiles(filepath.Join(dir, whitelist.FileName))...); err != nil {
		return nil, err
	}
	for i, name := range r.Policy.Guarded {
		if inside, below := strings.CutPrefix(name, dir+"/"); below {
			r.Policy.Guarded[i] = path.Join(place.Workspace, inside)
		}
	}
	dirs := Dirs{
		Managed: UserDirs().Managed, User: path.Join(place.Home, ".config/agent-wrapper"),
		State: path.Join(place.Home, ".local/state/agent-wrapper"),
	}
	r.Guard(dirs.guarded(place.Workspace)...)
	return r.Evaluator(), nil
}
