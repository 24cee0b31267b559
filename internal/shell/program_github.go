package shell

import "strings"

// gh passes the words behind -- of a clone to git clone, and reads the files that
// fields of a request are.
func (e *effector) gh() {
	e.ghFields()
	switch path := strings.Join(e.scan.Path, " "); path {
	case "repo clone", "repo fork", "gist clone":
		if words, ok := e.behindDashes(); ok {
			e.part(append([]Word{{Text: "git"}, {Text: "clone"}}, words...), -1)
		}
	}
}

// ghFields reads the files that fields of a request send.
func (e *effector) ghFields() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || len(a.Option.Names) < 2 || a.Option.Names[1] != "--field" {
			continue
		}
		_, value, found := strings.Cut(a.Value.Text, "=")
		switch {
		case strings.HasPrefix(value, "@"):
			e.read(cutWord(a.Value, len(a.Value.Text)-len(value)+1), NeedOutside, "option -F of gh")
			e.unprovenLate(causeSends, "-F", "gh")
		case !found && !a.Value.Known() || found && a.Value.holeAt(len(a.Value.Text)-len(value)):
			e.unprovenLate(causeMaySend, "-F", "gh")
		}
	}
}
