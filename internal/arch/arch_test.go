package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/agent-wrapper/agent-wrapper"

// leaves are packages that know nothing of tool uses: any package may import them.
// A name that ends in "/" includes the packages below it.
var leaves = []string{
	"internal/text/", "internal/test/", "internal/ask/tty", "internal/ask/webhook", "internal/atomicfile", "internal/build",
	"internal/golden", "internal/lastdir", "internal/mask", "internal/netns", "internal/outputs", "internal/program/catalogfile",
	"internal/serve/calm", "internal/serve/signed",
}

// mayImport lists the packages of the project that each package may import,
// besides leaves. "*" means any but cmd. Tests may import any package.
var mayImport = map[string][]string{
	".":                                   {"internal/audit", "internal/policy", "internal/run/engine", "internal/sandbox/kernel"},
	"internal/program":                    {},
	"internal/shell":                      {"internal/program"},
	"modes":                               {},
	"internal/tools":                      {},
	"patterns":                            {"internal/shell", "internal/program", "internal/tools"},
	"internal/risk":                       {"internal/shell", "internal/program"},
	"permission":                          {"patterns", "modes", "internal/risk", "internal/shell", "internal/program", "internal/tools"},
	"internal/sandbox":                    {"permission", "patterns", "internal/risk", "internal/tools"},
	"internal/sandbox/kernel":             {"internal/sandbox", "internal/sandbox/kernel/inside", "internal/sandbox/proxy", "internal/run/process"},
	"internal/sandbox/kernel/inside":      {},
	"internal/sandbox/proxy":              {"internal/sandbox"},
	"internal/workspace":                  {"frontmatter", "patterns", "internal/program", "internal/shell", "internal/tools", "internal/sandbox"},
	"internal/policy":                     {"frontmatter", "permission", "patterns", "modes", "internal/risk", "internal/shell", "internal/program", "internal/workspace", "internal/tools"},
	"internal/policy/hostrules":           {"internal/policy", "patterns", "internal/tools"},
	"internal/audit":                      {"permission", "patterns", "modes", "internal/risk", "internal/shell", "internal/tools"},
	"internal/whitelist":                  {"permission", "patterns", "modes", "internal/risk", "internal/shell", "internal/program"},
	"internal/run/gates":                  {"permission", "patterns", "modes", "internal/risk", "internal/shell", "internal/whitelist", "internal/run/process", "internal/sandbox", "internal/workspace"},
	"internal/ask/approval":               {"permission", "patterns", "modes", "internal/risk", "internal/shell", "internal/program", "internal/tools"},
	"internal/ask/display":                {"permission", "patterns", "modes", "internal/tools"},
	"frontmatter":                         {},
	"internal/run/process":                {},
	"internal/run/execution":              {},
	"internal/ask/notify":                 {"internal/ask/display", "internal/run/execution", "permission", "internal/run/process"},
	"wrapper":                             {"permission", "patterns", "internal/tools", "internal/sandbox"},
	"wrapper/claude":                      {"wrapper", "wrapper/claude/briefing", "wrapper/claude/prefix", "wrapper/claude/shelltext", "permission", "patterns", "internal/shell", "internal/run/process", "internal/tools", "internal/sandbox", "internal/sandbox/kernel"},
	"wrapper/claude/briefing":             {"wrapper/claude/command", "frontmatter", "permission", "internal/tools", "internal/workspace"},
	"wrapper/claude/command":              {},
	"wrapper/claude/prefix":               {},
	"wrapper/claude/shelltext":            {},
	"wrapper/demo":                        {"wrapper", "patterns", "internal/policy"},
	"wrapper/editor":                      {"wrapper", "internal/ask/desk", "permission"},
	"internal/run/engine":                 {"internal/ask/approval", "wrapper", "internal/ask/display", "internal/ask/notify", "permission", "patterns", "modes", "internal/risk", "internal/shell", "internal/policy", "internal/audit", "internal/whitelist", "internal/run/process", "internal/tools", "internal/sandbox", "internal/workspace"},
	"internal/ask/desk":                   {"internal/ask/approval", "internal/ask/display", "permission", "patterns", "internal/risk", "internal/workspace"},
	"internal/ask/broker":                 {"internal/ask/approval", "internal/ask/desk", "internal/ask/display", "permission"},
	"internal/serve/mcp":                  {"permission"},
	"internal/serve/recording":            {},
	"internal/hook/entry":                 {},
	"internal/hook/doctor":                {"internal/hook/entry", "internal/run/process"},
	"internal/serve/terminal":             {"internal/ask/approval", "internal/audit", "internal/ask/desk", "internal/run/execution", "permission", "internal/run/process", "internal/program", "internal/serve/recording", "internal/shell", "internal/serve/store"},
	"internal/hook/install":               {"internal/hook/entry", "internal/ask/display"},
	"internal/serve/decide":               {"internal/run/engine", "internal/ask/desk", "internal/ask/display", "permission", "internal/audit"},
	"internal/hook":                       {"internal/hook/entry", "internal/ask/approval", "internal/audit", "internal/ask/broker", "internal/run/engine", "modes", "permission", "internal/policy", "internal/tools"},
	"internal/hook/claude":                {"internal/hook", "internal/hook/entry", "permission", "internal/shell", "internal/tools", "internal/workspace", "wrapper/claude/command"},
	"internal/hook/codex":                 {"internal/hook", "internal/hook/entry", "permission", "internal/tools"},
	"internal/hook/gemini":                {"internal/hook", "internal/hook/entry", "permission", "internal/tools"},
	"internal/hook/qwen":                  {"internal/hook", "internal/hook/entry", "permission", "internal/tools"},
	"internal/hook/copilot":               {"internal/hook", "internal/hook/entry", "permission", "internal/tools"},
	"internal/hook/opencode":              {"internal/hook", "internal/hook/entry", "permission", "internal/tools"},
	"internal/hook/crush":                 {"internal/hook", "internal/hook/entry", "permission", "internal/tools"},
	"internal/hook/hosts":                 {"internal/hook", "internal/hook/claude", "internal/hook/codex", "internal/hook/gemini", "internal/hook/qwen", "internal/hook/copilot", "internal/hook/opencode", "internal/hook/crush"},
	"internal/ask/chat":                   {"internal/ask", "permission", "internal/ask/display", "wrapper"},
	"internal/ask":                        {"internal/ask/desk", "internal/ask/approval", "internal/ask/display", "permission", "patterns", "internal/run/process"},
	"internal/serve/store":                {"internal/ask/approval"},
	"internal/serve/store/internal/sqldb": {"internal/serve/store", "internal/ask/approval"},
	"internal/serve/store/ledger":         {"internal/serve/store", "internal/audit"},
	"internal/serve/store/sqlite":         {"internal/serve/store/internal/sqldb"},
	"internal/serve/store/postgres":       {"internal/serve/store/internal/sqldb"},
	"internal/serve/store/storetest":      {"internal/serve/store", "internal/ask/approval"},
	"cmd/agent-wrapper":                   {"*"},
	"cmd/agent-wrapper-hook":              {"internal/audit", "internal/run/engine", "internal/hook", "internal/hook/entry", "internal/hook/hosts", "internal/run/process"},
	"cmd/agent-wrapper-sandbox":           {"internal/sandbox/kernel/inside", "wrapper/claude/prefix"},
	"e2e":                                 {"*"},
	"internal/serve/server":               {"internal/serve/server/api", "internal/serve/server/page", "internal/serve/store", "internal/ask/approval", "internal/audit", "internal/ask/broker", "internal/ask/desk", "internal/run/engine", "patterns", "permission", "internal/risk", "internal/serve/terminal", "internal/sandbox", "internal/sandbox/kernel"},
	"internal/serve/server/api":           {"internal/ask/approval", "permission", "internal/risk"},
	"internal/serve/server/page":          {},
	"internal/serve/server/client":        {"internal/serve/server/api", "internal/ask/approval"},
	"internal/test/brokertest":            {"internal/ask/approval"},
	"internal/test/manuals":               {"internal/program"},
	"internal/test/sessions":              {"*"},
	"internal/test/effectbox":             {"internal/run/process", "internal/sandbox", "internal/sandbox/kernel"},
	"internal/mask":                       {"internal/program"},
	"internal/":                           {},
	"docs/":                               {},
}

