package whitelist

import (
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Unusable is the gate in place of a configured whitelist that cannot be read.
// It refuses every command and counts none, since none is known to be
// hallucinated.
type Unusable struct{ Err error }

// Forbid denies every line.
func (u Unusable) Forbid(string, *shell.Facts) permission.Refusal {
	return permission.Refusal{Behavior: permission.Deny, Kind: "no_whitelist", Reason: fmt.Sprintf("the whitelist cannot be used: %v", u.Err)}
}
