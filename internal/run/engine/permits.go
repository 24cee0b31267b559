package engine

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/build"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// A host starts the shell for a command line itself. One that was decided to run inside the
// sandbox is answered with another line, by which that shell starts agent-wrapper within ID: that
// runs the very line that was decided, inside. ID names a permit, a file in the state directory,
// which is for one run: whoever renames it has used it up.

// Permit is what may run once, inside the sandbox.
type Permit struct {
	V       int    `json:"v"`
	Build   string `json:"build"` // that may use it
	Session string `json:"session"`
	Agent   string `json:"agent,omitempty"`
	Use     string `json:"use,omitempty"` // the id of the tool use

	Line    string          `json:"line"`
	Dialect shell.Dialect   `json:"dialect"`
	Dir     string          `json:"dir"`             // in which it was decided, "" if unknown
	Moves   bool            `json:"moves,omitempty"` // the shell may be in another directory afterwards
	Later   bool            `json:"later,omitempty"` // in the background
	Plan    *sandbox.Plan   `json:"plan"`
	Found   []sandbox.Found `json:"found,omitempty"` // of the plan
	// Files says which file is withheld at a path, where a command can change that.
	Files   map[string]string `json:"files,omitempty"`
	Until   time.Time         `json:"until"`
	Outward string            `json:"outward,omitempty"` // why something in the line cannot be done inside
	Advises bool              `json:"advises,omitempty"` // the agent is told what the sandbox refused the line

	// What the proxy decides by, if the plan has hosts.
	Workspace string       `json:"workspace"`
	Roots     []string     `json:"roots,omitempty"`
	Policy    string       `json:"policy,omitempty"`   // compiled, in the directory of the permits; "" lets no host be reached
	Planning  bool         `json:"planning,omitempty"` // see Rules.Planning
	Record    string       `json:"record,omitempty"`
	Head      string       `json:"head,omitempty"`
	Sync      audit.Sync   `json:"sync,omitempty"`
	Answers   []keptAnswer `json:"answers,omitempty"`

	dir, name string // where it is
}

const (
	permitForm  = 1
	permitsName = "within"         // the directory in the state directory, with one for each session
	permitTime  = 10 * time.Minute // for a host that asks its person, or has other commands to run before
	maxPermit   = 16 << 20         // bytes

	usedPrefix = "used-"  // of a permit that was used up
	leftSuffix = ".left"  // of a file with the directory in which its shell was at the end
	metSuffix  = ".met"   // of a file with what the sandbox refused
	usePrefix  = "use-"   // of a file with the names of the permits of a tool use
	provenName = "proven" // a permit was used, so the host runs what it is answered
	stoodName  = "stood"  // a sandbox was built where the host runs its commands
	offName    = "off"    // says why no line of the session is rewritten any more
)

// permitID is the form of the name of a permit: the session's directory, and its file.
var permitID = lazyregexp.New(`^([0-9a-f]{16})-([a-z2-7]{26})$`)

// Permits are those of a session.
type Permits struct{ dir string }

// permitsOf returns the permits of a session of these directories.
func (d Dirs) permitsOf(session string) *Permits {
	if d.State == "" {
		return &Permits{}
	}
	sum := sha256.Sum256([]byte(session))
	return &Permits{filepath.Join(d.State, permitsName, hex.EncodeToString(sum[:8]))}
}

// Permits returns the permits of a session, by the state directory of the options.
func (o *Options) Permits(session string) *Permits { return o.dirs().permitsOf(session) }

// Proven reports whether a permit was used: the host runs what it is answered.
func (p *Permits) Proven() bool { return p.has(provenName) }

// Stopped returns why lines of the session are not rewritten any more.
func (p *Permits) Stopped() (why string, stopped bool) {
	data, err := os.ReadFile(filepath.Join(p.dir, offName))
	return string(data), !errors.Is(err, fs.ErrNotExist)
}

func (p *Permits) has(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil
}

// Stop has no line of the session be rewritten any more.
func (p *Permits) Stop(why string) error {
	return errors.Join(os.WriteFile(filepath.Join(p.dir, offName), []byte(why), 0o600), os.RemoveAll(filepath.Join(p.dir, provenName)))
}

