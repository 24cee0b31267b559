package shell

import (
	"strings"
	"testing"
)

var benchLines = []struct{ name, line string }{
	{"simple", "git status"},
	{"pipe3", "go test ./... 2>&1 | grep -E 'ok|FAIL' | head -20"},
	{"pipe5", "cd a && npm run test -- --coverage 2>&1 | tail -20 | sort | uniq -c"},
	{"heredoc2k", "git commit -m \"$(cat <<'EOF'\n" + strings.Repeat("a line of the message\n", 90) + "EOF\n)\""},
	{"script2k", strings.Repeat("echo \"building $x\" && go build ./cmd/$x\n", 50)},
}

// worstLines are accepted lines chosen for their cost.
var worstLines = []struct{ name, line string }{
	{"words", "echo " + strings.Repeat("a ", MaxLine/2-8)},
	{"semicolons", strings.Repeat("a;", MaxLine/2)},
	{"pipes", strings.Repeat("ls|", MaxLine/3-2) + "ls"},
	{"cds", strings.Repeat("cd a;", MaxLine/5)},
	{"nesting", strings.Repeat("(", maxOpeners) + "a" + strings.Repeat(")", maxOpeners)},
	{"substitutions", strings.Repeat("\"$(", maxOpeners/2-1) + "a" + strings.Repeat(")\"", maxOpeners/2-1)},
	{"assignments", strings.Repeat("x=1;", MaxLine/8) + strings.Repeat("$x;", MaxLine/8)},
	{"braces", "echo " + strings.Repeat("{a,b}", 900)},
	{"evals", strings.Repeat("eval ", MaxLine/5-2) + "ls"},
	{"writes", strings.Repeat("a>b;", 2400) + strings.Repeat("./b;", 2400)},
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range benchLines {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parse(bb.line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAnalyze(b *testing.B) {
	for _, bb := range append(benchLines, worstLines...) {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				analyze(bb.line)
			}
		})
	}
}
