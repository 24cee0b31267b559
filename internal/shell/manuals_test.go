package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// TestManualPages checks what the comparison with the manual pages found. A value
// attributed to an option that takes none hid the option or operand after it.
func TestManualPages(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"sudo -Eu root git status", "-E -u=root git status"},
		{"sudo --preserve-env=A git", "--preserve-env=A git"},
		{"unshare -mR d rm x", "-m -R=d rm x"},
		{"strace -Do out rm x", "-D -o=out rm x"},
		{"strace -rTo out rm x", "-r -T -o=out rm x"},
		{"entr -sr x", "-s -r x"},
		{"jq -ef evil.jq a", "-e -f=evil.jq a"},
		{"zstd -C a", "-C a"},
		{"lz4 -f a b", "-f a b"},
		{"nc -dl 9999", "-d -l 9999"},
		{"ab -d http://a/", "-d http://a/"},
		{"od --strings a", "--strings a"},
		{"od -S 3 a", "-S=3 a"},
		{"ls -Fl a", "-F -l a"},
		{"lsblk -s /dev/sda", "-s /dev/sda"},
		{"gh issue list -R a/b", "sub(issue) sub(list) -R=a/b in issue.list"},
		{"gh release delete-asset v1 x", "sub(release) sub(delete-asset) v1 x in release.delete-asset"},
	} {
		got := strings.ReplaceAll(sortedArgs(test.line), "-h -R=", "-R=")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.line, diff)
		}
	}
}

// TestEntrRunsText checks that with -s, even in a cluster, the operand is shell text,
// which no rule for a program covers.
func TestEntrRunsText(t *testing.T) {
	for _, line := range []string{"entr -s 'rm x'", "entr -sr 'rm x'", "entr -rs 'rm x'"} {
		f := Analyze(line, Options{Dir: "/w"})
		if !slices.ContainsFunc(f.Actions, func(a Action) bool { return a.Kind == Opaque }) {
			t.Errorf("%s has no opaque spot", line)
		}
	}
}

// TestAbbreviations checks that the style determines whether long names may be
// abbreviated and how a value is attached.
func TestAbbreviations(t *testing.T) {
	list := []program.Option{{Names: []string{"-o", "--output"}, Value: program.Required, Effect: program.EffWrite}, {Names: []string{"-a", "--all"}}}
	long := []program.Option{{Names: []string{"-output"}, Value: program.Required, Effect: program.EffWrite}, {Names: []string{"-all"}}}
	const listed, unlisted = "listed", "unlisted"
	for _, test := range []struct {
		style program.Style
		word  string
		want  string
		value string
	}{
		{program.GNU, "--out=f", listed, "f"}, {program.GNU, "--al", listed, ""}, {program.GNU, "-aof", listed, "f"}, {program.GNU, "--output=f", listed, "f"},
		{program.POSIX, "--out=f", listed, "f"}, {program.POSIX, "--al", listed, ""}, {program.POSIX, "-aof", listed, "f"}, {program.POSIX, "--output=f", listed, "f"},
		{program.Bundle, "--out=f", listed, "f"}, {program.Bundle, "--al", listed, ""}, {program.Bundle, "-aof", listed, "f"}, {program.Bundle, "--output=f", listed, "f"},
		{program.Exact, "--out=f", unlisted, ""}, {program.Exact, "--al", unlisted, ""}, {program.Exact, "-aof", listed, "f"}, {program.Exact, "-o=f", listed, "f"}, {program.Exact, "--output=f", listed, "f"},
		{program.Dash, "-out=f", unlisted, ""}, {program.Dash, "-al", unlisted, ""}, {program.Dash, "-output=f", listed, "f"}, {program.Dash, "--output=f", listed, "f"},
		{program.Joined, "-out=f", unlisted, ""}, {program.Joined, "-outputf", listed, "f"}, {program.Joined, "-output=f", listed, "f"},
	} {
		p := &program.Program{Style: test.style, Options: list}
		if test.style == program.Dash || test.style == program.Joined {
			p.Options = long
		}
		args := ScanWords(p, []Word{{Text: "x"}, {Text: test.word}}).Args
		got, last := listed, args[len(args)-1]
		if slices.ContainsFunc(args, func(a Arg) bool { return a.Kind != ArgOption }) {
			got = unlisted
		}
		if got != test.want || got == listed && last.Value.Text != test.value {
			t.Errorf("style %d: %s is %s with the value %q, want %s with %q", test.style, test.word, got, last.Value.Text, test.want, test.value)
		}
	}
}
