//go:build oracle && linux

package effects

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var (
	within  = flag.Int("within", 300, "command lines that are allowed inside the sandbox to run")
	pairs   = flag.Int("pairs", 3, "boxes for each user, in which lines run at the same time")
	during  = flag.Duration("during", 0, "end earlier, after this time; 0: when all have run")
	showing = flag.Bool("show", false, "show the lines that are run, with their exit codes")
)

// agent decides in the box, as the engine of an agent that is driven does.
type agent struct {
	rules   *engine.Rules
	dir     string
	planned *sandbox.Plan // the last one that lines were decided by, until they run
}

// newAgent is started in the workspace: that of generated lines, with deny rules beside
// the policy of init, or that of the recorded sessions.
func newAgent() (effectbox.Agent, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if dir == unsandboxed {
		return newFreeAgent(dir)
	}
	own := &policy.Spec{Sandbox: "require"}
	for _, text := range denied {
		if dir == work {
			own.Deny = append(own.Deny, policy.Item{Text: text})
		}
	}
	if dir == work {
		own.Allow = append(own.Allow, policy.Item{Text: "Read(open/*.pem)"}, policy.Item{Text: "Read(./**)"}) // and no other key
	}
	r, err := engine.Load(engine.Options{Dir: dir, Dirs: &engine.Dirs{State: home + "/.local/state/agent-wrapper"}, Policy: dir + "/" + policy.FileName, Settings: own, NoRecord: true})
	if err != nil {
		return nil, err
	}
	debug.SetGCPercent(400) // it decides thousands of lines, and shares two cores with what they start
	return &agent{rules: r, dir: dir}, r.Within()
}

// Decide plans the sandbox once, since no line has changed anything yet.
func (a *agent) Decide(lines []string) ([]effectbox.Verdict, error) {
	plan, err := a.rules.Sandbox(a.dir)
	if err != nil {
		return nil, err
	}
	a.planned = plan
	a.rules.Session.Sandbox(&permission.Sandbox{
		Writable: sandbox.Paths(slices.Concat(plan.Writable, plan.Temp)), Held: func() ([]string, error) { return plan.Held, nil },
		Planted: func(string) bool { return false }, // nothing has run inside yet
	})
	v := a.rules.Evaluator()
	v.Env = &unchanged{Env: v.Env, known: map[any]any{}}
	var all []effectbox.Verdict
	for _, line := range lines {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			return nil, err
		}
		d := v.Explain(permission.ToolUse{Tool: "Bash", Input: input, Dir: a.dir}, nil)
		all = append(all, effectbox.Verdict{Behavior: d.Behavior.String(), Sandbox: d.Sandbox.String(), Rule: d.Rule, Reason: d.Reason})
	}
	return all, nil
}

// unchanged is what files are like while nothing changes them: each is looked at once.
type unchanged struct {
	permission.Env
	known map[any]any
}

// of returns what is known by a key, after the first time.
func of[T any](u *unchanged, key any, look func() T) T {
	if known, ok := u.known[key]; ok {
		return known.(T)
	}
	found := look()
	u.known[key] = found
	return found
}

// Resolve implements permission.Env.
func (u *unchanged) Resolve(path string) (string, bool) {
	type answer struct {
		real string
		ok   bool
	}
	a := of(u, "resolve "+path, func() (a answer) { a.real, a.ok = u.Env.Resolve(path); return a })
	return a.real, a.ok
}

// Below implements permission.Env.
func (u *unchanged) Below(dir string, rule *patterns.Rule, hidden bool) bool {
	type below struct {
		dir    string
		rule   *patterns.Rule
		hidden bool
	}
	return of(u, below{dir, rule, hidden}, func() bool { return u.Env.Below(dir, rule, hidden) })
}

// Ignored implements permission.Env.
func (u *unchanged) Ignored(dir string) bool {
	return of(u, "ignored "+dir, func() bool { return u.Env.Ignored(dir) })
}

// Unkept implements permission.Env.
func (u *unchanged) Unkept(file shell.Word) bool {
	return of(u, "unkept "+file.Filled("*"), func() bool { return u.Env.Unkept(file) })
}

