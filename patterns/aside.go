package patterns

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// plainer returns the subject's command in the forms that an allow rule covers as
// well: a program of the project's own environment by its name (.venv/bin/pytest),
// without the options that the catalogue calls aside (pnpm -r test, git
// --no-pager log), and a script with and without the word run (pnpm run test). What
// makes a command unproven stays with the forms.
func (sub *Subject) plainer() []*Subject {
	if !sub.plained {
		sub.plained = true
		a := sub.Command
		switch {
		case a == nil || a.Program == nil || !a.Words[0].Known():
		case a.Installed != "":
			words := append([]shell.Word{{Text: a.Installed}}, a.Words[1:]...)
			named := (spelling{sub: sub, sure: Yes}).with(words, Yes).sub
			sub.plain = append([]*Subject{named}, plainForms(named)...)
		case len(a.Words) > 1 && len(a.Program.Aside) > 0 && !strings.Contains(a.Words[0].Text, "/"):
			sub.plain = plainForms(sub)
		}
	}
	return sub.plain
}

func plainForms(sub *Subject) []*Subject {
	from := spelling{sub: sub, sure: Yes}
	words := withoutAside(sub)
	var forms []*Subject
	add := func(words []shell.Word) {
		if !sameWords(from.with(words, Yes).sub, sub) {
			forms = append(forms, from.with(words, Yes).sub)
		}
	}
	add(words)
	for _, script := range scriptForms(from.with(words, Yes).sub) {
		add(script)
	}
	return forms
}

// withoutAside returns the words of a command without the options aside that stand
// before its subcommand, or before the script that it runs.
func withoutAside(sub *Subject) []shell.Word {
	words, scan := sub.Command.Words, sub.scanned()
	end := nameAt(&scan)
	drop := map[int]bool{}
	for _, arg := range scan.Args {
		if arg.Word >= end {
			continue
		}
		aside := arg.Kind == shell.ArgOption && isAside(sub.Command.Program, arg.Option)
		if before, seen := drop[arg.Word]; seen && !before {
			aside = false // of a cluster, an option that is not aside
		}
		drop[arg.Word] = aside
		if aside && arg.ValueAt > arg.Word {
			drop[arg.ValueAt] = true
		}
	}
	var kept []shell.Word
	for i := range words {
		if !drop[i] {
			kept = append(kept, words[i])
		}
	}
	return kept
}

// nameAt returns the index of the word that names what is done: the subcommand, or
// the first operand of a program or subcommand that runs it.
func nameAt(scan *shell.Scan) int {
	end := 0
	for _, arg := range scan.Args {
		switch {
		case arg.Kind == shell.ArgSubcommand:
			end = arg.Word
		case arg.Kind == shell.ArgOperand && (len(scan.Path) == 0 || runs(scan.Path)):
			return arg.Word
		}
	}
	return end
}

func runs(path []string) bool { return slices.Contains([]string{"run", "exec"}, path[len(path)-1]) }

func isAside(p *program.Program, o *program.Option) bool {
	return slices.ContainsFunc(o.Names, func(name string) bool { return slices.Contains(p.Aside, name) })
}

// scriptForms returns other spellings of a command that runs a script of
// package.json (npm-run(1), pnpm.io/cli/run, yarnpkg.com/cli/run,
// bun.sh/docs/cli/run). The script test of bun is not its command test.
func scriptForms(sub *Subject) [][]shell.Word {
	words := sub.Command.Words
	manager, name := words[0], ""
	if !slices.Contains(managers, manager.Text) || len(words) < 2 || !words[1].Known() {
		return nil
	}
	name = words[1].Text
	script := func(words []shell.Word) [][]shell.Word {
		forms := [][]shell.Word{append([]shell.Word{manager, {Text: "run"}}, words...)}
		if manager.Text != "bun" && words[0].Known() && slices.Contains(lifecycle, words[0].Text) {
			forms = append(forms, append([]shell.Word{manager}, words...))
		}
		return forms
	}
	switch {
	case name == "run":
		if len(words) > 2 {
			return script(words[2:])
		}
	case name == "workspace" && manager.Text == "yarn" && len(words) > 3:
		there := append([]shell.Word{manager}, words[3:]...)
		return append(scriptForms(spelling{sub: sub, sure: Yes}.with(there, Yes).sub), there)
	case slices.Contains(lifecycle, name) && manager.Text != "bun", manager.Text != "npm" && len(sub.scanned().Path) == 0 && scriptName(name):
		return script(words[1:])
	}
	return nil
}

// managers are the package managers that run the scripts of package.json.
var managers = []string{"npm", "pnpm", "yarn", "bun"}

// runsScript reports whether these words run a script by its name.
func runsScript(words []shell.Word) bool {
	return len(words) > 2 && slices.Contains(managers, words[0].Text) && words[1].Text == "run" ||
		len(words) > 1 && words[0].Text == "npm" && slices.Contains(lifecycle, words[1].Text)
}

// lifecycle are the scripts that are run without the word run.
var lifecycle = []string{"test", "start", "stop", "restart"}

// scriptName reports whether a word can only be a script's name or a program's, and
// is neither an option nor a file.
func scriptName(word string) bool {
	return word != "" && word[0] != '-' && !strings.ContainsAny(word, "/.\\")
}
