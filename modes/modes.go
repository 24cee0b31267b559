// Package modes defines the permission modes as a table of what each says about
// an action. It does not decide; the evaluator applies the table.
package modes

import (
	"fmt"
	"slices"
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

// Traits is the row of a mode. The zero value, which an invalid mode has,
// allows nothing.
type Traits struct {
	// AllowsEdits means that writes inside the workspace are allowed.
	AllowsEdits bool
	// AllowsAll means that every action that reaches the mode is allowed.
	AllowsAll bool
	// ReadOnly means that an action is denied unless it is tier 1, a read, a
	// fetch or housekeeping.
	ReadOnly bool
	// NeverAsks means that what would finally be asked is denied.
	NeverAsks bool
	// DeniesUnlisted means that an action that the allow list does not name is
	// denied; otherwise its risk decides. A policy may set this independently.
	DeniesUnlisted bool
}

var table = [...]struct {
	name string
	Traits
}{
	Default:           {"default", Traits{}},
	AcceptEdits:       {"acceptEdits", Traits{AllowsEdits: true}},
	Plan:              {"plan", Traits{ReadOnly: true}},
	DontAsk:           {"dontAsk", Traits{NeverAsks: true, DeniesUnlisted: true}},
	BypassPermissions: {"bypassPermissions", Traits{AllowsAll: true}},
}

// Narrows reports whether a mode can only forbid: it allows nothing, and denies or never asks.
func (m Mode) Narrows() bool {
	t := m.Traits()
	return !t.AllowsEdits && !t.AllowsAll && (t.ReadOnly || t.NeverAsks)
}

// Parse returns the mode of the given name, which is case-sensitive.
func Parse(name string) (Mode, error) {
	hint := "use " + strings.Join(Names(), ", ")
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

// String returns the mode's name, "invalid" if m is not a mode.
func (m Mode) String() string {
	if !m.Valid() {
		return "invalid"
	}
	return table[m].name
}

// Traits returns the row of the mode.
func (m Mode) Traits() Traits {
	if !m.Valid() {
		return Traits{}
	}
	return table[m].Traits
}

// Narrowest returns those of some modes that count where a tool use must be allowed under
// each of them, without repetition: the others let through all that they do. It is more
// than one only for plan and dontAsk.
func Narrowest(all []Mode) []Mode {
	var narrow []Mode
	for _, m := range all {
		switch {
		case len(narrow) == 0 || m.width() < narrow[0].width():
			narrow = []Mode{m}
		case m.width() == narrow[0].width() && !slices.Contains(narrow, m):
			narrow = append(narrow, m)
		}
	}
	return narrow
}

// width orders the modes by what they let through.
func (m Mode) width() int {
	t := m.Traits()
	switch {
	case !m.Valid():
		return 0
	case t.ReadOnly, t.NeverAsks:
		return 1
	case t.AllowsAll:
		return 4
	case t.AllowsEdits:
		return 3
	}
	return 2
}
