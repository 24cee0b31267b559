package client

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Project is a git repository on disk, with the policy that "agent-wrapper init"
// writes there, which its owner has trusted.
type Project struct {
	Home string // of the owner, who has nothing else
	Dir  string // the repository, below Home

	program string
}

// TempDir makes a directory for projects. It is not below /tmp, where other rules
// hold than in a person's home.
func TempDir() (string, error) {
	dir, err := os.MkdirTemp("/var/tmp", "projects")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// NewProject lays out archives of files as one repository in the directory rel below
// home, and has program write its policy, with flags of init. Of files with the same
// name, that of the first archive is taken.
func NewProject(program, home, rel string, archives []string, flags ...string) (*Project, error) {
	p := &Project{Home: home, Dir: filepath.Join(home, rel), program: program}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			return nil, err
		}
		for _, f := range archive.Files {
			if err := p.lay(f); err != nil {
				return nil, err
			}
		}
	}
	steps := [][]string{
		{"git", "init", "-q"}, {"git", "add", "."}, {"git", "-c", "user.name=d", "-c", "user.email=d@example.com", "commit", "-qm", "x"},
		append([]string{program, "init", "-y"}, flags...), {program, "trust", "--yes", "agent-wrapper.toml"},
	}
	for _, step := range steps {
		if out, err := p.command(step[0], step[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(step, " "), err, out)
		}
	}
	return p, nil
}

func (p *Project) lay(f txtar.File) error {
	path := filepath.Join(p.Dir, filepath.FromSlash(f.Name))
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, f.Data, 0o644)
}

// Policy returns the path of the project's policy file.
func (p *Project) Policy() string { return filepath.Join(p.Dir, "agent-wrapper.toml") }

// command returns a command that the owner runs in the project.
func (p *Project) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "HOME="+p.Home, "XDG_CONFIG_HOME="+p.Home+"/c", "XDG_STATE_HOME="+p.Home+"/s", "XDG_RUNTIME_DIR="+p.Home)
	return cmd
}

// Shell runs a command line in dir, or in the project if there is no such directory,
// without input and output. It returns the exit code, -1 if there is none.
func (p *Project) Shell(ctx context.Context, line, dir string) int {
	cmd := p.command("bash", "-c", line)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		cmd.Dir = dir
	}
	if cmd.Start() != nil {
		return -1
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}