// pure packages use no file, process, network, clock or environment.
var pure = []string{"wrapper/claude/shelltext", "internal/sandbox", "permission", "patterns", "modes", "internal/program", "internal/tools", "internal/shell", "internal/risk", "internal/ask/approval", "internal/ask/display", "internal/serve/recording"}

// impure are the packages of the standard library that do; a name that ends in
// "/" includes the packages below it.
var impure = []string{
	"os", "os/", "net", "net/http", "net/http/", "net/smtp", "net/rpc", "net/rpc/", "log", "log/", "syscall", "io/ioutil",
	"database/", "plugin", "runtime/debug", "crypto/rand", "math/rand", "math/rand/", "embed", "testing", "testing/", "unsafe",
}

// clocks are the functions of package time that pure packages must not use.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// fences list the packages that may use a library outside tests.
var fences = map[string][]string{
	"mvdan.cc/sh/v3/syntax":        {"internal/shell"},
	"github.com/gobwas/glob":       {"patterns"},
	"github.com/BurntSushi/toml":   {"internal/text/stricttoml", "internal/program/cataloggen"},
	"go.yaml.in/yaml/v4":           {"frontmatter", "internal/whitelist"},
	"github.com/google/go-cmp/cmp": {"internal/golden", "internal/serve/store/storetest"},
	"golang.org/x/net/idna":        {"patterns"},
	"golang.org/x/text/width":      {"internal/ask/display"},
	"github.com/spf13/cobra":       {"cmd/agent-wrapper"},
	"github.com/spf13/pflag":       {"cmd/agent-wrapper"},
	"golang.org/x/term":            {"cmd/agent-wrapper", "internal/ask/tty", "internal/serve/terminal", "internal/run/process"},
	"golang.org/x/sys/unix":        {"internal/ask/tty", "internal/serve/terminal", "internal/run/process", "internal/sandbox/kernel", "internal/sandbox/kernel/inside", "wrapper/claude/prefix"},
	"golang.org/x/net/bpf":         {"internal/sandbox/kernel/inside", "wrapper/claude/prefix"},
	"github.com/creack/pty":        {"internal/serve/terminal"},
	"github.com/coder/websocket":   {"internal/serve/server"},
	"github.com/tailscale/hujson":  {"internal/hook/install", "internal/text/jsonc"},
	"go.starlark.net/syntax":       {"internal/policy/hostrules"},
	"modernc.org/sqlite":           {"internal/serve/store/sqlite"},
	"github.com/jackc/pgx/v5":      {"internal/serve/store/postgres"},

	"github.com/landlock-lsm/go-landlock/landlock":         {"internal/sandbox/kernel/inside", "wrapper/claude/prefix"},
	"github.com/landlock-lsm/go-landlock/landlock/syscall": {"internal/sandbox/kernel/inside", "wrapper/claude/prefix"},

	"github.com/jackc/pgx/v5/pgconn": {"internal/serve/store/postgres"},
	"github.com/jackc/pgx/v5/stdlib": {"internal/serve/store/postgres"},

	"github.com/rogpeppe/go-internal/txtar":      {"internal/test/sessions", "internal/test/client"},
	"github.com/google/jsonschema-go/jsonschema": {"internal/test/protocol"},
}

