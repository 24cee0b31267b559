//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// sendMessage gives the agent CLI that started us a task, by the socket on which
// it hears what other sessions of its user say.
func sendMessage() {
	conn, err := net.Dial("unix", os.Getenv("CLAUDE_CODE_MESSAGING_SOCKET"))
	if err != nil {
		fmt.Println("no socket")
		return
	}
	defer conn.Close()
	fmt.Fprintln(conn, marshal(in{"type": "auth", "token": os.Getenv("CLAUDE_CODE_MESSAGING_TOKEN")}))
	fmt.Fprintln(conn, marshal(in{"type": "user", "message": in{"role": "user", "content": says("message")}}))
	conn.(*net.UnixConn).CloseWrite()
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	bufio.NewReader(conn).ReadString('\n') // until it is taken in
	fmt.Println("sent")
}

// TestMessages: another session of the user, or a program of the agent's own,
// does not give the agent a task by the agent CLI's socket.
func TestMessages(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	send := call{Name: "send", Tool: "Bash", Input: in{"command": roleVar + "=messenger " + self, "description": "x"}}
	// The message comes with the next turn.
	s := script{"main": {{send}, {{Name: "later", Tool: "Bash", Input: in{"command": "ls", "description": "x"}, Pause: time.Second}}}}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, s)
		wrapped{release: r, Policy: []string{"--allow", "Bash"}}.run(t, b, m, startWeb(t, b))
		if _, back := m.result("later"); !back || m.heard(says("message")) {
			t.Errorf("the run went on %v; the message was heard %v", back, m.heard(says("message")))
		}
		b, m = newBox(t), startModel(t, s)
		args := []string{"--setting-sources=", "--settings", `{"permissions":{"ask":["*"]}}`}
		driver{Release: r, Args: args, Answer: func(ask) (bool, string) { return true, "" }}.drive(t, b, m, plainPrompt)
		if heard := m.heard(says("message")); heard != (r.Version != oldest) { // that one has no socket
			sent, _ := m.result("send")
			t.Errorf("without our setting the message is heard: %v (%s)", heard, short(sent.Text))
		}
	})
}

