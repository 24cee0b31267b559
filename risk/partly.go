package risk

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/shell"
)

// unparsed begins the reason of a line in which the parser found an error.
const unparsed = "the line cannot be parsed"

// maxTried is how many bytes are read to find what runs of a line with an
// error; a reading counts as perRead bytes at least.
const (
	maxTried = 2 * shell.MaxLine
	perRead  = 64
)

var (
	negations = regexp.MustCompile(`!(\s+!)+(\s)`)
	openDoc   = regexp.MustCompile("unclosed here-document [`\"](.*)[`\"]$")
)

// partly returns what a shell runs of a line that cannot be read: bash takes
// two negations and a here-document without an end, and has run the lines before
// an error by the time it meets it. It returns nil if nothing of the line is
// known to run. It is not ok if to find out would take too long.
func partly(f *shell.Facts, place Place) (runs *shell.Facts, ok bool) {
	if !strings.HasPrefix(f.Failed, unparsed) || len(f.Actions) != 1 {
		return nil, true
	}
	opt := shell.Options{Home: place.Home, Workspace: place.Workspace}
	if dirs := f.Actions[0].Dirs; len(dirs) == 1 && dirs[0].Known() {
		opt.Dir = dirs[0].Text
	}
	text := negations.ReplaceAllString(f.Source, "!$2")
	again := shell.Analyze(text, opt)
	if end := openDoc.FindStringSubmatch(again.Failed); end != nil {
		again = shell.Analyze(text+"\n"+end[1]+"\n", opt)
	}
	if again.Failed == "" {
		return again, true
	}
	return before(text, errorLine(again.Failed), opt)
}

// errorLine is the number of the line in which the parser found the error.
func errorLine(failed string) int {
	number, _, _ := strings.Cut(strings.TrimPrefix(failed, unparsed+": "), ":")
	n, _ := strconv.Atoi(number)
	return n
}

// before reads the lines before the first command with an error. As a rule that
// is all before the line of the error; else the commands are read one after the
// other, each of as many lines as it takes, as bash does.
func before(text string, bad int, opt shell.Options) (runs *shell.Facts, ok bool) {
	lines := strings.SplitAfter(text, "\n")
	for to := min(bad-1, len(lines)); to > max(0, bad-4); to-- {
		if runs := shell.Analyze(strings.Join(lines[:to], ""), opt); runs.Failed == "" {
			return runs, true
		}
	}
	whole := 0
	for to, tried := 1, 0; to <= min(bad, len(lines)); to++ {
		part := strings.Join(lines[whole:to], "")
		if tried += max(len(part), perRead); tried > maxTried {
			return nil, false
		}
		if shell.Analyze(part, opt).Failed == "" {
			whole = to
		}
	}
	if whole == 0 {
		return nil, true
	}
	return shell.Analyze(strings.Join(lines[:whole], ""), opt), true
}
