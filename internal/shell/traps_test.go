package shell

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// The traps of the parser, each with its guard. The first half of a test shows that
// the trap still exists, where that is possible without harm, so that a guard against
// nothing is noticed.

// wholeOpaque reports whether the facts consist of one opaque spot that may hide
// anything.
func wholeOpaque(f *Facts) bool {
	return f.Failed != nil && len(f.Actions) == 1 && f.Actions[0].Kind == Opaque && f.Actions[0].May == MayRun
}

func TestTrapPartialTreeBesideAnError(t *testing.T) {
	const line = "git status; rm -rf / 'oops"
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err == nil {
		t.Fatal("the line parses: choose another")
	}
	if file == nil || len(file.Stmts) == 0 {
		t.Log("the parser no longer returns a tree beside the error")
	}
	for _, line := range []string{
		line, "ls; (", "ls\nif true; then", "ls && $(", "ls 'x", "ls \"x", "ls `x", "ls; )", "ls | ", "ls; fi", "case x in", "ls ${x", "ls <<< ",
		"ls; f() {", "ls; ((1+", "ls; [[ -f x", "cat <(ls", "ls; for x in a; do ls", "echo ok; select", "ls; } ", "ls; ;;",
	} {
		if f := Analyze(line, Options{}); !wholeOpaque(f) {
			t.Errorf("%q: %d actions, failed %v; want the whole line opaque", line, len(f.Actions), f.Failed)
		}
	}
}

// The same text inside another command: bash runs what comes before the error.
func TestTrapPartialTreeInside(t *testing.T) {
	for _, line := range []string{"eval \"ls; (\"", "trap \"ls; (\" EXIT", "eval 'git status; rm -rf / \"oops'"} {
		f := Analyze(line, Options{})
		if !hasOpaque(f, MayRun) {
			t.Errorf("%q: no opaque spot", line)
		}
		for i := range f.Actions {
			if a := &f.Actions[i]; a.Kind == Command && (a.Words[0].Text == "ls" || a.Words[0].Text == "git") {
				t.Errorf("%q: %s comes from a tree that is not whole", line, a.Words[0].Text)
			}
		}
	}
}

func hasOpaque(f *Facts, may Effects) bool {
	for i := range f.Actions {
		if f.Actions[i].Kind == Opaque && f.Actions[i].May&may != 0 {
			return true
		}
	}
	return false
}

// RecoverErrors makes the parser invent what is missing and report success.
func TestTrapRecoverErrors(t *testing.T) {
	p := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.RecoverErrors(10))
	if _, err := p.Parse(strings.NewReader("git status; rm -rf / 'oops"), ""); err != nil {
		t.Logf("RecoverErrors no longer hides this error: %v", err)
	}
	for path, file := range projectSources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "RecoverErrors" {
				t.Errorf("%s uses RecoverErrors", path)
			}
			return true
		})
	}
}

// Only borrow creates a parser, and only parse makes trees with it. Any other place
// would have to repeat the limits and the check for errors.
func TestTrapOneParser(t *testing.T) {
	makers := 0
	for path, file := range projectSources(t) {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "NewParser" {
					makers++
					if fn.Name.Name != "borrow" {
						t.Errorf("%s: %s makes a parser of its own", path, fn.Name.Name)
					}
				}
				return true
			})
		}
	}
	if makers != 1 {
		t.Errorf("%d places make a parser, want 1", makers)
	}
}