// TestAgentBeside: where feature flags are on, agent CLI 2.1.197 has an agent of
// its own write down what was said, and decides for it by itself. The flags come
// from the network, and from a file in the home.
func TestAgentBeside(t *testing.T) {
	lay := func(t *testing.T) (*box, *model, []row) {
		b := newBox(t)
		b.write("home/.claude.json", marshal(in{"hasCompletedOnboarding": true, "cachedGrowthBookFeatures": in{"tengu_passport_quail": true, "tengu_slate_thimble": true}}))
		rows := []row{
			{call: call{Name: "ls", Tool: "Bash", Input: in{"command": "ls", "description": "x"}}, Says: "a.txt"},
			// What comes after the agent's last words, nobody but another agent does.
			{call: call{Name: "note", Tool: "Write", Input: in{"file_path": b.Dir + "/" + b.memory("n.md"), "content": "n"}}, Mark: b.memory("n.md")},
			{call: call{Name: "cat", Tool: "Bash", Input: in{"command": "cat a.txt", "description": "x"}}, Says: "secret-of-a"},
		}
		s := script{"main": {{rows[0].call}, nil, {rows[1].call}, {rows[2].call}, nil}}
		return b, startModel(t, s), rows
	}
	network := []string{"DISABLE_TELEMETRY=", "DISABLE_ERROR_REPORTING=", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="}
	flags := []string{"DISABLE_GROWTHBOOK=", "CLAUDE_CODE_DISABLE_FEATURE_FLAGS="}
	const memory = "CLAUDE_CODE_DISABLE_AUTO_MEMORY="
	s := seed(t)
	for _, r := range allReleases() {
		for i, x := range []struct {
			name string
			lift []string
			open bool
		}{
			{"shut", nil, false}, {"flags lifted", flags, false}, {"memory lifted", []string{memory}, false},
			{"both lifted", append([]string{memory}, flags...), r.Version == oldest},
		} {
			if !long() && r.Version != oldest || !drawn(s, i, 1, 4) {
				continue
			}
			t.Run(r.Version+"/"+x.name, func(t *testing.T) {
				need(t, r)
				b, m, rows := lay(t)
				before := b.snapshot()
				run := wrapped{release: r, Policy: []string{"--allow", "Bash(ls)", "--unlisted", "deny"}, Lift: x.lift}
				run.profile.Env = network
				run.run(t, b, m, startWeb(t, b))
				v := judge(b, m, rows, before, record(t, b), func(r row) bool { return r.Name == "ls" })
				// The other agent does it before our answer, or in spite of it: which, the clock says.
				unallowed := func(name string) bool {
					return slices.ContainsFunc(v.Faults, func(f string) bool {
						return strings.HasPrefix(f, name+": ran without a decision of ours") || strings.HasPrefix(f, name+": ran although it was denied")
					})
				}
				if got := unallowed("note"); got != x.open || !x.open && len(v.Faults) > 0 || unallowed("cat") { // a command asks once more
					t.Errorf("open %v, want %v: %q", got, x.open, v.Faults)
				}
			})
		}
	}
}

// refusedHome runs with a home that is refused: nothing is started.
func refusedHome(t *testing.T, r release, b *box, want string, policy ...string) {
	t.Helper()
	m := startModel(t, script{"main": {{{Name: "ls", Tool: "Bash", Input: in{"command": "ls", "description": "x"}}}}})
	res := wrapped{release: r, Policy: append([]string{"--allow", "Bash"}, policy...)}.run(t, b, m, startWeb(t, b))
	if res.Code != 1 || !strings.Contains(res.Errors, want) || len(m.sent) > 0 {
		t.Errorf("exit code %d, %d tool uses, %s", res.Code, len(m.sent), short(res.Errors))
	}
}

// TestGlobalVariables: the global configuration of the home sets variables in
// the place of ours.
func TestGlobalVariables(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.write("bin/prefix", "#!/bin/sh\n"+b.runs("prefix")+"\neval \"$1\"\n")
		os.Chmod(b.Dir+"/bin/prefix", 0o700)
		b.write("home/.claude.json", marshal(in{"hasCompletedOnboarding": true, "env": in{
			"CLAUDE_CODE_DISABLE_CRON": "", "CLAUDE_CODE_SHELL_PREFIX": b.Dir + "/bin/prefix",
		}}))
		refusedHome(t, r, b, "sets CLAUDE_CODE_DISABLE_CRON, CLAUDE_CODE_SHELL_PREFIX")
		m := startModel(t, doorScript(b))
		driver{Release: r, Args: isolated, Env: shut, Answer: func(ask) (bool, string) { return true, "" }}.drive(t, b, m, plainPrompt)
		if !slices.Contains(through(b, m), "prefix") {
			t.Error("it does nothing, so this test shows nothing")
		}
	})
}

// TestSessionScripts: scripts that hooks left for a session run before each of
// its commands.
func TestSessionScripts(t *testing.T) {
	bash := func(name string) turn {
		return turn{{Name: name, Tool: "Bash", Input: in{"command": "touch " + name, "description": "x"}}}
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, script{"main": {bash("first"), nil, bash("second"), nil}})
		res := wrapped{release: r, Policy: []string{"--allow", "Bash"}}.run(t, b, m, startWeb(t, b))
		session := res.session()
		if session == "" {
			t.Fatalf("no session: %s", lastOf(res.Out))
		}
		b.write("home/.claude/session-env/"+session+"/sessionstart-hook-0.sh", b.runs("session"))
		refusedHome(t, r, b, "would run before each command", "--session", session)
		args := append([]string{"--resume=" + session}, isolated...)
		driver{Release: r, Args: args, Env: shut, Answer: func(ask) (bool, string) { return true, "" }}.drive(t, b, m, plainPrompt)
		if !slices.Contains(through(b, m), "session") {
			t.Error("it does nothing, so this test shows nothing")
		}
	})
}

