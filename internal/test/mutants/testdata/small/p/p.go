// Package p has something of each kind that is mutated.
package p

// Match is what a rule says.
type Match int

// The answers.
const (
	No Match = iota
	Maybe
	Yes
)

type counter struct{ n int }

// guarded says whether a name may pass.
func (c *counter) guarded(name string, root bool) bool {
	for c.n < 3 {
		c.n++
	}
	if name == "" || root {
		return false
	}
	return name != "etc"
}

func kind(name string, value any) (Match, error) {
	switch name {
	case "a", "b":
		return Yes, nil
	default:
		name += "!"
	}
	switch {
	case len(name) > 9:
		println(name)
	}
	switch value.(type) {
	case nil:
		return No, nil
	}
	for name != "c!" {
		return Maybe, nil
	}
	for i := range name {
		println(i)
	}
	return No, nil
}
