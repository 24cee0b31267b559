package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/shell"
)

// DefaultLimit is how many names Below looks at where Env sets no limit.
const DefaultLimit = 20_000

// Env is the real file system.
type Env struct {
	Place patterns.Place // of the rules that Below is asked about
	Limit int            // of names that Below looks at; 0: DefaultLimit
}

// Resolve follows the symbolic links of an absolute path. What does not exist
// resolves through its nearest existing parent. Not ok are links in a circle,
// directories that cannot be looked into, and paths that mean something else
// in each process (/proc/self).
func (Env) Resolve(name string) (real string, ok bool) { return follow(name, readlink) }

func readlink(at string) (target string, ok bool) {
	target, err := os.Readlink(at)
	switch {
	case err == nil:
		return target, target != ""
	case errors.Is(err, syscall.EINVAL): // no link
		return "", true
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", true
	}
	return "", false
}

// Below reports whether a path that the rule covers exists below dir; hidden
// says whether names beginning with a dot are looked at. Links to directories
// are not followed. Where the answer cannot be found, within the limit or at
// all, it is true.
func (e Env) Below(dir string, rule *patterns.Rule, hidden bool) bool {
	s := search{env: e, set: patterns.NewSet(e.Place, rule), subject: about(rule), hidden: hidden, left: e.Limit}
	if s.left == 0 {
		s.left = DefaultLimit
	}
	real, ok := e.Resolve(dir)
	return !ok || s.in(real, strings.TrimSuffix(dir, "/"))
}

// Links reports whether a name at most depth levels below dir is a symbolic
// link; also where that cannot be found within the limit.
func (e Env) Links(dir string, depth int) bool {
	left := e.Limit
	if left == 0 {
		left = DefaultLimit
	}
	return links(dir, depth, &left)
}

func links(dir string, depth int, left *int) bool {
	entries, err := list(dir, *left+1)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	for _, entry := range entries {
		if *left--; *left < 0 || entry.Type()&fs.ModeSymlink != 0 {
			return true
		}
		if depth > 1 && entry.IsDir() && links(path.Join(dir, entry.Name()), depth-1, left) {
			return true
		}
	}
	return false
}

// about is the kind of subject that the rule covers, without its path.
func about(rule *patterns.Rule) patterns.Subject {
	switch tool := rule.Tool(); tool {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return patterns.Subject{Kind: patterns.WritePath, Tool: tool}
	case "Grep", "Glob", "LS", "NotebookRead":
		return patterns.Subject{Kind: patterns.ReadPath, Tool: tool}
	}
	return patterns.Subject{Kind: patterns.ReadPath, Tool: "Read"}
}

// search is one walk.
type search struct {
	env     Env
	set     *patterns.Set
	subject patterns.Subject
	hidden  bool
	left    int // names that may still be looked at
}

// in looks below the directory that is called name and really is real.
func (s *search) in(real, name string) bool {
	entries, err := list(real, s.left+1)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	for _, entry := range entries {
		if !s.hidden && strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if s.left--; s.left < 0 {
			return true
		}
		if s.covers(name + "/" + entry.Name()) {
			return true
		}
		if entry.IsDir() && s.in(path.Join(real, entry.Name()), name+"/"+entry.Name()) {
			return true
		}
	}
	return false
}

// list returns at most n names of a directory.
func list(dir string, n int) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
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
