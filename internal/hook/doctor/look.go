package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
)

// look collects what is found out about one host.
type look struct {
	*Machine
	host     string
	version  string // as the host prints it
	findings []Finding
}

func (l *look) ok(format string, args ...any) {
	l.findings = append(l.findings, Finding{OK, fmt.Sprintf(format, args...), ""})
}

func (l *look) warn(text, fix string) { l.findings = append(l.findings, Finding{Warn, text, fix}) }

func (l *look) red(text, fix string) { l.findings = append(l.findings, Finding{Red, text, fix}) }

// install is what to run to have our hook put in again.
func (l *look) install() string { return "Run agent-wrapper install " + l.host + "." }

// files are the configuration of a host by scope. A nil list is a scope that the host
// does not have.
type files struct {
	managed, user, project []doc
	event                  string // that is raised before each tool use
	noVoid                 bool   // the host does not start with a file that it cannot read
}

// usual looks for our hook in the files, and for what is wrong with it. It returns the
// hooks of ours by scope.
func (l *look) usual(f files) (managed, user []handler) {
	l.unread(f)
	managed, user = ours(f.event, f.managed...), ours(f.event, append(append([]doc{}, f.user...), f.project...)...)
	switch {
	case len(managed) > 0:
		l.ok("The hook is installed for the machine: %s.", managed[0].doc.shown)
	case len(user) > 0:
		l.ok("The hook is installed: %s.", user[0].doc.shown)
	default:
		l.red("The hook of agent-wrapper is not installed: every tool use passes undecided.", l.install())
	}
	for _, e := range append(append([]handler{}, managed...), user...) {
		l.narrow(e)
	}
	return managed, user
}

// unread tells of files that cannot be read.
func (l *look) unread(f files) {
	if f.noVoid {
		return
	}
	for _, scope := range [][]doc{f.managed, f.user, f.project} {
		for _, d := range scope {
			if d.err != nil {
				l.red(fmt.Sprintf("%s cannot be read (%v): the host ignores it without a word, and the hooks in it.", d.shown, d.err), "Correct it.")
			}
		}
	}
}

// narrow tells of a hook that is called for some tools only, or has too little time.
func (l *look) narrow(e handler) {
	if !e.all() {
		l.red(fmt.Sprintf("%s: the hook is called for the tools %q only; the others pass undecided.", e.doc.shown, e.matcher), "Leave its matcher out. "+l.install())
	}
	if e.fields["async"] == true {
		l.red(e.doc.shown+": the hook is async, so the host does not wait for its answer.", "Leave async out. "+l.install())
	}
}

// others tells of hooks of others for the same event. One that replaces the input of a
// tool has the last word on what runs.
func (l *look) others(f files) {
	for _, scope := range [][]doc{f.managed, f.user, f.project} {
		for _, d := range scope {
			for _, e := range d.entries(f.event) {
				if !e.ours() {
					l.other(e)
				}
			}
		}
	}
}

func (l *look) other(e handler) {
	name := clipped(e.command())
	if l.rewrites(e.command()) {
		l.red(fmt.Sprintf("%s: another hook replaces the input of tools (%s): what runs need not be what agent-wrapper decided.", e.doc.shown, name), "Take it out, or have it leave inputs alone.")
		return
	}
	l.warn(fmt.Sprintf("%s: another hook is called for tools too (%s). If it replaces an input, what runs is not what agent-wrapper decided.", e.doc.shown, name), "Look at what it does.")
}

// rewriting are the fields by which hooks replace the input of a tool.
var rewriting = []string{"updatedInput", "modifiedArgs", "updated_input", `"tool_input":`}

// rewrites reports whether a command, or a file that it names, has words by which a
// hook replaces an input.
func (l *look) rewrites(command string) bool {
	texts := []string{command}
	for _, word := range strings.Fields(command) {
		if path := l.expanded(strings.Trim(word, `'"`)); filepath.IsAbs(path) {
			texts = append(texts, head(path))
		}
	}
	all := strings.Join(texts, "\n")
	for _, field := range rewriting {
		if strings.Contains(all, field) {
			return true
		}
	}
	return false
}

// expanded returns the path that a word of a command names, if it is one of a file that
// is there.
func (l *look) expanded(word string) string {
	for _, at := range []struct{ prefix, dir string }{{"~/", l.Home}, {"$HOME/", l.Home}, {"$CLAUDE_PROJECT_DIR/", l.Dir}, {"${CLAUDE_PROJECT_DIR}/", l.Dir}} {
		if rest, ok := strings.CutPrefix(word, at.prefix); ok {
			return filepath.Join(at.dir, rest)
		}
	}
	if strings.Contains(word, "/") && !filepath.IsAbs(word) {
		return filepath.Join(l.Dir, word)
	}
	return word
}

// head returns the beginning of a script, "" if it is none.
func head(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return ""
	}
	data, _ := os.ReadFile(path)
	return string(data)
}

// clipped returns a command for a line of text.
func clipped(command string) string {
	const most = 60
	command = strings.Join(strings.Fields(command), " ")
	if r := []rune(command); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return command
}

// guarded tells of our hooks that do not stop a tool when they fail, in hosts that call
// a command line. guard is what has a failing hook stop the tool.
func (l *look) guarded(list []handler) {
	for _, e := range list {
		if !entry.Denies(e.command()) {
			l.red(e.doc.shown+": the command of the hook does not turn its own failure into a denial. If agent-wrapper is missing, is killed or takes too long, tools pass undecided.", l.install())
			return
		}
	}
}

// doors tells of what a host never calls a hook for.
func (l *look) doors(list ...[2]string) {
	for _, d := range list {
		l.warn("Known to be open: "+d[0], d[1])
	}
}
