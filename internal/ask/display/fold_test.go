package display

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// keeps reports whether an Ask offers a choice that allows more than this tool use.
func keeps(a *Ask) bool {
	return slices.ContainsFunc(a.Choices, func(c Choice) bool { return c.Keeps })
}

// onScreen returns the question as on a terminal of a height.
func onScreen(t *testing.T, use permission.ToolUse, o TextOptions, rungs ...Rung) (*Ask, string) {
	t.Helper()
	s := decided(t, house, use)
	s.Screen = o
	if len(rungs) > 0 {
		s.Choices = []Choice{{Key: "o", Name: "once", Label: "once"}, {Key: "s", Name: "session", Label: "this session", Keeps: true, Rungs: rungs}}
	}
	a := New(s)
	return a, a.Text(o) + a.Menu(o)
}

// A script of which the policy allows all but one line is folded around that line, and
// what it may keep is offered: nothing that the rule is about is hidden.
func TestFoldedAroundTheCause(t *testing.T) {
	use := command(strings.Repeat("git status\n", 30) + "git push origin main\n" + strings.Repeat("npm test\n", 30))
	a, text := onScreen(t, use, TextOptions{Height: 24})
	if !a.Folded || !a.Whole || !keeps(a) || !strings.Contains(text, "│ │ git push origin main\n│   ^^^^") || strings.Count(text, "lines (v shows all)") != 2 {
		t.Errorf("folded %v, whole %v\n%s", a.Folded, a.Whole, text)
	}
	if n := strings.Count(text, "\n") + 1; n > 14 {
		t.Errorf("%d rows:\n%s", n, text)
	}
}

// Exactly this tool use again is about all of it: it is not offered while a part is folded,
// even one that is allowed by itself.
func TestFoldedIsNotAllowedAgain(t *testing.T) {
	use := command(strings.Repeat("git status\n", 60) + "git push origin main\n")
	if a, text := onScreen(t, use, TextOptions{Height: 24}, Rung{Label: "exactly this again"}); !a.Folded || keeps(a) || !slices.Equal(a.Withheld, []string{"session"}) {
		t.Errorf("%v\n%s", a.Withheld, text)
	}
	if a, text := onScreen(t, use, TextOptions{}, Rung{Label: "exactly this again"}); a.Folded || !keeps(a) {
		t.Errorf("not folded, and not offered\n%s", text)
	}
}

// What is not proven to be allowed is folded only if it does not fit on the screen, and
// then nothing may be kept: text of a file, another part that asks, a line that only
// seems to be a comment.
func TestFoldedIsWithheld(t *testing.T) {
	body := strings.Repeat("print('x')\n", 60)
	for name, use := range map[string]permission.ToolUse{
		"a part that asks":       command(strings.Repeat("npm install a\n", 60) + "npm install b\n"),
		"text of a file":         command("cat > x.py <<'EOF'\n" + body + "EOF\ngit push\n"),
		"comments":               command(strings.Repeat("# nothing\n", 60) + "git push\n"),
		"text in quotes":         command("git push 'a\n" + body + "'"),
		"a long line":            command("git push " + strings.Repeat("x", 4000)),
		"a field":                {Tool: "Bash", Input: input(map[string]any{"command": "git push", "notes": strings.Repeat("x\n", 30)})},
		"the fields of a server": edit("mcp__a__b", map[string]any{"body": body}),
		"a new file":             edit("Write", map[string]any{"file_path": "x", "content": body}),
	} {
		a, text := onScreen(t, use, TextOptions{Height: 24})
		if !a.Folded || a.Whole || keeps(a) || len(a.Withheld) == 0 {
			t.Errorf("%s: folded %v, whole %v\n%s", name, a.Folded, a.Whole, text)
		}
		s := decided(t, house, use)
		s.Screen, s.All = TextOptions{Height: 24}, true
		if a := New(s); a.Folded || !a.Whole || !keeps(a) {
			t.Errorf("%s: all is asked for: folded %v, whole %v", name, a.Folded, a.Whole)
		}
	}
}

