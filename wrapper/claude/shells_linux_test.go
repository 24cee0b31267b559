package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/prefix"
)

// guard is shells with a test in place of the agent CLI and of the run.
type guard struct {
	*shells
	t     testing.TB
	work  string
	notes []string
}

func newGuard(t testing.TB, change func(o *launch)) *guard {
	t.Helper()
	bash := findBash(nil)
	if bash == "" {
		t.Skip("there is no bash")
	}
	g := &guard{t: t, work: t.TempDir()}
	o := &launch{}
	o.Private = t.TempDir()
	o.Note = func(name, words string) error {
		g.notes = append(g.notes, name+": "+words)
		return nil
	}
	if change != nil {
		change(o)
	}
	var err error
	if g.shells, err = openShells(o, os.Environ(), bash); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.close)
	return g
}

// allows allows a command in a directory, as the Decider's answer.
func (g *guard) allows(id, command, dir string, more string) {
	input, _ := json.Marshal(command)
	at, _ := os.Stat(dir)
	g.allow(&permission.ToolUse{ID: id, Tool: "Bash", Dir: dir}, at, &permission.Result{UpdatedInput: json.RawMessage(`{"command":` + string(input) + more + `}`)})
}

// text is what the agent CLI would write around a command that has no quotation marks.
func (g *guard) text(command string) string {
	return "eval '" + command + "' && pwd -P >| " + g.work + "/claude-0000-cwd"
}

