package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// answering is an approver that gives prepared answers, and then denies.
type answering struct {
	answers []permission.Answer
	asked   []permission.Request
}

func (a *answering) Approve(_ context.Context, r permission.Request) (permission.Answer, error) {
	a.asked = append(a.asked, r)
	if len(a.answers) == 0 {
		return permission.Answer{Behavior: permission.Deny}, nil
	}
	answer := a.answers[0]
	a.answers = a.answers[1:]
	return answer, nil
}

// lasting is an answer that allows by rules or, without any, exactly the tool use.
func lasting(limit time.Duration, times int, rules ...string) permission.Answer {
	a := permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeSession, Rules: rules, For: limit, Times: times}
	if len(rules) == 0 {
		a.Scope = permission.ScopeUse
	}
	return a
}

func never(rules ...string) permission.Answer {
	return permission.Answer{Behavior: permission.Deny, Scope: permission.ScopeSession, Rules: rules}
}

const opaque = `python3 -c "print(1)"`

// asksFor is a policy under which npm and inline code are asked about.
const asksFor = "allow = [\"Bash\"]\nask = [\"Bash(npm:*)\"]\ndeny = [\"Read(.env)\"]\nadvice = \"off\""

// resumed opens an engine that goes on with a session.
func resumed(t *testing.T, o Options, session string, p permission.Approver) *Engine {
	t.Helper()
	o.Approver = p
	o.Settings = settings(t, asksFor)
	e := opened(t, o)
	if err := e.Resume(session); err != nil {
		t.Fatal(err)
	}
	return e
}

// decided returns how a command line is decided: "person allow".
func decided(t *testing.T, e *Engine, line string) string {
	t.Helper()
	res, err := e.CanUseTool(t.Context(), bash(e, line))
	if err != nil {
		return "error " + err.Error()
	}
	return res.By + " " + res.Behavior.String()
}

func closed(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLockSession: the directory of a session that another removes while it is locked is
// made anew.
func TestLockSession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions", "s")
	turns := func() error {
		for n := 300; n > 0; {
			unlock, err := lockSession(dir, atomicfile.TryLock)
			if errors.Is(err, errSessionUsed) {
				continue
			}
			if err == nil {
				err = os.Remove(dir) // fails if another has removed it
			}
			if err != nil {
				return err
			}
			unlock()
			n--
		}
		return nil
	}
	other := make(chan error)
	go func() { other <- turns() }()
	if err := errors.Join(turns(), <-other); err != nil {
		t.Error(err)
	}
}

// TestResume: what a person has kept for a session counts when it is resumed, and in no
// other session or workspace.
func TestResume(t *testing.T) {
	o := site(t, nil)
	bounded := lasting(0, 0, "Bash(npm install:*)")
	bounded.UpTo = risk.GradeOf(risk.Moderate, false)
	p := &answering{answers: []permission.Answer{
		lasting(0, 0, "Bash(npm i)"), lasting(0, 3, "Bash(npm ci)"), lasting(time.Hour, 0, "Bash(npm x)"), never("Bash(npm y)"), lasting(0, 0), bounded,
	}}
	e := resumed(t, o, "one", p)
	for _, line := range []string{"npm i", "npm ci", "npm x", "npm y", opaque, "npm install left-pad", "npm ci"} {
		decided(t, e, line)
	}
	want := e.Session.Grants()
	closed(t, e)

	other := o
	other.Dir = filepath.Join(filepath.Dir(o.Dir), "other")
	if err := os.Mkdir(other.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]struct {
		o       Options
		session string
	}{"another session": {o, "two"}, "another workspace": {other, "one"}, "none": {o, ""}} {
		e := resumed(t, at.o, at.session, &answering{})
		if got := decided(t, e, "npm i"); got != "person deny" || len(e.Session.Grants()) != 0 {
			t.Errorf("%s: %s, %v", name, got, e.Session.Grants())
		}
		closed(t, e)
	}

	e = resumed(t, o, "one", &answering{})
	got := e.Session.Grants()
	for i := range got {
		if i < len(want) && got[i].Until.Equal(want[i].Until) {
			got[i].Until = want[i].Until
		}
	}
	if !reflect.DeepEqual(got, want) || len(got) != 6 {
		t.Errorf("restored %v, want %v", got, want)
	}
	for _, tt := range [][2]string{
		{"npm i", "rule allow"}, {"npm ci", "rule allow"}, {"npm ci", "person deny"}, {"npm x", "rule allow"},
		{"npm y", "rule deny"}, {opaque, "rule allow"}, {opaque + " ", "person deny"}, {"npm z", "person deny"},
	} {
		if got := decided(t, e, tt[0]); got != tt[1] {
			t.Errorf("%s: %s, want %s", tt[0], got, tt[1])
		}
	}
	e.Session.Revoke(1)
	closed(t, e)
	e = resumed(t, o, "one", &answering{})
	if got := decided(t, e, "npm i") + ", " + decided(t, e, "npm ci"); got != "person deny, person deny" {
		t.Error("what was revoked, or used up, is restored:", got)
	}
}

