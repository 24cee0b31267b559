package briefing

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMention is the length of the longest path that is looked for, in bytes.
const maxMention = 4096

// mentions returns the paths that a text names with @, each once, in order: @src/x.go,
// @my\ file.md and @"my file.md", at the begin of a line or behind a blank, and not in
// code (`@x`, or between lines ```). What is not there is no path: @alice.
func mentions(text string) []string {
	var all []string
	fence := ""
	for line := range strings.Lines(text) {
		mark := fenceOf(line)
		switch {
		case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark:
			fence = ""
		case fence == "" && mark != "":
			fence = mark
		case fence == "":
			all = append(all, mentionsIn(line)...)
		}
	}
	return unique(all)
}

// unique returns a list without repetitions, in order.
func unique(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(item string) bool {
		was := seen[item]
		seen[item] = true
		return was
	})
}

// fenceOf returns the ``` or ~~~ with which a line begins a block of code, "" if it does
// not.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, sign := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, sign); len(line)-len(rest) >= 3 && (sign == "~" || !strings.Contains(rest, sign)) {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}

// mentionsIn returns the mentions of a line.
func mentionsIn(line string) []string {
	var all []string
	before := ' '
	for at := 0; at < len(line); {
		r, size := utf8.DecodeRuneInString(line[at:])
		switch {
		case r == '`':
			if end := strings.IndexByte(line[at+1:], '`'); end >= 0 {
				at += end + 1
			}
		case r == '@' && unicode.IsSpace(before):
			path, length := mentioned(line[at+1:])
			if path != "" && len(path) <= maxMention {
				all = append(all, path)
			}
			at += length
		}
		before = r
		at += size
	}
	return all
}

// mentioned returns the path with which a text begins, and the length of its spelling.
func mentioned(text string) (path string, length int) {
	if rest, quoted := strings.CutPrefix(text, `"`); quoted {
		inner, _, closed := strings.Cut(rest, `"`)
		if !closed || strings.ContainsAny(inner, "\r\n") {
			return "", 0
		}
		return inner, len(inner) + 2
	}
	var b strings.Builder
	for length < len(text) {
		r, size := utf8.DecodeRuneInString(text[length:])
		if strings.HasPrefix(text[length:], `\ `) {
			r, size = ' ', 2
		} else if unicode.IsSpace(r) || unicode.IsControl(r) {
			break
		}
		b.WriteRune(r)
		length += size
	}
	return b.String(), length
}

// spellings returns the paths that a mention may mean, the most likely first: as it is,
// without a fragment (#L3), and without the signs that end a sentence.
func spellings(path string) []string {
	all := []string{path}
	if short, _, found := strings.Cut(path, "#"); found {
		all = append(all, short)
	}
	if short := strings.TrimRight(path, `.,;:!?)]}>'"`); short != path {
		all = append(all, short)
	}
	return slices.DeleteFunc(all, func(p string) bool { return p == "" })
}