// runs starts the program that the agent CLI puts in front of a command, and tells how
// it ended and what it said.
func (g *guard) runs(dir string, env []string, args ...string) (code int, said string) {
	g.t.Helper()
	cmd := exec.Command(g.prefix(), args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &out
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		g.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// TestShellsOnce: what was allowed runs once, where it was allowed, and nothing else does.
func TestShellsOnce(t *testing.T) {
	g := newGuard(t, nil)
	other := t.TempDir()
	for _, x := range []struct {
		name    string
		allows  string
		in      string // where it was decided
		command string
		dir     string
		code    int
		says    string
	}{
		{"nothing was allowed", "", "", "echo a", g.work, 126, "nobody has allowed this command"},
		{"it was", "echo a", g.work, "echo a", g.work, 0, "a\n"},
		{"and has run", "", "", "echo a", g.work, 126, "or it has run already"},
		{"another was", "echo a", g.work, "echo b", g.work, 126, "nobody"},
		{"somewhere", "echo c", "", "echo c", other, 0, "c\n"},
		{"elsewhere", "echo d", g.work, "echo d", other, 126, "it was allowed in " + g.work + ", and not in " + other},
		{"and still there", "", "", "echo d", g.work, 0, "d\n"},
		{"a blank more", "echo a", g.work, "echo a ", g.work, 126, "nobody"},
		{"its own code", "exit 9", g.work, "exit 9", g.work, 9, ""},
		{"nul", "echo x >nul; echo y", g.work, "echo x >/dev/null; echo y", g.work, 0, "y\n"},
		{"nul has run", "", "", "echo x >nul; echo y", g.work, 126, "nobody"},
	} {
		if x.allows != "" {
			g.allows("id", x.allows, x.in, "")
		}
		code, said := g.runs(x.dir, nil, g.text(x.command))
		if code != x.code || !strings.Contains(said, x.says) || code == 0 && said != x.says {
			t.Errorf("%s: %d, %q", x.name, code, said)
		}
	}
	if len(g.notes) != 6 || !strings.HasPrefix(g.notes[0], "shell: a command of the agent did not run: nobody has allowed") {
		t.Errorf("the record has %q", g.notes)
	}
}

// TestShellsStrict: what is not the text for a command does not run.
func TestShellsStrict(t *testing.T) {
	g := newGuard(t, nil)
	g.allows("id", "echo a", "", "")
	for _, args := range [][]string{
		nil, {""}, {"echo a"}, {"-c", "echo a"}, {g.text("echo a"), "x"}, {g.text("echo a") + "; echo b"}, {"echo b && " + g.text("echo a")}, {"version"},
	} {
		if code, said := g.runs(g.work, nil, args...); code != 126 || !strings.HasPrefix(said, "agent-wrapper: this did not run: ") {
			t.Errorf("%q: %d, %q", args, code, said)
		}
	}
	if code, said := g.runs(g.work, nil, g.text("echo a")); code != 0 || said != "a\n" {
		t.Errorf("what was allowed: %d, %q", code, said)
	}
}

// TestShellsBuild: a program of another build than the run's gets nothing started.
func TestShellsBuild(t *testing.T) {
	g := newGuard(t, nil)
	g.allows("id", "echo a", "", "")
	if _, _, err := g.answer(&prefix.Asked{Build: "another", Text: g.text("echo a"), Dir: g.work}); err == nil || !strings.Contains(err.Error(), "begin the run again") {
		t.Errorf("%v", err)
	}
}

// TestShellsDirectory: the shell tells where it is afterwards.
func TestShellsDirectory(t *testing.T) {
	g := newGuard(t, nil)
	g.allows("id", "cd /", g.work, "")
	code, said := g.runs(g.work, nil, g.text("cd /"))
	where, _ := os.ReadFile(filepath.Join(g.work, "claude-0000-cwd"))
	if code != 0 || string(where) != "/\n" {
		t.Errorf("%d, %q: %q", code, said, where)
	}
}

// TestShellsEdited: what a person has made of a command is what runs.
func TestShellsEdited(t *testing.T) {
	g := newGuard(t, nil)
	g.allow(&permission.ToolUse{ID: "id", Tool: "Bash", Input: json.RawMessage(`{"command":"echo a"}`)}, nil, &permission.Result{UpdatedInput: json.RawMessage(`{"command":"echo b"}`)})
	if code, _ := g.runs(g.work, nil, g.text("echo a")); code != 126 {
		t.Errorf("what it was before: %d", code)
	}
	if code, said := g.runs(g.work, nil, g.text("echo b")); code != 0 || said != "b\n" {
		t.Errorf("what it became: %d, %q", code, said)
	}
}

// TestShellsOver: with the result of a tool use its command cannot run any more; that of
// one in the background may still be about to begin.
func TestShellsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &guard{t: t, shells: &shells{o: &launch{}, allowed: map[string][]*permit{}}}
		g.allows("front", "a", "", "")
		g.allows("back", "b", "", `,"run_in_background":true`)
		g.allows("other", "a", "", "")
		g.over("front")
		g.over("back")
		g.mu.Lock()
		if len(g.allowed["a"]) != 1 || g.allowed["a"][0].id != "other" || len(g.allowed["b"]) != 1 {
			t.Errorf("%v", g.allowed)
		}
		g.mu.Unlock()
		time.Sleep(lateLimit)
		synctest.Wait()
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.allowed) != 1 || len(g.allowed["a"]) != 1 {
			t.Errorf("%v", g.allowed)
		}
	})
}

// TestShellsAlike: of two tool uses with the same line each runs once, although it is not
// known which one has begun when the first one does.
func TestShellsAlike(t *testing.T) {
	for _, first := range []string{"left", "right"} {
		g := newGuard(t, nil)
		g.allows("left", "echo a", g.work, "")
		g.allows("right", "echo a", g.work, "")
		second := "left"
		if first == second {
			second = "right"
		}
		for _, id := range []string{first, second} {
			if code, said := g.runs(g.work, nil, g.text("echo a")); code != 0 || said != "a\n" {
				t.Errorf("%s, after %s: %d, %q", id, first, code, said)
			}
			g.over(id)
		}
		if code, _ := g.runs(g.work, nil, g.text("echo a")); code != 126 {
			t.Errorf("a third time: %d", code)
		}
		if len(g.begun) > 0 || len(g.allowed) > 0 {
			t.Errorf("%v, %v", g.begun, g.allowed)
		}
		// A tool use that has ended before it began does not run for another one later.
		g.allows("one", "echo a", g.work, "")
		g.over("one")
		if code, _ := g.runs(g.work, nil, g.text("echo a")); code != 126 {
			t.Errorf("after its end: %d", code)
		}
	}
}

