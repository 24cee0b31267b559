package mutants

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// small is a module with something of each kind that is mutated.
func small(t *testing.T) (root string, all []*mutant) {
	root, err := filepath.Abs(filepath.Join("testdata", "small"))
	if err != nil {
		t.Fatal(err)
	}
	if all, err = generate(root, "p"); err != nil {
		t.Fatal(err)
	}
	return root, all
}

// TestGenerate: these are the mutants of a small package, and each compiles.
func TestGenerate(t *testing.T) {
	root, all := small(t)
	src, err := os.ReadFile(filepath.Join(root, "p", "p.go"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for i, m := range all {
		got.WriteString(m.String() + "\n")
		compiles(t, m.String(), edit(string(src), all, []int{i}))
	}
	compiles(t, "all of them", edit(string(src), all, numbers(len(all))))
	golden.Check(t, filepath.Join("testdata", "small", "mutants.golden"), got.String())
}

func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func compiles(t *testing.T, what, text string) {
	t.Helper()
	const stub = "\nfunc mutant_(int) bool { return false }\nfunc either_[T any](int, T, T) T { panic(0) }\n"
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text+stub, parser.SkipObjectResolution)
	if err == nil {
		_, err = (&types.Config{}).Check("p", fset, []*ast.File{f}, nil)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", what, err, text)
	}
}

// TestSample: a seed gives the same mutants whatever their order is, another seed gives
// others, and a mutant that is new takes the place of one at most.
func TestSample(t *testing.T) {
	_, all := small(t)
	first, backwards := sample(all, 1, 10), slices.Clone(all)
	slices.Reverse(backwards)
	if len(first) != 10 || !slices.Equal(first, sample(backwards, 1, 10)) {
		t.Error("the sample depends on the order")
	}
	if slices.Equal(first, sample(all, 2, 10)) {
		t.Error("the sample does not depend on the seed")
	}
	fewer := slices.DeleteFunc(slices.Clone(all), func(m *mutant) bool { return m == first[3] })
	if want := slices.Delete(slices.Clone(first), 3, 4); !slices.Equal(want, sample(fewer, 1, 9)) {
		t.Error("a mutant more changes others of the sample")
	}
}

// TestTry: a mutant of a guarded function that no test notices is a fault, unless it is
// argued; and so is an argued one that a test notices. One that does not end is noticed.
func TestTry(t *testing.T) {
	slow.Test(t)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	root, all := small(t)
	all = slices.DeleteFunc(all, func(m *mutant) bool { return m.fn != "counter.guarded" })
	o, err := try(t.Context(), root, t.TempDir(), all, func(*mutant, int) {}, "", "p")
	if err != nil {
		t.Fatal(err)
	}
	var missed []string
	for _, m := range o.survived {
		missed = append(missed, m.String())
	}
	if want := []string{"p/p.go counter.guarded: true: return name != \"etc\""}; !slices.Equal(missed, want) {
		t.Errorf("these survive:\n%s\nwant:\n%s", strings.Join(missed, "\n"), strings.Join(want, "\n"))
	}
	if got := o.faults(nil); len(got) != 1 || !strings.Contains(got[0], "no test notices") {
		t.Errorf("faults: %q", got)
	}
	if got := o.faults(map[string]string{missed[0]: "\tno etc here"}); len(got) != 0 {
		t.Errorf("faults although it is argued: %q", got)
	}
	for m := range o.killed {
		if got := o.faults(map[string]string{m.String(): "\tsay so", missed[0]: "\tno etc here"}); len(got) != 1 || !strings.Contains(got[0], "notices it") {
			t.Errorf("faults although TestGuarded kills it: %q", got)
		}
	}
}
