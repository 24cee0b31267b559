// Package modes holds the permission modes as a table.
package modes

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
