//go:build oracle && linux

package effects

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/walls"
)

var (
	within  = flag.Int("within", 300, "command lines that are allowed within walls to run")
	during  = flag.Duration("during", 0, "end earlier, after this time; 0: when all have run")
	showing = flag.Bool("show", false, "show the lines that are run, with their exit codes")
)

// agent decides in the box, as the engine of an agent that is driven does.
type agent struct{ rules *engine.Rules }

func newAgent() (effectbox.Agent, error) {
	own := &policy.Spec{Walls: "require"}
	for _, text := range denied {
		own.Deny = append(own.Deny, policy.Item{Text: text})
	}
	r, err := engine.Load(engine.Options{Dir: work, Dirs: &engine.Dirs{State: home + "/.local/state/agent-wrapper"}, Policy: work + "/" + policy.FileName, Settings: own, NoRecord: true})
	if err != nil {
		return nil, err
	}
	return &agent{r}, r.Within()
}

func (a *agent) Decide(line string) (v effectbox.Verdict, err error) {
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return v, err
	}
	d := a.rules.Explain(permission.ToolUse{Tool: "Bash", Input: input, Dir: work}, nil)
	return effectbox.Verdict{Behavior: d.Behavior.String(), Walls: d.Walls.String(), Rule: d.Rule, Reason: d.Reason}, nil
}

func (a *agent) Plan() (*walls.Plan, error) { return a.rules.Walls(work) }

// denied are the deny rules beside the policy of init.
var denied = []string{"Read(.env)", "Read(secrets/**)", "Edit(./lock.json)", "Read(~/.ssh/**)", "Read(~/other/private/**)", "Read(/outside/vault/**)"}

// secrets are the files that no line may read.
var secrets = []string{
	work + "/.env", work + "/sub/.env", work + "/secrets/key", work + "/secrets/deep/k2", home + "/.ssh/id_ed25519", home + "/.aws/credentials", home + "/.netrc", home + "/.git-credentials",
	home + "/other/private/plan", outside + "/vault/v", home + "/.local/state/agent-wrapper/credentials.json",
}

// fixed are paths that no line may change, whatever the plan says.
var fixed = []string{
	"/etc", "/tmp", "/var", outside, home + "/.ssh", home + "/.aws", home + "/other", home + "/.bashrc", home + "/.gitconfig", home + "/h.txt", home + "/.local", home + "/.config",
	work + "/.git/hooks", work + "/.git/config", work + "/.git/info", work + "/lock.json", work + "/" + policy.FileName, work + "/.env", work + "/secrets", work + "/.claude/settings.json",
}

// walledWorld is the world with secrets, protected files, and programs of the workspace
// that do what they should not.
func walledWorld(t *testing.T) []effectbox.File {
	t.Helper()
	tree := slices.DeleteFunc(world(t), func(f effectbox.File) bool {
		return f.Path == work+"/.env" || f.Path == work+"/x" || f.Path == work+"/tool"
	})
	made := map[string]bool{"/": true}
	for _, f := range tree {
		made[f.Path] = true
	}
	add := func(name, data string, mode fs.FileMode) {
		for at := 1; at < len(name); at++ {
			if dir := name[:at]; name[at] == '/' && !made[dir] {
				made[dir] = true
				tree = append(tree, effectbox.File{Path: dir, Kind: effectbox.Dir})
			}
		}
		made[name] = true
		tree = append(tree, effectbox.File{Path: name, Data: []byte(data), Mode: mode})
	}
	for _, name := range secrets {
		add(name, "KEY="+effectbox.Secret+"\n", 0)
	}
	for _, cache := range []string{".cache/go-build", ".cache/pip", ".cache/ccache", ".npm/_cacache", ".npm/_logs"} {
		add(home+"/"+cache+"/x", "x\n", 0) // who plans the walls makes them
	}
	add(work+"/lock.json", "{}\n", 0)
	add(work+"/.claude/settings.json", "{}\n", 0)
	add(work+"/.git/hooks/post-checkout.sample", "#!/bin/sh\n", 0o755)
	add(work+"/.git/info/exclude", ".env\nsecrets\n", 0)
	add(home+"/other/src/main.go", "package main\n", 0)
	add(home+"/.config/x/y", "y\n", 0)
	add("/var/tmp/y", "y\n", 0)
	add(work+"/package.json", `{"name":"x","scripts":{"test":"node evil.js","build":"sh evil.sh"}}`+"\n", 0)
	add(work+"/Makefile", "all:\n\t-sh evil.sh\n%.o:\n\t-sh evil.sh\nevil:\n\t-python3 evil.py\n", 0)
	add(work+"/targets", strings.Join(targets, "\n")+"\n", 0)
	add(work+"/few", strings.Join([]string{"/outside/f", work + "/.env", home + "/.ssh/id_ed25519", work + "/.git/config", "/tmp/y"}, "\n")+"\n", 0)
	add(work+"/evil.sh", evilShell, 0o755)
	add(work+"/tool", evilShell, 0o755)
	add(work+"/x", evilShell, 0o755)
	add(work+"/evil.py", evilPython, 0o755)
	add(work+"/evil.pl", evilPerl, 0o755)
	add(work+"/evil.js", evilNode, 0o755)
	start := policy.Starting(fstest.MapFS{"package.json": &fstest.MapFile{Data: []byte("{}")}, "Makefile": &fstest.MapFile{}}, true)
	add(work+"/"+policy.FileName, string(start), 0)
	return tree
}

