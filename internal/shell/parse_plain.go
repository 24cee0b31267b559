package shell

import (
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// plainTree is the tree of a plain line, with space for all its nodes: words without
// expansions, words that are one quoted string, and the operators | && || ; and > >>
// N>&M between them. It equals the parser's tree of such a line (FuzzPlain compares
// the two) and is built without the parser. Other lines, and long ones, are left to
// the parser.
//
// A tree returns to its pool when its line has been walked. Nothing in Facts points
// into it: facts hold strings of the line itself.
type plainTree struct {
	file   syntax.File
	stmts  arena[syntax.Stmt]
	lists  arena[*syntax.Stmt]
	calls  arena[syntax.CallExpr]
	chains arena[syntax.BinaryCmd]
	args   arena[*syntax.Word]
	words  arena[syntax.Word]
	parts  arena[syntax.WordPart]
	lits   arena[syntax.Lit]
	single arena[syntax.SglQuoted]
	double arena[syntax.DblQuoted]
	redirs arena[syntax.Redirect]
	tails  arena[*syntax.Redirect]
}

// maxPlain is the maximum length of a plain line, in bytes. The parser's columns end
// at 16,383.
const maxPlain = 4 << 10

// arena allocates values of one type. It never grows, so that pointers into it stay
// valid.
type arena[T any] struct {
	all  [64]T
	used int
}

// take returns space for n values, or nil.
func (a *arena[T]) take(n int) []T {
	if a.used+n > len(a.all) {
		return nil
	}
	from := a.used
	a.used += n
	return a.all[from:a.used:a.used]
}

func (a *arena[T]) reset() {
	if a.used == 0 {
		return
	}
	clear(a.all[:a.used])
	a.used = 0
}

var plainTrees = sync.Pool{New: func() any { return new(plainTree) }}

// plain returns the tree of a line, nil if the line is not plain.
func plain(src string) *plainTree {
	if len(src) > maxPlain {
		return nil
	}
	t := plainTrees.Get().(*plainTree)
	r := plainReader{src: src, t: t}
	if !r.readLine() {
		t.free()
		return nil
	}
	return t
}

// actions returns the number of actions of the line without those that its commands
// imply: the commands, and the files of redirections.
func (t *plainTree) actions() int {
	n := t.calls.used
	for i := range t.redirs.used {
		if t.redirs.all[i].Op != syntax.DplOut {
			n++
		}
	}
	return n
}

// free clears a tree and returns it to the pool.
func (t *plainTree) free() {
	t.file = syntax.File{}
	t.stmts.reset()
	t.lists.reset()
	t.calls.reset()
	t.chains.reset()
	t.args.reset()
	t.words.reset()
	t.parts.reset()
	t.lits.reset()
	t.single.reset()
	t.double.reset()
	t.redirs.reset()
	t.tails.reset()
	plainTrees.Put(t)
}

// plainReader builds the tree of one line from left to right.
type plainReader struct {
	src string
	at  int
	t   *plainTree
}

// readLine reads the whole line. A line without a command is not plain.
func (r *plainReader) readLine() bool {
	r.blanks()
	for r.at < len(r.src) {
		st := r.chain()
		if st == nil {
			return false
		}
		slot := r.t.lists.take(1)
		if slot == nil {
			return false
		}
		slot[0] = st
		if r.at < len(r.src) {
			if r.src[r.at] != ';' {
				return false
			}
			st.Semicolon = r.pos(r.at)
			r.at++
			r.blanks()
		}
	}
	r.t.file.Stmts = r.t.lists.all[:r.t.lists.used:r.t.lists.used]
	return r.t.lists.used > 0
}

// chain reads pipelines joined by && and ||, which nest to the left.
func (r *plainReader) chain() *syntax.Stmt {
	st := r.pipe()
	for st != nil {
		op := syntax.AndStmt
		switch {
		case r.sees("&&"):
		case r.sees("||"):
			op = syntax.OrStmt
		default:
			return st
		}
		st = r.join(st, op, 2, r.pipe)
	}
	return nil
}

// pipe reads commands joined by |.
func (r *plainReader) pipe() *syntax.Stmt {
	st := r.command()
	for st != nil && r.sees("|") && !r.sees("||") {
		if r.sees("|&") {
			return nil
		}
		st = r.join(st, syntax.Pipe, 1, r.command)
	}
	return st
}

// join returns the statement of two statements with an operator of n bytes between
// them.
func (r *plainReader) join(x *syntax.Stmt, op syntax.BinCmdOperator, n int, next func() *syntax.Stmt) *syntax.Stmt {
	at := r.at
	r.at += n
	r.blanks()
	y := next()
	stmts, chains := r.t.stmts.take(1), r.t.chains.take(1)
	if y == nil || stmts == nil || chains == nil {
		return nil
	}
	chains[0] = syntax.BinaryCmd{OpPos: r.pos(at), Op: op, X: x, Y: y}
	stmts[0] = syntax.Stmt{Position: x.Position, Cmd: &chains[0]}
	return &stmts[0]
}

// command reads the words of a simple command and the redirections after them.
func (r *plainReader) command() *syntax.Stmt {
	stmts, calls := r.t.stmts.take(1), r.t.calls.take(1)
	if stmts == nil || calls == nil {
		return nil
	}
	st, call := &stmts[0], &calls[0]
	st.Position = r.pos(r.at)
	first, redirs := r.t.args.used, r.t.tails.used
	for {
		ok := false
		switch kind, end := r.kind(); kind {
		case noWord:
			return nil
		case endOfWords:
			if r.t.args.used == first {
				return nil
			}
			call.Args = r.t.args.all[first:r.t.args.used:r.t.args.used]
			st.Cmd = call
			if r.t.tails.used > redirs {
				st.Redirs = r.t.tails.all[redirs:r.t.tails.used:r.t.tails.used]
			}
			return st
		case redirection:
			ok = r.t.args.used > first && r.redirect(end)
		default:
			ok = r.arg(kind, end)
		}
		if !ok {
			return nil
		}
		r.blanks()
	}
}

func (r *plainReader) arg(kind plainKind, end int) bool {
	word, slot := r.word(kind, end), r.t.args.take(1)
	if word == nil || slot == nil {
		return false
	}
	slot[0] = word
	return true
}

// plainKind is the kind of the next token.
type plainKind uint8

const (
	noWord      plainKind = iota // not plain
	endOfWords                   // the end, or an operator after a command
	bareWord                     // plain characters up to end
	singleWord                   // '..'
	doubleWord                   // ".."
	redirection                  // > or >>, with digits up to end before it
)

// kind returns the kind of the next token and, for a word, its end.
func (r *plainReader) kind() (kind plainKind, end int) {
	if r.at == len(r.src) {
		return endOfWords, r.at
	}
	switch r.src[r.at] {
	case ';', '|', '&':
		return endOfWords, r.at
	case '\'':
		return r.quoted(singleWord)
	case '"':
		return r.quoted(doubleWord)
	}
	return r.bare()
}

// quoted finds the end of a word that is one quoted string of printable ASCII.
func (r *plainReader) quoted(kind plainKind) (plainKind, int) {
	quote := r.src[r.at]
	for i := r.at + 1; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == quote:
			if !r.ends(i + 1) {
				return noWord, 0
			}
			return kind, i + 1
		case c < ' ' || c > '~' || kind == doubleWord && (c == '$' || c == '`' || c == '\\'):
			return noWord, 0
		}
	}
	return noWord, 0
}

