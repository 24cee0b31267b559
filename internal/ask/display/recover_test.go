package display

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var spelledOut = regexp.MustCompile(`<U\+([0-9A-F]{4,6})(?: x([0-9]+))?>|<0x([0-9A-F]{2})>|⇥   |\n<U\+000A x([0-9]+)>\n`)

// asSeen reads shown text as a person would.
func asSeen(s string) string {
	return spelledOut.ReplaceAllStringFunc(s, func(m string) string {
		p := spelledOut.FindStringSubmatch(m)
		switch {
		case m == "⇥   ":
			return "\t"
		case p[4] != "":
			n, _ := strconv.Atoi(p[4])
			return strings.Repeat("\n", n+2)
		case p[3] != "":
			n, _ := strconv.ParseUint(p[3], 16, 8)
			return string([]byte{byte(n)})
		}
		r, _ := strconv.ParseInt(p[1], 16, 32)
		n, _ := strconv.Atoi(p[2])
		return strings.Repeat(string(rune(r)), max(n, 1))
	})
}

// shownBlock is a block as read from the screen.
type shownBlock struct {
	title string
	ops   []op // '|' text, ' ' '-' '+' lines of a diff, '\\', '@', '…'
}

// text returns the text of the block.
func (b *shownBlock) text() string {
	var lines []string
	for _, o := range b.ops {
		if o.sign == '|' {
			lines = append(lines, o.line)
		}
	}
	return asSeen(strings.Join(lines, "\n"))
}

var (
	titleRow = regexp.MustCompile(`^├ ([A-Za-z_]+)(?: \(a text\))?:(?: (.*))?$`)
	diffRow  = regexp.MustCompile(`^├ (change|content|cell|edit [0-9]+ of [0-9]+) ?\(`)
	lineNote = regexp.MustCompile(`\(line ([0-9,]+)[;)]`)
)

// screen parses what a terminal shows into blocks. The field that the tool is about has
// no title; it is taken as the command.
func screen(t *testing.T, text string) []shownBlock {
	t.Helper()
	var blocks []shownBlock
	for _, row := range strings.Split(joined(text), "\n")[1:] {
		rest, framed := strings.CutPrefix(row, "│ ")
		if framed && len(blocks) == 0 && (strings.HasPrefix(rest, "│ ") || strings.HasPrefix(rest, "^ ") || strings.HasPrefix(rest, "… ")) {
			blocks = append(blocks, shownBlock{title: "command"})
		}
		var b *shownBlock
		if n := len(blocks); n > 0 {
			b = &blocks[n-1]
		}
		add := func(sign byte, line string) { b.ops = append(b.ops, op{sign, line}) }
		switch {
		case framed && strings.HasPrefix(rest, "┊ "):
			b.ops[len(b.ops)-1].line += strings.TrimPrefix(rest, "┊ ")
		case framed && strings.HasPrefix(rest, "│ ") && b.title == "a diff":
			add(' ', strings.TrimPrefix(rest, "│ "))
		case framed && strings.HasPrefix(rest, "│ "):
			add('|', strings.TrimPrefix(rest, "│ "))
		case framed && strings.HasPrefix(rest, "^ "):
			add('|', strings.TrimPrefix(rest, "^ "))
		case framed && (strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "+ ")):
			add(rest[0], rest[2:])
		case framed && strings.HasPrefix(rest, "@@ "):
			add('@', rest)
		case framed && strings.HasPrefix(rest, `\ `):
			add('\\', "")
		case framed && strings.HasPrefix(rest, "… "):
			add('.', rest)
		case row == "│", framed: // marks, and what the Ask says
		case diffRow.MatchString(row):
			blocks = append(blocks, shownBlock{title: "a diff"})
			if m := lineNote.FindStringSubmatch(row); m != nil {
				b = &blocks[len(blocks)-1]
				add('@', fmt.Sprintf("@@ -%s,1 +0,0 @@", strings.ReplaceAll(m[1], ",", "")))
			}
		case titleRow.MatchString(row):
			m := titleRow.FindStringSubmatch(row)
			blocks = append(blocks, shownBlock{title: m[1]})
			if b = &blocks[len(blocks)-1]; strings.HasPrefix(row, "├ "+m[1]+": ") || strings.Contains(row, "(a text): ") {
				b.ops = []op{{'|', m[2]}}
			}
		default:
			t.Fatalf("row %q", row)
		}
	}
	return blocks
}

// joined returns the rows of a screen, with titles that take several rows in one.
func joined(text string) string {
	var rows []string
	for row := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		more, goesOn := strings.CutPrefix(row, "│   ")
		if n := len(rows) - 1; goesOn && (strings.HasPrefix(rows[n], "├ ") || strings.HasPrefix(rows[n], "│ @@ ")) && strings.Trim(more, " ^") != "" {
			rows[n] += " " + more
			continue
		}
		rows = append(rows, row)
	}
	return strings.Join(rows, "\n")
}