// TestResumeLaw: a session that ends and goes on at random decides as one that does
// not, answer for answer.
func TestResumeLaw(t *testing.T) {
	slow.Test(t)
	lines := []string{"npm i", "npm ci", "npm x", "npm y", "npm i && npm ci", opaque, "cat $X", "ls"}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 15))
		answers := []permission.Answer{
			{Behavior: permission.Allow}, {Behavior: permission.Deny}, lasting(0, 0), lasting(0, 2+r.IntN(3)), lasting(time.Hour, 0),
			lasting(0, 0, "Bash(npm i)"), lasting(0, 2+r.IntN(4), "Bash(npm ci)"), lasting(0, 0, "Bash(npm:*)"), never("Bash(npm y)"),
		}
		through, often := &answering{}, &answering{}
		a, b := resumed(t, site(t, nil), "s", through), site(t, nil)
		e := resumed(t, b, "s", often)
		for range 20 {
			line, answer := lines[r.IntN(len(lines))], answers[r.IntN(len(answers))]
			through.answers, often.answers = []permission.Answer{answer}, []permission.Answer{answer}
			want := decided(t, a, line)
			if r.IntN(2) == 0 {
				closed(t, e)
				e = resumed(t, b, "s", often)
			}
			if got := decided(t, e, line); got != want {
				t.Fatalf("seed %d: %s: %s, want %s; has %v, not %v", seed, line, got, want, e.Session.Grants(), a.Session.Grants())
			}
			if r.IntN(9) == 0 {
				id := 1 + r.IntN(3)
				a.Session.Revoke(id)
				e.Session.Revoke(id)
			}
		}
		closed(t, a)
		closed(t, e)
	}
}

