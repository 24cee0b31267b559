package shell

import (
	"strings"
	"testing"
)

// TestSkipsHidden checks which searches leave out hidden names for certain.
func TestSkipsHidden(t *testing.T) {
	for line, want := range map[string]bool{
		"rg x": true, "fd x": true, "ag x": true, "rg -n -g '*.go' x": true,
		"rg --hidden x": false, "rg -g '*' x": false, "rg --unheard x": false, `rg "$y" x`: false, "grep -r x .": false,
	} {
		f := Analyze(line, Options{Dir: "/p", Home: "/h"})
		for i := range f.Actions {
			if a := &f.Actions[i]; a.Kind == Read && a.Recursive && a.SkipHidden != want {
				t.Errorf("%s: leaves out hidden names: %v", line, a.SkipHidden)
			}
		}
	}
}

// TestSkips checks which names a search leaves out for certain.
func TestSkips(t *testing.T) {
	for line, want := range map[string]string{
		"grep -r x .":                                   "",
		"grep -r --exclude=.env x .":                    ".env",
		"grep -rn x . --exclude .env --exclude='*.pem'": ".env *.pem",
		"egrep -r --exclude=.env x .":                   ".env",
		"rg -g '!.env' x":                               ".env",
		"rg --hidden --glob='!.env' -g '!*.pem' x":      ".env *.pem",
		"grep -r --include='*.go' --exclude=.env x .":   ".env", // the last one that fits counts
		"grep -r --exclude=.env --include='.e*' x .":    "",
		"rg -g '!.env' -g '*' x":                        "",
		"rg -g '!.env' --iglob '.ENV' x":                "",
		"rg -g .env x":                                  "",
		"grep -r '--exclude=!.env' x .":                 "",
		"grep -R --exclude=.env x .":                    "", // a link to it has another name
		"grep -S -r --exclude=.env x .":                 "",
		"rg -L -g '!.env' x":                            "",
		"grep -r --exclude=.env $X .":                   "",
		"grep -r --exclude=.env --unheard x .":          "",
		`grep -r --exclude="$X" x .`:                    "",
		"grep -r --exclude='.[e]nv' x .":                "",
		"grep -r --exclude='.en?' x .":                  "",
		"grep -r --exclude=sub/.env x .":                "",
		"grep -r --exclude='**' x .":                    "",
		"grep -r x . -- --exclude=.env":                 "",
		"zgrep -r --exclude=.env x .":                   "",
		"ag --ignore .env x":                            "",
		"grep -r --exclude-dir=.env x .":                "",
	} {
		f := Analyze(line, Options{Dir: "/p", Home: "/h"})
		for i := range f.Actions {
			a := &f.Actions[i]
			if got := strings.Join(a.Skips, " "); a.Kind == Read && a.Recursive && got != want {
				t.Errorf("%q leaves out %q, want %q", line, got, want)
			}
		}
	}
}
