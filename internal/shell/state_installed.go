package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// environments are the directories in which the programs lie that a project's packages
// bring along, by the end of their paths (docs.python.org/3/library/venv.html,
// npm-folders(5), getcomposer.org/doc/articles/vendor-binaries.md).
var environments = []string{"/.venv/bin", "/venv/bin", "/env/bin", "/node_modules/.bin", "/vendor/bin"}

// installed returns the name of a program that is called by its path in an environment
// of the workspace, "" for any other. Only programs that packages bring along count:
// a cat in .venv/bin is not the cat that a rule means.
func (w *walker) installed(name *Word, dirs []Word, p *program.Program) string {
	if p == nil || p.Facts&program.Packaged == 0 || !strings.Contains(name.Text, "/") || !w.inEnvironment(*name, dirs) {
		return ""
	}
	return base(name.Text)
}

// inEnvironment reports whether a file lies in an environment of the workspace.
func (w *walker) inEnvironment(file Word, dirs []Word) bool {
	places := beneath(dirs, file)
	return len(places) > 0 && !slices.ContainsFunc(places, func(at Word) bool {
		dir := path.Dir(at.Text)
		return strings.Contains(at.Text, "/../") || !w.inside(&at) ||
			!slices.ContainsFunc(environments, func(end string) bool { return strings.HasSuffix(dir, end) })
	})
}