// Plan implements effectbox.Agent.
func (a *agent) Plan() (plan *sandbox.Plan, err error) {
	if plan, a.planned = a.planned, nil; plan == nil { // some have run
		plan, err = a.rules.Sandbox(a.dir)
	}
	return plan, err
}

// denied are the deny rules beside the policy of init.
var denied = []string{"Read(.env)", "Read(secrets/**)", "Edit(./lock.json)", "Read(~/.ssh/**)", "Read(~/other/private/**)", "Read(/outside/vault/**)", "Read(conf/secrets/**)", "Edit(./conf/prod.json)", "Read(star/*/key.txt)"}

// secrets are the files that no line may read.
var secrets = []string{
	work + "/.env", work + "/sub/.env", work + "/secrets/key", work + "/secrets/deep/k2", home + "/.ssh/id_ed25519", home + "/.aws/credentials", home + "/.netrc", home + "/.git-credentials",
	work + "/star/a/key.txt", work + "/certs/server.pem", work + "/conf/secrets/k", home + "/other/private/plan", outside + "/vault/v", home + "/.local/state/agent-wrapper/credentials.json",
}

// ofRoot is a file that nobody else reads, but by a program that acts as root.
const ofRoot = outside + "/root"

// keep are files of the workspace that lines are about.
var keep = strings.Fields("evil.sh evil.py evil.pl evil.js targets few list a.txt b.txt c.md sub/d.txt sub/deep/e.txt out/old.log tool x Makefile package.json prog.awk arch.tar arch.zip t.gz n.json")

// fixed are paths that no line may change, whatever the plan says.
var fixed = []string{
	"/etc", "/tmp", "/var", outside, home + "/.ssh", home + "/.aws", home + "/other", home + "/.bashrc", home + "/.gitconfig", home + "/h.txt", home + "/.local", home + "/.config",
	work + "/.git/hooks", work + "/.git/config", work + "/.git/info", work + "/lock.json", work + "/" + policy.FileName, work + "/.env", work + "/secrets", work + "/conf/secrets", work + "/conf/prod.json", work + "/.claude/settings.json",
}

// sandboxedWorld is the world with secrets, protected files, and programs of the workspace
// that do what they should not.
func sandboxedWorld(t *testing.T) []effectbox.File {
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
		add(home+"/"+cache+"/x", "x\n", 0) // who plans the sandbox makes them
	}
	add(work+"/lock.json", "{}\n", 0)
	add(work+"/conf/prod.json", "{}\n", 0)
	add(work+"/star/b/x", "x\n", 0)
	add(work+"/open/ok.pem", "x\n", 0)
	add(work+"/.claude/settings.json", "{}\n", 0)
	add(work+"/.git/hooks/post-checkout.sample", "#!/bin/sh\n", 0o755)
	add(work+"/.git/info/exclude", ".env\nsecrets\n", 0)
	add(home+"/other/src/main.go", "package main\n", 0)
	add(ofRoot, "root's\n", 0o600)
	tree[len(tree)-1].Root = true
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

// noRepository returns a tree without .git, which lines can make then.
func noRepository(tree []effectbox.File) []effectbox.File {
	return slices.DeleteFunc(slices.Clone(tree), func(f effectbox.File) bool { return f.Path == work+"/.git" || strings.HasPrefix(f.Path, work+"/.git/") })
}

func openWithin(t *testing.T, tree []effectbox.File, user int) *effectbox.Box {
	t.Helper()
	hidden := secrets
	if user != -1 {
		hidden = append(slices.Clone(secrets), ofRoot)
	}
	return openBox(t, effectbox.Config{
		Tree: tree, Dir: work, User: user, Secrets: hidden, Keep: keep, Setuid: []string{"cat", "cp", "dash"},
		Scripts: map[string]string{"c1": evilShell, "c2": "#!/bin/sh\necho -rf --output=x c9\necho c9 /outside/f\n", "c3": evilShell, "c9": evilShell},
	})
}

