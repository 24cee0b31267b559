package program

import "strings"

// Registry says in which files a project names the hosts that a package manager asks, and
// which settings there do. A * stands for any text; the case of settings does not count.
type Registry struct {
	Name string
	// Public are the hosts, or HOST/PATH, that the program asks without configuration.
	Public []string
	// Files and Own are "NAME FORMAT [KEYS…]": the files of a project, and those of the
	// person and the machine. If there are KEYS, only these settings count.
	Files, Own []string
	// Hosts are settings whose value is a host even without a scheme, Secrets those whose
	// value is sent, Elsewhere those that name another such file, Quiet those that make the
	// program ask no host.
	Hosts, Secrets, Elsewhere, Quiet []string
	// Options are the options whose values are such files too.
	Options []string
}

// RegistryOf returns the registry of a name, or nil.
func RegistryOf(name string) *Registry {
	for i := range registries {
		if registries[i].Name == name {
			return &registries[i]
		}
	}
	return nil
}

// Registries returns the registries whose files name the hosts that the program asks; has
// reports whether a word is among those of the command.
func (p *Program) Registries(has func(word string) bool) []*Registry {
	var list []*Registry
	for row := range strings.FieldsSeq(p.Registry) {
		if name, word, only := strings.Cut(row, ":"); !only || has(word) {
			list = append(list, RegistryOf(name))
		}
	}
	return list
}

// Meets reports whether a name is that of a pattern in which each * stands for any text,
// whatever their case.
func Meets(pattern, name string) bool {
	parts := strings.Split(strings.ToLower(pattern), "*")
	name = strings.ToLower(name)
	last := len(parts) - 1
	if last == 0 {
		return name == parts[0]
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[last])
}

// AllRegistries returns the registries.
func AllRegistries() []*Registry {
	list := make([]*Registry, len(registries))
	for i := range registries {
		list[i] = &registries[i]
	}
	return list
}
