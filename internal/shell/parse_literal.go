package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var specialLiteral = bytesOf("\\*?[{~`")

// literal returns the text of a word without expansions of any kind.
func literal(word *syntax.Word) (string, bool) {
	if len(word.Parts) == 1 {
		// A bracket alone is the name of a command, and no pattern.
		if lit, ok := word.Parts[0].(*syntax.Lit); ok && (lit.Value == "[" || !holds(lit.Value, &specialLiteral)) {
			return lit.Value, true
		}
	}
	var sb strings.Builder
	for _, part := range word.Parts {
		if !literalPart(&sb, part, false) {
			return "", false
		}
	}
	return sb.String(), true
}

func literalPart(sb *strings.Builder, part syntax.WordPart, quoted bool) bool {
	switch p := part.(type) {
	case *syntax.Lit:
		if !quoted && strings.ContainsAny(p.Value, "*?[{~`") {
			return false
		}
		sb.WriteString(unescape(p.Value, quoted))
		return true
	case *syntax.SglQuoted:
		if p.Dollar {
			text, ok := decodeANSI(p.Value)
			sb.WriteString(text)
			return ok
		}
		sb.WriteString(p.Value)
		return true
	case *syntax.DblQuoted:
		if p.Dollar {
			return false
		}
		for _, inner := range p.Parts {
			if !literalPart(sb, inner, true) {
				return false
			}
		}
		return true
	}
	return false
}

// bytesOf returns a table of the ASCII characters.
func bytesOf(chars string) (table [256]bool) {
	for i := range len(chars) {
		table[chars[i]] = true
	}
	return table
}

// holds reports whether text holds a character of the table.
func holds(text string, table *[256]bool) bool {
	for i := range len(text) {
		if table[text[i]] {
			return true
		}
	}
	return false
}

// partText returns the literal text of a word, with "?" for each part that is not
// literal.
func partText(word *syntax.Word) string {
	text := ""
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text += lit.Value
		} else {
			text += "?"
		}
	}
	return text
}

func quotedDelimiter(word *syntax.Word) bool {
	for _, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, "\\") {
			return true
		}
	}
	return false
}

func isBraceExp(part syntax.WordPart) bool {
	_, ok := part.(*syntax.BraceExp)
	return ok
}

func isLit(part syntax.WordPart) bool {
	_, ok := part.(*syntax.Lit)
	return ok
}

// mayHoldBraces reports whether the unquoted text of a word may make a brace
// expansion.
func mayHoldBraces(word *syntax.Word) bool {
	open := false
	for _, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			switch lit.Value[i] {
			case '\\':
				i++
			case '{':
				open = true
			case ',', '.':
				if open {
					return true
				}
			}
		}
	}
	return false
}

// plainVariable returns the name of a word that is $name, "$name" or ${name}.
func plainVariable(word *syntax.Word) string {
	if len(word.Parts) != 1 {
		return ""
	}
	part := word.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Exp != nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil {
		return ""
	}
	return p.Param.Value
}

// leadingName returns the NAME of a word that begins with NAME=.
func leadingName(word *syntax.Word) (string, bool) {
	if len(word.Parts) == 0 {
		return "", false
	}
	lit, ok := word.Parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	name, _, found := strings.Cut(lit.Value, "=")
	return name, found && syntax.ValidName(name)
}

// plainValue returns the value of an assignment if it is literal.
func plainValue(a *syntax.Assign) Word {
	if a.Append || a.Index != nil || a.Array != nil {
		return unknown()
	}
	return plainWordText(a.Value)
}

// plainWordText returns a literal word, else an unknown one.
func plainWordText(word *syntax.Word) Word {
	if word == nil {
		return Word{}
	}
	text, plain := literal(word)
	if !plain {
		return unknown()
	}
	return Word{Text: text}
}

// trailing returns the number of backslashes at the end of text.
func trailing(text string) int { return len(text) - len(strings.TrimRight(text, "\\")) }

// traces reports whether options of set may switch the trace on.
func traces(args []*syntax.Word) bool {
	for _, arg := range args {
		text, _ := literal(arg)
		if tracesOption(text) {
			return true
		}
	}
	return false
}

// tracesOption reports whether a word of set, or of a shell, is or may be an option that
// switches the trace on: -x, -ex, xtrace behind -o.
func tracesOption(text string) bool {
	return text == "xtrace" || strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Contains(text, "x")
}
