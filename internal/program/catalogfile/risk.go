package catalogfile

import (
	"fmt"
	"strings"
)

// Classes are the words for classes of risk and the corresponding constants of
// package program.
var Classes = map[string]string{"safe": "Safe", "moderate": "Moderate", "high": "High", "forbidden": "Forbidden"}

// reasons are the default reasons of rows by class.
var reasons = map[string]string{
	"safe": "read-only", "moderate": "mutating operation", "high": "destructive operation", "forbidden": "destructive operation",
}

// unknown is the risk of a program that is unknown on purpose.
const unknown = "unknown"

// Row is the class of some uses of a program; see program.Row. Class is a key
// of Classes.
type Row struct{ Subs, With, Class, Reason, Free string }

// readRisk parses the key risk: "unknown", a row, the name of a group that has
// the rows, or a list of rows.
func (e *Entry) readRisk(value any) error {
	if len(e.Path) > 0 {
		return e.where.errorf("risk", "the risk of a subcommand is a row of its program's")
	}
	text, single := value.(string)
	if class, _, _ := strings.Cut(text, ","); single && Classes[strings.TrimSpace(class)] == "" {
		e.riskOf = text
		return nil
	}
	list := []string{text}
	if !single {
		var err error
		if list, err = e.words("risk", value); err != nil {
			return err
		}
	}
	for i, text := range list {
		row, why := parseRow(text)
		if why != "" {
			return e.where.fault(fmt.Sprintf("risk[%d]", i), text, fmt.Sprintf("risk %q: %s", text, why))
		}
		e.Risk = append(e.Risk, row)
	}
	if n := len(e.Risk); n == 0 || e.Risk[n-1].Subs != "" || e.Risk[n-1].With != "" {
		return e.where.errorf("risk", "the last row must hold for every use, to answer for what the others do not name")
	}
	return nil
}

// parseRow parses "get describe -o|--output (-v) : moderate, shows a secret";
// the second result is the error.
func parseRow(text string) (row Row, why string) {
	uses, verdict, found := strings.Cut(strings.Join(strings.Fields(text), " "), " : ")
	if !found {
		uses, verdict = "", uses
	}
	class, reason, _ := strings.Cut(verdict, ", ")
	if Classes[class] == "" {
		return row, fmt.Sprintf("unknown class %q", class)
	}
	row.Class, row.Reason = class, reason
	if reason == "" {
		row.Reason = reasons[class]
	}
	if i := strings.IndexByte(uses, '('); i >= 0 {
		free, closed := strings.CutSuffix(uses[i+1:], ")")
		if !closed || free == "" {
			return row, "the options in parentheses stand last"
		}
		uses, row.Free = uses[:i], free
	}
	var subs, with []string
	for _, word := range strings.Fields(uses) {
		switch {
		case strings.IndexByte("-+@!", word[0]) >= 0:
			with = append(with, word)
			if why := wrongWant(word); why != "" {
				return row, why
			}
		case len(with) > 0:
			return row, fmt.Sprintf("the subcommand %s stands behind an option", word)
		default:
			subs = append(subs, word)
		}
	}
	row.Subs, row.With = strings.Join(subs, " "), strings.Join(with, " ")
	return row, ""
}

// wrongWant returns what is wrong with a condition that is not a subcommand.
func wrongWant(word string) string {
	switch word[0] {
	case '+':
		if word == "+" || len(word) == 2 && word[1] >= '0' && word[1] <= '9' {
			return ""
		}
	case '@':
		if len(word) > 1 {
			return ""
		}
	case '!':
		if word == "!destroys" {
			return ""
		}
	default:
		for one := range strings.SplitSeq(word, "|") {
			if one == "" || one[0] != '-' {
				return fmt.Sprintf("%q is no list of options", word)
			}
		}
		return ""
	}
	return fmt.Sprintf("%q asks for no option, count or form", word)
}

// risk copies the rows of a group.
func (c *Book) risk(e *Entry) error {
	if e.riskOf == "" || e.riskOf == unknown {
		return nil
	}
	group := c.groups[e.riskOf]
	if group == nil || group.Risk == nil {
		return e.where.errorf("risk", "%q is no class of risk, and no group has such rows", e.riskOf)
	}
	e.Risk = group.Risk
	return nil
}

// SaysRisk reports whether the entry states its risk, possibly as unknown.
func (e *Entry) SaysRisk() bool { return e.Risk != nil || e.riskOf != "" }
