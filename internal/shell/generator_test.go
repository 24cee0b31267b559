//go:build oracle && linux

package shell

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator generates command lines: random tokens, lines of a grammar, and mutations
// of both and of a corpus. Each dialect has constructs of its own, and gets some of
// the others' as well.
type generator struct {
	r       *rand.Rand
	dialect Dialect
	corpus  []string
	names   []string // variables that the shell gives a meaning
	depth   int
	docs    []string // bodies of here-documents that the next newline owes
}

func newGenerator(seed uint64, d Dialect, corpus, names []string) *generator {
	return &generator{r: rand.New(rand.NewPCG(seed, 1+uint64(d))), dialect: d, corpus: corpus, names: names}
}

func (g *generator) pick(from ...string) string { return from[g.r.IntN(len(from))] }

// one is true with probability 1/n.
func (g *generator) one(n int) bool { return g.r.IntN(n) == 0 }

func (g *generator) line() string {
	switch g.r.IntN(12) {
	case 10:
		return g.setting() + g.pick("", "; "+g.simple())
	case 11:
		return g.pick(g.builtin(), g.setting()+"; "+g.builtin(), g.translation())
	case 0:
		return g.soup()
	case 1, 2:
		return g.mutate(g.corpus[g.r.IntN(len(g.corpus))], g.r.IntN(4))
	case 3, 4:
		return g.mutate(g.program(), 1+g.r.IntN(3))
	case 5:
		return g.splice(g.program(), g.program())
	}
	return g.program()
}

// program returns a line of the grammar.
func (g *generator) program() string {
	g.depth, g.docs = 0, nil
	return g.list() + g.newline()
}

var soupTokens = strings.Split("c1|c2|c3 a|c4|echo|x|-rf|;|;|&&|\\|\\||\\||&|\\|&|(|)|{|}|{ | ;}|$(|)|`|\"|'|\\\\|\\n|\\n| | | |$x|${x|:-|}|\\$'|<<E|\\nE\\n|<<<|>f|<f|2>&1|<(|>(|if |then |; fi|while |do |; done|for x in |case x in |esac|)|;;|[[ | ]]|==|((|))|$((|))|!|time |coproc |function f|f()|#|\\\\\\n|=|x=|x+=|a[|]|eval |command |exec |{a,|,b}|~|*|?|@(|$@|$\"|\\t|&>f|>&2|[|test |-eq|trap |EXIT|set |--|<<'E'|<<-E|${#|${!|%|/|;&|;;&|select x in |until |elif |else |alias |shopt -s |{fd}>|\\r|é|\\xa0|read |local |declare -A |export |1>|>\\||&>>|let |$[|]|return|break|exit|printf |[0]|x=(|+=(|$$|$!|$?|$-|$1|$_|,|..|^^|@Q|:1|!(|+(|unset |cd sub|- |c1\\n", "|")

var zshTokens = strings.Split("=(|=c1|*(e:'c2':)|*(.)|repeat 2 |for x (a b) |${(e)x}|${(f)x}|$x[1]|$x:h|~[|nocorrect |noglob |- |() {|} always {|foreach |end|&!|&\\||$=x|$~x|$^x|$+x|<->|^a|**/|a#|setopt |emulate sh|print |-s|function {|if [[ a ]] {|alias -g |;\\||>>!|>!|!!|^a^b|'c1''c2'|\\${${x}}|${x:=c1}|${~x}|${=x}|~+|~-|=ls|x=(a b)|{c1..c3}|typeset -T|(#q|[^a]|%1|zmodload |autoload |while c1 {", "|")

func (g *generator) soup() string {
	var sb strings.Builder
	for range 2 + g.r.IntN(14) {
		tok := g.token()
		sb.WriteString(tok)
		if g.one(3) {
			sb.WriteByte(' ')
		}
	}
	return sb.String()
}