// file is a Go file of the project.
type file struct {
	dir     string // "wrapper/claude"
	name    string // "wrapper/claude/argv.go"
	test    bool
	ast     *ast.File
	imports map[string]string // local name → path
}

var fset = token.NewFileSet()

// files parses the whole project.
func files(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []file
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") && name != root) {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(base) != ".go" {
			return nil
		}
		f, err := parse(root, name)
		all = append(all, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files found", len(all))
	}
	return all
}

func parse(root, name string) (file, error) {
	tree, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return file{}, err
	}
	return newFile(filepath.ToSlash(rel), tree)
}

func newFile(rel string, tree *ast.File) (file, error) {
	f := file{dir: path.Dir(rel), name: rel, test: strings.HasSuffix(rel, "_test.go"), ast: tree, imports: map[string]string{}}
	for _, spec := range tree.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return f, err
		}
		local := path.Base(target)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		f.imports[local] = target
	}
	return f, nil
}

// under reports whether the package is in list; an item that ends in "/"
// includes the packages below it.
func under(pkg string, list []string) bool {
	return slices.ContainsFunc(list, func(item string) bool {
		return pkg == item || strings.HasSuffix(item, "/") && strings.HasPrefix(pkg, item)
	})
}

// rule returns the entry of mayImport for a package.
func rule(dir string) (allowed []string, ok bool) {
	if allowed, ok = mayImport[dir]; ok {
		return allowed, true
	}
	for item, allowed := range mayImport {
		if strings.HasSuffix(item, "/") && strings.HasPrefix(dir, item) {
			return allowed, true
		}
	}
	return nil, false
}

