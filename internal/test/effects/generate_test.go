//go:build oracle && linux

package effects

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
)

// generator generates command lines and policies that fit them.
type generator struct {
	r         *rand.Rand
	templates map[string][]string
	often     []string
	names     []string        // of the programs of the templates
	taken     map[string]bool // paths of the tree

	// The state of the current line:
	depth    int
	commands [][]string // the words of simple commands that are plain text
	loops    []string   // variables of the enclosing loops
	sets     []string   // assignments before the line
	extra    []effectbox.File
	scripts  int // files among them so far

	// With known set, what has often been in lines that were run is taken more often.
	known map[string]*record
	// one line in several has more than one command; 0 is 3
	several int
	slow    []string // programs that take long, and are taken seldom
	used    []string // the templates in the line, by their programs
}

// record says how often a template was in a line, and how often in one that was run.
type record struct{ in, ran int }

// skip reports whether a template is left out this time: seldom was a line run that it
// was in. Each is taken sometimes.
func (g *generator) skip(key string) bool {
	r := g.known[key]
	if r == nil {
		return false
	}
	share := float64(r.ran+1) / float64(r.in+2)
	return g.r.Float64() >= max(0.03, share*share)
}

// again reports whether a form is a loop within a loop that is left out this time: with them
// a run spends its time on what it has run before.
func (g *generator) again(form int) bool {
	return len(g.loops) > 0 && form >= 3 && form <= 7 && !g.in(8)
}

// items returns what a loop goes over; seldom all files there are, as for again.
func (g *generator) items() string {
	items := strings.Join(g.fill("%f %f"), " ")
	for g.known != nil && strings.Contains(items, "*") && !g.in(8) {
		items = strings.Join(g.fill("%f %f"), " ")
	}
	return items
}

// learn is told what became of a line with these templates.
func (g *generator) learn(used []string, ran bool) {
	for _, key := range used {
		r := g.known[key]
		if r == nil {
			r = new(record)
			g.known[key] = r
		}
		if r.in++; ran {
			r.ran++
		}
	}
}

func newGenerator(seed uint64, tree []effectbox.File) *generator {
	g := &generator{r: rand.New(rand.NewPCG(seed, 3)), taken: map[string]bool{}, templates: templates, often: often}
	for _, f := range tree {
		g.taken[f.Path] = true
	}
	for name := range templates {
		g.names = append(g.names, name)
	}
	sort.Strings(g.names)
	return g
}

func (g *generator) pick(from []string) string { return from[g.r.IntN(len(from))] }

func (g *generator) one(from ...string) string { return g.pick(from) }

// in returns true once in n times on average.
func (g *generator) in(n int) bool { return g.r.IntN(n) == 0 }

// line returns a command line.
func (g *generator) line() string {
	g.depth, g.commands, g.loops, g.sets, g.extra, g.used = 0, nil, nil, nil, nil, nil
	body := g.list()
	return strings.Join(append(g.sets, body), "; ")
}

func (g *generator) list() string {
	var sb strings.Builder
	n := 1
	if g.in(cmp.Or(g.several, 3)) && g.depth < 3 {
		n += g.r.IntN(2) + 1
	}
	for i := range n {
		if i > 0 {
			sb.WriteString(g.one("; ", " && ", " || ", " | ", " | ", "\n", " & "))
		}
		sb.WriteString(g.compound())
	}
	return sb.String()
}