func (g *generator) token() string {
	from := soupTokens
	if g.dialect == Zsh && g.one(3) || g.one(60) {
		from = zshTokens
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\xa0`, "\u00a0", `\$`, "$", `\\`, `\`, `\|`, "|").Replace(g.pick(from...))
}

// mutate changes a line in a few places.
func (g *generator) mutate(text string, times int) string {
	line := []byte(text)
	for range times {
		if len(line) == 0 {
			break
		}
		at := g.r.IntN(len(line))
		switch g.r.IntN(8) {
		case 0:
			line = append(line[:at], line[at+1:]...)
		case 1:
			tok := g.pick(";", "\n", "c8 ", "'", "\"", "`", "$(", ")", "|", "&", " ", "\\", "{", "}", "<(", "#", "$x", "\t", "=", "~", "*", "\r", "\\\n", "[", "]", "(", "!", "<", ">", "-", "é", "\xff", "@", ",", "^", ":", "$", "''", "\"\"", "1", "$'", "<<E\n")
			line = append(line[:at], append([]byte(tok), line[at:]...)...)
		case 2:
			other := g.corpus[g.r.IntN(len(g.corpus))]
			cut := g.r.IntN(len(other) + 1)
			line = append(line[:at], other[cut:]...)
		case 3:
			line[at], line[len(line)/2] = line[len(line)/2], line[at]
		case 4: // leave a stretch out
			end := min(len(line), at+1+g.r.IntN(6))
			line = append(line[:at], line[end:]...)
		case 5: // say a stretch twice
			end := min(len(line), at+1+g.r.IntN(12))
			line = append(line[:end:end], line[at:]...)
		case 6:
			line = append(line[:at:at], append([]byte(g.token()), line[at:]...)...)
		case 7: // a line continuation
			line = append(line[:at:at], append([]byte("\\\n"), line[at:]...)...)
		}
	}
	return string(line)
}