// openBox opens a box with an agent.
func openBox(t *testing.T, conf effectbox.Config) *effectbox.Box {
	t.Helper()
	conf.Home, conf.Agent, conf.Timeout = home, true, cmp.Or(conf.Timeout, 2500*time.Millisecond)
	box, err := effectbox.Open(conf, t.TempDir())
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

// TestWithin runs generated lines that are allowed since the sandbox is around them, and some
// that are allowed inside anyway, as an ordinary user and as root. Nothing that they do
// is seen outside.
func TestWithin(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	tree := sandboxedWorld(t)
	if *oneLine != "" {
		o, err := openWithin(t, tree, 0).Hold(&effectbox.Session{Lines: []string{*oneLine}, Run: []string{"within", "inside"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v\n%+v\n%+v\n%v\n%s\n%v", o.Verdicts, o.Ran, o.Changes, o.Breaches, o.Output, o.CPU)
		return
	}
	all := make([]*sandboxed, *pairs*len(users))
	var wait sync.WaitGroup
	for i := range all {
		user, tree := users[i%len(users)], tree
		if i/len(users)%3 == 2 {
			tree = noRepository(tree)
		}
		all[i] = &sandboxed{t: t, user: user.name, box: openWithin(t, tree, user.id), g: newWithin(*seed+uint64(i), tree), want: (*within + i) / len(all), by: map[string]int{}, exits: map[int]int{}, cpu: map[string]time.Duration{}}
	}
	if *within >= many {
		for _, w := range all {
			wait.Go(w.prepare)
		}
		wait.Wait()
		share(all)
	}
	for _, w := range all {
		w.began = time.Now()
		if *during > 0 {
			w.until = w.began.Add(*during)
		}
		wait.Go(w.run)
	}
	wait.Wait()
	for i, w := range all[len(users):] {
		all[i%len(users)].add(w)
	}
	for _, w := range all[:len(users)] {
		w.report()
	}
}

// many is from how many lines on it pays to learn first which ones are allowed.
const many = 5000

// prepare has lines decided, none of which is run.
func (w *sandboxed) prepare() {
	for range many / perSession / (2 * *pairs) {
		s, extra, used := w.next()
		s.Run = []string{"none"}
		o, err := w.box.Hold(s, extra)
		if err != nil {
			w.t.Errorf("%s: %v", w.user, err)
			return
		}
		w.learn(used, o)
	}
}

// share has all generators know what each has learnt.
func share(all []*sandboxed) {
	known := map[string]record{}
	for _, w := range all {
		for key, r := range w.g.known {
			sum := known[key]
			known[key] = record{sum.in + r.in, sum.ran + r.ran}
		}
	}
	for _, w := range all {
		for key, r := range known {
			w.g.known[key] = &r
		}
	}
}

func (w *sandboxed) learn(used [][]string, o *effectbox.Outcome) {
	for i, v := range o.Verdicts {
		w.g.learn(used[i], v.Sandbox == "within")
	}
}

// next returns lines with the files that they are about, and the templates in them. In some
// sessions lines of the first half hide something from the plan of the second half, and those
// of the second look for it.
func (w *sandboxed) next() (s *effectbox.Session, extra []effectbox.File, used [][]string) {
	s = new(effectbox.Session)
	hides := w.g.in(6)
	if hides || w.g.in(2) {
		s.Again = perSession / 2
	}
	for i := range perSession {
		line := w.g.line()
		if hides && w.g.in(8) {
			line, w.g.used = w.g.hides(), []string{"hides"}
			if i >= perSession/2 {
				line, w.g.used = w.g.finds(), []string{"finds"}
			}
		}
		s.Lines = append(s.Lines, line)
		used = append(used, w.g.used)
		for _, f := range w.g.extra {
			if !slices.ContainsFunc(extra, func(o effectbox.File) bool { return o.Path == f.Path }) {
				extra = append(extra, f)
			}
		}
	}
	return s, extra, used
}

// sandboxed is the run of one user.
type sandboxed struct {
	t     *testing.T
	user  string
	box   *effectbox.Box
	g     *generator
	want  int
	began time.Time
	until time.Time // zero: until all have run

	lines, within, inside, sessions, mended, changed, violations, together int
	by                                                                     map[string]int // verdicts
	exits                                                                  map[int]int
	cpu                                                                    map[string]time.Duration
}

// perSession is how many lines are decided at once; those that are run, a third, share
// the sandbox.
const perSession = 192

func (w *sandboxed) run() {
	for next := 1000; w.within < w.want && (w.until.IsZero() || time.Now().Before(w.until)); {
		s, extra, used := w.next()
		s.Run = []string{"within"}
		if w.g.in(8) {
			s.Run = append(s.Run, "inside")
		}
		if err := w.session(s, extra, used); err != nil {
			w.t.Errorf("%s: %v\nlines: %q", w.user, err, s.Lines)
			return
		}
		if w.within >= next {
			next += 1000
			w.t.Logf("%s: %d lines ran inside the sandbox, %d violations, %s", w.user, w.within, w.violations, time.Since(w.began).Round(time.Second))
		}
	}
}

func (w *sandboxed) add(o *sandboxed) {
	w.lines += o.lines
	w.within += o.within
	w.inside += o.inside
	w.sessions += o.sessions
	w.mended += o.mended
	for name, used := range o.cpu {
		w.cpu[name] += used
	}
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

func (w *sandboxed) session(s *effectbox.Session, extra []effectbox.File, used [][]string) error {
	o, err := w.box.Hold(s, extra)
	if err != nil {
		return err
	}
	w.learn(used, o)
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

func (w *sandboxed) fault(bad []string, line string, extra []effectbox.File) {
	if w.violations++; w.violations <= 20 {
		w.t.Errorf("%s: %s\nline: %s\nextra: %s", w.user, strings.Join(bad, "\n"), line, names(extra))
	}
}

// judged returns what was seen outside, by the box and by the list of this test.
func judged(o *effectbox.Outcome) (bad []string) {
	for _, b := range o.Breaches {
		bad = append(bad, b.Kind+": "+b.What)
	}
	below := func(name, at string) bool { return name == at || strings.HasPrefix(name, at+"/") }
	for _, c := range o.Changes {
		if below(c.Path, work+"/.git") && !slices.Contains(sandbox.Paths(o.Plan.ReadOnly), work+"/.git/config") {
			continue // a repository that a line has made
		}
		if slices.ContainsFunc(fixed, func(at string) bool { return below(c.Path, at) }) {
			bad = append(bad, "fixed: "+c.What+" "+c.Path)
		}
	}
	return bad
}

func (w *sandboxed) count(s *effectbox.Session, o *effectbox.Outcome) {
	w.sessions++
	w.lines += len(s.Lines)
	w.mended += o.Mended
	maps.Copy(w.cpu, o.CPU)
	for _, v := range o.Verdicts {
		w.by[strings.TrimSpace(v.Behavior+" "+v.Sandbox)]++
	}
	for _, r := range o.Ran {
		w.exits[r.Exit]++
		if o.Verdicts[r.Line].Sandbox == "within" {
			w.within++
		} else {
			w.inside++
		}
		if *showing {
			w.t.Logf("%s %3d %s", o.Verdicts[r.Line].Sandbox, r.Exit, s.Lines[r.Line])
		}
	}
	if *showing {
		for i, v := range o.Verdicts {
			if v.Behavior != "allow" {
				w.t.Logf("%s %s: %s <= %s", v.Behavior, v.Sandbox, s.Lines[i], v.Reason)
			}
		}
	}
	w.changed += len(o.Changes)
}

func (w *sandboxed) report() {
	var by []string
	for name, n := range w.by {
		by = append(by, fmt.Sprintf("%s %d", name, n))
	}
	sort.Strings(by)
	ran := w.within + w.inside
	w.t.Logf("%s: lines %d (%s)", w.user, w.lines, strings.Join(by, ", "))
	w.t.Logf("%s: ran inside the sandbox %d, inside %d, in %d sessions; exit 0 %d, timed out %d, ended the session %d, took away what others are about %d; paths changed %d; violations %d, of which %d need several lines; took %s",
		w.user, w.within, w.inside, w.sessions, w.exits[0], w.exits[124]+w.exits[137], w.exits[-1], w.mended, w.changed, w.violations, w.together, time.Since(w.began).Round(time.Second))
	w.t.Logf("%s: %.1f lines ran in a second; processor time %v", w.user, float64(ran)/time.Since(w.began).Seconds(), w.cpu)
	if w.exits[0]*5 < ran || w.changed == 0 {
		w.t.Errorf("%s: only %d of %d lines succeeded, and %d paths changed: the test shows little", w.user, w.exits[0], ran, w.changed)
	}
}

// control is a line that does what the sandbox prevents, with what must be seen without a part of
// the sandbox. Some lines only one of the users can run.
type control struct{ name, line, without, kind, only string }

var controls = []control{
	{"a file outside by code", `python3 -c "open('/'+'outside/f','w').write('x')"`, effectbox.NoTree, effectbox.Outside, ""},
	{"a file outside by its memory", `python3 -c "import mmap; f=open('/'+'outside/f','r+b'); m=mmap.mmap(f.fileno(),1); m[0]=65"`, effectbox.NoTree, effectbox.Outside, ""},
	{"a mode outside", `perl -e 'chmod 0777, "/out"."side/f"'`, effectbox.NoTree, effectbox.Outside, ""},
	{"a mode outside as it was", `perl -e 'chmod 0755, "/out"."side/d"'`, effectbox.NoTree, effectbox.Outside, ""},
	{"a time outside", `python3 -c "import os; os.utime('/'+'outside/f',(1,1))"`, effectbox.NoTree, effectbox.Outside, ""},
	{"a name outside", `node -e "require('fs').mkdirSync('/out'+'side/new')"`, effectbox.NoTree, effectbox.Outside, ""},
	{"a name outside, and gone again", `python3 -c "import os; os.mkdir('/out'+'side/new'); os.rmdir('/out'+'side/new')"`, effectbox.NoTree, effectbox.Outside, ""},
	{"another name for a file outside", `python3 -c "import os; os.link('../h'+'.txt','n1')"`, effectbox.NoSandbox, effectbox.Outside, ""},
	{"a name in no directory of the tree", `python3 -c "open('/us'+'r/local/bin/n','w')"`, effectbox.NoSandbox, effectbox.Outside, "root"},
	{"a script", "bash evil.sh", effectbox.NoSandbox, effectbox.Outside, ""},
	{"make", "make", effectbox.NoSandbox, effectbox.Outside, ""},
	{"a temporary file", `python3 -c "open('/'+'tmp/n','w')"`, effectbox.NoSandbox, effectbox.Outside, ""},
	{"a hook", `python3 -c "open('.g'+'it/hooks/pre-commit','w')"`, effectbox.NoProtected, effectbox.Protected, ""},
	{"the policy", `python3 -c "open('agent'+'-wrapper.toml','a').write('x')"`, effectbox.NoProtected, effectbox.Protected, ""},
	{"a secret", `python3 -c "open('.e'+'nv').read()"`, effectbox.NoMasks, effectbox.Read, ""},
	{"a secret, by another name of its directory", `python3 -c "import os; os.rename('secr'+'ets','n1'); open('n1/key').read()"`, effectbox.NoMasks, effectbox.Read, ""},
	{"a secret, shown", `python3 -c "print(open('.e'+'nv').read())"`, effectbox.NoMasks, effectbox.Shown, ""},
	{"a secret, shown after much else", `python3 -c "print('x'*3000000, open('.e'+'nv').read())"`, effectbox.NoMasks, effectbox.Shown, ""},
	{"a secret, encoded in a file", `f=.e; base64 ${f}nv >out/b; python3 -c "open('out/c','w').write(open('.e'+'nv').read())"`, effectbox.NoMasks, effectbox.Shown, ""},
	{"a secret, in the name of a file", `python3 -c "open('out/'+open('.e'+'nv').read().strip(),'w')"`, effectbox.NoMasks, effectbox.Shown, ""},
	{"a secret of the home", `perl -e 'open F, $ENV{HOME}."/.s"."sh/id_ed25519"; print <F>'`, effectbox.NoMasks, effectbox.Read, ""},
	{"a program that acts as root", "/opt/cat " + ofRoot, effectbox.NoSandbox, effectbox.Read, "an ordinary user"},
	{"a service", `python3 -c "import socket; socket.create_connection(('127.0.0.1',7001)).recv(9)"`, effectbox.NoSandbox, effectbox.Reached, ""},
	{"a socket", `python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('/srv/serv'+'ice.sock')"`, effectbox.NoSandbox, effectbox.Reached, ""},
	{"a socket without a path", `python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('\0service')"`, effectbox.NoSandbox, effectbox.Reached, ""},
	{"a packet", `python3 -c "import socket; socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b'x',('198.51.100.7',53))"`, effectbox.NoSandbox, effectbox.Packets, ""},
	{"a name of a host", `python3 -c "import socket; socket.gethostbyname('key.example.org')"`, effectbox.NoSandbox, effectbox.Packets, ""},
	{"a process", `python3 -c "import subprocess; subprocess.Popen(['sleep','50'],start_new_session=True)"`, effectbox.NoSandbox, effectbox.Left, ""},
	{"shared memory", "ipcmk -M 10", effectbox.NoSandbox, effectbox.System, ""},
	{"a mount", "mount -t tmpfs x /log", effectbox.NoSandbox, effectbox.System, "root"},
	{"the name of the host", "hostname n$RANDOM", effectbox.NoSandbox, effectbox.System, "root"},
}

// sequels are pairs of lines of which the first prepares what the second does, in a sandbox that
// is planned anew.
var sequels = []control{
	{"a secret, when the directory of a rule was moved", `python3 -c "import os; os.rename('con'+'f','n1')"` + "\x00cat n1/secrets/*", effectbox.NoPins, effectbox.Read, ""},
	{"a file that a rule protects, made anew", `python3 -c "import os; os.rename('con'+'f','n1')"` + "\x00" + `python3 -c "import os; os.mkdir('con'+'f'); open('con'+'f/prod.json','w').write('x')"`, effectbox.NoPins, effectbox.Protected, ""},
	{"a file outside, by a .git that names a directory", `python3 -c "open('.g'+'it','w').write('gitdir: /out'+'side')"` + "\x00" + `python3 -c "open('/out'+'side/f','w').write('x')"`, effectbox.NoSandbox, effectbox.Outside, ""},
}

// TestWithinControls shows that each check of TestWithin can fail: what each of these
// lines does is seen without a sandbox, or without the part that holds it, and not otherwise.
func TestWithinControls(t *testing.T) {
	tree := sandboxedWorld(t)
	allowed, ran := 0, 0
	for _, user := range users {
		box := openWithin(t, tree, user.id)
		for _, c := range controls {
			if c.only != "" && c.only != user.name {
				continue
			}
			t.Run(user.name+"/"+c.name, func(t *testing.T) {
				ran++
				if c.run(t, box, user.id) {
					allowed++
				}
			})
		}
	}
	bare := noRepository(tree)
	for _, user := range users {
		box := openWithin(t, bare, user.id)
		for _, c := range sequels {
			t.Run(user.name+"/"+c.name, func(t *testing.T) { c.run(t, box, user.id) })
		}
	}
	t.Logf("%d lines, %d of them allowed inside the sandbox", ran, allowed)
	if ran > 9 && allowed*2 < ran {
		t.Error("too few are lines that TestWithin would run")
	}
}

// run shows that a control is seen without what holds it, and not with it; alone, and for
// an ordinary user after other lines. It reports whether the line is allowed inside the sandbox.
func (c *control) run(t *testing.T, box *effectbox.Box, user int) bool {
	hold := func(without string, lines ...string) *effectbox.Outcome {
		first, second, two := strings.Cut(lines[len(lines)-1], "\x00")
		s := &effectbox.Session{Lines: append(lines[:len(lines)-1:len(lines)-1], first), Without: without}
		if two {
			s.Again, s.Lines = len(s.Lines), append(s.Lines, second)
		}
		o, err := box.Hold(s, nil)
		if err != nil {
			t.Fatalf("%q: %v", lines, err)
		}
		return o
	}
	o := hold("", c.line)
	if bad := judged(o); len(bad) > 0 {
		t.Errorf("%v\n%s", bad, c.line)
	}
	for _, before := range [][]string{nil, {"rm -rf sub x tool targets", "echo x > a.txt; mv b.txt n", "kill -9 $$"}}[:2+user] { // root is -1
		o := hold(c.without, append(before, c.line)...)
		if !slices.ContainsFunc(o.Breaches, func(b effectbox.Breach) bool { return b.Kind == c.kind }) {
			t.Errorf("without %s there is no breach of the kind %q, so the check shows nothing: %+v\n%s\n%s", c.without, c.kind, o.Breaches, c.line, o.Output)
		}
	}
	return o.Verdicts[0].Behavior == "allow" && o.Verdicts[0].Sandbox == "within"
}
