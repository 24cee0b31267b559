package policy

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// Trust is the list of files whose permission settings a person has reviewed
// and trusts. A digest of the settings is trusted, not the file: a chat file
// keeps growing, and stays trusted until its settings change.
type Trust struct {
	path  string // of the list
	files []Trusted
}

// Trusted is one file in the list.
type Trusted struct {
	Path   string `json:"path"`   // RealPath of the file
	Digest string `json:"digest"` // Spec.Digest of its settings
	// Settings are what was trusted, a line each, to show what has changed since. They
	// count for nothing else.
	Settings []string `json:"settings,omitempty"`
}

// trustFile is the form of the list.
type trustFile struct {
	V     int       `json:"v"`
	Files []Trusted `json:"files"`
}

// maxTrust is the maximum length of a list that is read, in bytes.
const maxTrust = 4 << 20

// trustName is the name of the list in the state directory.
const trustName = "trust.json"

// ReadTrust reads the list in a state directory. A missing list is empty. If
// there is an error the list is empty as well: nothing is trusted.
func ReadTrust(stateDir string) (*Trust, error) {
	t := &Trust{path: filepath.Join(stateDir, trustName)}
	data, err := os.ReadFile(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("the list of trusted files: %w: nothing is trusted", err)
	}
	var list trustFile
	if err := strictjson.Decode(data, &list, strictjson.MaxSize(maxTrust)); err != nil {
		return t, fmt.Errorf("%s:%w: nothing is trusted; fix or remove the file", t.path, err)
	}
	if list.V != 1 {
		return t, fmt.Errorf("%s: unknown version %d: nothing is trusted", t.path, list.V)
	}
	t.files = list.Files
	return t, nil
}

// Covers reports whether the settings that were read from a path are trusted in
// their present form. A symbolic link is never trusted, wherever it leads.
func (t *Trust) Covers(path string, settings *Spec) (bool, error) {
	real, err := RealPath(path)
	if link := new(linkError); errors.As(err, &link) {
		return false, nil
	}
	return err == nil && t.holds(real, settings), err
}

func (t *Trust) holds(path string, settings *Spec) bool {
	digest := settings.Digest()
	return slices.ContainsFunc(t.files, func(f Trusted) bool { return digest != "" && f.Path == path && f.Digest == digest })
}

// names reports whether a person has trusted a file, with whatever settings and
// whatever is there now: a link, or settings that are not trusted. path is absolute
// and its directory without symbolic links.
func (t *Trust) names(path string) bool {
	return t != nil && slices.ContainsFunc(t.files, func(f Trusted) bool { return f.Path == path })
}

// Settings returns the settings with which a file is trusted, a line each; nil if it is
// not, or if they were not noted.
func (t *Trust) Settings(path string) []string {
	for _, f := range t.files {
		if f.Path == path {
			return f.Settings
		}
	}
	return nil
}

// Lines returns the settings and rules of a policy as lines without their places: what
// people trust.
func (s *Spec) Lines() []string {
	var lines []string
	for _, item := range s.Show() {
		lines = append(lines, fmt.Sprintf("%-13s %s", item.Key, visible.Line(item.Text)))
	}
	return lines
}

// List returns the trusted files, by path.
func (t *Trust) List() []Trusted { return slices.Clone(t.files) }

// Set trusts the settings of a file as they are now, in place of those before.
func (t *Trust) Set(path string, settings *Spec) error {
	return t.set(Trusted{Path: path, Digest: settings.Digest(), Settings: settings.Lines()})
}

// SetHosts trusts what a file of a package manager names, a line each, in the same way.
func (t *Trust) SetHosts(path string, lines []string) error {
	return t.set(Trusted{Path: path, Digest: hostsDigest(lines), Settings: lines})
}

// CoversHosts reports whether exactly these lines of a file are trusted. path is that of
// RealPath.
func (t *Trust) CoversHosts(path string, lines []string) bool {
	digest := hostsDigest(lines)
	return t != nil && slices.ContainsFunc(t.files, func(f Trusted) bool { return f.Path == path && f.Digest == digest })
}

// hostsDigest returns the digest of lines, which is that of no settings.
func hostsDigest(lines []string) string {
	return fmt.Sprintf("hosts:%x", sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}

func (t *Trust) set(file Trusted) error {
	return t.change(func(files []Trusted) []Trusted {
		files = slices.DeleteFunc(files, func(f Trusted) bool { return f.Path == file.Path })
		return append(files, file)
	})
}

// Remove ends the trust in a file. It reports whether the file was trusted.
func (t *Trust) Remove(path string) (bool, error) {
	was := false
	err := t.change(func(files []Trusted) []Trusted {
		return slices.DeleteFunc(files, func(f Trusted) bool {
			was = was || f.Path == path
			return f.Path == path
		})
	})
	return was, err
}

// change applies an edit to the list that is now on disk.
func (t *Trust) change(edit func([]Trusted) []Trusted) error {
	dir := filepath.Dir(t.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the list of trusted files: %w", err)
	}
	unlock, err := atomicfile.Lock(dir)
	if err != nil {
		return fmt.Errorf("the list of trusted files: %w", err)
	}
	defer unlock()
	now, err := ReadTrust(dir)
	if err != nil {
		return err // writing would lose its contents
	}
	files := edit(append([]Trusted{}, now.files...)) // an empty list is written as one
	slices.SortFunc(files, func(a, b Trusted) int { return strings.Compare(a.Path, b.Path) })
	data, err := json.MarshalIndent(trustFile{V: 1, Files: files}, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(t.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("the list of trusted files: %w", err)
	}
	t.files = files
	return nil
}

// RealPath returns the path to which trust in a file is bound: absolute, with
// the symbolic links of its directory resolved. A file that is itself a link
// has none, and the error is a linkError: a repository can create links, and
// would choose which trusted file's settings apply there.
func RealPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if real != filepath.Join(dir, filepath.Base(abs)) {
		return "", &linkError{Path: path, Target: real}
	}
	return real, nil
}

// linkError is the error for a file that cannot be trusted because it is a
// symbolic link.
type linkError struct {
	Path   string
	Target string // the file behind it
}

func (e *linkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s and cannot be trusted: trust the target and use it by its own path, or replace the link with a file", e.Path, e.Target)
}
