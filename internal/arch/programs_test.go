package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	catalog "github.com/agent-wrapper/agent-wrapper/internal/program"
)

// programLists are the lists of programs outside the catalogue, by file and declaration,
// each with the reason why it stands there. What is a fact about a program belongs into
// its section of the catalogue: a list elsewhere misses the next program.
var programLists = map[string]string{
	"cmd/agent-wrapper/classify.go shellNames":        shells,
	"cmd/agent-wrapper/exec.go shells":                shells,
	"internal/policy/classify.go Shells":              shells,
	"internal/risk/windows.go shellOf":                shells,
	"internal/shell/program_shell.go dialectOf":       shells,
	"internal/tools/mapping.go Dialects":              shells,
	"permission/mapped.go dialects":                   shells,
	"cmd/agent-wrapper/approvals.go approvalsCommand": chance,
	"internal/release/main.go common":                 chance,
	"patterns/url.go schemePorts":                     chance,
	"internal/shell/command_special.go readers":       readers,
	"internal/shell/possible_reads.go adds":           readers,
	"internal/whitelist/validate.go runners":          readers,
	"permission/quiet.go keeps":                       readers,
	"internal/shell/expand_names.go narrowing":        syntax,
	"internal/shell/expand_names.go namesOf":          syntax,
	"internal/shell/expand_names.go printsNames":      syntax,
	"internal/shell/expand_names.go shapesNames":      syntax,
	"internal/shell/facts.go movers":                  syntax,
	"internal/shell/possible_commands.go shellOnly":   syntax,
	"internal/shell/survey.go assigners":              syntax,
	"internal/shell/survey.go setsUnasked":            syntax,
	"internal/shell/survey.go runsBuiltins":           syntax,
	"internal/shell/walk_flood.go constantCall":       syntax,
	"internal/shell/walk_zsh.go evaluated":            syntax,
	"cmd/agent-wrapper/hook.go guards":                own,
	"internal/ask/editor.go NewEditor":                own,
	"internal/policy/hostrules/hostrules.go formats":  hosts,
	"internal/policy/hostrules/vscode.go vscodeFree":  hosts,
	"internal/policy/init_own.go removes":             projects,
	"internal/policy/init_own.go managers":            projects,
	"internal/policy/init_own.go nodeTools":           projects,
	"internal/policy/init_own.go pythonNamed":         projects,
	"internal/policy/init_own.go python":              projects,
	"internal/policy/init_own.go ruby":                projects,
	"internal/shell/program_node.go packaged":         projects,
	"internal/risk/catastrophe.go handlesNames":       guard,
	"internal/risk/catastrophe.go makesFileSystem":    guard,
	"internal/risk/catastrophe.go onlyShowing":        guard,
	"internal/risk/catastrophe.go overwrites":         guard,
	"internal/risk/catastrophe.go overwriting":        guard,
	"internal/risk/terminal.go terminal":              guard,
	"internal/risk/use.go sortWords":                  guard,
	"internal/risk/windows.go portable":               guard,
	"internal/shell/effect_path.go skipsHidden":       words,
	"internal/shell/effect_skips.go skips":            words,
	"internal/shell/program_http.go requests":         words,
	"internal/shell/program_http.go requester":        words,
	"internal/shell/program_url.go client":            words,
	"permission/advice.go searching":                  words,
	"permission/scratch.go hardLinks":                 words,
	"permission/scratch.go makesFiles":                words,
	"internal/shell/command_config.go labelled":       candidate,
	"internal/shell/program_make.go makeTools":        candidate,
	"internal/whitelist/near.go runsScripts":          candidate,
	"internal/whitelist/outward.go outwardPrograms":   candidate,
	"internal/whitelist/starting.go scriptRunners":    candidate,
	"internal/workspace/sandbox.go caches":            candidate,
	"patterns/aside.go managers":                      candidate,
	"patterns/command.go runners":                     candidate,
}

// Why a list may stand outside the catalogue.
const (
	shells    = "the shells whose language is read: a dialect of the reader, no fact about a program"
	chance    = "words of ours, of a system or of URLs that are names of programs by chance"
	readers   = "names of readers, which sections of the catalogue name as special"
	syntax    = "what the survey and the expansion know of builtins and filters before any program is looked up"
	own       = "programs that this one starts or is started by"
	hosts     = "what other agents approve by themselves, in the words of their settings"
	projects  = "names of packages and scripts in a project, which tell what a policy for it needs"
	guard     = "a judgment of one guard or profile, with the options that it looks at"
	words     = "how the words of these few programs are read further, beside the list itself"
	candidate = "a fact that may move into the catalogue"
)

