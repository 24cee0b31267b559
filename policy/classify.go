package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/risk"
	"github.com/agent-wrapper/agent-wrapper/workspace"
)

// Classifier says how dangerous command lines are. It decides nothing: what a
// tier means for a tool use, the rules and modes of a policy say.
//
// The zero value goes by the tables alone, as if in /workspace, so that a line has
// one class on every machine.
type Classifier struct {
	// Profile and Shell are those of rows that name none; "" is the policy's
	// profile, and bash.
	Profile, Shell string
	// Policy is one whose overrides count; Dir and Env are then where the line
	// would run. nil: none.
	Policy *permission.Policy
	Dir    string
	Env    permission.Env
}

// Classification is what is said of one line. Its lists are never nil.
type Classification struct {
	Tier       int              `json:"tier"`
	Risk       risk.Class       `json:"risk"`
	Reasons    []string         `json:"reasons"`
	Factors    []string         `json:"factors"`
	Components []risk.Component `json:"components"`
}

// ClassifiedRow answers a row of JSON.
type ClassifiedRow struct {
	ID string `json:"id"`
	Classification
	Error string `json:"error,omitempty"` // why the row cannot be read
}

// classifyRow is a row. A field that is not known is left alone.
type classifyRow struct {
	ID      string `json:"id"`
	Command string `json:"command"`
	Profile string `json:"profile"`
	Shell   string `json:"shell"`
}

// classifyDir is where a line runs of which nothing else is said.
const classifyDir = "/workspace"

// maxClassifyRow is the longest row in bytes: a line of the longest kind with
// each byte escaped.
const maxClassifyRow = 1 << 20

// Line classifies the command of a row as it stands in a line of JSON. A row that
// cannot be read is of tier 3, with the error.
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

// classification is a report in the form of an answer; one that says no class is
// of tier 3.
func classification(r risk.Report) Classification {
	c := Classification{Tier: r.Class.Tier(), Risk: r.Class, Reasons: r.Reasons, Factors: r.Factors, Components: r.Components}
	if r.Class == 0 {
		c.Reasons, c.Factors, c.Components = []string{}, []string{}, []risk.Component{}
	}
	return c
}

// Classify says how dangerous a command line of a shell is, "" for bash. A profile
// takes the place of the policy's. To a line of cmd or PowerShell neither profile
// nor policy has anything to say.
func (c *Classifier) Classify(command, profile, sh string) (Classification, error) {
	set, ok := risk.ParseProfile(profile)
	if !ok {
		return Classification{}, fmt.Errorf("profile is %q, want default or terminal", profile)
	}
	if !Shells[sh] {
		return Classification{}, fmt.Errorf("shell is %q, want bash, sh, dash, zsh, powershell or cmd", sh)
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
	use := permission.ToolUse{Tool: "Bash", Input: input, Dir: dir, Dialect: dialect(sh)}
	facts, found, err := p.Risks(&use, env)
	if err != nil {
		return Classification{}, err
	}
	return classification(risk.Summary(facts, found)), nil
}

// Shells are the names of shells whose lines are classified.
var Shells = map[string]bool{"": true, "bash": true, "sh": true, "dash": true, "zsh": true, "powershell": true, "cmd": true}

// WindowsShell is the shell of Windows of that name, 0 if it is none.
func WindowsShell(name string) risk.WindowsShell {
	return map[string]risk.WindowsShell{"powershell": risk.PowerShell, "cmd": risk.Cmd}[name]
}

// policy is what a line is classified by, and where.
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

// lineInput is the input of a tool use that runs a command line, byte for byte.
func lineInput(command string) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(map[string]string{"command": command})
	return b.Bytes(), err
}
