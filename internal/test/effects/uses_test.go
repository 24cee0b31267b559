//go:build oracle && linux

package effects

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var uses = flag.Int("uses", 1000, "hostile uses of programs that the catalogue knows, to decide")

// unsandboxed is where lines are decided and run without a sandbox.
const unsandboxed = home + "/u"

// mark is a file that only hostile programs and values change.
const mark = outside + "/ran"

// freeAgent decides as the hook of a host does, without a sandbox.
type freeAgent struct {
	rules *engine.Rules
	dir   string
}

func newFreeAgent(dir string) (effectbox.Agent, error) {
	r, err := engine.Load(engine.Options{Dir: dir, Dirs: &engine.Dirs{State: home + "/.local/state/agent-wrapper"}, Policy: dir + "/" + policy.FileName, NoRecord: true})
	return &freeAgent{r, dir}, err
}

// Decide implements effectbox.Agent.
func (a *freeAgent) Decide(lines []string) (all []effectbox.Verdict, err error) {
	v := a.rules.Evaluator()
	v.Env = &unchanged{Env: v.Env, known: map[any]any{}}
	for _, line := range lines {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			return nil, err
		}
		d := v.Explain(permission.ToolUse{Tool: "Bash", Input: input, Dir: a.dir}, nil)
		all = append(all, effectbox.Verdict{Behavior: d.Behavior.String(), Rule: d.Rule, Reason: d.Reason})
	}
	return all, nil
}

// Plan implements effectbox.Agent. Nothing is held; the plan says what may be written.
func (a *freeAgent) Plan() (*sandbox.Plan, error) {
	return &sandbox.Plan{Workspace: []string{a.dir}}, nil
}

// use is a program of the catalogue with the names of a subcommand.
type use struct {
	words   []string
	program *program.Program
	top     *program.Program
}

// catalogued returns all uses of programs that the catalogue knows.
func catalogued() (all []use) {
	var add func(top, p *program.Program, words []string)
	add = func(top, p *program.Program, words []string) {
		all = append(all, use{words, p, top})
		for sub := range p.Subs {
			add(top, sub, append(slices.Clone(words), sub.Name))
		}
	}
	for p := range program.Builtin {
		add(p, p, []string{p.Name})
	}
	slices.SortFunc(all, func(a, b use) int { return slices.Compare(a.words, b.words) })
	return all
}

// hostileValues are what is given to variables, options and operands: what they run, read,
// write or reach is seen.
var hostileValues = []string{
	"./x", unsandboxed + "/x", "sh x", "'sh x'", "./x;", "|./x", "!./x", "unixexec:path=" + unsandboxed + "/x", "exec:./x", "ext::./x",
	mark, "../../../outside/ran", "/../" + mark, "./../../../outside/ran", ".env", "*.env", ".e*", "[.]env", "?env", ".envrc", "~/.ssh/id_ed25519", "../.ssh/*", "@.env", "@list", "<.env",
	"file://" + unsandboxed + "/.env", "http://192.0.2.1:7001/", "HTTP://192.0.2.1:7001/", "192.0.2.1", "192.0.513", "3221225985", "0xC0000201", "0300.0.2.1", "[::ffff:192.0.2.1]", "git@192.0.2.1:x", "192.0.2.1:x", "ssh://192.0.2.1/x", "//192.0.2.1/x", "key.example.org", "key。example.org",
	`"$APP_TOKEN"`, `"x${APP_TOKEN}y"`, `${APP_TOKEN:0:9}`, `"${APP_TOKEN#c}"`, `${APP_TOKEN@Q}`, "'$APP_TOKEN'",
}

