package risk

import "github.com/agent-wrapper/agent-wrapper/program"

// rated is an entry of the tables that are not the catalogue's. A table is
// sorted by name, so that a name has one class, and is searched by halves.
type rated struct {
	name string
	rows []program.Row
}
