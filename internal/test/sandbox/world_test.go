//go:build sandbox && linux

package sandbox

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	kills = flag.Int("kills", 20, "how many runs are killed")
	seed  = flag.Uint64("seed", 1, "of the moments")
	turns = flag.Int("turns", 30, "how often each command is timed")
)

var program string // ours, with the small one beside it

const commands = "github.com/agent-wrapper/agent-wrapper/cmd/"

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "aw-sandbox-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = os.Getenv("AW_BINARY")
	if program == "" {
		program = built(dir)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// built builds agent-wrapper into a directory.
func built(dir string) string {
	path := filepath.Join(dir, "agent-wrapper")
	build := exec.Command("go", "build", "-o", dir, commands+"agent-wrapper", commands+"agent-wrapper-sandbox")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	return path
}

// world is a project of a user, in a home outside the directories for temporary files,
// as homes are.
type world struct{ home, project string }

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	base, err := os.UserCacheDir()
	must(t, err)
	if os.Getuid() == 0 {
		base = "/home" // root's own home is a sensitive path
	}
	return newWorldIn(t, base, files)
}

// newWorldIn makes one below a directory.
func newWorldIn(t *testing.T, base string, files map[string]string) *world {
	t.Helper()
	must(t, os.MkdirAll(base, 0o700))
	dir, err := os.MkdirTemp(base, "aw-sandbox-test-")
	must(t, err)
	dir, err = filepath.EvalSymlinks(dir)
	must(t, err)
	t.Cleanup(func() {
		exec.Command("chmod", "-R", "u+w", dir).Run()
		os.RemoveAll(dir)
	})
	w := &world{home: filepath.Join(dir, "home"), project: filepath.Join(dir, "home", "project")}
	must(t, os.MkdirAll(w.project, 0o755))
	for name, text := range files {
		path := filepath.Join(w.project, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// env is the environment of the user. Caches of Go and toolchains are the machine's own.
func (w *world) env() []string {
	env := []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GOFLAGS=-buildvcs=false", "GOPROXY=off", "GOTOOLCHAIN=local", "LC_ALL=C.UTF-8"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOROOT"} {
		out, _ := exec.Command("go", "env", name).Output()
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	real, _ := os.UserHomeDir()
	for name, dir := range map[string]string{"PYENV_ROOT": ".pyenv", "CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup"} {
		env = append(env, name+"="+cmp.Or(os.Getenv(name), filepath.Join(real, dir)))
	}
	return env
}

// command returns the command that runs a script of the project inside the sandbox.
func (w *world) command(script string, more ...string) *exec.Cmd {
	rule := "Bash(bash " + script + ")"
	args := append([]string{"exec", "--sandbox", "--no-input", "--timeout", "5m", "--allow", rule}, more...)
	cmd := exec.Command(program, append(args, "--", "bash "+script)...)
	cmd.Dir, cmd.Env = w.project, w.env()
	return cmd
}
