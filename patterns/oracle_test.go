package patterns

import (
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// drawGlob draws a path pattern and a path with an alphabet so small that they
// often match.
func drawGlob(t *rapid.T) (pattern, name string) {
	part := rapid.StringMatching(`(a|b|\*|\?|\[ab\]|\[!a\]|ab|\*a){1,3}`)
	var parts, names []string
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		p := part.Draw(t, "part")
		if rapid.IntRange(0, 3).Draw(t, "many") == 0 || strings.Trim(p, "*") == "" {
			p = "**"
		}
		parts = append(parts, p)
	}
	for range rapid.IntRange(1, 5).Draw(t, "names") {
		names = append(names, rapid.StringMatching(`[abc]{1,4}`).Draw(t, "name"))
	}
	return "/" + strings.Join(parts, "/"), "/" + strings.Join(names, "/")
}

// TestPathsAgainstDoublestar checks that path patterns agree with doublestar,
// except that in a rule a final "**" does not match the directory itself.
func TestPathsAgainstDoublestar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern, name := drawGlob(t)
		r, _, err := Parse("Read("+pattern+")", Allow, Source{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := doublestar.Match(strings.ReplaceAll(pattern, "[!", "[^/"), name)
		if err != nil {
			t.Fatal(err)
		}
		got := r.bound(here, 0).matchPath(NewPath(shell.Word{Text: name}, "", here, same), false) == Yes
		if got == want {
			return
		}
		if head, ok := strings.CutSuffix(pattern, "/**"); ok && want && !got {
			if deeper, _ := doublestar.Match(strings.ReplaceAll(head, "[!", "[^/")+"/**/*", name); !deeper {
				return
			}
		}
		t.Fatalf("%s of %s: %v, doublestar says %v", pattern, name, got, want)
	})
}

// TestAgainstRE2 checks that patterns agree with the equivalent regular
// expression, for paths and commands.
func TestAgainstRE2(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern, name := drawGlob(t)
		r, _, err := Parse("Edit("+pattern+")", Allow, Source{})
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile(pathRegexp(pattern)).MatchString(name)
		if got := r.bound(here, 0).matchPath(NewPath(shell.Word{Text: name}, "", here, same), false) == Yes; got != want {
			t.Fatalf("%s of %s: %v, RE2 says %v", pattern, name, got, want)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab]{1,2}[ab* ]{0,8}`).Draw(t, "pattern")
		r, _, err := Parse("Bash("+text+")", Allow, Source{})
		if err != nil {
			t.Fatal(err)
		}
		words := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,3}`), 1, 5).Draw(t, "words")
		a := &shell.Action{Kind: shell.Command}
		for _, w := range words {
			a.Words = append(a.Words, shell.Word{Text: w})
		}
		sub := &Subject{Kind: RunCommand, Tool: "Bash", Command: a, Line: "v=x; y"}
		want := regexp.MustCompile(commandRegexp(text)).MatchString(strings.Join(words, " "))
		if got := r.bound(here, 0).match(sub, Query{}) == Yes; got != want {
			t.Fatalf("%s of %q: %v, RE2 says %v", r, words, got, want)
		}
	})
}

// pathRegexp returns the regular expression for a path pattern.
func pathRegexp(pattern string) string {
	re := ""
	parts := strings.Split(pattern[1:], "/")
	for i, part := range parts {
		switch {
		case part == "**" && i == len(parts)-1:
			re += "(/[^/]+)+"
		case part == "**":
			re += "(/[^/]+)*"
		default:
			re += "/" + strings.NewReplacer("*", "[^/]*", "?", "[^/]", "[!", "[^/").Replace(part)
		}
	}
	// Two adjacent "**" are one.
	return "^" + strings.ReplaceAll(re, "(/[^/]+)*(/[^/]+)+", "(/[^/]+)+") + "$"
}

// commandRegexp returns the regular expression for a command pattern.
func commandRegexp(text string) string {
	words := strings.Fields(text)
	open := len(words) > 1 && strings.Trim(words[len(words)-1], "*") == ""
	if open {
		words = words[:len(words)-1]
	}
	re := "^" + strings.ReplaceAll(regexp.MustCompile(`\*+`).ReplaceAllString(strings.Join(words, " "), "*"), "*", ".*")
	if open {
		re += "( .*)?"
	}
	return re + "$"
}

// hang is the time limit for the patterns on a busy machine. They take a
// hundredth of it, but more than eight seconds without the guards.
const hang = time.Second