// apply returns the new text for an old one by the diff on the screen.
func (b *shownBlock) apply(t *testing.T, old string) string {
	t.Helper()
	lines, out := split(old), ""
	at := 0
	for i, o := range b.ops {
		line := asSeen(o.line) + "\n"
		if i+1 < len(b.ops) && b.ops[i+1].sign == '\\' {
			line = strings.TrimSuffix(line, "\n")
		}
		switch o.sign {
		case '@':
			var x, nx, y, ny int
			if _, err := fmt.Sscanf(o.line, "@@ -%d,%d +%d,%d @@", &x, &nx, &y, &ny); err != nil {
				t.Fatal(err)
			}
			if nx > 0 {
				x--
			}
			out += strings.Join(lines[at:x], "")
			at = x
		case ' ', '-':
			if at >= len(lines) || lines[at] != line {
				t.Fatalf("line %d of the old text is not %q", at+1, line)
			}
			at++
		}
		if o.sign == ' ' || o.sign == '+' {
			out += line
		}
	}
	return out + strings.Join(lines[at:], "")
}

// sound checks what must hold for everything that is written.
func sound(t *testing.T, a *Ask, width int) string {
	t.Helper()
	o := TextOptions{Width: width}
	text, menu := a.Text(o), a.Menu(o)
	for _, r := range text + menu {
		if r != '\n' && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || r == utf8.RuneError) {
			t.Fatalf("the screen holds %U:\n%s", r, text)
		}
	}
	for i, row := range strings.Split(strings.TrimSuffix(text+menu, "\n"), "\n") {
		if n := cells(row); n > max(width, minWidth) && !strings.Contains(row, "<U+") {
			t.Fatalf("a row of %d cells: %q", n, row)
		}
		if !strings.HasPrefix(row, "│ ") && row != "│" && !strings.HasPrefix(row, "├ ") && (i > 0 || !strings.HasPrefix(row, "┌ ")) {
			t.Fatalf("row %q is not in the frame:\n%s", row, text)
		}
	}
	o.Colour = true
	if got := inkCodes.ReplaceAllString(a.Text(o), ""); got != text {
		t.Fatalf("in colour it is another text:\n%s\n%s", got, text)
	}
	if a.Whole == strings.Contains(text, "\n│ … ") {
		t.Fatalf("whole is %v:\n%s", a.Whole, text)
	}
	for _, c := range a.Choices {
		if c.Keeps && !a.Whole {
			t.Fatalf("%s is offered, and not everything is shown", c.Name)
		}
	}
	return text
}

// goesOnRow is the beginning of a row that goes on with a title.
var goesOnRow = regexp.MustCompile("\n│ {3}")

var inkCodes = regexp.MustCompile("\x1b\\[[0-9;]+m")

// fields reads the input from the screen.
func fields(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, b := range screen(t, text) {
		out[b.title] = b.text()
	}
	return out
}

// ofJSON reads the input from the JSON.
func ofJSON(t *testing.T, a *Ask) map[string]string {
	t.Helper()
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range string(data[:len(data)-1]) {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Fatalf("the JSON holds %U", r)
		}
	}
	var ask Ask
	if err := json.Unmarshal(data, &ask); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, b := range ask.Blocks {
		var lines []string
		for _, l := range b.Lines {
			line := ""
			for _, s := range l.Segments {
				line += s.Text
			}
			lines = append(lines, line)
		}
		out[b.Title] = asSeen(strings.Join(lines, "\n"))
	}
	return out
}

func sum(fields map[string]string) [32]byte {
	data, _ := json.Marshal(fields)
	return sha256.Sum256(data)
}

// recoverable checks that an input of strings can be read from the screen and
// from the JSON, so that the digest is that of what is shown.
func recoverable(t *testing.T, cmd, note string, width int) {
	t.Helper()
	if strings.ContainsRune(cmd+note, utf8.RuneError) {
		return // shown as JSON: TestNotDecoded
	}
	raw := input(map[string]any{"command": cmd, "note": note})
	s := Source{Request: permission.Request{Use: permission.ToolUse{Tool: "Bash", Dir: "/d", Input: raw}}}
	s.Choices = []Choice{{Key: "s", Name: "session", Keeps: true}}
	if n := len(cmd); n > 3 {
		s.Request.Decision.Parts = []permission.Part{{Action: "run x", Pos: n / 3, End: n - 1, Behavior: permission.Ask}}
	}
	want := sum(map[string]string{"command": cmd, "note": note})
	for _, all := range []bool{true, false} {
		s.All = all
		a := New(s)
		text := sound(t, a, width)
		if !a.Whole {
			if all {
				t.Fatal("not everything is shown, and everything was asked for")
			}
			accounted(t, a, "command", cmd)
			accounted(t, a, "note", note)
			continue
		}
		if got := fields(t, text); sum(got) != want {
			t.Fatalf("the screen reads %q, not %q and %q:\n%s", got, cmd, note, text)
		}
		if got := ofJSON(t, a); sum(got) != want {
			t.Fatalf("the JSON reads %q, not %q and %q", got, cmd, note)
		}
	}
}