func (g *generator) compound() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 3 {
		return g.simple()
	}
	form := g.r.IntN(44)
	for tries := 0; g.known != nil && tries < 9 && (g.skip(formKey(form)) || g.again(form)); tries++ {
		form = g.r.IntN(44)
	}
	g.used = append(g.used, formKey(form))
	switch form {
	case 0:
		return "(" + g.list() + ")"
	case 1:
		return "{ " + g.list() + "; }"
	case 2:
		return "if " + g.compound() + "; then " + g.list() + "; fi"
	case 3, 4, 5:
		items := g.items()
		g.loops = append(g.loops, "f")
		defer func() { g.loops = g.loops[:len(g.loops)-1] }()
		return "for f in " + items + "; do " + g.list() + "; done"
	case 6, 7:
		feed := g.one("cat list", "find . -type f", "ls", "printf '%s\\n' -rf /outside/f", "echo a.txt", "git ls-files")
		g.feed(feed)
		if g.known != nil && !g.in(16) { // as for again
			g.feed("head -n 3")
			feed += " | head -n 3"
		}
		g.loops = append(g.loops, "f")
		defer func() { g.loops = g.loops[:len(g.loops)-1] }()
		g.commands = append(g.commands, []string{"read"})
		return feed + " | while " + g.one("IFS= ", "") + "read " + g.one("-r ", "") + "f; do " + g.list() + "; done"
	case 8, 9, 10, 11, 12:
		return g.simple() + " " + g.redirection()
	case 13, 14, 15:
		feed := g.one("cat list", "find . -type f -print0", "ls", "printf '%s\\n' -rf a.txt", "printf '%s\\0' --output=n40 b.txt", "echo a.txt -o n41", "find sub", "git ls-files -z", "rg -l a", "grep -l a *.txt", "echo")
		g.feed(feed)
		return feed + " | xargs " + strings.Join(g.note("xargs", g.fill(g.pick(g.templates["xargs"]), "xargs")), " ")
	case 16, 17:
		d := g.fill("%d")[0]
		g.commands = append(g.commands, []string{"cd"})
		return g.one("cd "+d+" && "+g.list(), "(cd "+d+"; "+g.list()+")", "cd "+d+"; "+g.simple(), "cd "+d+" || "+g.simple())
	case 18:
		name := g.one("f", "rm", "ls", "git")
		return name + "() { " + g.list() + "; }; " + name + " " + g.fill("%f")[0]
	case 19:
		return "case " + g.fill("%x")[0] + " in *) " + g.list() + ";; esac"
	case 20:
		return g.one("A=", "B=", "LC_ALL=", "PAGER=", "GIT_DIR=", "TMPDIR=", "HOME=", "PATH=") + g.fill("%x")[0] + " " + g.simple()
	case 21:
		return g.one("! ", "time ", "exec ", "command ", "builtin ", "time -p ", "\\") + g.simple()
	case 22:
		return g.simple() + " <<" + g.one("'E'", "E", "-E") + "\n" + g.one("c1 x", "$(c2)", "a.txt", "!c1", "-rf", "w n42") + "\nE\n"
	case 23:
		return "while " + g.compound() + "; do " + g.compound() + "; break; done"
	case 24:
		return "[[ " + g.one("-n", "-f", "-v") + " " + g.fill("%x")[0] + " ]] && " + g.simple()
	case 25:
		return g.setting() + g.one("; ", " && ", "\n") + g.simple()
	}
	return g.simple()
}

// formKey is the name of a form of compound commands, for what is known of it; all that
// are simple commands are one.
func formKey(form int) string { return fmt.Sprint("form ", min(form, 26)) }

// setting returns an assignment of text that would run a program to a variable
// that bash evaluates, in one of the forms that bash has.
func (g *generator) setting() string {
	name := g.one("RANDOM", "SRANDOM", "SECONDS", "OPTIND", "HISTCMD", "BASHPID", "LINENO", "COLUMNS", "PS4")
	value := "'b[$(" + g.one("touch n60", "rm a.txt", "mv a.txt n61", "tee n62") + ")]'"
	g.commands = append(g.commands, []string{"export"}, []string{"read"}, []string{"printf"}, []string{"declare"}, []string{"mapfile"})
	return strings.NewReplacer("N", name, "V", value).Replace(g.one("N=V", "N+=V", "N[0]=V", "N=(V)", "export N=V", "declare N=V", "export 'N'=V", "for N in V; do :; done",
		"read N <<< V", "printf -v N %s V", "printf -v x -v N V", "mapfile -t N <<< V", "read -a N <<< V", "x=V; getopts x N -x", ": ${N:=V}", "unset N; : ${N:=V}", "x=V; N=$x", "eval N=V",
		"N=V; set -x", "readonly N=V", "N=5", "export N=5"))
}

// feed records a command that is part of a text.
func (g *generator) feed(text string) {
	words := strings.Fields(text)
	g.note(words[0], words[1:])
}

func (g *generator) redirection() string {
	switch g.r.IntN(12) {
	case 0:
		return "<" + g.fill("%f")[0]
	case 1:
		return "2>&1"
	case 2:
		return ">/dev/null"
	case 3:
		return "2>" + g.fill("%o")[0]
	case 4:
		return g.one("&>", ">|", "<>", ">&", "&>>") + g.fill("%o")[0]
	case 5:
		return "<<< " + g.fill("%x")[0]
	case 6:
		return ">>" + g.fill("%o")[0]
	case 7:
		return "2>/dev/null | " + g.simple()
	case 8:
		return "> >(" + g.simple() + ")"
	}
	return "> " + g.fill("%o")[0]
}

// simple returns a simple command.
func (g *generator) simple() string { return strings.Join(g.command(), " ") }

// choose returns a program and a template of its words.
func (g *generator) choose() (name, template string) {
	name = g.pick(g.names)
	if g.in(3) || slices.Contains(g.slow, name) && !g.in(12) {
		name = g.pick(g.often)
	}
	if g.depth > 4 {
		name = g.one("c1", "echo", "cat", "rm", "touch")
	}
	return name, g.pick(g.templates[name])
}

