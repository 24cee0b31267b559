package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/build"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Rules are the policies of all sources, merged and compiled, with the files that
// are guarded and the whitelists that bind commands. The fields are set by Load.
// They may be changed until Open is called; Session may be used at any time.
type Rules struct {
	Sources  []policy.Source
	Ignored  []policy.Ignored // settings of untrusted sources that were not applied
	Spec     *policy.Spec     // all sources, merged
	Place    patterns.Place
	Policy   *permission.Policy
	Session  *permission.Session
	Warnings []string

	options  Options
	planner  sandbox.Planner         // of the sandbox
	seen     workspace.Memory        // of their plans
	plan     *sandbox.Plan           // of the only command, see WithinOnce
	within   bool                    // the session's command lines run inside the sandbox
	onPath   workspace.Programs      // with within: what commands inside can write
	planning bool                    // see Planning
	lists    []*whitelist.List       // the whitelists that bind
	gates    permission.CommandGates // one for each of lists that is not lifted
	look     whitelist.Look          // where the whitelists look up details; nil: nowhere
}

// Load finds, reads and merges the policies that the options select, for programs
// that only explain decisions or that change the rules before Open. It opens no
// record. The error is an *OptionError or a *PolicyError; what is wrong but leaves
// the policies usable is in Warnings.
func Load(o Options) (*Rules, error) {
	place, err := o.Place()
	if err != nil {
		return nil, err
	}
	r, err := o.rules(place)
	if err != nil {
		return nil, err
	}
	r.options = o
	r.look = whitelist.Files{Dir: place.Workspace, Path: os.Getenv("PATH")}
	r.Guard(o.guarded(place)...)
	r.Policy.Credentials = append(r.Policy.Credentials, o.dirs().Credentials())
	for _, file := range o.Hide {
		r.Policy.Credentials = append(r.Policy.Credentials, absolute(file))
	}
	r.Policy.Protect = append(r.Policy.Protect, moved(place)...)
	for _, file := range o.Protect {
		r.Policy.Protect = append(r.Policy.Protect, permission.ProtectedFile(absolute(file)))
	}
	if !o.Unbound {
		usual, ignored := r.UsualWhitelists()
		r.Warnings = append(r.Warnings, ignored...)
		for _, err := range r.bindFiles(usual...) {
			r.Warnings = append(r.Warnings, err.Error())
		}
	}
	return r, nil
}

// rules returns the rules of the policies that the options select.
func (o *Options) rules(place patterns.Place) (*Rules, error) {
	if o.Compiled != nil {
		spec, err := policy.ReadCompiled(o.Compiled, place, build.Name())
		if err != nil {
			return nil, &PolicyError{err}
		}
		r := &Rules{Spec: spec, Place: place}
		return r, r.compile()
	}
	sources, warnings, err := o.sources(place)
	if err != nil {
		return nil, err
	}
	r, err := compose(place, sources)
	if err != nil {
		return nil, err
	}
	r.Warnings = append(warnings, r.Warnings...)
	return r, nil
}

// Compiled returns the policies as they are before the first decision, for Compiled in the
// options of later processes of the same build, which need not read and merge them again.
// Those do not know the sources, and have no warnings about them.
func (r *Rules) Compiled() ([]byte, error) {
	return r.Spec.AppendCompiled(nil, r.Policy, build.Name())
}

// compose merges and compiles sources. The caller adds the guarded files and the
// whitelists.
func compose(place patterns.Place, sources []policy.Source) (*Rules, error) {
	r := &Rules{Sources: sources, Place: place}
	r.Spec, r.Ignored = policy.Merge(sources)
	if err := r.compile(); err != nil {
		return nil, err
	}
	for _, i := range r.Ignored {
		r.Warnings = append(r.Warnings, i.String())
	}
	for _, src := range sources {
		if !src.Trusted {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s is not trusted, so it can only restrict: read it, then run agent-wrapper trust %s", src.Name, src.Name))
		}
	}
	return r, nil
}

// compile compiles the merged policies.
func (r *Rules) compile() (err error) {
	if r.Policy, r.Session, r.Warnings, err = r.Spec.Compile(r.Place); err != nil {
		return &PolicyError{err}
	}
	r.Session.Now = time.Now
	return nil
}

// Evaluator returns an evaluator for the rules without an approver and a recorder:
// its Explain decides, its CanUseTool denies everything until Recorder is set.
func (r *Rules) Evaluator() *permission.Evaluator {
	v := &permission.Evaluator{Policy: r.Policy, Session: r.Session, Env: workspace.Env{Place: r.Place, Pins: r.pins()}}
	if len(r.gates) > 0 {
		v.CommandGate = r.gates
	}
	return v
}

// pins returns the hosts that files of the project may name: those that an allow rule names,
// and what the person trusts at that moment.
func (r *Rules) pins() workspace.Pins {
	return workspace.Pins{Host: r.names, File: func(path string, lines []string) bool {
		trust, _ := r.options.trust()
		return trust.CoversHosts(path, lines)
	}}
}

