package shell

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/program"
)

// goTool: linker and compiler flags can name a program.
func (e *effector) goTool() {
	e.goSources()
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Effect != program.EffNone {
			continue
		}
		switch a.Option.Names[0] {
		case "-ldflags", "-gcflags", "-asmflags":
			if !a.Value.Known() || strings.Contains(a.Value.Text, "-ext") || strings.Contains(a.Value.Text, "-toolexec") {
				e.odd(causeGoLinker, a.Option.Names[0])
			}
		}
	}
}

// gcc: a file of options stands behind @.
func (e *effector) gcc() {
	for _, at := range e.operands {
		if t := &e.words[at]; strings.HasPrefix(t.Text, "@") && !t.holeAt(0) {
			e.odd(causeOptionsFile, e.prog.Name)
		}
	}
}

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

// curlFormat: the format of curl's report can come from a file, and can send
// the rest of the report to one.
func (e *effector) curlFormat(format Word) {
	switch {
	case strings.HasPrefix(format.Text, "@"):
		e.read(cutWord(format, 1), NeedOutside, "option -w of curl")
	case strings.Contains(format.Text, "%output{"):
		e.w.opaque(e.index, MayWrite, causeCurlFormat)
	case !format.Known():
		e.unprovenLate(causeCurlFormatUnknown)
	}
}
