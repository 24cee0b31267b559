package main

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/gates"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

func page(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var ruleText = regexp.MustCompile("`((?:Bash|Read|Edit|Write|WebFetch|Skill|Task)(?:\\([^`…]*\\))|mcp__[a-z_*]+)`")

// The rules in the docs can be parsed.
func TestDocsRules(t *testing.T) {
	found := 0
	for name, text := range userPages(t) {
		for _, m := range ruleText.FindAllStringSubmatch(text, -1) {
			found++
			_, _, errAllow := patterns.Parse(m[1], patterns.Allow, patterns.Source{Name: name})
			_, _, errDeny := patterns.Parse(m[1], patterns.Deny, patterns.Source{Name: name})
			if errAllow != nil && errDeny != nil {
				t.Errorf("%s: %v", name, errAllow)
			}
		}
	}
	if found < 25 {
		t.Errorf("%d rules found", found)
	}
}

var testNamed = regexp.MustCompile("`((?:Test|Benchmark)[A-Za-z0-9]+|[a-z_]+\\.txtar)`")

// The tests that docs/project/seeds.md names exist.
func TestDocsNameTests(t *testing.T) {
	there := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return fs.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			there[d.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
				there[m[1]] = true
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := testNamed.FindAllStringSubmatch(page(t, "docs/project/seeds.md"), -1)
	for _, m := range named {
		if !there[m[1]] {
			t.Errorf("docs/project/seeds.md names %s, which is not there", m[1])
		}
	}
	if len(named) < 50 {
		t.Errorf("only %d tests are named", len(named))
	}
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)

// docs/reference/events.md documents every type of event and every field.
func TestDocsEvents(t *testing.T) {
	text := page(t, "docs/reference/events.md")
	file, err := parser.ParseFile(token.NewFileSet(), "../../wrapper/event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	types := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || !strings.HasSuffix(spec.Names[0].Name, "Event") || len(spec.Values) != 1 {
			return true
		}
		types++
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || !strings.Contains(text, "\n| `"+value+"` |") {
			t.Errorf("docs/reference/events.md has no event %s (%v)", spec.Names[0].Name, err)
		}
		return true
	})
	if types < 10 {
		t.Errorf("%d types of events found", types)
	}
	for f := range reflect.TypeFor[wrapper.Event]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "type" && !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/reference/events.md has no field %s", name)
		}
	}
}

var readmeRow = regexp.MustCompile(`(?m)^    (\{"id".*\})$`)

// The row in docs/policy.md is accepted by check --jsonl.
func TestDocsRow(t *testing.T) {
	row := readmeRow.FindStringSubmatch(page(t, "docs/policy.md"))
	if row == nil {
		t.Fatal("no row found")
	}
	var out strings.Builder
	a := &app{in: strings.NewReader(row[1]), out: &out, err: &out}
	var answer policy.Answer
	if code := a.run(context.Background(), []string{"check", "--jsonl"}); code != 0 || json.Unmarshal([]byte(out.String()), &answer) != nil || answer.Behavior != "allow" {
		t.Error(code, out.String())
	}
}

var jsonFence = regexp.MustCompile("(?s)```json[^\n]*\n(.*?)```")

// docs/plans.md has a valid plan and documents every flag and every result.
func TestDocsExecute(t *testing.T) {
	text := page(t, "docs/plans.md")
	block := jsonFence.FindStringSubmatch(text)
	if block == nil {
		t.Fatal("no plan found")
	}
	if plan, err := gates.Parse([]byte(block[1]), "docs/plans.md"); err != nil || len(plan.Items) != 2 {
		t.Error(err)
	}
	flags := []string{"--whitelist", "--timeout", "--dry-run", "--json", "--agent", "--no-input", "--ask", "--deny", "--ci", "--plan"}
	for _, f := range flags {
		if !strings.Contains(text, f) {
			t.Errorf("docs/plans.md does not say what %s does", f)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/run/gates/run.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil || len(spec.Values) != 1 {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && (name.Name == "Status" || name.Name == "Failure") {
			found++
			if value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value); err != nil || !strings.Contains(text, "`"+value+"`") {
				t.Errorf("docs/plans.md has no %s", spec.Names[0].Name)
			}
		}
		return true
	})
	if found != 13 {
		t.Errorf("%d results found", found)
	}
}

// docs/policy.md lists each check of the linter.
func TestDocsLint(t *testing.T) {
	text := page(t, "docs/policy.md")
	for _, c := range policy.LintChecks() {
		if row := "| `" + c.Name + "` | " + c.Doc + " |\n"; !strings.Contains(text, row) {
			t.Errorf("docs/policy.md has not the row %s", row)
		}
	}
}
