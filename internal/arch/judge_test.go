package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// mayFold lists the functions outside permission/judge.go that compare how strict behaviors
// are, or go through the layers, with the reason.
var mayFold = map[string]string{
	"permission.go: Forbid": "the objections of several gates, which judge is given as one",
	"trace.go: fill":        "explain shows the table of layers",
	"trace.go: step":        "explain shows the table of layers",
	"trace.go: traced":      "explain shows the table of layers",
}

// TestOneFold: only permission/judge.go orders the layers and folds their answers, and it is
// short enough to be read at once.
func TestOneFold(t *testing.T) {
	files := trees(t, "permission")
	found, err := folding(files, compiled(t, "./permission"))
	if err != nil {
		t.Fatal(err)
	}
	for fold, at := range found {
		if mayFold[fold] == "" {
			t.Errorf("%s: %s: only judge.go orders layers and compares behaviors", at, fold)
		}
	}
	for fold := range mayFold {
		if _, is := found[fold]; !is {
			t.Errorf("mayFold lists %q, which folds nothing", fold)
		}
	}
	if n := fset.File(files["judge.go"].FileStart).LineCount() - 1; n > 150 {
		t.Errorf("judge.go has %d lines; what it calls belongs elsewhere", n)
	}
}

// TestFolding: a fold is found in whatever form.
func TestFolding(t *testing.T) {
	const judge = "type Behavior uint8\ntype Layer uint8\nvar layers [2]int\nfunc (b Behavior) stricter(c Behavior) bool { return b > c }\n"
	tests := []struct{ name, source, want string }{
		{"comparison", "func f(b Behavior) bool { return b < 2 }", "x.go: f"},
		{"in a method", "type d struct{ b Behavior }\nfunc (x d) f(y d) bool { return x.b >= y.b }", "x.go: f"},
		{"order of layers", "func f(a, b Layer) bool { return a <= b }", "x.go: f"},
		{"max", "func f(a, b Behavior) Behavior { return max(a, b) }", "x.go: f"},
		{"generic", "func less[T ~uint8](a, b T) bool { return true }\nfunc f(a, b Behavior) bool { return less(a, b) }", "x.go: f"},
		{"converted", "func f(a, b Behavior) bool { return int(a) > int(b) }", "x.go: f"},
		{"table", "func f() int { return layers[0] }", "x.go: f"},
		{"equality", "func f(a, b Behavior) bool { return a == b && a != 2 }", ""},
		{"the order of judge.go", "func f(a, b Behavior) bool { return a.stricter(b) }", ""},
		{"other order", "func f(a, b int) int { return max(a, b) }", ""},
	}
	for _, tt := range tests {
		files := map[string]*ast.File{}
		for name, source := range map[string]string{"judge.go": judge, "x.go": tt.source} {
			tree, err := parser.ParseFile(fset, name, "package p\n"+source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = tree
		}
		found, err := folding(files, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Collect(maps.Keys(found)), ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// folding returns the functions outside judge.go that compare behaviors or layers, or use
// the table of layers, as "file: function", each with a place where it does.
func folding(files map[string]*ast.File, imports types.Importer) (map[string]token.Position, error) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{}}
	conf := types.Config{Importer: imports}
	pkg, err := conf.Check("permission", fset, slices.Collect(maps.Values(files)), info)
	if err != nil {
		return nil, err
	}
	is := func(typ types.Type, name string) bool {
		named, is := typ.(*types.Named)
		return is && named.Obj() == pkg.Scope().Lookup(name)
	}
	ordered := func(typ types.Type) bool { return is(typ, "Behavior") || is(typ, "Layer") }
	folds := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			return slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, n.Op) && ordered(info.TypeOf(n.X))
		case *ast.CallExpr:
			fun := info.Types[n.Fun]
			return slices.ContainsFunc(n.Args, func(arg ast.Expr) bool {
				return fun.IsBuiltin() && ordered(info.TypeOf(arg)) || fun.IsType() && is(info.TypeOf(arg), "Behavior")
			})
		case *ast.Ident:
			args := info.Instances[n].TypeArgs
			for i := range args.Len() {
				if ordered(args.At(i)) {
					return true
				}
			}
			return n.Name == "layers" && info.Uses[n] == pkg.Scope().Lookup("layers")
		}
		return false
	}
	found := map[string]token.Position{}
	for name, tree := range files {
		for _, decl := range tree.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				if name != "judge.go" && folds(n) {
					found[name+": "+nameOf(decl)] = fset.Position(n.Pos())
				}
				return true
			})
		}
	}
	return found, nil
}

// nameOf returns the name of a function, "" for another declaration.
func nameOf(decl ast.Decl) string {
	if f, is := decl.(*ast.FuncDecl); is {
		return f.Name.Name
	}
	return ""
}
