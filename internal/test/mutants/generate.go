// Package mutants checks the tests: it makes small mistakes in the packages that decide, one
// at a time, and checks that a test then fails.
//
//	go test -tags mutants -v -run TestMutants ./internal/test/mutants               # 300 of them
//	go test -tags mutants -v -run TestMutants ./internal/test/mutants -args -seed 7 # another 300
//	AW_LONG=1 go test -timeout 48h -tags mutants -v -run TestMutants ./internal/test/mutants
//
// All mutants are compiled into one program, and a variable of the environment chooses the
// one that takes effect. The go command reads the changed files by -overlay: those of the
// tree stay as they are. The mutants that no test notices are argued in
// testdata/survivors.txt.
package mutants

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"hash/fnv"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one mistake. The text before and after the node at from makes the mistake if
// mutant_(number) is true, and changes nothing otherwise.
type mutant struct {
	pkg, file     string // relative to the root, with slashes
	fn, kind      string
	text          string // the node
	nth           int    // of those that are the same but for their place, from 1
	from, to      int
	before, after string // with # for the number
}

// String returns the name of the mutant. It stays if the package gets another directory, and
// whatever else is added to it.
func (m *mutant) String() string {
	name := fmt.Sprintf("%s/%s %s: %s: %s", path.Base(m.pkg), path.Base(m.file), m.fn, m.kind, m.text)
	if m.nth > 1 {
		name += fmt.Sprintf(" (%d)", m.nth)
	}
	return name
}

// generator makes the mutants of one file.
type generator struct {
	pkg, file string
	src       string
	base      token.Pos
	zero      map[string]bool
	fn        string
	made      []*mutant
}

// generate returns the mutants of the packages, which are directories below root.
func generate(root string, pkgs ...string) (all []*mutant, err error) {
	seen := map[string]int{}
	for _, pkg := range pkgs {
		dir, err := build.ImportDir(filepath.Join(root, filepath.FromSlash(pkg)), 0)
		if err != nil {
			return nil, err
		}
		fset, files, zero := token.NewFileSet(), map[string]*ast.File{}, map[string]bool{"false": true, "nil": true, "0": true, `""`: true}
		for _, name := range dir.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(dir.Dir, name), nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				return nil, err
			}
			files[name] = f
			zeroNames(f, zero)
		}
		for _, name := range dir.GoFiles {
			f := files[name]
			if ast.IsGenerated(f) {
				continue
			}
			src, err := os.ReadFile(filepath.Join(dir.Dir, name))
			if err != nil {
				return nil, err
			}
			g := &generator{pkg: pkg, file: pkg + "/" + name, src: string(src), base: f.FileStart, zero: zero}
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
					g.function(d)
				}
			}
			for _, m := range g.made {
				seen[m.String()]++
				m.nth = seen[m.String()]
			}
			all = append(all, g.made...)
		}
	}
	return all, nil
}

// zeroNames adds the constants of a file that are zero because a list begins with them.
func zeroNames(f *ast.File, zero map[string]bool) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
			first := d.Specs[0].(*ast.ValueSpec)
			if iota, ok := slices.Concat(first.Values, []ast.Expr{nil})[0].(*ast.Ident); ok && iota.Name == "iota" {
				zero[first.Names[0].Name] = true
			}
		}
	}
}

// sample returns n of the mutants, chosen by the seed and their names. A new one changes the
// choice only where it takes the place of another.
func sample(all []*mutant, seed int64, n int) []*mutant {
	rank := map[*mutant]uint64{}
	for _, m := range all {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d", m, seed)
		rank[m] = h.Sum64() * 0x9e3779b97f4a7c15
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b *mutant) int { return cmp.Compare(rank[a], rank[b]) })
	return all[:min(n, len(all))]
}

func (g *generator) function(d *ast.FuncDecl) {
	g.fn = d.Name.Name
	if d.Recv != nil {
		g.fn = strings.TrimLeft(g.str(d.Recv.List[0].Type), "*") + "." + g.fn
	}
	g.body(d.Body, d.Type.Results)
}

// body makes the mutants of a function that has these results.
func (g *generator) body(body ast.Node, results *ast.FieldList) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			g.body(n.Body, n.Type.Results)
			return false
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.KeyValueExpr: // its key may have to be constant
			g.body(n.Value, results)
			return false
		case *ast.IfStmt:
			g.never(n.Cond)
			g.always(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				g.never(n.Cond)
			}
		case *ast.BlockStmt:
			g.list(n.List, results)
		case *ast.CommClause:
			g.list(n.Body, results)
		case *ast.CaseClause:
			g.list(n.Body, results)
		case *ast.SwitchStmt:
			g.cases(n.Body, n.Tag == nil, "")
		case *ast.TypeSwitchStmt:
			bound := ""
			if a, ok := n.Assign.(*ast.AssignStmt); ok {
				bound = g.str(a.Lhs[0])
			}
			g.cases(n.Body, false, bound)
		case *ast.BinaryExpr:
			g.operands(n)
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "patterns" {
				g.swap(n, n.Sel.Name, "patterns.")
			}
			g.body(n.X, results)
			return false
		case *ast.Ident:
			g.swap(n, n.Name, "")
		}
		return true
	})
}

