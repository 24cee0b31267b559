package risk

import "github.com/agent-wrapper/agent-wrapper/internal/program"

// rated is an entry of a table outside the catalogue. Such a table is sorted by
// name for binary search, and a name occurs once.
type rated struct {
	name string
	rows []program.Row
}
