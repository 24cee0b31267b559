// Package corpus holds attack and benign cases for tests: rows of a file, and
// generators of variants with other names, paths and programs. It is for tests
// only.
package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Row is one case: a tool use under a policy, with the required outcome. Its
// JSON form is a line for "agent-wrapper check --jsonl".
type Row struct {
	ID      string         `json:"id"`
	Class   string         `json:"class,omitempty"`
	Policy  Policy         `json:"policy"`
	Tool    string         `json:"tool"`
	Input   map[string]any `json:"input"`
	Must    string         `json:"must"`  // not_allow, deny, ask, allow
	Level   string         `json:"level"` // core, strict, lenient
	Shell   string         `json:"shell,omitempty"`
	Context map[string]any `json:"context,omitempty"`
	Why     string         `json:"why,omitempty"`
}

// Policy is the policy of a row.
type Policy struct {
	Allow []string `json:"allow"`
	Ask   []string `json:"ask"`
	Deny  []string `json:"deny"`
	Mode  string   `json:"mode,omitempty"`
}

// Read reads a file of rows.
func Read(path string) ([]Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []Row
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 4<<20)
	for n := 1; sc.Scan(); n++ {
		var r Row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		rows = append(rows, r)
	}
	return rows, sc.Err()
}

// Holds reports whether a behavior is at least as strict as the row requires.
func (r *Row) Holds(behavior string) bool {
	switch r.Must {
	case "allow":
		return behavior == "allow"
	case "ask":
		return behavior == "ask" || behavior == "deny"
	case "deny":
		return behavior == "deny"
	}
	return behavior == "ask" || behavior == "deny"
}

// Classes returns the classes of the rows, sorted.
func Classes(rows []Row) []string {
	set := map[string]bool{}
	for _, r := range rows {
		set[r.Class] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Generate returns n rows of a class. Each is a variant of a row of the class,
// with other names or in another place of a command line.
func Generate(rows []Row, class string, n int, seed uint64) []Row {
	g := generator{r: rand.New(rand.NewPCG(seed, uint64(len(class))))}
	var of []Row
	for _, r := range rows {
		if r.Class == class {
			of = append(of, r)
		}
	}
	out := make([]Row, n)
	for i := range out {
		out[i] = g.variant(of[i%len(of)])
		out[i].ID = fmt.Sprintf("%s-generated-%d", out[i].ID, i)
	}
	return out
}

type generator struct{ r *rand.Rand }

func (g *generator) pick(from ...string) string { return from[g.r.IntN(len(from))] }

func (g *generator) variant(r Row) Row {
	return g.wrap(g.rename(r))
}

// names holds words that may be replaced in a row, with their replacements.
var names = []struct {
	word string
	with []string
}{
	{"pwned", []string{"owned", "loot.bin", "x1", "Marker"}},
	{"evil", []string{"mallory", "hostile", "bad1"}},
	{"README.md", []string{"NOTES.md", "CONTRIBUTING.md", "docs.md"}},
	{"a.txt", []string{"data.csv", "n1.txt", "list.tsv"}},
	{"build", []string{"artifacts", "out2", "cache"}},
	{"hello", []string{"greetings", "hi"}},
	{"foo", []string{"needle", "quux"}},
	{"app.js", []string{"main.ts", "index.js"}},
}

// payloads are programs that stand for any program that no rule of a row names.
// They may be replaced by any program that does not occur in the row.
var payloads = map[string][]string{
	"touch": {"frob", "chmodx", "deploytool", "zap2"},
	"rm":    {"zap", "wipefile", "del3"},
	"curl":  {"fetchit", "getter"},
}

// fixed matches the classes whose rows depend on the options of one program.
var fixed = regexp.MustCompile(`^(gtfo|option|cd-|bash-reads|redirect|path-|symlink|url|mcp|deny-evasion|deny-subcommand|pipe-|interpreter|exec-wrapper|cd|heredoc)`)

// builds matches the programs that have a subcommand build.
var builds = regexp.MustCompile(`\b(cargo|go|docker|compose|podman|buildx|dotnet|swift|bazel|helm|nix|zig|vite|next|hugo|poetry|uv) build\b`)

func command(r Row) string {
	line, _ := r.Input["command"].(string)
	return line
}

// rename renames words of the row, consistently in the rules and in the input.
func (g *generator) rename(r Row) Row {
	swap := map[string]string{}
	for _, n := range names {
		if n.word == "evil" && strings.HasPrefix(r.Class, "url-") {
			continue // these rows spell one host in many ways
		}
		if n.word == "build" && (strings.HasPrefix(r.Class, "gtfo-") || builds.MatchString(command(r))) {
			continue // it is a subcommand there, and another one would do something else
		}
		if g.r.IntN(3) > 0 {
			swap[n.word] = g.pick(n.with...)
		}
	}
	if !fixed.MatchString(r.Class) {
		for _, word := range slices.Sorted(maps.Keys(payloads)) { // a seed gives the same rows each time
			if g.r.IntN(2) == 0 && spells(r, word) {
				swap[word] = g.pick(payloads[word]...)
			}
		}
	}
	if g.r.IntN(2) == 0 {
		swap["/home/dev"] = g.pick("/home/sam", "/srv/agents/k7")
		swap["~dev"] = "~sam"
	}
	return substitute(r, swap)
}

// spells reports whether the line contains, letter by letter, a program that a
// rule of the row names, so that both can be renamed together.
func spells(r Row, word string) bool {
	line := command(r)
	re := regexp.MustCompile(`(^|[\s;&|(])` + word + `($|[\s;&|)])`)
	rules := strings.Join(slices.Concat(r.Policy.Allow, r.Policy.Ask, r.Policy.Deny), " ")
	return re.MatchString(line) || !strings.Contains(rules, word)
}

func substitute(r Row, swap map[string]string) Row {
	if len(swap) == 0 {
		return r
	}
	keys := slices.SortedFunc(maps.Keys(swap), func(a, b string) int { return len(b) - len(a) })
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = regexp.QuoteMeta(k)
	}
	re := regexp.MustCompile(`(^|[^A-Za-z0-9_])(` + strings.Join(parts, "|") + `)($|[^A-Za-z0-9_])`)
	replace := func(s string) string {
		for range 2 { // neighbours share the space between them
			s = re.ReplaceAllStringFunc(s, func(m string) string {
				at := re.FindStringSubmatch(m)
				return at[1] + swap[at[2]] + at[3]
			})
			if !re.MatchString(s) {
				break
			}
		}
		return s
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // rows are plain data
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		panic(err)
	}
	for _, key := range []string{"policy", "input", "context"} {
		if v, ok := tree[key]; ok {
			tree[key] = mapStrings(v, replace)
		}
	}
	return remake(tree)
}

func remake(tree map[string]any) Row {
	data, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	var out Row
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}

func mapStrings(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = mapStrings(v[i], f)
		}
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[f(k)] = mapStrings(x, f)
		}
		return out
	}
	return v
}