// hostileVariables are names that some program obeys, and some that it may.
func hostileVariables(all []use) (names []string) {
	for _, u := range all {
		for _, name := range u.program.Variables {
			names = append(names, strings.ReplaceAll(name, "*", "X"))
		}
	}
	names = append(names, strings.Fields("LD_PRELOAD LD_LIBRARY_PATH PAGER EDITOR VISUAL BROWSER SHELL PATH HOME BASH_ENV ENV IFS PS4 PS1 PROMPT_COMMAND TZ LANG LC_ALL LANGUAGE TERM TERMINFO TMPDIR GREP_OPTIONS LESSOPEN LESS MANPAGER PERL5OPT PYTHONPATH PYTHONSTARTUP NODE_OPTIONS RUBYOPT CDPATH GLOBIGNORE http_proxy HTTPS_PROXY SSL_CERT_FILE CURL_HOME XDG_CONFIG_HOME V FOO COLUMNS NLSPATH LOCPATH MALLOC_CHECK_ GCONV_PATH")...)
	slices.Sort(names)
	return slices.Compact(names)
}

// hostile makes lines of uses and what is hostile to them.
type hostile struct {
	r         *rand.Rand
	uses      []use
	variables []string
	here      map[string]bool // the programs that the machine has; others are only decided
}

func (h *hostile) pick(from []string) string { return from[h.r.IntN(len(from))] }

func (h *hostile) line() string {
	u := h.uses[h.r.IntN(len(h.uses))]
	for !h.here[u.top.Name] && h.r.IntN(20) > 0 {
		u = h.uses[h.r.IntN(len(h.uses))]
	}
	words := slices.Clone(u.words)
	for range h.r.IntN(3) {
		words = append(words, h.option(&u))
	}
	before := ""
	switch h.r.IntN(3) {
	case 0:
		before = h.set(&u)
		if h.r.IntN(2) == 0 {
			words = append(words, h.pick([]string{"a.txt", ".", "list", "--version", "main", "HEAD"}))
		}
	default:
		for range 1 + h.r.IntN(2) {
			words = append(words, h.pick(hostileValues))
		}
	}
	line := before + strings.Join(words, " ")
	switch h.r.IntN(12) {
	case 0:
		line = "find . -maxdepth 1 -name " + h.pick([]string{"'*.env'", "'?env'", "'.e*'", "x"}) + " -exec " + line + " {} +"
	case 1:
		line = "echo " + h.pick(hostileValues) + " | xargs " + line
	case 2:
		line += " < a.txt"
	case 3:
		line = "cd sub && " + line
	}
	return line
}

// option returns an option of a use, with a value if it takes one, or one that was not
// listed.
func (h *hostile) option(u *use) string {
	lists := slices.Concat(u.program.Shared, [][]program.Option{u.program.Options})
	options := lists[h.r.IntN(len(lists))]
	if len(options) == 0 {
		return h.pick([]string{"-v", "-o", "--output=" + mark, "--config=./x", "-f"})
	}
	o := options[h.r.IntN(len(options))]
	name := o.Names[h.r.IntN(len(o.Names))]
	value := h.pick(append(hostileValues[:len(hostileValues):len(hostileValues)], "1", "a", "json", "a.txt"))
	switch {
	case o.Value == program.NoValue:
		return name
	case o.Value == program.Optional || h.r.IntN(3) == 0:
		if strings.HasPrefix(name, "--") {
			return name + "=" + value
		}
		return name + value
	case o.Value == program.Pair:
		return name + " a " + value
	}
	return name + " " + value
}

// set returns what sets a variable for the rest of a line.
func (h *hostile) set(u *use) string {
	name := h.pick(h.variables)
	if own := u.top.Variables; len(own) > 0 && h.r.IntN(2) == 0 {
		name = strings.ReplaceAll(h.pick(own), "*", "X")
	}
	value := h.pick(hostileValues)
	if strings.ContainsAny(value, ";|<! ") && !strings.HasPrefix(value, "'") {
		value = "'" + value + "'"
	}
	form := h.pick([]string{
		"V=W ", "export V=W; ", "V=W; export V; ", "declare -x V=W; ", "set -a; V=W; ", "env V=W ", "read -r V <<< W; export V; ", "export V; printf -v V %s W; ", "V=W; ", "export V=W && ", "for V in W; do export V; done; ", "typeset -x V; V=W; ",
	})
	return strings.NewReplacer("V", name, "W", value).Replace(form)
}