// accounted checks that what is shown of a text, plus what is reported as left
// out, is the text.
func accounted(t *testing.T, a *Ask, title, text string) {
	t.Helper()
	for _, b := range a.Blocks {
		if b.Title != title {
			continue
		}
		head, tail, gone := []string{}, []string{}, -1
		for _, l := range b.Lines {
			line := ""
			for _, s := range l.Segments {
				line += s.Text
			}
			switch {
			case l.Sign == "…":
				gone = l.Bytes
			case gone < 0:
				head = append(head, line)
			default:
				tail = append(tail, line)
			}
		}
		from, to := asSeen(strings.Join(head, "\n")), asSeen(strings.Join(tail, "\n"))
		if gone < 0 {
			gone = 0
		}
		if !strings.HasPrefix(text, from) || !strings.HasSuffix(text, to) || len(from)+gone+len(to) != len(text) {
			t.Fatalf("%s of %d bytes: %d are shown, %d are said to be missing, %d are shown:\n%q … %q", title, len(text), len(from), gone, len(to), from, to)
		}
	}
}

// nasty are pieces of the texts in the tests.
var nasty = []string{
	"a", "git push", " ", "  ", "\n", "\n\n\n", "\t", "\r\n", "\x1b[31m", "\x00", "\u202E", "\u200B", "\u0301", "e\u0301", "日本", "🎉", "⚠\uFE0F",
	"<U+202E>", "<0xFF>", "<U+0020 x5>", "⇥", "   | ", "   : ", "  risk safe, tier 1", "\n? Bash\n",
	"│ ", "┊ ", "├ ", "└ > ", "\n┌ Bash\n", "\n├ note: ", "\n│ o  once\n", "\n│ … 3 lines (v shows all)\n", "│ asked by x", "^^^^", "…", "press v", "“", "＃", "\u00a0", "\u3164",
	strings.Repeat(" ", 70), strings.Repeat("\n", 30), strings.Repeat("\t", 20), strings.Repeat("x", 300), strings.Repeat("line\n", 50),
}

func mess(r *rand.Rand, n int) string {
	var out strings.Builder
	for range r.IntN(n) {
		out.WriteString(nasty[r.IntN(len(nasty))])
	}
	return out.String()
}

// Every byte of the input can be read from the screen, or the screen says how
// many are left out.
func TestEveryByteIsShown(t *testing.T) {
	slow.Test(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		recoverable(t, mess(r, 12), mess(r, 40), 20+r.IntN(110))
	}
}

func FuzzShown(f *testing.F) {
	f.Add("git push\x1b[2K\u202E", "a\n\n\n\n\n\nb<U+000A x3>", 80)
	f.Add(strings.Repeat("a\n", 400), strings.Repeat("b", 9000), 31)
	f.Fuzz(func(t *testing.T, cmd, note string, width int) {
		recoverable(t, strings.ToValidUTF8(cmd, "?"), strings.ToValidUTF8(note, "?"), width&0xff+1)
	})
}

// editShown checks that the diff on the screen turns the old content of a file
// into the new one.
func editShown(t *testing.T, file, old, text string, all bool, width int) {
	t.Helper()
	if strings.ContainsRune(file+old+text, utf8.RuneError) {
		return
	}
	s := Source{All: true, File: &File{Exists: true, Text: file}, Request: permission.Request{Use: permission.ToolUse{
		Tool: "Edit", Dir: "/d", Input: input(map[string]any{"old_string": old, "new_string": text, "replace_all": all}),
	}}}
	shown := sound(t, New(s), width)
	blocks := screen(t, shown)
	if len(blocks) != 1 {
		t.Fatalf("%d blocks:\n%s", len(blocks), shown)
	}
	n := strings.Count(file, old)
	switch {
	case old == "" && file == "":
		if got := blocks[0].apply(t, ""); got != text {
			t.Fatalf("the new file would be %q, not %q", got, text)
		}
	case old == "", n == 0, n > 1 && !all, old == text:
		fragments := map[byte][]string{}
		for _, o := range blocks[0].ops {
			fragments[o.sign] = append(fragments[o.sign], asSeen(o.line))
		}
		if was, is := strings.Join(fragments['-'], "\n"), strings.Join(fragments['+'], "\n"); was != old || is != text {
			t.Fatalf("the screen reads %q and %q, not %q and %q:\n%s", was, is, old, text, shown)
		}
		if !strings.Contains(goesOnRow.ReplaceAllString(shown, " "), "would fail") {
			t.Fatalf("the screen does not say that the edit would fail:\n%s", shown)
		}
	default:
		if got, want := blocks[0].apply(t, file), strings.ReplaceAll(file, old, text); got != want {
			t.Fatalf("by the diff it is %q, not %q:\n%s", got, want, shown)
		}
	}
}

