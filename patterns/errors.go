package patterns

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is the reason why a rule is not loaded: its place, the fault, and what
// to write instead.
type Error struct {
	Source Source
	Rule   string // the text of the rule
	Col    int    // column in the text of the rule, in characters, from 1
	What   string
	Fix    string
}

func (e *Error) Error() string {
	msg := fmt.Sprintf("%srule %s: %s", e.Source.at(e.Col), shown(e.Rule), e.What)
	if e.Fix != "" {
		msg += "; " + e.Fix
	}
	return msg
}

// WarningKind is the subject of a warning.
type WarningKind uint8

// The kinds of warnings.
const (
	Note   WarningKind = iota + 1 // may differ from what was meant
	Danger                        // allows far more than it seems to
	Dead                          // never matches anything
)

// Warning is a reason to review a rule that is loaded.
type Warning struct {
	Kind   WarningKind
	Source Source
	Rule   string
	Col    int // column in the text of the rule, from 1
	Text   string
}

func (w Warning) String() string {
	return fmt.Sprintf("%srule %s: %s", w.Source.at(w.Col), shown(w.Rule), w.Text)
}

// at returns the place of a column of a rule as the beginning of a message.
func (s Source) at(col int) string {
	if s.Name == "" {
		return ""
	}
	if s.Col > 0 {
		col += s.Col - 1
	}
	if s.Line > 0 {
		return s.Name + ":" + strconv.Itoa(s.Line) + ":" + strconv.Itoa(col) + ": "
	}
	return s.Name + ":" + strconv.Itoa(col) + ": "
}

// column returns the column of byte i of text, in characters from 1.
func column(text string, i int) int {
	return utf8.RuneCountInString(text[:min(i, len(text))]) + 1
}

const maxShown = 120

// shown returns the text of a rule for a message: on one line, not too long.
func shown(rule string) string {
	if len(rule) > maxShown {
		at := maxShown
		for at > 0 && !utf8.RuneStart(rule[at]) {
			at--
		}
		rule = rule[:at] + "…"
	}
	if strings.ContainsFunc(rule, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(rule)
	}
	return rule
}
