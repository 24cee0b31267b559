package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// scratch holds a session's places for temporary files. It is not modified once
// stored; its methods take nil for none.
type scratch struct {
	dir   string   // the private directory, "" for none
	temps []string // the directories that everybody's temporary files lie in
	made  []string // entries of temps that the session has made
	trees []string // copies of the workspace that the session has made
}

// Scratch gives the session places for temporary files. Everything below dir,
// which must be a directory of the session's own and the value of TMPDIR in the
// agent's shell, counts as in the workspace and may be written and removed; "" is
// none. Below temps this holds for entries that do not exist until the agent writes
// there. All paths are absolute, clean, and without symbolic links; of a directory
// that a link leads to, temps may have both names. What the session has made remains
// known. Rules that deny or ask, a list
// that denies what it does not name, and protected names go before.
func (s *Session) Scratch(dir string, temps ...string) {
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	next.scratch = &scratch{dir: dir, temps: slices.Clone(temps), made: next.scratch.entries(), trees: next.scratch.copies()}
	s.state.Store(&next)
}

// Worktrees makes directories count as in the workspace, as Place.Roots do: copies of it
// that the agent has made for itself in this session. All are absolute, clean, and
// without symbolic links. They stand in place of those of the last call.
func (s *Session) Worktrees(dirs ...string) {
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	places := scratch{}
	if next.scratch != nil {
		places = *next.scratch
	}
	places.trees = slices.Clone(dirs)
	next.scratch = &places
	s.state.Store(&next)
}

// made adds entries of the temporary directories that the session has made.
func (s *Session) made(entries []string) {
	if len(entries) == 0 {
		return
	}
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	if next.scratch == nil {
		return
	}
	places := *next.scratch
	places.made = slices.Concat(places.made, entries)
	next.scratch = &places
	s.state.Store(&next)
}

// madeBy notes the temporary files that an allowed tool use makes.
func (v *Evaluator) madeBy(r *reading, b Behavior) {
	if b != Allow || r == nil || r.know.scratch == nil {
		return
	}
	var entries []string
	for i := range r.actions {
		a := &r.actions[i]
		if !a.scratch || a.sub.Kind != patterns.WritePath || a.does.NoFollow {
			continue // what is removed or moved away is not made
		}
		for _, form := range a.forms {
			if entry := r.know.scratch.entry(form.Text); entry != "" && !slices.Contains(r.know.scratch.made, entry) {
				entries = append(entries, entry)
			}
		}
	}
	v.Session.made(entries)
}

// in returns what the policy knows, in a session.
func (k Knowledge) in(session *standing) Knowledge { return k.with(session.scratch) }

// with returns the knowledge with places for temporary files, and copies of the
// workspace. The private directory is the last of the workspace's roots.
func (k Knowledge) with(s *scratch) Knowledge {
	k.scratch = s
	k.Place.Roots = append(slices.Clip(k.Place.Roots), s.copies()...)
	if dir := s.privateDir(); dir != "" {
		k.Place.Roots = append(slices.Clip(k.Place.Roots), dir)
	}
	return k
}

// privateDir returns the session's private directory, "" if it has none.
func (s *scratch) privateDir() string {
	if s == nil {
		return ""
	}
	return s.dir
}

// copies returns the copies of the workspace that the session has made.
func (s *scratch) copies() []string {
	if s == nil {
		return nil
	}
	return s.trees
}

// entries returns what the session has made.
func (s *scratch) entries() []string {
	if s == nil {
		return nil
	}
	return s.made
}

// entry returns the entry of a temporary directory that a path is or lies below,
// "" for a path elsewhere or in the private directory.
func (s *scratch) entry(name string) string {
	if s.dir != "" && subpath.Within(name, s.dir) {
		return ""
	}
	for _, temp := range s.temps {
		if rest, ok := subpath.Below(name, temp); ok {
			first, _, _ := strings.Cut(rest, "/")
			return temp + "/" + first
		}
	}
	return ""
}

// findScratch marks the reads and writes of the session's temporary files. What is
// in the private directory but may become a link is not in the workspace either.
func (r *reading) findScratch() {
	if r.know.scratch == nil {
		return
	}
	linkers := r.linkers()
	for i := range r.actions {
		a := &r.actions[i]
		if a.sub.Path == nil || a.does.Unnamed {
			continue
		}
		private := r.know.scratch.dir != "" && a.sub.Path.Under(r.know.scratch.dir) == patterns.Yes
		if private || r.ownEntries(a.sub.Path) {
			a.scratch = !r.hardLinks(a) && !r.linkedInLine(a, linkers)
			a.inside = a.scratch
		}
	}
}

// ownEntries reports whether a path is proven to lie in an entry of a temporary
// directory that the session has made, or that nobody has made yet.
func (r *reading) ownEntries(p *patterns.Path) bool {
	if p.Under(r.know.scratch.temps...) != patterns.Yes {
		return false
	}
	for _, form := range p.Forms() {
		entry := r.know.scratch.entry(form.Text)
		if len(form.Holes) > 0 || entry == "" || r.env == nil {
			return false
		}
		exists, own := r.env.Entry(entry)
		if exists && !(own && slices.Contains(r.know.scratch.made, entry)) {
			return false
		}
	}
	return true
}

