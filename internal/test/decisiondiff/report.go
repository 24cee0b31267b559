package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
)

// The directions of a difference.
const (
	looser   = "looser"
	stricter = "stricter"
	fields   = "fields" // the same answer, with other fields
	words    = "words"  // the same but for texts
)

var directions = []string{looser, stricter, fields, words}

// wordy are the fields that hold texts for people and for the model.
var wordy = map[string]bool{
	"reason": true, "text": true, "message": true, "why": true, "sandbox_why": true, "label": true, "title": true,
	"advice": true, "factors": true, "source": true, "say": true, "instead": true,
}

// report counts decisions and their differences.
type report struct {
	renamed *strings.Replacer
	dump    io.Writer
	hashes  []hash.Hash
	tasks   []string // a line each
	count   map[string]int
	classes map[string]map[string]int // of a direction
	paths   map[string]map[string]int // of a direction: the fields that differ
	rows    map[string][]string
	decided int
	both    int      // of which two builds decided
	broken  []string // what a build could not do
}

func newReport(builds int, renamed *strings.Replacer, dump io.Writer) *report {
	r := &report{renamed: renamed, dump: dump, count: map[string]int{}, classes: map[string]map[string]int{}, paths: map[string]map[string]int{}, rows: map[string][]string{}}
	for range builds {
		r.hashes = append(r.hashes, sha256.New())
	}
	for _, d := range directions {
		r.classes[d], r.paths[d] = map[string]int{}, map[string]int{}
	}
	return r
}

// readRenames reads lines "OLD<tab>NEW".
func readRenames(file string) (*strings.Replacer, error) {
	if file == "" {
		return strings.NewReplacer(), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var pairs []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		was, is, found := strings.Cut(lines.Text(), "\t")
		if !found || was == "" {
			return nil, fmt.Errorf("%s: no tab between two names: %q", file, lines.Text())
		}
		pairs = append(pairs, was, is)
	}
	return strings.NewReplacer(pairs...), lines.Err()
}

// add adds what the builds made of a task. The first is that of before if there are two.
func (r *report) add(name string, sides []outcome) error {
	for i, s := range sides {
		if s.err != nil {
			r.broken = append(r.broken, fmt.Sprintf("%s: build %d: %v", name, i+1, s.err))
		}
	}
	before := maps.Clone(r.count)
	for i := range sides[0].records {
		if len(sides) == 2 && i < len(sides[1].records) {
			r.both++
			r.compare(name, &sides[0].records[i], &sides[1].records[i])
		}
	}
	last := sides[len(sides)-1]
	r.decided += len(last.records)
	for i, s := range sides {
		for _, x := range s.records {
			fmt.Fprintf(r.hashes[i], "%s\t%s\t%s\n", name, x.ID, x.Got)
		}
	}
	line := fmt.Sprintf("%-55s %6d", name, len(last.records))
	for _, d := range directions {
		if n := r.count[d] - before[d]; n > 0 {
			line += fmt.Sprintf("  %s %d", d, n)
		}
	}
	r.tasks = append(r.tasks, line)
	enc := json.NewEncoder(r.dump)
	enc.SetEscapeHTML(false)
	for _, x := range last.records {
		x.ID = name + " " + x.ID
		if err := enc.Encode(x); err != nil {
			return err
		}
	}
	return nil
}

// compare compares two decisions on the same use.
func (r *report) compare(task string, was, is *record) {
	old := []byte(r.renamed.Replace(string(was.Got)))
	if bytes.Equal(old, is.Got) {
		return
	}
	var a, b any
	for x, text := range map[*any][]byte{&a: old, &b: is.Got} {
		if json.Unmarshal(text, x) != nil {
			*x = string(text) // which is no behavior, and looser than any
		}
	}
	paths := map[string]bool{}
	differing("", a, b, paths)
	if len(paths) == 0 {
		return // but for the order of keys
	}
	d := direction(a, b, paths)
	r.count[d]++
	r.classes[d][is.Class]++
	for p := range paths {
		r.paths[d][p]++
	}
	r.rows[d] = append(r.rows[d], fmt.Sprintf("%s: %s %s: %s [%s]\n    was %s\n    is  %s", d, task, is.ID, cut(is.Use, 300), strings.Join(slices.Sorted(maps.Keys(paths)), " "), brief(a), brief(b)))
}

