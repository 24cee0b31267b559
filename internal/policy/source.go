package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/frontmatter"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// LocalName is the name of a workspace's policy that is kept out of its
// repository.
const LocalName = "agent-wrapper.local.toml"

// Dirs lists the directories in which policies are looked for. Empty ones are
// skipped.
type Dirs struct {
	Managed   string // /etc/agent-wrapper
	User      string // $XDG_CONFIG_HOME/agent-wrapper
	Workspace string
	// Above are the directories above the workspace, the nearest first: see Upward.
	Above []Above
}

// File is the location of a policy, which need not exist.
type File struct {
	Kind Kind
	Path string
	// Dir is the directory above the workspace that the file is in and that its
	// relative paths refer to; "" means the workspace.
	Dir string
	// Beyond: see Above.
	Beyond bool

	above int // how many directories it is above the workspace
}

// Files returns the locations in which policies are looked for, in ascending
// precedence: of those above the workspace the nearest comes last.
func (d Dirs) Files() []File {
	var files []File
	add := func(dir string, f File, name string) {
		if dir != "" {
			f.Path = filepath.Join(dir, name)
			files = append(files, f)
		}
	}
	add(d.Managed, File{Kind: Managed}, FileName)
	add(d.User, File{Kind: User}, FileName)
	for i, up := range slices.Backward(d.Above) {
		add(up.Dir, File{Kind: Project, Dir: up.Dir, Beyond: up.Beyond, above: i + 1}, FileName)
		add(up.Dir, File{Kind: Local, Dir: up.Dir, Beyond: up.Beyond, above: i + 1}, LocalName)
	}
	add(d.Workspace, File{Kind: Project}, FileName)
	add(d.Workspace, File{Kind: Local}, LocalName)
	return files
}

// Find reads the policies that exist. Managed and user policies are trusted,
// the others if trust holds their settings. An invalid policy is an error,
// since to continue without it could loosen something. The warnings are about
// policies that do not count: another user's, and those beyond a repository that
// nobody has trusted.
func (d Dirs) Find(trust *Trust, place patterns.Place) (found []Source, warnings []string, err error) {
	var errs []error
	for _, f := range d.Files() {
		src, err := f.Read(trust, place)
		foreign := new(foreignError)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.As(err, &foreign):
			warnings = append(warnings, err.Error())
		case f.Beyond && !src.Trusted && !trust.names(f.Path):
			warnings = append(warnings, fmt.Sprintf("%s is ignored: it is above the repository and not trusted; review it, then run agent-wrapper trust %s", f.Path, f.Path))
		case err != nil:
			errs = append(errs, err)
		default:
			found = append(found, src)
		}
	}
	return found, warnings, errors.Join(errs...)
}

// Read reads one policy; for kind FrontMatter, the head of a chat file. An
// error names the file. The error for a missing file is fs.ErrNotExist.
func (f File) Read(trust *Trust, place patterns.Place) (Source, error) {
	spec, err := f.spec()
	if err != nil {
		return Source{}, err
	}
	spec.relativeTo(f.Dir)
	if _, _, _, err := spec.Compile(place); err != nil {
		return Source{}, err
	}
	silent := spec.Digest() == new(Spec).Digest()
	src := Source{Kind: f.Kind, Name: f.Path, Spec: spec, Trusted: f.Kind <= Named || silent, Above: f.above}
	if !src.Trusted && trust != nil {
		if src.Trusted, err = trust.Covers(f.Path, spec); err != nil {
			return Source{}, err
		}
	}
	return src, nil
}

func (f File) spec() (*Spec, error) {
	if f.Kind == Project || f.Kind == Local { // found rather than named by the user
		return readFound(f.Path)
	}
	if f.Kind == FrontMatter {
		return ReadHead(f.Path)
	}
	return ReadFile(f.Path)
}

// Frozen is a policy as it was found, in a form that can be kept: what is written to its
// file afterwards changes nothing in it.
type Frozen struct {
	Kind    Kind   `json:"kind"`
	Path    string `json:"path"`
	Dir     string `json:"dir,omitempty"`
	Above   int    `json:"above,omitempty"`
	Trusted bool   `json:"trusted,omitempty"`
	Text    string `json:"text"`
}

// Freeze is Find, and returns what was found in the form to keep.
func (d Dirs) Freeze(trust *Trust, place patterns.Place) (frozen []Frozen, warnings []string, err error) {
	found, warnings, err := d.Find(trust, place)
	if err != nil {
		return nil, nil, err
	}
	for _, src := range found {
		f, err := d.freeze(src)
		if err != nil {
			return nil, nil, err
		}
		frozen = append(frozen, f)
	}
	return frozen, warnings, nil
}

// freeze returns the text of a source that was just read. One that has changed meanwhile
// is an error.
func (d Dirs) freeze(src Source) (Frozen, error) {
	at := slices.IndexFunc(d.Files(), func(f File) bool { return f.Path == src.Name })
	if at < 0 {
		return Frozen{}, fmt.Errorf("%s: it is not one of the files that are searched", src.Name)
	}
	data, err := readFile(src.Name)
	if err != nil {
		return Frozen{}, err
	}
	f := Frozen{Kind: src.Kind, Path: src.Name, Dir: d.Files()[at].Dir, Above: src.Above, Trusted: src.Trusted, Text: string(data)}
	again, err := f.Source()
	if err == nil && again.Spec.Digest() != src.Spec.Digest() {
		err = fmt.Errorf("%s: it changed while it was read: try again", src.Name)
	}
	return f, err
}

// Source returns the policy.
func (f *Frozen) Source() (Source, error) {
	spec, err := Parse([]byte(f.Text), f.Path)
	if err != nil {
		return Source{}, err
	}
	spec.relativeTo(f.Dir)
	return Source{Kind: f.Kind, Name: f.Path, Spec: spec, Trusted: f.Trusted, Above: f.Above}, nil
}

// ReadHead reads the permission settings at the head of a chat file. A file
// without settings is an empty policy.
func ReadHead(path string) (*Spec, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head, err := frontmatter.Read(file, path)
	if err != nil {
		return nil, err
	}
	s := &Spec{Mode: head.Mode.Text, Allow: fromHead(head.Allow), Ask: fromHead(head.Ask), Deny: fromHead(head.Deny)}
	if head.Mode.Line > 0 {
		s.place("mode", patterns.Source{Name: path, Line: head.Mode.Line, Col: head.Mode.Col})
	}
	return s, nil
}

func fromHead(values []frontmatter.Value) []Item {
	var items []Item
	for _, v := range values {
		items = append(items, Item{Text: v.Text, Source: patterns.Source{Name: v.Name, Line: v.Line, Col: v.Col}})
	}
	return items
}