// TestShellsUndecided: a tool use whose command was to run without an approval shows that the
// agent CLI does not ask; one whose line was allowed before does not.
func TestShellsUndecided(t *testing.T) {
	g := newGuard(t, nil)
	g.allows("early", "echo early", "", "")
	g.over("early")
	for _, line := range []string{"echo early", "echo never >/dev/null"} {
		if code, _ := g.runs(g.work, nil, g.text(line)); code != 126 {
			t.Errorf("%s: %d", line, code)
		}
	}
	for _, tt := range []struct {
		tool, line string
		reached    bool
	}{{"Bash", "echo never >/dev/null", true}, {"Bash", "echo never >nul", true}, {"Bash", "echo other", false}, {"Bash", "echo early", false}, {"Read", "echo never >/dev/null", false}} {
		input, _ := json.Marshal(map[string]string{"command": tt.line}) // cannot fail
		got := g.reached(&entry{tool: tt.tool, input: input})
		if got != tt.reached {
			t.Errorf("%s %s: %v", tt.tool, tt.line, got)
		}
		for _, before := range []stand{unasked, hooked, pending, approved, used, refused} {
			u := uses{}
			u.get("x").stand = before
			verdict, why := u.settle(outcome{id: "x", reached: got})
			if want := got && before != approved && before != used; (verdict == breached) != want || want != strings.Contains(why, "our shell refused") {
				t.Errorf("%s, %d before: %d, %s", tt.line, before, verdict, why)
			}
		}
	}
	if (*shells)(nil).reached(&entry{tool: "Bash"}) {
		t.Error("reached without a shell")
	}
}

// TestShellsTools: only tools that run commands let any run.
func TestShellsTools(t *testing.T) {
	g := &guard{t: t, shells: &shells{o: &launch{}, allowed: map[string][]*permit{}}}
	for _, tool := range []string{"Read", "mcp__a__b", "Agent", "PowerShell"} {
		g.allow(&permission.ToolUse{ID: "x", Tool: tool}, nil, &permission.Result{UpdatedInput: json.RawMessage(`{"command":"a"}`)})
	}
	if len(g.allowed) > 0 {
		t.Errorf("%v", g.allowed)
	}
	g.allow(&permission.ToolUse{ID: "x", Tool: "Bash"}, nil, &permission.Result{Decision: permission.Decision{Sandbox: permission.Within}, UpdatedInput: json.RawMessage(`{"command":"a"}`)})
	if len(g.allowed) > 0 {
		t.Errorf("allowed inside the sandbox, where there is none: %v", g.allowed)
	}
	g.allow(&permission.ToolUse{ID: "x", Tool: "Monitor"}, nil, &permission.Result{UpdatedInput: json.RawMessage(`{"command":"a"}`)})
	if len(g.allowed) != 1 {
		t.Errorf("%v", g.allowed)
	}
	(*shells)(nil).allow(&permission.ToolUse{Tool: "Bash"}, nil, &permission.Result{})
	(*shells)(nil).over("x")
	(*shells)(nil).close()
}

// TestShellsEnvironment: a command does not get what the agent CLI authenticates with.
func TestShellsEnvironment(t *testing.T) {
	g := newGuard(t, nil)
	env := []string{"CLAUDE_CODE_USE_BEDROCK=1", "AWS_PROFILE=mine", "BYTES=\xff\xfe"}
	secrets := slices.Concat(variables.logins, variables.reaching, variables.clouds["CLAUDE_CODE_USE_BEDROCK"])
	for _, name := range secrets {
		env = append(env, name+"=secret-of-"+name)
	}
	g.allows("id", "printenv", "", "")
	code, said := g.runs(g.work, env, g.text("printenv"))
	if code != 0 || strings.Contains(said, "secret-of") || !strings.Contains(said, "AWS_PROFILE=mine\n") || !strings.Contains(said, "BYTES=\xff\xfe\n") || !strings.Contains(said, "PATH=") {
		t.Errorf("%d: %s", code, said)
	}
	vertex := []string{"AWS_ACCESS_KEY_ID=x", "GOOGLE_APPLICATION_CREDENTIALS=y", "CLAUDE_CODE_USE_VERTEX=1"}
	if left := without(vertex, withheldFromCommands(vertex)); !slices.Equal(left, []string{"AWS_ACCESS_KEY_ID=x", "CLAUDE_CODE_USE_VERTEX=1"}) {
		t.Errorf("without the cloud that they are for: %q", left)
	}
}

