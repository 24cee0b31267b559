package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// walkOfSearch returns what of the files below a directory a search reads: those that its
// patterns for files mean or, without one, those of its types. Of a count of lines nothing
// shows.
func (e *effector) walkOfSearch() Walk {
	if e.prog.Name == "wc" {
		return Walk{Kept: true}
	}
	var names, types []string
	typed := e.prog.Name == "rg" && !e.has("--type-add") && !e.has("--type-clear")
	for i := range e.scan.Args {
		a := &e.scan.Args[i]
		switch {
		case a.Kind == ArgUnsure || a.Kind == ArgUnlisted:
			return Walk{}
		case a.Kind != ArgOption:
		case (a.Option.Names[0] == "--exclude" || a.Option.Names[0] == "--exclude-from") && names == nil:
			return Walk{} // grep then reads all that no pattern means
		case a.Option.Names[0] == "-t":
			typed = typed && a.Value.Known() && codeTypes.has(a.Value.Text)
			types = append(types, "*."+a.Value.Text)
		case a.Option.Effect == program.EffGlob && a.Option.Names[0] != "--type-add" && !strings.HasPrefix(a.Value.Text, "!"):
			some := lastNamesOfGlob(a)
			if some == nil {
				return Walk{}
			}
			names = append(names, some...)
		}
	}
	var walk Walk
	if names == nil && typed {
		names = types
	}
	walk.restrict(names)
	return walk
}

// lastNamesOfGlob returns patterns for the last names of the files that an option means.
func lastNamesOfGlob(a *Arg) []string {
	if slices.Contains(a.Option.Names, "--file-search-regex") { // ag
		return lastNamesOfRegex(a.Value)
	}
	return lastNames(a.Value, false)
}

// codeTypes are types of files of ripgrep that mean code alone.
var codeTypes = set(
	"c", "cpp", "cs", "csharp", "css", "dart", "elixir", "go", "haskell", "html", "java", "js", "kotlin", "lua", "md", "markdown", "objc",
	"php", "proto", "protobuf", "py", "python", "ruby", "rust", "scala", "sql", "svelte", "swift", "ts", "typescript", "vue", "zig",
)

// walkOfNames returns what the program reads of the files that another one names. Of a count
// of lines nothing shows; a program that reads directories reads all that they hold.
func (e *effector) walkOfNames(number uint16) uint16 {
	switch {
	case e.prog.Name == "wc":
		return e.w.numbered(Walk{Kept: true})
	case e.recursive:
		return e.w.numbered(Walk{Kept: e.w.walk(number).Kept})
	}
	return number
}

// walkBehind returns the walk of the files with a known path behind an unknown name.
func walkBehind(behind string) (walk Walk) {
	if name := behind[strings.LastIndexByte(behind, '/')+1:]; !strings.ContainsAny(name, `*?[\`) {
		walk.restrict([]string{name})
	}
	return walk
}
