package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Case is one tool use with the decision that it should get.
type Case struct {
	ID         string // "" if it has none
	Name       string // what a report calls it: its name, else its id, else the tool use itself
	File       string
	Line       int
	Tool       string
	Input      json.RawMessage
	Setting    Setting
	With       *Spec // added to the policy for this case
	Want       Expectation
	Advice     string // a part of the advice that the agent should get; "" is not compared
	start, end int    // of the expectation in the file; equal if it has none
}

// Expectation is what a decision is compared with. Empty fields are not
// compared.
type Expectation struct {
	Behavior string // allow, ask, deny
	Layer    string // "deny-list"
	Rule     string // "Bash(rm:*)"
}

// String returns the expectation as a file states it: "deny deny-list
// Bash(rm:*)".
func (e Expectation) String() string {
	return strings.TrimSpace(e.Behavior + " " + e.Layer + " " + e.Rule)
}

// given returns e without the fields that are empty in want.
func (e Expectation) given(want Expectation) Expectation {
	if want.Layer == "" {
		e.Layer = ""
	}
	if want.Rule == "" {
		e.Rule = ""
	}
	return e
}

// casesTable is the form of a file of test cases.
type casesTable struct {
	Cwd  string      `toml:"cwd"`
	Home string      `toml:"home"`
	Case []caseTable `toml:"case"`
}

type caseTable struct {
	ID       string            `toml:"id"`
	Name     string            `toml:"name"`
	Use      string            `toml:"use"`
	Tool     string            `toml:"tool"`
	Input    map[string]any    `toml:"input"`
	Cwd      string            `toml:"cwd"`
	Home     string            `toml:"home"`
	Symlinks map[string]string `toml:"symlinks"`
	FS       string            `toml:"fs"`
	Shell    string            `toml:"shell"`
	With     *sessionTable     `toml:"with"`
	Expect   string            `toml:"expect"`
	Advice   string            `toml:"advice"`
}

// ParseCases parses a file of cases:
//
//	[[case]]
//	use = "Bash(git push)"              # Tool(text), or only Tool
//	expect = "ask ask-list Bash(git push:*)"
//
//	[[case]]
//	id = "grep-1"                       # once in the file
//	name = "searching outside asks"     # what reports call the case, for people
//	tool = "Grep"
//	input = { pattern = "x", path = "/etc" }
//	symlinks = { "src/link" = "/etc/passwd" }
//	with = { mode = "plan" }            # added to the policy for this case
//	expect = "deny"                     # the layer and the rule may be left out
//
//	[[case]]
//	use = 'Bash(cat "$f")'
//	expect = "ask"
//	advice = "name the file"            # a part of what the agent is advised first
//
// Cases may also have cwd, home, fs = "case-insensitive" and shell. At the head
// of the file, cwd and home apply to all cases.
func ParseCases(data []byte, name string) ([]Case, error) {
	var t casesTable
	lines, err := stricttoml.Decode(data, name, &t)
	if err != nil {
		return nil, err
	}
	var cases []Case
	var errs []error
	names := map[string]bool{}
	for i, row := range t.Case {
		key := fmt.Sprintf("case[%d]", i)
		c, err := row.toCase(name, key, lines)
		if err == nil && row.ID != "" && names[row.ID] {
			err = fmt.Errorf("the id %q is used twice", row.ID)
		}
		if err != nil {
			errs = append(errs, at(source(name, lines[key]), err))
			continue
		}
		names[row.ID] = true
		c.Setting = c.Setting.or(Setting{Cwd: t.Cwd, Home: t.Home})
		cases = append(cases, c)
	}
	return cases, errors.Join(errs...)
}

func source(name string, at stricttoml.Place) patterns.Source {
	return patterns.Source{Name: name, Line: at.Line, Col: at.Col}
}

func (t *caseTable) toCase(file, key string, lines stricttoml.Lines) (Case, error) {
	c := Case{
		ID: t.ID, Name: cmp.Or(t.Name, t.ID, t.Use+t.Tool), Advice: t.Advice, File: file, Line: lines[key].Line,
		Setting: Setting{Cwd: t.Cwd, Home: t.Home, Symlinks: t.Symlinks, FS: t.FS, Shell: t.Shell},
		start:   lines[key].End, end: lines[key].End,
	}
	if at, ok := lines[key+".expect"]; ok {
		c.start, c.end = at.Start, at.End
	}
	if t.With != nil {
		c.With = t.With.spec(func(path string) patterns.Source { return source(file, lines[key+".with."+path]) })
	}
	var errUse, errWant error
	c.Tool, c.Input, errUse = t.use()
	c.Want, errWant = parseExpectation(t.Expect)
	if errUse != nil {
		return c, errUse
	}
	return c, errWant
}

// use returns the tool and the input of the case, in either of its two forms.
func (t *caseTable) use() (tool string, input json.RawMessage, err error) {
	switch {
	case t.Use != "" && (t.Tool != "" || t.Input != nil):
		return "", nil, errors.New("use and tool say the same thing: give only one of them")
	case t.Use != "":
		return parseUse(t.Use)
	case t.Tool == "":
		return "", nil, errors.New("no tool use: give use, or tool and input")
	case t.Input == nil:
		return "", nil, errors.New("tool needs input")
	}
	input, err = json.Marshal(t.Input)
	return t.Tool, input, err
}

func parseExpectation(text string) (Expectation, error) {
	if strings.TrimSpace(text) == "" {
		return Expectation{}, nil
	}
	behavior, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	layer, rule, _ := strings.Cut(strings.TrimSpace(rest), " ")
	e := Expectation{Behavior: behavior, Layer: layer, Rule: strings.TrimSpace(rule)}
	switch behavior {
	case "allow", "ask", "deny":
	default:
		return e, fmt.Errorf("expect %q: write allow, ask or deny, then the layer, then the rule", text)
	}
	if layer != "" && !isLayer(layer) {
		return e, fmt.Errorf("expect %q: there is no layer %q: write %s", text, layer, orList(layerNames()))
	}
	return e, nil
}

func layerNames() []string {
	var names []string
	for l := permission.LayerGuard; l <= permission.LayerDefault; l++ {
		names = append(names, l.String())
	}
	return names
}

func isLayer(name string) bool {
	return slices.Contains(layerNames(), name)
}

// rewrite replaces the expectations of the changed cases in the text of their
// file. The rest of the text stays as it is.
func rewrite(data []byte, changed []Case) []byte {
	out, from := "", 0
	for _, c := range changed { // in the order of the file
		line := stricttoml.Quote(c.Want.String())
		if c.start == c.end {
			line = "\nexpect = " + line
		}
		out += string(data[from:c.start]) + line
		from = c.end
	}
	return []byte(out + string(data[from:]))
}
