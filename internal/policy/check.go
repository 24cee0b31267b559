package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The directory and home of rows and cases that do not name any.
const (
	defaultDir  = "/home/dev/proj"
	defaultHome = "/home/dev"
)

// checkRow is one tool use with the policy that decides it. It never touches
// the real file system: Symlinks lists the only links that exist.
type checkRow struct {
	ID     string          `json:"id"`
	Policy json.RawMessage `json:"policy"` // the keys of a policy file, session_allow and session_deny
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Setting
	// Context is another place for the setting. The fields of the row itself take
	// precedence.
	Context Setting `json:"context"`
}

// Setting is the environment in which the tool use is decided.
type Setting struct {
	Cwd      string            `json:"cwd"`      // the workspace and the shell's directory
	Home     string            `json:"home"`     // absolute
	Symlinks map[string]string `json:"symlinks"` // see workspace.Fake
	FS       string            `json:"fs"`       // "case-insensitive" or ""
	Shell    string            `json:"shell"`    // bash, sh, zsh …
}

// Answer is the decision on a Row.
type Answer struct {
	ID       string `json:"id"`
	Behavior string `json:"behavior"`
	Layer    string `json:"layer"`
	Rule     string `json:"rule"`
	Reason   string `json:"reason"`
	Tier     int    `json:"tier"`
	Risk     string `json:"risk"`
	// Advice is what the agent would be told in place of the question, once.
	Advice []permission.Advice `json:"advice,omitempty"`
}

// maxRow is the maximum length of a row in bytes.
const maxRow = 32 << 20

// Check decides rows. It caches the policies that it has compiled, and is not
// safe for concurrent use.
type Check struct {
	// Risk and Unlisted are the values of these keys for policies that lack them.
	Risk, Unlisted string
	// Policy decides rows that bring none of their own; with nil they are denied.
	Policy *Spec

	compiled map[policyKey]*loaded
}

// policyKey holds all that the compiled policy of a row depends on. A row has no
// workspace of several directories.
type policyKey struct {
	text, workspace, home string
	fold                  bool
}

// loaded is a compiled policy, or the error that prevented it from loading.
type loaded struct {
	policy  *permission.Policy
	session *permission.Session
	err     error
}

// maxCompiled limits the number of cached policies.
const maxCompiled = 1000

// Line decides a row given as a line of JSON. A row that cannot be read, or
// whose policy does not load, is denied with the error as the reason.
func (c *Check) Line(data []byte) Answer {
	var row checkRow
	err := strictjson.Decode(data, &row, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(maxRow))
	if err != nil {
		return refuse(looseID(data), fmt.Errorf("row: %w", err))
	}
	return c.decide(row)
}

// looseID returns the id of a row that is malformed otherwise.
func looseID(data []byte) string {
	var row struct{ ID string }
	if json.Unmarshal(data, &row) != nil {
		return ""
	}
	return row.ID
}

// decide decides a row.
func (c *Check) decide(row checkRow) Answer {
	if err := c.complete(&row); err != nil {
		return refuse(row.ID, fmt.Errorf("row: %w", err))
	}
	set := row.Setting.or(row.Context)
	place, err := set.place()
	if err != nil {
		return refuse(row.ID, fmt.Errorf("row: %w", err))
	}
	if !row.brings() {
		row.Policy = nil
	}
	p := c.load(row.Policy, place)
	if p.err != nil {
		return refuse(row.ID, p.err)
	}
	use := permission.ToolUse{ID: row.ID, Tool: row.Tool, Input: row.Input, Dir: place.Workspace, Dialect: dialect(set.Shell)}
	return answer(row.ID, permission.Evaluate(p.policy, p.session, &use, set.fake(), nil))
}

func (c *Check) complete(r *checkRow) error {
	switch {
	case r.ID == "":
		return errors.New("no id")
	case !r.brings() && c.Policy == nil:
		return errors.New("no policy")
	case r.Tool == "":
		return errors.New("no tool")
	case r.Input == nil:
		return errors.New("no input")
	}
	return nil
}

