package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Above is a directory above the workspace whose policies count in it.
type Above struct {
	Dir string // absolute
	// Beyond reports that the workspace belongs to another repository, which lies
	// between. Only a policy that a person has trusted counts from there.
	Beyond bool
}

// Upward returns the directories above dir that are searched for policies, the
// nearest first: those up to the root of the repository that dir is in, and if
// that lies in a further repository, up to the root of the outermost one. Without
// a repository there are none. Then come the further roots of the workspace, with
// those above each. All are absolute and without symbolic links.
//
// A directory with an entry .git is the root of a repository, whatever the entry
// is. To make one can therefore end the search for policies that nobody has
// trusted, but not for others.
func Upward(dir string, roots ...string) []Above {
	all := upward(dir)
	for _, root := range roots {
		for _, up := range append([]Above{{Dir: root}}, upward(root)...) {
			at := slices.IndexFunc(all, func(a Above) bool { return a.Dir == up.Dir })
			switch {
			case up.Dir == dir:
			case at < 0:
				all = append(all, up)
			default:
				all[at].Beyond = all[at].Beyond && up.Beyond
			}
		}
	}
	return all
}

// upward is Upward without further roots.
func upward(dir string) []Above {
	var all []Above
	last, beyond := 0, isRepository(dir)
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		all = append(all, Above{Dir: up, Beyond: beyond})
		if isRepository(up) {
			last, beyond = len(all), true
		}
	}
	return all[:last]
}

// isRepository reports whether a directory is the root of a repository.
func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// foreignError is the error for a policy that was found and that neither the
// person nor root owns.
type foreignError struct {
	Path string
	UID  uint32
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s is ignored: its owner is user %d, not you or root", e.Path, e.UID)
}

// readFound reads a policy that was found rather than named. It must be a regular
// file of the person or of root, and so must a link that leads to it. The file
// that is examined is the one that is read.
func readFound(path string) (*Spec, error) {
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		if err := checkOwner(path, look); err != nil {
			return nil, err
		}
	}
	if err := regular(path); err != nil { // opening a pipe would block
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkOwner(path, func(string) (fs.FileInfo, error) { return f.Stat() }); err != nil {
		return nil, err
	}
	data, err := readAll(f)
	if err != nil {
		return nil, err
	}
	return Parse(data, path)
}

// Foreign returns an error if neither the person nor root owns the file, or the link
// to it, at path: a file that was found then does not count.
func Foreign(path string) error {
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		if err := checkOwner(path, look); errors.As(err, new(*foreignError)) {
			return err
		}
	}
	return nil
}

// checkOwner returns a foreignError if somebody else owns a file.
func checkOwner(path string, look func(string) (fs.FileInfo, error)) error {
	info, err := look(path)
	if err != nil {
		return err
	}
	if uid, ok := owner(info); ok && !isOurs(uid) {
		return &foreignError{path, uid}
	}
	return nil
}

// relativeTo makes relative paths in the rules refer to a directory, "" for the
// workspace.
func (s *Spec) relativeTo(dir string) {
	for _, list := range [][]Item{s.Allow, s.Ask, s.Deny, s.Approved} {
		for i := range list {
			list[i].Source.Dir = dir
		}
	}
	for i := range s.Rules {
		s.Rules[i].Source.Dir = dir
	}
	for i := range s.RiskOverrides {
		s.RiskOverrides[i].Source.Dir = dir
	}
}