// plain matches the lines that may be put inside another construct, because
// what follows them cannot change how they are parsed.
var plain = regexp.MustCompile(`^[A-Za-z0-9_ ./:=,@%+~$"{}*?|&;<>-]+$`)

// hand gives a line to a program that nobody knows, which may run it.
func (g *generator) hand(line string) string {
	form := g.pick(
		"k9run '%s'", "./k9run -x -- sh -c '%s'", "k9run exec p bash -c '%s'", "k9run --cmd='%s' a", "k9run -e '%s'", "k9run <<< '%s'",
		"k9run <<'E_O_F'\n%s\nE_O_F\n", "k9run '[\"sh\", \"-c\", \"x\"]' '%s'", "timeout 9 k9run '%s'", "python3 k9run.py '%s'",
	)
	return strings.Replace(form, "%s", line, 1)
}

// wrap puts a line into another place where it has the same meaning.
func (g *generator) wrap(r Row) Row {
	line, ok := r.Input["command"].(string)
	if !ok || r.Shell == "zsh" || !plain.MatchString(line) || strings.Contains(line, "<<") ||
		strings.Count(line, `"`)%2 == 1 || strings.HasSuffix(line, "&") || strings.HasPrefix(line, "{") {
		return r
	}
	switch g.r.IntN(7) {
	case 6:
		if r.Must != "allow" {
			line, r.Must = g.hand(line), "not_allow"
		}
	case 0:
		line = "(" + line + ")"
	case 1:
		line = "{ " + line + "; }"
	case 2:
		line = "  " + line
	case 3:
		line += "\n"
	case 4:
		if r.Must != "allow" {
			line = "if " + line + "; then echo; fi"
		}
	}
	input := maps.Clone(r.Input)
	input["command"] = line
	r.Input = input
	return r
}
