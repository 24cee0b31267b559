package engine

import (
	"errors"
	"path"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Cases returns the evaluator for the cases of a policy file, for
// policy.TestOptions. It decides as an engine with Options.Policy in the
// directory of the file: with the same sources, guarded files and whitelists.
// Each case describes its own file system, and the real one is read only for the
// whitelists.
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
		if inside, below := subpath.Below(name, dir); below {
			r.Policy.Guarded[i] = path.Join(place.Workspace, inside)
		}
	}
	dirs := Dirs{
		Managed: UserDirs().Managed, User: path.Join(place.Home, ".config/agent-wrapper"),
		State: path.Join(place.Home, ".local/state/agent-wrapper"),
	}
	r.Guard(dirs.guarded(place.Workspace, nil)...)
	r.Policy.Credentials = append(r.Policy.Credentials, dirs.Credentials())
	return r.Evaluator(), nil
}
