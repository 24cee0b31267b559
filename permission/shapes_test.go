//go:build !race

package permission

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// The race detector makes pools drop items at random, so that allocations mean nothing
// there.

// shapes are lines that repeat one thing. Each returns a line with n repetitions.
var shapes = map[string]struct{ before, part, after string }{
	"operands":              {"cat", " a", ""},
	"paths":                 {"cat", " src/a/b/c.go", ""},
	"globs":                 {"cat", " *", ""},
	"recursive globs":       {"cat", " **/*.go", ""},
	"globs removed":         {"rm", " *", ""},
	"globs in directories":  {"cat", " src/*/x", ""},
	"brackets":              {"ls", " [ab]?", ""},
	"variables":             {"cat", ` "$f"`, ""},
	"split variables":       {"cat", " $f", ""},
	"unknown program":       {"foo", " x", ""},
	"unknown options":       {"foo", " --x=y", ""},
	"unknown globs":         {"foo", " *", ""},
	"names of programs":     {"foo", " rm", ""},
	"pipes":                 {"ls", " | cat", ""},
	"pipes to grep":         {"find .", " | grep x", ""},
	"pipes to xargs":        {"find .", " | xargs cat", ""},
	"lists":                 {"ls", "; ls", ""},
	"and":                   {"ls", " && cat a", ""},
	"or":                    {"ls", " || cat *", ""},
	"background":            {"", "ls & ", ""},
	"lines":                 {"", "cat *\n", ""},
	"substitutions":         {"echo", " $(ls)", ""},
	"nested substitutions":  {"echo ", "$(echo ", "x"},
	"backquotes":            {"echo", " `ls`", ""},
	"substituted paths":     {"cat", " $(git ls-files)", ""},
	"process substitutions": {"cat", " <(ls)", ""},
	"redirections":          {"ls", " > a", ""},
	"redirected globs":      {"", "ls > $x; ", ""},
	"input":                 {"cat", " < a", ""},
	"assignments":           {"", "x=1; ", ""},
	"assignments before":    {"", "x=1 ", "ls"},
	"growing values":        {"", "x=$x; ", "cat $x"},
	"appended values":       {"", "x+=a; ", "cat $x"},
	"exports":               {"", "export A=1; ", "ls"},
	"heredocs":              {"", "cat <<E\na\nE\n", ""},
	"long heredoc":          {"cat <<E\n", "a $x b\n", "E\n"},
	"heredoc to a shell":    {"bash <<E\n", "cat *\n", "E\n"},
	"quotes":                {"echo ", `"a"'b'`, ""},
	"nested quotes":         {"echo ", `"$(echo `, ""},
	"escapes":               {"echo ", `\a\ `, ""},
	"long word":             {"cat ", "a", ""},
	"long glob":             {"cat ", "*a", ""},
	"long path":             {"cat ", "a/", "x"},
	"climbing path":         {"cat ", "../", "x"},
	"holes":                 {"cat ", "$x/", ""},
	"cd":                    {"", "cd a; ", "cat *"},
	"cd and":                {"", "cd a && ", "cat x"},
	"cd or":                 {"", "cd a || cd b; ", "cat *"},
	"subshells":             {"", "(cd a; cat *); ", ""},
	"xargs":                 {"ls | ", "xargs ", "cat"},
	"find exec":             {"find .", ` -exec cat {} \;`, ""},
	"find delete":           {"", "find . -delete; ", ""},
	"find names":            {"find .", " -o -name x", ""},
	"git switch":            {"", "git switch -c a; ", ""},
	"git add":               {"git add", " a", ""},
	"git add globs":         {"git add", " *", ""},
	"git log":               {"", "git log -p; ", ""},
	"git options":           {"git", " -c a.b=c", " status"},
	"npm words":             {"npm run test", " a", ""},
	"npm globs":             {"npm run test", " *", ""},
	"npm lines":             {"", "npm run test; ", ""},
	"npm or pnpm":           {"", "npm run a && pnpm b; ", ""},
	"kubectl":               {"kubectl delete", " pod/x", ""},
	"make":                  {"make", " a", ""},
	"docker":                {"docker run", " -v a:b", " x"},
	"braces":                {"cat", " {a,b}", ""},
	"one brace":             {"cat {", "a,", "b}"},
	"multiplied braces":     {"cat ", "{a,b}", ""},
	"env":                   {"", "env A=1 ", "ls"},
	"sudo":                  {"", "sudo ", "cat *"},
	"nice":                  {"", "nice ", "cat *"},
	"eval":                  {"", "eval ", "cat *"},
	"bash -c":               {"", "bash -c 'cat *'; ", ""},
	"python -c":             {"", "python3 -c 'x'; ", ""},
	"functions":             {"", "f() { ls; }; ", "f"},
	"calls":                 {"f() { cat *; }; ", "f; ", ""},
	"loops":                 {"", "for i in a b; do cat $i; done; ", ""},
	"loop items":            {"for i in", " a", "; do cat $i; done"},
	"while":                 {"", "while x; do ls; done; ", ""},
	"if":                    {"", "if a; then cat *; fi; ", ""},
	"case":                  {"case $x in ", "a) cat *;; ", "esac"},
	"tests":                 {"", "[ -f a ] && ", "ls"},
	"aliases":               {"", "alias a=b; ", "a"},
	"sed":                   {"sed -i", " -e s/a/b/", " *"},
	"sed script":            {"sed '", "s/a/b/;", "' a"},
	"awk":                   {"awk '{", "print $1;", "}' a"},
	"curl":                  {"curl", " https://a.example/x", ""},
	"curl output":           {"curl", " -o a https://a.example/x", ""},
	"cp":                    {"cp", " a", " b"},
	"cp globs":              {"cp", " *", " b"},
	"mv":                    {"", "mv a b; ", ""},
	"links":                 {"", "ln -s a b; ", "cat b/x"},
	"tar":                   {"tar xf", " a", ""},
	"ssh":                   {"", "ssh a ls; ", ""},
	"scripts":               {"", "./a.sh; ", ""},
	"written and run":       {"", "echo x > a.sh; sh a.sh; ", ""},
	"greps":                 {"", "grep -r x .; ", ""},
	"grep patterns":         {"grep", " -e x", " -r ."},
	"rg":                    {"rg x", " a", ""},
	"words of a choice":     {"if x; then t=rm; else t=echo; fi; $t -rf", " f", ""},
	"words of many choices": {"if x; then t=rm; else t=echo; fi; $t $t $t $t $t", " f", ""},
	"test operators":        {"[[", " a ||", " b ]]"},
	"arithmetic":            {"echo $((", "1+", "1))"},
	"parameters":            {"echo ", "${x:-", "a"},
	"tee":                   {"ls | tee", " a", ""},
	"touch globs":           {"touch", " $x/*", ""},
	"python":                {"python3 a.py", " *", ""},
	"go":                    {"go test", " ./a/...", ""},
	"comments":              {"ls", " # x\nls", ""},
	"pushd":                 {"", "pushd a; ", "cat *"},
	"trap":                  {"", "trap 'cat *' EXIT; ", ""},
}

