//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestApprovalsElsewhere has what a real agent CLI asks for answered by agent-wrapper
// approvals in another process. The agent itself may not: what it types is held, and a
// script of which the policy knows nothing is refused, in a session of its own too.
func TestApprovalsElsewhere(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.write("repo/answer.sh", "setsid --fork --wait "+binary(t)+" approvals allow a 2>&1; true\n")
		m := startModel(t, script{"main": {
			{{Name: "made", Tool: "Bash", Input: in{"command": "touch made", "description": "d"}}},
			{{Name: "hidden", Tool: "Bash", Input: in{"command": "sh answer.sh", "description": "d"}}},
			{{Name: "itself", Tool: "Bash", Input: in{"command": binary(t) + " approvals allow a", "description": "d"}}},
		}})
		term := wrapped{release: r, Policy: []string{"--approvals", "local", "--allow", "Bash", "--ask", "Bash(touch:*)"}}.onTerminal(t, b, m, startWeb(t, b))
		approvals := func(args ...string) string {
			t.Helper()
			cmd := exec.Command(binary(t), append([]string{"approvals"}, args...)...)
			cmd.Env = b.env()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%q: %v: %s", args, err, out)
			}
			return string(out)
		}
		waits := func() string {
			t.Helper()
			var list struct{ Approvals []struct{ ID string } }
			if err := json.Unmarshal([]byte(approvals("list", "--json")), &list); err != nil || len(list.Approvals) != 1 {
				t.Fatalf("%v, %d questions", err, len(list.Approvals))
			}
			return list.Approvals[0].ID
		}
		term.expect(choices)
		if b.has("repo/made") {
			t.Error("it ran while a person was asked")
		}
		approvals("allow", waits())
		term.expect("no longer asked about Bash: approved by")
		term.expect(choices) // what the agent types itself
		if !b.has("repo/made") {
			t.Error("what was allowed elsewhere did not run")
		}
		approvals("deny", waits(), "answer it yourself")
		term.expect("no longer asked about Bash: denied by")
		if code, shown := term.wait(); code != 0 {
			t.Errorf("exit code %d\n%s", code, shown)
		}
		if res, _ := m.result("hidden"); !strings.Contains(res.Text, "only a person may answer") {
			t.Errorf("what a script of the agent is told: %s", short(res.Text))
		}
		if res, _ := m.result("itself"); !strings.Contains(res.Text, "answer it yourself") {
			t.Errorf("what the agent is told: %s", short(res.Text))
		}
	})
}

// approvalService is agent-wrapper serve in a box, in a home of its own.
type approvalService struct {
	box *box
	url string
}

func startService(t *testing.T, b *box) *approvalService {
	t.Helper()
	s := &approvalService{box: b}
	cmd := exec.Command(binary(t), "serve", "--listen", "127.0.0.1:0", "--json")
	cmd.Dir, cmd.Env, cmd.Stderr = b.Dir, s.env("server"), io.Discard
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the service: %v", err)
		}
	})
	var ready struct{ Listening string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	s.url = ready.Listening
	return s
}

// env is the environment of a program beside the agent: its home is another one.
func (s *approvalService) env(who string) []string {
	return s.box.env("HOME="+s.box.Dir+"/"+who, "XDG_RUNTIME_DIR="+s.box.Dir+"/"+who)
}

// do runs agent-wrapper in the home of the server or of the person.
func (s *approvalService) do(who, stdin string, args ...string) (string, error) {
	cmd := exec.Command(binary(s.box.t), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.box.Dir, s.env(who), strings.NewReader(stdin)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%q: %w: %s", args, err, &complaints)
	}
	return string(out), err
}

