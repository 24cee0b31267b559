package shell

import (
	"strings"
	"testing"
)

// TestCauses checks that every cause has words with at most two names, and that one
// that makes a spot opaque has advice for a clear form.
func TestCauses(t *testing.T) {
	for c := Cause(1); c < noCause; c++ {
		row := c.row()
		if row.words == "" || strings.Count(row.words, gap) > 2 || strings.Count(row.words, "%") != strings.Count(row.words, gap) {
			t.Errorf("the words of cause %d are %q", c, row.words)
		}
		if doubt := c >= CauseMayDo; !doubt && row.rewrite == "" || doubt && (row.rewrite != "") != c.advised() {
			t.Errorf("%q: the rewrite is %q", row.words, row.rewrite)
		}
	}
	for why, want := range map[Why]string{
		{}:                               "",
		{Cause: noCause}:                 "",
		because(causeCoproc):             "coproc",
		because(causeCode, "option -c"):  "option -c is code in another language",
		because(causeSends, "-F", "gh"):  "option -F of gh sends a file to a host",
		because(causeTextRefused, "%s"):  "%s: ",
		because(causeIndirect, "a", "b"): "${!a} expands a name that is known only when it runs",
	} {
		if got := why.String(); got != want {
			t.Errorf("%#v: %q, want %q", why, got, want)
		}
	}
}

// TestFailure checks the line at which the parser stopped, and the here-document that
// begins there.
func TestFailure(t *testing.T) {
	for line, want := range map[string]Failure{
		"ls\nls )":                     {Line: 2},
		"cat <<E\nx":                   {Line: 1, Document: "E"},
		"ls\ncat 3<<-'E F' | sh\nx":    {Line: 2, Document: "E F"},
		"a {f}<< \"E'\"\\;X; ls\nx":    {Line: 1, Document: "E';X"},
		"x=$(cat <<$E\nx":              {Line: 1},
		"cat <<'E'# it is\nx":          {Line: 1, Document: "E"},
		"cat <<":                       {Line: 1},
		strings.Repeat("ls;", 11000):   {},
		strings.Repeat("a", MaxLine+1): {},
		"a=(b c) <() {$":               {Line: 1},
	} {
		f := Analyze(line, Options{})
		if f.Failed == nil {
			t.Errorf("%.60q can be read", line)
			continue
		}
		if f.Failed.Line != want.Line || f.Failed.Document != want.Document {
			t.Errorf("%.60q: %+v, want %+v", line, f.Failed, want)
		}
	}
	if f := Analyze("bash -c 'cat <<E\nx'", Options{}); f.Failed != nil {
		t.Errorf("the text of a command is not the line: %+v", f.Failed)
	}
}
