package shell

import (
	"slices"
	"strings"
)

// gcc adds an opaque spot for a file of options (@file).
func (e *effector) gcc() {
	for _, at := range e.operands {
		if t := &e.words[at]; strings.HasPrefix(t.Text, "@") && !t.holeAt(0) {
			e.odd(causeOptionsFile, e.prog.Name)
		}
	}
}

// cmake passes the words behind -- to the build tool (cmake(1), --build).
func (e *effector) cmake() {
	if words, ok := e.behindDashes(); ok && e.has("--build") {
		e.part(append([]Word{{Text: "make"}}, words...), -1)
	}
	if !e.has("-E") {
		e.cmakeProjects()
	}
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Names[0] != "-D" {
			continue
		}
		key, value, _ := strings.Cut(a.Value.Text, "=")
		key, _, _ = strings.Cut(key, ":")
		if slices.ContainsFunc([]string{"_COMPILER", "_LAUNCHER", "_PROGRAM", "_LINKER", "_EMULATOR", "_COMMAND", "_EXECUTABLE"}, func(end string) bool { return strings.HasSuffix(key, end) }) {
			e.runText(cutWord(a.Value, len(a.Value.Text)-len(value)), "variable "+key+" of cmake", false)
		}
	}
}

// cmakeProjects marks cmake unproven if it obeys a project outside the workspace, an
// operand or the value of -S.
func (e *effector) cmakeProjects() {
	projects := e.operandWords(0)
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "-S" {
			projects = append(projects, a.Value)
		}
	}
	for _, r := range projects {
		for _, dir := range beneath(e.dirs, r) {
			if !e.w.inside(&dir) {
				e.unprovenLate(causeCmakeProject)
			}
		}
	}
}
