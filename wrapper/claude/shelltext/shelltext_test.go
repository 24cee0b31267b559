package shelltext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// The parts before the command, as three versions of the agent CLI write them.
const (
	snapshot = "source /home/u/.claude/shell-snapshots/snapshot-bash-1795747199027-lnxaf7.sh 2>/dev/null || true && "
	file     = "export TMPDIR='/tmp/s 1/tmp'\n"
	env      = "export TMPDIR='/tmp/s 1/tmp'\n: && "
	globs    = "{ shopt -u extglob || setopt NO_EXTENDED_GLOB NO_BARE_GLOB_QUAL; } >/dev/null 2>&1 || true && "
	globs330 = `{ \builtin shopt -u extglob || \builtin setopt NO_EXTENDED_GLOB NO_BARE_GLOB_QUAL NO_BRACE_CCL NO_MAGIC_EQUAL_SUBST NO_EQUALS; } >/dev/null 2>&1 || true && `
	which    = `{ \builtin unalias -- 'which'; \builtin unset -f -- 'which'; } >/dev/null 2>&1 || true && `
	unsetenv = `{ \builtin unalias -- 'unsetenv'; \builtin unset -f -- 'unsetenv'; } >/dev/null 2>&1 || true && `
	group    = `{ { \builtin echo 0 >| /sys/fs/cgroup/cpuacct/user/cc-shell/tasks; } 2>/dev/null || :; } && `
	end      = " < /dev/null && pwd -P >| /tmp/claude-280d-cwd"
	open     = " && pwd -P >| /tmp/claude-280d-cwd"
)

// heads are whole beginnings of texts, by version.
var heads = map[string]string{
	"2.1.197": snapshot + env + globs,
	"2.1.268": snapshot + env + globs + unsetenv,
	"2.1.330": snapshot + env + globs330 + which + unsetenv,
	"group":   snapshot + env + globs330 + which + unsetenv + group + group,
	"nothing": "",
}

// recorded are command lines, and what the agent CLIs make of them.
var recorded = []struct{ command, text string }{
	{"echo hi", "eval 'echo hi'" + end},
	{"pwd", "eval pwd" + end},
	{"./run.sh", "eval ./run.sh" + end},
	{"x=1", "eval x=1" + end},
	{"a%b", "eval 'a%b'" + end},
	{"é", "eval 'é'" + end},
	{" ls ", "eval ' ls '" + end},
	{"!!", "eval '!!'" + end},
	{"it's", `eval 'it'"'"'s'` + end},
	{`"it's"`, `eval '"it'"'"'s"'` + end},
	{`a\b`, `eval 'a\b'` + end},
	{"ls;ls", "eval 'ls;ls'" + end},
	{"# only", "eval '# only'" + end},
	{"a | b", "eval 'a | b'" + end},
	{"cat < a.txt", "eval 'cat < a.txt'" + open},
	{"cat <<'EOF'\na 'b'\nEOF", `eval 'cat <<'"'"'EOF'"'"'` + "\n" + `a '"'"'b'"'"'` + "\nEOF'" + open},
	{"pwd", "eval 'pwd'" + open},
	{"echo a\u2028b\t.", "eval 'echo a\u2028b\t.'" + end},
	{"echo 'it'\"'\"'s'", `eval 'echo '"'"'it'"'"'"'"'"'"'"'"'s'"'"''` + end},
	{"\n\nls\n", "eval '\n\nls\n'" + end},
	{"a && pwd -P >| /tmp/claude-0000-cwd", "eval 'a && pwd -P >| /tmp/claude-0000-cwd'" + end},
}

func TestParse(t *testing.T) {
	for version, head := range heads {
		for _, x := range recorded {
			got, err := Parse(head+x.text, file)
			want := Text{Command: x.command, Directory: "/tmp/claude-280d-cwd"}
			if head != "" {
				want.Snapshot = "/home/u/.claude/shell-snapshots/snapshot-bash-1795747199027-lnxaf7.sh"
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Text{})); diff != "" || err != nil {
				t.Errorf("%s: %q: %v\n%s", version, x.text, err, diff)
			}
			as := strings.TrimSuffix(head+x.text, got.Directory)
			if same := got.With(&Changes{Directory: got.Directory}); same != as+"'"+got.Directory+"'" {
				t.Errorf("%s: %q", version, same)
			}
			changed := got.With(&Changes{Environment: "export TMPDIR=/o\n", First: "true", Directory: "/it's"})
			as = strings.Replace(strings.Replace(as, strings.TrimSpace(file), "export TMPDIR=/o", 1), "eval ", "true && eval ", 1)
			if changed != as+`'/it'"'"'s'` {
				t.Errorf("%s: %q\n%q", version, changed, as)
			}
		}
	}
}

