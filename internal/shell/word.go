package shell

import (
	"slices"
	"strings"
)

func known(text string) Word {
	if text == "" {
		return unknown()
	}
	return Word{Text: text}
}

func unknown() Word { return Word{Holes: []Hole{{At: 0, Kind: AnyText}}} }

// anyWords stands for words of which nothing is known.
func anyWords() Word { return Word{Holes: []Hole{{Kind: AnyText}}, Split: true} }

// unquoted is what a shell leaves of quotes that are in pairs.
var unquoted = strings.NewReplacer("'", "", `"`, "", `\`, "")

func sameWord(a, b *Word) bool {
	return a.Text == b.Text && a.Split == b.Split && slices.Equal(a.Holes, b.Holes)
}

// holeAt reports whether a hole stands before byte i of the text.
func (w *Word) holeAt(i int) bool {
	for _, h := range w.Holes {
		if h.At == i {
			return true
		}
	}
	return false
}

// splitAt cuts the word at the first c if no hole stands before it.
func (w *Word) splitAt(c byte) (name string, value Word, found bool) {
	i := strings.IndexByte(w.Text, c)
	if i < 0 || len(w.Holes) > 0 && w.Holes[0].At <= i {
		return w.Text, Word{}, false
	}
	return w.Text[:i], w.after(i + 1), true
}

// after returns the word from byte i on. No hole may stand before i.
func (w *Word) after(i int) Word {
	rest := *w
	rest.Text = w.Text[i:]
	if len(w.Holes) == 0 {
		return rest
	}
	rest.Holes = make([]Hole, len(w.Holes))
	for k, h := range w.Holes {
		rest.Holes[k] = Hole{At: h.At - i, Kind: h.Kind, Secret: h.Secret}
	}
	return rest
}

// cutWord returns the word without the first n bytes of its text.
func cutWord(w Word, n int) Word {
	if n > len(w.Text) {
		n = len(w.Text)
	}
	out := Word{Text: w.Text[n:], Split: w.Split, Pos: w.Pos, End: w.End}
	if n == 0 {
		out.under, out.printed = w.under, w.printed
	}
	for _, h := range w.Holes {
		if h.At >= n {
			out.Holes = append(out.Holes, Hole{At: h.At - n, Kind: h.Kind, Secret: h.Secret})
		}
	}
	return out
}

// headWord returns the part of a word between two byte offsets.
func headWord(w Word, from, to int) Word {
	out := cutWord(w, from)
	out.Text = out.Text[:to-from]
	out.Holes = slices.DeleteFunc(out.Holes, func(h Hole) bool { return h.At > to-from })
	return out
}

// pieces splits a word at a separator.
func pieces(w Word, sep byte) []Word {
	var out []Word
	for {
		at := strings.IndexByte(w.Text, sep)
		if at < 0 {
			return append(out, w)
		}
		out = append(out, headWord(w, 0, at))
		w = cutWord(w, at+1)
	}
}

// secret reports whether the word reveals the value of a variable whose name is that
// of a secret.
func (w *Word) secret() bool { return w.secrecy() != unrelated }

func (w *Word) secrecy() Secrecy {
	found := unrelated
	for _, h := range w.Holes {
		found = max(found, h.Secret)
	}
	return found
}

// revealing returns a word that reveals more: an unknown one, if it does not yet.
func (w Word) revealing(held Secrecy) Word {
	if held <= w.secrecy() {
		return w
	}
	return Word{Holes: []Hole{{Kind: AnyText, Secret: held}}}
}

// secrecyOf returns the most that one of several words reveals.
func secrecyOf(words []Word) Secrecy {
	found := unrelated
	for i := range words {
		found = max(found, words[i].secrecy())
	}
	return found
}

// holdsSecret reports whether one of several words does.
func holdsSecret(words []Word) bool { return secrecyOf(words) != unrelated }

func joinText(a, b Word) Word {
	out := Word{Text: a.Text + b.Text, Holes: a.Holes}
	for _, h := range b.Holes {
		out.Holes = append(out.Holes, Hole{At: h.At + len(a.Text), Kind: h.Kind, Secret: h.Secret})
	}
	return out
}

// joinWords returns words with blanks between them, as one text.
func joinWords(words []Word) Word {
	var sb strings.Builder
	var out Word
	for i := range words {
		if i > 0 {
			sb.WriteByte(' ')
		}
		for _, h := range words[i].Holes {
			h.At += sb.Len()
			out.Holes = append(out.Holes, h)
		}
		sb.WriteString(words[i].Text)
		out.Split = out.Split || words[i].Split
	}
	out.Text = sb.String()
	return out
}

// holeFor replaces text in a word with a hole.
func holeFor(w Word, text string, under []Word) Word {
	at := strings.Index(w.Text, text)
	out := Word{Text: w.Text[:at] + w.Text[at+len(text):], Pos: w.Pos, End: w.End}
	out.Holes = []Hole{{At: at, Kind: AnyText}}
	if out.Text == "" {
		out.under = under // with other text around the hole, the name lies elsewhere
	}
	if strings.Contains(out.Text, text) {
		return Word{Holes: []Hole{{Kind: AnyText}}, Pos: w.Pos, End: w.End}
	}
	return out
}

// show formats a word for a message, with its holes marked.
func show(w *Word) string { return w.Filled("…") }

// number reports whether arithmetic takes a word for a number, or for nothing or an
// error: digits, or holes for digits.
func number(v *Word) bool {
	for _, h := range v.Holes {
		if h.Kind != Digits && h.Kind != Number && !h.Count {
			return false
		}
	}
	if v.Text == "" {
		return len(v.Holes) > 0
	}
	return strings.Trim(strings.TrimPrefix(v.Text, "-"), "0123456789") == "" && v.Text != "-" ||
		strings.HasPrefix(v.Text, "0x") && strings.Trim(v.Text[2:], "0123456789abcdefABCDEF") == ""
}

func allNumbers(values []Word) bool {
	for i := range values {
		if !number(&values[i]) {
			return false
		}
	}
	return true
}

// digits returns the number of decimal digits that text begins with.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}
