package permission

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

const (
	workspace = "/home/dev/proj"
	home      = "/home/dev"
)

var place = patterns.Place{Workspace: workspace, Home: home}

// spec is a policy and a session in the notation of tests. Rules are separated
// by "; ".
type spec struct {
	mode                      string // "" is default
	allow, ask, deny          string
	sessionAllow, sessionDeny string
	rules                     []patterns.GranularSpec
	unlisted                  Unlisted // 0 is ask in mode default and deny in all others
	risk                      bool     // tiers are on
	noCatastrophic            bool
	guarded, credentials      []string
	protect                   []string
	env                       Env
	paused                    string
	dir                       string // "" is the workspace, "?" is unknown
}

func parseRules(t testing.TB, list patterns.List, text, source string) []*patterns.Rule {
	t.Helper()
	var rules []*patterns.Rule
	for _, one := range strings.Split(text, "; ") {
		if one == "" {
			continue
		}
		r, _, err := patterns.Parse(one, list, patterns.Source{Name: source})
		if err != nil {
			t.Fatalf("rule %q: %v", one, err)
		}
		rules = append(rules, r)
	}
	return rules
}

func set(t testing.TB, list patterns.List, text, source string) *patterns.Set {
	t.Helper()
	return patterns.NewSet(place, parseRules(t, list, text, source)...)
}

func (s spec) policy(t testing.TB) *Policy {
	t.Helper()
	mode := modes.Default
	if s.mode != "" {
		var err error
		if mode, err = modes.Parse(s.mode); err != nil {
			t.Fatal(err)
		}
	}
	p := &Policy{
		Mode:           mode,
		Allow:          set(t, patterns.Allow, s.allow, "--allow"),
		Ask:            set(t, patterns.Ask, s.ask, "--ask"),
		Deny:           set(t, patterns.Deny, s.deny, "--deny"),
		Unlisted:       s.gate(mode),
		RiskOff:        !s.risk,
		NoCatastrophic: s.noCatastrophic,
		Guarded:        s.guarded,
		Credentials:    s.credentials,
		Place:          place,
	}
	for _, text := range s.protect {
		one, err := ParseProtected(text, place)
		if err != nil {
			t.Fatal(err)
		}
		p.Protect = append(p.Protect, one)
	}
	for _, g := range s.rules {
		c, err := patterns.CompileGranular(g, place)
		if err != nil {
			t.Fatal(err)
		}
		p.Rules = append(p.Rules, c)
	}
	return p
}

// byMode is the Unlisted of a spec that leaves it to the mode.
const byMode Unlisted = 100

// gate returns what the allow list answers. The tests of rules need a list that
// stops what it does not name.
func (s spec) gate(mode modes.Mode) Unlisted {
	switch {
	case s.unlisted == byMode:
		return UnlistedDefault
	case s.unlisted != 0:
		return s.unlisted
	case mode == modes.Default:
		return UnlistedAsk
	}
	return UnlistedDeny
}

func (s spec) session(t testing.TB) *Session {
	t.Helper()
	ses := NewSession(place)
	if err := ses.Add(parseRules(t, patterns.Allow, s.sessionAllow, "session")...); err != nil {
		t.Fatal(err)
	}
	if err := ses.Add(parseRules(t, patterns.Deny, s.sessionDeny, "session")...); err != nil {
		t.Fatal(err)
	}
	if s.paused != "" {
		ses.Pause(s.paused)
	}
	return ses
}

// decideOn evaluates a tool use under the spec.
func (s spec) decideOn(t testing.TB, use ToolUse) Decision {
	t.Helper()
	switch s.dir {
	case "":
		use.Dir = workspace
	case "?":
	default:
		use.Dir = s.dir
	}
	env := s.env
	if env == nil {
		env = fakeFS{}
	}
	return Evaluate(s.policy(t), s.session(t), &use, env, nil)
}

