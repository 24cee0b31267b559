package display

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Menu returns the choices: first those about this tool use alone, then what would be
// kept, and the others. The rungs of the first choice that keeps rules are listed; a
// digit before one stands for that choice with this rung.
func (a *Ask) Menu(o TextOptions) string {
	p := newPage(o)
	p.blank()
	var now, looks, rest []string
	main := a.kept()
	for i := range a.Choices {
		c := &a.Choices[i]
		switch {
		case c == main:
		case slices.Contains([]string{"once", "deny", "words", "never"}, c.Name):
			now = append(now, c.Key+"  "+c.Label)
		case c.Name == "why" || c.Name == "all":
			looks = append(looks, c.Key+"  "+c.Label)
		case c.Into != "":
			rest = slices.Insert(rest, 0, c.Key+"  "+c.Label+", in "+c.Into)
		default:
			rest = append(rest, c.Key+"  "+c.Label)
		}
	}
	once := ""
	if a.Held && main == nil && len(a.Withheld) == 0 {
		once = "this can only be approved once"
	}
	p.items(append(now, looks...), once)
	if main != nil {
		p.rungs(main)
	}
	p.items(rest, "")
	if len(a.Withheld) > 0 {
		p.says("", "after v: "+strings.Join(a.Withheld, ", ")+" (not everything is shown)", plain)
	}
	return p.out.String()
}

// kept returns the first choice that keeps rules, whose rungs the menu lists; nil if
// there is none.
func (a *Ask) kept() *Choice {
	for i := range a.Choices {
		if c := &a.Choices[i]; c.Keeps && len(c.Rungs) > 0 {
			return c
		}
	}
	return nil
}

// Rung returns the choice whose rung stands on the screen after a digit, nil for a
// character that means none.
func (a *Ask) Rung(digit rune) *Choice {
	main := a.kept()
	if i := int(digit - '1'); main == nil || i < 1 || i >= min(len(main.Rungs), maxDigit) {
		return nil
	}
	return main
}

// Lists reports whether a rung stands in the menu.
func (a *Ask) Lists(r *Rung) bool {
	main := a.kept()
	return main != nil && slices.ContainsFunc(main.Rungs[:min(len(main.Rungs), maxDigit)], func(one Rung) bool { return reflect.DeepEqual(one, *r) })
}

// More reports whether anything is folded or left out, or only counted.
func (a *Ask) More() bool {
	return !a.Whole || a.Folded || len(a.Actions) > 1 || len(a.Asked) > maxCauses
}

// maxDigit is the number of rungs that have a digit.
const maxDigit = 9

// items writes choices side by side, as many as fit in a line, and a note at the right
// of the last.
func (p *page) items(all []string, note string) {
	row := ""
	for _, item := range all {
		if row != "" && cells(row)+3+cells(item) > p.width-2 {
			p.says("", row, plain)
			row = ""
		}
		if row != "" {
			row += "   "
		}
		row += item
	}
	if row != "" {
		p.sides(p.frame.side, row, plain, note, dim)
	}
}

// minRules is the least width for the column of what is kept; without that room it
// stands below the name of the choice.
const minRules = 30

// rungs writes the rungs of a choice: the first beside its name, the others after their
// digits.
func (p *page) rungs(c *Choice) {
	column := strings.Repeat(" ", cells(c.Label)+5)
	if p.width-2-len(column) < minRules {
		column = "   "
	}
	rows := aligned(c.Rungs, p.width-2-len(column))
	for i, row := range rows[:min(len(rows), maxDigit)] {
		key, name := c.Key, c.Label
		if i > 0 {
			key, name = strconv.Itoa(i+1), ""
		}
		p.named(key, name, column, row...)
	}
}

// named writes a key, a name and texts in the column behind it, which is below the name
// if that does not fit.
func (p *page) named(key, name, column string, texts ...string) {
	head := key + "  " + name
	if cells(head)+2 > len(column) && name != "" {
		p.says("", head, plain)
		head = ""
	}
	head += strings.Repeat(" ", max(len(column)-cells(head), 0))
	for _, text := range texts {
		p.words(p.frame.side+head, p.frame.side+column+"  ", text, plain)
		head = column + "  "
	}
}

// aligned returns the lines of each rung: its rules and its label in one of two columns,
// or below each other if they do not fit.
func aligned(rungs []Rung, room int) [][]string {
	wide := 0
	for i := range rungs {
		if rules, label := rungs[i].parts(); cells(rules)+2+cells(label) <= room {
			wide = max(wide, cells(rules))
		}
	}
	var out [][]string
	for i := range rungs {
		rules, label := rungs[i].parts()
		pad := max(wide-cells(rules), 0) + 2
		switch {
		case rules == "" || label == "":
			out = append(out, []string{rules + label})
		case cells(rules)+pad+cells(label) <= room:
			out = append(out, []string{rules + strings.Repeat(" ", pad) + label})
		case cells(rules)+2+cells(label) <= room:
			out = append(out, []string{rules + "  " + label})
		case rungs[i].UpTo == "" && (label == exactly || len(rungs[i].Rules) == 1 && strings.Contains(label, "`"+rules+"`")):
			out = append(out, []string{rules})
		default:
			out = append(out, []string{rules, label})
		}
	}
	return out
}

// exactly is the label of the rules for nothing but what is asked about.
const exactly = "exactly this"

// parts returns the rules of a rung and its label, which does not repeat a rule.
func (r *Rung) parts() (rules, label string) {
	label = r.Label
	for _, rule := range r.Rules {
		if _, inside, ok := strings.Cut(rule, "("); ok {
			label = strings.Replace(label, "exactly `"+strings.TrimSuffix(inside, ")")+"`", exactly, 1)
		}
	}
	return strings.Join(r.Rules, ", "), label
}

// Ladder returns the rungs of a choice as a numbered list.
func (c *Choice) Ladder(o TextOptions) string {
	p := newPage(o)
	const column = "   "
	for i, row := range aligned(c.Rungs, p.width-2-len(column)) {
		p.named(strconv.Itoa(i+1), "", column, row...)
	}
	return p.out.String()
}
