package shell

import (
	"path"
	"slices"
	"strings"
)

// skips returns the names of files that the program leaves out when it reads a
// directory recursively, as its options say: grep(1) --exclude, rg(1) -g '!NAME'. Of
// several that fit a file the last one counts, so that none before one that includes
// files is certain. It is nil if links below the directory may be followed, since
// their targets have other names.
func (e *effector) skips() []string {
	leave, include, follow := "--exclude", "--include", []string{"-R", "-S"}
	switch program := &e.words[0]; {
	case !program.Known():
		return nil
	case slices.Contains([]string{"grep", "egrep", "fgrep"}, path.Base(program.Text)):
	case path.Base(program.Text) == "rg":
		leave, include, follow = "-g", "--iglob", []string{"-L"}
	default:
		return nil
	}
	var names []string
	for i := range e.scan.Args {
		a := &e.scan.Args[i]
		if a.Kind == ArgUnsure || a.Kind == ArgUnlisted {
			return nil
		}
		if a.Kind != ArgOption {
			continue
		}
		switch name := a.Option.Names[0]; {
		case slices.Contains(follow, name):
			return nil
		case name == include:
			names = nil
		case name == leave:
			if names = append(names, skipped(name, &a.Value)); names[len(names)-1] == "" {
				names = nil
			}
		}
	}
	return names
}

// skipped returns the name that the value of an option leaves out, "" if it is not
// one name. In other patterns than those with "*" the programs differ.
func skipped(option string, value *Word) string {
	text, negated := strings.CutPrefix(value.Text, "!")
	if !value.Known() || negated != (option == "-g") {
		return ""
	}
	return SkippedName(text)
}

// SkippedName returns a pattern for names that are left out if every program reads it
// alike, else "".
func SkippedName(text string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-*", r)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) || strings.Contains(text, "**") {
		return ""
	}
	return text
}
