package arch

import (
	"fmt"
	"go/ast"
	"regexp"
	"strconv"
	"testing"
)

// TestStart: no regular expression is compiled during package initialization;
// see lazyregexp.
func TestStart(t *testing.T) { check(t, compilesAtStart) }

func compilesAtStart(f file) (faults []string) {
	if f.test || testTool(f.dir) {
		return nil
	}
	for _, decl := range f.ast.Decls {
		if decl, ok := decl.(*ast.GenDecl); ok {
			faults = append(faults, regexpsIn(f, decl)...)
		}
	}
	return faults
}

// regexpsIn checks the regular expressions of a package-level declaration.
func regexpsIn(f file, decl *ast.GenDecl) (faults []string) {
	ast.Inspect(decl, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		at := fset.Position(call.Pos())
		switch pkg, _ := sel.X.(*ast.Ident); {
		case pkg == nil:
		case f.imports[pkg.Name] == "regexp":
			faults = append(faults, fmt.Sprintf("%s compiles a regular expression whenever the program starts: use internal/text/lazyregexp", at))
		case f.imports[pkg.Name] == module+"/internal/text/lazyregexp":
			if err := compiles(call); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", at, err))
			}
		}
		return true
	})
	return faults
}

// compiles returns why the pattern of lazyregexp.New does not compile, or nil.
func compiles(call *ast.CallExpr) error {
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return fmt.Errorf("the pattern is no literal, so that nobody can tell whether it compiles")
	}
	pattern, err := strconv.Unquote(lit.Value)
	if err == nil {
		_, err = regexp.Compile(pattern)
	}
	return err
}
