package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// piece is a part of a word: known text, or a hole.
type piece struct {
	text   string
	quoted bool // no splitting, no pathname expansion
	split  bool // text of an expansion, split at blanks
	hole   bool
	kind   HoleKind
	many   bool    // the hole may become several words, or none
	under  []Word  // of a hole: places of the names that a substitution prints
	secret Secrecy // of a hole: see Hole
	job    bool
	count  bool
}

// pieces expands parts into the sequences of pieces that they may stand for.
func (w *walker) pieces(parts []syntax.WordPart, s *scope, at place) [][]piece {
	w.step()
	out := [][]piece{nil}
	for _, part := range parts {
		var next [][]piece
		if lit, ok := part.(*syntax.Lit); ok {
			next = [][]piece{w.literal(lit, at)}
		} else {
			next = w.part(part, s, at)
		}
		out = cross(out, next)
	}
	return out
}

func cross(a, b [][]piece) [][]piece {
	if len(b) == 1 {
		for i := range a {
			a[i] = append(a[i], b[0]...)
		}
		return a
	}
	if len(a)*len(b) > maxAlts {
		for i := range a {
			a[i] = append(a[i], piece{hole: true, many: true})
		}
		return a
	}
	var out [][]piece
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(slices.Clip(slices.Clone(x)), y...))
		}
	}
	return out
}

// literal returns the pieces of literal text: escapes are removed, glob characters
// become holes, and text that hides a command from the parser becomes opaque.
func (w *walker) literal(lit *syntax.Lit, at place) []piece {
	text := lit.Value
	if w.escaped(text) {
		return []piece{{hole: true, many: true}}
	}
	if hidden(text, at.quoted) || w.backquotes > 0 && strings.Contains(text, "`") {
		w.odd(causeHiddenText)
		return []piece{{hole: true, many: true}}
	}
	if at.quoted {
		return []piece{{text: unescape(text, true), quoted: true}}
	}
	return globs(text, at)
}

// escaped adds an opaque spot for text that changes inside backquotes. They end at
// the next backquote, and drop a backslash before a newline, even in single quotes.
func (w *walker) escaped(text string) bool {
	if w.backquotes > 0 && (strings.Contains(text, "`") || strings.Contains(text, "\\\n")) {
		w.odd(causeBackquotesQuotes)
		return true
	}
	return false
}

// hidden reports whether literal text holds an unescaped backquote or process
// substitution that the parser missed.
func hidden(text string, quoted bool) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '`':
			return true
		case '<', '>':
			if !quoted && i+1 < len(text) && text[i+1] == '(' {
				return true
			}
		}
	}
	return false
}

// globs splits unquoted literal text at escapes and glob characters.
func globs(text string, at place) []piece {
	var out []piece
	var sb strings.Builder
	flush := func(quoted bool) {
		if sb.Len() > 0 {
			out = append(out, piece{text: sb.String(), quoted: quoted})
			sb.Reset()
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] == '\n' {
				continue
			}
			flush(false)
			sb.WriteByte(text[i])
			flush(true)
		case !at.assign && (c == '*' || c == '?'):
			flush(false)
			out = append(out, piece{hole: true, kind: Glob, many: true})
		case !at.assign && c == '[' && strings.IndexByte(text[i:], ']') > 0:
			flush(false)
			n, kind := bracket(text[i:])
			i += n - 1
			out = append(out, piece{hole: true, kind: kind, many: true})
		default:
			sb.WriteByte(c)
		}
	}
	flush(false)
	if len(out) == 0 && text != "" { // nothing but line continuations
		out = append(out, piece{})
	}
	return out
}

// bracketAcross reports whether a bracket pattern may begin in one part of a word and
// end in another. One that seems closed may continue: [[:alpha:]'x'].
func bracketAcross(parts []syntax.WordPart) bool {
	open := false
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case ok && open && strings.Contains(lit.Value, "]"):
			return true
		case ok:
			open = open || strings.Contains(lit.Value, "[")
		}
	}
	return false
}

// bracket returns the length of the bracket pattern at the start of text. One that
// holds a class, a quote, a slash or a bracket may end at any bracket, so that it is
// taken to reach to the last one and to match anything.
func bracket(text string) (length int, kind HoleKind) {
	end := strings.IndexByte(text, ']')
	if strings.ContainsAny(text[1:end], "[\\/") || strings.Trim(text[1:end], "!^") == "" {
		return strings.LastIndexByte(text, ']') + 1, AnyText
	}
	return end + 1, Glob
}

