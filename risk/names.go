package risk

// FactorOverride: a policy says the class.
const FactorOverride = "risk_override"

// ParseClass returns the class of a name.
func ParseClass(name string) (c Class, ok bool) {
	for c := Safe; c <= Forbidden; c++ {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

// ParseProfile returns the profile of a name, "default" or "terminal"; "" is
// default.
func ParseProfile(name string) (p Profile, ok bool) {
	switch name {
	case "", "default":
		return Default, true
	case "terminal":
		return Terminal, true
	}
	return Default, false
}