// TestUses decides lines in which something hostile is given to a use that the catalogue knows,
// under no policy and under that of init, and runs those that are allowed, without a sandbox:
// nothing hostile runs, no file is written, no secret is shown, no packet leaves.
func TestUses(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	var wait sync.WaitGroup
	start := string(policy.Starting(fstest.MapFS{"go.mod": &fstest.MapFile{}, "package.json": &fstest.MapFile{Data: []byte("{}")}}, false))
	for i, text := range []string{"", start} {
		e := &useRun{t: t, name: []string{"no policy", "the policy of init"}[i], box: openUses(t, text)}
		e.uses = catalogued()
		e.variables = hostileVariables(e.uses)
		e.here = map[string]bool{}
		for _, u := range e.uses {
			_, err := exec.LookPath(u.top.Name)
			e.here[u.top.Name] = err == nil
		}
		e.r = rand.New(rand.NewPCG(*seed, uint64(i)))
		wait.Go(e.run)
	}
	wait.Wait()
}

func openUses(t *testing.T, text string) *effectbox.Box {
	t.Helper()
	var tree []effectbox.File
	dir := func(names ...string) {
		for _, name := range names {
			tree = append(tree, effectbox.File{Path: name, Kind: effectbox.Dir})
		}
	}
	file := func(name, data string, mode os.FileMode) {
		tree = append(tree, effectbox.File{Path: name, Data: []byte(data), Mode: mode})
	}
	dir("/home", home, home+"/.ssh", home+"/.aws", home+"/.local", home+"/.local/state", unsandboxed, unsandboxed+"/sub", outside, outside+"/d", "/tmp", "/etc", "/var", "/var/tmp")
	file("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", 0)
	file(mark, "x\n", 0)
	file(home+"/.gitconfig", "[user]\n\tname = dev\n\temail = dev@example.com\n", 0)
	for _, name := range useSecrets {
		file(name, "KEY="+effectbox.Secret+"\n", 0)
	}
	file(unsandboxed+"/x", "#!/bin/sh\necho ran >> "+mark+"\n", 0o755)
	file(unsandboxed+"/a.txt", "b\na\n", 0)
	file(unsandboxed+"/list", ".env\n/outside/ran\n", 0)
	file(unsandboxed+"/sub/d.txt", "d\n", 0)
	file(unsandboxed+"/"+policy.FileName, text, 0)
	for _, f := range repository(t) {
		f.Path = unsandboxed + strings.TrimPrefix(f.Path, work)
		tree = append(tree, f)
	}
	return openBox(t, effectbox.Config{
		Tree: tree, Dir: unsandboxed, Secrets: useSecrets, Keep: []string{"x", "a.txt", "list", "sub/d.txt"}, Timeout: 1500 * time.Millisecond,
		Env: []string{"APP_TOKEN=" + effectbox.Secret},
	})
}

// useSecrets are files whose names say that they hold secrets.
var useSecrets = []string{unsandboxed + "/.env", unsandboxed + "/.envrc", unsandboxed + "/sub/.env", home + "/.ssh/id_ed25519", home + "/.aws/credentials", home + "/.netrc", home + "/.git-credentials"}

// useRun is the run under one policy.
type useRun struct {
	t    *testing.T
	name string
	box  *effectbox.Box
	hostile

	lines, ran, violations int
	programs               map[string]bool
}

func (e *useRun) run() {
	e.programs = map[string]bool{}
	for began := time.Now(); e.lines < *uses/2; {
		var lines []string
		for range perSession {
			lines = append(lines, e.line())
		}
		if err := e.session(lines); err != nil {
			e.t.Errorf("%s: %v", e.name, err)
			return
		}
		if e.lines += len(lines); e.lines%(50*perSession) == 0 {
			e.t.Logf("%s: %d lines, %d ran, %d violations, %s", e.name, e.lines, e.ran, e.violations, time.Since(began).Round(time.Second))
		}
	}
	e.t.Logf("%s: %d lines, %d allowed and run, of %d programs; violations %d", e.name, e.lines, e.ran, len(e.programs), e.violations)
	if e.ran*50 < e.lines {
		e.t.Errorf("%s: only %d of %d lines ran: the test shows little", e.name, e.ran, e.lines)
	}
}

