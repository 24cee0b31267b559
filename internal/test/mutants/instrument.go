package mutants

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The environment of a program with mutants: the number of the one that takes effect, and
// the file for the numbers of those that a run gets to.
const (
	envActive = "AW_MUTANT"
	envMet    = "AW_MUTANTS_MET"
)

// helper is a file that each package with mutants gets.
const helper = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	active_, _ = strconv.Atoi(os.Getenv("` + envActive + `"))
	metIn_     = os.Getenv("` + envMet + `")
	met_       [%d]atomic.Bool
)

func mutant_(n int) bool { return n == active_ || metIn_ != "" && note_(n) }

func note_(n int) bool {
	if met_[n].CompareAndSwap(false, true) {
		f, err := os.OpenFile(metIn_, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		f.WriteString(strconv.Itoa(n) + "\n")
		f.Close()
	}
	return false
}

func either_[T any](n int, other, this T) T {
	if mutant_(n) {
		return other
	}
	return this
}
`

// instrument writes files with all the mutants into dir, and returns an overlay that puts
// them in the place of those of the module at root. The number of a mutant is its place in
// the list, from 1.
func instrument(root, dir string, list []*mutant) (overlay string, err error) {
	replace, files := map[string]string{}, map[string][]int{}
	for i, m := range list {
		files[m.file] = append(files[m.file], i)
	}
	put := func(name, text string) error {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		replace[filepath.Join(root, filepath.FromSlash(name))] = to
		return os.WriteFile(to, []byte(text), 0o600)
	}
	for name, numbers := range files {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return "", err
		}
		if err := put(name, edit(string(src), list, numbers)); err != nil {
			return "", err
		}
		pkg := list[numbers[0]].pkg
		if err := put(pkg+"/mutant_.go", fmt.Sprintf(helper, filepath.Base(pkg), len(list)+1)); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// edit returns the text of a file with the mutants of these numbers. They nest.
func edit(src string, list []*mutant, numbers []int) string {
	type insertion struct {
		at, closes, width, nth int
		text                   string
	}
	var all []insertion
	for nth, i := range numbers {
		m := list[i]
		number := strconv.Itoa(i + 1)
		all = append(all, insertion{m.from, 1, m.from - m.to, nth, strings.Replace(m.before, "#", number, 1)})
		if m.to == m.from {
			all[len(all)-1].text += m.after
		} else {
			all = append(all, insertion{m.to, 0, m.to - m.from, -nth, m.after})
		}
	}
	slices.SortFunc(all, func(a, b insertion) int { // what closes before what opens; the outer around the inner
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.closes, b.closes), cmp.Compare(a.width, b.width), cmp.Compare(a.nth, b.nth))
	})
	var out strings.Builder
	done := 0
	for _, in := range all {
		out.WriteString(src[done:in.at])
		out.WriteString(in.text)
		done = in.at
	}
	out.WriteString(src[done:])
	return out.String()
}
