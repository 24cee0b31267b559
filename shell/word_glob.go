package shell

import "strings"

// maxGlobs is the number of words that the braces of one pattern become at most.
const maxGlobs = 64

// globWords returns the files that a pattern of a program's own names, as rg -g, grep
// --include and git know it: * ? and [..] stand for text without a slash, {a,b} for
// alternatives. A pattern matches at any depth, and one that ends in nothing but
// wildcards names the directory before them, if any. A pattern that leaves files out
// names none.
func globWords(w Word) []Word {
	if !w.Known() {
		return []Word{w}
	}
	if strings.HasPrefix(w.Text, "!") || w.Text == "" {
		return nil
	}
	var out []Word
	for _, text := range globBraces(w.Text, maxGlobs) {
		for strings.HasSuffix(text, "*") {
			cut := strings.TrimRight(text, "*")
			if cut != "" && !strings.HasSuffix(cut, "/") {
				break
			}
			text = strings.TrimSuffix(cut, "/")
		}
		for _, name := range withoutStar(behindWild(text)) {
			out = append(out, globWord(name, w))
		}
	}
	return out
}

// behindWild returns a pattern without the directories up to one that begins with a
// wildcard, and may be any: it matches at any depth.
func behindWild(text string) string {
	segments := strings.Split(strings.TrimLeft(text, "/"), "/")
	for i := len(segments) - 2; i >= 0; i-- {
		if s := segments[i]; s == "" || strings.IndexByte("*?[", s[0]) >= 0 {
			return strings.Join(segments[i+1:], "/")
		}
	}
	return strings.Join(segments, "/")
}

// fewLetters is the length of what follows a star in a pattern for names that may be of
// any kind.
const fewLetters = 5

// withoutStar returns the names that a pattern means by what follows a star at its
// beginning: .ts for *.ts, which is not to mean .env.ts, and env.local and .env.local for
// *env.local.
func withoutStar(text string) []string {
	rest := strings.TrimLeft(text, "*")
	switch {
	case text == "":
		return nil
	case rest == text, rest[0] != '.' && len(rest) < fewLetters:
		return []string{text}
	case rest[0] == '.':
		return []string{rest}
	}
	return []string{rest, "." + rest}
}

// globBraces expands the alternatives in braces, up to a number of words.
func globBraces(text string, most int) []string {
	open := strings.IndexByte(text, '{')
	if open < 0 {
		return []string{text}
	}
	end := strings.IndexByte(text[open:], '}')
	if end < 0 {
		return []string{text}
	}
	end += open
	if inner := strings.LastIndexByte(text[:end], '{'); inner > open {
		open = inner
	}
	var out []string
	for choice := range strings.SplitSeq(text[open+1:end], ",") {
		for _, one := range globBraces(text[:open]+choice+text[end+1:], most-len(out)) {
			if len(out) >= most {
				return append(out, text[:open]+"*"+text[end+1:])
			}
			out = append(out, one)
		}
	}
	return out
}

// globWord returns a pattern without braces as a word with holes.
func globWord(text string, at Word) Word {
	out := Word{Pos: at.Pos, End: at.End}
	var sb strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '*', '?', '[':
			if end := strings.IndexByte(text[i:], ']'); c == '[' && end > 0 {
				i += end
			}
			if n := len(out.Holes); n == 0 || out.Holes[n-1].At < sb.Len() {
				out.Holes = append(out.Holes, Hole{At: sb.Len(), Kind: Glob})
			}
		case '\\':
			if i++; i < len(text) {
				sb.WriteByte(text[i])
			}
		default:
			sb.WriteByte(c)
		}
	}
	out.Text = sb.String()
	return out
}

// pathspec returns the files that a pathspec of git names: gitglossary(7). What is left out
// is not named.
func pathspec(w Word) []Word {
	if rest, magic := strings.CutPrefix(w.Text, ":"); magic && w.Known() {
		w = cutWord(w, len(w.Text)-len(rest))
		if words, long := strings.CutPrefix(w.Text, "("); long {
			words, rest, _ = strings.Cut(words, ")")
			if strings.Contains(words, "exclude") {
				return nil
			}
		} else if rest = strings.TrimLeft(w.Text, "!^/:"); strings.ContainsAny(strings.TrimSuffix(w.Text, rest), "!^") {
			return nil
		}
		w = cutWord(w, len(w.Text)-len(rest))
	}
	return globWords(w)
}
