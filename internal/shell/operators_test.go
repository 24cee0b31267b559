package shell

import (
	"strings"
	"testing"
)

// TestOperators checks the first operator of a line, as "kind text", or "".
func TestOperators(t *testing.T) {
	for line, want := range map[string]string{
		"npm test": "", " npm  test ": "", "npm test\n": "", "\n\nnpm test": "", "npm test # a | b": "", "npm \\\n test": "", "": "", "# x": "",
		"NODE_ENV=test npm test": "", "A= B='x y' npm test": "", `git log --grep='a|b;c&d$x*~{1,2}'`: "", `"npm" te'st' $'a\nb' "x'y" \| \; \*`: "",
		"git log HEAD@{1} HEAD^ HEAD~2 a=b": "", "find . -name x -exec cat {} +": "", "echo [ ] ] [": "", "[ -f x ]": "", "npm test !x": "", `npm test "*" '~' "{a,b}"`: "",
		`npm test \~ \{a,b}`: "",
		"npm test|cat":       "Joins |", "npm test |& cat": "Joins |&", "a && b": "Joins &&", "a || b": "Joins ||", "a; b": "Joins ;", "a;": "Joins ;", "a\nb": "Joins newline",
		"a & b": "Joins &", "a &": "Joins &", "! a": "Joins !", "(a)": "Joins (", "{ a; }": "Joins {", "a # x\nb": "Joins newline",
		"a > x": "Redirects > x", "a>x": "Redirects >x", "a < x": "Redirects < x", "a 2>&1": "Redirects 2>&1 free", "a >/dev/null": "Redirects >/dev/null free", "a >& x": "Redirects >& x", `a >&""`: `Redirects >&""`,
		"a <<< x": "Redirects <<< x", "a <<E\nx\nE": "Redirects <<E…", "a >> x": "Redirects >> x", "a &> x": "Redirects &> x", "a &>/dev/null": "Redirects &>/dev/null free", "> x": "Redirects > x",
		"a >&-": "Redirects >&- free", "a > $x": "Redirects > $x", "a >/dev/null*": "Redirects >/dev/null*", "a <> /dev/null": "Redirects <> /dev/null", "a < /dev/null": "Redirects < /dev/null", "a 2>&1-": "Redirects 2>&1-",
		"a $x": "Expands $x", "a ${x:-y}": "Expands ${x:-y}", "a $(b)": "Expands $(b)", "a `b`": "Expands `b`", "a $((1))": "Expands $((1))", `a "$x"`: "Expands $x", "$x": "Expands $x",
		`a $"b"`: `Expands $"b"`, "a <(b)": "Expands <(b)", "a *.js": "Expands *.js", "a x?": "Expands x?", "a [ab]": "Expands [ab]", `a ["x"]`: `Expands ["x"]`, "a ~": "Expands ~", "a ~/x": "Expands ~/x", "a x=~": "Expands x=~",
		"a {b,c}": "Expands {b,c}", "a x{1..3}": "Expands x{1..3}", "a @(b|c)": "Expands @(b|c)", "X=$y a": "Expands $y", "X=~ a": "Expands ~", "X=a:~ b": "Expands a:~",
		"X=1": "Sets X=1", "X+=1 a": "Sets X+=1", "if a; then b; fi": "Compound if a; then b; fi", "f() { a; }": "Compound f() { a; }", "for x in a; do b; done": "Compound for x in a; do b; done",
		"while a; do b; done": "Compound while a; do b; done", "case a in b) c;; esac": "Compound case a in b) c;; esac", "[[ -f x ]]": "Compound [[ -f x ]]", "((1))": "Compound ((1))",
		"export X=1": "Compound export X=1", "let x=1": "Compound let x=1", "time a": "Compound time a", "coproc a": "Compound coproc a", "time": "Compound time",
		"a $(bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb)": "Expands $(bbbbbbbbbbbbbbbbbbbbbbbbbbbb…", "a $(b\nc)": "Expands $(b…",
	} {
		ops, err := Operators(line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		got := ""
		if len(ops) > 0 {
			got = strings.TrimSpace(strings.Join([]string{[]string{"", "Joins", "Compound", "Redirects", "Expands", "Sets"}[ops[0].Kind], ops[0].Text, map[bool]string{true: "free"}[ops[0].Free]}, " "))
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestOperatorsUnread(t *testing.T) {
	for line, want := range map[string]string{
		"a '": "the line cannot be parsed: ", "a (": "the line cannot be parsed: ", "a\x00b": "NUL", strings.Repeat("(", 2000): "brackets", "a[0]=x b": "the line cannot be parsed",
		strings.Repeat("x", MaxLine+1): "longer than",
	} {
		if ops, err := Operators(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v %v, want %q", line, ops, err, want)
		}
	}
}

// FuzzOperators checks that a line without operators that Analyze can read is at most
// one simple command, whose known words stand in the line literally except for
// quotes.
func FuzzOperators(f *testing.F) {
	for _, line := range []string{"npm test", "A=1 npm 'x y' \"z\"", "a | b", "a {b,c} ~ *", "a \\\n b", "a <<E\n$x\nE\n"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		ops, err := Operators(line)
		if err != nil || len(ops) > 0 {
			return
		}
		commands := 0
		for _, a := range Analyze(line, Options{Dir: "/w", Home: "/home/u"}).Actions {
			switch {
			case a.Parent >= 0:
			case a.Kind == Command:
				commands++
			case a.Redirect:
				t.Errorf("%q: no operator, but a redirection", line)
			}
		}
		if commands > 1 {
			t.Errorf("%q: no operator, but %d commands", line, commands)
		}
	})
}

// TestAssignValue checks the value of a variable before a command.
func TestAssignValue(t *testing.T) {
	for line, want := range map[string]string{
		"X=1 a": "1", "X= a": "", "X='a b' a": "a b", `X="a"b\ c a`: "ab c", "X=$'a' a": "a", `X=$'\56env' a`: ".env", "X=$y a": "?", "X=a$y a": "?", "X+=1 a": "?", "X=~ a": "?", "X=$(b) a": "?",
		"env X=1 a": "1", "env X=a=b a": "a=b", "env X= a": "", `env X="$y" a`: "?", "env 'X=a b' a": "a b",
	} {
		got := "none"
		for _, a := range Analyze(line, Options{Dir: "/w", Home: "/h"}).Actions {
			if a.Kind == Command && len(a.Assigns) == 1 {
				got = a.Assigns[0].Value.Text
				if v := a.Assigns[0].Value; !v.Known() {
					got = "?"
				}
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
