package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// TestKill checks the possible outcomes of a mutant in a small module.
func TestKill(t *testing.T) {
	slow.Test(t)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module small\n\ngo 1.22\n",
		"p/p.go":      "package p\n\nfunc Small(n int) bool {\n\tif n < 0 {\n\t\treturn false\n\t}\n\treturn n < 10\n}\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestSmall(t *testing.T) {\n\tt.Run(\"below zero\", func(t *testing.T) {\n\t\tif Small(-1) {\n\t\t\tt.Error(\"-1 is small\")\n\t\t}\n\t})\n}\n\nfunc TestNothing(t *testing.T) {}\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, old, new, test, want string }{
		{"killed", "n < 0", "false", "TestSmall/below_zero", ""},
		{"survives", "n < 10", "n < 11", "TestSmall", "passes without the guard"},
		{"another test", "n < 0", "false", "TestNothing", "passes without the guard"},
		{"no such text", "n < 20", "false", "TestSmall", "0 times"},
		{"no single text", "n <", "n >", "TestSmall", "2 times"},
		{"does not compile", "n < 0", "n", "TestSmall", "does not compile"},
		{"no such test", "n < 0", "false", "TestBig", "there is no test"},
	} {
		m := Mutant{File: "p/p.go", Old: tt.old, New: tt.new, Test: tt.test}
		err := m.Kill(t.Context(), root, t.TempDir())
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := Baseline(t.Context(), root, []Mutant{{File: "p/p.go", Test: "TestSmall/below_zero"}}); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(filepath.Join(root, "p", "p.go")); !strings.Contains(string(data), "n < 0") {
		t.Error("the file itself was changed")
	}
}

// TestTable checks the table: it has at least twenty guards, in every part of
// the analyser, and each text still occurs in its file.
func TestTable(t *testing.T) {
	if len(Table) < 20 {
		t.Errorf("%d guards, want at least 20", len(Table))
	}
	dir := t.TempDir()
	seen, files := map[string]bool{}, map[string]bool{}
	for i := range Table {
		m := &Table[i]
		if _, err := m.Overlay(filepath.Join("..", "..", ".."), dir); err != nil {
			t.Errorf("%s: %v", m.Guard, err)
		}
		if seen[m.Guard] || m.Old == m.New {
			t.Errorf("%s: stands twice, or changes nothing", m.Guard)
		}
		seen[m.Guard], files[m.File] = true, true
	}
	for _, file := range []string{
		"walk.go", "survey.go", "expand_part.go", "expand_redirect.go", "effect_run.go", "command.go", "program_shell.go",
		"program_builtin.go", "program_git.go", "program_sed.go", "program_awk.go", "analyze_whole.go",
	} {
		if !files["shell/"+file] {
			t.Errorf("no guard of shell/%s is removed", file)
		}
	}
}
