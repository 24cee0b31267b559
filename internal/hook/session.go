package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// sessionsName is the directory of sessions of hosts in the state directory. That of a
// session has these files.
const (
	sessionsName = "hooks"
	fixedName    = "session.json"
	textsName    = "policies.json" // the policies as they were found
	compiledName = "policy-"       // and compiled, by the build that is named in it; its digest follows
)

// The limits on what is kept of sessions.
const (
	maxSessions   = 1000
	maxSessionAge = 90 * 24 * time.Hour // since it began
	maxFixed      = 64 << 20            // size of a file that is read, in bytes
)

// fixed is what holds for a session from its first event to its end: an agent that moves
// to another directory, or changes a policy, changes nothing in it.
type fixed struct {
	V         int       `json:"v"`
	Host      string    `json:"host"`
	Session   string    `json:"session"`
	Workspace string    `json:"workspace"`
	Policies  []source  `json:"policies"`
	Texts     string    `json:"texts"`    // digest of the file with the policies
	Compiled  string    `json:"compiled"` // digest of that with the compiled ones
	Began     time.Time `json:"began"`
	// Sandbox says that commands can run inside the sandbox, NoSandbox why not. If neither is
	// set, the policy has none, or the host does not run what it is answered.
	Sandbox   bool   `json:"sandbox,omitempty"`
	NoSandbox string `json:"no_sandbox,omitempty"`
	// Digest is that of the file with an empty Digest: one that was not written to its
	// end, or changed, is no session.
	Digest string `json:"digest"`
}

// source is a file with a policy, and the digest of its text when the session began.
type source struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// digest returns the digest of a file.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// sum returns the digest.
func (f *fixed) sum() (string, error) {
	bare := *f
	bare.Digest = ""
	text, err := json.Marshal(bare)
	return digest(text), err
}

// sessionID returns the name of the session of a host for the engine: another host may
// use the same id.
func sessionID(host, session string) string { return host + ":" + session }

// place returns the directory of a session.
func place(state, host, session string) string {
	sum := sha256.Sum256([]byte(sessionID(host, session)))
	return filepath.Join(state, sessionsName, hex.EncodeToString(sum[:]))
}

// fix returns what holds for the session of an event. If it is the first one, that is
// found out, by the directory of the project, and written down; of several processes
// that see a session first, one does so.
func (r *run) fix(ctx context.Context, e *Event) (*fixed, error) {
	if r.state == "" {
		return nil, engine.ErrNoState
	}
	dir := place(r.state, r.host.Name, e.Use.Session)
	f, err := readFixed(dir, r.host.Name, e.Use.Session)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if r.light {
		return nil, errWhole
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := atomicfile.Lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if f, err = readFixed(dir, r.host.Name, e.Use.Session); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	atomicfile.Sweep(filepath.Dir(dir), dir, maxSessions, maxSessionAge)
	return r.begin(ctx, dir, e)
}

// begin fixes a session.
func (r *run) begin(ctx context.Context, dir string, e *Event) (*fixed, error) {
	f := &fixed{V: 2, Host: r.host.Name, Session: e.Use.Session, Workspace: r.project(e), Policies: []source{}, Began: r.now().UTC()}
	o := r.options
	o.Dir = f.Workspace
	at, err := o.Place()
	if err != nil {
		return nil, err
	}
	f.Workspace = at.Workspace
	frozen, err := o.Freeze()
	if err != nil {
		return nil, err
	}
	for i := range frozen {
		f.Policies = append(f.Policies, source{frozen[i].Path, digest([]byte(frozen[i].Text))})
	}
	texts, err := json.Marshal(frozen)
	if err != nil {
		return nil, err
	}
	rules, err := engine.Load(r.optionsOf(f, frozen))
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(filepath.Join(dir, textsName), texts, 0o600); err != nil {
		return nil, err
	}
	f.Texts = digest(texts)
	if rules.Sandboxed() && r.host.Rewrites != "" && r.sandbox != nil {
		if f.NoSandbox, err = r.sandbox(ctx, rules); err != nil {
			return nil, fmt.Errorf("there is no sandbox at the moment: %w: try again", err)
		}
		f.Sandbox = f.NoSandbox == ""
	}
	return f, f.compile(dir, rules)
}

// compile writes the policies as they were compiled, and the session with their digest.
func (f *fixed) compile(dir string, rules *engine.Rules) error {
	compiled, err := rules.Compiled()
	if err != nil {
		return err
	}
	before := f.compiled(dir)
	f.Compiled = digest(compiled)
	if f.compiled(dir) == before {
		return nil
	}
	if err := atomicfile.Write(f.compiled(dir), compiled, 0o600); err != nil {
		return err
	}
	if f.Digest, err = f.sum(); err != nil {
		return err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, fixedName), text, 0o600); err != nil {
		return err
	}
	_ = os.Remove(before) // whoever has read its name reads the policies
	return nil
}