// splice inserts one line into another, possibly quoted.
func (g *generator) splice(a, b string) string {
	at := g.r.IntN(len(a) + 1)
	switch g.r.IntN(7) {
	case 0:
		b = "$(" + b + ")"
	case 1:
		b = backquoted(b)
	case 2:
		b = doubleQuoted(b)
	case 3:
		b = singleQuoted(b)
	case 4:
		b = "eval " + singleQuoted(b) + "\n"
	case 5:
		b = "<<E\n" + b + "\nE\n"
	}
	return a[:at] + b + a[at:]
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func doubleQuoted(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(s) + `"`
}

func backquoted(s string) string {
	return "`" + strings.NewReplacer("`", "\\`", `\`, `\\`).Replace(s) + "`"
}

// newline ends a line, followed by the bodies of the here-documents that began in it.
func (g *generator) newline() string {
	out := "\n"
	if len(g.docs) == 0 && g.one(2) {
		out = ""
	}
	for _, d := range g.docs {
		out += d
	}
	g.docs = nil
	return out
}

// inner generates text whose here-documents end inside it.
func (g *generator) inner(make func() string) string {
	outer := g.docs
	g.docs = nil
	out := make()
	if len(g.docs) > 0 {
		out += g.newline()
	}
	g.docs = outer
	return out
}

func (g *generator) list() string {
	var sb strings.Builder
	for i := range 1 + g.r.IntN(3) {
		if i > 0 {
			switch sep := g.pick("; ", ";", " && ", " || ", " | ", "\n", " & ", " |& ", " &&\n", " |\n", "; # "+g.comment()+"\n", "\n\n", "|", "&&"); {
			case strings.HasSuffix(sep, "\n"):
				sb.WriteString(strings.TrimSuffix(sep, "\n") + "\n" + strings.TrimPrefix(g.newline(), "\n"))
			default:
				sb.WriteString(sep)
			}
		}
		sb.WriteString(g.command())
	}
	return sb.String()
}

func (g *generator) comment() string {
	return g.pick("", "c1", "it's", "$(c2)", "\"", "`", "<<E", "\\")
}

// command returns a command of any kind.
func (g *generator) command() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 5 || g.one(3) {
		return g.simple()
	}
	if g.dialect == Zsh && g.one(6) {
		return g.zshCommand()
	}
	if (g.dialect != Sh || g.one(8)) && g.one(3) {
		return g.bashCommand()
	}
	switch g.r.IntN(24) {
	case 22:
		return g.setting() + g.pick("", g.end()+g.simple(), g.end()+g.command())
	case 23:
		return g.pick("", g.setting()+g.end()) + g.builtin()
	case 0:
		return "(" + g.list() + ")" + g.redirections()
	case 1:
		return "{ " + g.list() + g.end() + "}" + g.redirections()
	case 2:
		return "if " + g.list() + g.end() + "then " + g.list() + g.pick("", "; elif "+g.command()+g.end()+"then "+g.command()) +
			g.pick("", g.end()+"else "+g.command()) + g.end() + "fi" + g.redirections()
	case 3:
		return "for x in " + g.words() + g.end() + "do " + g.list() + g.end() + "done"
	case 4:
		return g.caseClause(";;")
	case 5:
		return g.function() + g.end() + "f " + g.words()
	case 6, 7:
		return g.assignment()
	case 8:
		return g.command() + g.redirection()
	case 9, 10:
		return g.simple() + g.document() + g.pick("", "", " | "+g.simple(), " "+g.word(), g.document())
	case 11:
		return "eval " + g.pick(g.words(), singleQuoted(g.inner(g.list)), doubleQuoted(g.inner(g.list)), "-- "+g.words())
	case 12:
		return "trap " + singleQuoted(g.inner(g.command)) + " " + g.pick("EXIT", "0", "INT", "EXIT TERM", "--", "USR1; kill -USR1 $$")
	case 13:
		return g.pick("command ", "! ", "exec ", "command -p ", "command -v ", "builtin ", "env ", "nohup ", "time ", "exec -a x ", "\\command ") + g.simple()
	case 14:
		return g.pick("export ", "readonly ", "unset ", "export -p; ", "export -n ") + g.pick("x="+g.word(), "x", "y="+g.word()+" x", g.word())
	case 15:
		return g.pick("while ", "until ") + g.command() + g.end() + "do " + g.command() + g.end() + "break; done"
	case 16:
		return "set " + g.pick("-- a b "+g.word(), "-e", "-u", "-f", "+f", "-x", "-", "-a", "-n", "-v", "+o noglob", "a -rf 'c7 x'") + "; " + g.simple() + " " + g.pick("$1", "\"$@\"", "$*", "\"$*\"", "$#")
	case 17:
		return g.simple() + " | while read " + g.pick("", "-r ") + "x" + g.pick("", " y") + g.end() + "do " + g.command() + g.end() + "done"
	case 18:
		return g.pick("sh", "bash", "dash", "zsh", "sh -e", "bash -x", "bash --norc") + " -c " + g.pick(singleQuoted(g.inner(g.list)), doubleQuoted(g.inner(g.list)), g.word()) + " " + g.words()
	case 19:
		return g.pick("break", "continue", "return", "exit", "return 1", "exit 0", ":", "shift", "wait", "cd sub", "cd /", "cd -", "umask 022", "times", "read x <a.txt", "true", "false") + g.end() + g.simple()
	case 20:
		return "printf " + g.pick("'%s\\n' ", "", "%d ", "-- ") + g.words()
	}
	return g.pick("test ", "[ ") + g.words() + " ]" + g.pick(" && ", " || ") + g.simple()
}

// end terminates a command inside a compound one.
func (g *generator) end() string {
	if len(g.docs) > 0 || g.one(4) {
		return "\n" + strings.TrimPrefix(g.newline(), "\n")
	}
	return g.pick("; ", ";", " ; ", "; ")
}

func (g *generator) caseClause(end string) string {
	out := "case " + g.word() + " in "
	for range 1 + g.r.IntN(2) {
		out += g.pick("", "(") + g.pick(g.word(), g.word()+"|"+g.word(), "*", "[a-z]*", "\"$x\"", "a\\ b") + ") " + g.list() + " " + end + g.pick(" ", "\n")
	}
	return out + g.pick("", "*) "+g.command()+g.end()) + "esac"
}

func (g *generator) function() string {
	body := g.pick("{ "+g.list()+g.end()+"}", "{ "+g.list()+g.end()+"}", "("+g.list()+")", "if c1; then "+g.command()+g.end()+"fi")
	return g.pick("f() ", "f ()\n", "f() ") + body + g.redirections()
}

// setting sets a variable that is special to the shell to a value that runs something
// if the shell takes it for more than text, in every way that a shell offers.
func (g *generator) setting() string {
	name, value := g.name(), g.payload()
	return strings.NewReplacer("N", name, "V", value).Replace(g.pick(settingWays...))
}

// builtin passes a value that runs something when evaluated to a builtin.
func (g *generator) builtin() string {
	p := g.payload()
	return strings.NewReplacer("V", p).Replace(g.pick("for x in a; do break V; done", "for x in a; do continue V; done", "shift V", "f() { return V; }; f", "exit V", "printf %d V", "printf '%s %i' a V",
		"printf '%*s' V a", "printf %s V", "test -t V", "[ -t V ]", "[ V -eq 1 ]", "test 1 -lt V", "[ -v V ]", "[ -n V ]", "test V = a", "[[ V -eq 1 ]]", "[[ -v V ]]", "[[ -t V ]]", "[[ V == a ]]", "unset V", "read V",
		"read -t V x", "wait V", "cd V", "hash V", "kill V", "umask V", "ulimit -n V", "type V", "trap V EXIT", "let V", "c1 $((V))", "x=(V); c1 ${x[V]}", "c1 ${x:V}", "getopts V x -a", "getopts a V -a", "mapfile -n V a",
		"declare -i x=V", "export V", "readonly V", "printf -v V a", "history -d V", "fc -l V", "dirs +V", "set -o V", "shopt V", "enable V", "jobs V", "bg V", "complete V", "compgen -W V", "times V", ". V", "x=V; c1 $((x))",
		"x=V; test -t x", "x=V; exit x", "local V", "typeset V", "alias V", "command -v V", "builtin V", "exec V", "eval V", "sleep V", "x=V; c1 ${!x}", "x=V; c1 ${x@P}", "case V in V) c1;; esac", "c1 <<<V", "c1 >&V", "c1 <V")) + g.end() + g.simple()
}

// payload returns a value that runs c9 if a shell evaluates or expands it.
func (g *generator) payload() string {
	return strings.ReplaceAll(g.pick("'b[$(c9)]'", "'b[$(c9)]'", "'b[`c9`]'", "b[\\$\\(c9\\)]", "b[\\`c9\\`]", "\"b[\\$(c9)]\"", "$'b[$(c9)]'", "$'b[\\x24(c9)]'", "'$(c9)'", "'`c9`'", "'1+b[$(c9)]'", "c9", "x", "5", "''", "\"$x\"", g.word()),
		"b[", g.pick("b[", "path[", "argv["))
}

func (g *generator) name() string {
	if g.one(3) {
		return g.names[g.r.IntN(len(g.names))]
	}
	return g.pick("RANDOM", "SECONDS", "OPTIND", "HISTCMD", "COLUMNS", "PS4", "BASHPID", "SRANDOM", "LINES", "SHLVL", "x", "REPLY", "_")
}

// translation prints text that the message catalogue x in directory /t of the box
// translates into a substitution. Bash looks it up when it reads the line.
func (g *generator) translation() string {
	return g.pick("", "export ", "LC_ALL=C.UTF-8 ; ", "LANG=C.UTF-8\n", "readonly ", "declare ") + g.pick("TEXTDOMAINDIR=/t", "TEXTDOMAINDIR=../t", "x=/t; TEXTDOMAINDIR=$x", "read TEXTDOMAINDIR <<< /t", "printf -v TEXTDOMAINDIR /t", "TEXTDOMAINDIR=/t\nexport TEXTDOMAINDIR") +
		g.pick("; ", "\n", " && ") + g.pick("TEXTDOMAIN=x", "export TEXTDOMAIN=x", "declare TEXTDOMAIN=x", "printf -v TEXTDOMAIN x", "for TEXTDOMAIN in x; do c1; done", "TEXTDOMAIN=x; c2") +
		g.pick("\n", "\n", "; ") + g.pick("c1 $\"hello\"", "x=$\"hello\"", "$\"hello\"", "c1 <<< $\"hello\"", "c1 \"${x:-$\"hello\"}\"", "case $\"hello\" in a) ;; esac", "[[ $\"hello\" == a ]]", "for x in $\"hello\"; do c1; done", "bash -c 'c1 $\"hello\"'", "eval 'c1 $\"hello\"'")
}

func (g *generator) assignment() string {
	return g.pick("x", "y", "z", "_a1", "x", "y", g.name()) + g.pick("=", "=", "+=") + g.pick("", g.word(), g.word()) + g.pick("", "", " y="+g.word(), " x="+g.word())
}

func (g *generator) redirections() string {
	if g.one(5) {
		return g.redirection()
	}
	return ""
}

func (g *generator) redirection() string {
	ops := []string{" >", " 2>", " >>", " <", " >&2 ", " 2>&1 ", " 2>&- ", " >|", " <>", " 3<", " 0<&1 ", ">", " <&- "}
	if g.dialect != Sh || g.one(8) {
		ops = append(ops, " <<<", " <<< ", " &>", " &>>", " >&", " {fd}>", " {fd}<&-", " 2>&1-", "<<<")
	}
	op := g.pick(ops...)
	if strings.HasSuffix(op, " ") && op != " <<< " {
		return op
	}
	return op + g.pick("a.txt", "/dev/null", g.word(), "f", "sub")
}

// document begins a here-document, whose body follows at the next newline.
func (g *generator) document() string {
	delim, open := "E", g.pick("E", "E", "'E'", "\"E\"", "\\E", "E''", "\"\"E")
	op := g.pick(" <<", " <<", " <<-", " 3<<")
	body := ""
	for range g.r.IntN(3) {
		body += g.pick("", "", "\t") + g.pick(g.word(), "c7 $x", "$(c8)", "`c9`", "\\$(c10)", "${x:-"+g.word()+"}", "it's", "\"", "\\", "$((1+1))", "E x", " E", "a \\") + "\n"
	}
	if strings.HasSuffix(op, "-") && g.one(2) {
		delim = "\tE"
	}
	g.docs = append(g.docs, body+delim+g.pick("\n", "\n", "\n", "\n", ""))
	return op + open
}

// bashCommand returns a command that sh does not have.
func (g *generator) bashCommand() string {
	switch g.r.IntN(21) {
	case 20:
		return g.translation() + g.pick("", g.end()+g.simple())
	case 0, 1:
		return "[[ " + g.condition() + " ]]" + g.pick(" && ", " || ", g.end()) + g.simple()
	case 2:
		return "(( " + g.arith() + " ))" + g.pick(" && ", g.end()) + g.simple()
	case 3:
		return "for ((i=0; i<" + g.arith() + "; i++))" + g.end() + "do " + g.command() + g.end() + "break; done"
	case 4:
		return g.pick("a", "x") + g.pick("=", "+=") + "(" + g.pick(g.words(), "[1]="+g.word()+" "+g.word(), "["+g.arith()+"]=a", "\n"+g.word()+"\n") + ")" + g.end() + g.simple() + " " + g.pick("${a[@]}", "\"${a[@]}\"", "${a[0]}", "${x[*]}", "${!a[@]}", "${#a[@]}", "$a")
	case 5:
		return "declare -A h=([" + g.word() + "]=" + g.word() + ")" + g.end() + g.simple() + " ${h[" + g.word() + "]}"
	case 6:
		return g.pick("declare ", "typeset ", "local ", "declare -a ", "declare -x ", "declare -i ", "declare -r ", "declare -n ", "declare -p ") + g.pick("x="+g.word(), "x", "a=("+g.words()+")", "x="+g.word()+" y")
	case 7:
		return g.caseClause(g.pick(";&", ";;&", ";;"))
	case 8:
		return "function f" + g.pick("", "()") + " " + g.pick("{ "+g.list()+g.end()+"}", "("+g.list()+")") + g.end() + "f " + g.words()
	case 9:
		return g.pick("time ", "time -p ", "! time ", "time ! ", "time -- ") + g.pick(g.simple(), g.list(), "{ "+g.command()+g.end()+"}", "("+g.list()+")")
	case 10:
		return "coproc " + g.pick("", "N ") + g.pick(g.simple(), "{ "+g.command()+g.end()+"}")
	case 11:
		return "select x in " + g.words() + g.end() + "do " + g.command() + g.end() + "break; done"
	case 12:
		return "shopt -" + g.pick("s ", "u ") + g.pick("extglob", "expand_aliases", "nullglob", "globstar", "dotglob", "failglob", "lastpipe", "xpg_echo") + "\n" + g.pick("alias c1="+g.word()+"\nc1 "+g.words(), g.simple()+" "+g.pick("@(a|b)", "!(a*)", "**/*", "?(a)b", "*.none"))
	case 13:
		return g.pick("printf -v x ", "read -r x <<< ", "read -ra a <<< ", "mapfile -t a <<< ", "let x=", "IFS=: read x y <<< ") + g.word() + g.end() + g.simple() + " " + g.pick("$x", "\"$x\"", "${a[1]}")
	case 14:
		return "trap " + singleQuoted(g.inner(g.command)) + " " + g.pick("DEBUG", "ERR", "RETURN", "SIGINT EXIT") + "\n" + g.command()
	case 15:
		return "set -" + g.pick("o pipefail", "o posix", "o errexit", "E", "T", "k", "P", "B", "H", "euo pipefail", "o noclobber") + g.end() + g.command()
	case 16:
		return g.simple() + " |& " + g.simple()
	case 17:
		return g.pick("x=", "export x=", "c1 ", "local x=", "x+=") + g.pick("$'"+g.ansi()+"'", "$\""+g.word()+"\"", "{"+g.words()+"}")
	case 18:
		return g.pick("then", "done", "in", "}", "esac", "do", "fi", "{", "!", "[[", "]]", "function", "if", "case", "select", "time", "coproc", "elif") + " " + g.words()
	}
	return g.pick("exec 3<a.txt", "exec 3>&1", "exec >f", "exec {fd}<a.txt") + g.end() + g.simple() + g.pick("", " <&3", " >&3")
}

// zshCommand returns a command that only zsh has.
func (g *generator) zshCommand() string {
	switch g.r.IntN(22) {
	case 0:
		return "repeat " + g.pick("2", g.word()) + " " + g.command()
	case 1:
		return "for x (" + g.words() + ") " + g.command()
	case 2:
		return "for x y in " + g.words() + "; do " + g.command() + g.end() + "done"
	case 3:
		return "if [[ " + g.condition() + " ]] { " + g.list() + " } else { " + g.command() + " }"
	case 4:
		return "() { " + g.list() + g.end() + "} " + g.words()
	case 5:
		return "{ " + g.list() + " } always { " + g.command() + " }"
	case 6:
		return g.pick("nocorrect ", "noglob ", "- ", "command ", "builtin ", "exec ", "time ") + g.simple()
	case 7:
		return "foreach x (" + g.words() + ")\n" + g.command() + "\nend"
	case 8:
		return "alias -g " + g.pick("G", "c1") + "=" + singleQuoted(g.inner(g.command)) + "\n" + g.simple() + " G"
	case 9:
		return g.simple() + " >a >b" + g.redirection()
	case 10:
		return g.simple() + " " + g.pick("=("+g.list()+")", "=c1", "*(e:'c2 x':)", "*(.)", "*(N)", "a*~b", "^a", "<1-9>", "**/*", "~[c1]", "(a|b)*", "a(#q)", "*(+c1)", "*(oe:'c3':)")
	case 11:
		return g.simple() + " " + g.pick("${(e)x}", "${(f)\"$(c1)\"}", "${(s: :)x}", "$x[1]", "\"$x[1,2]\"", "$x:h", "${x:h}", "$=x", "$~x", "${=x}", "${~x}", "$^x", "$+x", "${${x}#a}", "${(P)x}", "$#x", "${x[(i)c1]}", "${#${x}}", "${x:u}")
	case 12:
		return "setopt " + g.pick("shwordsplit", "ksharrays", "globsubst", "extendedglob", "rcquotes", "autocd", "cshjunkiequotes", "nomultios", "ignorebraces", "promptsubst", "no_nomatch", "null_glob", "aliases") + g.pick("; ", "\n") + g.command()
	case 13:
		return g.pick("emulate sh", "emulate -L ksh", "emulate zsh -c "+singleQuoted(g.inner(g.command)), "autoload f", "zmodload zsh/system", "unsetopt nomatch", "print -r -- "+g.word(), "print -P "+g.word(), "vared x", "integer x="+g.arith(), "float y=1", "disable c1", "hash c1=/x/y", "rehash", "zstyle a b c", "sched", "bindkey", "zle c1", "ulimit", "whence c1", "where c1", "which c1") + g.pick("; ", "\n") + g.command()
	case 14:
		return "function " + g.pick("", "f g ") + "{ " + g.list() + g.end() + "}" + g.end() + "g " + g.words()
	case 15:
		return "while " + g.simple() + " { " + g.command() + "; break }"
	case 16:
		return "case " + g.word() + " { (" + g.word() + ") " + g.command() + " ;| *) " + g.command() + " }"
	case 17:
		return g.pick("x", "a") + "=(" + g.words() + "); " + g.simple() + " " + g.pick("$a", "$a[1]", "${a[1,-1]}", "$a[@]", "\"$a\"")
	case 18:
		return g.simple() + g.pick(" &!", " &|", " 2>&1 >f", " >!f", " >>|f", " <a.txt <b", " >>(c3)", " &>|f", "|& c2", " >&p")
	case 19:
		return "typeset " + g.pick("-a ", "-A ", "-g ", "-T P p ", "-i ", "-f ", "-u ") + g.pick("x="+g.word(), "x=("+g.words()+")", "x")
	case 20:
		return "select x (" + g.words() + ") { " + g.command() + "; break }"
	}
	return g.pick("!!", "!c1", "^a^b", "c1 !$", "%1", "#c1", "~", "..", "sub", "a=1 b", "c1;;c2", "{c1}", "{c1;c2}", "(c1)(c2)", "[[ -n a ]]c1", "x=c1 $x", "=c1", "\\c1", "c1''", "c''1", "<a.txt", "<a.txt >f", "'c1''c2'", "c1 [a", "c1 ]", "c1 {", "c1 }", "c1 a{", "c1 a}b", "c1 =", "c1 ==", "c1 =b")
}

func (g *generator) condition() string {
	return g.pick("-n ", "! ", "-f ", "-v ", "", "-z ") + g.word() + g.pick("", " == "+g.word(), " =~ "+g.pick(g.word(), "^a(b|c)$", "[[:alpha:]]+", "a\\ b"), " && "+g.word(), " < "+g.word(), " -eq "+g.arith(), " = "+g.pick("a*", "@(a|b)", "!("+g.word()+")", "+($(c3))"), " || ( "+g.word()+" != a )", " -nt b")
}

func (g *generator) simple() string {
	name := g.pick("c1", "c2", "c3", "c4", "c5", "c1", "c2", "echo", "printf", "true", "$x", "c{6,7}", "c\\8", "\"c9\"", "'c'10", "x=1 c11", "test", "./c1", "/x/c2", "c''3", "c$y", "x=1 y="+g.word()+" c12", "c1"+g.word(), "c13\\\n", "é", "c-1", "c.2", "f", "xargs c1", "find . -exec c2 {} \\;", "timeout 5 c3", "nice c1", "sudo c2")
	return strings.TrimSpace(name+" "+g.words()) + g.redirections()
}

func (g *generator) words() string {
	var sb strings.Builder
	for i := range g.r.IntN(4) {
		if i > 0 {
			sb.WriteString(g.pick(" ", " ", " ", " ", "  ", "\t", " \\\n"))
		}
		sb.WriteString(g.word())
	}
	return sb.String()
}

func (g *generator) word() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 7 {
		return g.pick("a", "b", "-n", "c7")
	}
	if (g.dialect != Sh || g.one(8)) && g.one(4) {
		return g.bashWord()
	}
	switch g.r.IntN(29) {
	case 28:
		return g.payload()
	case 0, 1:
		return "$(" + g.pick("", " ", "\n") + g.inner(g.list) + g.pick("", " ", "\n") + ")"
	case 2:
		return backquoted(g.inner(g.command))
	case 3, 4:
		return "\"" + g.quotable() + g.pick("", " ") + g.pick("", "$x", "$(c12)", "\\$(c12)", "`c13`", "$@", "'", "\\\"", "\\\\", "!", "a\nb", "#", "${x}") + "\""
	case 5:
		return "'" + strings.ReplaceAll(g.word(), "'", "") + g.pick("", " ", "\n", "\\", "\"", "$(c14)", "`", "é") + "'"
	case 6, 7:
		return g.parameter()
	case 8:
		return "$((" + g.arith() + "))"
	case 9, 10:
		return g.word() + g.word()
	case 11:
		return g.pick("~", "~/x", "*", "?", "[ab]", "*.txt", "sub/*", "~nobody", "x=~", "a:~/b", "[!a]*", "~+", "[", "]", "[[:alpha:]]")
	case 12:
		return "a\\" + g.pick(" ", "$", "\n", "\\", "'", "\"", "`", "*", "#", ";", "n", "(") + "b"
	case 13:
		return g.pick("#", "#c1", "a#b", "''#a", "$x#b", "=", "=a", "a=b", "-x=~/y", "%", "^", "@", "+", ",", "a,b", "{", "}", "{}", "{a", "a}", "!", "!a", "é", "\u00a0", "\u2028", "\xc3", "--", "-", "--a=b")
	case 14:
		if g.one(20) {
			return strings.Repeat(g.pick("a", "\\b", "'c'", "\"d\""), 300+g.r.IntN(900))
		}
	}
	return g.pick("a", "b", "a.txt", "-n", "c7", "x=1", "--", "1", "sub", "f#g", "!", "-rf", "in", "do", "c2", "E")
}

