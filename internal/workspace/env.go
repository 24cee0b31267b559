package workspace

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// defaultLimit is the default of Env.Limit.
const defaultLimit = 20_000

// farLimit is how many times the limit is used to search for links alone.
const farLimit = 10

// Env is the real file system. It implements permission.Env and is safe for
// concurrent use. The zero value works for rules without relative paths.
type Env struct {
	Place patterns.Place // what paths in the rules that Below is given are relative to
	Limit int            // how many names Below examines; 0 means 20,000
	Pins  Pins           // the hosts that files of a project may name
}

// Resolve follows the symbolic links of an absolute path. A path that does not
// exist resolves through its nearest existing parent. ok is false for links in a
// circle, for directories that cannot be read, and for paths that mean something
// else in each process (/proc/self).
func (Env) Resolve(name string) (real string, ok bool) { return follow(name, readlink) }

// readlink is a reader. Most names are not links, so the system call is used
// directly: package os would allocate an error for each.
func readlink(at string) (target string, ok bool) {
	var room [256]byte
	for b := room[:]; ; {
		n, err := syscall.Readlink(at, b)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EINVAL, err == syscall.ENOENT, err == syscall.ENOTDIR:
			return "", true // not a link, or nothing
		case err != nil:
			return "", false
		case n < len(b):
			return string(b[:n]), n > 0
		default:
			b = make([]byte, 2*len(b))
		}
	}
}

// Below reports whether a path that the rule covers exists below dir; hidden says
// whether names that begin with a dot count, if no file such as .gitignore shows them (!.env).
// A link to a directory is followed if
// it leads to something that the rule may cover, because a program may follow it.
// The result is true if it cannot be determined, within the limit or at all.
// Directories in which only a link can lead to such a path (node_modules under a
// rule for ./.env) have a limit of their own, farLimit times as large, because
// their names need not be compared with the rule.
func (e Env) Below(dir string, rule *patterns.Rule, hidden bool) bool {
	set := patterns.NewSet(e.Place, rule)
	s := search{
		env: e, set: set, roots: set.Rules()[0].Roots(), subject: about(rule), hidden: hidden, left: e.Limit,
		seen: map[string]bool{},
	}
	if s.left == 0 {
		s.left = defaultLimit
	}
	real, ok := e.Resolve(dir)
	if ok && !hidden {
		s.readAbove(real)
	}
	return !ok || s.in(real, strings.TrimSuffix(dir, "/")) || s.linked()
}

// Links returns the symbolic links at most depth levels below dir, whose names begin
// with that of dir. all is false if a directory cannot be read, or farLimit times the
// limit of names does not suffice. Links are not followed.
func (e Env) Links(dir string, depth int) (links []string, all bool) {
	s := linkSearch{left: farLimit * cmp.Or(e.Limit, defaultLimit)}
	all = s.in(dir, depth)
	slices.Sort(s.found)
	return s.found, all
}

// Entry reports whether something is at a path, without following a link there, and
// whether it is a file or directory of the current user.
func (Env) Entry(name string) (exists, own bool) {
	info, err := os.Lstat(name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist), false
	}
	return true, (info.IsDir() || info.Mode().IsRegular()) && owned(info)
}

// linkSearch is the state of one call of Links.
type linkSearch struct {
	left  int // number of names that may still be examined
	found []string
}

// in examines a directory, and reports whether all of it could be examined.
func (s *linkSearch) in(dir string, depth int) bool {
	entries, err := list(dir, s.left+1)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	}
	all := true
	for _, entry := range entries {
		if s.left--; s.left < 0 {
			return false
		}
		switch name := path.Join(dir, entry.Name()); {
		case entry.Type()&fs.ModeSymlink != 0:
			s.found = append(s.found, name)
		case depth > 1 && entry.IsDir():
			all = s.in(name, depth-1) && all
		}
	}
	return all
}

// about returns the kind of subject that the rule covers, without a path.
func about(rule *patterns.Rule) patterns.Subject {
	t := tools.Builtin(rule.Tool())
	switch {
	case t != nil && t.Does == tools.Write:
		return patterns.Subject{Kind: patterns.WritePath, Tool: rule.Tool()}
	case t != nil && t.Does == tools.Read:
		return patterns.Subject{Kind: patterns.ReadPath, Tool: rule.Tool()}
	}
	return patterns.Subject{Kind: patterns.ReadPath, Tool: tools.Reader}
}

