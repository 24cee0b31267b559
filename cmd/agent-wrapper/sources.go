package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
	"github.com/agent-wrapper/agent-wrapper/workspace"
)

// managedDir is where the administrator of a machine keeps a policy. A test
// has its own.
var managedDir = "/etc/agent-wrapper"

// configDir is where this user's policy is kept, "" if there is no home.
func configDir() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agent-wrapper")
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".config", "agent-wrapper")
}

// compiled is a policy ready for use.
type compiled struct {
	sources  []policy.Source
	ignored  []policy.Ignored
	spec     *policy.Spec // of all sources
	place    patterns.Place
	policy   *permission.Policy
	session  *permission.Session
	warnings []string
	lists    []*whitelist.List   // the whitelists that bind
	ceiling  permission.Ceilings // made of them
	look     whitelist.Look      // what they may look at for details; nil: nothing
}

// compile makes the policy of all sources ready for use.
func (p *policyFlags) compile() (*compiled, error) {
	place, err := p.place()
	if err != nil {
		return nil, err
	}
	sources, warnings, err := p.sources(place)
	if err != nil {
		return nil, err
	}
	return p.merged(place, sources, warnings)
}

// merged makes the policy of these sources ready for use.
func (p *policyFlags) merged(place patterns.Place, sources []policy.Source, warnings []string) (*compiled, error) {
	c, err := compose(place, sources)
	if err != nil {
		return nil, err
	}
	c.warnings = append(warnings, c.warnings...)
	c.look = whitelist.Files{Dir: place.Workspace, Path: os.Getenv("PATH")}
	c.policy.Guarded = append(c.policy.Guarded, p.files(place)...)
	c.policy.Protect = append(c.policy.Protect, moved(place)...)
	if !p.unbound {
		for _, err := range c.bindWhitelists(p.usualWhitelist(place)) {
			c.warnings = append(c.warnings, err.Error())
		}
	}
	return c, nil
}

// compose makes one policy of sources, the only way in which a command comes to
// one. What it guards, and which whitelists bind, is for the caller to add: see
// guarded and bindWhitelists.
func compose(place patterns.Place, sources []policy.Source) (*compiled, error) {
	c := &compiled{sources: sources, place: place}
	c.spec, c.ignored = policy.Merge(sources)
	var err error
	if c.policy, c.session, c.warnings, err = c.spec.Compile(place); err != nil {
		return nil, usage("%w", err)
	}
	for _, i := range c.ignored {
		c.warnings = append(c.warnings, i.String())
	}
	for _, src := range sources {
		if !src.Trusted {
			c.warnings = append(c.warnings, fmt.Sprintf("%s is not trusted and can only narrow: look at it, then run agent-wrapper trust %s", src.Name, src.Name))
		}
	}
	return c, nil
}

// sources reads the policies that count, those of the flags last. A list of
// trusted files that cannot be read is a warning: then nothing is trusted.
func (p *policyFlags) sources(place patterns.Place) ([]policy.Source, []string, error) {
	said, err := p.said()
	if err != nil {
		return nil, nil, err
	}
	trust, warnings := readTrust()
	var sources []policy.Source
	if !p.isolated {
		if sources, err = p.dirs(place).Find(trust, place); err != nil {
			return nil, nil, usage("%w", err)
		}
	}
	for _, f := range []struct {
		flag string
		file policy.File
	}{{"--policy", policy.File{Kind: policy.Named, Path: p.file}}, {"--frontmatter", policy.File{Kind: policy.FrontMatter, Path: p.chat}}} {
		if f.file.Path == "" {
			continue
		}
		src, err := f.file.Read(trust, place)
		if err != nil {
			return nil, nil, fileError(f.flag, err)
		}
		sources = append(sources, src)
	}
	return append(sources, policy.Source{Kind: policy.Flags, Name: "flags", Spec: said, Trusted: true}), warnings, nil
}

// dirs are the directories that policies are looked for in.
func (p *policyFlags) dirs(place patterns.Place) policy.Dirs {
	d := policy.Dirs{Managed: managedDir, User: configDir(), Workspace: place.Workspace}
	if here, err := filepath.EvalSymlinks(absolute(".")); err == nil && here == place.Workspace {
		d.Workspace = "." // names in messages are then as a person would write them
	}
	if p.file != "" {
		d.Workspace = ""
	}
	return d
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

func readTrust() (*policy.Trust, []string) {
	dir, err := stateDir()
	if err != nil {
		return nil, nil // nobody to have trusted anything
	}
	trust, err := policy.ReadTrust(dir)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return trust, nil
}

// files are the files that say what the agent may do, and where all that this
// program keeps lies, there or not, absolute.
func (p *policyFlags) files(place patterns.Place) []string {
	state, err := stateDir()
	if err != nil {
		state = "" // nothing is kept
	}
	files := guarded(policy.Dirs{Managed: managedDir, User: configDir(), Workspace: place.Workspace}, state)
	for _, path := range []string{p.file, p.chat} {
		if path != "" {
			files = append(files, absolute(path))
		}
	}
	for _, text := range p.rules {
		if file, ok := strings.CutPrefix(text, "@"); ok {
			files = append(files, absolute(file))
		}
	}
	return files
}

// guarded are the files that say what the agent may do, wherever nobody named
// others, and state, where this program keeps what is trusted, the record and the
// journal; "" is none.
func guarded(d policy.Dirs, state string) []string {
	var files []string
	for _, f := range d.Files() {
		files = append(files, f.Path)
	}
	if state != "" {
		files = append(files, state)
	}
	return append(files, filepath.Join(d.Workspace, whitelist.FileName), filepath.Join(d.Workspace, whitelist.LogFile))
}
