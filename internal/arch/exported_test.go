package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// TestExportedIsUsed: every exported name is used by another package, by its
// tests or by an example of its own package, so that go doc shows no more than
// a program needs. Also used are the names in the declaration of a used one,
// methods that an interface may call, and constants declared in a group with a
// used one. Struct fields are not checked.
func TestExportedIsUsed(t *testing.T) {
	slow.Test(t)
	p := load(t)
	for _, pkg := range p.declaring() {
		for name, obj := range exported(pkg) {
			if !p.used[obj.Pos()] && !p.implementing(obj) {
				t.Errorf("%s is exported, and no other package uses it", strings.TrimPrefix(name, module+"/"))
			}
		}
	}
}

// program is the type-checked source of the project. Objects are identified by
// the position of their declaration, since a package is checked twice, with and
// without its tests.
type program struct {
	list       map[string]*listed
	checked    map[string]*types.Package
	parsed     map[string]*ast.File
	libraries  types.Importer
	used       map[token.Pos]bool // by another package
	implements map[string]bool    // names of interface methods
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir, Export, ForTest   string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Module                             *struct{ Main bool }
}

func (l *listed) ours() bool { return l.Module != nil && l.Module.Main }

// load type-checks the project with its tests, using the compiler's export data
// of libraries.
func load(t *testing.T) *program {
	t.Helper()
	p := &program{
		list: map[string]*listed{}, checked: map[string]*types.Package{}, parsed: map[string]*ast.File{},
		used: map[token.Pos]bool{}, implements: map[string]bool{"Is": true, "As": true, "Unwrap": true}, // of package errors
	}
	var libraries []string
	for _, l := range golist(t, "-deps", "-test", "./...") {
		switch {
		case l.ForTest != "" || strings.HasSuffix(l.ImportPath, ".test"):
		case l.ours():
			p.list[l.ImportPath] = l
		case l.ImportPath != "unsafe":
			libraries = append(libraries, l.ImportPath)
		}
	}
	exports := map[string]string{}
	for _, l := range golist(t, append([]string{"-export"}, libraries...)...) {
		exports[l.ImportPath] = l.Export
	}
	p.libraries = importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for path, l := range p.list {
		if _, err := p.Import(path); err != nil {
			t.Fatal(err)
		}
		p.tests(path, l)
	}
	for _, f := range p.parsed {
		p.constants(f)
		p.written(f)
	}
	return p
}

func golist(t *testing.T, args ...string) (all []*listed) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-tags=e2e,oracle,mutants,manuals,postgres",
		"-json=ImportPath,Dir,Export,ForTest,GoFiles,TestGoFiles,XTestGoFiles,Module"}, args...)...)
	cmd.Dir, cmd.Stderr = filepath.Join("..", ".."), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		l := new(listed)
		if err := d.Decode(l); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
}

// Import returns a package of the project, checked without its tests, or a
// library.
func (p *program) Import(path string) (*types.Package, error) {
	l := p.list[path]
	switch {
	case path == "unsafe":
		return types.Unsafe, nil
	case l == nil:
		pkg, err := p.libraries.Import(path)
		if err == nil {
			p.interfaces(pkg)
		}
		return pkg, err
	case p.checked[path] == nil:
		pkg, err := p.check(l, p, nil, l.GoFiles)
		if err != nil {
			return nil, err
		}
		p.checked[path] = pkg
	}
	return p.checked[path], nil
}

// tests checks the tests of a package. They may import a package that imports
// the one under test without its tests, and then types do not match; uses are
// recorded nevertheless.
func (p *program) tests(path string, l *listed) {
	ignore := func(error) {}
	inner, _ := p.check(l, p, ignore, l.GoFiles, l.TestGoFiles)
	p.check(l, within{p, path, inner}, ignore, l.XTestGoFiles)
}

// within is the importer for an external test package, which sees the package
// with its internal tests.
type within struct {
	*program
	path  string
	inner *types.Package
}

func (w within) Import(path string) (*types.Package, error) {
	if path == w.path {
		return w.inner, nil
	}
	return w.program.Import(path)
}

