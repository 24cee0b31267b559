//go:build e2e

package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
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
	kept   strings.Builder // screens, for a golden file
}

// What differs from one screen to the next for no reason of ours.
var (
	uuid   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	boxDir = regexp.MustCompile(`/tmp/aw-[0-9a-f]{8}`)
	subID  = regexp.MustCompile(`\b(subagent |agentId: )a[0-9a-f]{16}`)
	took   = regexp.MustCompile(`(working|running) [0-9]+s|turns?, .*`)
)

// keeps keeps the screen under a title.
func (s *seat) keeps(title string) {
	shown := s.shown()
	shown = uuid.ReplaceAllString(shown, "00000000-0000-0000-0000-000000000000")
	shown = subID.ReplaceAllString(shown, "${1}a000000000000000")
	shown = boxDir.ReplaceAllString(shown, "/tmp/aw-00000000")
	shown = took.ReplaceAllString(shown, "$1 ...")
	fmt.Fprintf(&s.kept, "== %s\n%s\n", title, shown)
}

// golden compares the screens that were kept, of the newest agent CLI, with a file.
func (s *seat) golden(r release, name string) {
	s.t.Helper()
	if r.Version == versions[0] {
		golden.Check(s.t, "testdata/"+name+".txt", s.kept.String())
	}
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

// asked waits for a question about text in which a key counts.
func (s *seat) asked(text string) {
	s.t.Helper()
	s.until("a question about "+text, func() bool {
		return strings.Contains(s.shown(), text) && strings.HasSuffix(strings.TrimSpace(s.shown()), "└ >")
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
		b := newShownBox(t)
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
		s.keeps("a turn")

		s.says("watch it")
		s.sees("ALLOW  Bash  tail -f /dev/null")
		s.sees("working")
		s.types("\x03")
		s.idle("(interrupted)")
		s.keeps("one is interrupted")

		s.says("make the second")
		s.sees("working")
		s.types("and then so on")
		s.sees("Tab: a question waits, about Bash")
		s.keeps("a question waits while the person types")
		if b.has("repo/second") {
			t.Error("typing answered the question")
		}
		s.types("\r")
		s.sees("waits: and then so on")
		s.asked("touch second")
		s.keeps("the question, and a prompt that waits")
		s.types("o")
		s.idle("That was what waited.")
		s.keeps("what waited")
		if !b.has("repo/second") {
			t.Error("what was allowed did not run")
		}
		s.says("/allow Bash(touch third)")
		s.sees("is allowed for this session")
		s.says("/why")
		s.idle("1. ALLOW  Bash  touch second")
		s.keeps("/allow and /why")
		s.types("\x04")
		if code := s.ends(); code != 0 {
			t.Errorf("exit code %d:\n%s", code, s.all())
		}
		kept := s.kept.String()

		s = x.converses(t, b, m, w, "--continue")
		s.kept.WriteString(kept)
		s.sees("/help")
		s.says("/rules")
		s.sees("Bash(touch third)")
		s.says("make the third")
		s.idle("All done.")
		s.keeps("resumed")
		s.types("\x03")
		s.sees("^C again ends")
		s.types("\x03")
		if code := s.ends(); code != 0 || !b.has("repo/third") {
			t.Errorf("exit code %d, third %v:\n%s", code, b.has("repo/third"), s.all())
		}
		s.golden(r, "conversation")
		if prompts := b.readFile("wire.jsonl"); strings.Count(prompts, `"type":"user","client_composed"`) != 5 {
			t.Errorf("%d prompts were sent", strings.Count(prompts, `"type":"user","client_composed"`))
		}
	})
}

// TestBriefedConversation: what isolation took is given back to a person at a terminal:
// CLAUDE.md, a command with a command line in it, a skill, files and a picture, a custom
// agent, a worktree. What of their heads does not count is told; --bare has none of it.
func TestBriefedConversation(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newShownBox(t)
		layBriefing(t, b)
		tree := b.Work + "/.claude/worktrees/tree/"
		m := startModel(t, script{
			"main": {
				{tells("A kettle, in two files.")},
				{tells("It is clean, but for what you have not committed.")},
				{tells("I see a note and a pixel.")},
				{{Name: "enter", Tool: "EnterWorktree", Input: in{"name": "tree"}}},
				{{Name: "write", Tool: "Write", Input: in{"file_path": tree + "new.txt", "content": "x\n"}}},
				{tells("It is in the worktree.")},
				{{Name: "helper", Tool: "Agent", Input: in{"description": "x", "prompt": "go [[sub]]", "subagent_type": "helper", "run_in_background": false}}},
				{tells("The helper was not let.")},
			},
			"sub": {{{Name: "evil", Tool: "Bash", Input: in{"command": "make evil", "description": "x"}}}},
		})
		w := startWeb(t, b)
		x := wrapped{release: r, Policy: []string{"--allow", "EnterWorktree", "--unlisted", "risk", "--deny", "Read(.env)"}}
		s := x.converses(t, b, m, w)
		s.idle("/help lists")
		s.says("[[main]] what is here?")
		s.idle("in two files.")
		s.keeps("CLAUDE.md, and what of it is not given")
		s.says("/help")
		s.idle("/sk /state")
		s.keeps("/help")
		s.says("/state of it")
		s.idle("have not committed.")
		s.keeps("a command with a command line in it")

		s.says("/sk")
		s.asked("marks/skill")
		s.keeps("a command line of a skill is asked about")
		s.types("d")
		s.sees("your prompt is in the line again")
		s.types("\x03")
		s.idle("/sk is not sent")
		s.keeps("and denied")

		s.says("see @note.txt, @pic.png and @.env")
		s.idle("a note and a pixel.")
		s.keeps("files and a picture")

		s.says("/mode acceptEdits")
		s.sees("\nmode acceptEdits")
		s.says("go on in a worktree")
		s.idle("in the worktree.")
		s.keeps("a worktree")
		s.says("ask the helper")
		s.asked("make evil")
		s.keeps("a custom agent is asked about, whatever its head says")
		s.types("d")
		s.idle("was not let.")
		s.types("\x04")
		if code := s.ends(); code != 0 {
			t.Errorf("exit code %d:\n%s", code, s.all())
		}
		heard := slices.DeleteFunc(slices.Clone(briefingMarks), func(mark string) bool {
			return slices.Contains([]string{"mark-skill-text", "mark-skill-ran", "mark-outside", "mark-env"}, mark)
		})
		if got := m.heardOf(briefingMarks); !slices.Equal(got, heard) {
			t.Errorf("the model hears of %q, want %q", got, heard)
		}
		if told := m.heardBy("sub"); !strings.Contains(told, "mark-project") || !strings.Contains(told, "mark-user") || strings.Contains(told, "mark-outside") {
			t.Error("the subagent is not told what the agent is")
		}
		if b.has("repo/evil") || b.has("marks/skill") || b.has("marks/agent-hook") || b.has("marks/skill-hook") {
			t.Error("something ran that nobody allowed")
		}
		if !b.has("repo/.claude/worktrees/tree/new.txt") {
			t.Error("nothing was written in the worktree")
		}
		kept := s.kept.String()

		s = x.converses(t, b, m, w, "--bare")
		s.kept.WriteString(kept)
		s.idle("/help lists")
		s.says("/state of it")
		s.sees("there is no command /state")
		s.types("\x15")
		s.says("see @a.txt") // without a key: a conversation that the script does not know
		s.idle("ok")
		s.keeps("--bare")
		s.types("\x04")
		if code := s.ends(); code != 0 {
			t.Errorf("exit code %d:\n%s", code, s.all())
		}
		s.golden(r, "briefed")
	})
}
