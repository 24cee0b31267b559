//go:build oracle && linux

package shell

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/realshell"
)

var (
	lines = flag.Int("lines", 2000, "command lines to give to the real shell")
	seed  = flag.Uint64("seed", 0, "seed of the generator; 0 takes the time")
)

func TestMain(m *testing.M) {
	realshell.Main()
	os.Exit(m.Run())
}

// TestBashRunsNothingUnseen gives generated lines to Analyze and to a real
// bash: every command that bash would run must be an action, or the line must
// hold an opaque spot that may run anything.
func TestBashRunsNothingUnseen(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d, %d lines", *seed, *lines)
	box, err := realshell.Open("/bin/bash", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	g := newGenerator(*seed, seedLines(t))
	var n tally
	for range *lines {
		line := g.line()
		got, err := box.Run(line)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		n.add(t, line, got)
	}
	t.Logf("lines %d, with commands %d, clear of opaque spots %d, commands %d, timed out %d, violations %d",
		n.lines, n.busy, n.clear, n.commands, n.timeouts, n.violations)
	if n.clear*20 < n.lines {
		t.Errorf("only %d of %d lines were clear: the test shows nothing", n.clear, n.lines)
	}
}

type tally struct{ lines, busy, clear, commands, timeouts, violations int }

func (n *tally) add(t *testing.T, line string, got realshell.Result) {
	n.lines++
	if got.TimedOut {
		n.timeouts++
	}
	if len(got.Commands) > 0 {
		n.busy++
	}
	f := Analyze(line, Options{Dir: "/w", Home: "/home/dev"})
	if mayRunAnything(f) {
		return
	}
	n.clear++
	for _, argv := range got.Commands {
		n.commands++
		if !seen(f, argv) {
			n.violations++
			t.Errorf("bash would run %q, which is no action\nline: %q\nseed %d", argv, line, *seed)
		}
	}
}

func mayRunAnything(f *Facts) bool {
	for i := range f.Actions {
		if f.Actions[i].Kind == Opaque && f.Actions[i].May&MayRun != 0 {
			return true
		}
	}
	return false
}

func seen(f *Facts, argv []string) bool {
	for i := range f.Actions {
		if a := &f.Actions[i]; a.Kind == Command && wordsMatch(a.Words, argv) {
			return true
		}
	}
	return false
}

// wordsMatch reports whether words may become argv.
func wordsMatch(words []Word, argv []string) bool {
	if len(words) == 0 {
		return len(argv) == 0
	}
	w := &words[0]
	if w.Split {
		if wordsMatch(words[1:], argv) {
			return true
		}
		return len(argv) > 0 && wordsMatch(words, argv[1:])
	}
	return len(argv) > 0 && fills(w, argv[0]) && wordsMatch(words[1:], argv[1:])
}

// fills reports whether text is the word with its holes filled.
func fills(w *Word, text string) bool {
	from := 0
	for i, h := range w.Holes {
		lit := w.Text[from:h.At]
		from = h.At
		if i == 0 {
			if !strings.HasPrefix(text, lit) {
				return false
			}
			text = text[len(lit):]
			continue
		}
		at := strings.Index(text, lit)
		if at < 0 {
			return false
		}
		text = text[at+len(lit):]
	}
	if len(w.Holes) == 0 {
		return text == w.Text
	}
	return strings.HasSuffix(text, w.Text[from:])
}

// generator makes command lines: soups of tokens, lines of a grammar, and
// mutations of a corpus.
type generator struct {
	r      *rand.Rand
	corpus []string
	depth  int
}

func newGenerator(seed uint64, corpus []string) *generator {
	return &generator{r: rand.New(rand.NewPCG(seed, 1)), corpus: corpus}
}

func (g *generator) pick(from ...string) string { return from[g.r.IntN(len(from))] }

func (g *generator) line() string {
	switch g.r.IntN(4) {
	case 0:
		return g.soup()
	case 1:
		return g.mutated()
	}
	g.depth = 0
	return g.list()
}

var soupTokens = strings.Split("c1|c2|c3 a|c4|echo|x|-rf|;|;|&&|\\|\\||\\||&|\\|&|(|)|{|}|{ | ;}|$(|)|`|\"|'|\\\\|\\n|\\n| | | |$x|${x|:-|}|\\$'|<<E|\\nE\\n|<<<|>f|<f|2>&1|<(|>(|if |then |; fi|while |do |; done|for x in |case x in |esac|)|;;|[[ | ]]|==|((|))|$((|))|!|time |coproc |function f|f()|#|\\\\\\n|=|x=|x+=|a[|]|eval |command |exec |{a,|,b}|~|*|?|@(|$@|$\"|\\t|&>f|>&2|[|test |-eq|trap |EXIT|set |--", "|")

func (g *generator) soup() string {
	var sb strings.Builder
	for range 2 + g.r.IntN(14) {
		tok := g.pick(soupTokens...)
		tok = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\$`, "$", `\\`, `\`, `\|`, "|").Replace(tok)
		sb.WriteString(tok)
		if g.r.IntN(3) == 0 {
			sb.WriteByte(' ')
		}
	}
	return sb.String()
}

func (g *generator) mutated() string {
	line := []byte(g.corpus[g.r.IntN(len(g.corpus))])
	for range g.r.IntN(4) {
		if len(line) == 0 {
			break
		}
		at := g.r.IntN(len(line))
		switch g.r.IntN(4) {
		case 0:
			line = append(line[:at], line[at+1:]...)
		case 1:
			tok := g.pick(";", "\n", "c8 ", "'", "\"", "`", "$(", ")", "|", "&", " ", "\\", "{", "}", "<(", "#", "$x", "\t", "=", "~", "*")
			line = append(line[:at], append([]byte(tok), line[at:]...)...)
		case 2:
			other := g.corpus[g.r.IntN(len(g.corpus))]
			cut := g.r.IntN(len(other) + 1)
			line = append(line[:at], other[cut:]...)
		case 3:
			line[at], line[len(line)/2] = line[len(line)/2], line[at]
		}
	}
	return string(line)
}

func (g *generator) list() string {
	var sb strings.Builder
	for i := range 1 + g.r.IntN(3) {
		if i > 0 {
			sb.WriteString(g.pick("; ", " && ", " || ", " | ", "\n", " & ", " |& "))
		}
		sb.WriteString(g.command())
	}
	return sb.String()
}

func (g *generator) command() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 4 {
		return g.simple()
	}
	switch g.r.IntN(22) {
	case 0:
		return "(" + g.list() + ")"
	case 1:
		return "{ " + g.list() + "; }"
	case 2:
		return "if " + g.list() + "; then " + g.list() + g.pick("", "; else "+g.command()) + "; fi"
	case 3:
		return "for x in " + g.words() + "; do " + g.list() + "; done"
	case 4:
		return "case " + g.word() + " in " + g.word() + ") " + g.list() + ";; *) " + g.command() + ";; esac"
	case 5:
		return "[[ " + g.pick("-n ", "! ", "") + g.word() + g.pick("", " == "+g.word(), " =~ "+g.word(), " && "+g.word()) + " ]]"
	case 6:
		return "f() { " + g.list() + "; }; f " + g.words()
	case 7:
		return g.pick("x", "y") + g.pick("=", "+=") + g.word()
	case 8:
		return g.command() + g.pick(" >", " 2>", " >>", " <", " <<<", " &>") + g.word()
	case 9:
		return g.simple() + " <<" + g.pick("E", "'E'", "-E") + "\n" + g.word() + "\n" + g.word() + "\nE\n"
	case 10:
		return "eval " + g.pick(g.words(), "'"+strings.ReplaceAll(g.list(), "'", "")+"'")
	case 11:
		return "trap '" + strings.ReplaceAll(g.command(), "'", "") + "' EXIT"
	case 12:
		return g.pick("command ", "builtin ", "time ", "! ", "exec ") + g.simple()
	case 13:
		return "(( " + g.arith() + " ))"
	case 14:
		return "export x=" + g.word()
	case 15:
		return "while " + g.command() + "; do " + g.command() + "; break; done"
	}
	return g.simple()
}