func TestImports(t *testing.T) { check(t, imports) }

// check reports the faults that a rule finds in the files of the project.
func check(t *testing.T, rule func(file) []string) {
	t.Helper()
	for _, f := range files(t) {
		for _, fault := range rule(f) {
			t.Error(fault)
		}
	}
}

func imports(f file) (faults []string) {
	allowed, known := rule(f.dir)
	if !known {
		return []string{f.name + ": package " + f.dir + " has no entry in mayImport"}
	}
	for local, target := range f.imports {
		inner, ours := strings.CutPrefix(target, module+"/")
		if !ours || f.test || inner == f.dir {
			continue
		}
		if local == "." {
			faults = append(faults, f.name+" imports "+inner+" without a name, which hides what it uses")
		}
		if testTool(inner) && !testTool(f.dir) && f.dir != "e2e" {
			faults = append(faults, f.name+" imports "+inner+", which is a tool of the tests")
		}
		if strings.HasPrefix(inner, "cmd/") {
			faults = append(faults, f.name+" imports "+inner+": nothing imports cmd")
		}
		if !under(inner, leaves) && !slices.Contains(allowed, inner) && !slices.Contains(allowed, "*") {
			faults = append(faults, f.name+" imports "+inner+", which package "+f.dir+" may not")
		}
	}
	return faults
}

// testTool reports whether a package is a test tool, which the product does not
// import.
func testTool(dir string) bool { return strings.HasPrefix(dir, "internal/test/") }

func TestPure(t *testing.T) { check(t, impurities) }

func impurities(f file) (faults []string) {
	if f.test || !slices.Contains(pure, f.dir) {
		return nil
	}
	for _, target := range f.imports {
		if under(target, impure) {
			faults = append(faults, f.name+" imports "+target+": package "+f.dir+" touches no file, process, network, clock or environment")
		}
	}
	for _, name := range uses(f, "time") {
		if slices.Contains(clocks, name.Sel.Name) {
			faults = append(faults, fmt.Sprintf("%s uses time.%s: package %s has no clock", fset.Position(name.Pos()), name.Sel.Name, f.dir))
		}
	}
	return faults
}

// uses returns the selectors with which a file refers to a package.
func uses(f file, pkg string) []*ast.SelectorExpr {
	var found []*ast.SelectorExpr
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && f.imports[x.Name] == pkg {
				found = append(found, sel)
			}
		}
		return true
	})
	return found
}

func TestFences(t *testing.T) { check(t, trespasses) }

func trespasses(f file) (faults []string) {
	for _, target := range f.imports {
		if f.test || strings.HasPrefix(target, module) || !strings.Contains(strings.Split(target, "/")[0], ".") {
			continue
		}
		if users, known := fences[target]; !known {
			faults = append(faults, f.name+" imports "+target+", which has no fence")
		} else if !slices.Contains(users, f.dir) {
			faults = append(faults, f.name+" imports "+target+", which only "+strings.Join(users, ", ")+" may")
		}
	}
	return faults
}

// maySleep lists the files that let real time pass, with the reason.
var maySleep = map[string]string{
	"cmd/agent-wrapper/approvals_login.go": "nothing tells that a terminal was changed by another thread",
	"e2e/driver_test.go":                   "a denial that comes late, as a person's does",
	"e2e/kill_test.go":                     "a kill at a moment that follows no event",
}

// TestNoSleeps: tests wait for events, or use testing/synctest.
func TestNoSleeps(t *testing.T) {
	slept := map[string]bool{}
	check(t, func(f file) (faults []string) {
		for _, sel := range uses(f, "time") {
			if sel.Sel.Name != "Sleep" || f.imports["synctest"] != "" {
				continue
			}
			slept[f.name] = true
			if maySleep[f.name] == "" {
				faults = append(faults, fmt.Sprintf("%s sleeps: wait for an event, or list it in maySleep with the reason", fset.Position(sel.Pos())))
			}
		}
		return faults
	})
	for name := range maySleep {
		if !slept[name] {
			t.Errorf("maySleep lists %s, which does not sleep", name)
		}
	}
}

