package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// prose are the fields and methods that hold text for a person. A decision that
// depended on text would change with the wording: causes are numbers
// (shell.Cause), errors have types. A field Why may be a cause, which may be
// compared.
var prose = []string{"Reason", "Reasons", "Message", "Detail"}

// mayReadProse lists the files that compare or search text, with the reason.
var mayReadProse = map[string]string{
	"cmd/agent-wrapper/policyimport.go": "shows rules, and tells once what is the same of several",
	"cmd/agent-wrapper/security.go":     "a Reason of the whitelist is its code",
	"cmd/agent-wrapper/stream.go":       "shows a decision, and leaves out what the reason has said",
	"internal/ask/desk/reply.go":        "a person's own words, which must not be missing",
	"internal/ask/display/cause.go":     "leaves out of a reason the action that stands before it",
	"internal/ask/display/text.go":      "shows an ask, and leaves out what the reason has said",
	"internal/text/plain/plain.go":      "puts the words of a library into others",
	"internal/test/sessions/real.go":    "orders causes for people to read",
	"internal/test/sessions/tally.go":   "groups questions for people to read",
	"permission/advice.go":              "leaves out of a message what it says already",
	"permission/still.go":               "a question that a person has answered is the same as long as its words are",
	"internal/policy/rules.go":          "tells once what is wrong with a policy and with those below it",
	"internal/policy/validate.go":       "shows an error without its place, which stands before it",
	"internal/whitelist/gate.go":        "a Reason of the whitelist is its code",
}

// searches are the functions that search a text, by package. In strings and
// bytes these are all but the ones that only construct text.
var searches = map[string]func(string) bool{
	"strings": looksInto, "bytes": looksInto,
	"regexp": func(name string) bool { return strings.HasPrefix(name, "Match") },
	"slices": func(name string) bool { return name == "Contains" || name == "Index" || name == "BinarySearch" },
}

func looksInto(function string) bool {
	return !slices.Contains([]string{"Join", "Repeat", "ToLower", "ToUpper", "ToValidUTF8", "NewReader", "Clone", "Count"}, function)
}

// TestNoProse: no decision depends on the wording of a reason or an error.
func TestNoProse(t *testing.T) {
	check(t, readsProse)
	reads := map[string]bool{}
	for _, f := range files(t) {
		reads[f.name] = len(proseIn(f)) > 0
	}
	for name := range mayReadProse {
		if !reads[name] {
			t.Errorf("mayReadProse lists %s, which reads no words", name)
		}
	}
}

func readsProse(f file) (faults []string) {
	if f.test || mayReadProse[f.name] != "" {
		return nil
	}
	for _, at := range proseIn(f) {
		faults = append(faults, fmt.Sprintf("%s compares or searches words for a person: compare the cause, or the type of the error; if it only shows them, list it in mayReadProse with the reason",
			fset.Position(at)))
	}
	return faults
}

// proseIn returns the positions at which a file compares or searches text.
func proseIn(f file) (found []token.Pos) {
	for _, decl := range f.ast.Decls {
		found = append(found, proseOf(f, decl)...)
	}
	return found
}

func proseOf(f file, decl ast.Decl) (found []token.Pos) {
	words := carried(decl)
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			equal := n.Op == token.EQL || n.Op == token.NEQ
			if equal && (words.compared(n.X, n.Y) || words.compared(n.Y, n.X)) {
				found = append(found, n.Pos())
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && words.hold(n.Tag) {
				found = append(found, n.Pos())
			}
		case *ast.CallExpr:
			if searching(f, n) && slices.ContainsFunc(n.Args, func(x ast.Expr) bool { return isWhy(x) || words.hold(x) }) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// searching reports whether a call searches a text: a function of the packages
// above, or a method of a regular expression.
func searching(f file, call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if pkg, ok := fun.X.(*ast.Ident); ok {
		if looks := searches[f.imports[pkg.Name]]; looks != nil {
			return looks(fun.Sel.Name)
		}
	}
	name := fun.Sel.Name
	return strings.HasPrefix(name, "Match") || strings.HasPrefix(name, "Find") || strings.HasPrefix(name, "ReplaceAll")
}

// compared reports whether x is text that is compared with y.
func (w wording) compared(x, y ast.Expr) bool {
	lit, ok := y.(*ast.BasicLit)
	return !isEmpty(y) && (w.hold(x) || isWhy(x) && ok && lit.Kind == token.STRING)
}

func isWhy(x ast.Expr) bool {
	sel, ok := x.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Why"
}

// isEmpty reports whether an expression is "", nil or 0: a check whether there
// is text does not depend on its wording.
func isEmpty(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return x.Value == `""` || x.Value == "0"
	case *ast.Ident:
		return x.Name == "nil"
	}
	return false
}

// wording holds the names of variables of a function that text was assigned to.
type wording map[string]bool

// carried returns the variables that hold text, and the parameters named after
// it.
func carried(decl ast.Decl) wording {
	words := wording{}
	if f, ok := decl.(*ast.FuncDecl); ok {
		for _, param := range f.Type.Params.List {
			typ, ok := param.Type.(*ast.Ident)
			for _, id := range param.Names {
				words[id.Name] = ok && typ.Name == "string" && slices.Contains([]string{"reason", "why", "message"}, id.Name)
			}
		}
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i := range a.Lhs {
				if id, ok := a.Lhs[i].(*ast.Ident); ok && words.hold(a.Rhs[i]) {
					words[id.Name] = true
				}
			}
		}
		return true
	})
	return words
}

// hold reports whether an expression is text: a field of the list, the result
// of Error, or String of a cause, alone or concatenated.
func (w wording) hold(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return w[x.Name]
	case *ast.SelectorExpr:
		return slices.Contains(prose, x.Sel.Name)
	case *ast.ParenExpr:
		return w.hold(x.X)
	case *ast.BinaryExpr:
		return x.Op == token.ADD && (w.hold(x.X) || w.hold(x.Y))
	case *ast.IndexExpr:
		return w.hold(x.X)
	case *ast.SliceExpr:
		return w.hold(x.X)
	case *ast.CallExpr:
		fun, ok := x.Fun.(*ast.SelectorExpr)
		if !ok {
			id, ok := x.Fun.(*ast.Ident)
			return ok && id.Name == "string" && slices.ContainsFunc(x.Args, w.hold)
		}
		return fun.Sel.Name == "Error" && len(x.Args) == 0 || fun.Sel.Name == "String" && (isWhy(fun.X) || w.hold(fun.X))
	}
	return false
}