// TestHostilePatterns checks that patterns that take package glob seconds, with
// separators or braces, are accepted and cheap.
func TestHostilePatterns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 4000)
	for _, test := range []struct{ pattern, name string }{
		{"/*a*a*a*b?", "/" + long},
		{"/*a*a*a*a*a*a*a*a*a*b?", "/" + long},
		{"/{*a,*b}{*a,*b}{*a,*b}?c*", "/" + strings.Repeat("a", 200)},
		{"/{*a,*b}{*a,*b}{*a,*b}{*a,*b}{*a,*b}{*a,*b}?c*", "/" + long},
		{"/*a*" + strings.Repeat("/*a*", 60) + "/b", strings.Repeat("/"+strings.Repeat("a", 60), 60)},
		{strings.Repeat("/**/*a*", 70) + "/b", strings.Repeat("/a", 2000)},
		{strings.Repeat("/**/a", 80) + "/b", strings.Repeat("/a", 2000)},
		{"/" + strings.Repeat("*a", 120) + "b", "/" + long},
		{"/" + strings.Repeat("[ab]*", 80) + "c", "/" + long},
		{"/" + strings.Repeat("?*", 120) + "b", "/" + long},
		{"/*a*{x,y*}?", "/" + long},
	} {
		r := rule(t, "Read("+test.pattern+")", Deny)
		p := NewPath(shell.Word{Text: test.name}, "", here, same)
		if d := clock(func() { r.matchPath(p, false) }); d > hang {
			t.Errorf("%s: %v", test.pattern, d)
		}
	}
	words := []shell.Word{{Text: "x"}, {Text: strings.Repeat("a", 60000)}}
	for _, pattern := range []string{"x " + strings.Repeat("*a", 30) + "*b", "*" + strings.Repeat("a*", 30) + "b:*", "x *" + strings.Repeat("a", 400) + "b*"} {
		r := rule(t, "Bash("+pattern+")", Deny)
		if d := clock(func() { r.match(commandOf(words), Query{}) }); d > hang {
			t.Errorf("%s: %v", pattern, d)
		}
		vague := []shell.Word{words[0], {Text: words[1].Text, Holes: []shell.Hole{{At: 5}, {At: 5000}}}}
		if d := clock(func() { r.match(commandOf(vague), Query{}) }); d > 3*hang {
			t.Errorf("%s with holes: %v", pattern, d)
		}
	}
}

// clock returns the shortest time of three runs, since the machine may be busy.
func clock(f func()) time.Duration {
	best := time.Hour
	for range 3 {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// TestGlobSource checks that package glob only gets patterns without separators
// and braces, with which it takes seconds and gigabytes.
func TestGlobSource(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab*?\[\]!^{},\\-]{1,12}`).Draw(t, "name")
		if strings.Trim(text, "*") == "" {
			return
		}
		n, err := newName(text)
		if err != nil || !n.wild {
			return
		}
		source := n.glob.String()
		if n.glob.Separators() != nil {
			t.Fatalf("%q is compiled with separators %q", text, n.glob.Separators())
		}
		for i := 0; i < len(source); i++ {
			switch source[i] {
			case '\\':
				i++
			case '[':
				i = classEnd(source, i) - 1
			case '{', '}':
				t.Fatalf("%q is compiled as %q", text, source)
			}
		}
	})
}

// TestGlobVersion checks the version of package glob: those before 1.0 miss
// matches.
func TestGlobVersion(t *testing.T) {
	t.Parallel()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("no build information")
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/gobwas/glob" {
			if strings.HasPrefix(dep.Version, "v0.") {
				t.Errorf("package glob is %s", dep.Version)
			}
			return
		}
	}
	// A test binary may lack the list of modules: try patterns that v0.2.3 gets
	// wrong.
	for _, test := range [][2]string{{"a*?*b", "axb"}, {"?*a", "xa"}, {"*[!a]*", "ab"}} {
		n, err := newName(test[0])
		if err != nil || !n.glob.Match(test[1]) {
			t.Errorf("%s does not match %s", test[0], test[1])
		}
	}
}

// TestGlobstarIsOurs checks that in a rule "**" also matches no directory, and
// that "*" matches inside one name.
func TestGlobstarIsOurs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, name string
		want          Match
	}{
		{"**/x", "x", Yes}, {"a/**/b", "a/b", Yes}, {"a/**", "a", No}, {"a/*", "a/b/c", No}, {"test//file", "test/file", Yes}, {"*", "a\nb", Maybe},
	} {
		m := rule(t, "Read(./"+test.pattern+")", Deny).matchPath(NewPath(shell.Word{Text: test.name}, here.Workspace, here, same), false)
		if test.name == "a\nb" {
			m = min(m, Maybe)
		}
		if m != test.want {
			t.Errorf("%s of %q: %v, want %v", test.pattern, test.name, m, test.want)
		}
	}
}
