package shell

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPossibleWrites: the words that a program may take for a file that it writes
// although its entry does not say so, and none of those that it only reads.
func TestPossibleWrites(t *testing.T) {
	tests := []struct{ line, want string }{
		{"unheard a", "a"},
		{"unheard -o a", "a"},
		{"unheard -oa --out=b", "a b"},
		{"unheard --exclude=a", ""},
		{"unheard x=a,b:c", "x=a,b:c a,b:c b:c x a b c"},
		{"unheard 'tee > \"a\", $*'", "tee > \"a\", $*; $*;tee;a;$*"},
		{"unheard d/$x", "d"},
		{"unheard $x ./$x d$x", ""},
		{"unheard d/*.c", "d/.c"},
		{"unheard .", "."},
		{"unheard http://a /dev/null", "http //a"},
		{"cd d && unheard a", "d/a"},
		{"rclone copy a b", "copy a b"},
		{"rclone copy a --unheard b", "copy a b"},
		{"grep --unheard a b", ""},
		{"jest --unheard a b", "a"},
		{"jest --unheard=a b", "a"},
		{"python x.py a", "a"},
		{"awk 1 a", ""},
		{"bash x.sh a", "a"},
		{"gcc -Wl,-Map=a b.c", "-Map=a -Map a"},
		{"gcc -Xlinker -Map=a b.c", "-Map=a -Map a"},
		{"docker run -v ./a:/b image", "./a:/b /b ./a"},
		{"docker build --output type=local,dest=a b", "type local dest a local,dest=a dest=a"},
		{"gcc -fopt-info-vec=a b.c", "-vec a -vec=a"},
		{"gcc -funheard=a b.c", "a"},
		{"chroot a touch b", "a"},
		{"stubgen a", "out"},
		{"pylint -f text:a b", "a"},
		{"pylint -f json b", ""},
		{"vale a", "a"},
		{"LOG=a terraform plan", "a"},
		{"LOG=a ls", ""},
		{"LC_ALL=a terraform plan", ""},
		{"heroku x -o a", "x a"},
		{"terraform providers mirror a", ""}, // a is written
		{"yarn --cwd d add x", "d/package.json d/yarn.lock d/node_modules/x"},
		{"cd d && npm install", "d/package.json d/package-lock.json d/node_modules/x"},
		{"terraform -chdir=d init", "d/.terraform.lock.hcl d/.terraform/x"},
		{"npm run x", ""},
		{"black", "."},
		{"black --check", ""},
		{"black --version", ""},
		{"cat a", ""},
		{"ls a", ""},
		{"git status a", ""},
		{"touch a", ""}, // a is written
		{"x=1", ""},
	}
	for _, tt := range tests {
		var got []string
		for _, a := range Analyze(tt.line, Options{Dir: "/w", Home: "/h"}).Actions {
			for _, p := range a.PossibleWrites() {
				got = append(got, strings.TrimPrefix(p.Text, "/w/"))
			}
		}
		want := strings.Fields(tt.want)
		if strings.Contains(tt.want, ";") {
			want = strings.Split(tt.want, ";")
		}
		if tt.want == "." {
			want = []string{"/w"}
		}
		slices.Sort(got)
		slices.Sort(want)
		if got, want = slices.Compact(got), slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", tt.line, got, want)
		}
	}
	for _, line := range []string{
		"foo " + strings.Repeat("a=b,c:d ", MaxLine/9), "foo " + strings.Repeat("=", MaxLine-8),
		"foo " + strings.Repeat(strings.Repeat("a=", maxPath/2)+" ", 15), "foo " + strings.Repeat("@a ", MaxLine/4),
	} {
		from := time.Now()
		a := &Analyze(line, Options{Dir: "/w"}).Actions[0]
		if n := len(a.PossibleWrites()); n > 2*len(line) {
			t.Errorf("%d paths of %d bytes", n, len(line))
		}
		if took := time.Since(from); took > hang {
			t.Errorf("%.20s took %v", line, took)
		}
	}
}