// TestProgramLists: no list of programs stands outside the catalogue, but for those that
// are argued.
func TestProgramLists(t *testing.T) {
	used := map[string]bool{}
	for _, f := range files(t) {
		for _, at := range listsOfPrograms(f) {
			used[at] = true
			if programLists[at] == "" {
				t.Errorf("%s lists programs: what is known of them belongs into internal/program/catalog", at)
			}
		}
	}
	for at := range programLists {
		if !used[at] {
			t.Errorf("%s lists no programs: remove it from programLists", at)
		}
	}
}

// listsOfPrograms returns the declarations of a file with a list of three programs or more:
// elements of a slice, first fields or keys of a table, or cases of a switch.
func listsOfPrograms(f file) (found []string) {
	if f.test || testTool(f.dir) || strings.HasPrefix(f.dir, "internal/program") {
		return nil
	}
	for _, decl := range f.ast.Decls {
		each := func(name string, n ast.Node) {
			listed := false
			ast.Inspect(n, func(n ast.Node) bool {
				listed = listed || mostlyPrograms(literals(n))
				return true
			})
			if listed {
				found = append(found, f.name+" "+name)
			}
		}
		switch d := decl.(type) {
		case *ast.FuncDecl:
			each(d.Name.Name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					each(v.Names[0].Name, v)
				}
			}
		}
	}
	return found
}

// mostlyPrograms reports whether at least three texts, and most of them, are names of the
// catalogue. Many of these are words of English too: a list of verbs is none of programs.
func mostlyPrograms(texts []string) bool {
	n := 0
	for _, text := range texts {
		if catalog.Spellings(nil, text) != nil {
			n++
		}
	}
	return n >= 3 && n*4 >= len(texts)*3
}

// literals returns the texts that a node lists.
func literals(n ast.Node) (texts []string) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		for _, item := range n.Elts {
			texts = append(texts, leading(item)...)
		}
	case *ast.CallExpr:
		for _, item := range n.Args {
			texts = append(texts, text(item)...)
		}
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			for _, item := range clause.(*ast.CaseClause).List {
				texts = append(texts, text(item)...)
			}
		}
	}
	return texts
}

// leading returns the text that an element is known by: itself, its key or its first field.
func leading(item ast.Expr) []string {
	switch item := item.(type) {
	case *ast.KeyValueExpr:
		return text(item.Key)
	case *ast.CompositeLit:
		if len(item.Elts) > 0 {
			return leading(item.Elts[0])
		}
	}
	return text(item)
}

func text(item ast.Expr) []string {
	if lit, ok := item.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if s, err := strconv.Unquote(lit.Value); err == nil {
			return []string{s}
		}
	}
	return nil
}

// TestListsOfPrograms: what counts as a list of programs.
func TestListsOfPrograms(t *testing.T) {
	for body, want := range map[string]bool{
		`var x = []string{"sort", "uniq", "wc"}`:                              true,
		`var x = map[string]int{"sort": 1, "uniq": 2, "wc": 3}`:               true,
		`var x = []row{{"sort", 1}, {"uniq", 2}, {"wc", 3}}`:                  true,
		`var x = set("sort", "uniq", "wc")`:                                   true,
		`func x() { switch n { case "sort", "uniq": case "wc": } }`:           true,
		`func x() { _ = slices.Contains([]string{"sort", "uniq", "wc"}, n) }`: true,
		`var x = []string{"sort", "uniq"}`:                                    false,
		`var x = []string{"sort", "uniq", "wc", "nothing 1", "nothing 2"}`:    false,
		`func x() { switch n { case 1, 2, 3: } }`:                             false,
	} {
		tree, err := parser.ParseFile(fset, "x.go", "package p\n"+body, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f, err := newFile("patterns/x.go", tree)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(listsOfPrograms(f)); (got == "[patterns/x.go x]") != want {
			t.Errorf("%s: %s", body, got)
		}
	}
}