// TestClosure: the libraries behind the evaluator start no process, open no
// connection and run no shell.
func TestClosure(t *testing.T) {
	banned := []string{
		"os/exec", "net", "net/http", "database/sql", "log/slog", "plugin",
		"mvdan.cc/sh/v3/interp", "mvdan.cc/sh/v3/expand", "github.com/spf13/", "github.com/google/go-cmp/", "github.com/BurntSushi/",
	}
	for _, pkg := range []string{"permission", "patterns", "internal/risk", "modes", "internal/shell", "internal/program"} {
		for _, dep := range deps(t, "./"+pkg) {
			if under(dep, banned) {
				t.Errorf("%s draws in %s", pkg, dep)
			}
		}
	}
	for _, dep := range deps(t, "./cmd/agent-wrapper") {
		if under(dep, []string{"testing", "testing/", "github.com/google/go-cmp/", "pgregory.net/", "github.com/rogpeppe/", "github.com/cedar-policy/", "github.com/bmatcuk/"}) {
			t.Errorf("the program draws in %s, which is for tests", dep)
		}
	}
}

// deps returns the import paths that a package depends on.
func deps(t *testing.T, pkg string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath", pkg)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pkg, err)
	}
	var all []string
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p.ImportPath)
	}
}

// verdicts are the values of a decision and those that it is derived from.
var verdicts = map[string][]string{
	module + "/permission":       {"Allow", "Ask", "Deny"},
	module + "/patterns":         {"No", "Maybe", "Yes"},
	module + "/internal/risk":    {"Safe", "Moderate", "High", "Forbidden"},
	module + "/internal/program": {"Safe", "Moderate", "High", "Forbidden"},
}

// mayName lists the files outside package permission that name a verdict, with
// the reason. Deciding is not a reason.
var mayName = map[string]string{
	"internal/ask/approval/approval.go":  "what a person said, for the evaluator",
	"internal/ask/approval/grants.go":    "what a person may have remembered, for the evaluator",
	"internal/ask/approval/propose.go":   "what a person is offered to have remembered",
	"internal/run/engine/session.go":     "reads and writes what a person has answered",
	"internal/run/gates/run.go":          "starts what CanUseTool allowed; a preview in words",
	"internal/ask/choices.go":            "a person's answer",
	"internal/ask/desk/menu.go":          "what a person's choice says, for the evaluator",
	"internal/ask/questions.go":          "a person's answer to a question",
	"internal/run/engine/words.go":       "an editor's answer, of its flags",
	"cmd/agent-wrapper/exec_ask.go":      "a rule that a person chose to keep",
	"cmd/agent-wrapper/demo.go":          "the answer of somebody who always says the same",
	"cmd/agent-wrapper/exec.go":          "runs what was allowed, and nothing else",
	"cmd/agent-wrapper/explain.go":       "words for a step of the trace",
	"internal/hook/verdict.go":           "puts what CanUseTool said into the words of a host",
	"internal/test/sessions/attacks.go":  "counts the attacks that run",
	"internal/test/sessions/drive.go":    "the answers of a person, and counting",
	"internal/policy/roles.go":           "reads what a policy answers by risk",
	"internal/policy/lint_secrets.go":    "lint tries what a rule would do, for people to read",
	"internal/policy/lint_shape.go":      "lint tries what a rule would do, for people to read",
	"wrapper/claude/briefing/decide.go":  "reads and runs what was allowed, and nothing else",
	"wrapper/claude/answer.go":           "passes an allow on to the agent CLI, and all else as a deny",
	"internal/serve/terminal/execute.go": "runs what was allowed, and nothing else",
	"internal/whitelist/gate.go":         "what a list has against a line, for the evaluator",
	"internal/whitelist/tracker.go":      "what was allowed after all is not counted",
	"internal/whitelist/unusable.go":     "a whitelist only takes away",
	"internal/run/engine/permits.go":     "denies what cannot be kept for its run inside the sandbox",
	"internal/run/engine/sandbox.go":     "passes an allow on to the proxy of the sandbox, and all else as a refusal",
	"internal/workspace/env.go":          "Below looks whether a rule covers a path, for permission",
}

// TestOneDecider: only permission compares or constructs a behavior, a match or
// a risk, except for the listed purposes.
func TestOneDecider(t *testing.T) {
	check(t, decides)
	named := map[string]bool{}
	for _, f := range files(t) {
		named[f.name] = len(verdictsIn(f)) > 0
	}
	for name := range mayName {
		if !named[name] {
			t.Errorf("mayName lists %s, which names no verdict", name)
		}
	}
}