// projectSources returns the parsed files of the project without tests.
func projectSources(t *testing.T) map[string]*ast.File {
	t.Helper()
	out := map[string]*ast.File{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		out[path] = file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 10 {
		t.Fatalf("only %d files found", len(out))
	}
	return out
}

// The parser has no depth limit and a stack overflow ends the process, so brackets
// are counted before each parse.
func TestTrapDepth(t *testing.T) {
	deep := map[string]string{
		"subshells":     strings.Repeat("(", 20000),
		"substitutions": strings.Repeat("$(", 20000),
		"arithmetic":    strings.Repeat("$((", 20000),
		"quoted":        strings.Repeat("\"$(", 20000),
		"braces":        strings.Repeat("{ ", 30000),
		"parameters":    strings.Repeat("${x:-", 12000),
		"brackets":      strings.Repeat("[[ ", 20000),
		"backquotes":    strings.Repeat("`", 20001),
		"closed":        strings.Repeat("(", 1001) + "ls" + strings.Repeat(")", 1001),
		"mixed":         strings.Repeat("({$[", 400),
	}
	for name, line := range deep {
		if len(line) > MaxLine {
			t.Errorf("%s: the line is too long to test the count", name)
		}
		f := Analyze(line, Options{})
		if !wholeOpaque(f) || f.Failed.Why.Cause != causeBrackets {
			t.Errorf("%s: failed %v, want the count of brackets", name, f.Failed)
		}
	}
	// An escape hides the brackets from the count of the outer text.
	for _, line := range []string{
		"eval $'" + strings.Repeat(`\x28`, 2000) + "'",
		"eval $'" + strings.Repeat(`\044\050`, 2000) + "'",
	} {
		if f := Analyze(line, Options{}); !hasOpaque(f, MayRun) {
			t.Errorf("%.30q: no opaque spot", line)
		}
	}
	// What is allowed parses.
	if f := Analyze(strings.Repeat("(", 900)+"ls"+strings.Repeat(")", 900), Options{}); f.Failed != nil {
		t.Errorf("900 subshells: %v", f.Failed)
	}
	// Operators are no depth.
	if f := Analyze(strings.Repeat("ls && ", 2000)+"ls", Options{}); f.Failed != nil {
		t.Errorf("2000 operators: %v", f.Failed)
	}
}

func TestTrapSize(t *testing.T) {
	if f := Analyze(strings.Repeat("a", MaxLine), Options{}); f.Failed != nil {
		t.Errorf("a line of %d bytes: %v", MaxLine, f.Failed)
	}
	if f := Analyze(strings.Repeat("a", MaxLine+1), Options{}); !wholeOpaque(f) {
		t.Errorf("a line of %d bytes is read", MaxLine+1)
	}
	f := Analyze("rm x;"+strings.Repeat("a;", maxParts+1), Options{})
	if last := f.Actions[len(f.Actions)-1]; last.Kind != Opaque || last.May != MayRun || last.Why.Cause != causeTooMuch || last.End != len(f.Source) {
		t.Errorf("a line of %d commands ends with %+v", maxParts+2, last)
	}
	if f.Actions[0].Words[0].Text != "rm" {
		t.Error("what was read before the limit is lost")
	}
	// Text that is read only for what it may write counts for the line.
	f = Analyze("sh -c \"agent-wrapper "+strings.Repeat("a;", 1200)+"$x\"; "+strings.Repeat("a;", 2000), Options{})
	if f.Failed == nil || !f.Failed.Cut {
		t.Errorf("a line whose text has 1,200 commands beside 2,000 is read whole: %d actions", len(f.Actions))
	}
}

// Bash drops NUL bytes; the parser may stop or continue at one.
func TestTrapNUL(t *testing.T) {
	for _, line := range []string{"\x00", "ls\x00", "r\x00m x", "ls 'a\x00b'", "ls # \x00\nrm x", "cat <<E\n\x00\nE"} {
		if f := Analyze(line, Options{}); !wholeOpaque(f) {
			t.Errorf("%q: %d actions, failed %v", line, len(f.Actions), f.Failed)
		}
	}
}

// The parser takes CR LF for a line end; for bash the CR is part of the word.
func TestTrapCarriageReturn(t *testing.T) {
	for _, line := range []string{"ls\r\nrm x", "ls\r", "rm\rx", "r\\\r\nm x", "ls \"a\rb\"", "if true\r\nthen ls\r\nfi", "cat <<E\r\nx\r\nE\r\n", "echo a #\r\nrm x"} {
		if f := Analyze(line, Options{}); !hasOpaque(f, MayRun) {
			t.Errorf("%q: no opaque spot", line)
		}
	}
	if f := Analyze("ls 'a\rb'", Options{}); hasOpaque(f, MayRun) {
		t.Error("a CR in single quotes is a character like others")
	}
}

// The parser reads other languages as bash without an error.
func TestTrapForeignLanguages(t *testing.T) {
	for _, line := range []string{"Get-ChildItem | Where-Object {$_.Name -eq 'a'}", "dir & del /q x", "ls | each { |it| rm $it }", "ls"} {
		if f := Analyze(line, Options{Dialect: Foreign}); !wholeOpaque(f) {
			t.Errorf("%q: %d actions, failed %v", line, len(f.Actions), f.Failed)
		}
	}
}

// What is special to bash only has another meaning in sh.
func TestTrapOtherDialects(t *testing.T) {
	for _, line := range []string{"[[ -f x ]] && rm x", "cat <(ls)", "ls &> x", "ls |& cat", "function f { ls; }", "echo $'\\x72m'", "rm {a,b}"} {
		if f := Analyze(line, Options{Dialect: Sh}); !hasOpaque(f, MayRun) && !hasHole(f) {
			t.Errorf("sh %q: neither opaque nor unknown", line)
		}
	}
	for _, line := range []string{"echo *(e:'rm y':)", "ls =(rm x)", "for x (a b) rm $x", "{ ls } always { rm x }"} {
		if f := Analyze(line, Options{Dialect: Zsh}); !hasOpaque(f, MayRun) {
			t.Errorf("zsh %q: no opaque spot", line)
		}
	}
}

func hasHole(f *Facts) bool {
	for i := range f.Actions {
		for k := range f.Actions[i].Words {
			if !f.Actions[i].Words[k].Known() {
				return true
			}
		}
	}
	return false
}

// The tree changed in a minor version once. A new version is accepted only after the
// differential test has run against it.
func TestTrapParserIsPinned(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^\s*mvdan\.cc/sh/v3 v3\.14\.1(\s|$)`).Match(mod) {
		t.Error("go.mod does not name mvdan.cc/sh/v3 v3.14.1")
	}
}
