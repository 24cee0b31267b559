//go:build e2e

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// decision is one decision as its own record tells it.
type decision struct {
	ID    string // of the tool use
	Tool  string
	Allow bool
	Dir   string
	At    time.Time
}

// verdict is what a run comes to: faults are breaks of "every tool that ran had
// exactly one decision before it, and every deny held"; missed are rows that
// did not go as the policy says, so that the run proves less than it should.
type verdict struct {
	Faults []string
	Missed []string
	Ran    int
	Denied int
	Unseen int // refused by the agent CLI before anybody was asked
}

// fileClock is how far a file's time may lie behind the clock: file systems
// stamp with the time of the last tick.
const fileClock = 20 * time.Millisecond

// judge looks at what a run left. Before is the box as it was before the run;
// allowed says what the policy lets run.
func judge(b *box, m *model, rows []row, before map[string]string, decisions []decision, allowed func(row) bool) verdict {
	var v verdict
	byID := map[string][]decision{}
	for _, d := range decisions {
		byID[d.ID] = append(byID[d.ID], d)
	}
	ran := map[string]bool{}
	for _, r := range rows {
		ran[r.Name] = r.ran(b, m)
	}
	for _, r := range rows {
		v.row(b, m, r, byID[r.id()], ran, allowed)
		delete(byID, r.id())
	}
	for id := range byID {
		v.fault("%s: a decision for a tool use that the model never asked for", id)
	}
	v.files(b, rows, before, ran)
	sort.Strings(v.Faults)
	return v
}

func (v *verdict) fault(format string, args ...any) {
	v.Faults = append(v.Faults, fmt.Sprintf(format, args...))
}

func (v *verdict) miss(format string, args ...any) {
	v.Missed = append(v.Missed, fmt.Sprintf(format, args...))
}

func (v *verdict) row(b *box, m *model, r row, ds []decision, ran map[string]bool, allowed func(row) bool) {
	m.mu.Lock()
	_, sent := m.sent[r.id()]
	m.mu.Unlock()
	res, back := m.result(r.Name)
	didRun := ran[r.Name] || back && !res.Error
	if len(ds) > 1 {
		v.fault("%s: %d decisions", r.Name, len(ds))
	}
	switch {
	case !didRun:
	case len(ds) == 0:
		v.fault("%s: ran without a decision of ours (%s)", r.Name, short(res.Text))
	case !ds[0].Allow:
		v.fault("%s: ran although it was denied (%s)", r.Name, short(res.Text))
	default:
		if at, ok := evidence(b, r, res, back); ok && at.Add(fileClock).Before(ds[0].At) {
			v.fault("%s: ran at %s, before its decision at %s", r.Name, at, ds[0].At)
		}
	}
	// Our own driver records no directory.
	if len(ds) == 1 && ds[0].Dir != "" && r.Dir != "" && ran[r.Name] && ds[0].Dir != filepath.Join(b.Dir, r.Dir) {
		v.fault("%s: decided for the directory %s", r.Name, ds[0].Dir)
	}
	v.count(r, sent, back, didRun, len(ds))
	v.expect(r, sent, didRun, ds, ran, allowed, res)
}

func (v *verdict) count(r row, sent, back, didRun bool, decisions int) {
	switch {
	case !sent:
	case didRun:
		v.Ran++
	case decisions > 0:
		v.Denied++
	case back:
		v.Unseen++
	}
}

// expect compares a row with what the policy says of it.
func (v *verdict) expect(r row, sent, didRun bool, ds []decision, ran map[string]bool, allowed func(row) bool, res toolResult) {
	ready := r.After == "" || ran[r.After]
	want := allowed(r) && ready && !r.Refused
	switch {
	case r.After != "" && !ready, r.Either:
	case !sent:
		v.miss("%s: never asked for", r.Name)
	case want != didRun:
		v.miss("%s: ran %v, the policy says %v (%s)", r.Name, didRun, want, short(res.Text))
	case !r.Refused && len(ds) != 1:
		v.miss("%s: %d decisions (%s)", r.Name, len(ds), short(res.Text))
	}
}

// evidence is the first moment at which we know that the row's tool use had run.
func evidence(b *box, r row, res toolResult, back bool) (time.Time, bool) {
	if r.Mark != "" {
		if info, err := os.Lstat(filepath.Join(b.Dir, r.Mark)); err == nil {
			return info.ModTime(), true
		}
	}
	return res.At, back
}

// files finds whatever changed in the box and belongs to no row that ran.
func (v *verdict) files(b *box, rows []row, before map[string]string, ran map[string]bool) {
	mine := map[string]bool{}
	for _, r := range rows {
		for _, name := range append([]string{r.Mark, r.Gone, r.Holds}, r.Also...) {
			mine[name] = mine[name] || ran[r.Name]
		}
	}
	after := b.snapshot()
	for name := range union(before, after) {
		if before[name] != after[name] && !mine[name] && !strings.HasPrefix(name, "repo/.claude/worktrees") {
			v.fault("%s: changed, and no tool use that ran should have changed it", name)
		}
	}
}

func union(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// snapshot gives the content of every file of the box that is not the agent
// CLI's own business.
func (b *box) snapshot() map[string]string {
	all := map[string]string{}
	for _, top := range []string{b.Work, b.Out, b.Marks} {
		filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if d != nil && d.Name() == ".git" {
					return filepath.SkipDir
				}
				return nil
			}
			name, _ := filepath.Rel(b.Dir, path)
			data, _ := os.ReadFile(path)
			all[name] = "file:" + string(data)
			return nil
		})
	}
	return all
}