// token creates a credential and returns its secret.
func (s *approvalService) token(role, name string) string {
	s.box.t.Helper()
	out, err := s.do("server", "", "serve", "token", "create", "--role", role, "--name", name)
	if err != nil {
		s.box.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// answer waits for a question at the service and answers it as the person.
func (s *approvalService) answer(how ...string) error {
	for range 600 {
		out, err := s.do("person", "", "approvals", "--server", s.url, "list", "--json")
		if err != nil {
			return err
		}
		var list struct{ Approvals []struct{ ID string } }
		if json.Unmarshal([]byte(out), &list) == nil && len(list.Approvals) > 0 {
			_, err = s.do("person", "", append([]string{"approvals", "--server", s.url, how[0], list.Approvals[0].ID}, how[1:]...)...)
			return err
		}
	}
	return errors.New("nothing was asked")
}

// TestApprovalsAtService has what a real agent CLI asks for answered through a real
// service by agent-wrapper approvals in another process. What the agent runs has neither
// token, and what it types at the service is held.
func TestApprovalsAtService(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		s := startService(t, b)
		agent, person := s.token("agent", "ci"), s.token("person", "ann")
		if _, err := s.do("person", person, "approvals", "login", "--server", s.url); err != nil {
			t.Fatal(err)
		}
		b.write("repo/look.sh", "env; cat /proc/self/environ /proc/$PPID/environ /proc/$PPID/cmdline; cat ~/.local/state/agent-wrapper/*.json; true\n")
		m := startModel(t, script{"main": {
			{{Name: "made", Tool: "Bash", Input: in{"command": "touch made", "description": "d"}}},
			{{Name: "no", Tool: "Bash", Input: in{"command": "touch never", "description": "d"}}},
			{{Name: "look", Tool: "Bash", Input: in{"command": "sh look.sh", "description": "d"}}},
			{{Name: "itself", Tool: "Bash", Input: in{"command": binary(t) + " approvals --server " + s.url + " allow a", "description": "d"}}},
		}})
		answered := make(chan error, 1)
		go func() {
			answered <- errors.Join(s.answer("allow"), s.answer("deny", "not on Fridays"), s.answer("deny", "answer it yourself"))
		}()
		res := wrapped{
			release: r, profile: profile{Env: []string{"AGENT_WRAPPER_TOKEN=" + agent}},
			Policy: []string{"--approvals", s.url, "--allow", "Bash", "--ask", "Bash(touch:*)"},
		}.run(t, b, m, startWeb(t, b))
		if err := <-answered; err != nil || res.Code != 0 {
			t.Fatalf("exit code %d, %v: %s", res.Code, err, res.Errors)
		}
		if !b.has("repo/made") || b.has("repo/never") {
			t.Error("what was allowed did not run, or what was denied did")
		}
		for call, want := range map[string]string{"no": "not on Fridays", "itself": "answer it yourself", "look": "HOME=" + b.Home} {
			if got, _ := m.result(call); !strings.Contains(got.Text, want) {
				t.Errorf("%s: the agent is told %s", call, short(got.Text))
			}
		}
		for name, secret := range map[string]string{"agent's": agent, "person's": person} {
			if look, _ := m.result("look"); strings.Contains(look.Text, secret) {
				t.Errorf("what the agent runs has the %s token", name)
			}
			for _, file := range []string{"audit.jsonl", "wire.jsonl"} {
				if strings.Contains(b.readFile(file), secret) {
					t.Errorf("the %s token is in %s", name, file)
				}
			}
			if secret == "" || strings.Contains(res.Out+res.Errors, secret) {
				t.Errorf("the %s token is shown", name)
			}
		}
	})
}

// TestApprovalsOnPage has what a real agent CLI asks for answered on the page of a real
// service, in Chromium. What is allowed is decided anew by the program that asked.
func TestApprovalsOnPage(t *testing.T) {
	for _, file := range []string{"/usr/bin/chromium", "../internal/serve/server/page/test/node_modules/playwright-core"} {
		if _, err := os.Stat(file); err != nil {
			unable(t, "the page needs Debian's chromium, and npm ci --prefix internal/serve/server/page/test: "+err.Error())
		}
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		s := startService(t, b)
		agent := s.token("agent", "ci")
		code, err := s.do("server", "", "serve", "token", "create", "--role", "person", "--name", "ann", "--browser")
		if err != nil {
			t.Fatal(err)
		}
		m := startModel(t, script{"main": {
			{{Name: "made", Tool: "Bash", Input: in{"command": "touch made", "description": "<script>alert(1)</script>"}}},
			{{Name: "no", Tool: "Bash", Input: in{"command": "touch never", "description": "d"}}},
		}})
		answers := `[{"question": "touch made"}, {"question": "touch never", "words": "not on Fridays"}]`
		page := exec.Command("node", "../internal/serve/server/page/test/answer.mjs", s.url, strings.TrimSpace(code), answers)
		page.Env = append(os.Environ(), "HOME="+t.TempDir())
		var complaints bytes.Buffer
		page.Stderr = &complaints
		said, err := page.StdoutPipe()
		if err == nil {
			err = page.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		res := wrapped{
			release: r, profile: profile{Env: []string{"AGENT_WRAPPER_TOKEN=" + agent}},
			Policy: []string{"--approvals", s.url, "--allow", "Bash", "--ask", "Bash(touch:*)"},
		}.run(t, b, m, startWeb(t, b))
		told, err := io.ReadAll(said)
		_ = page.Wait() // run may have buried it
		if err != nil || string(told) != "answered\n" || res.Code != 0 {
			t.Fatalf("exit code %d, %v: %s\n%s%s", res.Code, err, res.Errors, told, &complaints)
		}
		if !b.has("repo/made") || b.has("repo/never") {
			t.Error("what was approved on the page did not run, or what was denied did")
		}
		if got, _ := m.result("no"); !strings.Contains(got.Text, "not on Fridays") {
			t.Errorf("the agent is told %s", short(got.Text))
		}
		if record := b.readFile("audit.jsonl"); !strings.Contains(record, `"name":"ann"`) {
			t.Error("the record does not say who answered")
		}
	})
}