// Over takes back the permits of a tool use that has run, and returns what the sandbox refused it.
// ignored reports that there were some, and none was used: the host ran something else.
func (p *Permits) Over(use string) (met []string, ignored bool) {
	names, err := os.ReadFile(p.ofUse(use))
	if err != nil {
		return nil, false // there are none
	}
	used := false
	for _, name := range strings.Fields(string(names)) {
		taken := p.take(name) == nil
		ignored, used = ignored || taken, used || !taken
		if text, err := os.ReadFile(filepath.Join(p.dir, usedPrefix+name+metSuffix)); err == nil {
			met = append(met, strings.Split(string(text), "\n")...)
		}
	}
	_ = os.Remove(p.ofUse(use))
	return met, ignored && !used
}

// Unused reports whether a permit was not used for a while, in a session in which none was
// yet: where the host runs its commands there is no agent-wrapper, or it runs others.
func (p *Permits) Unused() bool {
	const while = 10 * time.Second
	entries, err := os.ReadDir(p.dir)
	return err == nil && !p.Proven() && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err == nil && permitID.MatchString(filepath.Base(p.dir)+"-"+e.Name()) && time.Since(info.ModTime()) > while
	})
}

// ofUse returns the file with the names of the permits of a tool use.
func (p *Permits) ofUse(use string) string {
	sum := sha256.Sum256([]byte(use))
	return filepath.Join(p.dir, usePrefix+hex.EncodeToString(sum[:8]))
}

// take uses up a permit. Of several that try, one does.
func (p *Permits) take(name string) error {
	return os.Rename(filepath.Join(p.dir, name), filepath.Join(p.dir, usedPrefix+name))
}