func shapeLine(name string, size int) string {
	s := shapes[name]
	n := (size - len(s.before) - len(s.after)) / len(s.part)
	after := s.after
	switch name {
	case "nested substitutions":
		n = (size - 6) / (len(s.part) + 1)
		after = "x" + strings.Repeat(")", n)
	case "nested quotes":
		n = (size - 6) / (len(s.part) + 2)
		after = "x" + strings.Repeat(`)"`, n)
	case "parameters":
		n = (size - 6) / (len(s.part) + 1)
		after = "x" + strings.Repeat("}", n)
	}
	return s.before + strings.Repeat(s.part, n) + after
}

// runsNothing are shapes that may be allowed.
var runsNothing = map[string]bool{"assignments": true, "test operators": true}

// shapePolicy has rules of each kind, among them some for programs that other names, and
// words of unknown programs, may stand for.
func shapePolicy(t testing.TB) *Policy {
	return (spec{risk: true, allow: "Bash(git status); Bash(npm run build:*); Read(./**); Edit(src/**)",
		ask:  "Bash(git push:*); Bash(docker * x)",
		deny: "Read(./.env); Read(secrets/**); Edit(*.lock); Bash(rm:*); Bash(pnpm run test:*); Bash(git branch -D:*); Bash(kubectl delete * -n prod); WebFetch(evil.example)"}).policy(t)
}

// TestShapes decides lines of growing length that repeat one thing, and checks that the
// work grows no faster than the line: what it allocates, which does not depend on the
// machine.
func TestShapes(t *testing.T) {
	p := shapePolicy(t)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		for _, size := range []int{1 << 10, 8 << 10, 64 << 10} {
			use := using("Bash", shapeLine(name, size))
			use.Dir = workspace
			d, over := proportionate(p, &use, size)
			if over != "" {
				t.Errorf("%s, %d KB: %s", name, size>>10, over)
			}
			if d.Behavior == Allow && size > 8<<10 && !runsNothing[name] {
				t.Errorf("%s, %d KB: allowed", name, size>>10)
			}
		}
	}
}

// TestShapesUnderDeny checks that a rule that denies the beginning of a line denies it
// however long it is, and wherever the rule stands among others.
func TestShapesUnderDeny(t *testing.T) {
	slow.Test(t)
	p := shapePolicy(t)
	backwards := *p
	rules := slices.Clone(p.Deny.Rules())
	slices.Reverse(rules)
	backwards.Deny = patterns.NewSet(place, rules...)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		line := shapeLine(name, 60<<10)
		use := using("Bash", line)
		use.Dir = workspace
		if one, two := Evaluate(p, nil, &use, fakeFS{}, nil), Evaluate(&backwards, nil, &use, fakeFS{}, nil); one.Behavior != two.Behavior {
			t.Errorf("%s: %v, but %v with the rules in another order", name, one.Behavior, two.Behavior)
		}
		if shell.Analyze(line, shell.Options{}).Unreadable() {
			continue // it has too many brackets
		}
		use = using("Bash", "rm x; "+line)
		use.Dir = workspace
		if d := Evaluate(p, nil, &use, fakeFS{}, nil); d.Behavior != Deny {
			t.Errorf("rm and %s: %v, %s", name, d.Behavior, d.Reason)
		}
	}
}

// BenchmarkShapes measures the decision on the longest line of each shape.
func BenchmarkShapes(b *testing.B) {
	p := shapePolicy(b)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		use := using("Bash", shapeLine(name, 64<<10))
		use.Dir = workspace
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Evaluate(p, nil, &use, fakeFS{}, nil)
			}
		})
	}
}
