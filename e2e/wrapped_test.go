//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// buildDir is a folder of this process; TestMain makes and removes it.
var buildDir string

var buildOnce = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("AW_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	out, err := exec.Command("go", "build", "-o", buildDir+"/", "../cmd/agent-wrapper", "../cmd/agent-wrapper-sandbox").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return filepath.Join(buildDir, "agent-wrapper"), nil
})

// binary builds agent-wrapper once, with the small program beside it.
func binary(t testing.TB) string {
	t.Helper()
	path, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// wrapped is one run of agent-wrapper with the real agent CLI.
type wrapped struct {
	release
	profile
	Policy []string // flags
	Lift   []string // variables that reach the agent CLI past the wrapper
	Agent  string   // the agent command, "" for the release itself
}

// result is what a wrapped run left.
type result struct {
	Code   int
	Out    string // the event stream
	Errors string // standard error
	Events []map[string]any
}

// args are the flags of the run.
func (x wrapped) args(b *box) []string {
	prompt := x.Prompt
	if prompt == "" {
		prompt = plainPrompt
	}
	var bare []string
	if x.Bare {
		bare = []string{"--bare"}
	}
	return slices.Concat([]string{
		"run", "--prompt", prompt, "--cwd", b.Work, "--agent-command", x.agent(b),
		"--mcp-config", b.mcpConfig(), "--audit", b.Dir + "/audit.jsonl", "--log", b.Dir + "/wire.jsonl",
	}, bare, x.Policy)
}

// agent is the agent CLI, behind a script if variables are to reach it: the
// wrapper hands on few.
func (x wrapped) agent(b *box) string {
	if x.Agent != "" {
		return x.Agent
	}
	if len(x.Lift) == 0 {
		return x.Path
	}
	b.write("agent", "#!/bin/sh\nexec env "+strings.Join(x.Lift, " ")+" "+x.Path+" \"$@\"\n")
	os.Chmod(b.Dir+"/agent", 0o700)
	return b.Dir + "/agent"
}

// command is the run, not yet started, in a process group of its own.
func (x wrapped) command(t testing.TB, b *box, m *model, w *web) *exec.Cmd {
	cmd := exec.Command(binary(t), x.args(b)...)
	cmd.Dir = b.Dir
	cmd.Env = b.env(append(append(w.env(), "ANTHROPIC_BASE_URL="+m.URL), x.profile.Env...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run runs it to its end; nothing of it may be left.
func (x wrapped) run(t testing.TB, b *box, m *model, w *web) result {
	t.Helper()
	var out, complaints bytes.Buffer
	cmd := x.command(t, b, m, w)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := m.onQuiet(2*time.Minute, func() { stuck(t, cmd.Process.Pid, b, m) })
	err := cmd.Wait()
	if !stop() {
		t.Errorf("its goroutines:\n%s", ours(complaints.String()))
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	reap()
	if took, dead := gone(x.Path, patience); !dead { // one that was killed takes a moment
		t.Errorf("the agent CLI is still there %v after the run", took)
		end(agents(x.Path))
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), complaints.String(), lines(t, out.Bytes())}
}

// stuck ends a run that does not end, and says what it was about: the last call, the
// processes, the last that was said, and, on its standard error, its goroutines.
func stuck(t testing.TB, pid int, b *box, m *model) {
	var all strings.Builder
	for _, p := range descendants() {
		parent, state := status(p)
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(p) + "/cmdline")
		fmt.Fprintf(&all, "%d (%c, of %d) %.300q\n", p, state, parent, line)
	}
	wire := b.readFile("wire.jsonl")
	t.Errorf("the run does not end; nothing came back for %q; there are\n%s\nthe last of the wire:\n%s", m.waiting(), all.String(), wire[max(0, len(wire)-2000):])
	syscall.Kill(pid, syscall.SIGABRT)
	ended(pid, time.Now().Add(5*time.Second))
	syscall.Kill(-pid, syscall.SIGKILL)
}

// ours leaves the lines of a dump of goroutines that speak of this project.
func ours(dump string) string {
	var all strings.Builder
	for line := range strings.Lines(dump) {
		if strings.HasPrefix(line, "goroutine ") || strings.Contains(line, "agent-wrapper") && !strings.HasPrefix(line, "\t") {
			all.WriteString(line)
		}
	}
	return all.String()
}

// lines reads JSON lines.
func lines(t testing.TB, data []byte) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, text := range bytes.Split(data, []byte("\n")) {
		var line map[string]any
		if len(text) == 0 {
			continue
		}
		if err := json.Unmarshal(text, &line); err != nil {
			t.Errorf("no JSON line: %s", short(string(text)))
			continue
		}
		all = append(all, line)
	}
	return all
}

// record reads the audit log.
func record(t testing.TB, b *box) []decision {
	t.Helper()
	var all []decision
	for _, text := range strings.Split(b.readFile("audit.jsonl"), "\n") {
		if text == "" {
			continue
		}
		var e struct {
			Kind, Use, Tool, Dir, Behavior string
			Time                           time.Time
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Errorf("the record has a line that is no JSON: %s", short(text))
			continue
		}
		if e.Kind != "decision" {
			continue
		}
		all = append(all, decision{ID: e.Use, Tool: e.Tool, Allow: e.Behavior == "allow", Dir: e.Dir, At: e.Time})
	}
	return all
}

// offered gives the tools of the init line in the protocol log.
func offered(t testing.TB, b *box) any {
	for _, text := range strings.Split(b.readFile("wire.jsonl"), "\n") {
		var line map[string]any
		if at := strings.IndexByte(text, '{'); at >= 0 && json.Unmarshal([]byte(text[at:]), &line) == nil {
			if line["type"] == "system" && line["subtype"] == "init" {
				return line["tools"]
			}
		}
	}
	t.Error("the protocol log has no init line")
	return nil
}

// scene is a box made ready for the matrix.
type scene struct {
	b    *box
	m    *model
	w    *web
	rows []row
}

func newScene(t *testing.T, r release, p profile) *scene {
	t.Helper()
	need(t, r)
	b := newBox(t)
	furnish(b)
	if p.Lay != nil {
		p.Lay(b)
	}
	s, rows := matrix(b, r)
	sc := &scene{b: b, m: startModel(t, s), rows: rows, w: startWeb(t, b)}
	sc.m.onSearch = func() { b.write("marks/web-search", "") }
	return sc
}