// command returns the words of a simple command as shell source, and records
// them for the policy.
func (g *generator) command() []string {
	g.depth++
	defer func() { g.depth-- }()
	name, template := g.choose()
	for tries := 0; g.known != nil && tries < 20 && g.skip(name+" "+template); tries++ {
		name, template = g.choose()
	}
	g.used = append(g.used, name+" "+template)
	args := g.fill(template, name)
	if g.in(12) {
		g.trap(name)
	}
	return g.note(name, args)
}

// note records those words of a command that a rule could have.
func (g *generator) note(name string, args []string) []string {
	words := []string{name}
	for _, a := range args {
		if a == "" || strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./+,:%@") != "" {
			break
		}
		words = append(words, a)
	}
	if len(words) == len(args)+1 {
		words = append(words, "") // all words are plain, so an exact rule is possible
	}
	g.commands = append(g.commands, words)
	return append([]string{g.spelled(name)}, args...)
}

// spelled returns the name of a program in one of its spellings.
func (g *generator) spelled(name string) string {
	switch g.r.IntN(60) {
	case 0:
		return "\\" + name
	case 1:
		return "/usr/bin/" + name
	case 2:
		return "'" + name + "'"
	case 3:
		return "/bin/" + name
	}
	return name
}

// fill returns the words of a template. The name is that of its program.
func (g *generator) fill(template string, name ...string) []string {
	var out []string
	for _, token := range strings.Fields(template) {
		switch token {
		case "%O":
			for range g.r.IntN(3) {
				out = append(out, g.option(append(name, out...))...)
			}
			continue
		case "%C":
			if g.depth > 4 {
				out = append(out, g.note("c1", nil)...)
			} else {
				out = append(out, g.command()...)
			}
			continue
		case "%F":
			for range 1 + g.r.IntN(3) {
				out = append(out, g.fill(g.pick(findParts), name...)...)
			}
			continue
		}
		out = append(out, g.token(token))
	}
	return out
}

// token replaces the placeholders of one word.
func (g *generator) token(token string) string {
	var sb strings.Builder
	for i := 0; i < len(token); i++ {
		if token[i] != '%' || i+1 == len(token) {
			sb.WriteByte(token[i])
			continue
		}
		i++
		switch token[i] {
		case 'f':
			sb.WriteString(g.varied(g.inputWord()))
		case 'o':
			sb.WriteString(g.varied(g.word("output ", outputs)))
		case 'd':
			sb.WriteString(g.varied(g.word("directory ", dirs)))
		case 'n':
			sb.WriteString(g.pick(numbers))
		case 'p':
			sb.WriteString(g.pick(searches))
		case 'x':
			sb.WriteString(g.word("any ", anything))
		case 't':
			sb.WriteString(g.quoted(g.text()))
		case 'y':
			sb.WriteString(g.quoted(g.python()))
		case 'l':
			sb.WriteString(g.quoted(g.perl()))
		case 'j':
			sb.WriteString(g.quoted(g.javascript()))
		case 'w':
			sb.WriteString(g.quoted(g.hostileShell()))
		case 'h':
			sb.WriteString(g.hidden())
		case 'T':
			sb.WriteString("'" + g.pick(targets) + "'")
		case 'A':
			sb.WriteString(g.quoted(g.pick(hostileAwk)))
		case 's':
			sb.WriteString(g.quoted(g.raw(g.pick(sedScripts))))
		case 'a':
			sb.WriteString(g.quoted(g.raw(g.pick(awkPrograms))))
		case 'S':
			sb.WriteString(g.quoted(g.raw(g.pick(sql))))
		case '%':
			sb.WriteByte('%')
		default:
			sb.WriteByte('%')
			sb.WriteByte(token[i])
		}
	}
	return sb.String()
}

// word returns a word of a kind.
func (g *generator) word(kind string, from []string) string {
	word := g.pick(from)
	for tries := 0; g.known != nil && tries < 9 && g.skip(kind+word); tries++ {
		word = g.pick(from)
	}
	g.used = append(g.used, kind+word)
	return word
}

// inputWord returns a file to read, or the variable of a loop.
func (g *generator) inputWord() string {
	if len(g.loops) > 0 && g.in(2) {
		f := g.loops[len(g.loops)-1]
		return g.one("$"+f, "\"$"+f+"\"", "./$"+f, "\"./$"+f+"\"", "\"${"+f+"}\"", "-- \"$"+f+"\"", "\"$"+f+".bak\"", "\"${"+f+"%.txt}\"")
	}
	return g.word("input ", inputs)
}

// varied sometimes replaces a word by a variable or a substitution.
func (g *generator) varied(word string) string {
	switch g.r.IntN(40) {
	case 0:
		name := fmt.Sprintf("v%d", len(g.sets))
		g.sets = append(g.sets, name+"="+word)
		return g.one("$"+name, "\"$"+name+"\"")
	case 1:
		g.commands = append(g.commands, []string{"echo"})
		return g.one("$(echo "+word+")", "\"$(echo "+word+")\"")
	case 2:
		return "./" + word
	}
	return word
}

