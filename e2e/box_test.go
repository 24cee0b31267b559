//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// release is one agent CLI under test.
type release struct {
	Version string
	Path    string
}

// versions are the agent CLIs of package.json, the newest first. The short form
// takes that one, the long form all.
var versions = []string{"2.1.330", "2.1.268", oldest}

// oldest is the oldest agent CLI that the wrapper accepts.
const oldest = "2.1.197"

// releases are the agent CLIs that this form takes.
func releases() []release {
	all := allReleases()
	if !long() {
		all = all[:1]
	}
	return all
}

// allReleases finds the agent CLIs; a test that needs one calls need first.
func allReleases() []release {
	modules := os.Getenv("AW_E2E_MODULES")
	if modules == "" {
		modules = "node_modules"
	}
	modules, _ = filepath.Abs(modules)
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	binary := "node_modules/@anthropic-ai/claude-code-" + runtime.GOOS + "-" + arch + "/claude"
	var all []release
	for _, v := range versions {
		all = append(all, release{v, filepath.Join(modules, "claude-code-"+v, binary)})
	}
	return all
}

// eachRelease runs a test with every agent CLI that is here.
func eachRelease(t *testing.T, f func(t *testing.T, r release)) {
	for _, r := range releases() {
		t.Run(r.Version, func(t *testing.T) {
			need(t, r)
			f(t, r)
		})
	}
}

// need skips the test, or fails it under CI, where it cannot run.
func need(t *testing.T, r release) {
	t.Helper()
	if noNamespace != "" {
		unable(t, noNamespace)
	}
	if _, err := os.Stat(r.Path); err != nil {
		unable(t, "no agent CLI "+r.Version+": run npm ci --prefix e2e ("+err.Error()+")")
	}
	for _, program := range []string{"git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			unable(t, "this test needs "+program+" on PATH")
		}
	}
}

// box is one throw-away machine: a home, a workspace and a place for marks.
type box struct {
	t     testing.TB
	Dir   string // holds all of it
	Home  string
	Work  string // the workspace, a git repository
	Marks string // marks of the MCP server
	Out   string // a folder outside the workspace
}

func newBox(t testing.TB) *box {
	t.Helper()
	return newBoxIn(t, t.TempDir())
}

// newBoxIn makes a box in an empty directory.
func newBoxIn(t testing.TB, dir string) *box {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return boxIn(t, dir)
}

// newShownBox returns a box whose path has always the same length, so that a screen with it
// always breaks at the same places.
func newShownBox(t testing.TB) *box {
	t.Helper()
	dir := fmt.Sprintf("/tmp/aw-%08x", rand.Uint32())
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return boxIn(t, dir)
}

func boxIn(t testing.TB, dir string) *box {
	t.Helper()
	t.Cleanup(func() { end(descendants()) }) // before the folder is removed
	b := &box{t: t, Dir: dir, Home: dir + "/home", Work: dir + "/repo", Marks: dir + "/marks", Out: dir + "/out"}
	for _, d := range []string{b.Home, b.Work, b.Marks, b.Out, dir + "/tmp"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.run("git", "init", "-q", "-b", "main")
	b.write("repo/a.txt", "alpha secret-of-a\n")
	b.write("repo/sub/b.txt", "beta secret-of-b\n")
	b.write("repo/n.ipynb", `{"cells":[{"cell_type":"code","id":"c1","source":["1+1"],"metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`)
	b.run("git", "add", ".")
	b.run("git", "-c", "user.name=e2e", "-c", "user.email=e2e@example.com", "commit", "-q", "-m", "start")
	return b
}

// run runs a program in the workspace with the environment of the box.
func (b *box) run(name string, args ...string) {
	b.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = b.Work, b.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// write puts a file below the box.
func (b *box) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) readFile(name string) string {
	data, _ := os.ReadFile(filepath.Join(b.Dir, name))
	return string(data)
}

func (b *box) has(name string) bool {
	_, err := os.Lstat(filepath.Join(b.Dir, name))
	return err == nil
}

// until waits for what tells of itself by no event; it gives up at the limit.
func until(limit time.Duration, holds func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(limit); !holds(); {
		select {
		case <-tick.C:
		case <-over:
			return holds()
		}
	}
	return true
}

// env is the whole environment of the agent: nothing of ours but PATH.
func (b *box) env(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.Home, "TMPDIR=" + b.Dir + "/tmp", "SHELL=/bin/bash", "LANG=C.UTF-8", "TERM=dumb",
		"ANTHROPIC_API_KEY=dummy-key", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
		"DISABLE_BUG_COMMAND=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_SKIP_PROMPT_HISTORY=1",
		"GIT_CONFIG_NOSYSTEM=1",
	}, more...)
}

// mcpConfig writes the configuration of the mark server and gives its path.
func (b *box) mcpConfig() string {
	b.t.Helper()
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	data, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"marks": map[string]any{
		"command": self, "args": []string{}, "env": map[string]string{roleVar: "mcp", markVar: b.Marks},
	}}})
	b.write("mcp.json", string(data))
	return b.Dir + "/mcp.json"
}

// short cuts text for a message.
func short(s string) string {
	s = strings.ReplaceAll(s, "\n", "\\n")
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}

// link puts a link below the box, to another file of it.
func (b *box) link(name, to string) {
	b.t.Helper()
	path := filepath.Join(b.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(b.Dir, to), path); err != nil {
		b.t.Fatal(err)
	}
}
