package hostrules

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// Expressions of hosts are those of JavaScript, on the text of a command. Ours are RE2, on
// its words, and only for rules that ask or deny. So an expression that allows is written
// out as the texts that it matches; one that asks or denies becomes one that matches more.

// Marks in a text that an expression matches.
const (
	anyText  = '\x01' // ".*"
	boundary = '\x02' // "\b"
	atEnd    = '\x03' // "$"
)

const maxExpression = 1 << 10

// jsOnly is what JavaScript and RE2 read differently, or only one of them reads.
var jsOnly = lazyregexp.New(`\\[^bBdDwWsStnrfvx\W_]|\\_|\(\?[^:]|\[\[:|\[\]|\[\^\]`)

// parseExpression parses an expression, without its flags.
func parseExpression(text string) *syntax.Regexp {
	if len(text) > maxExpression || jsOnly.MatchString(text) {
		return nil
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil
	}
	return re
}

// matchesNothing reports whether an expression matches the empty text.
func matchesNothing(text string) bool {
	re, err := regexp.Compile(text)
	return err == nil && re.MatchString("")
}

// texts returns the texts with marks that an expression matches; ok is false if they are
// too many, or not texts.
func texts(re *syntax.Regexp) (all []string, ok bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText:
		return []string{""}, true
	case syntax.OpEndText:
		return []string{string(atEnd)}, true
	case syntax.OpWordBoundary:
		return []string{string(boundary)}, true
	case syntax.OpLiteral:
		return []string{string(re.Rune)}, true
	case syntax.OpCharClass:
		return characters(re)
	case syntax.OpCapture:
		return texts(re.Sub[0])
	case syntax.OpQuest:
		all, ok = texts(re.Sub[0])
		return append(all, ""), ok
	case syntax.OpPlus, syntax.OpStar:
		return repeated(re)
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			more, ok := texts(sub)
			if all = append(all, more...); !ok || len(all) > maxPrefixes {
				return nil, false
			}
		}
		return all, true
	case syntax.OpConcat:
		return concatenated(re)
	}
	return nil, false
}

func concatenated(re *syntax.Regexp) (all []string, ok bool) {
	all = []string{""}
	for _, sub := range re.Sub {
		more, ok := texts(sub)
		if !ok || len(all)*len(more) > maxPrefixes {
			return nil, false
		}
		var next []string
		for _, head := range all {
			for _, tail := range more {
				next = append(next, head+tail)
			}
		}
		all = next
	}
	return all, true
}

// repeated returns the text of ".*", and that of blanks, of which one stands for several.
func repeated(re *syntax.Regexp) ([]string, bool) {
	sub := re.Sub[0]
	switch {
	case re.Op == syntax.OpStar && (sub.Op == syntax.OpAnyCharNotNL || sub.Op == syntax.OpAnyChar):
		return []string{string(anyText)}, true
	case re.Op == syntax.OpPlus && (blanks(sub) || sub.Op == syntax.OpLiteral && string(sub.Rune) == " "):
		return []string{" "}, true
	}
	return nil, false
}

// blanks reports whether a class is "\s".
func blanks(re *syntax.Regexp) bool {
	if re.Op != syntax.OpCharClass {
		return false
	}
	for i := 0; i < len(re.Rune); i += 2 {
		if re.Rune[i+1] > ' ' {
			return false
		}
	}
	return true
}

func characters(re *syntax.Regexp) (all []string, ok bool) {
	if blanks(re) {
		return []string{" "}, true
	}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if all = append(all, string(r)); len(all) > maxPrefixes {
				return nil, false
			}
		}
	}
	return all, true
}

// specifiers returns the specifiers of Bash rules that allow no more than an expression
// does, "" and why if there are none. With ends set, "$" is the end of a command;
// otherwise it never matches.
func specifiers(expression string, ends bool) (specs []string, why string) {
	const no = "it is not a list of texts that commands begin with"
	re := parseExpression(expression)
	if re == nil {
		return nil, no
	}
	all, ok := texts(re)
	if !ok {
		return nil, no
	}
	for _, text := range all {
		if !ends && strings.ContainsRune(text, atEnd) {
			continue
		}
		spec := specifier(text)
		if spec == "" {
			return nil, no
		}
		specs = append(specs, spec)
	}
	specs = joined(specs)
	if len(specs) == 0 {
		return nil, no
	}
	return specs, ""
}

// joined writes "x * *" and "x" as "x:*".
func joined(specs []string) []string {
	var all []string
	for _, spec := range specs {
		head, more := strings.CutSuffix(spec, " * *")
		switch {
		case more && slices.Contains(specs, head):
			all = append(all, head+":*")
		case !more && slices.Contains(specs, spec+" * *"):
		default:
			all = append(all, spec)
		}
	}
	return all
}

