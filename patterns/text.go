package patterns

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/shell"
)

// In joined text two bytes that no word of a command line holds stand for what
// is no character.
const (
	border = '\x00' // the end of one word and the beginning of the next
	gap    = '\xff' // unknown text
)

// textPattern is a text with wildcards: literal chunks with any run of
// characters between them.
type textPattern struct {
	chunks []string
	open   bool // the text may go on with further words
}

// newTextPattern joins the words of a rule. With loose set, a blank in a word
// counts as the border of two words.
func newTextPattern(words []string, open, loose bool) textPattern {
	joined := strings.Join(words, "\x00")
	if loose {
		joined = strings.NewReplacer(" ", "\x00", "\t", "\x00", "\n", "\x00").Replace(joined)
	}
	return textPattern{chunks: strings.Split(joined, wildcard), open: open}
}

// match reports whether the pattern matches text, in time linear in the text.
func (p *textPattern) match(text string) bool {
	first, last := p.chunks[0], p.chunks[len(p.chunks)-1]
	if !strings.HasPrefix(text, first) {
		return false
	}
	if len(p.chunks) == 1 {
		return p.ends(text[len(first):])
	}
	text = text[len(first):]
	for _, chunk := range p.chunks[1 : len(p.chunks)-1] {
		at := strings.Index(text, chunk)
		if at < 0 {
			return false
		}
		text = text[at+len(chunk):]
	}
	if !p.open {
		return strings.HasSuffix(text, last)
	}
	for {
		at := strings.Index(text, last)
		if at < 0 {
			return false
		}
		if p.ends(text[at+len(last):]) || last == "" {
			return true
		}
		text = text[at+1:]
	}
}

// ends reports whether a match may end before rest.
func (p *textPattern) ends(rest string) bool {
	return rest == "" || p.open && rest[0] == border
}

// joinWords joins the words of a command to the text that patterns are matched
// against. Holes become gaps. With loose set, a blank in a word counts as the
// border of two words.
func joinWords(words []shell.Word, loose bool) string {
	size := 0
	for i := range words {
		size += len(words[i].Text) + len(words[i].Holes) + 1
	}
	text := make([]byte, 0, size)
	for i := range words {
		if i > 0 {
			text = append(text, border)
		}
		text = appendWord(text, &words[i], loose)
	}
	return string(text)
}

func appendWord(text []byte, w *shell.Word, loose bool) []byte {
	holes := w.Holes
	for i := 0; i <= len(w.Text); i++ {
		for len(holes) > 0 && holes[0].At <= i {
			text = append(text, gap)
			holes = holes[1:]
		}
		if i == len(w.Text) {
			break
		}
		c := w.Text[i]
		switch {
		case loose && (c == ' ' || c == '\t' || c == '\n'):
			c = border
		case c == border || c == gap:
			// No pattern holds these bytes; they must not look like a mark.
			c = '\x01'
		}
		text = append(text, c)
	}
	return text
}

// step is one position of a word with holes or of a pattern: a byte, or any
// run of bytes.
type step struct {
	any  bool
	kind shell.HoleKind // of an any: what may stand there
	byte byte
}

// admits reports whether byte c may stand in a run.
func (s step) admits(c byte) bool {
	switch s.kind {
	case shell.Glob:
		return c != '/' && c != border
	case shell.Digits, shell.Pipe:
		return c >= '0' && c <= '9'
	}
	return true
}

// wordSteps turns a word into steps; a word that may fall apart may hold
// borders.
func wordSteps(steps []step, w *shell.Word, loose bool) []step {
	holes := w.Holes
	for i := 0; i <= len(w.Text); i++ {
		for len(holes) > 0 && holes[0].At <= i {
			kind := holes[0].Kind
			if w.Split {
				kind = shell.AnyText
			}
			steps = append(steps, step{any: true, kind: kind})
			holes = holes[1:]
		}
		if i < len(w.Text) {
			c := w.Text[i]
			if loose && (c == ' ' || c == '\t' || c == '\n') {
				c = border
			}
			steps = append(steps, step{byte: c})
		}
	}
	return steps
}

// meets reports whether the pattern and the steps have a text in common: a
// table of two rows, one step of the text at a time.
func (p *textPattern) meets(steps []step) bool {
	pat := make([]step, 0, 64)
	for i, chunk := range p.chunks {
		if i > 0 {
			pat = append(pat, step{any: true})
		}
		for j := 0; j < len(chunk); j++ {
			pat = append(pat, step{byte: chunk[j]})
		}
	}
	row, next := make([]bool, len(pat)+1), make([]bool, len(pat)+1)
	row[0] = true
	spread(row, pat, nil)
	for i := range steps {
		if p.open && row[len(pat)] && (steps[i].any || steps[i].byte == border) {
			return true
		}
		clear(next)
		alive := advance(row, next, pat, &steps[i])
		if !alive {
			return false
		}
		row, next = next, row
	}
	return row[len(pat)]
}

// advance computes the row after one step of the text.
func advance(row, next []bool, pat []step, s *step) bool {
	alive := false
	for i, on := range row {
		if !on {
			continue
		}
		switch {
		case s.any:
			next[i] = true // the run may be empty, or what it holds is absorbed
		case i < len(pat) && pat[i].any:
			next[i] = true
		case i < len(pat) && pat[i].byte == s.byte:
			next[i+1] = true
		}
	}
	if s.any {
		spread(next, pat, s)
	} else {
		spread(next, pat, nil)
	}
	for _, on := range next {
		alive = alive || on
	}
	return alive
}

// spread goes on over wildcards of the pattern, which may be empty, and, if
// run is set, over bytes that the run may hold.
func spread(row []bool, pat []step, run *step) {
	for i := range pat {
		if row[i] && (pat[i].any || run != nil && run.admits(pat[i].byte)) {
			row[i+1] = true
		}
	}
}

// fits says whether a word can be the word of a rule, which may hold
// wildcards.
func fits(want string, w *shell.Word) Match {
	if w.Known() {
		if strings.IndexByte(want, wild) < 0 {
			return yesIf(w.Text == want)
		}
		p := textPattern{chunks: strings.Split(want, wildcard)}
		return yesIf(p.match(w.Text))
	}
	if want == wildcard && !w.Split {
		return Yes
	}
	p := textPattern{chunks: strings.Split(want, wildcard)}
	return maybeIf(p.meets(wordSteps(nil, w, false)))
}

func yesIf(ok bool) Match {
	if ok {
		return Yes
	}
	return No
}

func maybeIf(ok bool) Match {
	if ok {
		return Maybe
	}
	return No
}
