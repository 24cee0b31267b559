package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const stream = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: fine\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:2: no zsh here\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}
{"ImportPath":"q","Action":"build-output","Output":"q/q.go:1: undefined: x\n"}
{"ImportPath":"q","Action":"build-fail"}
{"Action":"fail","Package":"q","FailedBuild":"q"}
{"Action":"output","Package":"r","Output":"?   \tr\t[no test files]\n"}
{"Action":"skip","Package":"r"}
no event at all
`

func TestRead(t *testing.T) {
	var got Tally
	var out strings.Builder
	if err := got.Read(strings.NewReader(stream), &out); err != nil {
		t.Fatal(err)
	}
	want := Tally{Passed: 1, Failed: 2, Skipped: 1, Failures: []string{"p TestC\n    c_test.go:3: got 1, want 2", "q"}, Skips: []string{"p TestB: b_test.go:2: no zsh here"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wantOut := "    c_test.go:3: got 1, want 2\nFAIL p (1 passed, 1 failed)\n" +
		"q/q.go:1: undefined: x\nFAIL q (0 passed, 0 failed)\nno event at all\n"
	if d := cmp.Diff(wantOut, out.String()); d != "" {
		t.Error(d)
	}
}

// TestSaid: what a failed test has said is at the end of the output, and is not all of it.
func TestSaid(t *testing.T) {
	output := []string{"=== RUN   TestC\n", "    c_test.go:3: " + strings.Repeat("é", 300) + "\n"}
	for i := range 30 {
		output = append(output, fmt.Sprintf("    line %d\n", i))
	}
	got := strings.Split(said(append(output, "--- FAIL: TestC (0.00s)\n")), "\n")
	if len(got) != 26 || !strings.HasSuffix(got[1], "é ...") || len(got[1]) > 410 || got[12] != "    line 10" || got[13] != "    ... 7 lines" || got[14] != "    line 18" || got[25] != "    line 29" {
		t.Errorf("%q", got)
	}
}

func TestSkipFailsInCI(t *testing.T) {
	got := Tally{CI: true}
	got.Pass()
	got.Skip("p TestB", "no zsh here")
	var out strings.Builder
	got.Print(&out)
	want := "FAILED p TestB: skipped, and CI=true: no zsh here\n1 passed, 1 failed, 0 skipped\n"
	if d := cmp.Diff(want, out.String()); d != "" || got.OK() {
		t.Errorf("OK = %v\n%s", got.OK(), d)
	}
}

// TestNothingRanIsNotOK checks that a run without any check is not a success.
func TestNothingRanIsNotOK(t *testing.T) {
	if (&Tally{}).OK() {
		t.Error("an empty tally is OK")
	}
}

func TestChoose(t *testing.T) {
	got, err := choose([]string{"fuzz", "lint"})
	if err != nil || len(got) != 2 || got[0].name != "lint" || got[1].name != "fuzz" {
		t.Errorf("choose(fuzz, lint) = %v, %v", got, err)
	}
	if _, err := choose([]string{"lint", "unti"}); err == nil || !strings.Contains(err.Error(), "no step unti (there are install, lint") {
		t.Errorf("choose(unti): %v", err)
	}
}

// TestSequential: what the race detector does not see starts no goroutine, is one test, and
// is in the package where unit runs it.
func TestSequential(t *testing.T) {
	source, where := map[string][]string{}, map[string]string{}
	for _, pkg := range concurrent {
		root, deep := strings.CutSuffix(pkg, "/...")
		filepath.WalkDir(filepath.Join("../../..", root), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() && !deep && path != filepath.Join("../../..", root) {
				return filepath.SkipDir
			}
			if err == nil && strings.HasSuffix(path, "_test.go") {
				data, _ := os.ReadFile(path)
				for _, found := range regexp.MustCompile(`(?ms)^func (Test\w+)\(.*?^}`).FindAllStringSubmatch(string(data), -1) {
					source[found[1]] = append(source[found[1]], found[0])
					where[found[1]] = "./" + strings.TrimPrefix(filepath.Dir(path), "../../../")
				}
			}
			return err
		})
	}
	for pkg, tests := range sequential {
		for _, name := range tests {
			if n := len(source[name]); n != 1 || where[name] != pkg {
				t.Errorf("there are %d tests %s, one in %s, not %s", n, name, where[name], pkg)
			} else if concurrency.MatchString(source[name][0]) {
				t.Errorf("%s is not sequential", name)
			}
		}
	}
	if !concurrency.MatchString(source["TestConcurrent"][0]) {
		t.Error("TestConcurrent is not recognized")
	}
}

var concurrency = regexp.MustCompile(`\bgo \w|\.Go\(|\.Parallel\(|synctest`)

// TestBehind: go vet sees every file: the tags of all files, but for those of systems and of
// go itself, are those of the tests behind.
func TestBehind(t *testing.T) {
	ofGo := "race unix linux darwin dragonfly freebsd netbsd openbsd windows amd64 arm64 ignore"
	found := map[string]bool{}
	filepath.WalkDir("../../..", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		data, _ := os.ReadFile(path)
		line := regexp.MustCompile(`(?m)^//go:build .*`).FindString(string(data))
		for _, tag := range strings.FieldsFunc(strings.TrimPrefix(line, "//go:build "), func(r rune) bool { return strings.ContainsRune(" ()!&|", r) }) {
			if !slices.Contains(strings.Fields(ofGo), tag) {
				found[tag] = true
			}
		}
		return nil
	})
	if d := cmp.Diff(slices.Sorted(slices.Values(strings.Split(behind, ","))), slices.Sorted(maps.Keys(found))); d != "" {
		t.Error(d)
	}
}

