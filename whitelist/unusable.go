package whitelist

import (
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/shell"
)

// Unusable is the gate in the place of a whitelist that was named and cannot
// be read: no command passes it. Nobody made them up, so none is counted.
type Unusable struct{ Err error }

// Forbid refuses every line.
func (u Unusable) Forbid(string, *shell.Facts) permission.Refusal {
	return permission.Refusal{Behavior: permission.Deny, Kind: "no_whitelist", Reason: fmt.Sprintf("the whitelist cannot be used: %v", u.Err)}
}
