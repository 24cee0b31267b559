package shell

import (
	"bytes"
	"strings"
)

// maxGlobs is the number of words that the braces of one pattern become at most.
const maxGlobs = 64

// globWords returns the files that a pattern of a program's own names, as rg -g, grep
// --include and git know it: * ? and [..] stand for text without a slash, also for the dot
// that a name begins with, {a,b} for alternatives. A pattern matches at any depth, and one
// that ends in nothing but wildcards names the directory before them, if any. A pattern
// that leaves files out names none. If the shell finds no file for its own wildcards, they
// reach the program.
func globWords(w Word) []Word {
	switch {
	case w.onlyGlobs() && len(w.Holes) > 0:
		own := Word{Text: w.Text, Pos: w.Pos, End: w.End, matched: true}
		for _, h := range w.Holes {
			own.Holes = append(own.Holes, Hole{At: h.At, Kind: Pattern})
		}
		return []Word{w, own}
	case !w.Known():
		return []Word{w}
	case strings.HasPrefix(w.Text, "!"):
		return nil
	}
	var out []Word
	for _, text := range globTexts(w.Text) {
		for _, end := range behindWild(text) {
			for _, name := range withoutStar(end) {
				out = append(out, globWord(name, w))
			}
		}
	}
	return out
}

// GlobFiles returns the files below a directory that a pattern names, as rg -g reads it.
func GlobFiles(dir Word, pattern string) []Word {
	var files []Word
	for _, file := range globWords(Word{Text: pattern}) {
		files = append(files, joinPath(dir, file))
	}
	return files
}

// globTexts returns the alternatives of a pattern, without the wildcards at their end that
// are names of their own.
func globTexts(pattern string) []string {
	var out []string
	for _, text := range globBraces(classes(pattern), maxGlobs) {
		for strings.HasSuffix(text, "*") {
			cut := strings.TrimRight(text, "*")
			if cut != "" && !strings.HasSuffix(cut, "/") {
				break
			}
			text = strings.TrimSuffix(cut, "/")
		}
		if text != "" {
			out = append(out, text)
		}
	}
	return out
}

// inLowerCase adds names in lower case, for a program to which the case does not matter.
func inLowerCase(files []Word) []Word {
	for _, file := range files {
		if lower := strings.ToLower(file.Text); lower != file.Text && len(lower) == len(file.Text) {
			file.Text = lower
			files = append(files, file)
		}
	}
	return files
}

// maxClass is the number of characters of a class that become alternatives.
const maxClass = 8

// classes writes short classes of characters as alternatives: {.}env for [.]env.
func classes(text string) string {
	var sb strings.Builder
	for i := 0; i < len(text); i++ {
		if end := classEnd(text, i); end > 0 {
			inner := text[i+1 : end]
			if len(inner) <= maxClass && !strings.ContainsAny(inner, "[!^-\\,{}*?/") {
				sb.WriteString("{" + strings.Join(strings.Split(inner, ""), ",") + "}")
			} else {
				sb.WriteString(text[i : end+1])
			}
			i = end
			continue
		}
		if sb.WriteByte(text[i]); text[i] == '\\' && i+1 < len(text) {
			i++
			sb.WriteByte(text[i])
		}
	}
	return sb.String()
}

// classEnd returns the index of the bracket that ends a class of characters ([a-z],
// []a], [[:punct:]], [[=a=]]), or 0 if none begins here.
func classEnd(text string, at int) int {
	if text[at] != '[' {
		return 0
	}
	i := at + 1
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		i++
	}
	for first := i; i < len(text); i++ {
		if text[i] == ']' && i > first {
			return i
		}
		if namesClass(text[i:]) {
			i += max(0, strings.Index(text[i:], text[i+1:i+2]+"]")+1)
		}
	}
	return 0
}

// namesClass reports whether a text begins with the name of a class or of a character in a
// class: [:alpha:], [=a=], [.period.].
func namesClass(text string) bool {
	return len(text) > 1 && text[0] == '[' && strings.IndexByte(":=.", text[1]) >= 0
}

// behindWild returns what a pattern that matches at any depth means: what follows the
// directories that may be any, and what follows the last one that begins with a wildcard.
func behindWild(text string) []string {
	segments := strings.Split(strings.TrimLeft(text, "/"), "/")
	for i := len(segments) - 2; i >= 0; i-- {
		if s := segments[i]; s != "" && strings.IndexByte("*?[", s[0]) < 0 {
			continue
		}
		ends := []string{strings.Join(segments[i+1:], "/")}
		for from := i + 1; from > 0; from-- {
			if strings.Trim(segments[from-1], "*") == "" {
				return append(ends, strings.Join(segments[from:], "/"))[:1+min(1, i+1-from)]
			}
		}
		return append(ends, strings.Join(segments, "/"))
	}
	return []string{strings.Join(segments, "/")}
}