// brings reports whether the row has a policy of its own.
func (r *checkRow) brings() bool { return r.Policy != nil && string(r.Policy) != "null" }

// refuse returns the answer to a row without a usable policy, which is that of
// a policy that denies everything.
func refuse(id string, err error) Answer {
	a := answer(id, permission.Evaluate(nil, nil, nil, nil, nil))
	a.Reason = err.Error()
	return a
}

func answer(id string, d permission.Decision) Answer {
	return Answer{
		ID: id, Behavior: d.Behavior.String(), Layer: d.Layer.String(), Rule: d.Rule,
		Reason: d.Reason, Tier: d.Tier, Risk: d.Risk.String(), Advice: d.Advice,
	}
}

// or fills the empty fields of s from other, then from the defaults.
func (s Setting) or(other Setting) Setting {
	if s.Symlinks == nil {
		s.Symlinks = other.Symlinks
	}
	for _, f := range []struct {
		to     *string
		values [2]string
	}{
		{&s.Cwd, [2]string{other.Cwd, defaultDir}},
		{&s.Home, [2]string{other.Home, defaultHome}},
		{&s.FS, [2]string{other.FS, ""}},
		{&s.Shell, [2]string{other.Shell, ""}},
	} {
		for _, value := range f.values {
			if *f.to == "" {
				*f.to = value
			}
		}
	}
	return s
}

func (s Setting) place() (patterns.Place, error) {
	switch {
	case !path.IsAbs(s.Cwd):
		return patterns.Place{}, fmt.Errorf("cwd %q must be an absolute path", s.Cwd)
	case !path.IsAbs(s.Home):
		return patterns.Place{}, fmt.Errorf("home %q must be an absolute path", s.Home)
	case s.FS != "" && s.FS != "case-insensitive" && s.FS != "case-sensitive":
		return patterns.Place{}, fmt.Errorf("fs is %q: write case-insensitive or case-sensitive", s.FS)
	}
	return patterns.Place{Workspace: path.Clean(s.Cwd), Home: path.Clean(s.Home), Fold: s.FS == "case-insensitive"}, nil
}

func (s Setting) fake() workspace.Fake {
	return workspace.Fake{Symlinks: s.Symlinks, Dir: s.Cwd, Fold: s.FS == "case-insensitive"}
}

// dialect returns the language of the named shell. Lines of unknown shells are
// not parsed.
func dialect(name string) shell.Dialect {
	switch name {
	case "", "bash":
		return shell.Bash
	case "sh", "dash", "posix":
		return shell.Sh
	case "zsh":
		return shell.Zsh
	}
	return shell.Foreign
}

func (c *Check) load(text json.RawMessage, place patterns.Place) *loaded {
	key := policyKey{string(text), place.Workspace, place.Home, place.Fold}
	if p := c.compiled[key]; p != nil {
		return p
	}
	p := &loaded{}
	spec, err := c.policyOf(text)
	if err != nil {
		p.err = fmt.Errorf("policy:%w", err)
	} else {
		p.policy, p.session, _, p.err = c.defaults(spec).Compile(place)
	}
	if c.compiled == nil || len(c.compiled) >= maxCompiled {
		c.compiled = map[policyKey]*loaded{}
	}
	c.compiled[key] = p
	return p
}

// policyOf returns the policy of a row, or for nil the one of rows without.
func (c *Check) policyOf(text json.RawMessage) (*Spec, error) {
	if text == nil {
		spec := *c.Policy
		return &spec, nil
	}
	return parseRowPolicy(text)
}

func parseRowPolicy(text json.RawMessage) (*Spec, error) {
	var t sessionTable
	if err := strictjson.Decode(text, &t, strictjson.NullAbsent); err != nil {
		return nil, err
	}
	return t.spec(func(path string) patterns.Source { return patterns.Source{Name: path} }), nil
}

func (c *Check) defaults(spec *Spec) *Spec {
	if spec.Risk == "" {
		spec.Risk = c.Risk
	}
	if spec.Unlisted == "" {
		spec.Unlisted = c.Unlisted
	}
	return spec
}