func decides(f file) (faults []string) {
	if mayName[f.name] == "" {
		for _, sel := range verdictsIn(f) {
			faults = append(faults, fmt.Sprintf("%s names the verdict %s: only permission decides; if this does not decide, list it in mayName with the reason",
				fset.Position(sel.Pos()), sel.Sel.Name))
		}
	}
	for _, sel := range uses(f, module+"/permission") {
		if !f.test && sel.Sel.Name == "Evaluate" && f.dir != "permission" && mayEvaluate[f.dir] == "" {
			faults = append(faults, fmt.Sprintf("%s calls Evaluate: a tool use is decided by CanUseTool", fset.Position(sel.Pos())))
		}
	}
	return faults
}

// verdictsIn returns the verdicts in a file, unless the file may name them.
func verdictsIn(f file) (found []*ast.SelectorExpr) {
	if f.test || slices.Contains([]string{"permission", "patterns", "internal/risk", "internal/program"}, f.dir) {
		return nil
	}
	for pkg, names := range verdicts {
		for _, sel := range uses(f, pkg) {
			if slices.Contains(names, sel.Sel.Name) {
				found = append(found, sel)
			}
		}
	}
	return found
}

// mayEvaluate lists the packages that ask for a decision without running
// anything.
var mayEvaluate = map[string]string{
	"internal/policy":   "check, test and the examples of rules",
	"cmd/agent-wrapper": "explain",
}

// selfApproval matches the option that makes the agent CLI run tools without
// asking, and not "disallowedTools".
var selfApproval = regexp.MustCompile(`(?i)(^|[^s])allowed-?_?tools`)

// mayNameOption lists the files that name the option in order to refuse it.
var mayNameOption = map[string]bool{"wrapper/claude/argv.go": true, "wrapper/claude/handed_on.go": true}

// TestNeverDelegates: no code gives the agent CLI a list of tools to use
// without asking.
func TestNeverDelegates(t *testing.T) { check(t, delegates) }

func delegates(f file) (faults []string) {
	if f.test || mayNameOption[f.name] {
		return nil
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if ok && lit.Kind == token.STRING && selfApproval.MatchString(lit.Value) {
			faults = append(faults, fmt.Sprintf("%s names the option in %s", fset.Position(lit.Pos()), lit.Value))
		}
		return true
	})
	return faults
}

