package execution

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
)

// Place is a directory of one run that only its user can read. It lasts as long
// as the run; that of a killed run is removed by the next.
type Place struct {
	dir  string
	lock func() // releases the lock that marks the run as alive
}

// NewPlace creates a place below base, creates base if necessary, and removes
// the places of killed runs.
func NewPlace(base string) (*Place, error) {
	p, err := newPlace(base)
	if err != nil {
		return nil, fmt.Errorf("private files cannot be kept: %w", err)
	}
	return p, nil
}

func newPlace(base string) (*Place, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, err
	}
	// Only the holder of this lock creates a place, or removes one that has no
	// lock of its own yet.
	unlock, err := atomicfile.Lock(base)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := sweep(base); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, placePrefix) // 0700
	if err != nil {
		return nil, err
	}
	lock, err := atomicfile.Lock(dir)
	if err != nil {
		os.Remove(dir)
		return nil, err
	}
	return &Place{dir, lock}, nil
}

const placePrefix = "run-"

// sweep removes the places of runs that are not alive.
func sweep(base string) error {
	old, err := filepath.Glob(filepath.Join(base, placePrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range old {
		unlock, free, err := atomicfile.TryLock(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !free:
			continue // gone, or in use
		case err != nil:
			return err
		}
		err = remove(dir)
		unlock()
		if err != nil {
			return fmt.Errorf("remove what a killed run left behind: %w", err)
		}
	}
	return nil
}

// Remove removes the place with its contents.
func (p *Place) Remove() error {
	err := remove(p.dir)
	p.lock()
	return err
}

func remove(dir string) error {
	for _, link := range []string{tempLink, shownLink} {
		if temp, err := os.Readlink(filepath.Join(dir, link)); err == nil {
			if err := os.RemoveAll(temp); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(dir)
}

// The links in a place that point to its temporary directories.
const (
	tempLink  = "temp"
	shownLink = "shown"
)

// Temp creates an empty directory for a command to run in. It lies where
// temporary directories do and not in the place, because writes to this
// program's own files are held for a person. The link to it is created first,
// so that the directory is found even if this process is killed.
func (p *Place) Temp() (string, error) { return p.outside(tempLink) }

// outside creates the directory to which a link of the place points.
func (p *Place) outside(link string) (string, error) {
	base, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", err
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	dir := filepath.Join(base, fmt.Sprintf("agent-wrapper-exec-%x", id))
	if err := os.Symlink(dir, filepath.Join(p.dir, link)); err != nil {
		return "", err
	}
	return dir, os.Mkdir(dir, 0o700)
}

// Keep writes a file that only the user can read, and returns its path.
func (p *Place) Keep(name string, data []byte) (string, error) { return keep(p.dir, name, data) }

// Show is Keep for a command inside the sandbox, in which the place is not seen: the file lies
// alone in a temporary directory.
func (p *Place) Show(name string, data []byte) (string, error) {
	dir, err := p.outside(shownLink)
	if err != nil {
		return "", err
	}
	return keep(dir, name, data)
}

func keep(dir, name string, data []byte) (string, error) {
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	return path, errors.Join(err, file.Close())
}

// Kubeconfig is the contents of a kubeconfig file.
type Kubeconfig struct {
	Path   string // of the original, absolute
	Digest string // "sha256:…" of its text
	Data   []byte
}

// maxKubeconfig is the maximum size of a kubeconfig in bytes.
const maxKubeconfig = 4 << 20

// ReadKubeconfig reads a kubeconfig, which must be a regular file.
func ReadKubeconfig(path string) (*Kubeconfig, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxKubeconfig+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxKubeconfig:
		return nil, fmt.Errorf("%s is larger than 4 MiB", path)
	}
	return &Kubeconfig{path, fmt.Sprintf("sha256:%x", sha256.Sum256(data)), data}, nil
}
