package terminal

import (
	"strings"
	"testing"
)

func TestNeedsInput(t *testing.T) {
	for line, want := range map[string]string{
		"vim x": "vim may read the keyboard", "ls | less": "less may read the keyboard", "nano": "nano may read the keyboard",
		"sudo ls; ssh h": "ssh may read the keyboard, sudo may read the keyboard", "python3": "python3 reads what it does from the keyboard",
		"bash": "bash reads what it does from the keyboard", "cat x | bash": "", "python3 x.py": "", "ls": "", "": "", "make 'x": "",
		"if true; then top; fi": "top may read the keyboard",
	} {
		if got := strings.Join(needsInput(line, "/"), ", "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestPagers: a program that pages its output on a terminal does not wait for keys.
func TestPagers(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Environ = []string{"PATH=/usr/bin:/bin", "PAGER=less", "AWS_SECRET_ACCESS_KEY=x", "BASH_ENV=/x"}
	})
	id := b.begin()
	r := b.execute(id, "echo $PAGER $GIT_PAGER-$AWS_SECRET_ACCESS_KEY-$BASH_ENV-$TERM; nano --version >/dev/null")
	if len(r.NeedsInput) != 1 {
		t.Errorf("%+v", r)
	}
	b.shows(id, "\r\ncat cat---xterm-256color\r\n")
}
