package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// recordVersion is that of the form of a record.
const recordVersion = 1

// record says what was installed for a host in a scope: the file HOST-SCOPE.json in the
// directory installed of the state directory, with the texts that were there before
// beside it.
type record struct {
	SchemaVersion int          `json:"schema_version"`
	Host          string       `json:"host"`
	Scope         Scope        `json:"scope"`
	Options       Options      `json:"options"`
	Files         []fileRecord `json:"files"`
}

// fileRecord is what is remembered of a file.
type fileRecord struct {
	Path    string   `json:"path"`
	Existed bool     `json:"existed"`          // before agent-wrapper wrote it
	Before  string   `json:"before,omitempty"` // the SHA-256 of the text before; "" if there was no file
	After   string   `json:"after"`            // and of the text that was written
	Dirs    []string `json:"dirs,omitempty"`   // directories that were made, the innermost first
	Notes   notes    `json:"notes"`
}

// installedDir returns the directory of the records.
func (m *Machine) installedDir() string { return filepath.Join(m.State, "installed") }

func (m *Machine) recordPath(h *host, scope Scope) string {
	return filepath.Join(m.installedDir(), h.name+"-"+string(scope)+".json")
}

// backupPath returns where the text with a digest is kept.
func (m *Machine) backupPath(h *host, scope Scope, digest string) string {
	return filepath.Join(m.installedDir(), h.name+"-"+string(scope)+"-"+digest[:min(len(digest), 16)]+".orig")
}

// record reads the record of a host; ok is false if there is none.
func (m *Machine) record(h *host, scope Scope) (r record, ok bool, err error) {
	path := m.recordPath(h, scope)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return record{SchemaVersion: recordVersion, Host: h.name, Scope: scope}, false, nil
	case err != nil:
		return r, false, err
	}
	if err := strictjson.Decode(data, &r); err != nil {
		return r, false, fmt.Errorf("%s:%w: this record of what was installed is damaged: remove it; what agent-wrapper wrote is then taken out without it", path, err)
	}
	if r.SchemaVersion != recordVersion {
		return r, false, fmt.Errorf("%s was written by another version of agent-wrapper: use that one", path)
	}
	return r, true, nil
}

// file returns what is remembered of a file, nil if nothing is.
func (r *record) file(path string) *fileRecord {
	if i := slices.IndexFunc(r.Files, func(f fileRecord) bool { return f.Path == path }); i >= 0 {
		return &r.Files[i]
	}
	return nil
}

// put remembers a file.
func (r *record) put(f fileRecord) {
	if old := r.file(f.Path); old != nil {
		*old = f
		return
	}
	r.Files = append(r.Files, f)
}

// backup returns the text that a file had before, false if it is not there as it was.
func (m *Machine) backup(h *host, scope Scope, f *fileRecord) (text []byte, ok bool) {
	text, err := os.ReadFile(m.backupPath(h, scope, f.Before))
	return text, err == nil && digest(text) == f.Before
}

// writeRecord writes a record and the texts that it names.
func (m *Machine) writeRecord(h *host, r *record, backups [][]byte) error {
	for _, text := range backups {
		if err := m.write(m.backupPath(h, r.Scope, digest(text)), text, 0o600); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return m.write(m.recordPath(h, r.Scope), append(data, '\n'), 0o600)
}

// removeRecord removes a record and the texts that it names.
func (m *Machine) removeRecord(h *host, scope Scope) error {
	if err := m.before("forget " + h.name); err != nil {
		return err
	}
	if err := os.Remove(m.recordPath(h, scope)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return m.removeBackups(h, scope, &record{})
}

// removeBackups removes the texts that a record does not name.
func (m *Machine) removeBackups(h *host, scope Scope, r *record) error {
	wanted := map[string]bool{}
	for _, f := range r.Files {
		if f.Before != "" {
			wanted[m.backupPath(h, scope, f.Before)] = true
		}
	}
	all, err := filepath.Glob(filepath.Join(m.installedDir(), h.name+"-"+string(scope)+"-*.orig"))
	if err != nil {
		return nil // a state directory with signs of a pattern keeps its backups
	}
	for _, path := range all {
		if wanted[path] {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// write replaces a file atomically.
func (m *Machine) write(path string, text []byte, perm fs.FileMode) error {
	if err := m.before("write " + path); err != nil {
		return err
	}
	return atomicfile.Write(path, text, perm)
}

// digest returns the SHA-256 of a text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