// literals returns the texts that every text that an expression matches contains.
func literals(re *syntax.Regexp) (all []string) {
	if re == nil {
		return nil
	}
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCapture, syntax.OpConcat, syntax.OpPlus:
		for _, sub := range re.Sub {
			all = append(all, literals(sub)...)
		}
	}
	return all
}

// specifier returns the specifier for a text with marks that a command begins with, "" if
// there is none.
func specifier(text string) string {
	exact := strings.HasSuffix(text, string(atEnd))
	text = strings.TrimSuffix(text, string(atEnd))
	for i, r := range text {
		after := text[min(i+1, len(text)):]
		switch {
		case r == atEnd, r == '*', r != ' ' && r != anyText && r != boundary && special(r):
			return ""
		case r == boundary && (i == 0 || !wordByte(text[i-1]) || after != "" && wordByte(after[0]) && !strings.HasPrefix(after, string(anyText))):
			return ""
		case r == anyText && i == 0:
			return "" // any program
		}
	}
	text = strings.ReplaceAll(text, string(boundary), "")
	open := !exact || strings.HasSuffix(text, string(anyText))
	text = strings.TrimRight(text, string(anyText))
	blank := strings.HasSuffix(text, " ")
	text = strings.ReplaceAll(strings.TrimSpace(text), string(anyText), "*")
	switch {
	case text == "" || strings.Contains(text, ":*") || open && strings.HasSuffix(text, ":"):
		return ""
	case blank && open:
		return text + " * *" // at least one word
	case open && !wordByte(text[len(text)-1]):
		return text + "*"
	case open:
		return text + ":*"
	}
	return text
}

func wordByte(b byte) bool {
	return b == '_' || b < 0x80 && (unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b)))
}

// loose returns an expression that matches the words of every command whose text an
// expression matches; ok is false if the expression looks at what is no part of words.
func loose(expression string, fold bool) (pattern string, ok bool) {
	re := parseExpression(expression)
	if re == nil {
		return "", false
	}
	var b strings.Builder
	if fold {
		b.WriteString("(?i)")
	}
	if !loosen(&b, re) {
		return "", false
	}
	return b.String(), true
}

const anything = "(?s:.*)"

func loosen(b *strings.Builder, re *syntax.Regexp) bool {
	each := func(open, separator, end string) bool {
		b.WriteString(open)
		for i, sub := range re.Sub {
			if i > 0 {
				b.WriteString(separator)
			}
			if !loosen(b, sub) {
				return false
			}
		}
		b.WriteString(end)
		return true
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return true
	case syntax.OpBeginText:
		b.WriteString("^")
	case syntax.OpEndText:
		b.WriteString("$")
	case syntax.OpWordBoundary:
		b.WriteString(`\b`)
	case syntax.OpLiteral:
		return loosenLiteral(b, re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoWordBoundary:
		b.WriteString(anything)
	case syntax.OpCharClass:
		return loosenClass(b, re)
	case syntax.OpCapture, syntax.OpConcat:
		return each("", "", "")
	case syntax.OpAlternate:
		return each("(?:", "|", ")")
	case syntax.OpRepeat:
		if re.Min > 0 { // once is part of more than once
			return each("", "", "")
		}
		return loosenRepeated(b, re, "*")
	case syntax.OpStar, syntax.OpQuest:
		return loosenRepeated(b, re, "*")
	case syntax.OpPlus:
		return loosenRepeated(b, re, "+")
	default:
		return false
	}
	return true
}

// loosenRepeated writes what is repeated, which adds nothing to anything.
func loosenRepeated(b *strings.Builder, re *syntax.Regexp, times string) bool {
	var sub strings.Builder
	if !loosen(&sub, re.Sub[0]) {
		return false
	}
	if sub.String() == anything {
		b.WriteString(anything)
		return true
	}
	b.WriteString("(?:" + sub.String() + ")" + times)
	return true
}

func loosenLiteral(b *strings.Builder, text []rune) bool {
	for _, r := range text {
		switch {
		case r == ' ':
			b.WriteString(" *")
		case special(r): // of quotes and operators there is no trace in words
			return false
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return true
}

// loosenClass writes a class of characters: letters and digits as they are, blanks and
// what is not named as anything.
func loosenClass(b *strings.Builder, re *syntax.Regexp) bool {
	if blanks(re) || re.Rune[len(re.Rune)-1] > unicode.MaxLatin1 {
		b.WriteString(anything)
		return true
	}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if special(r) {
				return false
			}
		}
	}
	b.WriteString(re.String())
	return true
}
