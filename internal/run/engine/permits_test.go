package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// sandboxed returns an engine whose commands run inside the sandbox, for a program elsewhere.
func sandboxed(t *testing.T, rules string) (*Engine, Dirs) {
	t.Helper()
	dirs := Dirs{State: t.TempDir()}
	root := tree(t, []string{"sub"}, nil)
	r, err := Load(Options{Dir: root, Dirs: &dirs, NoRecord: true, Settings: settings(t, rules), Within: "/bin/agent-wrapper"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Within(); err != nil {
		t.Fatal(err)
	}
	e, err := r.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, dirs
}

// bashUse is a use of Bash in the workspace.
func bashUse(e *Engine, id, line string) permission.ToolUse {
	input, _ := json.Marshal(map[string]any{"command": line, "description": "d"}) // cannot fail
	return permission.ToolUse{ID: id, Tool: "Bash", Input: input, Dir: e.Place.Workspace, Session: "claude:s"}
}

// rewrittenLine decides a line, and returns the command that is answered, with its id.
func rewrittenLine(t *testing.T, e *Engine, use permission.ToolUse) (command, id string) {
	t.Helper()
	res, err := e.CanUseTool(t.Context(), use)
	if err != nil || res.Behavior != permission.Allow {
		t.Fatalf("%s: %s, %v", use.Input, res.Reason, err)
	}
	var in struct{ Command, Description string }
	if err := json.Unmarshal(res.UpdatedInput, &in); err != nil || in.Description != "d" {
		t.Fatalf("%s: %v", res.UpdatedInput, err)
	}
	words := strings.Fields(in.Command)
	if len(words) > 2 && words[1] == "within" {
		id = words[2]
	}
	return in.Command, id
}

// TestRewrite: what was decided to run inside the sandbox is answered with what runs it there, and
// nothing else is.
func TestRewrite(t *testing.T) {
	e, dirs := sandboxed(t, `allow = ["Bash(git push)", "Bash(ls:*)", "Bash(cd sub)", "Bash(make:*)"]`)
	for line, want := range map[string]string{
		"ls -l":           "/bin/agent-wrapper within ID",
		"make x":          "/bin/agent-wrapper within ID",
		"python3 -c 1":    "/bin/agent-wrapper within ID", // nothing but the sandbox allows it
		"cd sub && ls":    `/bin/agent-wrapper within ID && cd "$(/bin/agent-wrapper within --directory ID)"`,
		"source env.sh":   `/bin/agent-wrapper within ID && cd "$(/bin/agent-wrapper within --directory ID)"`,
		"./run.sh":        "/bin/agent-wrapper within ID",
		"git push":        "git push",
		"ls; echo 'a\nb'": "/bin/agent-wrapper within ID",
	} {
		use := bashUse(e, "t1", line)
		got, id := rewrittenLine(t, e, use)
		if id != "" {
			got = strings.ReplaceAll(got, id, "ID")
		}
		if got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
		if id == "" {
			continue
		}
		p, err := dirs.TakePermit(id, e.Place.Workspace)
		if err != nil || p.Line != line || p.Session != use.Session || p.Use != "t1" || p.Plan == nil || len(p.Plan.Writable) == 0 {
			t.Errorf("%q: %+v, %v", line, p, err)
		}
	}
	use := bashUse(e, "t2", "cd sub")
	use.Input = json.RawMessage(`{"command":"cd sub","description":"d","run_in_background":true}`)
	if got, _ := rewrittenLine(t, e, use); strings.Contains(got, "cd ") {
		t.Errorf("in the background: %s", got)
	}
	use = bashUse(e, "t3", "cd sub")
	use.Dialect = shell.Zsh
	if got, _ := rewrittenLine(t, e, use); strings.Contains(got, "cd ") {
		t.Errorf("in zsh: %s", got)
	}
	e.Without()
	if got, _ := rewrittenLine(t, e, bashUse(e, "t4", "ls -l")); got != "ls -l" {
		t.Errorf("without a sandbox: %s", got)
	}
}

// TestRewriteFails: what cannot be kept does not run.
func TestRewriteFails(t *testing.T) {
	e, dirs := sandboxed(t, `allow = ["Bash(ls:*)"]`)
	if err := os.WriteFile(filepath.Join(dirs.State, permitsName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := e.CanUseTool(t.Context(), bashUse(e, "t", "ls"))
	if err == nil || res.Behavior != permission.Deny || len(res.UpdatedInput) > 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestRewriteWithoutInput: what was decided to run inside the sandbox, and cannot be answered with
// what runs it there, does not run.
func TestRewriteWithoutInput(t *testing.T) {
	e, _ := sandboxed(t, `allow = ["Bash(ls:*)"]`)
	for _, where := range []permission.Sandboxed{permission.Inside, permission.Within} {
		res := permission.Result{Decision: permission.Decision{Behavior: permission.Allow, Sandbox: where}}
		if err := e.rewrite(bashUse(e, "t", "ls"), &res, "/bin/agent-wrapper"); err == nil || res.Behavior != permission.Deny {
			t.Errorf("%s: %+v, %v", where, res, err)
		}
	}
}

// TestSandboxFails: that the sandbox fails where a host runs its commands counts for the session,
// unless one has been built there before.
func TestSandboxFails(t *testing.T) {
	for _, stood := range []bool{false, true} {
		e, dirs := sandboxed(t, `allow = ["Bash(ls:*)"]`)
		for _, id := range []string{"t1", "t2"} {
			_, name := rewrittenLine(t, e, bashUse(e, id, "ls"))
			p, err := dirs.TakePermit(name, e.Place.Workspace)
			if err == nil && stood {
				err = p.Stood()
			}
			if err == nil && id == "t2" {
				err = p.Fails(errors.New("no"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if why, stopped := dirs.permitsOf("claude:s").Stopped(); stopped == stood {
			t.Errorf("after a sandbox that was built (%v): %v %s", stood, stopped, why)
		}
	}
}

// TestPermitOnce: of many processes that take a permit, one gets it.
func TestPermitOnce(t *testing.T) {
	e, dirs := sandboxed(t, `allow = ["Bash(ls:*)"]`)
	for i := range 20 {
		_, id := rewrittenLine(t, e, bashUse(e, fmt.Sprint(i), "ls"))
		var got atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := dirs.TakePermit(id, e.Place.Workspace); err == nil {
					got.Add(1)
				} else if !strings.Contains(err.Error(), "has run already") {
					t.Error(err)
				}
			})
		}
		if all.Wait(); got.Load() != 1 {
			t.Errorf("it was used %d times", got.Load())
		}
	}
}

// TestPermitRefused: everything but the one run that was decided is refused, and uses the
// permit up.
func TestPermitRefused(t *testing.T) {
	e, dirs := sandboxed(t, `allow = ["Bash(ls:*)"]`)
	other := t.TempDir()
	changed := func(change func(p *Permit)) func(file string) {
		return func(file string) {
			p, err := readPermit(file)
			if err != nil {
				t.Fatal(err)
			}
			change(p)
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, append([]byte(digestOf(text)+"\n"), text...), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(file string)
		dir    string
		want   string
	}{
		{"as it is", func(string) {}, e.Place.Workspace, ""},
		{"another directory", func(string) {}, other, "and not in " + other},
		{"no directory", func(string) {}, "", "and not in"},
		{"too late", changed(func(p *Permit) { p.Until = time.Now().Add(-time.Second) }), e.Place.Workspace, "ago"},
		{"another build", changed(func(p *Permit) { p.Build = "other" }), e.Place.Workspace, "another build"},
		{"another form", changed(func(p *Permit) { p.V++ }), e.Place.Workspace, "not as it was written"},
		{"no plan", changed(func(p *Permit) { p.Plan = nil }), e.Place.Workspace, "not as it was written"},
		{"no line", changed(func(p *Permit) { p.Line = "" }), e.Place.Workspace, "not as it was written"},
		{"another line", func(file string) {
			data, _ := os.ReadFile(file)
			os.WriteFile(file, []byte(strings.Replace(string(data), `"ls"`, `"rm"`, 1)), 0o600)
		}, e.Place.Workspace, "not as it was written"},
		{"cut off", func(file string) { os.Truncate(file, 200) }, e.Place.Workspace, "not as it was written"},
		{"empty", func(file string) { os.Truncate(file, 0) }, e.Place.Workspace, "not as it was written"},
		{"gone", func(file string) { os.Remove(file) }, e.Place.Workspace, "nobody has allowed this"},
	} {
		_, id := rewrittenLine(t, e, bashUse(e, tt.name, "ls"))
		at, name, err := dirs.permits(id)
		if err != nil {
			t.Fatal(err)
		}
		tt.change(filepath.Join(at.dir, name))
		p, err := dirs.TakePermit(id, tt.dir)
		if tt.want == "" {
			if err != nil || p.Line != "ls" {
				t.Errorf("%s: %v", tt.name, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		if _, err := dirs.TakePermit(id, e.Place.Workspace); err == nil {
			t.Errorf("%s: it can be used again", tt.name)
		}
	}
	for _, id := range []string{"", "x", "../x", "0123456789abcdef-", "0123456789abcdef-" + strings.Repeat("a", 26), "0123456789abcdef-../" + strings.Repeat("a", 23), "used-0123456789abcdef-" + strings.Repeat("a", 26)} {
		if _, err := dirs.TakePermit(id, e.Place.Workspace); err == nil {
			t.Errorf("%q names a permit", id)
		}
	}
	if _, err := (Dirs{}).TakePermit("0123456789abcdef-"+strings.Repeat("a", 26), "/"); !errors.Is(err, ErrNoState) {
		t.Error(err)
	}
}

// TestPermitMoved: what was planned does not count if another command has put something in the
// place of what is withheld meanwhile.
func TestPermitMoved(t *testing.T) {
	e, dirs := sandboxed(t, `allow = ["Bash(ls:*)"]
deny = ["Edit(sub/lock)"]`)
	at := filepath.Join(e.Place.Workspace, "sub")
	lay := func(name, text string) {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lay(".env", "KEY=1")
	lay("lock", "as it was")
	for _, name := range []string{".env", "lock", ""} {
		_, id := rewrittenLine(t, e, bashUse(e, "t"+name, "ls"))
		if name != "" {
			if err := os.Rename(filepath.Join(at, name), filepath.Join(at, name+"2")); err != nil {
				t.Fatal(err)
			}
			lay(name, "a decoy")
		}
		switch _, err := dirs.TakePermit(id, e.Place.Workspace); {
		case name == "" && err != nil:
			t.Error(err)
		case name != "" && (err == nil || !strings.Contains(err.Error(), name+", which it must not touch: ask for it again")):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPermitsOver: a host that has run a tool use, and used none of its permits, runs
// something else.
func TestPermitsOver(t *testing.T) {
	e, dirs := sandboxed(t, `allow = ["Bash(ls:*)"]`)
	permits := dirs.permitsOf("claude:s")
	over := func(use string) bool { _, ignored := permits.Over(use); return ignored }
	if permits.Proven() || over("a") {
		t.Error("something was used")
	}
	_, ignored := rewrittenLine(t, e, bashUse(e, "a", "ls"))
	if !over("a") || over("a") {
		t.Error("a permit that was not used is no sign, or is one twice")
	}
	if _, err := dirs.TakePermit(ignored, e.Place.Workspace); err == nil || permits.Proven() {
		t.Errorf("it can be used afterwards: %v", err)
	}
	_, first := rewrittenLine(t, e, bashUse(e, "b", "ls"))
	rewrittenLine(t, e, bashUse(e, "b", "ls")) // the hook ran twice for one event
	if _, err := dirs.TakePermit(first, e.Place.Workspace); err != nil || over("b") || !permits.Proven() {
		t.Errorf("one of two was used: %v", err)
	}
	later := bashUse(e, "c", "ls")
	later.Input = json.RawMessage(`{"command":"ls","description":"d","run_in_background":true}`)
	_, id := rewrittenLine(t, e, later)
	if over("c") {
		t.Error("what runs in the background may begin later")
	}
	if _, err := dirs.TakePermit(id, e.Place.Workspace); err != nil {
		t.Error(err)
	}
	if err := permits.Stop("why"); err != nil || permits.Proven() {
		t.Error(err)
	}
	if why, stopped := permits.Stopped(); !stopped || why != "why" {
		t.Error(why, stopped)
	}
}

// FuzzPermit: whatever stands in the file of a permit, reading it ends, and what is read is
// as it was written.
func FuzzPermit(f *testing.F) {
	f.Add([]byte("sha256:x\n{}"))
	f.Add([]byte(digestOf([]byte(`{"v":1}`)) + "\n" + `{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := readPermit(file); err == nil && (p.V != permitForm || p.Plan == nil || p.Line == "") {
			t.Errorf("%+v", p)
		}
	})
}

// TestPermitMeets: what the sandbox refused a line is told to the agent, unless it is not to be
// advised, and kept for the record of the tool use, once.
func TestPermitMeets(t *testing.T) {
	for _, advice := range []string{"on", "off"} {
		e, dirs := sandboxed(t, "advice = \""+advice+"\"\nallow = [\"Bash(ls:*)\"]")
		permits := dirs.permitsOf("claude:s")
		end := func(output string) string {
			_, id := rewrittenLine(t, e, bashUse(e, "a", "ls"))
			p, err := dirs.TakePermit(id, e.Place.Workspace)
			if err != nil {
				t.Fatal(err)
			}
			told, err := p.Meets(&sandbox.End{Output: []byte(output)})
			if err != nil {
				t.Fatal(err)
			}
			return told
		}
		if told := end("ls: x: No such file or directory\n"); told != "" {
			t.Errorf("another failure: %q", told)
		}
		if met, ignored := permits.Over("a"); len(met) != 0 || ignored {
			t.Errorf("another failure met %q", met)
		}
		told := end("touch: cannot touch '/usr/x': Read-only file system\n")
		if got := strings.Contains(told, "read-only inside the sandbox"); got != (advice == "on") || advice == "off" && told != "" {
			t.Errorf("advice %s: %q", advice, told)
		}
		if met, _ := permits.Over("a"); len(met) != 1 || !strings.Contains(met[0], "/usr") {
			t.Errorf("it met %q", met)
		}
		if met, _ := permits.Over("a"); len(met) != 0 {
			t.Errorf("it met %q once more", met)
		}
	}
}

// TestReaches: from inside the sandbox, an address of this machine or of a private network is
// reached only by a rule that names it, and no port but that of https if no rule names it.
func TestReaches(t *testing.T) {
	const granular = "\n[[rules]]\naction = \"allow\"\ntools = [\"WebFetch\"]\ndomains = [\"10.0.0.6\"]\n"
	for _, rules := range []string{
		`allow = ["WebFetch(good.example)", "WebFetch(10.0.0.5)", "WebFetch(*.corp.example)", "WebFetch(good.example:8443)", "WebFetch(*.corp.example:22)", "WebFetch(10.0.0.9:5432)"]` + granular,
		`allow = ["WebFetch", "WebFetch(10.0.0.5)", "WebFetch(good.example:8443)", "WebFetch(*.corp.example:22)", "WebFetch(10.0.0.9:5432)"]` + granular,
	} {
		e, _ := sandboxed(t, rules)
		for where, want := range map[string]bool{
			"good.example:443": true, "a.corp.example:443": true, "10.0.0.5:443": true, "10.0.0.6:443": true,
			"good.example:8443": true, "b.corp.example:22": true, "10.0.0.9:5432": true, "10.0.0.9:443": false, "good.example:80": false, "bad.example:8443": false, "10.0.0.5:5432": false,
			"good.example:22": false, "10.0.0.5:2375": false, "10.0.0.7:443": false, "127.0.0.1:443": false, "192.168.0.1:443": false,
			"[::1]:443": false, "[::ffff:10.0.0.7]:443": false, "[64:ff9b::a00:7]:443": false, "169.254.169.254:443": false,
		} {
			host, port, err := net.SplitHostPort(where)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Reaches(t.Context(), "claude:s", host, port); (err == nil) != want {
				t.Errorf("%s: %s: %v", rules, where, err)
			}
		}
	}
}

// TestPermitFound: the plan keeps what was found at each withheld path, so that the builder
// of the sandbox can compare.
func TestPermitFound(t *testing.T) {
	e, dirs := sandboxed(t, `deny = ["Read(.env)"]`)
	if err := os.WriteFile(filepath.Join(e.Place.Workspace, ".env"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, id := rewrittenLine(t, e, bashUse(e, "1", "python3 -c 1"))
	p, err := dirs.TakePermit(id, e.Place.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Plan.Found {
		if string(f.Path) == filepath.Join(e.Place.Workspace, ".env") && f.Is != (sandbox.Inode{}) && f.In != (sandbox.Inode{}) {
			return
		}
	}
	t.Errorf("found is %v", p.Plan.Found)
}