// TestUnknown: what is not written exactly as the agent CLI writes it is no command.
func TestUnknown(t *testing.T) {
	head := heads["2.1.330"]
	for _, text := range []string{
		"", "ls", "eval", "eval ", "eval ls", "eval 'ls'", "eval ls < /dev/null", "eval ls" + end + "x y", "eval ls" + end + "; rm x", "eval ls" + end + " && rm x",
		"eval ls; rm x" + end, "eval 'ls' 'rm x'" + end, "eval 'ls'x" + end, "eval x'ls'" + end, "eval 'ls'; rm x" + end, "eval 'ls'\nrm x" + end,
		"eval 'ls" + end, "eval 'it'\\''s'" + end, `eval "ls"` + end, "eval $x" + end, "eval $(x)" + end, "eval ls  < /dev/null && pwd -P >| /tmp/claude-280d-cwd",
		"eval ls < /dev/zero && pwd -P >| /tmp/claude-280d-cwd", "eval ls < /dev/null < x && pwd -P >| /tmp/claude-280d-cwd",
		"eval ls && pwd -P >| claude-280d-cwd", "eval ls && pwd -P >| /home/u/.bashrc", "eval ls && pwd -P >| '/tmp/claude-280d-cwd' x", "eval ls && pwd -P >| /tmp/claude-../x-cwd", "eval ls && pwd >| /tmp/claude-280d-cwd",
		" eval ls" + end, "x && eval ls" + end, "rm x && eval ls" + end, "rm x\neval ls" + end, "eval rm && eval ls" + end, "eval ls\x00" + end, "eval 'l\x00s'" + end,
		"source x 2>/dev/null || true && eval ls" + end, "source /tmp/x.sh 2>/dev/null || true && eval ls" + end, "source snapshot-bash-1-a.sh 2>/dev/null || true && eval ls" + end,
		"source '/s/snapshot-bash-1-a.sh; rm x' 2>/dev/null || true && eval ls" + end, "source /s/snapshot-bash-1-a.sh; rm x 2>/dev/null || true && eval ls" + end,
		snapshot + snapshot + "eval ls" + end, globs330 + snapshot + "eval ls" + end, which + which + "eval ls" + end,
		strings.Replace(head, "'which'", "'rm'", 1) + "eval ls" + end, strings.Replace(head, "tmp'", "tmp2'", 1) + "eval ls" + end, strings.Replace(head, "\n:", "\nrm x\n:", 1) + "eval ls" + end,
		strings.Replace(group, "/sys/fs/cgroup/cpuacct/user/cc-shell/tasks", "/etc/passwd", 1) + "eval ls" + end, strings.Replace(group, "cpuacct/", "../../../etc/", 1) + "eval ls" + end,
		`export PATH="${PATH:+$PATH:}"/x && eval ls` + end, head + head + "eval ls" + end,
	} {
		if got, err := Parse(text, file); err == nil {
			t.Errorf("%q is taken for %q", text, got.Command)
		}
	}
	if got, err := Parse(heads["2.1.330"]+"eval ls"+end, ""); err == nil {
		t.Errorf("an environment file that is not ours is taken for %+v", got)
	}
}

// quoted is a word as the agent CLI quotes it.
func quoted(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !isPlain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", quotation) + "'"
}

// TestRoundTrip: any command line comes back as it was, and words do.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.String(), rapid.StringMatching(`(['" &|;<>a/-]|eval|pwd -P|\n| && | < /dev/null)*`)).Draw(t, "line")
		line = strings.ReplaceAll(line, "\x00", "")
		got, err := Parse(heads["2.1.330"]+"eval "+quoted(line)+end, file)
		if err != nil || got.Command != line {
			t.Fatalf("%q came back as %q: %v", line, got.Command, err)
		}
		words := rapid.SliceOfN(rapid.StringMatching(`[ a'"$]*`), 1, 4).Draw(t, "words")
		var all []string
		for _, w := range words {
			all = append(all, quoted(w))
		}
		if back, err := Words(strings.Join(all, " ")); err != nil || !cmp.Equal(back, words) {
			t.Fatalf("%q came back as %q: %v", words, back, err)
		}
	})
}

func TestForms(t *testing.T) {
	for command, changed := range map[string]string{
		"ls > nul": "ls > /dev/null", "ls 2>NUL|cat": "ls 2>/dev/null|cat", "echo x >nul; echo y 2>nul; ls > nul": "echo x >/dev/null; echo y 2>/dev/null; ls > /dev/null",
		"ls &> NUL": "ls &> /dev/null", "ls >>nul && x": "ls >>/dev/null && x", "ls": "", "echo '>nul'": "", "ls >null": "", "nul": "",
	} {
		want := []string{command}
		if changed != "" {
			want = append(want, changed)
		}
		if diff := cmp.Diff(want, Forms(command)); diff != "" {
			t.Errorf("%q: %s", command, diff)
		}
	}
}

// FuzzParse: a text that is taken is one that the agent CLI writes.
func FuzzParse(f *testing.F) {
	for _, head := range heads {
		for _, x := range recorded {
			f.Add(head+x.text, file)
		}
	}
	f.Fuzz(func(t *testing.T, text, env string) {
		got, err := Parse(text, env)
		if err != nil {
			return
		}
		tail := open
		if strings.Contains(text, noInput+directory) {
			tail = end
		}
		tail = strings.Replace(tail, "/tmp/claude-280d-cwd", quoted(got.Directory), 1)
		forced := "'" + strings.ReplaceAll(got.Command, "'", quotation) + "'"
		for _, line := range []string{quoted(got.Command), forced} {
			for _, end := range []string{tail, strings.Replace(tail, noInput, "", 1), strings.Replace(tail, quoted(got.Directory), "'"+got.Directory+"'", 1)} {
				if strings.HasSuffix(text, "eval "+line+end) {
					return
				}
			}
		}
		t.Errorf("%q is taken for %q", text, got.Command)
	})
}