// Close removes all permits of the session.
func (p *Permits) Close() error {
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// rewrite has a tool use that was allowed, and is to run inside the sandbox, be one that runs
// there: in the place of its command line stands one that starts the agent-wrapper at the
// path program. Any other result stays. The caller has seen to it that the host runs tool
// uses as they are answered. With an error the result is a denial.
func (e *Engine) rewrite(use permission.ToolUse, res *permission.Result, program string) error {
	if res.Behavior != permission.Allow || !res.Sandbox.Held() {
		return nil
	}
	input, err := e.rewritten(&use, res, program)
	if err != nil {
		err = fmt.Errorf("it cannot run inside the sandbox: %w", err)
		*res = permission.Result{Decision: permission.Decision{Behavior: permission.Deny, Reason: err.Error(), Message: err.Error()}, By: res.By}
		return err
	}
	res.UpdatedInput = input
	return nil
}

// rewritten returns the input with a command line that runs the one that was allowed inside the
// sandbox.
func (e *Engine) rewritten(use *permission.ToolUse, res *permission.Result, program string) (json.RawMessage, error) {
	var in map[string]any
	if err := json.Unmarshal(res.UpdatedInput, &in); err != nil {
		return nil, err
	}
	line, _ := in["command"].(string)
	p, err := e.permit(use, line)
	if err != nil {
		return nil, err
	}
	p.Outward = res.SandboxWhy
	p.Later, _ = in["run_in_background"].(bool)
	p.Moves = !p.Later && use.Dialect == shell.Bash && shell.Analyze(line, shell.Options{}).MayMove()
	id, err := e.options.dirs().permitsOf(use.Session).put(p)
	if err != nil {
		return nil, err
	}
	start := shellword.Quote(program) + " within "
	if in["command"] = start + id; p.Moves {
		in["command"] = start + id + ` && cd "$(` + start + "--directory " + id + `)"`
	}
	return json.Marshal(in)
}

// permit returns the permit for a command line.
func (e *Engine) permit(use *permission.ToolUse, line string) (*Permit, error) {
	if line == "" {
		return nil, errors.New("it has no command line")
	}
	plan, err := e.plan, error(nil)
	if plan == nil {
		if plan, err = e.Sandbox(use.Dir); err != nil {
			return nil, err
		}
	}
	o := &e.options
	p := &Permit{
		Build: cmp.Or(o.WithinBuild, build.Name()), Session: use.Session, Agent: use.Agent, Use: use.ID, Line: line, Dialect: use.Dialect, Dir: use.Dir, Plan: plan, Found: plan.Found, Files: filesOf(plan),
		Workspace: e.Place.Workspace, Roots: e.Place.Roots, Planning: e.planning, Record: o.Record, Head: o.Head, Sync: o.Sync,
		Advises: e.advises(),
	}
	for _, g := range e.Session.Grants() {
		p.Answers = append(p.Answers, keepable(g))
	}
	if len(plan.Hosts) > 0 {
		p.Policy, err = e.compiledBeside(o.dirs().permitsOf(use.Session))
	}
	return p, err
}

// filesOf returns the identities of what a plan withholds where a command can write.
func filesOf(plan *sandbox.Plan) map[string]string {
	files := map[string]string{}
	for _, p := range slices.Concat(plan.Denied, plan.Empty, plan.ReadOnly) {
		if slices.ContainsFunc(plan.Writable, func(w sandbox.Path) bool { return p.Path != w.Path && subpath.Within(p.Path, w.Path) }) {
			files[p.Path] = workspace.Identity(p.Path)
		}
	}
	return files
}

// moved returns a path at which something else is than what was to be withheld there, "" if
// there is none: a command that ran in between can have put it there, and what is to be
// withheld elsewhere.
func (p *Permit) moved() string {
	for name, known := range p.Files {
		if workspace.Identity(name) != known {
			return name
		}
	}
	return ""
}

// compiledBeside writes the policy beside the permits of a session, and returns the name of
// the file.
func (e *Engine) compiledBeside(p *Permits) (string, error) {
	data, err := e.options.Compiled, error(nil)
	if data == nil {
		if data, err = e.Compiled(); err != nil {
			return "", err
		}
	}
	name := policyName(data)
	if p.has(name) {
		return name, nil
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return "", err
	}
	return name, atomicfile.Write(filepath.Join(p.dir, name), data, 0o600)
}

func policyName(data []byte) string { return "policy-" + strings.TrimPrefix(digestOf(data), "sha256:") }

// put writes a permit, and returns its name.
func (p *Permits) put(one *Permit) (id string, err error) {
	if p.dir == "" {
		return "", ErrNoState
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return "", err
	}
	one.V, one.Until = permitForm, time.Now().Add(permitTime).UTC()
	text, err := json.Marshal(one)
	if err != nil {
		return "", err
	}
	name := strings.ToLower(rand.Text()) // 130 random bits
	if name[0] == 'a' {
		p.sweep()
	}
	if !one.Later && one.Use != "" {
		if err := appendTo(p.ofUse(one.Use), name+"\n"); err != nil {
			return "", err
		}
	}
	id = filepath.Base(p.dir) + "-" + name
	return id, os.WriteFile(filepath.Join(p.dir, name), append([]byte(digestOf(text)+"\n"), text...), 0o600)
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// sweep removes what is a day old of the session, and sessions that are.
func (p *Permits) sweep() {
	for _, dir := range []string{p.dir, filepath.Dir(p.dir)} {
		entries, _ := os.ReadDir(dir) // without them nothing is removed
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if info, err := e.Info(); err == nil && path != p.dir && time.Since(info.ModTime()) > 24*time.Hour && !slices.Contains([]string{provenName, stoodName, offName}, e.Name()) {
				_ = os.RemoveAll(path)
			}
		}
	}
}

// readPermit reads a permit as it was written.
func readPermit(path string) (*Permit, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum, text, _ := bytes.Cut(data, []byte("\n"))
	p := new(Permit)
	if err := strictjson.Decode(text, p, strictjson.NullAbsent, strictjson.MaxSize(maxPermit)); err != nil || digestOf(text) != string(sum) {
		return nil, errNotAsWritten
	}
	if p.V != permitForm || p.Plan == nil || p.Line == "" {
		return nil, errNotAsWritten
	}
	p.Plan.Found = p.Found
	return p, nil
}

var errNotAsWritten = errors.New("what was kept of the decision is not as it was written")

// TakePermit uses up a permit, for a process in a directory. The error says why nothing
// runs.
func (d Dirs) TakePermit(id, dir string) (*Permit, error) {
	at, name, err := d.permits(id)
	if err != nil {
		return nil, err
	}
	used := filepath.Join(at.dir, usedPrefix+name)
	switch err := at.take(name); {
	case errors.Is(err, fs.ErrNotExist) && at.has(usedPrefix+name):
		return nil, errors.New("it has run already: what was allowed runs once")
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("nobody has allowed this, or it was too long ago")
	case err != nil:
		return nil, err
	}
	p, err := readPermit(used)
	if err != nil {
		return nil, err
	}
	p.dir, p.name = at.dir, name
	switch own := build.Name(); {
	case p.Build != own:
		return nil, fmt.Errorf("it was decided for another build of agent-wrapper (%s, not %s): install its programs together", p.Build, own)
	case time.Now().After(p.Until):
		return nil, fmt.Errorf("it was allowed more than %v ago", permitTime)
	case p.Dir != "" && !sameDir(p.Dir, dir):
		return nil, fmt.Errorf("it was allowed in %s, and not in %s", p.Dir, dir)
	}
	if moved := p.moved(); moved != "" {
		return nil, fmt.Errorf("since it was decided, something has been put in the place of %s, which it must not touch: ask for it again", moved)
	}
	if !at.Proven() {
		err = os.WriteFile(filepath.Join(at.dir, provenName), nil, 0o600)
	}
	return p, err
}

// permits returns the permits among which one is, and its name there.
func (d Dirs) permits(id string) (at *Permits, name string, err error) {
	state, err := d.state()
	if err != nil {
		return nil, "", err
	}
	parts := permitID.FindStringSubmatch(id)
	if parts == nil {
		return nil, "", errors.New("this is no name of something that was allowed")
	}
	return &Permits{filepath.Join(state, permitsName, parts[1])}, parts[2], nil
}

func sameDir(a, b string) bool {
	first, err := os.Stat(a)
	second, errSecond := os.Stat(b)
	return err == nil && errSecond == nil && os.SameFile(first, second)
}

// Stood notes that the sandbox of the line was built.
func (p *Permit) Stood() error {
	if (&Permits{p.dir}).has(stoodName) {
		return nil
	}
	return os.WriteFile(filepath.Join(p.dir, stoodName), nil, 0o600)
}

// Fails notes that there is no sandbox where the host runs its commands: no line of the
// session is rewritten any more. If a sandbox was built there before, a command may have brought
// it about that none can be built now: then only this line does not run.
func (p *Permit) Fails(why error) error {
	if at := (&Permits{p.dir}); !at.has(stoodName) {
		return at.Stop(why.Error())
	}
	return nil
}

// Meets keeps what the sandbox refused the line, which has failed, for its record, and returns
// what the agent is told of that, "" for nothing.
func (p *Permit) Meets(end *sandbox.End) (advice string, err error) {
	end.Dir, end.Line, end.Outward = cmp.Or(p.Dir, end.Dir), p.Line, p.Outward
	all := sandbox.Meets(p.Plan, end, workspace.Tree{Env: workspace.Env{Place: patterns.Place{Workspace: p.Workspace, Roots: p.Roots}}})
	if names := sandbox.Names(all); len(names) > 0 {
		err = os.WriteFile(filepath.Join(p.dir, usedPrefix+p.name+metSuffix), []byte(strings.Join(names, "\n")), 0o600)
	}
	if p.Advises && len(all) > 0 {
		advice = all[0].Advice(false).String()
	}
	return advice, err
}

// Left keeps the directory in which the shell was at the end of the line.
func (p *Permit) Left(dir string) error {
	return os.WriteFile(filepath.Join(p.dir, usedPrefix+p.name+leftSuffix), []byte(dir), 0o600)
}

// LeftBy returns the directory in which the shell of a permit was at the end of its line.
func (d Dirs) LeftBy(id string) (string, error) {
	at, name, err := d.permits(id)
	if err != nil {
		return "", err
	}
	dir, err := os.ReadFile(filepath.Join(at.dir, usedPrefix+name+leftSuffix))
	return string(dir), err
}

// Open opens the engine that decides which hosts the line reaches, nil if it is none.
func (p *Permit) Open(dirs Dirs) (*Engine, error) {
	if p.Policy == "" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(p.dir, filepath.Base(p.Policy)))
	if err != nil {
		return nil, err
	}
	if p.Policy != policyName(data) {
		return nil, errNotAsWritten
	}
	r, err := Load(Options{Dir: p.Workspace, Roots: p.Roots, Dirs: &dirs, Compiled: data, Record: p.Record, Head: p.Head, Sync: p.Sync, Uncounted: true, NoAdvice: true})
	if err != nil {
		return nil, err
	}
	if p.Planning {
		r.Planning()
	}
	grants, err := (&kept{Answers: p.Answers}).grants()
	last := 0
	for _, g := range grants {
		last = max(last, g.ID)
	}
	if err := errors.Join(err, r.Session.Restore(grants, last)); err != nil {
		return nil, err
	}
	return r.Open()
}
