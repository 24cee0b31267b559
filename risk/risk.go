// Package risk says how dangerous an action is.
package risk

import "github.com/agent-wrapper/agent-wrapper/shell"

// Class is the risk of an action. The zero value is invalid and counts as
// Forbidden wherever it is read.
type Class uint8

// The classes, in order. Their names are safe, moderate, high, forbidden.
const (
	Safe Class = iota + 1
	Moderate
	High
	Forbidden
)

// Profile is a set of tables.
type Profile uint8

// The profiles: Default follows seed 1's table, Terminal seed 4's lists.
const (
	Default Profile = iota
	Terminal
)

// Finding is the risk of one action with its reasons.
type Finding struct {
	Class   Class
	Reason  string   // "read-only", "mutating operation", "destructive operation" …
	Factors []string // "command_substitution", "dynamic_command" …
}

// Place is what decides whether a removal is catastrophic.
type Place struct {
	Home string
}

var _ = shell.Command
