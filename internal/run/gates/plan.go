// Package gates runs the gates of a plan: commands that must succeed for an
// item of work to pass. Items run in the order of their dependencies. The
// package does not decide: each gate is a use of the tool Bash that an
// evaluator decides right before the gate starts.
//
// # A plan
//
// is a JSON file, plan.json by custom:
//
//	{
//	  "schemaVersion": "1.0.0",        // 1.x.y
//	  "target": "main",                // the branch; for what merges
//	  "policy": {…},                   // for what merges, see Policy
//	  "items": [
//	    {
//	      "name": "api",               // unique in the plan
//	      "deps": ["schema"],          // names of items that come first
//	      "gates": [
//	        {
//	          "name": "test",          // unique in the item
//	          "run": "npm test",       // a command line
//	          "cwd": "packages/api",   // below the workspace; default: the workspace
//	          "env": {"CI": "1"},      // names that the whitelist allows, never PATH
//	          "runtime": "local",      // or container, ci-service: not run here
//	          "container": {…},        // for runtime container, see Container
//	          "artifacts": ["out.xml"] // files that it leaves, relative to cwd
//	        }
//	      ]
//	    }
//	  ]
//	}
//
// Required are schemaVersion, the names of items and gates, and run. Keys are
// exact: an unknown or duplicate key is an error, as is null. Errors have a
// line and a column; if all keys and types are right, all errors are reported
// at once.
package gates

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// Plan is a parsed plan. Its items are in the order in which they run: each
// after those that it depends on, otherwise in the order of the file.
type Plan struct {
	Target string
	Policy Policy
	Items  []Item

	name   string
	places map[string]strictjson.Position
}

// Policy is what a plan says to the program that merges its items. It is
// validated but not used: each gate runs once, and a rejected one is not
// retried.
type Policy struct {
	RequiredGates []string         `json:"requiredGates"`
	OptionalGates []string         `json:"optionalGates"`
	MaxWorkers    int              `json:"maxWorkers"`
	Retries       map[string]retry `json:"retries"`
	Overrides     overrides        `json:"overrides"`
	BlockOn       []string         `json:"blockOn"`
	MergeRule     mergeRule        `json:"mergeRule"`
}

type retry struct {
	MaxAttempts    int     `json:"maxAttempts"`
	BackoffSeconds float64 `json:"backoffSeconds"`
}

type overrides struct {
	AdminGreen struct {
		AllowedUsers  []string `json:"allowedUsers"`
		RequireReason bool     `json:"requireReason"`
	} `json:"adminGreen"`
}

type mergeRule struct {
	Type string `json:"type"`
}

// Item is a piece of work with the gates that it must pass.
type Item struct {
	Name  string   `json:"name"`
	Deps  []string `json:"deps"`
	Gates []Gate   `json:"gates"`

	path string // "items[3]", its path in the file
}

// Gate is one command.
type Gate struct {
	Name      string            `json:"name"`
	Run       string            `json:"run"`
	Cwd       string            `json:"cwd"`
	Env       map[string]string `json:"env"`
	Runtime   string            `json:"runtime"` // "" means local
	Container Container         `json:"container"`
	Artifacts []string          `json:"artifacts"`

	path string
}

// Container is where a gate with runtime container would run. It is validated
// but not used.
type Container struct {
	Image      string   `json:"image"`
	Entrypoint []string `json:"entrypoint"`
	Mounts     []mount  `json:"mounts"`
}

type mount struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Type   string `json:"type"`
}

// The runtimes. Only local gates run.
const (
	local     = "local"
	container = "container"
	ciService = "ci-service"
)

// file is the JSON form of a plan.
type file struct {
	SchemaVersion string `json:"schemaVersion"`
	Target        string `json:"target"`
	Policy        Policy `json:"policy"`
	Items         []Item `json:"items"`
}

// maxSize is the maximum size of a plan in bytes.
const maxSize = 4 << 20

// Read reads the plan in a file. The error for a missing file is
// fs.ErrNotExist.
func Read(path string) (*Plan, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, not a plan", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path) // a pipe may be endless
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	return Parse(data, path)
}

// Parse parses a plan; name stands for the file in errors, which have the form
// "name:line:col: path: what".
func Parse(data []byte, name string) (*Plan, error) {
	var f file
	if err := strictjson.Decode(data, &f, strictjson.MaxSize(maxSize)); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	places, err := strictjson.Positions(data, strictjson.MaxSize(maxSize))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	p := &Plan{Target: f.Target, Policy: f.Policy, Items: f.Items, name: name, places: places}
	p.number()
	var all faults
	all.add(p.version(f.SchemaVersion))
	p.checkItems(&all)
	p.checkDeps(&all)
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	return p, p.order()
}

// faults collects errors.
type faults []error