// TestShellsServers: the MCP servers that the person has configured are started, with the
// arguments as they are, and no others.
func TestShellsServers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"a":{"command":"printf","args":["%s|","a b","c'd","$HOME","${AW_X}","${AW_Y:-d}","${AW_Y}"]},"web":{"type":"http","url":"http://x"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AW_X", "value")
	g := newGuard(t, func(o *launch) { o.MCPConfig = []string{file, `{"mcpServers":{"b":{"command":"echo"}}}`} })
	for text, want := range map[string]string{
		`printf '%s|' 'a b' 'c'"'"'d' '$HOME' value d '${AW_Y}'`: "a b|c'd|$HOME|value|d|${AW_Y}|",
		"echo": "\n",
	} {
		for range 2 { // as often as the agent CLI wants
			if code, said := g.runs(g.work, nil, text); code != 0 || said != want {
				t.Errorf("%s: %d, %q", text, code, said)
			}
		}
	}
	for _, text := range []string{"printf", "echo x", "echo ", `printf '%s|' a b`, "ls", "'echo'x", "echo;ls"} {
		if code, said := g.runs(g.work, nil, text); code != 126 {
			t.Errorf("%s: %d, %q", text, code, said)
		}
	}
}

// TestShellsHooks: hooks in managed settings run if these were accepted, word for word.
func TestShellsHooks(t *testing.T) {
	settings := []byte(`{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"echo hook | cat"},{"type":"http","url":"http://x"}]}]},"permissions":{"deny":["Read"]}}`)
	for accepted, want := range map[bool]int{true: 0, false: 126} {
		g := newGuard(t, nil)
		f := preflight{acceptManaged: accepted}
		if err := f.managed(settings); (err == nil) != accepted {
			t.Fatal(err)
		}
		g.accept(f.hooked)
		for range 2 {
			if code, said := g.runs(g.work, nil, "echo hook | cat"); code != want || accepted && said != "hook\n" {
				t.Errorf("accepted %v: %d, %q", accepted, code, said)
			}
		}
		if code, _ := g.runs(g.work, nil, "echo hook | cat; id"); code != 126 {
			t.Errorf("more than that: %d", code)
		}
	}
}

// TestShellsGone: without an answer nothing runs.
func TestShellsGone(t *testing.T) {
	g := newGuard(t, nil)
	g.allows("id", "echo a", "", "")
	g.listener.Close()
	g.serving.Wait()
	if code, said := g.runs(g.work, nil, g.text("echo a")); code != 126 || !strings.Contains(said, "not there any more") {
		t.Errorf("%d, %q", code, said)
	}
	g.close()
	if _, err := os.Lstat(g.dir); err == nil {
		t.Errorf("%s is left", g.dir)
	}
}

// TestShellsPlace: the directory is nobody else's, and of any length.
func TestShellsPlace(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("d", 200))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	g := newGuard(t, func(o *launch) { o.Private = deep })
	if info, err := os.Stat(g.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	g.allows("id", "echo a", "", "")
	if code, said := g.runs(g.work, nil, g.text("echo a")); code != 0 || said != "a\n" {
		t.Errorf("%d, %q", code, said)
	}
	odd := filepath.Join(t.TempDir(), "a -b")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	o := &launch{}
	o.Private = odd
	if _, err := openShells(o, nil, "/bin/bash"); err == nil || !strings.Contains(err.Error(), "for an option") {
		t.Errorf("%v", err)
	}
	if filepath.Base(g.prefix()) != prefix.Name {
		t.Errorf("%s", g.prefix())
	}
}