// bare finds the end of a word of plain characters.
func (r *plainReader) bare() (plainKind, int) {
	i, digits := r.at, true
	for i < len(r.src) && (plainByte[r.src[i]] || r.src[i] == '=' && r.src[r.at] == '-') {
		digits = digits && r.src[i] >= '0' && r.src[i] <= '9'
		i++
	}
	switch {
	case digits && i < len(r.src) && r.src[i] == '>' && i-r.at <= 1:
		return redirection, i
	case i == r.at || !r.ends(i) || reserved(r.src[r.at:i]):
		return noWord, 0
	}
	return bareWord, i
}

// ends reports whether a word may end at i.
func (r *plainReader) ends(i int) bool {
	if i == len(r.src) {
		return true
	}
	switch r.src[i] {
	case ' ', ';', '|', '&':
		return true
	}
	return false
}

// plainByte holds the characters of a bare word that are never special to a shell,
// and * and ?, which the walker expands.
var plainByte = [256]bool{}

func init() {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@+*?" {
		plainByte[c] = true
	}
}

// reserved reports whether the parser treats a word specially, in any position.
func reserved(word string) bool {
	switch word {
	case "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
		"select", "function", "time", "coproc", "let", "declare", "local", "export", "readonly", "typeset", "nameref":
		return true
	}
	return false
}

