package permission

import (
	"strings"
	"testing"
)

// pads fill a line up to n repetitions. Where dangerous text follows, or stands inside, a
// limit keeps it from being read.
var pads = map[string]func(n int, tail string) string{
	"statements":    func(n int, tail string) string { return strings.Repeat("true; ", n) + tail },
	"words":         func(n int, tail string) string { return "echo" + strings.Repeat(" a", n) + "; " + tail },
	"assignments":   func(n int, tail string) string { return strings.Repeat("x=1; ", n) + tail },
	"brackets":      func(n int, tail string) string { return strings.Repeat("echo $(true); ", n) + tail },
	"arithmetic":    func(n int, tail string) string { return strings.Repeat("((1)); ", n) + tail },
	"substitution":  func(n int, tail string) string { return "echo $(" + strings.Repeat("true; ", n) + tail + ")" },
	"wrappers":      func(n int, tail string) string { return strings.Repeat("nice ", n) + tail },
	"eval":          func(n int, tail string) string { return strings.Repeat("eval ", min(n, 500)) + tail },
	"text of shell": func(n int, tail string) string { return "bash -c '" + strings.Repeat("true; ", n) + tail + "'" },
	"braces":        func(n int, tail string) string { return strings.Repeat("echo {a,b,c}{d,e,f}; ", n) + tail },
	"function":      func(n int, tail string) string { return "f() { " + strings.Repeat("true; ", n) + tail + "; }; f" },
	"lines":         func(n int, tail string) string { return strings.Repeat("true\n", n) + tail },
}

// TestNothingIsPadded: however much stands before a command that may destroy the machine,
// or change what the agent may do, nothing but a person's word lets the line run. Pads
// alone, where they are short, run.
func TestNothingIsPadded(t *testing.T) {
	everything := []spec{{allow: "Bash"}, {mode: "bypassPermissions"}, {sessionAllow: "Bash"}, {allow: "Bash", noCatastrophic: true}}
	for name, pad := range pads {
		for _, n := range []int{1, 20, 400, 1200, 5000, 10000} {
			for _, tail := range []string{"rm -rf /", "rm -rf ~", "mkfs.ext4 /dev/sda", "echo x >.git/hooks/pre-commit"} {
				line := pad(n, tail)
				if len(line) > 60<<10 {
					continue // it is denied by its length
				}
				for _, s := range everything {
					if s.noCatastrophic && !strings.Contains(tail, ".git") {
						continue
					}
					if d := s.decideOn(t, using("Bash", line)); d.Behavior == Allow {
						t.Errorf("%s, %d: %q runs under %+v: %s", name, n, tail, s, d.Reason)
					}
				}
			}
			if line := pad(n, "true"); n < 20 {
				if d := everything[0].decideOn(t, using("Bash", line)); d.Behavior != Allow {
					t.Errorf("%s, %d: %s", name, n, d.Reason)
				}
			}
		}
	}
}