// withoutStar returns the names that a pattern means, and those that it means by what
// follows a star at its beginning: .ts for *.ts, env.local and .env.local for *env.local.
func withoutStar(text string) []string {
	rest := strings.TrimLeft(text, "*")
	switch {
	case rest == text:
		return []string{text}
	case rest[0] == '.':
		return []string{rest, text}
	}
	return []string{text, rest, "." + rest}
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
	out := Word{Pos: at.Pos, End: at.End, matched: true}
	var sb strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '*', '?', '[':
			i = max(i, classEnd(text, i))
			if n := len(out.Holes); n == 0 || out.Holes[n-1].At < sb.Len() {
				out.Holes = append(out.Holes, Hole{At: sb.Len(), Kind: Pattern})
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
	anyCase := false
	if rest, magic := strings.CutPrefix(w.Text, ":"); magic && w.Known() {
		w = cutWord(w, len(w.Text)-len(rest))
		if words, long := strings.CutPrefix(w.Text, "("); long {
			words, rest, _ = strings.Cut(words, ")")
			if strings.Contains(words, "exclude") {
				return nil
			}
			anyCase = strings.Contains(words, "icase")
		} else if rest = strings.TrimLeft(w.Text, "!^/:"); strings.ContainsAny(strings.TrimSuffix(w.Text, rest), "!^") {
			return nil
		}
		w = cutWord(w, len(w.Text)-len(rest))
	}
	files := append(globWords(w), spanning(w)...)
	if anyCase {
		return inLowerCase(files)
	}
	return files
}

// maxStars is the number of stars, from the end of a pattern, that may stand for a slash.
// What follows the last one includes what follows those before.
const maxStars = 8

// spanning returns the last names that a pattern means whose wildcards stand for slashes as
// well (find -path, git): what follows its last slash, and each star behind that with what
// follows.
func spanning(w Word) []Word {
	if !w.Known() {
		return nil
	}
	var out []Word
	for _, text := range globTexts(w.Text) {
		name := text[strings.LastIndexByte(text, '/')+1:]
		if name != text {
			out = append(out, globWord(name, w))
		}
		for at, stars := len(name)-1, 0; at > 0 && stars < maxStars; at-- {
			if name[at] == '*' && name[at-1] != '\\' && strings.TrimLeft(name[at:], "*") != "" {
				out = append(out, globWord(name[at:], w))
				stars++
			}
		}
	}
	return out
}

// regexWords returns the files that a regular expression means, which may match a part of
// their paths.
func regexWords(w Word) []Word {
	if !w.Known() {
		return nil
	}
	w.Text = globOfRegex(unanchored(w.Text, strings.Contains(w.Text, "|")))
	return append(wildWords(w), spanning(w)...)
}

// unanchored returns a regular expression for a whole text in which another matches a part;
// choices reports that anchors may be those of alternatives.
func unanchored(text string, choices bool) string {
	if choices {
		text = "(" + text + ")"
	}
	if choices || !strings.HasPrefix(text, "^") {
		text = ".*" + text
	}
	if choices || !strings.HasSuffix(text, "$") || strings.HasSuffix(text, `\$`) {
		text += ".*"
	}
	return text
}

// visible returns names for a program that leaves hidden files out.
func visible(files []Word) []Word {
	var out []Word
	for _, file := range files {
		if name := last(file); strings.HasPrefix(name.Text, ".") && (name.Known() || name.Holes[0].At > 0) {
			continue
		}
		for i := range file.Holes {
			file.Holes[i].Kind = Glob
		}
		out = append(out, file)
	}
	return out
}

// regexRepeats are the operators of a regular expression that repeat what stands before
// them.
const regexRepeats = "*+?{"

// globOfRegex returns a pattern that matches at least what a regular expression does:
// regex(7), also with the operators of emacs. What is repeated may be any text.
func globOfRegex(text string) string {
	glob := []byte("{")
	for i := 0; i < len(text); {
		atom, end := regexAtom(text, i)
		if i = end; i < len(text) && strings.IndexByte(regexRepeats, text[i]) >= 0 {
			if end := strings.IndexByte(text[i:], '}'); text[i] == '{' && end > 0 {
				i += end
			}
			i++
			if atom == "}" {
				glob = glob[:max(1, bytes.LastIndexByte(glob, '{'))]
			}
			atom = "*"
		}
		glob = append(glob, atom...)
	}
	return string(append(glob, '}'))
}

// regexAtom returns the pattern for one part of a regular expression, and where the next
// one begins.
func regexAtom(text string, at int) (glob string, end int) {
	switch c := text[at]; c {
	case '.':
		return "?", at + 1
	case '^', '$':
		return "", at + 1
	case '(':
		return "{", at + 1
	case ')':
		return "}", at + 1
	case '|':
		return ",", at + 1
	case '[':
		if n := strings.IndexByte(text[at+1:], ']'); n > 0 && strings.IndexByte(text[at:at+n], '/') < 0 {
			return text[at : at+n+2], at + n + 2
		} else if n > 0 {
			return "?", at + n + 2
		}
	case '\\':
		if at+1 < len(text) && strings.IndexByte("(|)", text[at+1]) >= 0 {
			return regexAtom(text, at+1)
		}
		return text[at:min(at+2, len(text))], min(at+2, len(text))
	}
	return text[at : at+1], at + 1
}
