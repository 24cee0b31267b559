//go:build oracle && linux

package shell

import (
	"flag"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/realshell"
)

var (
	bashLines = flag.Int("bash", 5000, "command lines to give to bash")
	dashLines = flag.Int("dash", 1000, "command lines to give to dash")
	zshLines  = flag.Int("zsh", 2000, "command lines to give to zsh")
	workers   = flag.Int("workers", runtime.NumCPU(), "shells at once")
	oneLine   = flag.String("line", "", "a line, quoted as in Go, to look at by itself")
	seed      = flag.Uint64("seed", 0, "seed of the generator; 0 takes the time")
)

func TestMain(m *testing.M) {
	realshell.Main()
	os.Exit(m.Run())
}

func TestBashRunsNothingUnseen(t *testing.T) {
	oracle{argv: []string{"/bin/bash", "-c"}, dialect: Bash}.test(t, *bashLines)
}

func TestDashRunsNothingUnseen(t *testing.T) {
	oracle{argv: []string{"/bin/dash", "-c"}, dialect: Sh}.test(t, *dashLines)
}

func TestZshRunsNothingUnseen(t *testing.T) {
	oracle{argv: []string{"/bin/zsh", "-f", "-c"}, dialect: Zsh}.test(t, *zshLines)
}

// TestLine prints what the shells run for one line, and what Analyze reports.
func TestLine(t *testing.T) {
	if *oneLine == "" {
		t.Skip("no -line")
	}
	line, err := strconv.Unquote(*oneLine)
	if err != nil {
		t.Fatal(err)
	}
	box, err := realshell.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	for _, o := range []oracle{{[]string{"/bin/bash", "-c"}, Bash}, {[]string{"/bin/dash", "-c"}, Sh}, {[]string{"/bin/zsh", "-f", "-c"}, Zsh}} {
		got, err := box.Run(append(o.argv, line)...)
		t.Logf("%s runs %q %v; seen:\n%s", o.argv[0], got.Commands, err, dump(o.analyze(line)))
	}
}

// oracle is a real shell with its dialect.
type oracle struct {
	argv    []string
	dialect Dialect
}

// opaqueShare is the reciprocal of the share of opaque lines that are run for the
// statistics. Such lines can hide nothing.
const opaqueShare = 8

// test passes generated lines to Analyze and to the shell. Every command that the
// shell runs must be an action, or the line must have an opaque spot that may run
// anything.
func (o oracle) test(t *testing.T, lines int) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%s, seed %d, %d lines", o.argv[0], *seed, lines)
	g := newGenerator(*seed, o.dialect, seedLines(t), o.variables(t))
	work := make(chan string, 100)
	var total tally
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range *workers {
		dir := t.TempDir()
		wg.Go(func() {
			n := o.work(t, dir, work)
			mu.Lock()
			defer mu.Unlock()
			total.add(n)
		})
	}
	for range lines {
		work <- g.line()
	}
	close(work)
	wg.Wait()
	t.Logf("lines %d; clear of opaque spots %d, all run, in %d of them the shell ran %d commands; opaque %d, of which %d run, with commands %d; timed out %d; violations %d",
		total.lines, total.clear, total.clearBusy, total.commands, total.lines-total.clear, total.opaque, total.opaqueBusy, total.timeouts, total.violations)
	if total.clear*20 < total.lines || total.clearBusy*4 < total.clear {
		t.Errorf("too few lines were clear and ran something: the test shows nothing")
	}
}

type tally struct {
	lines, clear, clearBusy, opaque, opaqueBusy, commands, timeouts, violations int
}

func (n *tally) add(m tally) {
	n.lines += m.lines
	n.clear += m.clear
	n.clearBusy += m.clearBusy
	n.opaque += m.opaque
	n.opaqueBusy += m.opaqueBusy
	n.commands += m.commands
	n.timeouts += m.timeouts
	n.violations += m.violations
}

// work runs lines in a box of its own until none are left.
func (o oracle) work(t *testing.T, dir string, lines <-chan string) (n tally) {
	box, err := realshell.Open(dir)
	if err != nil {
		t.Error(err)
		for range lines {
		}
		return n
	}
	defer box.Close()
	for line := range lines {
		n.lines++
		f := o.analyze(line)
		clear := !mayRunAnything(f)
		if !clear && n.lines%opaqueShare != 0 {
			continue
		}
		got, err := box.Run(append(o.argv[:len(o.argv):len(o.argv)], line)...)
		if err != nil {
			t.Errorf("line %q: %v", line, err)
			continue
		}
		n.count(clear, got)
		if run, bad := unseen(f, got); clear && bad {
			n.violations++
			small := o.shrink(box, line)
			t.Errorf("%s would run %q, which is no action\nline:  %q\nshort: %q\nseed %d", o.argv[0], run.Words(), line, small, *seed)
		}
	}
	return n
}