// quotable returns a word that may stand in double quotes.
func (g *generator) quotable() string { return strings.ReplaceAll(g.word(), "\"", "") }

// parameter returns an expansion that sh has.
func (g *generator) parameter() string {
	name := g.pick("x", "y", "1", "@", "z", "HOME", "x", "#", "?", "-", "_")
	switch g.r.IntN(5) {
	case 0:
		return "$" + name
	case 1:
		return "${" + name + "}"
	case 2:
		return "${#" + name + "}"
	}
	op := g.pick(":-", "-", ":+", "+", ":=", "=", "#", "##", "%", "%%", ":?", "?")
	return "${" + name + op + g.pick(g.word(), g.word(), "", "'"+strings.ReplaceAll(g.word(), "'", "")+"'", "\""+g.quotable()+"\"", "a b", "a}", "\\}") + "}"
}

// braceElem returns an element of a brace expansion that may join with what stands
// behind it.
func (g *generator) braceElem() string {
	return g.pick("", "a", "$", "a$", "\\$", "\"$\"", "$x", "${x}", "~", "[", "\"`c1`\"", "\"`c1 '\"'`\"", "\"$(c1 '\"')\"", "`c1 '}'`", "$((1+1))")
}

// dollars returns the end of an expansion in which a $ may begin something else than
// it seems to.
func (g *generator) dollars() string {
	return g.pick("-", ":-", "+", "=", "#", "/a/") + g.pick("$$(c1 a)", "$${x}", "$$${x}", "$$", "a$", "$'"+g.ansi()+"'", "$'$(c1)'", "$'\\x24(c1)'", "$'`c1`'")
}