func openWithin(t *testing.T, tree []effectbox.File, user int) *effectbox.Box {
	t.Helper()
	box, err := effectbox.Open(effectbox.Config{
		Tree: tree, Dir: work, Home: home, Timeout: 2500 * time.Millisecond, Agent: true, User: user, Secrets: secrets,
		Scripts: map[string]string{"c1": evilShell, "c2": "#!/bin/sh\necho -rf --output=x c9\necho c9 /outside/f\n", "c3": evilShell, "c9": evilShell},
	}, t.TempDir())
	if errors.Is(err, effectbox.ErrNotRoot) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}

// users are who runs the lines.
var users = []struct {
	name string
	id   int
}{{"an ordinary user", 0}, {"root", -1}}

// TestWithin runs generated lines that are allowed since walls are around them, and some
// that are allowed inside anyway, as an ordinary user and as root. Nothing that they do
// is seen outside.
func TestWithin(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	tree := walledWorld(t)
	if *oneLine != "" {
		o, err := openWithin(t, tree, 0).Hold(&effectbox.Session{Lines: []string{*oneLine}, Run: []string{"within", "inside"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v\n%+v\n%+v\n%v\n%s", o.Verdicts, o.Ran, o.Changes, o.Breaches, o.Output)
		return
	}
	all := make([]*walled, boxes*len(users))
	var wait sync.WaitGroup
	for i := range all {
		user := users[i%len(users)]
		all[i] = &walled{t: t, user: user.name, box: openWithin(t, tree, user.id), g: newWithin(*seed+uint64(i), tree), want: (*within + i) / len(all), began: time.Now(), by: map[string]int{}, exits: map[int]int{}}
		if *during > 0 {
			all[i].until = all[i].began.Add(*during)
		}
		wait.Go(all[i].run)
	}
	wait.Wait()
	for i, w := range all[len(users):] {
		all[i%len(users)].add(w)
	}
	for _, w := range all[:len(users)] {
		w.report()
	}
}

// walled is the run of one user.
type walled struct {
	t     *testing.T
	user  string
	box   *effectbox.Box
	g     *generator
	want  int
	began time.Time
	until time.Time // zero: until all have run

	lines, within, inside, sessions, changed, violations, together int
	by                                                             map[string]int // verdicts
	exits                                                          map[int]int
}

// perSession is how many lines are decided at once; those that are run share walls.
const perSession = 24

func (w *walled) run() {
	for next := 2000; w.within < w.want && (w.until.IsZero() || time.Now().Before(w.until)); {
		var s effectbox.Session
		var extra []effectbox.File
		for range perSession {
			s.Lines = append(s.Lines, w.g.line())
			for _, f := range w.g.extra {
				if !slices.ContainsFunc(extra, func(o effectbox.File) bool { return o.Path == f.Path }) {
					extra = append(extra, f)
				}
			}
		}
		s.Run = []string{"within"}
		if w.g.in(8) {
			s.Run = append(s.Run, "inside")
		}
		if err := w.session(&s, extra); err != nil {
			w.t.Errorf("%s: %v\nlines: %q", w.user, err, s.Lines)
			return
		}
		if w.within >= next {
			next += 2000
			w.t.Logf("%s: %d lines ran within walls, %d violations, %s", w.user, w.within, w.violations, time.Since(w.began).Round(time.Second))
		}
	}
}

func (w *walled) add(o *walled) {
	w.lines += o.lines
	w.within += o.within
	w.inside += o.inside
	w.sessions += o.sessions
	w.changed += o.changed
	w.violations += o.violations
	w.together += o.together
	for name, n := range o.by {
		w.by[name] += n
	}
	for code, n := range o.exits {
		w.exits[code] += n
	}
}

func (w *walled) session(s *effectbox.Session, extra []effectbox.File) error {
	o, err := w.box.Hold(s, extra)
	if err != nil {
		return err
	}
	w.count(s, o)
	if len(judged(o)) == 0 {
		return nil
	}
	// Which line was it? One that needs another one before it is shown with all.
	found := false
	for _, r := range o.Ran {
		one, err := w.box.Hold(&effectbox.Session{Lines: []string{s.Lines[r.Line]}, Run: s.Run}, extra)
		if err != nil {
			return err
		}
		if bad := judged(one); len(bad) > 0 {
			found = true
			w.fault(bad, s.Lines[r.Line], extra)
		}
	}
	if !found {
		var ran []string
		for _, r := range o.Ran {
			ran = append(ran, s.Lines[r.Line])
		}
		w.together++
		w.fault(judged(o), "one after the other: "+strings.Join(ran, "\n----\n"), extra)
	}
	return nil
}

func (w *walled) fault(bad []string, line string, extra []effectbox.File) {
	if w.violations++; w.violations <= 20 {
		w.t.Errorf("%s: %s\nline: %s\nextra: %s", w.user, strings.Join(bad, "\n"), line, names(extra))
	}
}

// judged returns what was seen outside, by the box and by the list of this test.
func judged(o *effectbox.Outcome) (bad []string) {
	for _, b := range o.Breaches {
		bad = append(bad, b.Kind+": "+b.What)
	}
	for _, c := range o.Changes {
		if slices.ContainsFunc(fixed, func(at string) bool { return c.Path == at || strings.HasPrefix(c.Path, at+"/") }) {
			bad = append(bad, "fixed: "+c.What+" "+c.Path)
		}
	}
	return bad
}

func (w *walled) count(s *effectbox.Session, o *effectbox.Outcome) {
	w.sessions++
	w.lines += len(s.Lines)
	for _, v := range o.Verdicts {
		w.by[strings.TrimSpace(v.Behavior+" "+v.Walls)]++
	}
	for _, r := range o.Ran {
		w.exits[r.Exit]++
		if o.Verdicts[r.Line].Walls == "within" {
			w.within++
		} else {
			w.inside++
		}
		if *showing {
			w.t.Logf("%s %3d %s", o.Verdicts[r.Line].Walls, r.Exit, s.Lines[r.Line])
		}
	}
	if *showing {
		for i, v := range o.Verdicts {
			if v.Behavior != "allow" {
				w.t.Logf("%s %s: %s <= %s", v.Behavior, v.Walls, s.Lines[i], v.Reason)
			}
		}
	}
	w.changed += len(o.Changes)
}

func (w *walled) report() {
	var by []string
	for name, n := range w.by {
		by = append(by, fmt.Sprintf("%s %d", name, n))
	}
	sort.Strings(by)
	ran := w.within + w.inside
	w.t.Logf("%s: lines %d (%s)", w.user, w.lines, strings.Join(by, ", "))
	w.t.Logf("%s: ran within walls %d, inside %d, in %d sessions; exit 0 %d, timed out %d, ended the session %d; paths changed %d; violations %d, of which %d need several lines; took %s",
		w.user, w.within, w.inside, w.sessions, w.exits[0], w.exits[124]+w.exits[137], w.exits[-1], w.changed, w.violations, w.together, time.Since(w.began).Round(time.Second))
	if w.exits[0]*5 < ran || w.changed == 0 {
		w.t.Errorf("%s: only %d of %d lines succeeded, and %d paths changed: the test shows little", w.user, w.exits[0], ran, w.changed)
	}
}

// controls are lines that do what walls hold, with what must be seen without them.
var controls = []struct{ name, line, without, kind string }{
	{"a file outside by code", `python3 -c "open('/'+'outside/f','w').write('x')"`, effectbox.NoTree, effectbox.Outside},
	{"a mode outside", `perl -e 'chmod 0777, "/out"."side/f"'`, effectbox.NoTree, effectbox.Outside},
	{"a time outside", `python3 -c "import os; os.utime('/'+'outside/f',(1,1))"`, effectbox.NoTree, effectbox.Outside},
	{"a name outside", `node -e "require('fs').mkdirSync('/out'+'side/new')"`, effectbox.NoTree, effectbox.Outside},
	{"a script", "bash evil.sh", effectbox.NoWalls, effectbox.Outside},
	{"make", "make", effectbox.NoWalls, effectbox.Outside},
	{"a temporary file", `python3 -c "open('/'+'tmp/n','w')"`, effectbox.NoWalls, effectbox.Outside},
	{"a hook", `python3 -c "open('.g'+'it/hooks/pre-commit','w')"`, effectbox.NoProtected, effectbox.Protected},
	{"the policy", `python3 -c "open('agent'+'-wrapper.toml','a').write('x')"`, effectbox.NoProtected, effectbox.Protected},
	{"a secret", `python3 -c "open('.e'+'nv').read()"`, effectbox.NoMasks, effectbox.Read},
	{"a secret, shown", `python3 -c "print(open('.e'+'nv').read())"`, effectbox.NoMasks, effectbox.Shown},
	{"a secret, encoded in a file", `f=.e; base64 ${f}nv >out/b; python3 -c "open('out/c','w').write(open('.e'+'nv').read())"`, effectbox.NoMasks, effectbox.Shown},
	{"a secret of the home", `perl -e 'open F, $ENV{HOME}."/.s"."sh/id_ed25519"; print <F>'`, effectbox.NoMasks, effectbox.Read},
	{"a service", `python3 -c "import socket; socket.create_connection(('127.0.0.1',7001)).recv(9)"`, effectbox.NoWalls, effectbox.Reached},
	{"a socket", `python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('/srv/serv'+'ice.sock')"`, effectbox.NoWalls, effectbox.Reached},
	{"a socket without a path", `python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('\0service')"`, effectbox.NoWalls, effectbox.Reached},
	{"a packet", `python3 -c "import socket; socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b'x',('198.51.100.7',53))"`, effectbox.NoWalls, effectbox.Packets},
	{"a process", `python3 -c "import subprocess; subprocess.Popen(['sleep','50'],start_new_session=True)"`, effectbox.NoWalls, effectbox.Left},
}

// TestWithinControls shows that each check of TestWithin can fail: what each of these
// lines does is seen without walls, or without the part that holds it, and not otherwise.
func TestWithinControls(t *testing.T) {
	tree := walledWorld(t)
	allowed := 0
	for _, user := range users {
		box := openWithin(t, tree, user.id)
		hold := func(line, without string, run ...string) *effectbox.Outcome {
			o, err := box.Hold(&effectbox.Session{Lines: []string{line}, Run: run, Without: without}, nil)
			if err != nil {
				t.Fatalf("%s: %s: %v", user.name, line, err)
			}
			return o
		}
		for _, c := range controls {
			o := hold(c.line, "")
			if v := o.Verdicts[0]; v.Behavior == "allow" && v.Walls == "within" {
				allowed++
			}
			if bad := judged(o); len(bad) > 0 {
				t.Errorf("%s, %s: %v\n%s", user.name, c.name, bad, c.line)
			}
			o = hold(c.line, c.without)
			if !slices.ContainsFunc(o.Breaches, func(b effectbox.Breach) bool { return b.Kind == c.kind }) {
				t.Errorf("%s, %s: without %s there is no breach of the kind %q, so the check shows nothing: %+v\n%s\n%s", user.name, c.name, c.without, c.kind, o.Breaches, c.line, o.Output)
			}
		}
	}
	t.Logf("%d lines, %d of them allowed within walls", len(controls)*len(users), allowed)
	if allowed < len(controls) {
		t.Error("too few are lines that TestWithin would run")
	}
}
