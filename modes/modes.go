// Package modes holds the permission modes as a table: what each of them says
// to an action that reaches it. It decides nothing; the evaluator reads it.
package modes

import (
	"fmt"
	"strings"
)

// Mode is a permission mode. The zero value is invalid.
type Mode uint8

// The modes.
const (
	Default Mode = iota + 1
	AcceptEdits
	Plan
	DontAsk
	BypassPermissions
)

// Traits is a mode's row of the table. The zero value, which an invalid mode
// has, allows nothing.
type Traits struct {
	// AllowsEdits: writes inside the workspace are allowed.
	AllowsEdits bool
	// AllowsAll: whatever reaches the mode is allowed.
	AllowsAll bool
	// ReadOnly: whatever is neither tier 1, a read, a fetch nor housekeeping
	// is denied.
	ReadOnly bool
	// NeverAsks: what would be asked in the end is denied.
	NeverAsks bool
	// AsksUnlisted: an action that the allow list does not name is asked;
	// otherwise it is denied. The policy may set this by itself.
	AsksUnlisted bool
}

var table = [...]struct {
	name string
	Traits
}{
	Default:           {"default", Traits{AsksUnlisted: true}},
	AcceptEdits:       {"acceptEdits", Traits{AllowsEdits: true}},
	Plan:              {"plan", Traits{ReadOnly: true}},
	DontAsk:           {"dontAsk", Traits{NeverAsks: true}},
	BypassPermissions: {"bypassPermissions", Traits{AllowsAll: true}},
}

// Parse reads a mode's name, in its exact spelling.
func Parse(name string) (Mode, error) {
	hint := "one of " + strings.Join(Names(), ", ")
	for m := Default; m.Valid(); m++ {
		if name == table[m].name {
			return m, nil
		}
		if strings.EqualFold(name, table[m].name) {
			hint = "did you mean " + table[m].name + "?"
		}
	}
	return 0, fmt.Errorf("unknown permission mode %q (%s)", name, hint)
}

// Names returns the names of all modes, in the order of the table.
func Names() []string {
	var names []string
	for m := Default; m.Valid(); m++ {
		names = append(names, table[m].name)
	}
	return names
}

// Valid reports whether m is one of the modes.
func (m Mode) Valid() bool { return m >= Default && m <= BypassPermissions }

// String returns the mode's name, "invalid" for what is no mode.
func (m Mode) String() string {
	if !m.Valid() {
		return "invalid"
	}
	return table[m].name
}

// Traits returns the mode's row of the table.
func (m Mode) Traits() Traits {
	if !m.Valid() {
		return Traits{}
	}
	return table[m].Traits
}
