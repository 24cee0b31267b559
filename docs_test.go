package agentwrapper_test

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// maxProgram is the longest program of docs/sdks.md, in lines that are not blank.
const maxProgram = 30

// TestDocsProgram builds and runs the very program of docs/sdks.md,
// under the policy of the page: it prints what the page says and leaves a record
// that is whole.
func TestDocsProgram(t *testing.T) {
	slow.Test(t)
	found := blocks(t)
	program, want := found["go"][0], found["text"][0]
	if formatted, err := format.Source([]byte(program)); err != nil || string(formatted) != program {
		t.Errorf("the program is not formatted: %v", err)
	}
	if lines := len(strings.FieldsFunc(program, func(r rune) bool { return r == '\n' })); lines > maxProgram {
		t.Errorf("the program has %d lines, more than %d", lines, maxProgram)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"main.go": program, "policy.toml": found["toml"][0]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	printed(t, "", "go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "program"), filepath.Join(dir, "main.go"))
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	got := strings.ReplaceAll(printed(t, dir, filepath.Join(dir, "program")), dir, "…")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/sdks.md shows another output: %s", diff)
	}
	t.Chdir(dir)
	report, err := agentwrapper.VerifyAuditLog("decisions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	decisions := strings.Count(want, "\n")
	if records := uint64(decisions + 1); len(report.Faults) > 0 || report.Known != records {
		t.Errorf("%+v, and not %d records that the head vouches for", report, records)
	}
}

// TestDocsFragments: every other line of Go in docs/sdks.md is part of an example or
// of these tests.
func TestDocsFragments(t *testing.T) {
	var sources []string
	for _, name := range []string{"example_test.go", "docs_test.go"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, string(data))
	}
	there := map[string]bool{}
	for line := range strings.Lines(strings.Join(sources, "")) {
		there[strings.TrimSpace(line)] = true
	}
	for _, block := range blocks(t)["go"][1:] {
		for line := range strings.Lines(block) {
			if !there[strings.TrimSpace(line)] {
				t.Errorf("docs/sdks.md has a line that runs in no example: %s", line)
			}
		}
	}
}

// TestDocsExamples: docs/sdks.md links every example.
func TestDocsExamples(t *testing.T) {
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page := page(t)
	for _, m := range regexp.MustCompile(`(?m)^func (Example\w*)\(`).FindAllStringSubmatch(string(examples), -1) {
		if !strings.Contains(page, "[`"+m[1]+"`](../example_test.go)") {
			t.Errorf("docs/sdks.md does not link %s", m[1])
		}
	}
}

func page(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("docs/sdks.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var fence = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```\n")

// blocks returns the fenced blocks of docs/sdks.md, by their language.
func blocks(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, m := range fence.FindAllStringSubmatch(page(t), -1) {
		found[m[1]] = append(found[m[1]], m[2])
	}
	if len(found["toml"]) != 1 || len(found["text"]) != 1 || len(found["go"]) < 5 {
		t.Fatalf("docs/sdks.md has other blocks than these tests expect: %q", found)
	}
	return found
}

// printed runs a program in a directory and returns what it prints.
func printed(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}