// compiled returns the file with the compiled policies.
func (f *fixed) compiled(dir string) string {
	return filepath.Join(dir, compiledName+strings.TrimPrefix(f.Compiled, "sha256:"))
}

// load returns the rules of a session: in a light run the compiled ones.
func (r *run) load(f *fixed) (*engine.Rules, error) {
	dir := place(r.state, f.Host, f.Session)
	if r.light {
		return r.loadCompiled(f, dir)
	}
	data, err := readAs(filepath.Join(dir, textsName), f.Texts)
	if err != nil {
		return nil, err
	}
	frozen := []policy.Frozen{}
	if err := strictjson.Decode(data, &frozen, strictjson.MaxSize(maxFixed)); err != nil {
		return nil, err
	}
	rules, err := engine.Load(r.optionsOf(f, frozen))
	if err != nil {
		return nil, err
	}
	if _, err := r.loadCompiled(f, dir); errors.Is(err, errWhole) {
		_ = r.renew(f, dir, rules) // without it, the next run is not light either
	}
	return rules, nil
}

// loadCompiled returns the rules as they were compiled. If another build did that, the
// error is errWhole.
func (r *run) loadCompiled(f *fixed, dir string) (*engine.Rules, error) {
	data, err := readAs(f.compiled(dir), f.Compiled)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errWhole // another process has just compiled them anew
	}
	if err != nil {
		return nil, err
	}
	o := r.options
	o.Dir, o.Compiled = f.Workspace, data
	rules, err := engine.Load(o)
	if errors.Is(err, policy.ErrCompiled) {
		return nil, errWhole
	}
	return rules, err
}

// renew compiles the policies of a session for this build.
func (r *run) renew(f *fixed, dir string, rules *engine.Rules) error {
	unlock, err := atomicfile.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	now := *f
	return now.compile(dir, rules)
}

// optionsOf returns the options of the engine for a session with policies.
func (r *run) optionsOf(f *fixed, frozen []policy.Frozen) engine.Options {
	o := r.options
	o.Dir, o.Frozen = f.Workspace, frozen
	if len(r.host.Mapped) > 0 {
		o.Base = append(o.Base, policy.Source{Kind: policy.Named, Name: r.host.Title, Spec: &policy.Spec{Mapped: r.host.Mapped}, Trusted: true})
	}
	return o
}

// readAs reads a file with a digest.
func readAs(path, sum string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err == nil && digest(data) != sum {
		err = notAsWritten(path)
	}
	return data, err
}

func notAsWritten(path string) error {
	return fmt.Errorf("%s is not as it was written: remove its directory, and start the session anew", path)
}

// project returns the directory of the project of an event: the one that the host names,
// or else that in which it has started the hook. That of the tool use may be anywhere.
func (r *run) project(e *Event) string {
	if filepath.IsAbs(e.Project) {
		return e.Project
	}
	for _, name := range r.host.Project {
		if dir := r.env(name); filepath.IsAbs(dir) {
			return dir
		}
	}
	return r.dir
}

// readFixed reads what holds for a session. The error is fs.ErrNotExist for one that has
// not begun.
func readFixed(dir, host, session string) (*fixed, error) {
	path := filepath.Join(dir, fixedName)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := new(fixed)
	if err := strictjson.Decode(data, f, strictjson.MaxSize(maxFixed)); err != nil {
		return nil, fmt.Errorf("%s:%w: remove it, and start the session anew", path, err)
	}
	if sum, err := f.sum(); err != nil || sum != f.Digest || f.V != 2 || f.Host != host || f.Session != session || f.Policies == nil {
		return nil, notAsWritten(path)
	}
	return f, nil
}

// changed returns the files of policies that have another text than when the session
// began, or are gone.
func (f *fixed) changed() []string {
	var files []string
	for _, src := range f.Policies {
		if data, err := os.ReadFile(src.Path); err != nil || digest(data) != src.Text {
			files = append(files, src.Path)
		}
	}
	return files
}