func (g *generator) never(cond ast.Expr)  { g.add("never", cond, "(!mutant_(#) && (", "))") }
func (g *generator) always(cond ast.Expr) { g.add("always", cond, "(mutant_(#) || (", "))") }

// operands leaves out an operand of && or ||.
func (g *generator) operands(n *ast.BinaryExpr) {
	if n.Op != token.LAND && n.Op != token.LOR {
		return
	}
	for _, x := range []ast.Expr{n.X, n.Y} {
		switch inner, ok := x.(*ast.BinaryExpr); {
		case ok && inner.Op == n.Op: // its operands are left out
		case n.Op == token.LAND:
			g.add("without", x, "(mutant_(#) || (", "))")
		default:
			g.add("without", x, "(!mutant_(#) && (", "))")
		}
	}
}

// swap takes Yes for Maybe, and Maybe for Yes.
func (g *generator) swap(n ast.Node, name, pkg string) {
	other := map[string]string{"Yes": "Maybe", "Maybe": "Yes"}[name]
	if other != "" && g.zero["No"] || other != "" && pkg != "" {
		g.add("swap", n, "either_(#, "+pkg+other+", ", ")")
	}
}

// list makes the mutants of whole statements.
func (g *generator) list(list []ast.Stmt, results *ast.FieldList) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			g.returns(s, results)
		case *ast.ExprStmt:
			if !strings.HasPrefix(g.str(s), "panic(") {
				g.add("drop", s, "if !mutant_(#) { ", " }")
			}
		case *ast.IncDecStmt, *ast.RangeStmt:
			g.add("drop", s, "if !mutant_(#) { ", " }")
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && g.str(s.Lhs[0]) != "_" {
				g.add("drop", s, "if !mutant_(#) { ", " }")
			}
		}
	}
}

// returns makes a function return nothing, and one that tells yes from no either of them.
func (g *generator) returns(s *ast.ReturnStmt, results *ast.FieldList) {
	if len(s.Results) == 0 {
		return
	}
	var zeros []string
	for _, f := range results.List {
		for range max(len(f.Names), 1) {
			zeros = append(zeros, "*new("+g.str(f.Type)+")")
		}
	}
	if slices.ContainsFunc(s.Results, func(x ast.Expr) bool { return !g.isZero(x) }) {
		g.add("zero", s, "if mutant_(#) { return "+strings.Join(zeros, ", ")+" }; ", "")
	}
	if len(zeros) == 1 && zeros[0] == "*new(bool)" && g.str(s.Results[0]) != "true" {
		g.add("true", s, "if mutant_(#) { return true }; ", "")
	}
}

// isZero reports whether an expression is certainly the zero of its type: nil, false, the
// first of a list of constants, T{}.
func (g *generator) isZero(x ast.Expr) bool {
	if c, ok := x.(*ast.CompositeLit); ok && len(c.Elts) == 0 {
		_, named := c.Type.(*ast.Ident)
		return named
	}
	return g.zero[g.str(x)]
}

// cases leaves out each case of a switch: what the default does is done instead. The cases
// of one without a tag are conditions.
func (g *generator) cases(body *ast.BlockStmt, conditions bool, bound string) {
	instead := ""
	for _, s := range body.List {
		if c := s.(*ast.CaseClause); c.List == nil && len(c.Body) > 0 {
			instead = g.src[c.Body[0].Pos()-g.base : c.Body[len(c.Body)-1].End()-g.base]
			if bound != "" && mentions(c, bound) {
				return
			}
		}
	}
	for _, s := range body.List {
		c := s.(*ast.CaseClause)
		if c.List == nil {
			continue
		}
		if conditions {
			for _, cond := range c.List {
				g.never(cond)
				g.always(cond)
			}
			continue
		}
		before, after := "if mutant_(#) {\n"+instead+"\n} else { ", " }"
		if instead == "" {
			before = "if !mutant_(#) { "
		}
		switch n := len(c.Body); {
		case n > 0 && !isFallthrough(c.Body[n-1]):
			g.put("case", c, c.Body[0].Pos(), c.Body[n-1].End(), before, after)
		case n == 0 && instead != "":
			g.put("case", c, c.Colon+1, c.Colon+1, before, after)
		}
	}
}

func isFallthrough(s ast.Stmt) bool {
	b, ok := s.(*ast.BranchStmt)
	return ok && b.Tok == token.FALLTHROUGH
}

func mentions(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

func (g *generator) add(kind string, n ast.Node, before, after string) {
	g.put(kind, n, n.Pos(), n.End(), before, after)
}

func (g *generator) put(kind string, n ast.Node, from, to token.Pos, before, after string) {
	text := strings.Join(strings.Fields(g.str(n)), " ")
	if r := []rune(text); len(r) > 70 {
		text = string(r[:70]) + " …"
	}
	g.made = append(g.made, &mutant{
		pkg: g.pkg, file: g.file, fn: g.fn, kind: kind, text: text, nth: 1,
		from: int(from - g.base), to: int(to - g.base), before: before, after: after,
	})
}

func (g *generator) str(n ast.Node) string { return g.src[n.Pos()-g.base : n.End()-g.base] }