// onlyFile returns the file of the only session.
func onlyFile(t *testing.T, o Options) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(o.Dirs.State, "sessions", "*", "answers.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// TestResumeOnce: of two engines on one session only the first has its answers, and a
// counted one is used up on disk before it is used.
func TestResumeOnce(t *testing.T) {
	o := site(t, nil)
	e := resumed(t, o, "s", &answering{answers: []permission.Answer{lasting(0, 2, "Bash(npm i)")}})
	decided(t, e, "npm i")
	second := opened(t, o)
	if err := second.Resume("s"); err == nil || !strings.Contains(err.Error(), "another process is using this session") || len(second.Session.Grants()) != 0 {
		t.Error(err)
	}
	e.evaluator.Recorder = recordFunc(func(context.Context, permission.Record) error {
		text, err := os.ReadFile(onlyFile(t, o))
		if err != nil || strings.Contains(string(text), "npm i") {
			t.Errorf("when it is recorded, it is not used up: %s, %v", text, err)
		}
		return nil
	})
	if got := decided(t, e, "npm i"); got != "rule allow" {
		t.Error(got)
	}
}

// TestResumeDamaged: of a file that cannot be read, or is about another session, nothing
// counts; of one with answers that there cannot be, the others do.
func TestResumeDamaged(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(text string) string
		want   string
		left   int
	}{
		"cut off":           {func(s string) string { return s[:len(s)/2] }, "no answer for the session was restored", 0},
		"empty":             {func(string) string { return "" }, "no answer", 0},
		"another session":   {func(s string) string { return strings.Replace(s, `"session": "s"`, `"session": "t"`, 1) }, "another session", 0},
		"another workspace": {func(s string) string { return strings.Replace(s, `/work"`, `/else"`, 1) }, "another session", 0},
		"another version":   {func(s string) string { return strings.Replace(s, `"v": 1`, `"v": 2`, 1) }, "newer", 0},
		"an unknown field":  {func(s string) string { return strings.Replace(s, `"v": 1`, `"v": 1, "x": 1`, 1) }, "no answer", 0},
		"one number twice":  {func(s string) string { return strings.Replace(s, `"id": 2`, `"id": 1`, 1) }, "two have the same number", 1},
		"no rule":           {func(s string) string { return strings.Replace(s, "Bash(npm i)", "Bash(npm i", 1) }, "answer 1", 1},
		"no behavior":       {func(s string) string { return strings.Replace(s, `"allow"`, `"ask"`, 1) }, "answer 1", 1},
		"no risk":           {func(s string) string { return strings.Replace(s, `"id": 1,`, `"id": 1, "up_to": "some",`, 1) }, "no answer", 0},
		"tier 3":            {func(s string) string { return strings.Replace(s, `"id": 1,`, `"id": 1, "up_to": "forbidden",`, 1) }, "answer 1", 1},
		"used up":           {func(s string) string { return strings.Replace(s, `"left": 2`, `"left": 0`, 1) }, "answer 2", 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := site(t, nil)
			e := resumed(t, o, "s", &answering{answers: []permission.Answer{lasting(0, 0, "Bash(npm i)"), lasting(0, 3, "Bash(npm ci)")}})
			decided(t, e, "npm i")
			decided(t, e, "npm ci")
			closed(t, e)
			path := onlyFile(t, o)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := tt.change(string(text))
			if changed == string(text) {
				t.Fatalf("nothing changed: %s", text)
			}
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			e = opened(t, o)
			if err := e.Resume("s"); err == nil || !strings.Contains(err.Error(), tt.want) || len(e.Session.Grants()) != tt.left {
				t.Errorf("%v, left %v", err, e.Session.Grants())
			}
		})
	}
}

// TestResumeUnwritable: where the file can be neither written nor removed, nothing is
// kept, and a counted answer is not used.
func TestResumeUnwritable(t *testing.T) {
	o := site(t, nil)
	p := &answering{answers: []permission.Answer{lasting(0, 3, "Bash(npm i)"), lasting(0, 0, "Bash(npm ci)")}}
	e := resumed(t, o, "s", p)
	decided(t, e, "npm i")
	path := onlyFile(t, o)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := decided(t, e, "npm i"); !strings.Contains(got, "will not be kept for a later run") {
		t.Error(got)
	}
	res, err := e.CanUseTool(t.Context(), bash(e, "npm ci"))
	if err != nil || res.Behavior != permission.Allow || !strings.Contains(res.Reason, "was not kept") || len(e.Session.Grants()) != 1 {
		t.Error(res.Reason, err, e.Session.Grants())
	}
	if !e.Session.Revoke(1) || len(e.Session.Grants()) != 0 {
		t.Error("what is revoked still counts")
	}
}

