//go:build mutants

package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTableCompiles: each row makes a program that still compiles. The short form looks at
// those of one package.
func TestTableCompiles(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	checked, rows, packages := 0, 0, map[string]*unit{}
	only := filepath.Dir(sample()[0].File)
	for i := range Table {
		m := &Table[i]
		dir := filepath.Dir(m.File)
		if os.Getenv("AW_LONG") == "" && dir != only {
			continue
		}
		rows++
		if packages[dir] == nil {
			if packages[dir], err = load(root, dir); err != nil {
				t.Fatal(err)
			}
		}
		found, err := packages[dir].check(m)
		if err != nil {
			t.Errorf("%s: %s: %v", m.Guard, m.File, err)
		}
		if found {
			checked++
		}
	}
	t.Logf("%d of %d rows are checked; the others are for another system", checked, rows)
	if checked == 0 {
		t.Error("that are too few")
	}
}

// unit is a package that mutants are in.
type unit struct {
	path  string
	fset  *token.FileSet
	files map[string]*ast.File
	from  types.Importer
}

// load reads a package, with the compiled form of what it imports.
func load(root, dir string) (*unit, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "./"+dir)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	exports := map[string]string{}
	u := &unit{fset: token.NewFileSet(), files: map[string]*ast.File{}}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.Dir != filepath.Join(root, dir) {
			continue
		}
		u.path = p.ImportPath
		for _, name := range p.GoFiles {
			if u.files[name], err = parser.ParseFile(u.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
		}
	}
	u.from = importer.ForCompiler(u.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return u, nil
}

// check type-checks the package with a mutant. It is not found if its file is for another
// system.
func (u *unit) check(m *Mutant) (found bool, err error) {
	var files []*ast.File
	for name, f := range u.files {
		if name != filepath.Base(m.File) {
			files = append(files, f)
			continue
		}
		found = true
		at := u.fset.Position(f.Pos()).Filename
		text, err := os.ReadFile(at)
		if err != nil {
			return found, err
		}
		if f, err = parser.ParseFile(u.fset, at, strings.Replace(string(text), m.Old, m.New, 1), parser.SkipObjectResolution); err != nil {
			return found, err
		}
		files = append(files, f)
	}
	if !found {
		return false, nil
	}
	_, err = (&types.Config{Importer: u.from}).Check(u.path, u.fset, files, nil)
	return found, err
}