// search is the state of one call of Below.
type search struct {
	env     Env
	set     *patterns.Set
	roots   []string // directories that contain everything that the rule covers
	subject patterns.Subject
	hidden  bool
	left    int             // number of names that may still be examined
	seen    map[string]bool // directories that were examined
	later   []place         // directories in which only a link can lead to what the rule covers
	links   bool            // later is being examined
	shown   ignorer         // what shows hidden names
}

// readAbove reads what the directories above one say of hidden names.
func (s *search) readAbove(dir string) {
	var above []string
	for dir != "/" && dir != "." {
		dir = path.Dir(dir)
		above = append(above, dir)
	}
	for _, dir := range slices.Backward(above) {
		s.hidden = s.hidden || !s.shown.readShown(dir)
	}
}

// place is a directory, by its resolved path and by the path that it was reached
// by.
type place struct{ real, name string }

// linked searches the directories in later for links.
func (s *search) linked() bool {
	s.links, s.left = true, farLimit*cmp.Or(s.env.Limit, defaultLimit)
	for i := range s.later {
		if s.in(s.later[i].real, s.later[i].name) {
			return true
		}
	}
	return false
}

// in examines the directory real, which was reached as name.
func (s *search) in(real, name string) bool {
	entries, err := list(real, s.left+1)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	s.seen[real] = true
	defer func(rules []ignoreRule) { s.shown.rules = rules }(s.shown.rules)
	if !s.hidden && slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return slices.Contains(ignoreFiles, entry.Name()) }) {
		s.hidden = !s.shown.readShown(real)
	}
	for _, entry := range entries {
		if !s.hidden && strings.HasPrefix(entry.Name(), ".") && !s.shown.shows(path.Join(real, entry.Name()), entry.IsDir()) {
			continue
		}
		if s.left--; s.left < 0 {
			return true
		}
		if s.at(place{path.Join(real, entry.Name()), name + "/" + entry.Name()}, entry.Type()) {
			return true
		}
	}
	return false
}

// at examines one name of a directory.
func (s *search) at(p place, kind fs.FileMode) bool {
	link := kind&fs.ModeSymlink != 0
	if (link || !s.links) && s.covers(p.name) {
		return true
	}
	switch {
	case link:
		return s.through(p.real, p.name)
	case !kind.IsDir():
		return false
	case s.links || s.below(p.name) || s.below(p.real):
		return s.in(p.real, p.name)
	}
	s.later = append(s.later, p)
	return false
}

// below reports whether the rule may cover a path at or below dir, judging by its
// name.
func (s *search) below(dir string) bool {
	asIs := func(name string) (string, bool) { return name, true }
	return patterns.NewPath(shell.Word{Text: dir}, "", s.env.Place, asIs).Below(s.set.Rules()[0], &s.subject)
}

// through examines the directory that the link at, reached as name, leads to,
// unless it was examined before or the rule covers nothing near it.
func (s *search) through(at, name string) bool {
	real, ok := s.env.Resolve(at)
	switch {
	case !ok:
		return true
	case s.seen[real]:
		return s.holds(name) && s.left > 0 && !subpath.Within(at, real) && s.in(real, name)
	}
	return (s.holds(name) || s.holds(real) || s.within(real)) && s.in(real, name)
}

// holds reports whether the rule may cover something below dir.
func (s *search) holds(dir string) bool {
	for _, root := range s.roots {
		if root == "/" || subpath.BelowFold(root, dir) {
			return true
		}
	}
	return false
}

// within reports whether the rule may cover everything in dir.
func (s *search) within(dir string) bool {
	for _, root := range s.roots {
		if dir == root || subpath.BelowFold(dir, root) {
			return true
		}
	}
	return false
}

// list returns at most n entries of a directory. Other files are not opened,
// because opening a pipe would block.
func list(dir string, n int) ([]fs.DirEntry, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, cmp.Or(err, error(syscall.ENOTDIR))
	}
	f, err := open(dir, true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(n)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return entries, err
}

func (s *search) covers(name string) bool {
	sub := s.subject
	sub.Path = patterns.NewPath(shell.Word{Text: name}, "", s.env.Place, s.env.Resolve)
	_, match := s.set.Match(&sub, patterns.Query{})
	return match != patterns.No
}
