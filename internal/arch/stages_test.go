package arch

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shellStages are the stages of package shell, each with the beginnings of the
// names of its files: expand_braces.go is of expand. A file refers to what its
// own stage and those above it in this list declare. What they call of the
// walk is in state: the interface recursion.
var shellStages = [][]string{
	{"doc", "facts", "cause", "limits"},
	{"word"},
	{"parse"},
	{"state"},
	{"survey"},
	{"expand"},
	{"effect"},
	{"program"},
	{"command"},
	{"walk"},
	{"analyze", "operators", "possible", "settings", "registry"},
}

// mayClimb lists the references to a later stage that stay, as "file: name",
// with the reason.
var mayClimb = map[string]string{}

// TestShellStages: the files of package shell stand in one order, and nothing
// in them refers to a later stage.
func TestShellStages(t *testing.T) {
	climbs, err := climbing(trees(t, "internal/shell"), compiled(t, "./internal/shell"))
	if err != nil {
		t.Fatal(err)
	}
	for climb, at := range climbs {
		if mayClimb[climb] == "" {
			t.Errorf("%s: %s is of a later stage", at, climb)
		}
	}
	for climb := range mayClimb {
		if _, found := climbs[climb]; !found {
			t.Errorf("mayClimb lists %q, which refers to no later stage", climb)
		}
	}
}

// trees parses the files of a package without its tests, by their names.
func trees(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	found := map[string]*ast.File{}
	names, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(name)] = tree
	}
	return found
}

// TestClimbing: a climb is found whatever it refers to.
func TestClimbing(t *testing.T) {
	tests := []struct{ name, lower, upper, want string }{
		{"down", "func a() {}", "func b() { a() }", ""},
		{"function", "func a() { b() }", "func b() {}", "word.go: b"},
		{"method", "type t struct{}\nfunc (x t) a() { x.b() }", "func (t) b() {}", "word.go: b"},
		{"method as a value", "type t struct{}\nvar a = t.b", "func (t) b() {}", "word.go: b"},
		{"type", "var a b", "type b int", "word.go: b"},
		{"field", "type a struct{ x b }", "type b struct{}", "word.go: b"},
		{"constant", "const a = b", "const b = 1", "word.go: b"},
		{"variable", "func a() int { return b }", "var b int", "word.go: b"},
		{"interface", "type t struct{ up i }\ntype i interface{ b() }\nfunc (x t) a() { x.up.b() }", "func (t) b() {}", ""},
	}
	for _, tt := range tests {
		trees := map[string]*ast.File{}
		for file, source := range map[string]string{"word.go": tt.lower, "walk_x.go": tt.upper} {
			tree, err := parser.ParseFile(fset, file, "package p\n"+source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			trees[file] = tree
		}
		climbs, err := climbing(trees, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Collect(maps.Keys(climbs)), ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// climbing returns the references to a later stage in the files of a package,
// as "file: name", each with a place where it stands.
func climbing(trees map[string]*ast.File, imports types.Importer) (map[string]token.Position, error) {
	for file := range trees {
		if stageOf(file) < 0 {
			return nil, fmt.Errorf("%s is of no stage: list the beginning of its name in shellStages", file)
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: imports}
	pkg, err := conf.Check("shell", fset, slices.Collect(maps.Values(trees)), info)
	if err != nil {
		return nil, err
	}
	found := map[string]token.Position{}
	for id, obj := range info.Uses {
		if obj.Pkg() != pkg {
			continue
		}
		at := fset.Position(id.Pos())
		from, to := filepath.Base(at.Filename), filepath.Base(fset.Position(obj.Pos()).Filename)
		if stageOf(from) < stageOf(to) {
			found[from+": "+obj.Name()] = at
		}
	}
	return found, nil
}

// stageOf is the number of a file's stage, -1 for none.
func stageOf(file string) int {
	stage := strings.TrimSuffix(file, ".go")
	stage, _, _ = strings.Cut(stage, "_")
	return slices.IndexFunc(shellStages, func(names []string) bool { return slices.Contains(names, stage) })
}

// compiled reads the packages that a package imports as the compiler left them.
func compiled(t *testing.T, pkg string) types.Importer {
	t.Helper()
	exports := map[string]string{}
	for _, l := range golist(t, "-deps", "-export", pkg) {
		exports[l.ImportPath] = l.Export
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}
