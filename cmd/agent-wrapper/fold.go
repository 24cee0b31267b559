package main

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
)

// folded breaks a line at blanks so that each line takes at most width cells. The first
// line begins with first, the others with next. A word that is longer than a line is
// broken within, behind a slash if there is one. The result ends with a line feed.
func folded(first, next, text string, width int) string {
	var out strings.Builder
	line, used := first, cells(first)
	bare := true // nothing but the beginning is on the line
	for i, word := range strings.Split(text, " ") {
		n := cells(word)
		if i > 0 && !bare && used+1+n <= width {
			line, used = line+" ", used+1
		} else if i > 0 && !bare {
			if word == "" {
				continue // a blank at the break
			}
			out.WriteString(strings.TrimRight(line, " ") + "\n")
			line, used, bare = next, cells(next), true
		}
		for used+n > width {
			head := within(word, max(width-used, 1))
			if head == word {
				break
			}
			if at := strings.LastIndexByte(head, '/'); at > len(head)/2 {
				head = head[:at+1]
			}
			out.WriteString(line + head + "\n")
			word = word[len(head):]
			line, used, n, bare = next, cells(next), cells(word), true
		}
		line, used, bare = line+word, used+n, bare && word == ""
	}
	out.WriteString(strings.TrimRight(line, " ") + "\n")
	return out.String()
}

// cells returns how many cells of a terminal text takes, or more.
func cells(text string) int {
	n := 0
	for _, c := range display.Chars(text) {
		n += c.Width
	}
	return n
}

// within returns the longest beginning of text that takes at most width cells, and at
// least one character.
func within(text string, width int) string {
	used, at := 0, 0
	for _, c := range display.Chars(text) {
		if used += c.Width; used > width && at > 0 {
			return text[:at]
		}
		at += len(c.Text)
	}
	return text
}