// TestSessionFiles: only the user may read what is kept, the agent may not write it
// unasked, and it is limited in number and age.
func TestSessionFiles(t *testing.T) {
	o := site(t, nil)
	parent := filepath.Join(o.Dirs.State, "sessions")
	for i := range maxSessions + 5 {
		dir := filepath.Join(parent, fmt.Sprint("s", i))
		at := time.Now().Add(-time.Duration(i) * time.Minute)
		if i < 3 {
			at = time.Now().Add(-maxSessionAge)
		}
		if os.MkdirAll(dir, 0o700) != nil || os.WriteFile(filepath.Join(dir, answersName), []byte("{}"), 0o600) != nil || os.Chtimes(dir, at, at) != nil {
			t.Fatal("cannot make", dir)
		}
	}
	e := resumed(t, o, "one", &answering{answers: []permission.Answer{lasting(0, 0, "Bash(npm i)")}})
	decided(t, e, "npm i")
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != maxSessions {
		t.Error(len(entries), err)
	}
	var path string
	for _, dir := range []string{"s0", "s2", fmt.Sprint("s", maxSessions+4)} {
		if _, err := os.Stat(filepath.Join(parent, dir)); err == nil {
			t.Error("too old:", dir)
		}
	}
	files, _ := filepath.Glob(filepath.Join(parent, "*", answersName))
	path = files[slices.IndexFunc(files, func(name string) bool { return len(name) > len(parent)+64 })]
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir, parent: 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	for _, use := range []permission.ToolUse{
		edit(e, path), bash(e, "cp x "+path), bash(e, "rm "+path), bash(e, "mv "+parent+" y"), bash(e, "echo '{}' > "+path), bash(e, "sed -i s/a/b/ "+path),
	} {
		for _, mode := range []string{"default", "acceptEdits", "bypassPermissions"} {
			o := o
			o.Settings = settings(t, "mode = \""+mode+"\"\nallow = [\"Bash\", \"Edit\", \"Write\"]")
			r, err := Load(o)
			if err != nil {
				t.Fatal(err)
			}
			if d := r.Explain(use, nil); d.Behavior == permission.Allow || d.Behavior == permission.Ask && !d.Held {
				t.Errorf("%s in mode %s: %s", use.Input, mode, d.Reason)
			}
		}
	}
}

// talking is a driver that begins a session and asks for tool uses.
type talking struct {
	id    string
	lines []string
	got   []string
}

func (d *talking) Run(ctx context.Context, task wrapper.Task) (wrapper.Outcome, error) {
	task.Events(wrapper.Event{Type: wrapper.SessionEvent, SessionID: d.id})
	for _, line := range d.lines {
		use := bash(&Engine{Rules: &Rules{}}, line)
		use.Dir, use.Session = task.Dir, d.id
		res, _ := task.Decider.CanUseTool(ctx, use)
		d.got = append(d.got, res.By+" "+res.Behavior.String())
	}
	return wrapper.Outcome{Session: d.id}, nil
}

// TestDriveResumes: a run has the answers of the very session that it resumes. A fork,
// and an agent that begins another session than it was told, have none.
func TestDriveResumes(t *testing.T) {
	o := site(t, nil)
	line := "npm i"
	run := func(id, session string, fork bool, answers ...permission.Answer) string {
		t.Helper()
		o.Approver, o.Settings = &answering{answers: answers}, settings(t, asksFor)
		e := opened(t, o)
		defer closed(t, e)
		d := &talking{id: id, lines: []string{line}}
		if _, err := e.Drive(t.Context(), d, wrapper.Task{Prompt: "x", Session: session, Fork: fork}); err != nil {
			t.Fatal(err)
		}
		return d.got[0]
	}
	got := []string{
		run("a", "", false, lasting(0, 0, "Bash(npm i)")), run("a", "a", false), run("b", "a", true), run("a", "a", true), run("c", "a", false),
		run("b", "b", false), run("a", "a", false),
	}
	want := []string{"person allow", "rule allow", "person deny", "person deny", "person deny", "person deny", "rule allow"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	line = "cat $X > out; " + opaque
	if got := run("d", "", false, lasting(0, 0)) + ", " + run("d", "d", false); got != "person allow, rule allow" {
		t.Error("exactly the same in another run:", got)
	}
}
