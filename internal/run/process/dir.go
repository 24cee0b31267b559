package process

import (
	"fmt"
	"os"
)

// Dir is a directory that is held open. A program that is started in its Path runs
// there on Linux, whatever has taken the directory's place meanwhile. Elsewhere it runs
// where that path leads when it starts.
type Dir struct {
	path string
	file *os.File // nil where a path is all there is
}

// OpenDir opens a directory by an absolute path. The error says that it cannot be
// opened, or that a part of the path is a link. The caller closes the directory when
// the program has started.
func OpenDir(path string) (*Dir, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, fmt.Errorf("%s is not the directory any more in which the command was to run: %w", path, err)
	}
	return d, nil
}

// Path returns the path for exec.Cmd.Dir or Command.Dir, until the directory is closed.
func (d *Dir) Path() string {
	if d.file == nil {
		return d.path
	}
	return fmt.Sprintf("/proc/self/fd/%d", d.file.Fd())
}

// Close closes the directory.
func (d *Dir) Close() error {
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}