func TestFuzzNames(t *testing.T) {
	if d := cmp.Diff([]string{"FuzzLine"}, fuzzNames("../../text/visible/visible_test.go")); d != "" {
		t.Error(d)
	}
}

func TestEndedByTheClock(t *testing.T) {
	const clock = "fuzz: elapsed: 3s, gathering baseline coverage: 352/394 completed\n--- FAIL: FuzzMask (3.06s)\n    context deadline exceeded\nFAIL p (0 passed, 1 failed)\n"
	for output, want := range map[string]bool{
		clock:                 true,
		"ok   p (1 passed)\n": false,
		"--- FAIL: FuzzMask (0.06s)\n    --- FAIL: FuzzMask (0.00s)\n        x_test.go:9: context deadline exceeded\n    \n    Failing input written to testdata/fuzz/FuzzMask/5\n": false,
		"--- FAIL: FuzzMask (3.06s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzMask/5\n":                                                        false,
		"--- FAIL: FuzzMask (3.06s)\n    fuzzing process hung or terminated unexpectedly\n":                                                                                         false,
		"FAILED go test -fuzz: context deadline exceeded\n":                                                                                                                         false,
	} {
		if got := endedByTheClock(output); got != want {
			t.Errorf("%q: %v", output, got)
		}
	}
}

func TestAgain(t *testing.T) {
	var out strings.Builder
	r := &runner{out: &out}
	tries := 0
	flawed := func() { tries++; r.Fail("x"); r.printf("flaw") }
	always := func(output string) bool { return output == "flaw" }
	if r.again(2, always, flawed); tries != 3 || r.Failed != 1 || len(r.Failures) != 1 {
		t.Errorf("tried %d times, %d failed: %v", tries, r.Failed, r.Failures)
	}
	if r.again(2, func(string) bool { return false }, flawed); tries != 4 || r.Failed != 2 {
		t.Errorf("a failure was tried again: %d", tries)
	}
	if r.again(2, always, func() { tries++; r.Pass() }); tries != 5 || r.Passed != 1 {
		t.Errorf("a success was tried again: %d", tries)
	}
}

func TestCounts(t *testing.T) {
	const tap = "ok 1 - # pass 99\n1..5\n# tests 5\n# suites 0\n# pass 2\n# fail 1\n# cancelled 1\n# skipped 1\n# todo 0\n# duration_ms 1\n"
	if got, want := tapCounts(tap), (counts{2, 2, 1}); got != want {
		t.Errorf("node: %v, want %v", got, want)
	}
	for out, want := range map[string]counts{
		"Ran 26 tests in 4.794s\n\nOK\n":                                  {26, 0, 0},
		"Ran 9 tests in 1s\n\nFAILED (failures=1, errors=2, skipped=3)\n": {3, 3, 3},
		"Ran 1 test in 0s\n\nOK (skipped=1)\n":                            {0, 0, 1},
		"Traceback":                                                       {},
	} {
		if got := unittestCounts(out); got != want {
			t.Errorf("unittest: %q: %v, want %v", out, got, want)
		}
	}
}
