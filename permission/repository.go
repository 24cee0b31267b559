package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// obeyed is why a command may run a program that the repository names, the zero
// value if it runs none.
func (r *reading) obeyed(does *shell.Action) shell.Why {
	if !does.ObeysRepository() {
		return r.asksHost(does)
	}
	for i := range does.Config {
		if !does.Config[i].Known() {
			return shell.Why{Cause: shell.CauseRepositoryUnread, Name: does.Program.Name}
		}
		s := r.repository(does.Config[i].Text)
		if !s.ok {
			return shell.Why{Cause: shell.CauseRepositoryUnread, Name: does.Program.Name}
		}
		if found, ok := does.Obeyed(s.list); ok {
			return shell.Why{Cause: shell.CauseRepositoryRuns, Name: does.Program.Name, Of: found.Key}
		}
	}
	return shell.Why{}
}

// asksHost is why a command may ask a host that a file of the project names, or send it a
// variable, the zero value if it asks none.
func (r *reading) asksHost(does *shell.Action) shell.Why {
	asks, ok := does.Asks()
	if !ok {
		return shell.Why{}
	}
	name := path.Base(does.Words[0].Text)
	unread := func(file string) shell.Why {
		return shell.Why{Cause: shell.CauseHostsUnread, Name: name, Of: file}
	}
	var files []string
	for i := range asks.Files {
		if !asks.Files[i].Known() {
			return unread("a file that its words name")
		}
		files = append(files, asks.Files[i].Text)
	}
	var all []shell.Named
	for _, dir := range r.projects(does, len(files) > 0) {
		if dir == "" || r.env == nil {
			return unread("the configuration of its project")
		}
		for _, reg := range asks.Registries {
			places := []string{dir}
			for i := range asks.Places {
				if shell.Inward(reg) {
					places = append(places, placeIn(dir, asks.Places[i].Text))
				}
			}
			for _, place := range places {
				named, ok := r.hosts(reg, place, files)
				if !ok {
					return unread(named[0].File)
				}
				all = append(all, named...)
			}
		}
	}
	if worst, ok := shell.Worst(all, asks.Seldom); ok {
		return worst.Why(name)
	}
	return shell.Why{}
}

// placeIn returns a path that may be relative to a directory.
func placeIn(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// hosts returns what the files of a registry name in a directory. They are read once, as the
// settings of a repository are.
func (r *reading) hosts(reg *program.Registry, dir string, files []string) ([]shell.Named, bool) {
	for _, known := range r.projectHosts {
		if known.of == reg && known.dir == dir && slices.Equal(known.files, files) {
			return known.named, known.ok
		}
	}
	found := projectHosts{of: reg, dir: dir, files: files}
	found.named, found.ok = r.env.Hosts(reg, dir, files)
	r.projectHosts = append(r.projectHosts, found)
	return found.named, found.ok
}

// projectHosts holds what the files of a registry name in a directory.
type projectHosts struct {
	of    *program.Registry
	dir   string
	files []string
	named []shell.Named
	ok    bool
}

// projects returns the directories in which a command looks for the files of its project, ""
// for an unknown one. A program that takes none from its working directory (pip) has those of
// the session's, unless its words name files.
func (r *reading) projects(does *shell.Action, files bool) []string {
	dirs := does.Config
	if len(dirs) == 0 {
		dirs = does.Dirs
	}
	var names []string
	for i := range dirs {
		switch {
		case dirs[i].Known():
			names = append(names, dirs[i].Text)
		case len(does.Config) == 0 && !files:
			names = append(names, r.dir)
		default:
			names = append(names, "")
		}
	}
	return names
}

// repository returns the settings of the repository that a directory lies in. They
// are asked for once, so that all that is asked about a tool use is about the same.
func (r *reading) repository(dir string) repository {
	for _, known := range r.repositories {
		if known.dir == dir {
			return known
		}
	}
	found := repository{dir: dir}
	if r.env != nil {
		found.list, found.ok = r.env.Settings(dir)
	}
	r.repositories = append(r.repositories, found)
	return found
}

// repository holds the settings of the repository that dir lies in; not ok: they may
// be any.
type repository struct {
	dir  string
	list []shell.Setting
	ok   bool
}

// namesElsewhere reports whether a command that is unproven only because it runs in
// a git repository outside the workspace shows no contents of files there, and runs
// nothing: the repository is the user's own, its configuration names no program that
// the command would run, and the line writes nothing outside the workspace.
func (e *evaluation) namesElsewhere(does *shell.Action) bool {
	if !does.NamesElsewhere() || e.env == nil || slices.ContainsFunc(e.acts, func(a act) bool {
		return a.sub.Kind == patterns.WritePath && !a.inside
	}) {
		return false
	}
	for i := range does.Config {
		if dir := &does.Config[i]; !dir.Known() || !e.trusted(does.Config[i:i+1]) && !e.ownRepository(dir.Text) {
			return false
		}
	}
	return e.obeyed(does) == shell.Why{}
}

// ownRepository reports whether the repository that a directory lies in is the
// user's own, with all directories between, or the directory is not there and nobody
// else can make it. git itself refuses the repositories of others, unless
// safe.directory names them. What lies below a directory with a dot
// (~/.password-store) is no project, and what lies with the temporary files may have
// been unpacked there.
func (r *reading) ownRepository(dir string) bool {
	at, ok := r.resolve(dir)
	if !ok || strings.Contains(at, "/.") || subpath.Within(at, "/tmp") || r.know.scratch != nil && r.know.scratch.entry(at) != "" {
		return false
	}
	there := true
	for ; at != "/"; at = path.Dir(at) {
		exists, own := r.env.Entry(at)
		switch {
		case !exists:
			there = false
			continue
		case !own:
			return false
		case !there:
			return true
		}
		if exists, own := r.env.Entry(at + "/.git"); exists {
			return own
		}
	}
	return false
}
