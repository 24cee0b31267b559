package shell

//go:generate go run ../internal/cataloggen

// Catalog finds programs by name: the built-in tables, and a user's additions.
type Catalog struct {
	// Extra are a policy's own entries; they stand before the built-in ones.
	Extra []Program
}

// Lookup returns the entry for a program's name (its last path segment), or
// nil. A nil Catalog has the built-in entries only.
func (c *Catalog) Lookup(name string) *Program {
	own := builtin(name)
	if own != nil && own.Special != "" {
		return own // what the reader in Go knows of a program is not replaced
	}
	if c != nil {
		for i := range c.Extra {
			if c.Extra[i].Name == name {
				return &c.Extra[i]
			}
		}
	}
	return own
}