// TestShellsMet: what the sandbox refused a command is in the outcome of its tool use, or in a
// note if that has its result already.
func TestShellsMet(t *testing.T) {
	var notes []string
	o := &launch{}
	o.Sandbox = &wrapper.Sandbox{Plan: func() (*sandbox.Plan, error) { return &sandbox.Plan{}, nil }}
	o.Note = func(name, words string) error {
		notes = append(notes, name+": "+words)
		return nil
	}
	over, cancel := context.WithCancel(t.Context())
	cancel() // no room is opened
	g := &guard{t: t, shells: &shells{o: o, ctx: over, allowed: map[string][]*permit{}, met: map[string][]string{}}}
	for _, id := range []string{"front", "back", "well"} {
		g.allows(id, "a", "", "")
	}
	g.serving.Wait()
	g.meets("front", []string{"write /etc"})
	if got := g.took("front"); !slices.Equal(got, []string{"write /etc"}) || len(g.took("front")) > 0 {
		t.Errorf("%q", got)
	}
	if got := g.took("back"); len(got) > 0 { // its result is there before it ends
		t.Errorf("%q", got)
	}
	g.meets("well", nil)
	g.meets("back", nil)
	g.meets("back", []string{"write /etc", "fetch a.example:443"})
	if want := []string{"sandbox: a command in the background was stopped by the sandbox: write /etc, fetch a.example:443"}; !slices.Equal(notes, want) {
		t.Errorf("%q", notes)
	}
	if got := (*shells)(nil).took("x"); got != nil {
		t.Errorf("%q", got)
	}
}

// TestShellsAdvice: what is written behind the output of a command that failed is one line of
// its own, whatever the output and the advice are like.
func TestShellsAdvice(t *testing.T) {
	for _, x := range []struct{ name, output, advice, want string }{
		{"failed", "x\n", "advice", "agent-wrapper: advice\n"},
		{"without an end of line", "x", "advice", "\nagent-wrapper: advice\n"},
		{"without output", "", "advice", "agent-wrapper: advice\n"},
		{"with several lines", "", "a\nb\x1b[2J", "agent-wrapper: a<U+000A>b<U+001B>[2J\n"},
		{"no refusal", "FAIL\n", "", ""},
	} {
		asked := false
		o := &launch{}
		o.Sandbox = &wrapper.Sandbox{Meets: func(*sandbox.Plan, *sandbox.End) ([]string, string) {
			asked = true
			return nil, x.advice
		}}
		s := &shells{o: o, met: map[string][]string{}}
		if got := s.advice(&sandbox.Plan{}, &permit{}, &sandbox.End{Line: "the line", Output: []byte(x.output)}); got != x.want || !asked {
			t.Errorf("%s: %q, asked %v", x.name, got, asked)
		}
	}
}

// TestShellsRefuse: a host that is refused is noted for each command that runs then.
func TestShellsRefuse(t *testing.T) {
	o := &launch{}
	o.Sandbox = &wrapper.Sandbox{Reaches: func(_ context.Context, _, host, _ string) error {
		if host == "good.example" {
			return nil
		}
		return errors.New("no rule allows it")
	}}
	s := &shells{o: o}
	var first, second sandbox.Refusals
	over := s.refusing(&first)
	if s.reaches(t.Context(), "evil.example", "443") == nil || s.reaches(t.Context(), "good.example", "443") != nil {
		t.Error("it is not decided")
	}
	over()
	defer s.refusing(&second)()
	if s.reaches(t.Context(), "other.example", "443") == nil {
		t.Error("it is not decided")
	}
	if got := first.All(); len(got) != 1 || got[0].Host != "evil.example" {
		t.Errorf("%v", got)
	}
	if got := second.All(); len(got) != 1 || got[0].Host != "other.example" {
		t.Errorf("%v", got)
	}
}