// strictness orders behaviors.
var strictness = map[string]int{"allow": 1, "ask": 2, "deny": 3}

func direction(a, b any, paths map[string]bool) string {
	switch by := strictness[behavior(b)] - strictness[behavior(a)]; {
	case by < 0:
		return looser
	case by > 0:
		return stricter
	}
	for p := range paths {
		if leaf := p[strings.LastIndex(p, ".")+1:]; !wordy[strings.TrimSuffix(leaf, "[]")] {
			return fields
		}
	}
	return words
}

// behavior returns what became of a use: of a session's, "ask" if the person was asked,
// or the agent was told to say it otherwise.
func behavior(x any) string {
	d := object(x, "decision")
	switch {
	case object(x, "question") != nil, text(object(x, "result", "decision"), "by") == "advice":
		return "ask"
	case object(x, "result") != nil:
		return text(object(x, "result"), "behavior")
	case d != nil:
		return text(d, "behavior")
	}
	m, _ := x.(map[string]any)
	return text(m, "behavior")
}

func object(x any, path ...string) map[string]any {
	m, _ := x.(map[string]any)
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return m
}

func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// differing collects the fields that differ between two values, without indices.
func differing(path string, a, b any, into map[string]bool) {
	if reflect.DeepEqual(a, b) {
		return
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			for name := range a {
				differing(path+"."+name, a[name], b[name], into)
			}
			for name := range b {
				if _, both := a[name]; !both {
					into[strings.TrimPrefix(path+"."+name, ".")] = true
				}
			}
			return
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				differing(path+"[]", a[i], b[i], into)
			}
			return
		}
	}
	into[strings.TrimPrefix(path, ".")] = true
}

// brief returns the heart of a decision.
func brief(x any) string {
	heart := object(x)
	for _, path := range [][]string{{"question"}, {"result", "decision"}, {"decision"}} {
		if m := object(x, path...); m != nil {
			heart = m
			break
		}
	}
	return cut(fmt.Sprintf("%s [%s %s, %s, tier %v] %s", cmp.Or(behavior(x), fmt.Sprint(x)), text(heart, "layer"), text(heart, "rule"), text(heart, "risk"), heart["tier"], text(heart, "reason")), 400)
}

// cut returns the beginning of a long text.
func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// write writes the report.
func (r *report) write(out io.Writer, builds []string, show int) {
	for _, d := range directions {
		for i, row := range r.rows[d] {
			if d == looser || i < show {
				fmt.Fprintln(out, row)
			}
		}
	}
	fmt.Fprintln(out, strings.Join(r.tasks, "\n"))
	for _, b := range r.broken {
		fmt.Fprintln(out, "FAILED", b)
	}
	for i := range r.hashes {
		fmt.Fprintf(out, "%d decisions, hash of %s: %s\n", r.decided, builds[len(builds)-len(r.hashes)+i], hex.EncodeToString(r.hashes[i].Sum(nil)[:16]))
	}
	if len(r.hashes) < 2 {
		return
	}
	differ := 0
	for _, d := range directions {
		differ += r.count[d]
		fmt.Fprintf(out, "%-8s %6d  by class: %s\n", d, r.count[d], most(r.classes[d], 12))
		fmt.Fprintf(out, "%-8s %6s  by field: %s\n", "", "", most(r.paths[d], 8))
	}
	fmt.Fprintf(out, "same     %6d\n", r.both-differ)
	if r.both < r.decided {
		fmt.Fprintf(out, "%d decisions were not compared: %s cannot make them\n", r.decided-r.both, builds[0])
	}
}

// most returns the n most frequent names with their counts.
func most(count map[string]int, n int) string {
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(n, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %d", name, count[name]))
	}
	return strings.Join(parts, ", ")
}

// code returns the exit code: 1 if something is looser, could not be decided or, where all
// should be the same, differs.
func (r *report) code(same bool) int {
	differ := r.count[stricter] + r.count[fields] + r.count[words]
	if r.count[looser] > 0 || len(r.broken) > 0 || same && differ > 0 {
		return 1
	}
	return 0
}
