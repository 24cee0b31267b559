package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

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
}

// File is the location of a policy, which need not exist.
type File struct {
	Kind Kind
	Path string
}

// Files returns the locations in which policies are looked for.
func (d Dirs) Files() []File {
	var files []File
	for _, f := range []struct {
		kind      Kind
		dir, name string
	}{{Managed, d.Managed, FileName}, {User, d.User, FileName}, {Project, d.Workspace, FileName}, {Local, d.Workspace, LocalName}} {
		if f.dir != "" {
			files = append(files, File{f.kind, filepath.Join(f.dir, f.name)})
		}
	}
	return files
}

// Find reads the policies that exist. Managed and user policies are trusted,
// the others if trust holds their settings. An invalid policy is an error,
// since to continue without it could loosen something.
func (d Dirs) Find(trust *Trust, place patterns.Place) ([]Source, error) {
	var found []Source
	var errs []error
	for _, f := range d.Files() {
		src, err := f.Read(trust, place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, err)
		default:
			found = append(found, src)
		}
	}
	return found, errors.Join(errs...)
}

// Read reads one policy; for kind FrontMatter, the head of a chat file. An
// error names the file. The error for a missing file is fs.ErrNotExist.
func (f File) Read(trust *Trust, place patterns.Place) (Source, error) {
	spec, err := f.spec()
	if err != nil {
		return Source{}, err
	}
	if _, _, _, err := spec.Compile(place); err != nil {
		return Source{}, err
	}
	silent := spec.Digest() == new(Spec).Digest()
	src := Source{Kind: f.Kind, Name: f.Path, Spec: spec, Trusted: f.Kind <= Named || silent}
	if !src.Trusted && trust != nil {
		if src.Trusted, err = trust.Covers(f.Path, spec); err != nil {
			return Source{}, err
		}
	}
	return src, nil
}

func (f File) spec() (*Spec, error) {
	if f.Kind == Project || f.Kind == Local { // found rather than named by the user
		if err := regular(f.Path); err != nil {
			return nil, err
		}
	}
	if f.Kind == FrontMatter {
		return ReadHead(f.Path)
	}
	return ReadFile(f.Path)
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
