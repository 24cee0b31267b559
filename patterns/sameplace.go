package patterns

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// placed returns the subject's command with its program, or the program file that an
// interpreter is given, by other paths of the same file that a rule may write:
// scripts/a.sh, ./scripts/a.sh and the absolute path.
func (sub *Subject) placed(workspace string) []*Subject {
	a := sub.Command
	if a == nil || len(a.Words) == 0 || workspace == "" {
		return nil
	}
	if sub.placedIn != workspace {
		sub.placedIn, sub.places = workspace, nil
		for _, at := range [...]int{0, sub.scriptAt()} {
			if at >= 0 {
				sub.places = append(sub.places, sub.placedAt(at, workspace)...)
			}
		}
	}
	return sub.places
}

// scriptAt returns the index of the word that names a program file in the language of the
// program, or -1. Only the word behind an interpreter certainly does: behind an option it
// may be code, behind a subcommand the name of a script, and awk's is code.
func (sub *Subject) scriptAt() int {
	a := sub.Command
	if a.Program == nil || a.Program.Operands != program.Script || a.Program.HasSubs() || a.Program.Special == "awk" ||
		len(a.Words) < 2 || strings.HasPrefix(a.Words[1].Text, "-") {
		return -1
	}
	return 1
}

// runsFile reports whether an interpreter is given a program file by a relative path.
func (sub *Subject) runsFile() bool {
	at := sub.scriptAt()
	return at >= 0 && !path.IsAbs(sub.Command.Words[at].Text)
}

func (sub *Subject) placedAt(at int, workspace string) []*Subject {
	words := sub.Command.Words
	file := words[at].Text
	if !words[at].Known() || !strings.Contains(file, "/") { // found through PATH
		return nil
	}
	abs := absolute(file, sub.Command.Dirs)
	if abs == "" {
		return nil
	}
	names := []string{abs}
	if below, ok := strings.CutPrefix(abs, strings.TrimSuffix(workspace, "/")+"/"); ok {
		names = append(names, "./"+below)
		if below[0] != '-' && strings.Contains(below, "/") {
			names = append(names, below)
		}
	}
	var forms []*Subject
	for _, name := range names {
		if name != file {
			other := slices.Clone(words)
			other[at].Text = name
			forms = append(forms, (spelling{sub: sub, sure: Yes}).with(other, Yes).sub)
		}
	}
	return forms
}

// absolute returns a path that is relative to each of the directories, "" if it is not the
// same in all of them. A path with ".." may mean something else where a directory is a
// link.
func absolute(name string, dirs []shell.Word) string {
	if strings.Contains("/"+name+"/", "/../") {
		return ""
	}
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	abs := ""
	for i := range dirs {
		if !dirs[i].Known() || !path.IsAbs(dirs[i].Text) {
			return ""
		}
		here := path.Join(dirs[i].Text, name)
		if i > 0 && here != abs {
			return ""
		}
		abs = here
	}
	return abs
}
