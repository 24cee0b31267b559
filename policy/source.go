package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/frontmatter"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// LocalName is the name of a workspace's policy that stays out of its
// repository.
const LocalName = "agent-wrapper.local.toml"

// Dirs are the directories that policies are looked for in; "" is none.
type Dirs struct {
	Managed   string // /etc/agent-wrapper
	User      string // $XDG_CONFIG_HOME/agent-wrapper
	Workspace string
}

// File is where a policy may stand.
type File struct {
	Kind Kind
	Path string
}

// Files are the places in which policies are looked for, there or not.
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

// Find reads the policies that are there. Managed and user ones are trusted, the
// others if trust holds their settings. A policy that is wrong is an
// error: to go on without it could loosen something.
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

// Read reads one policy: of kind FrontMatter the head of a chat file. An error
// names the file; that it is not there is fs.ErrNotExist.
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
	if f.Kind == Project || f.Kind == Local { // it is found, nobody named it
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
// without any is an empty policy.
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
