package audit

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// head is the file that says how far a record extends at least.
type head struct{ path string }

// headText is its JSON form.
type headText struct {
	V      int    `json:"v"`
	Record string `json:"record"` // path of the record, for a person
	position
}

// HeadFile returns the file in dir for the head of the record at path. It is
// the same for all spellings of the path.
func HeadFile(dir, path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path = real(path)
	return filepath.Join(dir, fmt.Sprintf("%.40s-%.8x.head", filepath.Base(path), sha256.Sum256([]byte(path)))), nil
}

// real resolves the links of a path whose last element need not exist.
func real(path string) string {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// position returns the position in the head; the zero position if there is no
// file, or one without text: see claim.
func (h head) position() (position, error) {
	data, err := os.ReadFile(h.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return position{}, nil
	}
	var text headText
	if err == nil {
		err = json.Unmarshal(data, &text)
	}
	if p := text.position; err == nil && (text.V != 1 || p.Seq == 0 || p.Start < 0 || p.End <= p.Start) {
		err = errors.New("agent-wrapper did not write it")
	}
	if err != nil {
		return position{}, fmt.Errorf("read the head of the audit log, %s: %w; verify the audit log without it, then remove it to continue", h.path, err)
	}
	return text.position, nil
}

// claim creates the file empty before the first entry is written, so that a writer that is
// killed between the two leaves an empty head, not none.
func (h head) claim() error {
	return h.locked(func() error {
		f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("write the head of the audit log: %w", err)
		}
		return f.Close()
	})
}

// claimed reports whether the file is there.
func (h head) claimed() bool {
	_, err := os.Lstat(h.path)
	return err == nil
}

// raise writes the head unless it already names a later record, since other
// processes write it too.
func (h head) raise(record string, p position, durable bool) error {
	return h.locked(func() error {
		known, err := h.position()
		if err != nil || known.Seq >= p.Seq {
			return err
		}
		return h.write(record, p, durable)
	})
}

// begin writes the head of a new record.
func (h head) begin(record string, p position) error {
	return h.locked(func() error { return h.write(record, p, true) })
}

// write replaces the head atomically. It does not sync the directory: after a
// crash the head may be an older one, which is valid too.
func (h head) write(record string, p position, durable bool) error {
	data, err := json.Marshal(headText{1, real(record), p})
	if err != nil {
		return err
	}
	temp := h.path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the head of the audit log: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, h.path)
	}
	if err != nil {
		return fmt.Errorf("write the head of the audit log: %w", err)
	}
	return nil
}

// locked excludes other writers of the head. The lock file is never removed,
// because another process may be waiting for it.
func (h head) locked(do func() error) (err error) {
	f, err := os.OpenFile(h.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock the head of the audit log: %w", err)
	}
	defer f.Close() // releases the lock
	if err := lock(f); err != nil {
		return err
	}
	return do()
}
