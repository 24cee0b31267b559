package engine

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
	"github.com/agent-wrapper/agent-wrapper/workspace"
)

// Rules are the policies of all sources, merged and compiled, with what they
// guard and the whitelists that bind.
type Rules struct {
	Sources  []policy.Source
	Ignored  []policy.Ignored // what an untrusted source may not say
	Spec     *policy.Spec     // of all sources
	Place    patterns.Place
	Policy   *permission.Policy
	Session  *permission.Session
	Warnings []string

	options Options
	lists   []*whitelist.List       // the whitelists that bind
	gates   permission.CommandGates // made of them
	look    whitelist.Look          // what they may look at for details; nil: nothing
}

// Load makes the policies that count ready for use. It opens no record: see
// Rules.Open.
func Load(o Options) (*Rules, error) {
	place, err := o.Place()
	if err != nil {
		return nil, err
	}
	sources, warnings, err := o.sources(place)
	if err != nil {
		return nil, err
	}
	r, err := compose(place, sources)
	if err != nil {
		return nil, err
	}
	r.options = o
	r.Warnings = append(warnings, r.Warnings...)
	r.look = whitelist.Files{Dir: place.Workspace, Path: os.Getenv("PATH")}
	r.Guard(o.guarded(place)...)
	r.Policy.Protect = append(r.Policy.Protect, moved(place)...)
	for _, file := range o.Protect {
		r.Policy.Protect = append(r.Policy.Protect, permission.ProtectedFile(absolute(file)))
	}
	if !o.Unbound {
		for _, err := range r.bindFiles(r.UsualWhitelist()) {
			r.Warnings = append(r.Warnings, err.Error())
		}
	}
	return r, nil
}

// compose makes one policy of sources, the only way to one. What it guards, and
// which whitelists bind, is for the caller to add.
func compose(place patterns.Place, sources []policy.Source) (*Rules, error) {
	r := &Rules{Sources: sources, Place: place}
	r.Spec, r.Ignored = policy.Merge(sources)
	var err error
	if r.Policy, r.Session, r.Warnings, err = r.Spec.Compile(place); err != nil {
		return nil, &PolicyError{err}
	}
	for _, i := range r.Ignored {
		r.Warnings = append(r.Warnings, i.String())
	}
	for _, src := range sources {
		if !src.Trusted {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s is not trusted and can only narrow: look at it, then run agent-wrapper trust %s", src.Name, src.Name))
		}
	}
	return r, nil
}

// Evaluator decides by the policy and its whitelists. It asks nobody and records
// nothing.
func (r *Rules) Evaluator() *permission.Evaluator {
	v := &permission.Evaluator{Policy: r.Policy, Session: r.Session, Env: workspace.Env{Place: r.Place}}
	if len(r.gates) > 0 {
		v.CommandGate = r.gates
	}
	return v
}

// Explain decides a tool use as it would be decided now, without asking or
// recording, and fills trace, which may be nil.
func (r *Rules) Explain(use permission.ToolUse, trace *permission.Trace) permission.Decision {
	return r.Evaluator().Explain(use, trace)
}

// Guard adds files to those that say what the agent may do.
func (r *Rules) Guard(files ...string) {
	r.Policy.Guarded = append(r.Policy.Guarded, files...)
}

// sources reads the policies that count, the caller's own last. A list of trusted
// files that cannot be read is a warning: then nothing is trusted.
func (o *Options) sources(place patterns.Place) ([]policy.Source, []string, error) {
	trust, warnings := o.trust()
	sources := o.Base
	if !o.Isolated {
		found, err := o.policyDirs(place).Find(trust, place)
		if err != nil {
			return nil, nil, &PolicyError{err}
		}
		sources = append(sources[:len(sources):len(sources)], found...)
	}
	for _, f := range []struct {
		option string
		file   policy.File
	}{{"Policy", policy.File{Kind: policy.Named, Path: o.Policy}}, {"FrontMatter", policy.File{Kind: policy.FrontMatter, Path: o.FrontMatter}}} {
		if f.file.Path == "" {
			continue
		}
		src, err := f.file.Read(trust, place)
		if err != nil {
			return nil, nil, &OptionError{f.option, err}
		}
		sources = append(sources, src)
	}
	if o.Settings != nil {
		name := o.Origin
		if name == "" {
			name = "settings"
		}
		sources = append(sources, policy.Source{Kind: policy.Flags, Name: name, Spec: o.Settings, Trusted: true})
	}
	return sources, warnings, nil
}

// trust is the list of trusted files, nil if there is none that can be read.
func (o *Options) trust() (*policy.Trust, []string) {
	dirs := o.dirs()
	if dirs.State == "" {
		return nil, nil // nobody to have trusted anything
	}
	trust, err := policy.ReadTrust(dirs.State)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return trust, nil
}

// policyDirs are the directories that policies are looked for in.
func (o *Options) policyDirs(place patterns.Place) policy.Dirs {
	dirs := o.dirs()
	d := policy.Dirs{Managed: dirs.Managed, User: dirs.User, Workspace: place.Workspace}
	if here, err := filepath.EvalSymlinks(absolute(".")); err == nil && here == place.Workspace {
		d.Workspace = "." // names in messages are then as a person would write them
	}
	if o.Policy != "" {
		d.Workspace = ""
	}
	return d
}

// PolicyFiles are the files that policies are looked for in, there or not.
func (o *Options) PolicyFiles() ([]policy.File, error) {
	place, err := o.Place()
	if err != nil {
		return nil, err
	}
	return o.policyDirs(place).Files(), nil
}

// guarded are the files that say what the agent may do, and where all that this
// program keeps lies, there or not, absolute.
func (o *Options) guarded(place patterns.Place) []string {
	files := o.dirs().guarded(place.Workspace)
	for _, path := range append([]string{o.Policy, o.FrontMatter}, o.Guard...) {
		if path != "" {
			files = append(files, absolute(path))
		}
	}
	return files
}

// settingsVariables say where programs find what they obey, if not under the
// names of the table of protected files.
var settingsVariables = []string{
	"BASH_ENV", "CLAUDE_CONFIG_DIR", "DOCKER_CONFIG", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GNUPGHOME",
	"INPUTRC", "KUBECONFIG", "NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG", "PIP_CONFIG_FILE", "PYTHONSTARTUP",
}

// moved are the protected files that lie under another name: where the
// environment says so, and where git keeps the workspace's repository.
func moved(place patterns.Place) []permission.Protected {
	files := workspace.GitFiles(place.Workspace, named("GIT_DIR", "GIT_COMMON_DIR")...)
	files = append(files, named(settingsVariables...)...)
	var all []permission.Protected
	for _, file := range files {
		all = append(all, permission.ProtectedFile(file))
	}
	return all
}

// named are the paths that variables of the environment hold, absolute.
func named(variables ...string) []string {
	var paths []string
	for _, name := range variables {
		for _, path := range filepath.SplitList(os.Getenv(name)) {
			if path != "" {
				paths = append(paths, absolute(path))
			}
		}
	}
	return paths
}
