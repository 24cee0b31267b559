package patterns

import (
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// In joined text, two bytes that words of a command line cannot contain
// represent what is not a character.
const (
	border = '\x00' // the end of one word and the beginning of the next
	gap    = '\xff' // unknown text
)

// textPattern is a text with wildcards: literal chunks with any run of
// characters between them.
type textPattern struct {
	chunks []string
	open   bool // the text may continue with further words
}

// newTextPattern joins the words of a rule. With loose set, a space in a word
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

// joinWords joins the words of a command into the text against which patterns
// are matched. Holes become gaps. With loose set, a space in a word counts as
// the border of two words.
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
			// No pattern contains these bytes, which must not be mistaken for a mark.
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
	kind shell.HoleKind // of a run: the text that it may contain
	byte byte
}

// admits reports whether a run may contain the byte c.
func (s step) admits(c byte) bool {
	switch s.kind {
	case shell.Glob, shell.Pattern:
		return c != '/' && c != border
	case shell.Digits, shell.Pipe:
		return c >= '0' && c <= '9'
	}
	return true
}

// wordSteps converts a word to steps. A word that may split may contain
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

// meets reports whether the pattern and the steps have a text in common.
func (p *textPattern) meets(steps []step) bool {
	m := newMachine(p.chunks)
	defer m.done()
	for i := range steps {
		s := &steps[i]
		if p.open && m.ended() && (s.any || s.byte == border) {
			return true
		}
		switch {
		case !s.any:
			m.readByte(s.byte)
		case s.kind == shell.AnyText:
			m.readAnything()
		default:
			m.readSome(s)
		}
		if !m.alive() {
			return false
		}
	}
	return m.ended()
}

// machine is a nondeterministic automaton: it holds a bit for each position in
// the pattern that may have been reached.
type machine struct {
	size  int        // number of positions; the bit after the last is the end
	bytes []byte     // the literal byte at each position
	words []uint64   // all bits; those of wildcards, now and next are the first ones
	at    [256]int32 // where the positions of a byte are in words; 0: it has none
	wild  []uint64   // the positions of wildcards
	now   []uint64
	next  []uint64
}

// machines are those that were used: most are too large to be made for each of the many
// patterns that a text with a hole is compared with.
var machines = sync.Pool{New: func() any { return new(machine) }}

func newMachine(chunks []string) *machine {
	chunks = oneWild(chunks)
	m := machines.Get().(*machine)
	m.size = len(chunks) - 1
	for _, c := range chunks {
		m.size += len(c)
	}
	n := m.size/64 + 1
	m.bytes, m.words = zeroed(m.bytes, m.size), zeroed(m.words, 3*n)
	place := 0
	for i, chunk := range chunks {
		if i > 0 {
			m.words[place/64] |= 1 << (place % 64)
			place++
		}
		for j := 0; j < len(chunk); j++ {
			c := chunk[j]
			if m.at[c] == 0 {
				m.at[c] = int32(len(m.words))
				m.words = append(m.words, m.words[n:2*n]...) // zeros
			}
			m.words[int(m.at[c])+place/64] |= 1 << (place % 64)
			m.bytes[place] = c
			place++
		}
	}
	m.wild, m.now, m.next = m.words[:n:n], m.words[n:2*n:2*n], m.words[2*n:3*n:3*n]
	m.next[0] = 1
	m.turn()
	return m
}

// zeroed returns a slice of n zeros, in the place of another one if that is large enough.
func zeroed[T any](old []T, n int) []T {
	fresh := slices.Grow(old[:0], n)[:n]
	clear(fresh)
	return fresh
}

// done gives the machine back.
func (m *machine) done() {
	for _, c := range m.bytes {
		m.at[c] = 0
	}
	machines.Put(m)
}

// oneWild merges adjacent wildcards.
func oneWild(chunks []string) []string {
	if len(chunks) < 3 || !slices.Contains(chunks[1:len(chunks)-1], "") {
		return chunks
	}
	last := len(chunks) - 1
	kept := chunks[:1:1]
	for _, c := range chunks[1:last] {
		if c != "" {
			kept = append(kept, c)
		}
	}
	return append(kept, chunks[last])
}

// readByte consumes one byte: literal positions advance, wildcards stay.
func (m *machine) readByte(c byte) {
	at := m.at[c]
	carry := uint64(0)
	for i, now := range m.now {
		hit := uint64(0)
		if at != 0 {
			hit = now & m.words[int(at)+i]
		}
		m.next[i] = hit<<1 | carry | now&m.wild[i]
		carry = hit >> 63
	}
	m.turn()
}

// readAnything consumes text of which nothing is known.
func (m *machine) readAnything() {
	full := uint64(0)
	for i, now := range m.now {
		m.next[i] = full
		if full == 0 && now != 0 {
			m.next[i] = ^uint64(0) << bits.TrailingZeros64(now)
			full = ^uint64(0)
		}
	}
	m.turn()
}

// readSome consumes a run of one kind of text.
func (m *machine) readSome(s *step) {
	copy(m.next, m.now)
	for i, c := range m.bytes {
		bit := uint64(1) << (i % 64)
		if m.next[i/64]&bit != 0 && (m.wild[i/64]&bit != 0 || s.admits(c)) {
			m.next[(i+1)/64] |= 1 << ((i + 1) % 64)
		}
	}
	m.turn()
}

// turn passes wildcards, which may be empty, and makes next the current state.
func (m *machine) turn() {
	carry := uint64(0)
	for i, next := range m.next {
		over := next & m.wild[i]
		m.next[i] = next | over<<1 | carry
		carry = over >> 63
	}
	m.now, m.next = m.next, m.now
}

func (m *machine) alive() bool {
	for i, now := range m.now {
		if i < m.size/64 && now != 0 || i == m.size/64 && now<<(63-m.size%64) != 0 {
			return true
		}
	}
	return false
}

// ended reports whether the end of the pattern may have been reached.
func (m *machine) ended() bool { return m.now[m.size/64]&(1<<(m.size%64)) != 0 }

// fits matches a word of a rule, which may contain wildcards, against a word.
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