func (e *useRun) session(lines []string) error {
	o, err := e.box.Hold(&effectbox.Session{Lines: lines, Run: []string{""}, Without: effectbox.NoSandbox}, nil)
	if err != nil {
		return err
	}
	e.ran += len(o.Ran)
	for _, r := range o.Ran {
		if *showing {
			e.t.Logf("%3d %s", r.Exit, lines[r.Line])
		}
		if r.Exit != 127 {
			e.programs[strings.Fields(lines[r.Line])[0]] = true
		}
	}
	if len(e.wrong(o)) == 0 {
		return nil
	}
	for _, r := range o.Ran {
		one, err := e.box.Hold(&effectbox.Session{Lines: []string{lines[r.Line]}, Run: []string{""}, Without: effectbox.NoSandbox}, nil)
		if err != nil {
			return err
		}
		if bad := e.wrong(one); len(bad) > 0 {
			if e.violations++; e.violations <= 40 {
				e.t.Errorf("%s: %s\nline: %s\noutput: %.300s", e.name, strings.Join(bad, "\n"), lines[r.Line], one.Output)
			}
		}
	}
	return nil
}

// wrong returns what no line may do: everything that the box sees but what programs keep
// for themselves.
func (e *useRun) wrong(o *effectbox.Outcome) (bad []string) {
	for _, b := range o.Breaches {
		what, name, _ := strings.Cut(b.What, " ")
		if b.Kind == effectbox.Outside && (what == "time" || ownFile(name) || strings.HasPrefix(name, unsandboxed+"/.git/")) {
			continue
		}
		if b.Kind == effectbox.Packets || b.Kind == effectbox.Read {
			continue // clients ask their own hosts, and df opens what it shows nothing of: see Sent and Shown
		}
		bad = append(bad, fmt.Sprint(b.Kind, ": ", b.What))
	}
	return bad
}

// ownFile reports whether a program keeps a file for itself: a cache, a log, its state.
func ownFile(name string) bool {
	rest, ok := strings.CutPrefix(name, home+"/")
	if !ok {
		return name == home || name == "/tmp"
	}
	return slices.ContainsFunc([]string{".cache", ".npm", ".config", ".local", ".gnupg", ".node_repl_history", ".lesshst", ".docker", ".kube"}, func(dir string) bool {
		return rest == dir || strings.HasPrefix(rest, dir+"/")
	})
}

// TestUsesControls shows that each thing that TestUses looks for is seen.
func TestUsesControls(t *testing.T) {
	box := openUses(t, "")
	for line, kind := range map[string]string{
		"./x":                            effectbox.Outside,
		"cat .env":                       effectbox.Shown,
		"base64 < sub/.env":              effectbox.Shown,
		`echo "$APP_TOKEN"`:              effectbox.Shown,
		"curl -m 1 192.0.2.1:7001":       effectbox.Reached,
		"curl -m 1 http://3221225985/":   effectbox.Sent,
		"getent hosts x.key.example.org": effectbox.Sent,
	} {
		o, err := box.Hold(&effectbox.Session{Lines: []string{line}, Without: effectbox.NoSandbox}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if bad := (&useRun{}).wrong(o); !slices.ContainsFunc(bad, func(text string) bool { return strings.HasPrefix(text, kind+": ") }) {
			t.Errorf("%s: %v, no %q", line, bad, kind)
		}
	}
	o, err := box.Hold(&effectbox.Session{Lines: []string{"ls; git status; curl -m 1 127.0.0.1"}, Without: effectbox.NoSandbox}, nil)
	if bad := (&useRun{}).wrong(o); err != nil || len(bad) > 0 {
		t.Errorf("something harmless: %v, %v", bad, err)
	}
}
