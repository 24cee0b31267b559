package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Classifier reports how dangerous command lines are. It decides nothing: the
// rules and modes of a policy determine what a tier means for a tool use.
//
// The zero value uses the risk tables alone, as if in /workspace, so that a
// line has the same class on every machine.
type Classifier struct {
	// Profile and Shell apply to rows that name none; the defaults are the
	// policy's profile and bash.
	Profile, Shell string
	// Policy is a policy whose overrides apply; Dir and Env then say where the
	// line would run. It may be nil.
	Policy *permission.Policy
	Dir    string
	Env    permission.Env
}

// Classification is the risk of one line. Its lists are never nil.
type Classification struct {
	Tier       int              `json:"tier"`
	Risk       risk.Class       `json:"risk"`
	Reasons    []string         `json:"reasons"`
	Factors    []string         `json:"factors"`
	Components []risk.Component `json:"components"`
}

// ClassifiedRow is the answer to a row of JSON.
type ClassifiedRow struct {
	ID string `json:"id"`
	Classification
	Error string `json:"error,omitempty"` // why the row cannot be read
}

// classifyRow is a row. Unknown fields are ignored.
type classifyRow struct {
	ID      string `json:"id"`
	Command string `json:"command"`
	Profile string `json:"profile"`
	Shell   string `json:"shell"`
}

// classifyDir is the directory of lines for which no other is given.
const classifyDir = "/workspace"

// maxClassifyRow is the maximum length of a row in bytes: the longest line with
// every byte escaped.
const maxClassifyRow = 1 << 20

// Line classifies the command of a row given as a line of JSON. A row that
// cannot be read is of tier 3 and has the error.
func (c *Classifier) Line(data []byte) ClassifiedRow {
	var row classifyRow
	err := strictjson.Decode(data, &row, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(maxClassifyRow))
	if err != nil {
		return unclassified(looseID(data), err)
	}
	if row.ID == "" {
		return unclassified("", errors.New("no id"))
	}
	said, err := c.Classify(row.Command, cmp.Or(row.Profile, c.Profile), cmp.Or(row.Shell, c.Shell))
	if err != nil {
		return unclassified(row.ID, err)
	}
	return ClassifiedRow{ID: row.ID, Classification: said}
}

func unclassified(id string, err error) ClassifiedRow {
	return ClassifiedRow{ID: id, Classification: classification(risk.Report{}), Error: fmt.Sprintf("row: %v", err)}
}

// classification converts a report to an answer. A report without a class is of
// tier 3.
func classification(r risk.Report) Classification {
	c := Classification{Tier: r.Class.Tier(), Risk: r.Class, Reasons: r.Reasons, Factors: r.Factors, Components: r.Components}
	if r.Class == 0 {
		c.Reasons, c.Factors, c.Components = []string{}, []string{}, []risk.Component{}
	}
	return c
}

// Classify reports how dangerous a command line of a shell is; the empty shell
// is bash. A given profile replaces the policy's. Lines of cmd and PowerShell
// are subject neither to the profile nor to the policy.
func (c *Classifier) Classify(command, profile, sh string) (Classification, error) {
	set, ok := risk.ParseProfile(profile)
	if !ok {
		return Classification{}, fmt.Errorf("profile is %q: write default or terminal", profile)
	}
	if !Shells[sh] {
		return Classification{}, fmt.Errorf("shell is %q: write bash, sh, dash, zsh, powershell or cmd", sh)
	}
	switch {
	case strings.TrimSpace(command) == "":
		return Classification{}, errors.New("the command is empty")
	case !utf8.ValidString(command):
		return Classification{}, errors.New("the command is not UTF-8")
	}
	if windows := WindowsShell(sh); windows != 0 {
		return classification(risk.Windows(command, windows)), nil
	}
	p, dir, env := c.policy(set, profile != "")
	input, err := lineInput(command)
	if err != nil {
		return Classification{}, err
	}
	use := permission.ToolUse{Tool: "Bash", Input: input, Dir: dir, Dialect: dialect(sh), OwnShell: true}
	facts, found, err := p.Risks(&use, env)
	if err != nil {
		return Classification{}, err
	}
	return classification(risk.Summary(facts, found)), nil
}

// Shells holds the names of the shells whose lines can be classified.
var Shells = map[string]bool{"": true, "bash": true, "sh": true, "dash": true, "zsh": true, "powershell": true, "cmd": true}

// WindowsShell returns the Windows shell of that name, 0 if there is none.
func WindowsShell(name string) risk.WindowsShell {
	return map[string]risk.WindowsShell{"powershell": risk.PowerShell, "cmd": risk.Cmd}[name]
}

// policy returns the policy that classifies a line, its directory and its
// environment.
func (c *Classifier) policy(profile risk.Profile, given bool) (*permission.Policy, string, permission.Env) {
	if c.Policy == nil {
		place := patterns.Place{Workspace: classifyDir, Home: defaultHome}
		return &permission.Policy{Mode: modes.Default, Profile: profile, Place: place}, classifyDir, workspace.Fake{Dir: classifyDir}
	}
	if !given {
		return c.Policy, c.Dir, c.Env
	}
	p := *c.Policy
	p.Profile, p.Further = profile, nil
	for _, more := range c.Policy.Further {
		f := *more
		f.Profile = profile
		p.Further = append(p.Further, &f)
	}
	return &p, c.Dir, c.Env
}

// lineInput returns the input of a tool use that runs a command line, byte for
// byte.
func lineInput(command string) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(map[string]string{"command": command})
	return b.Bytes(), err
}