// tilde expands an unquoted ~ at the start. Behind = or :, where bash expands it in
// words that look like assignments, it becomes a hole.
func tilde(seq []piece, home string) []piece {
	if len(seq) == 0 || seq[0].quoted || seq[0].hole || seq[0].split {
		return tildeInside(seq)
	}
	text := seq[0].text
	if !strings.HasPrefix(text, "~") {
		return tildeInside(seq)
	}
	user, rest, slash := strings.Cut(text[1:], "/")
	if slash {
		rest = "/" + rest
	}
	dir := piece{text: home, quoted: true}
	if user != "" || home == "" || !slash && len(seq) > 1 {
		dir = piece{hole: true}
	}
	out := []piece{dir}
	if rest != "" {
		out = append(out, piece{text: rest})
	}
	return append(out, seq[1:]...)
}

func tildeInside(seq []piece) []piece {
	for i, p := range seq {
		if p.quoted || p.hole || p.split {
			continue
		}
		at := strings.Index(p.text, "=~")
		if at < 0 {
			at = strings.Index(p.text, ":~")
		}
		if at < 0 {
			continue
		}
		_, rest, slash := strings.Cut(p.text[at+2:], "/")
		if slash {
			rest = "/" + rest
		}
		out := append(slices.Clone(seq[:i]), piece{text: p.text[:at+1]}, piece{hole: true}, piece{text: rest})
		return append(out, seq[i+1:]...)
	}
	return seq
}

// assemble returns the words of a sequence of pieces after word splitting.
func assemble(seq []piece) []Word {
	var b builder
	for _, p := range seq {
		b.add(p)
	}
	return b.end()
}

// single returns a sequence of pieces as one word.
func single(seq []piece) Word {
	var b builder
	for _, p := range seq {
		p.quoted, p.many = true, false
		b.add(p)
	}
	out := b.end()
	if len(out) == 0 {
		return Word{}
	}
	return out[0]
}

// builder collects the words of one list.
type builder struct {
	done []Word
	cur  Word
	long []byte // text of cur once it is long
	some bool   // cur is a word even if it is empty
}

// maxJoined is the length, in bytes, up to which text grows by string concatenation.
// Longer text grows in a buffer, so as not to copy it for each piece.
const maxJoined = 256

func (b *builder) text(more string) {
	if len(b.long) == 0 && len(b.cur.Text)+len(more) > maxJoined && b.cur.Text != "" {
		b.long = append(b.long, b.cur.Text...)
	}
	if len(b.long) > 0 {
		b.long = append(b.long, more...)
		return
	}
	b.cur.Text += more
}

func (b *builder) len() int { return max(len(b.long), len(b.cur.Text)) }

func (b *builder) add(p piece) {
	switch {
	case p.hole:
		b.cur.Holes = append(b.cur.Holes, Hole{At: b.len(), Kind: p.kind, Secret: p.secret, Job: p.job, Count: p.count})
		b.cur.Split = b.cur.Split || p.many
		if p.under != nil && len(b.cur.Holes) == 1 {
			b.cur.under, b.cur.printed = p.under, true
		}
		b.some = true
	case p.split && !p.quoted:
		b.split(p.text)
	default:
		b.text(p.text)
		b.some = b.some || p.quoted || p.text != ""
	}
}

// split adds text of an expansion: blanks end words, glob characters expand.
func (b *builder) split(text string) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', '\n':
			b.flush()
		case '*', '?', '[':
			b.add(piece{hole: true, kind: Glob, many: true})
			if text[i] == '[' {
				b.text("[")
				b.add(piece{hole: true, kind: AnyText, many: false})
			}
		default:
			b.text(text[i : i+1])
			b.some = true
		}
	}
}

// settle drops the places of a word's names unless the text around them keeps the
// names below a known place: "dir/NAME/file", but not "..NAME".
func (w *Word) settle() {
	if w.under == nil {
		return
	}
	under, at := w.under, w.Holes[0].At
	before, behind := w.Text[:at], w.Text[at:]
	w.under = nil
	if len(w.Holes) != 1 || behind != "" && (behind[0] != '/' || strings.Contains(behind, "..")) {
		return
	}
	switch {
	case before == "" || before == "./":
		w.under = under
	case strings.HasSuffix(before, "/") && !slices.ContainsFunc(under, climbs):
		w.under = []Word{{Text: before, walk: under[0].walk}}
		if slices.ContainsFunc(under, func(u Word) bool { return u.walk != under[0].walk }) {
			w.under[0].walk = 0
		}
	}
}

// climbs reports whether a relative path may lead out of the directory that it is
// joined to.
func climbs(w Word) bool { return strings.Contains(w.Text, "..") || w.hasHole(AnyText) }

func (b *builder) flush() {
	if len(b.long) > 0 {
		b.cur.Text, b.long = string(b.long), b.long[:0]
	}
	if b.some {
		b.cur.settle()
		b.done = append(b.done, b.cur)
	}
	b.cur, b.some = Word{}, false
}

func (b *builder) end() []Word {
	b.flush()
	return b.done
}