func (f *faults) add(err error) {
	if err != nil {
		*f = append(*f, err)
	}
}

// number records the path of each item and gate in the file.
func (p *Plan) number() {
	for i := range p.Items {
		item := &p.Items[i]
		item.path = fmt.Sprintf("items[%d]", i)
		for j := range item.Gates {
			item.Gates[j].path = fmt.Sprintf("%s.gates[%d]", item.path, j)
		}
	}
}

// fault returns an error at the position of the value at a path or, if the
// value is missing, of its parent.
func (p *Plan) fault(path, format string, args ...any) error {
	at, found := p.places[path]
	for within := path; !found && within != ""; {
		within = within[:max(strings.LastIndexAny(within, ".["), 0)]
		at, found = p.places[within]
	}
	return fmt.Errorf("%s:%d:%d: %s: %s", p.name, at.Line, at.Col, path, fmt.Sprintf(format, args...))
}

var schemaVersion = lazyregexp.New(`^1\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)

func (p *Plan) version(text string) error {
	if schemaVersion.MatchString(text) {
		return nil
	}
	return p.fault("schemaVersion", "version %q is not supported: use 1.x.y", text)
}

func (p *Plan) checkItems(all *faults) {
	seen := map[string]bool{}
	for _, item := range p.Items {
		all.add(p.checkName(item.path+".name", item.Name, seen))
		gates := map[string]bool{}
		for i := range item.Gates {
			all.add(p.checkName(item.Gates[i].path+".name", item.Gates[i].Name, gates))
			p.checkGate(&item.Gates[i], all)
		}
	}
}

// maxName is the maximum length of a name in bytes.
const maxName = 200

// checkName checks a name, which must not be in seen.
func (p *Plan) checkName(path, name string, seen map[string]bool) error {
	switch {
	case name == "":
		return p.fault(path, "a name is required")
	case len(name) > maxName:
		return p.fault(path, "the name is longer than %d bytes", maxName)
	case strings.ContainsFunc(name, unseen):
		return p.fault(path, "the name %q contains invisible characters", name)
	case seen[name]:
		return p.fault(path, "the name %q appears twice", name)
	}
	seen[name] = true
	return nil
}

func unseen(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) }

func (p *Plan) checkGate(g *Gate, all *faults) {
	if strings.TrimSpace(g.Run) == "" {
		all.add(p.fault(g.path+".run", "a command line is required"))
	}
	if !slices.Contains([]string{"", local, container, ciService}, g.Runtime) {
		all.add(p.fault(g.path+".runtime", "%q is not a runtime: use local, container or ci-service", g.Runtime))
	}
	if g.Container.given() && g.Runtime != container {
		all.add(p.fault(g.path+".container", "only runtime container has it"))
	}
	all.add(p.checkPath(g.path+".cwd", g.Cwd))
	for i, a := range g.Artifacts {
		path := fmt.Sprintf("%s.artifacts[%d]", g.path, i)
		all.add(cmp.Or(p.checkPath(path, a), p.wanted(path, a)))
	}
}

func (c *Container) given() bool {
	return c.Image != "" || len(c.Entrypoint) > 0 || len(c.Mounts) > 0
}

func (p *Plan) wanted(path, text string) error {
	if text == "" {
		return p.fault(path, "a path is required")
	}
	return nil
}

// checkPath checks a path that must lie below a directory.
func (p *Plan) checkPath(path, text string) error {
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return p.fault(path, "it contains a NUL byte")
	case filepath.IsAbs(text):
		return p.fault(path, "%q is absolute: use a path relative to the workspace and inside it", text)
	case slices.Contains(strings.Split(filepath.ToSlash(text), "/"), ".."), text != "" && !filepath.IsLocal(text):
		return p.fault(path, "%q leads out of the workspace: write it without ..", text)
	}
	return nil
}

func (p *Plan) checkDeps(all *faults) {
	known := map[string]bool{}
	for i := range p.Items {
		known[p.Items[i].Name] = true
	}
	for _, item := range p.Items {
		seen := map[string]bool{}
		for i, dep := range item.Deps {
			path := fmt.Sprintf("%s.deps[%d]", item.path, i)
			switch {
			case !known[dep]:
				all.add(p.fault(path, "there is no item %q", dep))
			case seen[dep]:
				all.add(p.fault(path, "%q appears twice", dep))
			}
			seen[dep] = true
		}
	}
}

// order sorts the items by their dependencies.
func (p *Plan) order() error {
	o := newOrder(p.Items)
	for o.next() {
	}
	if len(o.done) < len(p.Items) {
		first, circle := o.circle()
		return p.fault(p.Items[first].path+".deps", "the items depend on each other in a cycle: %s", circle)
	}
	items := make([]Item, len(o.done))
	for to, from := range o.done {
		items[to] = p.Items[from]
	}
	p.Items = items
	return nil
}