// fakeFS is a file system in memory, with links from one path to another and
// the files that exist.
type fakeFS struct {
	links    map[string]string
	files    []string
	settings []shell.Setting // of the repository
	named    []shell.Named   // by files of the project
	unread   bool            // such a file cannot be read, the first of named
	others   []string        // those of other users
	ignored  []string        // directories that git ignores
	unkept   []string        // files that git ignores
	compiled []string        // files that compilers made
	many     bool            // there are more links than can be told
}

func (f fakeFS) Resolve(name string) (string, bool) {
	for from, to := range f.links {
		if name == from || strings.HasPrefix(name, from+"/") {
			return to + name[len(from):], to != ""
		}
	}
	return name, true
}

func (f fakeFS) Entry(path string) (exists, own bool) {
	_, link := f.links[path]
	other := slices.Contains(f.others, path)
	own = slices.ContainsFunc(f.files, func(file string) bool { return subpath.Within(file, path) })
	return link || other || own, own && !link && !other
}

func (f fakeFS) Ignored(dir string) bool { return slices.Contains(f.ignored, dir) }

func (f fakeFS) Unkept(file shell.Word) bool {
	return slices.ContainsFunc(f.unkept, func(name string) bool {
		ok, err := path.Match(file.Filled("*"), name)
		return ok && err == nil
	})
}

func (f fakeFS) Compiled(file shell.Word) bool { return slices.Contains(f.compiled, file.Text) }

func (f fakeFS) Settings(string) ([]shell.Setting, bool) { return f.settings, true }
func (f fakeFS) Hosts(*program.Registry, string, []string) ([]shell.Named, bool) {
	return f.named, !f.unread
}

func (f fakeFS) Links(dir string, depth int) (links []string, all bool) {
	for from := range f.links {
		rest, below := strings.CutPrefix(from, dir+"/")
		if below && strings.Count(rest, "/") < depth {
			links = append(links, from)
		}
	}
	slices.Sort(links)
	return links, !f.many
}

func (fakeFS) Files(shell.Word) (found []string, all bool) { return nil, true }

func (f fakeFS) Below(dir string, rule *patterns.Rule, hidden bool) bool {
	for _, file := range f.files {
		if !strings.HasPrefix(file, dir+"/") || !hidden && strings.Contains(file, "/.") {
			continue
		}
		if strings.Contains(rule.String(), file[strings.LastIndexByte(file, '/')+1:]) {
			return true
		}
	}
	return false
}

// using returns a tool use: a command line for Bash, a path for the file tools,
// a URL for WebFetch. Other tools get the text as JSON.
func using(tool, text string) ToolUse {
	t := tools.Builtin(tool)
	if t == nil || t.Does == 0 {
		if text == "" {
			text = "{}"
		}
		return ToolUse{ID: "t1", Tool: tool, Input: json.RawMessage(text)}
	}
	fields := map[string]string{t.Field: text}
	if t.Glob != "" {
		fields[t.Glob] = "*"
	}
	input, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return ToolUse{ID: "t1", Tool: tool, Input: input, OwnShell: true}
}

// outcome returns a decision in the notation of tests: "deny deny-list
// Bash(rm:*)".
func outcome(d Decision) string {
	s := fmt.Sprintf("%v %v", d.Behavior, d.Layer)
	if d.Rule != "" {
		s += " " + d.Rule
	}
	if d.Held {
		s += " held"
	}
	return s
}

type row struct {
	use  string // "Bash: ls", "Edit: src/a.go"
	want string
}

func check(t *testing.T, s spec, rows ...row) {
	t.Helper()
	for _, r := range rows {
		tool, text, _ := strings.Cut(r.use, ": ")
		d := s.decideOn(t, using(tool, text))
		if got := outcome(d); got != r.want {
			t.Errorf("%s\n got %s (%s)\nwant %s", r.use, got, d.Reason, r.want)
		}
	}
}
