package patterns

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// word parses a word of a test: "$" is unknown text, "*" a glob, "#" a number.
func word(text string) shell.Word {
	var w shell.Word
	for _, r := range text {
		hole := shell.Hole{At: len(w.Text)}
		switch r {
		case '$':
		case '*':
			hole.Kind = shell.Glob
			w.Split = true
		case '#':
			hole.Kind = shell.Digits
		default:
			w.Text += string(r)
			continue
		}
		w.Holes = append(w.Holes, hole)
	}
	return w
}

func written(text string, place Place) *Path {
	return NewPath(word(text), place.Workspace, place, same)
}

func TestPathRules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern string
		no      []string
		yes     []string
	}{
		{".env", []string{"my.env", ".env.local", ".envx", "/etc/.env", "../.env"}, []string{".env", "./.env", "a/b/.env", "/home/dev/proj/.env", "a/../.env", "src/.././/.env"}},
		{"./.env", []string{"a/.env", "/.env"}, []string{".env", "a/../.env"}},
		{"*.md", []string{"a.mdx", "md", "/tmp/a.md"}, []string{"a.md", ".md", "docs/x/a.md"}},
		{"src/**", []string{"src", "srcx/a", "xsrc/a", "a/src/b", "src/../a", "/src/a"}, []string{"src/a", "src/a/b/c", "./src/a", "src/..a/x"}},
		{"src/**/x.go", []string{"src/x.goo", "x.go", "src/ax.go"}, []string{"src/x.go", "src/a/x.go", "src/a/b/x.go"}},
		{"**/x.go", []string{"/tmp/x.go"}, []string{"x.go", "a/b/x.go"}},
		{"docs/*.md", []string{"docs/a/b.md", "docs/a.mdx", "adocs/a.md"}, []string{"docs/a.md", "docs/.md"}},
		{"a/**/b", []string{"a/x", "ab"}, []string{"a/b", "a/x/b", "a/x/y/b"}},
		{"**/*secret*/**", []string{"secret", "a/secret"}, []string{"secret/x", "a/my-secrets/b/c"}},
		{"/etc/**", []string{"/etc", "/etcx/y", "etc/x"}, []string{"/etc/passwd", "/etc/a/b", "/etc/../etc/x", "//etc/x"}},
		{"//etc/**", []string{"/etc"}, []string{"/etc/passwd"}},
		{"//**/*.pem", []string{"/a/pem"}, []string{"/a.pem", "/a/b/c.pem", "x.pem"}},
		{"~/.ssh/**", []string{"/home/dev/.sshx/a", "/root/.ssh/a", ".ssh/a"}, []string{"/home/dev/.ssh/id", "~/.ssh/id", "../.ssh/id"}},
		{"src/{a,b}/*.{js,ts}", []string{"src/c/x.js", "src/a/x.go", "src/a/b/x.js"}, []string{"src/a/x.js", "src/b/x.ts"}},
		{"{a,b{c,d}}.x", []string{"b.x"}, []string{"a.x", "bc.x", "bd.x"}},
		{"x{1}", []string{"x1"}, []string{"x{1}"}},
		{"file?.txt", []string{"file.txt", "file12.txt"}, []string{"file1.txt", "fileß.txt"}},
		{"[ab].txt", []string{"c.txt"}, []string{"a.txt", "b.txt", "[ab].txt"}},
		{"[!ab].txt", []string{"a.txt"}, []string{"c.txt"}},
		{"[^ab].txt", []string{"a.txt"}, []string{"c.txt"}},
		{"app/[id]/page.tsx", []string{"app/x/page.tsx"}, []string{"app/[id]/page.tsx", "app/i/page.tsx"}},
		{`a\*b`, []string{"axb"}, []string{"a*b"}},
		{"secrets/", []string{"secrets", "secretsanta/x"}, []string{"secrets/x", "secrets/a/b"}},
		{"a**b", []string{"a/b"}, []string{"ab", "axxb"}},
		{"/", nil, []string{"/a", "x"}},
		{"**", []string{"/etc/passwd", "../x"}, []string{"a", "a/b"}},
		{"a b.txt", []string{"a", "b.txt"}, []string{"a b.txt"}},
	} {
		for _, list := range []List{Allow, Deny} {
			r := rule(t, "Read("+test.pattern+")", list)
			for want, names := range map[Match][]string{No: test.no, Yes: test.yes} {
				for _, name := range names {
					p := NewPath(shell.Word{Text: name}, here.Workspace, here, same)
					if m := r.matchPath(p, false); m != want {
						t.Errorf("%v Read(%s) of %q: %v, want %v", list, test.pattern, name, m, want)
					}
				}
			}
		}
	}
}

