package shell

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPossibleReads checks that the result has the words that a program may take for
// a file although its entry does not say so, and none that it only names or that
// select files.
func TestPossibleReads(t *testing.T) {
	tests := []struct{ line, want string }{
		{"gpg -c a", "a"},
		{"gpg -c a b=c", "a b=c c b"},
		{"git add a", "a"},
		{"git -C d add a", "d d/a"},
		{"git commit -m 'a b' -- c", "c"},
		{"git rm a", ""},
		{"git checkout -- a", ""},
		{"cpio --foo=a", "a"},
		{"cpio --exclude=a", ""},
		{"java @a", "a"},
		{"kubectl create secret generic x --from-literal=k=a", "generic x k=a k a"},
		{"kubectl create secret generic x --from-file=k=a", "generic x"}, // a is read
		{"gh pr comment 1 -b x a", "1 a"},
		{"make FILE=a", "FILE=a FILE a"},
		{"docker run -v ./a:/b image", "./a:/b /b ./a"},
		{"ls a", ""},
		{"echo a @b c=d", ""},
		{"find . -name a", ""},
		{"grep a=b c", ""},
		{"cat a", ""},
		{"git ls-files -s a", "a"},
		{"git ls-files a", ""},
		{"git ls-tree HEAD a", "HEAD a"},
		{"git rev-parse :a", ":a a"},
		{"tree --fromfile a", "a"},
		{"tree a", ""},
		{"yq a", "a"},
		{"yq . a", ""},
		{"jq a", ""},
		{"magick caption:@a b", "caption a"},
		{"pdflatex '\\input{a}'", "\\input a"},
		{"unheard -e 'importstr \"a\"'", "importstr a"},
		{"docker run -v .:/x i cat /x/d/a", "/x .:/x .:/x/a .:/x/d/a .:/x/x/d/a /x/a /x/d/a /x/x/d/a x/d/a d/a a"},
		{"docker run --mount type=bind,src=./d,dst=/x i a", "type=bind,src=./d,dst=/x bind,src=./d,dst=/x src=./d,dst=/x ./d,dst=/x dst=/x /x type bind src ./d dst"},
		{"chroot ./d cat /a", "./d/a"},
		{`echo 'file("a")' | terraform console`, `file("a") file a`},
		{"unheard <<< a", "a"},
		{"echo a | sort", ""},
		{"unheard @a b=c d", "a c b"},
		{"gpg -c $x", ""},
		{"gpg -c a*", "a"},
		{"gpg -c . .. ./", ""},
		{"x=1", ""},
	}
	for _, tt := range tests {
		var got []string
		for _, a := range Analyze(tt.line, Options{Dir: "/w", Home: "/h"}).Actions {
			for _, p := range a.PossibleReads() {
				got = append(got, strings.TrimPrefix(p.Text, "/w/"))
			}
		}
		want := strings.Fields(tt.want)
		slices.Sort(got)
		slices.Sort(want)
		if got, want = slices.Compact(got), slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", tt.line, got, want)
		}
	}
	for _, line := range []string{
		"gpg -c " + strings.Repeat("a=b,c:d ", MaxLine/9), "gpg -c " + strings.Repeat("=", MaxLine-8),
		"gpg -c " + strings.Repeat(strings.Repeat("a=", maxPath/2)+" ", 15), "foo " + strings.Repeat("@a ", MaxLine/4),
	} {
		from := time.Now()
		a := &Analyze(line, Options{Dir: "/w"}).Actions[0]
		if n := len(a.PossibleReads()); n > len(line) {
			t.Errorf("%d paths of %d bytes", n, len(line))
		}
		if took := time.Since(from); took > hang {
			t.Errorf("%.20s took %v", line, took)
		}
	}
}
