package shell

import "strings"

// gh: what stands behind -- of a clone is for git clone; some settings are
// commands; a field of an API request may be the contents of a file.
func (e *effector) gh() {
	e.ghFields()
	switch path := strings.Join(e.scan.Path, " "); path {
	case "repo clone", "repo fork", "gist clone":
		if words, ok := e.behindDashes(); ok {
			e.part(append([]Word{{Text: "git"}, {Text: "clone"}}, words...), -1)
		}
	case "config set":
		if rest := e.operandWords(0); len(rest) > 0 && (!rest[0].Known() || ghCommands[rest[0].Text]) {
			e.odd(causeGHSetting, show(&rest[0]))
		}
	}
}

// ghCommands are the settings of gh whose value it runs (gh help config); the
// socket and the host are where its requests go.
var ghCommands = set("editor", "pager", "browser", "http_unix_socket")

// ghFields looks for the contents of files in the fields of a request.
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