// check type-checks files as one package and marks what they use of others.
func (p *program) check(l *listed, from types.Importer, ignore func(error), names ...[]string) (*types.Package, error) {
	var files []*ast.File
	for _, name := range slices.Concat(names...) {
		name = filepath.Join(l.Dir, name)
		if p.parsed[name] == nil {
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			p.parsed[name] = f
		}
		files = append(files, p.parsed[name])
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: from, Error: ignore}
	pkg, err := conf.Check(l.ImportPath, fset, files, info)
	for id, obj := range info.Uses {
		if p.outside(l, id, obj) {
			p.mark(obj)
		}
	}
	return pkg, err
}

// outside reports whether id, in a file of l, refers to an object of another
// package, or in an example to one of its own.
func (p *program) outside(l *listed, id *ast.Ident, obj types.Object) bool {
	if obj.Pkg() == nil || p.list[obj.Pkg().Path()] == nil || !obj.Exported() {
		return false
	}
	return obj.Pkg().Path() != l.ImportPath || strings.HasSuffix(fset.Position(id.Pos()).Filename, "example_test.go")
}

// mark marks an object and the types in its declaration as used.
func (p *program) mark(obj types.Object) {
	if p.used[obj.Pos()] {
		return
	}
	p.used[obj.Pos()] = true
	if _, ok := obj.(*types.TypeName); ok {
		p.markType(obj.Type().Underlying())
		return
	}
	p.markType(obj.Type())
}

func (p *program) markType(typ types.Type) {
	switch typ := typ.(type) {
	case *types.Named:
		if obj := typ.Obj(); obj.Pkg() != nil && p.list[obj.Pkg().Path()] != nil {
			p.mark(obj)
		}
		for arg := range typ.TypeArgs().Types() {
			p.markType(arg)
		}
	case *types.Alias:
		p.mark(typ.Obj())
		p.markType(typ.Rhs())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, maps, channels
		p.markType(typ.Elem())
		if m, ok := typ.(*types.Map); ok {
			p.markType(m.Key())
		}
	case *types.Signature:
		p.markType(typ.Params())
		p.markType(typ.Results())
	case *types.Tuple:
		for v := range typ.Variables() {
			p.markType(v.Type())
		}
	case *types.Struct:
		for f := range typ.Fields() {
			if f.Exported() {
				p.markType(f.Type())
			}
		}
	case *types.Interface:
		for f := range typ.Methods() {
			p.markType(f.Type())
		}
	}
}

// implementing reports whether an object is a method that an interface may call.
func (p *program) implementing(obj types.Object) bool {
	f, ok := obj.(*types.Func)
	return ok && f.Signature().Recv() != nil && p.implements[f.Name()]
}

// constants marks the groups of constants of which one is used.
func (p *program) constants(f *ast.File) {
	for _, decl := range f.Decls {
		list, ok := decl.(*ast.GenDecl)
		if !ok || list.Tok != token.CONST {
			continue
		}
		var names []*ast.Ident
		for _, spec := range list.Specs {
			names = append(names, spec.(*ast.ValueSpec).Names...)
		}
		if slices.ContainsFunc(names, func(id *ast.Ident) bool { return p.used[id.Pos()] }) {
			for _, id := range names {
				p.used[id.Pos()] = true
			}
		}
	}
}

// written adds the names of the methods of the interfaces in a file.
func (p *program) written(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		if i, ok := n.(*ast.InterfaceType); ok {
			for _, m := range i.Methods.List {
				for _, id := range m.Names {
					p.implements[id.Name] = true
				}
			}
		}
		return true
	})
}

// interfaces adds the names of the methods of a library's interfaces.
func (p *program) interfaces(pkg *types.Package) {
	for _, name := range pkg.Scope().Names() {
		if i, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Interface); ok {
			for f := range i.Methods() {
				p.implements[f.Name()] = true
			}
		}
	}
}

// declaring returns the packages whose exported names are checked.
func (p *program) declaring() (all []*types.Package) {
	for path, pkg := range p.checked {
		if dir := strings.TrimPrefix(path, module+"/"); pkg.Name() != "main" && !testTool(dir) {
			all = append(all, pkg)
		}
	}
	return all
}

// exported returns the exported objects of a package and the methods of its
// types, by the name that go doc takes.
func exported(pkg *types.Package) map[string]types.Object {
	all := map[string]types.Object{}
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		name = pkg.Path() + "." + name
		all[name] = obj
		if named, ok := obj.Type().(*types.Named); ok && named.Obj() == obj {
			for m := range named.Methods() {
				if m.Exported() {
					all[name+"."+m.Name()] = m
				}
			}
		}
	}
	return all
}