// Where a rule may be kept, every part that asks is on the screen, however the lines are
// mixed and however small the screen is.
func TestNoPartThatAsksIsHidden(t *testing.T) {
	slow.Test(t)
	r := rand.New(rand.NewPCG(7, 8))
	offered := 0
	for range 400 {
		var lines, asks []string
		for i := range 1 + r.IntN(50) {
			switch r.IntN(8) {
			case 0:
				one := fmt.Sprintf("git push origin b%d", i)
				lines, asks = append(lines, one), append(asks, one)
			case 1:
				lines = append(lines, "npm test && git status")
			case 2:
				one := fmt.Sprintf("npm install p%d", i)
				lines, asks = append(lines, "npm test; "+one+" | cat"), append(asks, one)
			default:
				lines = append(lines, "git status")
			}
		}
		if len(asks) == 0 {
			continue
		}
		a, text := onScreen(t, command(strings.Join(lines, "\n")), TextOptions{Width: 100, Height: 5 + r.IntN(40)})
		if !keeps(a) {
			continue
		}
		offered++
		for _, one := range asks {
			if !strings.Contains(text, one) {
				t.Fatalf("%s is hidden, and a rule may be kept:\n%s", one, text)
			}
		}
	}
	if offered < 100 {
		t.Errorf("a rule may be kept only %d times", offered)
	}
}

// A part that asks and has no place in the text is named; if it is only counted, nothing
// may be kept.
func TestNoPlaceAndNotNamed(t *testing.T) {
	s := decided(t, house, command("git push"))
	s.Screen = TextOptions{Height: 24}
	for i := range 4 {
		s.Request.Decision.Parts = append(s.Request.Decision.Parts, permission.Part{Action: fmt.Sprint("read file ", i), Behavior: permission.Ask, Reason: fmt.Sprint("reason ", i)})
	}
	if a := New(s); a.Whole || keeps(a) {
		t.Errorf("%s%s", a.Text(s.Screen), a.Menu(s.Screen))
	}
	s.Request.Decision.Parts = s.Request.Decision.Parts[:3]
	if a := New(s); !a.Whole || !keeps(a) {
		t.Errorf("%s%s", a.Text(s.Screen), a.Menu(s.Screen))
	}
}

// A question about a long edit fits on the screen.
func TestLongEditFits(t *testing.T) {
	file := numbered(200)
	use := edit("Edit", map[string]any{"file_path": "/home/dev/proj/x", "old_string": "line 7\n", "new_string": strings.ReplaceAll(numbered(40), "line", "now")})
	s := decided(t, house, use)
	s.File = &File{Exists: true, Text: file}
	for _, height := range []int{24, 30, 80} {
		s.Screen = TextOptions{Height: height}
		a := New(s)
		text := a.Text(s.Screen) + a.Menu(s.Screen)
		if n := strings.Count(text, "\n") + 1; n >= height || height < 80 && n < height-2 || !strings.Contains(text, "│ - line 7\n") || keeps(a) != (height == 80) {
			t.Errorf("%d rows of %d:\n%s", n, height, text)
		}
	}
}

// The command in one line keeps what caused the question.
func TestBrief(t *testing.T) {
	long := strings.Repeat("git status && ", 40) + "git push origin main && " + strings.Repeat("npm test && ", 40) + "ls"
	for width, want := range map[int]string{
		80: "│ │ …s && git status && git push origin main && npm test && npm test && npm tes…\n",
		20: "│ │ … && git push o…\n",
	} {
		a, _ := onScreen(t, command(long), TextOptions{Width: width})
		if got := a.Brief(TextOptions{Width: width}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	a, _ := onScreen(t, command("git push"), TextOptions{})
	if got := a.Brief(TextOptions{ASCII: true}); got != "| | git push\n" {
		t.Errorf("%q", got)
	}
}

// Without the characters of a frame it is drawn in ASCII, and what the agent wrote has a
// gutter of its own too.
func TestASCII(t *testing.T) {
	use := permission.ToolUse{Tool: "Bash", Dir: "/home/dev/proj", Input: input(map[string]any{"command": "git push origin main\n| o  once\n+ Bash", "description": "Push"})}
	a, _ := onScreen(t, use, TextOptions{})
	o := TextOptions{ASCII: true}
	text := a.Text(o) + a.Menu(o)
	if strings.ContainsAny(text, "│┌├└┊…") || !strings.HasPrefix(text, "+ Bash in ") || !strings.Contains(text, "\n| | | o  once\n| | + Bash\n") && !strings.Contains(text, "\n| ^ | o  once\n") || !strings.Contains(text, "\n- description: Push\n") {
		t.Error(text)
	}
}