func (n *tally) count(clear bool, got realshell.Result) {
	busy := 0
	if len(got.Commands) > 0 {
		busy = 1
	}
	if got.TimedOut {
		n.timeouts++
	}
	if !clear {
		n.opaque++
		n.opaqueBusy += busy
		return
	}
	n.clear++
	n.clearBusy += busy
	n.commands += len(got.Commands)
}

func (o oracle) analyze(line string) *Facts {
	return Analyze(line, Options{Dir: "/w", Home: "/home/dev", Dialect: o.dialect})
}

// violates reports whether the shell runs a command that Analyze does not report.
func (o oracle) violates(box *realshell.Box, line string) bool {
	f := o.analyze(line)
	if mayRunAnything(f) {
		return false
	}
	got, err := box.Run(append(o.argv[:len(o.argv):len(o.argv)], line)...)
	_, bad := unseen(f, got)
	return err == nil && bad
}

// shrink removes from a line what the violation does not need, in ever shorter parts,
// until no single byte can be removed.
func (o oracle) shrink(box *realshell.Box, line string) string {
	tries := 1500
	for size := len(line) / 2; size > 0; size /= 2 {
		for again := true; again && tries > 0; {
			again = false
			for at := 0; at+size <= len(line) && tries > 0; {
				tries--
				if less := line[:at] + line[at+size:]; o.violates(box, less) {
					line, again = less, true
				} else {
					at += max(1, size/2)
				}
			}
		}
	}
	return line
}

// unseen returns a command that ran and is not an action.
func unseen(f *Facts, got realshell.Result) (realshell.Run, bool) {
	for _, run := range got.Commands {
		if !seen(f, run.Words()) {
			return run, true
		}
	}
	return realshell.Run{}, false
}

func mayRunAnything(f *Facts) bool {
	for i := range f.Actions {
		if f.Actions[i].Kind == Opaque && f.Actions[i].May&MayRun != 0 {
			return true
		}
	}
	return false
}

func seen(f *Facts, argv []string) bool {
	for i := range f.Actions {
		if a := &f.Actions[i]; a.Kind == Command && wordsMatch(a.Words, argv) {
			return true
		}
	}
	// Of a path that exec -a gives another name, only the file is seen.
	if name, relative := strings.CutPrefix(argv[0], "./"); relative && strings.Contains(name, "/") {
		return seen(f, append([]string{name}, argv[1:]...))
	}
	if name, root := strings.CutPrefix(argv[0], "/"); root && !strings.Contains(name, "/") { // in the root directory
		return seen(f, append([]string{"./" + name}, argv[1:]...))
	}
	return false
}

// wordsMatch reports whether words may become argv. In a word that may split, the
// first word begins with the text before its first hole, and the last ends with the
// text after its last hole.
func wordsMatch(words []Word, argv []string) bool {
	if len(words) == 0 {
		return len(argv) == 0
	}
	w := &words[0]
	if !w.Split {
		return len(argv) > 0 && fills(w, argv[0]) && wordsMatch(words[1:], argv[1:])
	}
	for n := 0; n <= len(argv); n++ {
		if n > 0 && w.Known() || !fillsMany(w, argv[:n]) {
			continue
		}
		if wordsMatch(words[1:], argv[n:]) {
			return true
		}
	}
	return false
}

func fillsMany(w *Word, argv []string) bool {
	if len(argv) == 0 {
		return w.Text == "" || w.hasHole(Glob) // with nullglob
	}
	if !w.hasHole(AnyText) { // a pattern
		for _, a := range argv {
			if !fills(w, a) {
				return false
			}
		}
		return true
	}
	first, last := w.Text[:w.Holes[0].At], w.Text[w.Holes[len(w.Holes)-1].At:]
	return strings.HasPrefix(argv[0], first) && strings.HasSuffix(argv[len(argv)-1], last)
}

// fills reports whether text is the word with its holes filled.
func fills(w *Word, text string) bool {
	if len(w.Holes) == 0 {
		return text == w.Text
	}
	var sb strings.Builder
	from := 0
	for _, h := range w.Holes {
		sb.WriteString(regexp.QuoteMeta(latin(w.Text[from:h.At])) + fillings[h.Kind])
		from = h.At
	}
	return regexp.MustCompile("(?s)^" + sb.String() + regexp.QuoteMeta(latin(w.Text[from:])) + "$").MatchString(latin(text))
}

// latin converts each byte to a character, since an argument need not be UTF-8.
func latin(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

var fillings = map[HoleKind]string{AnyText: ".*", Glob: "[^/]*", Digits: "[0-9]+", Number: "-?[0-9]+", Pipe: "[0-9]+"}