// bashWord returns a word that sh reads differently.
func (g *generator) bashWord() string {
	switch g.r.IntN(12) {
	case 0:
		return g.pick("<(", ">(") + g.inner(g.list) + ")"
	case 1, 2:
		return "{" + g.word() + "," + g.pick("", g.word()) + g.pick("", ","+g.word()) + "}"
	case 3:
		return g.pick("{1..3}", "{a..c}", "{01..3}", "{1..5..2}", "{3..1}", "{a,b{c,d}}", "{,a}", "{a,}", "{a}", "x{a,b}y", "{$x,a}", "{a,\"b c\"}", "{\"a,b\",c}", "{a\\,b,c}", "{a,b", "{-1..1}")
	case 4:
		return "{" + g.braceElem() + "," + g.braceElem() + "}" + g.pick("", "x", "_", "\"x\"", "{x,a}")
	case 5:
		return "$'" + g.ansi() + "'"
	case 6:
		return "$\"" + g.quotable() + "\""
	case 7:
		word := "${" + g.pick("x", "q", "@") + g.dollars() + "}"
		return g.pick(word, "\""+word+"\"", "\"a"+word+" b\"", "\"$(c2 "+word+")\"", "$(c2 \""+word+"\" b)")
	case 8:
		name := g.pick("x", "y", "a", "x", "@", "a[0]", "a[@]", "h[k]")
		return "${" + g.pick("", "", "", "!", "#") + name + g.pick("", "/a/"+g.word(), "//a/"+g.word(), "/#a/"+g.word(), "/%/b", "^", "^^", ",,", "@Q", "@E", "@P", ":1", ":0:2", ": -1", "/"+g.word(), "#'a'", "%\"b\"", ":-"+g.word()) + "}"
	case 9:
		if g.r.IntN(2) == 0 {
			array := g.pick("x=(", "x+=(", "declare -a x=(", "x=([1]=") + g.pick("\\(", "a\\;b", "\\$x", "'('", "\\#", "a\\ b", "\\&", "\\)", "\"a\\\"b\"") + ")"
			return g.pick("$(", "<(", "\"$(") + array + g.pick("; ", "\n", " && ") + "c3 ${x[0]})" + g.pick("", "\"")
		}
		return "$[" + g.arith() + "]"
	case 10:
		return g.pick("@(", "!(", "+(", "?(", "*(") + g.word() + g.pick("", "|"+g.word()) + ")"
	}
	return g.pick("${!x}", "${!x@}", "${a[$(c13)]}", "${x:$((1))}", "$BASH_VERSION", "$RANDOM", "$LINENO", "${x@U}", "${BASH_SOURCE[0]}", "$FUNCNAME", "${PIPESTATUS[@]}")
}

func (g *generator) ansi() string {
	return g.pick("a", "\\n", "\\x41", "\\'", "\\101", "\\u00e9", "\\cA", "\\\\", "\\\"", "\\e", "\\0", "a b", "\\x", "\\q", "$(c14)", "`", "\\x{41}", "\\U0001F600", "") + g.pick("", "b", "'c'", "\\t")
}

func (g *generator) arith() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth < 7 && g.one(4) {
		return g.pick("("+g.arith()+")", g.arith()+g.pick("+", "*", "-", "==", "&&", "<<", ",")+g.arith(), "-"+g.arith(), g.arith()+"?"+g.arith()+":"+g.arith(), "$(("+g.arith()+"))", "x="+g.arith(), g.word())
	}
	return g.pick("1+2", "x+1", "x=3", "a[0]", "a[$(c13)]", "1 ? 2 : 3", "x++", "--x", "$x", "${x}", "0x1f", "010", "2#11", "'1'", "\"1\"", "1", "x", "$#", "!1", "~0", "1<2", fmt.Sprint(g.r.IntN(9)))
}