// TestPathBelowLiteral checks that a rule that names a directory literally also
// matches what is in it for ask and deny, but not for allow.
func TestPathBelowLiteral(t *testing.T) {
	t.Parallel()
	checkPaths(t, here, []pathRow{
		{"Edit(.git)", Deny, ".git/config", Yes},
		{"Edit(.git)", Ask, "a/.git/hooks/x", Yes},
		{"Edit(.git)", Allow, ".git/config", No},
		{"Edit(/home/dev/notes)", Ask, "/home/dev/notes/a/b", Yes},
		{"Edit(/c/Web/**)", Ask, `C:\Web\x`, Yes},
		{"Edit(/home/dev/notes)", Ask, "/home/dev/notesx", No},
		{"Edit(*token*)", Deny, "src/tokenizer/x.go", No},
	})
}

// pathRow is an edit rule, a path, and the expected match.
type pathRow struct {
	rule string
	list List
	name string
	want Match
}

func checkPaths(t *testing.T, place Place, rows []pathRow) {
	t.Helper()
	for _, row := range rows {
		sub := &Subject{Kind: WritePath, Tool: "Edit", Path: written(row.name, place)}
		if _, m := NewSet(place, rule(t, row.rule, row.list)).Match(sub, Query{}); m != row.want {
			t.Errorf("%v %s of %q: %v, want %v", row.list, row.rule, row.name, m, row.want)
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule  string
		no    []string
		maybe []string
		yes   []string
	}{
		{
			rule:  "Read(./.env)",
			no:    []string{"src/*.go", "$.go", "log#.txt", "$/x", "*.md", "/proc/$/x"},
			maybe: []string{"$", "src/$", "$.env", "*", ".*", ".e*", "$env", "~root/x", "/proc/self/cwd/x", "/proc/1/root/x", "/dev/fd/3", "a\x01b", "/proc/self/cwd/../x", ".*/.env", "/proc/$/.env", "/proc/#/x"},
			yes:   []string{".env", "src/../.env"},
		},
		{
			rule:  "Read(**/*.pem)",
			no:    []string{"*.go", "$.go", "a.pem.txt"},
			maybe: []string{"$.pem", "*", "*m"},
			yes:   []string{"a.pem", "*.pem", "a/*/x.pem"},
		},
		{
			rule:  "Read(src/[ab]?.x)",
			no:    []string{"src/*.y", "lib/*.x"},
			maybe: []string{"src/*.x", "src/a*", "$"},
		},
		{
			rule:  "Read(~/.ssh/**)",
			no:    []string{"*", "src/*/x", "#"},
			maybe: []string{"~/.ss*/id", "$", "$/id", "/home/*/.ssh/id", "/home/dev/$"},
			yes:   []string{"~/.ssh/id"},
		},
	} {
		deny, allow := rule(t, test.rule, Deny), rule(t, test.rule, Allow)
		for want, names := range map[Match][]string{No: test.no, Maybe: test.maybe, Yes: test.yes} {
			for _, name := range names {
				p := written(name, here)
				if m := deny.matchPath(p, false); m != want {
					t.Errorf("deny %s of %q: %v, want %v", test.rule, name, m, want)
				}
				if m := allow.matchPath(p, false); want == Maybe && m != No {
					t.Errorf("allow %s of %q: %v, want no", test.rule, name, m)
				}
			}
		}
	}
}

// TestAllowGlobbedPath checks that an allow rule matches the result of a glob
// if it matches every possible result.
func TestAllowGlobbedPath(t *testing.T) {
	t.Parallel()
	checkPaths(t, here, []pathRow{
		{"Edit(src/**)", Allow, "src/*.go", Yes},
		{"Edit(src/**)", Allow, "src/*/x", Yes},
		{"Edit(src/*.go)", Allow, "src/*.go", Yes},
		{"Edit(src/*.go)", Allow, "src/*_test.go", Yes},
		{"Edit(src/*.go)", Allow, "src/*", No},
		{"Edit(src/?.go)", Allow, "src/*.go", No},
		{"Edit(src/[!x].go)", Allow, "src/*.go", No},
		{"Edit(src/a.go)", Allow, "src/*.go", No},
		{"Edit(src/**)", Allow, "src/.*", No},
		{"Edit(src/**)", Allow, "src/$", No},
		{"Edit(src/**)", Allow, "src/log#", Yes},
		{"Edit(src/**)", Allow, "s*/x", No},
	})
}

func TestUnknownDirectory(t *testing.T) {
	t.Parallel()
	relative := NewPath(shell.Word{Text: "x.go"}, "", here, same)
	if m := rule(t, "Edit(**)", Allow).matchPath(relative, false); m != No {
		t.Errorf("allow of a relative path in an unknown directory: %v", m)
	}
	if m := rule(t, "Edit(x.go)", Deny).matchPath(relative, false); m != Maybe {
		t.Errorf("deny of a relative path in an unknown directory: %v", m)
	}
	if m := rule(t, "Edit(y.go)", Deny).matchPath(relative, false); m != No {
		t.Errorf("deny of another relative path in an unknown directory: %v", m)
	}
	if m := relative.Inside(); m != Maybe {
		t.Errorf("inside: %v", m)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	fs := links{dir: here.Workspace, to: map[string]string{"src/out": "/etc", "src/in": "lib", "/data": here.Workspace + "/secrets"}}
	blind := func(string) (string, bool) { return "", false }
	for _, test := range []struct {
		rule    string
		list    List
		name    string
		resolve func(string) (string, bool)
		want    Match
	}{
		{"Edit(src/**)", Allow, "src/out/passwd", fs.resolve, No},
		{"Edit(src/**)", Allow, "src/in/x", fs.resolve, Yes},
		{"Edit(//etc/**)", Deny, "src/out/passwd", fs.resolve, Yes},
		{"Edit(src/out/**)", Deny, "src/out/passwd", fs.resolve, Yes},
		{"Edit(secrets/**)", Deny, "/data/x", fs.resolve, Yes},
		{"Edit(//etc/**)", Deny, "src/out/*", fs.resolve, Yes},
		{"Edit(//etc/*.conf)", Deny, "src/out/*", fs.resolve, Maybe},
		{"Edit(src/**)", Allow, "src/out/*", fs.resolve, No},
		{"Edit(src/**)", Allow, "src/x", blind, No},
		{"Edit(src/**)", Allow, "src/x", nil, No},
		{"Edit(other/**)", Deny, "src/x", blind, Maybe},
		{"Edit(src/**)", Deny, "src/x", blind, Yes},
	} {
		p := NewPath(word(test.name), here.Workspace, here, test.resolve)
		if m := rule(t, test.rule, test.list).matchPath(p, false); m != test.want {
			t.Errorf("%v %s of %s: %v, want %v", test.list, test.rule, test.name, m, test.want)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	place := here
	place.Fold = true
	checkPaths(t, place, []pathRow{
		{"Edit(.git/**)", Deny, ".GIT/config", Yes},
		{"Edit(.Git/**)", Deny, ".git/config", Yes},
		{"Edit(.git/**)", Deny, ".git./config", Maybe},
		{"Edit(.git/**)", Deny, ".git /config", Maybe},
		{"Edit(.git/**)", Deny, "GIT~1/config", Maybe},
		{"Edit(.git/**)", Deny, `.git\config`, Maybe},
		{"Edit(.git/**)", Deny, ".git/config::DATA", Yes},
		{"Edit(x/**)", Deny, ".git/config::DATA", Maybe},
		{"Edit(.git/**)", Deny, ".g\u200cit/config", Maybe},
		{"Edit(.git/**)", Deny, ".g\u0131t/config", Maybe},
		{"Edit(.claude/**)", Deny, ".claude\u0301/x", Maybe},
		{"Edit(.git/**)", Deny, "日本.txt", No},
		{"Edit(*.MD)", Deny, "a.md", Yes},
		{"Edit([A-C].x)", Deny, "b.X", Yes},
		{"Edit(src/**)", Allow, "SRC/a", Yes},
		{"Edit(src/**)", Allow, "src/a.", No},
		{"Edit(src/**)", Allow, "src/日本", Yes},
		{"Edit(src/*.GO)", Allow, "src/a.go", Yes},
		{"Edit(.git)", Deny, "SUB/.GIT/x", Yes},
	})
}

func TestInside(t *testing.T) {
	t.Parallel()
	fs := links{dir: here.Workspace, to: map[string]string{"out": "/etc", "in": "src"}}
	for name, want := range map[string]Match{
		"a": Yes, ".": Yes, "": Maybe, "a/../b": Yes, "/home/dev/proj": Yes, "..": No, "../proj/x": Yes,
		"../projx": No, "/etc/x": No, "out/x": No, "in/x": Yes, "$": Maybe, "src/*.go": Yes, "src/$": Maybe,
		"out/*": No, "~/x": No, "~root": Maybe, "/home/dev/*/x": Maybe, "/dev/fd/3": Maybe, "a\nb": Maybe,
	} {
		if m := NewPath(word(name), here.Workspace, here, fs.resolve).Inside(); m != want {
			t.Errorf("%q is inside: %v, want %v", name, m, want)
		}
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule string
		dir  string
		want bool
	}{
		{"Read(./.env)", ".", true},
		{"Read(./.env)", "src", false},
		{"Read(.env)", "src", true},
		{"Read(.env)", "/usr", false},
		{"Read(src/**)", "src", true},
		{"Read(src/**)", ".", true},
		{"Read(src/**)", "lib", false},
		{"Read(**/secrets/**)", "a/b", true},
		{"Read(~/.ssh/**)", "/home", true},
		{"Read(~/.ssh/**)", ".", false},
		{"Read(~/.ssh/**)", "/", true},
		{"Read(src/*x)", "src/x/y", false},
		{"Read(src/x)", "$", true},
		{"Read(src/x)", "/proc/self/cwd", true},
		{"Read", "x", true},
		{"Edit(src/**)", "src", false},
		{"Grep(src/**)", "src", false},
	} {
		sub := &Subject{Kind: ReadPath, Tool: "Bash", Path: written(test.dir, here)}
		if got := sub.Path.Below(rule(t, test.rule, Deny), sub); got != test.want {
			t.Errorf("%s below %s: %v, want %v", test.rule, test.dir, got, test.want)
		}
	}
}

func TestRootsAndCovers(t *testing.T) {
	t.Parallel()
	r := rule(t, "Read(src/{a,b}/**/*.go)", Deny)
	if got := strings.Join(r.Roots(), " "); got != "/home/dev/proj/src/a /home/dev/proj/src/b" {
		t.Errorf("roots: %s", got)
	}
	if !r.Covers("/home/dev/proj/src/a/x/y.go") || r.Covers("/home/dev/proj/src/c/y.go") {
		t.Error("covers")
	}
	for text, want := range map[string]string{
		"Read": "/", "Read(//**/x)": "/", "Read(./.env)": "/home/dev/proj/.env", "Read(*.pem)": "/home/dev/proj", "Bash(rm:*)": "",
	} {
		if got := strings.Join(rule(t, text, Deny).Roots(), " "); got != want {
			t.Errorf("roots of %s: %q, want %q", text, got, want)
		}
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	fs := links{dir: here.Workspace, to: map[string]string{"src/out": "/etc"}}
	for name, want := range map[string]string{
		"a/../b":       "/home/dev/proj/b",
		"src/out/x":    "/home/dev/proj/src/out/x /etc/x",
		"src/out/*.go": "/home/dev/proj/src/out/…0.go /etc/…0.go",
		"a//b/$":       "/home/dev/proj/a/b/…0",
		"$":            "…0",
	} {
		var got []string
		for _, w := range NewPath(word(name), here.Workspace, here, fs.resolve).Forms() {
			text, from := "", 0
			for _, h := range w.Holes {
				text += w.Text[from:h.At] + "…0"
				from = h.At
			}
			got = append(got, text+w.Text[from:])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("forms of %s: %q, want %q", name, got, want)
		}
	}
}

// TestPlain: only a path that is known, without links and not odd is plain.
func TestPlain(t *testing.T) {
	t.Parallel()
	fs := links{dir: here.Workspace, to: map[string]string{"src/out": "/etc"}}
	for name, want := range map[string]string{"src/x": "/home/dev/proj/src/x", "a/../b": "/home/dev/proj/b", "src/out/x": "", "src/*": "", "/dev/fd/3": ""} {
		if got := NewPath(word(name), here.Workspace, here, fs.resolve).Plain(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestPathLimits(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("a/", maxPath/2+1) + "b"
	p := NewPath(shell.Word{Text: long}, here.Workspace, here, same)
	if m := rule(t, "Edit(//**)", Allow).matchPath(p, false); m != No {
		t.Errorf("allow of a path beyond the limit: %v", m)
	}
	if m := rule(t, "Edit(x)", Deny).matchPath(p, false); m != Maybe {
		t.Errorf("deny of a path beyond the limit: %v", m)
	}
	for _, text := range []string{
		"Edit(" + strings.Repeat("a", maxPathPattern+1) + ")",
		"Edit({a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b})",
		"Edit({" + strings.Repeat("a,", 65) + "b})",
	} {
		if _, _, err := Parse(text, Deny, Source{}); err == nil {
			t.Errorf("%s is loaded", shown(text))
		}
	}
}

// TestAllowTree checks that an allow rule for everything in a directory matches
// its recursive use.
func TestAllowTree(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule, name string
		want       Match
	}{
		{"Read(src/**)", "src", Yes},
		{"Read(src/**)", "src/a", Yes},
		{"Read(**)", ".", Yes},
		{"Read(src/*)", "src", No},
		{"Read(src/**/*.go)", "src", No},
		{"Read(src/**)", ".", No},
		{"Read(src/**)", "lib", No},
		{"Read(src/**)", "$", No},
		{"Grep(*)", "/etc", Yes},
		{"LS(**)", ".", Yes},
	} {
		r := rule(t, test.rule, Allow)
		sub := &Subject{Kind: ReadPath, Tool: r.Tool(), Path: written(test.name, here), Recursive: true}
		if _, m := NewSet(here, r).Match(sub, Query{}); m != test.want {
			t.Errorf("allow %s of all below %s: %v, want %v", test.rule, test.name, m, test.want)
		}
		sub.Recursive = false
		if _, m := NewSet(here, r).Match(sub, Query{}); test.name == "src" && m != No {
			t.Errorf("allow %s of %s alone: %v", test.rule, test.name, m)
		}
	}
}

// TestWithin checks that the shortcut of Within for the workspace agrees with
// Inside.
func TestWithin(t *testing.T) {
	t.Parallel()
	leads := func(to string, ok bool) func(string) (string, bool) {
		return func(name string) (string, bool) {
			if name == "/home/dev/proj" || to == "" {
				return to, ok
			}
			return name, true
		}
	}
	follows := map[string]func(string) (string, bool){
		"as it stands": same, "a link": leads("/elsewhere", true), "a link below": leads("/home/dev/proj/x", true),
		"unknown": leads("", false), "relative": leads("proj", true), "unclean": leads("/home/dev/proj/", true),
	}
	proven := 0
	for _, workspace := range []string{
		"/home/dev/proj", "/home/dev/proj/", "/home/dev/../proj", "/home/./dev", "//home", "/", "", "x", ".", "/p/..a", "/p/a..b", "/p/.a",
		"/p/ ", "/p/\x7f", "/p/é", "/proc/self/cwd", "/dev/fd/3", "/proc", "/dev", "/p/a~1", "/" + strings.Repeat("n", maxPath),
	} {
		for _, fold := range []bool{false, true} {
			place := Place{Workspace: workspace, Fold: fold}
			for how, follow := range follows {
				for _, w := range []shell.Word{word(workspace), word("/home/dev/proj"), word("/home/dev/proj/x"), word("x"), word("$"), {Text: workspace, Split: true}} {
					got, want := Within(w, "/home/dev/proj", place, follow), NewPath(w, "/home/dev/proj", place, follow).Inside()
					if got != want {
						t.Errorf("%.40q in %.40q (fold %v, %s): %v, want %v", w.Filled("$"), workspace, fold, how, got, want)
					}
					if got == Yes && w.Text == workspace {
						proven++
					}
				}
			}
		}
	}
	if proven == 0 {
		t.Error("nothing lies in its workspace")
	}
}