func (g *generator) simple() string {
	name := g.pick("c1", "c2", "c3", "c4", "c5", "echo", "printf", "true", "$x", "c{6,7}", "c\\8", "\"c9\"", "'c'10", "x=1 c11", "test")
	return strings.TrimSpace(name + " " + g.words())
}

func (g *generator) words() string {
	var sb strings.Builder
	for i := range g.r.IntN(4) {
		if i > 0 {
			sb.WriteByte(' ')
		}
		sb.WriteString(g.word())
	}
	return sb.String()
}

func (g *generator) word() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 6 {
		return g.pick("a", "b", "-n", "c7")
	}
	switch g.r.IntN(26) {
	case 0:
		return "$(" + g.list() + ")"
	case 1:
		return "`" + strings.NewReplacer("`", "", "\\", "").Replace(g.command()) + "`"
	case 2:
		return "\"" + strings.ReplaceAll(g.word(), "\"", "") + " " + g.pick("", "$x", "$(c12)", "\\$(c12)") + "\""
	case 3:
		return "'" + strings.ReplaceAll(g.word(), "'", "") + "'"
	case 4:
		return g.pick("$x", "${x}", "$y", "${x:-"+g.word()+"}", "${y:="+g.word()+"}", "${x#"+g.word()+"}", "${x//a/"+g.word()+"}", "${#x}", "$@", "$1", "$?")
	case 5:
		return "<(" + g.list() + ")"
	case 6:
		return "{" + g.word() + "," + g.word() + "}"
	case 7:
		return "$((" + g.arith() + "))"
	case 8:
		return "$'a\\n" + g.pick("b", "\\x41", "\\'") + "'"
	case 9:
		return g.word() + g.word()
	case 10:
		return g.pick("~", "~/x", "*", "?", "[ab]", "*.txt", "sub/*")
	case 11:
		return "a\\" + g.pick(" ", "$", "\n", "\\", "'", "\"") + "b"
	}
	return g.pick("a", "b", "a.txt", "-n", "c7", "x=1", "--", "1", "sub", "f#g", "!")
}

func (g *generator) arith() string {
	return g.pick("1+2", "x+1", "x=3", "a[0]", "a[$(c13)]", "1 ? 2 : 3", "x++", fmt.Sprint(g.r.IntN(9)))
}
