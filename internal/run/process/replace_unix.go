//go:build unix

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeHolds is how much a pipe takes, on every system, before anybody reads it.
const pipeHolds = 4096

// Replace makes the process run another program, with argv, whose standard input is a text,
// or with nil that of the process. It returns only if that is not possible; standard input
// may be gone then. A text that is longer than a pipe holds is in a file of dir, which has
// no name any more.
func Replace(path string, argv []string, stdin []byte, dir string) error {
	if stdin != nil {
		in, err := holding(stdin, dir)
		if err != nil {
			return err
		}
		defer in.Close()
		if err := unix.Dup2(int(in.Fd()), 0); err != nil {
			return os.NewSyscallError("dup2", err)
		}
	}
	return &os.PathError{Op: "exec", Path: path, Err: unix.Exec(path, argv, os.Environ())}
}

// holding returns a file from which a text can be read.
func holding(text []byte, dir string) (*os.File, error) {
	if len(text) <= pipeHolds {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer w.Close()
		_, err = w.Write(text)
		return r, err
	}
	file, err := os.CreateTemp(dir, ".stdin-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	if _, err := file.Write(text); err != nil {
		return nil, err
	}
	_, err = file.Seek(0, 0)
	return file, err
}
