package patterns

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/program"
	"github.com/agent-wrapper/agent-wrapper/shell"
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
	if !sub.takesScript() || len(a.Words) < 2 || strings.HasPrefix(a.Words[1].Text, "-") {
		return -1
	}
	return 1
}

// takesScript reports whether the program is an interpreter that is given a program file.
func (sub *Subject) takesScript() bool {
	p := sub.Command.Program
	return p != nil && p.Operands == program.Script && len(p.Subs) == 0 && p.Special != "awk"
}

// namesScript reports whether the file name in a rule such as "python *.py *" can be that of
// a program file, in a place where the rule counts. It is not where an option chooses the
// program (-m), and a file of another place, which -r loads too, needs a rule that names it.
// Files of the workspace count alike: a test runner takes the *.py behind it.
func (r *Rule) namesScript(sub *Subject) bool {
	words := r.command.words
	if len(words) < 2 || words[1][0] != wild || !strings.Contains(words[1], ".") ||
		sub.Command == nil || !sub.takesScript() {
		return true
	}
	for _, arg := range sub.scanned().Args {
		switch {
		case arg.Kind == shell.ArgOperand:
			file := &sub.Command.Words[arg.Word]
			return file.Text != "-" && r.isPlaced(file, sub.Command.Dirs)
		case arg.Kind != shell.ArgOption:
		case choosesProgram(arg.Option.Effect), isFile(arg) && !r.isPlaced(&arg.Value, sub.Command.Dirs):
			return false
		}
	}
	return false
}

// choosesProgram reports whether an option of an interpreter says what is run in place of
// a program file.
func choosesProgram(effect program.Effect) bool {
	switch effect {
	case program.EffCode, program.EffModule, program.EffRun, program.EffOpaque:
		return true
	}
	return false
}

// isFile reports whether an option of an interpreter names a file that is run as well.
func isFile(arg shell.Arg) bool {
	switch arg.Option.Effect {
	case program.EffProgram, program.EffPlugin:
		return arg.ValueAt >= 0 && (arg.Value.Text == "" || strings.IndexByte("./~", arg.Value.Text[0]) >= 0)
	}
	return false
}

// isPlaced reports whether a file is certainly one of the places in which the rule counts.
func (r *Rule) isPlaced(file *shell.Word, dirs []shell.Word) bool {
	if !file.Known() && (file.Split || !globOnly(file.Holes)) {
		return false
	}
	name := file.Filled(wildcard)
	if path.IsAbs(name) {
		return r.isNear(path.Clean(name))
	}
	for i := range dirs {
		if !dirs[i].Known() || !r.isNear(path.Join(dirs[i].Text, name)) {
			return false
		}
	}
	return len(dirs) > 0
}

// isNear reports whether a file lies below the directory of the rule's file, or in the
// workspace.
func (r *Rule) isNear(file string) bool {
	return r.source.Dir != "" && isBelow(file, r.source.Dir) || isBelow(file, r.place.Workspace) ||
		slices.ContainsFunc(r.place.Roots, func(root string) bool { return isBelow(file, root) })
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
