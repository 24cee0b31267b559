package risk

// FactorOverride is the factor of a class that a policy's risk_overrides set.
const FactorOverride = "risk_override"

// ParseClass returns the class with the given name.
func ParseClass(name string) (c Class, ok bool) {
	for c := Safe; c <= Forbidden; c++ {
		if c.String() == name {
			return c, true
		}
	}
	return 0, false
}

// ParseProfile returns the profile with the given name, "default" or
// "terminal"; "" means default.
func ParseProfile(name string) (p Profile, ok bool) {
	switch name {
	case "", "default":
		return Default, true
	case "terminal":
		return Terminal, true
	}
	return Default, false
}
