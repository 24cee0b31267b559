//go:build e2e

package e2e

import (
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
)

// seat is a person in a conversation, at a terminal that shows what a person sees.
type seat struct {
	t      testing.TB
	cmd    *exec.Cmd
	pty    interface{ WriteString(string) (int, error) }
	screen *screen.Terminal
	mu     sync.Mutex
	wrote  chan struct{} // closed and replaced when something was shown
	over   chan struct{}
}

// converses starts a conversation in a terminal of 80 columns and 24 rows.
func (x wrapped) converses(t testing.TB, b *box, m *model, w *web, flags ...string) *seat {
	t.Helper()
	args := append([]string{"run", "--cwd", b.Work, "--agent-command", x.agent(b), "--audit", b.Dir + "/audit.jsonl", "--log", b.Dir + "/wire.jsonl"}, x.Policy...)
	cmd := exec.Command(binary(t), append(args, flags...)...)
	cmd.Dir = b.Dir
	cmd.Env = append(b.env(append(w.env(), "ANTHROPIC_BASE_URL="+m.URL)...), "TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, cmd: cmd, pty: tty, screen: screen.New(80, 24), wrote: make(chan struct{}), over: make(chan struct{})}
	t.Cleanup(func() {
		cmd.Process.Kill()
		tty.Close()
	})
	go func() {
		defer close(s.over)
		buf := make([]byte, 1<<16)
		for {
			n, err := tty.Read(buf)
			s.screen.Write(buf[:n])
			s.mu.Lock()
			close(s.wrote)
			s.wrote = make(chan struct{})
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// all is everything that was shown, with what has scrolled away.
func (s *seat) all() string { return screen.Text(s.screen.From(0)) }

func (s *seat) shown() string { return screen.Text(s.screen.Shown()) }

// until waits until the screen is as it should be.
func (s *seat) until(what string, is func() bool) {
	s.t.Helper()
	limit := time.After(60 * time.Second)
	for {
		s.mu.Lock()
		wrote := s.wrote
		s.mu.Unlock()
		if is() {
			return
		}
		select {
		case <-wrote:
		case <-s.over:
			if !is() {
				s.t.Fatalf("the conversation ended before %s:\n%s", what, s.all())
			}
		case <-limit:
			s.t.Fatalf("%s does not come:\n%s", what, s.all())
		}
	}
}

// sees waits until the screen shows a text.
func (s *seat) sees(text string) {
	s.t.Helper()
	s.until(text, func() bool { return strings.Contains(s.shown(), text) })
}

// idle waits until the agent waits for a prompt, after it has said text.
func (s *seat) idle(text string) {
	s.t.Helper()
	s.until("an idle agent after "+text, func() bool {
		return strings.Contains(s.all(), text) && strings.HasSuffix(strings.TrimSpace(s.shown()), "/help")
	})
}

func (s *seat) types(text string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// says types a prompt, as a person does, and sends it.
func (s *seat) says(text string) {
	s.t.Helper()
	s.types(text)
	s.sees("> " + text)
	s.types("\r")
}

// ends waits for the end and gives the exit code.
func (s *seat) ends() int {
	s.t.Helper()
	select {
	case <-s.over:
	case <-time.After(30 * time.Second):
		s.t.Fatalf("the conversation does not end:\n%s", s.all())
	}
	s.cmd.Wait()
	if got := s.screen.Unknown(); len(got) > 0 {
		s.t.Errorf("unknown control functions: %q", got)
	}
	return s.cmd.ProcessState.ExitCode()
}

// TestConversation: five turns with the real agent CLI at a terminal, of which one is
// interrupted, one waits and one comes after the conversation was resumed; a question that
// comes while the person types; rules of the session.
func TestConversation(t *testing.T) {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": "x"}}
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, script{"main": {
			{tells("The kettle listens on port 8080, as far as I can see, and it never boils.")}, // 1
			{bash("endless", "tail -f /dev/null")},                                               // 2: interrupted
			{bash("second", "touch second")},                                                     // 3: asked about while a prompt is typed
			{tells("It is there.")},
			{tells("That was what waited.")}, // 4: it waited
			{bash("third", "touch third")},   // 5: allowed by a rule of the session, which is resumed
			{tells("All done.")},
		}})
		w := startWeb(t, b)
		x := wrapped{release: r, Policy: []string{"--allow", "Bash(tail:*)", "--ask", "Bash(touch second)", "--unlisted", "ask"}}
		s := x.converses(t, b, m, w)
		s.idle("/help lists")
		s.says("[[main]] what is here?")
		s.idle("it never boils.")

		s.says("watch it")
		s.sees("ALLOW  Bash  tail -f /dev/null")
		s.sees("working")
		s.types("\x03")
		s.idle("(interrupted)")

		s.says("make the second")
		s.sees("working")
		s.types("and then so on")
		s.sees("Tab: a question waits, about Bash")
		if b.has("repo/second") {
			t.Error("typing answered the question")
		}
		s.types("\r")
		s.sees("waits: and then so on")
		s.sees("touch second")
		s.sees("└ >")
		s.types("o")
		s.idle("That was what waited.")
		if !b.has("repo/second") {
			t.Error("what was allowed did not run")
		}
		s.says("/allow Bash(touch third)")
		s.sees("is allowed for this session")
		s.says("/why")
		s.sees("1. ALLOW  Bash  touch second")
		s.types("\x04")
		if code := s.ends(); code != 0 {
			t.Errorf("exit code %d:\n%s", code, s.all())
		}
		t.Log("\n" + s.all())

		s = x.converses(t, b, m, w, "--continue")
		s.sees("/help")
		s.says("/rules")
		s.sees("Bash(touch third)")
		s.says("make the third")
		s.idle("All done.")
		s.types("\x03")
		s.sees("^C again ends")
		s.types("\x03")
		if code := s.ends(); code != 0 || !b.has("repo/third") {
			t.Errorf("exit code %d, third %v:\n%s", code, b.has("repo/third"), s.all())
		}
		t.Log("\n" + s.all())
		if prompts := b.readFile("wire.jsonl"); strings.Count(prompts, `"type":"user","client_composed"`) != 5 {
			t.Errorf("%d prompts were sent", strings.Count(prompts, `"type":"user","client_composed"`))
		}
	})
}
