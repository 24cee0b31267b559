package whitelist

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files implements Look for a workspace and the directories of PATH.
type Files struct {
	Dir  string // the workspace
	Path string // the value of PATH
}

var _ Look = Files{}

// Scripts returns the names of the scripts in the workspace's package.json.
func (f Files) Scripts() ([]string, error) {
	data, err := f.readFirst("package.json")
	if err != nil {
		return nil, err
	}
	names, _, err := scriptsOf(data)
	return names, err
}

// Targets returns the names of the targets in the workspace's Makefile.
func (f Files) Targets() ([]string, error) {
	data, err := f.readFirst(makefiles...)
	return targetsOf(data), err
}

// readFirst reads the first of the named files that exists.
func (f Files) readFirst(names ...string) ([]byte, error) {
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range names {
		info, err := root.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular() || info.Size() > maxFile:
			return nil, fs.ErrInvalid
		}
		return root.ReadFile(name)
	}
	return nil, fs.ErrNotExist
}

// OnPath reports whether a directory of PATH has the named program; a name with
// a slash is a path.
func (f Files) OnPath(name string) bool {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(f.Dir, name)
		}
		return executable(name)
	}
	for _, dir := range filepath.SplitList(f.Path) {
		if filepath.IsAbs(dir) && executable(filepath.Join(dir, name)) {
			return true
		}
	}
	return false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