// Explain returns the decision about a tool use as CanUseTool would make it now,
// without asking or recording. It fills trace, which may be nil, with the answers
// of all layers.
func (r *Rules) Explain(use permission.ToolUse, trace *permission.Trace) permission.Decision {
	return r.Evaluator().Explain(use, trace)
}

// Guard adds files, by absolute path, to those that decide what the agent may do.
// It must be called before the first decision.
func (r *Rules) Guard(files ...string) {
	r.Policy.Guarded = append(r.Policy.Guarded, files...)
}

// sources reads the selected policies, the caller's own last. If the list of trusted
// files cannot be read, there is a warning and nothing is trusted.
func (o *Options) sources(place patterns.Place) ([]policy.Source, []string, error) {
	trust, warnings := o.trust()
	sources := o.Base
	switch {
	case o.Frozen != nil:
		for i := range o.Frozen {
			src, err := o.Frozen[i].Source()
			if err != nil {
				return nil, nil, &PolicyError{err}
			}
			sources = append(sources[:len(sources):len(sources)], src)
		}
	case !o.Isolated:
		found, ignored, err := o.policyDirs(place).Find(trust, place)
		if err != nil {
			return nil, nil, &PolicyError{err}
		}
		warnings = append(warnings, ignored...)
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

// Freeze returns the policies that the options select of the machine, the user and the
// workspace, as they are now, for Frozen in the options of a later process. It is never
// nil. The error is that of Load.
func (o *Options) Freeze() ([]policy.Frozen, error) {
	place, err := o.Place()
	if err != nil {
		return nil, err
	}
	trust, _ := o.trust()
	dirs := o.policyDirs(place)
	if dirs.Workspace != "" {
		dirs.Workspace = place.Workspace // whatever the current directory is then
	}
	frozen, _, err := dirs.Freeze(trust, place)
	if err != nil {
		return nil, &PolicyError{err}
	}
	return append([]policy.Frozen{}, frozen...), nil
}

// trust returns the list of trusted files, nil if there is none or it cannot be
// read.
func (o *Options) trust() (*policy.Trust, []string) {
	dirs := o.dirs()
	if dirs.State == "" {
		return nil, nil // nothing can have been trusted
	}
	trust, err := policy.ReadTrust(dirs.State)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return trust, nil
}

// policyDirs returns the directories that are searched for policies.
func (o *Options) policyDirs(place patterns.Place) policy.Dirs {
	dirs := o.dirs()
	d := policy.Dirs{Managed: dirs.Managed, User: dirs.User, Workspace: place.Workspace}
	if here, err := filepath.EvalSymlinks(absolute(".")); err == nil && here == place.Workspace {
		d.Workspace = "." // for short names in messages
	}
	if o.Policy != "" {
		d.Workspace = ""
		return d
	}
	d.Above = policy.Upward(place.Workspace, place.Roots...)
	return d
}

// PolicyFiles returns the files that policies are read from, whether they exist or
// not.
func (o *Options) PolicyFiles() ([]policy.File, error) {
	place, err := o.Place()
	if err != nil {
		return nil, err
	}
	return o.policyDirs(place).Files(), nil
}

// guarded returns the absolute paths of the files that decide what the agent may
// do, whether they exist or not, of the state directory, and of the installed programs.
func (o *Options) guarded(place patterns.Place) []string {
	files := o.dirs().guarded(place.Workspace, policy.Upward(place.Workspace, place.Roots...))
	for _, path := range append([]string{o.Policy, o.FrontMatter}, o.Guard...) {
		if path != "" {
			files = append(files, absolute(path))
		}
	}
	return append(files, installed(os.Executable())...)
}

// programs are the names under which this program is installed. (docs/releases.md)
var programs = []string{"agent-wrapper", "agent-wrapper-hook", "agent-wrapper-sandbox"}

// installed returns the programs that decide: the one that runs, and those beside it.
func installed(own string, err error) []string {
	if err != nil {
		return nil
	}
	files := []string{own}
	for _, name := range programs {
		if other := filepath.Join(filepath.Dir(own), name); other != own {
			if _, err := os.Lstat(other); err == nil {
				files = append(files, other)
			}
		}
	}
	return files
}

// settingsVariables are environment variables with the paths of settings that
// otherwise have a name from the table of protected files.
var settingsVariables = []string{
	"BASH_ENV", "CLAUDE_CONFIG_DIR", "DOCKER_CONFIG", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GNUPGHOME",
	"INPUTRC", "KUBECONFIG", "NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG", "PIP_CONFIG_FILE", "PYTHONSTARTUP",
}

// moved returns the protected files that have other names than in the table,
// because of a variable in the environment or because git keeps the workspace's
// repository elsewhere.
func moved(place patterns.Place) []permission.Protected {
	files := workspace.GitFiles(place.Workspace, named("GIT_DIR", "GIT_COMMON_DIR")...)
	for _, root := range place.Roots {
		files = append(files, workspace.GitFiles(root)...)
	}
	files = append(files, named(settingsVariables...)...)
	var all []permission.Protected
	for _, file := range files {
		all = append(all, permission.ProtectedFile(file))
	}
	return all
}

// named returns the paths in variables of the environment, as absolute paths.
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