// TestRules: each rule finds the fault that it is for.
func TestRules(t *testing.T) {
	tests := []struct {
		name, dir, source string
		rule              func(file) []string
		want              string // a part of the fault; "" for none
	}{
		{"lower imports upper", "patterns", `import "` + module + `/permission"`, imports, "patterns may not"},
		{"upper imports lower", "permission", `import "` + module + `/patterns"`, imports, ""},
		{"leaf", "permission", `import "` + module + `/internal/text/strictjson"`, imports, ""},
		{"dot", "wrapper/claude", `import . "` + module + `/permission"`, imports, "without a name"},
		{"test tool", "internal/policy", `import "` + module + `/internal/test/corpus"`, imports, "a tool of the tests"},
		{"test tool in a test tool", "internal/test/manuals", `import "` + module + `/internal/test/all"`, imports, ""},
		{"cmd", "internal/policy", `import "` + module + `/cmd/agent-wrapper"`, imports, "nothing imports cmd"},
		{"unknown package", "new/thing", ``, imports, "no entry"},
		{"internal imports public", "internal/x", `import "` + module + `/internal/shell"`, imports, "internal/x may not"},
		{"file", "internal/shell", `import "os"`, impurities, "imports os"},
		{"process", "internal/risk", `import x "os/exec"`, impurities, "imports os/exec"},
		{"clock", "permission", "import \"time\"\nvar now = time.Now()", impurities, "uses time.Now"},
		{"renamed clock", "permission", "import c \"time\"\nvar now = c.Now()", impurities, "uses time.Now"},
		{"duration", "permission", "import \"time\"\nconst d = time.Second", impurities, ""},
		{"url parsing", "patterns", `import "net/url"`, impurities, ""},
		{"file elsewhere", "internal/policy", `import "os"`, impurities, ""},
		{"glob outside", "permission", `import "github.com/gobwas/glob"`, trespasses, "only patterns may"},
		{"glob inside", "patterns", `import "github.com/gobwas/glob"`, trespasses, ""},
		{"new library", "internal/policy", `import "example.com/x"`, trespasses, "no fence"},
		{"standard library", "internal/policy", `import "encoding/json"`, trespasses, ""},
		{"compared behavior", "wrapper/x", "import \"" + module + "/permission\"\nfunc f(b permission.Behavior) bool { return b != permission.Ask }", decides, "verdict Ask"},
		{"compared risk", "wrapper/x", "import r \"" + module + "/internal/risk\"\nvar x = r.Safe", decides, "verdict Safe"},
		{"compared match", "cmd/x", "import \"" + module + "/patterns\"\nvar x = patterns.Yes", decides, "verdict Yes"},
		{"list of a rule", "internal/policy", "import \"" + module + "/patterns\"\nvar x = patterns.Deny", decides, ""},
		{"second decider", "wrapper/x", "import \"" + module + "/permission\"\nvar x = permission.Evaluate", decides, "calls Evaluate"},
		{"option", "wrapper/x", `var a = []string{"--allowedTools", "Read"}`, delegates, "--allowedTools"},
		{"option in kebab", "wrapper/x", `var a = "--allowed-tools=Read"`, delegates, "--allowed-tools"},
		{"option in settings", "cmd/x", "var a = `{\"allowedTools\":[]}`", delegates, "allowedTools"},
		{"the other option", "wrapper/x", `var a = "--disallowedTools"`, delegates, ""},
		{"searched reason", "internal/risk", "import \"strings\"\nfunc f(a A) bool { return strings.Contains(a.Reason, x) }", readsProse, "searches words"},
		{"compared reason", "internal/risk", `func f(a A) bool { return a.Reason == forkBomb }`, readsProse, "compares"},
		{"switched reason", "internal/risk", "func f(a A) { switch a.Reason {\ncase forkBomb:\n} }", readsProse, "compares"},
		{"cause in words", "internal/risk", "import \"strings\"\nfunc f(a A) bool { return strings.HasPrefix(a.Why.String(), x) }", readsProse, "searches words"},
		{"words of an error", "internal/risk", "import \"strings\"\nfunc f(err error) bool { return strings.Contains(err.Error(), x) }", readsProse, "searches words"},
		{"compared error", "internal/risk", `func f(a, b error) bool { return a.Error() == b.Error() }`, readsProse, "compares"},
		{"words in a variable", "internal/risk", "import \"strings\"\nfunc f(err error) bool { text := \"x: \" + err.Error()\nreturn strings.HasSuffix(text, x) }", readsProse, "searches words"},
		{"words for an expression", "internal/risk", `func f(a A) []string { return form.FindStringSubmatch(a.Reason) }`, readsProse, "searches words"},
		{"words in a list", "internal/risk", "import \"slices\"\nfunc f(a A) bool { return slices.Contains(list, a.Message) }", readsProse, "searches words"},
		{"why as a text", "internal/ask/display", `func f(a A) bool { return a.Why == "fork bomb" }`, readsProse, "compares"},
		{"compiled at the start", "internal/risk", "import \"regexp\"\nvar x = regexp.MustCompile(`a`)", compilesAtStart, "whenever the program starts"},
		{"compiled in a list", "internal/risk", "import \"regexp\"\nvar x = []T{{regexp.MustCompile(`a`)}}", compilesAtStart, "whenever the program starts"},
		{"compiled at need", "internal/risk", "import \"regexp\"\nfunc f() { regexp.MustCompile(`a`) }", compilesAtStart, ""},
		{"does not compile", "internal/risk", "import \"" + module + "/internal/text/lazyregexp\"\nvar x = lazyregexp.New(`(`)", compilesAtStart, "missing closing"},
		{"no words", "internal/risk", `func f(a A) bool { return a.Reason != "" }`, readsProse, ""},
		{"same cause", "internal/risk", `func f(a, b A) bool { return a.Why == b.Why && a.Why.Cause != shell.CauseForkBomb }`, readsProse, ""},
		{"words put together", "internal/risk", "import \"strings\"\nfunc f(a A) string { return strings.Join(list, a.Reason) }", readsProse, ""},
	}
	for _, tt := range tests {
		tree, err := parser.ParseFile(fset, tt.name, "package p\n"+tt.source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f, err := newFile(tt.dir+"/x.go", tree)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(tt.rule(f), "\n")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