// text returns shell text for sh -c.
func (g *generator) text() string {
	if g.depth > 3 {
		return g.one("c1 x", "rm a.txt", "echo x >n50", "touch n51", "c2 \"$1\"", "cat \"$@\" >n52", "cat", "$0 x", "rm $1")
	}
	return g.list()
}

// raw replaces the paths in a program in another language.
func (g *generator) raw(text string) string {
	for strings.Contains(text, "%o") {
		text = strings.Replace(text, "%o", g.one("n60", "out/n61", "a.txt", "/outside/n62", "/tmp/n63", "/dev/null", "/dev/stdout", "sub/n64"), 1)
	}
	text = strings.ReplaceAll(text, "%f", g.one("a.txt", "list", "/etc/x"))
	return strings.ReplaceAll(text, "%%", "%")
}

// quoted returns text as one word.
func (g *generator) quoted(text string) string {
	if !strings.ContainsAny(text, "\"\\$`!'") && g.in(4) {
		return "\"" + text + "\""
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// option returns an option that the catalogue has for the program, or a letter
// that it may not have.
func (g *generator) option(words []string) []string {
	prog := program.Lookup(words[0])
	for _, w := range words[1:] {
		if prog == nil {
			break
		}
		if sub := prog.Subcommand(w); sub != nil {
			prog = sub
		}
	}
	if prog == nil || g.in(10) {
		return []string{"-" + string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[g.r.IntN(62)])}
	}
	var all []*program.Option
	var telling []*program.Option
	for o := range prog.All {
		all = append(all, o)
		if o.Effect != program.EffNone {
			telling = append(telling, o)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if len(telling) > 0 && g.in(2) {
		all = telling
	}
	return g.written(all[g.r.IntN(len(all))])
}

// written returns an option and its value in one of their forms.
func (g *generator) written(o *program.Option) []string {
	name := strings.ReplaceAll(strings.ReplaceAll(g.pick(o.Names), "[no-]", g.one("", "no-")), "-#", "-1")
	long := strings.HasPrefix(name, "--")
	if long && g.in(5) && len(name) > 5 {
		name = name[:4+g.r.IntN(len(name)-4)]
	}
	value := g.value(o)
	switch {
	case o.Value == program.NoValue, o.Value == program.Optional && g.in(2):
		if !long && len(name) == 2 && g.in(4) {
			return []string{name + string("abcdefhiklmnopqrstuvwxz"[g.r.IntN(23)])}
		}
		return []string{name}
	case o.Value == program.Pair:
		return []string{name, "a", value}
	case long && (o.Value == program.Optional || g.in(2)):
		return []string{name + "=" + value}
	case !long && (o.Value == program.Optional || g.in(3)):
		return []string{name + value}
	}
	return []string{name, value}
}

func (g *generator) value(o *program.Option) string {
	switch o.Effect {
	case program.EffRun:
		return g.token("%t")
	case program.EffProgram, program.EffPlugin, program.EffExec:
		return g.one("c2", "./tool", "x", "'c1 x'", "sh", "prog.awk")
	case program.EffWrite, program.EffOutput, program.EffTarget, program.EffClears:
		return g.token("%o")
	case program.EffRead, program.EffInput, program.EffSend, program.EffLoad, program.EffPairs:
		return g.token("%f")
	case program.EffDir:
		return g.token("%d")
	}
	return g.one("1", "x", ",", g.token("%x"), "n70", "/tmp/n71", "../n72")
}

// trap creates a file in the directory whose name is an option of the program.
func (g *generator) trap(name string) {
	words := g.option([]string{name})
	text, ok := literal(strings.Join(words, ""))
	if !ok || text == "" || len(text) > 200 || strings.ContainsAny(text, "/\x00") || text == "." || text == ".." {
		return
	}
	at := work + "/" + text
	if g.taken[at] || slices.ContainsFunc(g.extra, func(f effectbox.File) bool { return f.Path == at }) {
		return
	}
	g.extra = append(g.extra, effectbox.File{Path: at, Data: []byte("trap\n")})
}

// literal removes the quotes of a word of plain text.
func literal(src string) (string, bool) {
	var sb strings.Builder
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '\'':
			end := strings.IndexByte(src[i+1:], '\'')
			if end < 0 {
				return "", false
			}
			sb.WriteString(src[i+1 : i+1+end])
			i += end + 1
		case '\\', '"', '$', '`', '*', '?', '[', '{', '<', '>', '~', '(', ')', '|', '&', ';', ' ', '\n', '!', '#':
			return "", false
		default:
			sb.WriteByte(c)
		}
	}
	return sb.String(), true
}