// word returns the word that ends at end, and moves there.
func (r *plainReader) word(kind plainKind, end int) *syntax.Word {
	words, parts := r.t.words.take(1), r.t.parts.take(1)
	if words == nil || parts == nil {
		return nil
	}
	from := r.at
	r.at = end
	switch kind {
	case singleWord:
		if parts[0] = r.single(from, end); parts[0] == nil {
			return nil
		}
	case doubleWord:
		if parts[0] = r.double(from, end); parts[0] == nil {
			return nil
		}
	default:
		lit := r.lit(from, end)
		if lit == nil {
			return nil
		}
		parts[0] = lit
	}
	words[0].Parts = parts
	return &words[0]
}

func (r *plainReader) lit(from, end int) *syntax.Lit {
	lits := r.t.lits.take(1)
	if lits == nil {
		return nil
	}
	lits[0] = syntax.Lit{ValuePos: r.pos(from), ValueEnd: r.pos(end), Value: r.src[from:end]}
	return &lits[0]
}

func (r *plainReader) single(from, end int) syntax.WordPart {
	q := r.t.single.take(1)
	if q == nil {
		return nil
	}
	q[0] = syntax.SglQuoted{Left: r.pos(from), Right: r.pos(end - 1), Value: r.src[from+1 : end-1]}
	return &q[0]
}

func (r *plainReader) double(from, end int) syntax.WordPart {
	q := r.t.double.take(1)
	if q == nil {
		return nil
	}
	q[0] = syntax.DblQuoted{Left: r.pos(from), Right: r.pos(end - 1)}
	if from+1 < end-1 {
		lit, parts := r.lit(from+1, end-1), r.t.parts.take(1)
		if lit == nil || parts == nil {
			return nil
		}
		parts[0] = lit
		q[0].Parts = parts
	}
	return &q[0]
}

// redirect reads > FILE, >> FILE and N>&M, with N up to end.
func (r *plainReader) redirect(end int) bool {
	redirs, slot := r.t.redirs.take(1), r.t.tails.take(1)
	if redirs == nil || slot == nil {
		return false
	}
	d := &redirs[0]
	slot[0] = d
	if end > r.at {
		if d.N = r.lit(r.at, end); d.N == nil {
			return false
		}
	}
	r.at = end
	d.OpPos, d.Op = r.pos(end), syntax.RdrOut
	switch {
	case r.sees(">>"):
		d.Op = syntax.AppOut
		r.at += 2
	case r.sees(">&"):
		d.Op = syntax.DplOut
		r.at += 2
	default:
		r.at++
	}
	if d.Op != syntax.DplOut {
		r.blanks()
	}
	kind, end := r.kind()
	if kind != bareWord || d.Op == syntax.DplOut && (end != r.at+1 || r.src[r.at] < '0' || r.src[r.at] > '9') {
		return false
	}
	d.Word = r.word(kind, end)
	return d.Word != nil
}

func (r *plainReader) blanks() {
	for r.at < len(r.src) && r.src[r.at] == ' ' {
		r.at++
	}
}

// sees reports whether an operator comes next.
func (r *plainReader) sees(op string) bool {
	return len(r.src)-r.at >= len(op) && r.src[r.at:r.at+len(op)] == op
}

func (r *plainReader) pos(at int) syntax.Pos { return syntax.NewPos(uint(at), 1, uint(at)+1) }
