//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killScript is many small tool uses, alone, together and in a subagent.
func killScript() (script, []row) {
	var rows []row
	s := script{}
	one := func(i int) row {
		name := fmt.Sprintf("k%02d", i)
		if i%4 == 3 {
			return row{call: call{Name: name, Tool: "mcp__marks__poke", Input: in{"mark": name}}, Mark: "marks/" + name}
		}
		return row{call: call{Name: name, Tool: "Bash", Input: in{"command": "touch " + name, "description": "x"}}, Mark: "repo/" + name}
	}
	add := func(key string, list ...row) {
		var t turn
		for _, r := range list {
			rows = append(rows, r)
			t = append(t, r.call)
		}
		s[key] = append(s[key], t)
	}
	for i := 0; i < 10; i++ {
		add("main", one(i))
	}
	add("main", row{call: call{Name: "agent", Tool: "Agent", Input: in{"description": "d", "prompt": "go [[sub]]", "subagent_type": "general-purpose", "run_in_background": true}}, Passes: true})
	for i := 10; i < 20; i++ {
		add("main", one(i))
		add("sub", one(i+40))
	}
	for i := 20; i < 40; i += 4 {
		add("main", one(i), one(i+1), one(i+2), one(i+3))
	}
	return s, rows
}

// TestKillWhileAsked kills agent-wrapper while a person is asked.
func TestKillWhileAsked(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		sc, x := caseRun(t, r, firstCase, "first")
		term := x.onTerminal(t, sc.b, sc.m, sc.w)
		term.expect(choices)
		term.cmd.Process.Kill()
		term.wait()
		took, dead := gone(r.Path, 5*time.Second)
		if !dead {
			t.Errorf("the agent CLI is still there after %v", took)
			end(agents(r.Path))
		}
		settled(t)
		if !sc.b.has("home/.pm/secret_key_backup.txt") {
			t.Error("what was asked ran")
		}
	})
}

// TestKill ends agent-wrapper at random moments, mostly by kill -9: no tool use runs that was
// not decided by then, and the agent CLI is gone within five seconds.
func TestKill(t *testing.T) {
	times := 3
	if long() {
		times = 100
	}
	random := rand.New(rand.NewPCG(seed(t), 0))
	eachRelease(t, func(t *testing.T, r release) {
		partial, slowest := 0, time.Duration(0)
		for i := range times {
			ran, all, took := killOnce(t, r, random)
			if ran > 0 && ran < all {
				partial++
			}
			slowest = max(slowest, took)
			if t.Failed() {
				t.Fatalf("at kill %d of %d", i+1, times)
			}
		}
		t.Logf("%d kills, %d of them in the midst of tool uses; the agent CLI was gone after at most %v", times, partial, slowest)
	})
}

// signals that end the wrapper; most often the one that it cannot see.
var signals = []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP}

// killOnce makes one run and ends it. It reports how many of all tool uses had
// run, and how long the agent CLI outlived the wrapper.
func killOnce(t *testing.T, r release, random *rand.Rand) (ran, all int, took time.Duration) {
	t.Helper()
	b := newBox(t)
	layHostile(b)
	s, rows := killScript()
	m := startModel(t, s)
	var out bytes.Buffer
	cmd := wrapped{release: r, Policy: []string{"--allow", "Bash,mcp__marks__*"}}.command(t, b, m, startWeb(t, b))
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !someMoment(m, random) {
		end(descendants())
		cmd.Wait()
		t.Fatalf("the first tool use never came back: %s", out.String())
	}
	syscall.Kill(cmd.Process.Pid, signals[random.IntN(len(signals))])
	cmd.Wait()
	took, dead := gone(r.Path, 5*time.Second)
	if !dead {
		t.Errorf("the agent CLI is still there %v after the wrapper was killed", took)
	}
	settled(t)
	return onlyDecided(t, b, m, rows), len(rows), took
}

// someMoment waits until a random moment: while the agent CLI starts, or some
// time behind its first tool use. It fails if that does not come. That the
// moment follows no event is what the test is about, so it sleeps.
func someMoment(m *model, random *rand.Rand) bool {
	starting := random.IntN(5) == 0
	ready := starting || m.await("k00", 90*time.Second)
	time.Sleep(time.Duration(random.Int64N(int64(900 * time.Millisecond))))
	return ready
}

// TestLostOutput: once the event stream cannot be written, no tool use runs, and
// the agent CLI is gone.
func TestLostOutput(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		for _, how := range []string{"full", "closed"} {
			b := newBox(t)
			layHostile(b)
			s, rows := killScript()
			m := startModel(t, s)
			cmd := wrapped{release: r, Policy: []string{"--allow", "Bash,mcp__marks__*"}}.command(t, b, m, startWeb(t, b))
			var complaints bytes.Buffer
			cmd.Stderr = &complaints
			most := 0
			if how == "full" {
				full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer full.Close()
				cmd.Stdout = full
			}
			var out io.ReadCloser
			if how == "closed" {
				out, _ = cmd.StdoutPipe()
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if out != nil {
				lines := bufio.NewScanner(out)
				lines.Buffer(nil, 1<<24)
				for lines.Scan() && !strings.Contains(lines.Text(), `"tool_use_id":"toolu_k05"`) {
				}
				out.Close()
				most = 6 // k00 to k05: what was told
			}
			cmd.Wait()
			_, dead := gone(r.Path, 5*time.Second)
			settled(t)
			ran := onlyDecided(t, b, m, rows)
			if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(complaints.String(), "standard output cannot be written") || !dead || ran > most {
				t.Errorf("%s: exit code %d, %d tool uses ran, the agent CLI is gone %v: %s", how, code, ran, dead, complaints.String())
			}
		}
	})
}

// onlyDecided checks that each tool use that ran was allowed by the record,
// and counts them.
func onlyDecided(t *testing.T, b *box, m *model, rows []row) int {
	t.Helper()
	allowed := map[string]bool{}
	for _, d := range record(t, b) {
		allowed[d.ID] = d.Allow
	}
	ran := 0
	for _, row := range rows {
		if row.Passes || !row.ran(b, m) {
			continue
		}
		ran++
		if !allowed[row.id()] {
			t.Errorf("%s ran, and was not decided when the wrapper was killed", row.Name)
		}
	}
	for _, name := range uninvited(b, m, false) {
		t.Errorf("%s came through", name)
	}
	return ran
}
