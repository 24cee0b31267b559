package permission

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"sort"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/shell"
)

//go:embed testdata/bypass.jsonl
var bypass []byte

// attack is a row of the corpus: attacks and benign controls.
type attack struct {
	ID, Class, Tool, Must, Level, Why, Shell string
	Policy                                   struct{ Allow, Ask, Deny []string }
	Input                                    json.RawMessage
	Context                                  struct {
		Cwd, Home, FS string
		Symlinks      map[string]string
	}
}

func attacks(t testing.TB) []attack {
	t.Helper()
	var rows []attack
	lines := bufio.NewScanner(bytes.NewReader(bypass))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a attack
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, a)
	}
	if len(rows) != 1269 {
		t.Fatalf("%d rows", len(rows))
	}
	return rows
}

// linkFS resolves the symbolic links of a row, one segment after the other.
type linkFS struct {
	links map[string]string
}

func (f linkFS) Resolve(name string) (string, bool) {
	done, rest, hops := "/", strings.Split(path.Clean(name), "/"), 0
	for len(rest) > 0 {
		next := path.Join(done, rest[0])
		rest = rest[1:]
		to, ok := f.links[next]
		if !ok {
			done = next
			continue
		}
		if hops++; hops > 40 || strings.HasPrefix(to, "/proc/") {
			return "", false
		}
		if !path.IsAbs(to) {
			to = path.Join(done, to)
		}
		done, rest = "/", append(strings.Split(path.Clean(to), "/"), rest...)
	}
	return done, true
}

func (f linkFS) Links(dir string, depth int) bool {
	for from := range f.links {
		rest, below := strings.CutPrefix(from, dir+"/")
		if below && strings.Count(rest, "/") < depth {
			return true
		}
	}
	return false
}

func (linkFS) Below(string, *patterns.Rule, bool) bool { return false }

func (a *attack) decide() Decision {
	cwd, home := a.Context.Cwd, a.Context.Home
	if cwd == "" {
		cwd, home = workspace, "/home/dev"
	}
	place := patterns.Place{Workspace: cwd, Home: home, Fold: a.Context.FS == "case-insensitive"}
	p := &Policy{Mode: modes.Default, RiskOff: true, Unlisted: UnlistedAsk, Place: place}
	for _, l := range []struct {
		list  patterns.List
		texts []string
		set   **patterns.Set
	}{{patterns.Allow, a.Policy.Allow, &p.Allow}, {patterns.Ask, a.Policy.Ask, &p.Ask}, {patterns.Deny, a.Policy.Deny, &p.Deny}} {
		var rules []*patterns.Rule
		for _, text := range l.texts {
			r, _, err := patterns.Parse(text, l.list, patterns.Source{})
			if err != nil {
				return refused(err.Error()) // a policy that does not load denies
			}
			rules = append(rules, r)
		}
		*l.set = patterns.NewSet(place, rules...)
	}
	links := map[string]string{}
	for from, to := range a.Context.Symlinks {
		if !path.IsAbs(from) {
			from = path.Join(cwd, from)
		}
		links[from] = to
	}
	use := ToolUse{Tool: a.Tool, Input: a.Input, Dir: cwd}
	if a.Shell == "zsh" {
		use.Dialect = shell.Zsh
	}
	return Evaluate(p, nil, &use, linkFS{links}, nil)
}

// wrong says what is wrong with a decision about a row, "" if nothing.
func (a *attack) wrong(d Decision) string {
	switch a.Must {
	case "not_allow", "ask":
		if d.Behavior == Allow {
			return "allowed"
		}
	case "deny":
		if d.Behavior != Deny {
			return "not denied"
		}
	case "allow":
		if d.Behavior != Allow {
			return "not allowed"
		}
	default:
		return "unknown expectation " + a.Must
	}
	return ""
}

type tally struct{ attacks, missed, benign, needless int }

// The corpus: no attack of level core is allowed and no deny is weaker than it
// must be; at least 99 % of the benign rows of level core are allowed.
func TestCorpus(t *testing.T) {
	classes, levels := map[string]*tally{}, map[string]*tally{}
	count := func(m map[string]*tally, key string, a *attack, bad bool) {
		c := m[key]
		if c == nil {
			c = &tally{}
			m[key] = c
		}
		n, k := &c.attacks, &c.missed
		if a.Must == "allow" {
			n, k = &c.benign, &c.needless
		}
		*n++
		if bad {
			*k++
		}
	}
	for _, a := range attacks(t) {
		d := a.decide()
		why := a.wrong(d)
		count(classes, a.Class, &a, why != "")
		count(levels, a.Level, &a, why != "")
		if why != "" && a.Level != "lenient" {
			say := t.Logf
			if a.Level == "core" && a.Must != "allow" {
				say = t.Errorf
			}
			say("%s %s (%s %s): %s: %s, must %s: %s", a.Level, a.ID, a.Class, a.Input, why, outcome(d), a.Must, d.Reason)
		}
	}
	if c := levels["core"]; c.needless*100 > c.benign {
		t.Errorf("%d of %d benign core rows are not allowed", c.needless, c.benign)
	}
	t.Log(table(classes) + table(levels))
}

func table(m map[string]*tally) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-28s %8s %8s %8s %8s\n", "", "attacks", "missed", "benign", "needless")
	for _, k := range keys {
		c := m[k]
		fmt.Fprintf(&b, "%-28s %8d %8d %8d %8d\n", k, c.attacks, c.missed, c.benign, c.needless)
	}
	return b.String()
}