func TestEveryEditIsShown(t *testing.T) {
	slow.Test(t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		file := mess(r, 40)
		old := mess(r, 3)
		if len(file) > 0 && r.IntN(4) > 0 {
			at := r.IntN(len(file))
			old = strings.ToValidUTF8(file[at:min(len(file), at+r.IntN(40))], "")
		}
		editShown(t, file, old, mess(r, 6), r.IntN(2) == 0, 20+r.IntN(110))
	}
}

func FuzzEdit(f *testing.F) {
	f.Add(goFile, "world", "moon\n", false, 80)
	f.Add("a\na\na", "a", "", true, 40)
	f.Fuzz(func(t *testing.T, file, old, text string, all bool, width int) {
		editShown(t, strings.ToValidUTF8(file, "?"), strings.ToValidUTF8(old, "?"), strings.ToValidUTF8(text, "?"), all, width&0xff+1)
	})
}

// A new file content is shown as a diff that produces it.
func TestEveryWriteIsShown(t *testing.T) {
	slow.Test(t)
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		before := mess(r, 60)
		lines := split(before)
		for range r.IntN(6) {
			if len(lines) > 1 {
				at := r.IntN(len(lines))
				lines = append(lines[:at:at], lines[min(len(lines), at+r.IntN(3)):]...)
			}
			lines = append(lines, mess(r, 4)+"\n")
		}
		after := strings.Join(lines, "")
		s := Source{All: true, File: &File{Exists: true, Text: before}, Request: permission.Request{Use: permission.ToolUse{
			Tool: "Write", Dir: "/d", Input: input(map[string]any{"content": after}),
		}}}
		shown := sound(t, New(s), 80)
		if got := screen(t, shown)[0].apply(t, before); got != after {
			t.Fatalf("by the diff it is %q, not %q:\n%s", got, after, shown)
		}
	}
}

// The search for a diff ends soon, however large the texts are.
func TestLargeDiff(t *testing.T) {
	same := strings.Repeat("a\nb\n", 200_000)
	other := strings.Repeat("b\nc\n", 200_000)
	ops := differ(split(same), split(other), maxDepth)
	was, is := "", ""
	var x, y strings.Builder
	for _, o := range ops {
		if o.sign != '+' {
			x.WriteString(o.line)
		}
		if o.sign != '-' {
			y.WriteString(o.line)
		}
	}
	if was, is = x.String(), y.String(); was != same || is != other {
		t.Error("the difference does not make one of the other")
	}
}

// An input that does not decode without a loss is shown as it is.
func TestNotDecoded(t *testing.T) {
	for _, raw := range []string{
		`{"command":"a\ud800b"}`, `{"command":"a` + "\uFFFD" + `b"}`, "{\"command\":\"\xff\"}", `not json`, `null`, `[1]`, `{"command":1}`,
	} {
		s := Source{Request: permission.Request{Use: permission.ToolUse{Tool: "Bash", Dir: "/d", Input: json.RawMessage(raw)}}}
		a := New(s)
		shown := ""
		for _, seg := range a.Blocks[0].Lines[0].Segments {
			shown += seg.Text
		}
		if got := asSeen(shown); !strings.Contains(raw, got) || len(got) < len(raw)-len(`{"command":}`) {
			t.Errorf("%q is shown as %q", raw, shown)
		}
	}
}

// A string can be told from a number that looks the same, and from an object.
func TestKindsAreTold(t *testing.T) {
	seen := map[string]string{}
	for _, raw := range []string{`{"a":1}`, `{"a":"1"}`, `{"a":true}`, `{"a":"true"}`, `{"a":[1]}`, `{"a":"[1]"}`, `{"a":null}`, `{"a":"null"}`, `{"a":""}`, `{}`} {
		s := Source{Request: permission.Request{Use: permission.ToolUse{Tool: "mcp__x__y", Input: json.RawMessage(raw)}}}
		text := New(s).Text(TextOptions{})
		if seen[text] != "" {
			t.Errorf("%s and %s look the same:\n%s", raw, seen[text], text)
		}
		seen[text] = raw
	}
}