// session is the session of a run.
func (r result) session() string {
	for _, e := range r.Events {
		if e["type"] == "session" {
			id, _ := e["session_id"].(string)
			return id
		}
	}
	return ""
}

// TestDeferred: a session that ended on a tool use which was put off does not
// run it unasked when it is resumed.
func TestDeferred(t *testing.T) {
	off := row{call: call{Name: "off", Tool: "Bash", Input: in{"command": "touch off", "description": "x"}}, Mark: "repo/off"}
	yes := func(ask) (bool, string) { return true, "" }
	eachRelease(t, func(t *testing.T, r release) {
		putOff := func() (*box, *model, string) {
			b := newBox(t)
			m := startModel(t, script{"main": {{off.call}}})
			d := driver{Release: r, Hook: true, Defer: true, Args: isolated, Env: append([]string{"CLAUDE_CODE_SKIP_PROMPT_HISTORY="}, shut...), Answer: yes}
			_, lines := d.drive(t, b, m, plainPrompt)
			last := lines[len(lines)-1]
			if session, _ := last["session_id"].(string); last["stop_reason"] == "tool_deferred" {
				return b, m, session
			}
			t.Fatalf("it was not put off: %s", short(marshal(last)))
			return nil, nil, ""
		}
		b, m, session := putOff()
		before := b.snapshot()
		res := wrapped{release: r, Policy: []string{"--allow", "Read", "--unlisted", "deny", "--session", session}}.run(t, b, m, startWeb(t, b))
		v := judge(b, m, []row{off}, before, record(t, b), func(row) bool { return false })
		if len(v.Faults) > 0 || b.has("repo/off") || res.Code != 0 {
			t.Errorf("%q; exit code %d, %s", v.Faults, res.Code, lastOf(res.Out+res.Errors))
		}
		b, m, session = putOff()
		driver{Release: r, Args: append([]string{"--resume=" + session}, isolated...), Env: shut, Answer: yes}.drive(t, b, m, plainPrompt)
		if !b.has("repo/off") {
			t.Error("it is not run even where everything is allowed, so this test shows nothing")
		}
	})
}

// TestRuntimeVariables: variables of the agent CLI's runtime and of its shell
// that run a program of theirs.
func TestRuntimeVariables(t *testing.T) {
	s := seed(t)
	for _, r := range releases() {
		for i, x := range []struct {
			name string
			on   []string // the agent CLIs that do so
		}{
			{"BUN_INSPECT_PRELOAD", []string{"2.1.330"}}, {"BASH_ENV", versions},
			{"NODE_OPTIONS", nil}, {"BUN_PRELOAD", nil}, {"NODE_REPL_EXTERNAL_MODULE", nil},
		} {
			if !drawn(s, i, 2, 5) {
				continue
			}
			t.Run(r.Version+"/"+x.name, func(t *testing.T) {
				need(t, r)
				b := newBox(t)
				b.write("door.js", b.script("variable"))
				b.write("door.sh", b.runs("variable")+"\n")
				value := map[string]string{"BASH_ENV": b.Dir + "/door.sh", "NODE_OPTIONS": "--require=" + b.Dir + "/door.js"}[x.name]
				if value == "" {
					value = b.Dir + "/door.js"
				}
				m := startModel(t, doorScript(b))
				run := wrapped{release: r, Policy: []string{"--allow", "Bash,Read,Write,Agent"}}
				run.profile.Env = []string{x.name + "=" + value}
				run.run(t, b, m, startWeb(t, b))
				if open := through(b, m); len(open) > 0 {
					t.Errorf("%q came through", open)
				}
				driver{Release: r, Args: isolated, Env: append(run.profile.Env, shut...), Answer: func(ask) (bool, string) { return true, "" }}.drive(t, b, m, plainPrompt)
				if open := len(through(b, m)) > 0; open != slices.Contains(x.on, r.Version) {
					t.Errorf("without us it is open: %v", open)
				}
			})
		}
	}
}
