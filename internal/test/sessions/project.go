package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The directories of the recorded tool uses.
const (
	recordedHome    = "/home/dev"
	recordedProject = "/home/dev/proj"
	recordedTemp    = "/tmp/"
)

// recordedRoots matches the projects in which lines of everyday.jsonl were
// recorded, and which they name by their absolute paths. What else they name in
// the home directory was another project there, too.
var recordedRoots = regexp.MustCompile(`/home/dev/(?:project|Code/agents-md-evaluator|Code/cipher-box|Source/SpecStory/getspecstory|workspace/cli|` +
	`Repositories/cli|src/entireio/cli|Work/entire/devenv/cli|projects/dd-mcp/pup-mcp-server|projects/pup-mcp|Self/Sandbox/tan-mapper-app|` +
	`L2A_CDU_system|Projects/LEANAICOACH/lean-ai-coach-Dev1)\b`)

// project is a project on disk with the policy of init, as its owner has it
// after "agent-wrapper init" and "agent-wrapper trust".
type project struct {
	home  string // with the project in proj
	state string // the engine's, outside home
	temp  string // for temporary files; empty
}

// tempDir makes a directory for projects. It is not below /tmp, where other rules
// hold than in a person's home.
func tempDir() (string, error) {
	base := ""
	if runtime.GOOS != "windows" {
		base = "/var/tmp"
	}
	dir, err := os.MkdirTemp(base, "sessions")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// newProject lays out archives of files as one project below dir. Of files with
// the same name, that of the first archive is taken.
func newProject(dir string, archives ...string) (*project, error) {
	p := &project{home: filepath.Join(dir, "home", "dev"), state: filepath.Join(dir, "state"), temp: filepath.Join(dir, "tmp")}
	if err := os.MkdirAll(p.temp, 0o700); err != nil {
		return nil, err
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			return nil, err
		}
		for _, f := range archive.Files {
			if _, err := os.Lstat(filepath.Join(p.dir(), f.Name)); err == nil {
				continue
			}
			if err := p.write(f.Name, string(f.Data)); err != nil {
				return nil, err
			}
		}
	}
	if err := p.initRepository(); err != nil {
		return nil, err
	}
	return p, p.start()
}

func (p *project) dir() string { return filepath.Join(p.home, filepath.Base(recordedProject)) }

// write writes a file of the project.
func (p *project) write(name, text string) error {
	path := filepath.Join(p.dir(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// initRepository makes the project a git repository, without git: these files
// are what gitrepository-layout(5) requires.
func (p *project) initRepository() error {
	for _, dir := range []string{"objects", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(p.dir(), ".git", filepath.FromSlash(dir)), 0o755); err != nil {
			return err
		}
	}
	if err := p.write(".git/HEAD", "ref: refs/heads/main\n"); err != nil {
		return err
	}
	return p.write(".git/config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n")
}

// start writes the policy of init and trusts it.
func (p *project) start() error {
	if err := p.write(policy.FileName, string(policy.Starting(os.DirFS(p.dir()), true))); err != nil {
		return err
	}
	if err := p.write(".gitignore", policy.LocalName+"\n"); err != nil {
		return err
	}
	path := filepath.Join(p.dir(), policy.FileName)
	src, err := policy.File{Kind: policy.Project, Path: path}.Read(nil, patterns.Place{Workspace: p.dir(), Home: p.home})
	if err != nil {
		return err
	}
	trust, err := policy.ReadTrust(p.state)
	if err != nil {
		return err
	}
	return trust.Set(path, src.Spec)
}

// open returns an engine in the project, with a session as an agent that is driven
// has it. The environment's home must be that of the project.
func (p *project) open(person permission.Approver) (*engine.Engine, error) {
	e, err := engine.Open(engine.Options{Dir: p.dir(), Dirs: &engine.Dirs{State: p.state}, NoRecord: true, Approver: person})
	if err != nil {
		return nil, err
	}
	e.Session.Scratch(filepath.Join(p.temp, "private"), p.temp)
	if sandboxed {
		err = e.Within()
	}
	return e, err
}

// here returns a recorded text with the project's paths.
func (p *project) here(text string) string {
	text = recordedRoots.ReplaceAllLiteralString(text, recordedProject)
	return strings.ReplaceAll(strings.ReplaceAll(text, recordedTemp, p.temp+"/"), recordedHome, p.home)
}

// recorded returns a text of the engine with the recorded paths.
func (p *project) recorded(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, p.home, recordedHome), p.temp+"/", recordedTemp)
}

// enter makes the process that of the project's owner: settings are looked up in
// the project's home, and nothing in the environment names others.
func (p *project) enter() error {
	for _, name := range environment() {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return os.Setenv("HOME", p.home)
}

// environment returns the names of the variables that say where settings lie.
func environment() []string {
	var names []string
	for _, name := range os.Environ() {
		name, _, _ = strings.Cut(name, "=")
		if strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "XDG_") {
			names = append(names, name)
		}
	}
	return names
}
