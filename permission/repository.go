package permission

import "github.com/agent-wrapper/agent-wrapper/shell"

// obeyed is why a command may run a program that the repository names, the zero
// value if it runs none.
func (r *reading) obeyed(does *shell.Action) shell.Why {
	if !does.ObeysRepository() {
		return shell.Why{}
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
