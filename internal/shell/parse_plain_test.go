package shell

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
)

// plainLines are plain lines.
var plainLines = []string{
	"git status", "  git   status  ", "ls -la src", "git status;", "a; b ;c", "a && b || c && d", "a | b | c && d | e",
	"go test ./... 2>&1 | grep -E 'ok|FAIL' | head -20", "echo hi > out.txt", "echo hi >> out.txt 2>/dev/null",
	"cd a && npm run test -- --coverage 2>&1 | tail -20 | sort | uniq -c", `git commit -m "a b; c" --author='x <y>'x`,
	`echo "" ''`, "rm -rf build", "ls *.go ?", "--opt=value x", "timeout 5 rm x", "a>b", "2>&1 ls", "sudo -u root rm x",
	"eval ls", "find . -name '*.go' -exec rm x", "xargs rm", "read x", "cd ..; ls", "exit 1; ls", "bash -c 'rm x'", "@test x",
	"echo 2 >f", "echo a2>f", "ls > f g", "trap 'rm x' EXIT", "command ls", "env A=1 ls", "curl https://x.example/y -o z",
}

// plainOdd are lines that are not plain.
var plainOdd = []string{
	"", " ", ";", "a &", "a |& b", "a &&", "| a", "a;;b", "if x", "x=1 a", "a=b", "echo $x", "echo `x`", `a\ b`, "ls ~", "a # b",
	"{ a", "[ a ]", "! a", "a\nb", "a\tb", "é", "echo 'é'", `"a"b`, `"a$x"`, "%1", "a ^ b", "a (b)", "time ls", "export x", "<f cat",
	"a &> f", "a >| f", "a 10>f", "a >&f", "a 2>&1x", "a 'b", `a "b`, `a "b!`, "a >", "ls > 'f'", "ls >$x", "a <(b)", "a\rb", "a\x00b",
}

// samePlain compares the trees of the plain reader and of the parser, and the facts
// derived from them. It reports whether the line is plain.
func samePlain(t *testing.T, line string, d Dialect) bool {
	tree := plain(line)
	if tree == nil {
		return false
	}
	defer tree.free()
	want, err := parse(line)
	if err != nil {
		t.Fatalf("%q is plain, but the parser says %v", line, err)
	}
	if !reflect.DeepEqual(&tree.file, want) {
		t.Fatalf("%q: trees differ\n%s", line, cmp.Diff(want, &tree.file, cmp.AllowUnexported(syntax.Pos{})))
	}
	opt := Options{Dir: "/w", Home: "/home/u", Workspace: "/w", Dialect: d}
	slow, quick := analyzeWith(line, opt, false), analyzeWith(line, opt, true)
	if !reflect.DeepEqual(slow, quick) {
		t.Fatalf("%q: facts differ (-parser +plain)\n%s", line, cmp.Diff(slow, quick, cmp.AllowUnexported(Word{})))
	}
	return true
}

func TestPlain(t *testing.T) {
	for _, line := range plainLines {
		for _, d := range []Dialect{Bash, Sh, Zsh} {
			samePlain(t, line, d)
		}
	}
	for _, line := range plainOdd {
		if tree := plain(line); tree != nil {
			t.Errorf("%q is taken for plain", line)
		}
	}
}

// plainTokens are the tokens of generated lines, most of them plain and some nearly
// plain.
var plainTokens = []string{
	" ", " ", " ", " ", "  ", " | ", " && ", " || ", "; ", ";", "|", "&&", "2>&1", " > ", ">>", ">", "1>&2", " 2>/dev/null", "'", "\"", "=", "~", "^",
	"%", "\n", "{", "}", "[", "]", "!", "#", "$x", "`", "\\", "é", "<", "&", "(", ")", "*", "?", "-", "--", "+", "@", ":", ",", ".", "/", "..", "0", "12",
	"git", "status", "ls", "-la", "rm", "-rf", "cd", "src", "echo", "sudo", "env", "A=1", "xargs", "find", "-exec", "-name", "timeout", "5", "eval",
	"bash", "-c", "'rm x'", "\"rm x\"", "sh", "read", "x", "printf", "-v", "exit", "trap", "exec", "command", "time", "if", "then", "fi", "export",
	"cat", "a.txt", "-o", "--output=f", "sort", "tee", "cp", "-t", "mv", "ln", "-s", "touch", "./run.sh", "/bin/rm", "curl", "https://a.example/x",
	"sed", "-i", "'s/a/b/e'", "awk", "'{print}'", "python3", "npm", "run", "test", "tar", "-xf", "set", "-e", "source", ".", "pushd", "popd", "unset",
}

// TestPlainGenerated compares the plain reader and the parser on random lines.
func TestPlainGenerated(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	taken := 0
	const lines = 20000
	for range lines {
		var sb strings.Builder
		for range 1 + rnd.IntN(14) {
			sb.WriteString(plainTokens[rnd.IntN(len(plainTokens))])
			if rnd.IntN(4) > 0 {
				sb.WriteByte(' ')
			}
		}
		if samePlain(t, sb.String(), Dialect(rnd.IntN(3))) {
			taken++
		}
	}
	if taken < lines/10 {
		t.Errorf("only %d of %d lines are plain: the comparison says little", taken, lines)
	}
}

// FuzzPlain checks that the plain reader and the parser agree on every line that is
// plain.
func FuzzPlain(f *testing.F) {
	for _, line := range plainLines {
		f.Add(line)
	}
	for _, line := range plainOdd {
		f.Add(line)
	}
	for _, b := range benchLines {
		f.Add(b.line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, d := range []Dialect{Bash, Sh, Zsh} {
			if !samePlain(t, line, d) {
				return
			}
		}
	})
}