// scratchReason is the reason for letting an action run that only concerns
// temporary files of the session.
const scratchReason = "scratch: only temporary files of this session"

// calm lowers to safe what only makes, reads or removes temporary files of the
// session: such writes, and the commands whose purpose they are.
func (e *evaluation) calm() {
	if e.know.scratch == nil {
		return
	}
	for i := range e.acts {
		a := &e.acts[i]
		if a.scratch && a.sub.Kind == patterns.WritePath && !a.protected || e.onlyScratch(i) {
			a.calm, a.class, a.why, a.reworded = true, risk.Safe, scratchReason, true
		}
	}
}

// onlyScratch reports whether act i is a command whose purpose is to write its
// operands, all of which are temporary files of the session, and that reads nothing
// outside the workspace.
func (e *evaluation) onlyScratch(i int) bool {
	by := &e.acts[i]
	if by.sub.Kind != patterns.RunCommand || by.does.Unproven() || nameOf(by.does) == "" || nameOf(by.does) != by.does.Words[0].Text || opens(by) {
		return false
	}
	wrote := false
	for j := range e.acts {
		a := &e.acts[j]
		switch {
		case a.parent != i:
		case a.sub.Kind == patterns.ReadPath && a.inside:
		case a.sub.Kind == patterns.WritePath && a.scratch && !a.protected && (a.does.Purpose || isEditor(by)):
			wrote = true
		default:
			return false
		}
	}
	return wrote
}

// hardLinks reports whether an action of a command may make a file under a second
// name, so that a write there is one to a file elsewhere, or with other rights.
func (r *reading) hardLinks(a *action) bool {
	if a.parent < 0 {
		return false
	}
	by := r.actions[a.parent].does
	switch nameOf(by) {
	case "ln", "link", "install":
		return true
	case "cp":
		return mayHave(by.Words[1:], "ls")
	}
	return false
}

// nameOf returns the name of the program that a command runs, "" if it is not in
// the catalogue.
func nameOf(does *shell.Action) string {
	if does == nil || does.Program == nil {
		return ""
	}
	return does.Program.Name
}

// mayHave reports whether a command may have an option with one of the letters, be
// it a short one or the beginning of a long one.
func mayHave(words []shell.Word, letters string) bool {
	for i := range words {
		text := words[i].Text
		long := strings.HasPrefix(text, "--")
		switch {
		case words[i].MayBeOption():
			return true
		case text == "--":
			return false
		case long && strings.Contains(letters, text[2:3]), !long && strings.HasPrefix(text, "-") && strings.ContainsAny(text, letters):
			return true
		}
	}
	return false
}

// maxLinkers is the number of writes of a line that may make links beyond which
// nothing is proven to be a temporary file.
const maxLinkers = 64

// linkers returns the writes of the line that may put symbolic links where they
// write.
func (r *reading) linkers() []*action {
	var all []*action
	for i := range r.actions {
		b := &r.actions[i]
		if b.sub.Kind == patterns.WritePath && b.parent >= 0 && !b.does.Redirect && !makesFiles(r.actions[b.parent].does, b.does) {
			all = append(all, b)
		}
	}
	return all
}

// linkedInLine reports whether another command of the line may put a symbolic link
// where the path of a is, or leads through: only links that exist can be resolved.
func (r *reading) linkedInLine(a *action, linkers []*action) bool {
	return len(linkers) > maxLinkers || slices.ContainsFunc(linkers, func(b *action) bool { return b.parent != a.parent && mayMeet(a, b) })
}

// makesFiles reports whether a command makes no symbolic links where it writes.
func makesFiles(by, write *shell.Action) bool {
	switch nameOf(by) {
	case "mkdir", "touch", "rm", "rmdir", "unlink", "tee", "truncate", "chmod":
		return true
	case "cp": // without -R, -d and -P it copies the targets of links (cp(1))
		return !write.Recursive && !mayHave(by.Words[1:], "adlnrsPR")
	}
	return false
}

// mayMeet reports whether the path of a may lead through a link that the command of
// b puts where it writes.
func mayMeet(a, b *action) bool {
	itself := (b.does.Purpose || b.does.Recursive) && !a.does.NoFollow
	through := a.does.Recursive && a.sub.Kind == patterns.ReadPath
	for _, x := range a.sub.Path.Forms() {
		for _, y := range b.forms {
			at, to := knownPart(x), knownPart(y)
			switch {
			case len(x.Holes)+len(y.Holes) > 0:
				if begins(at, to) || begins(to, at) {
					return true
				}
			case itself && same(at, to), subpath.BelowFold(at, to), through && subpath.BelowFold(to, at):
				return true
			}
		}
	}
	return false
}

// knownPart returns the text of a path up to what is unknown.
func knownPart(form shell.Word) string {
	if len(form.Holes) > 0 {
		return form.Text[:form.Holes[0].At]
	}
	return path.Clean(form.Text)
}

// begins reports whether a text begins with another one, ignoring case.
func begins(text, with string) bool {
	return len(text) >= len(with) && same(text[:len(with)], with)
}
