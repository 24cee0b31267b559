package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// count counts the fates of uses.
type count struct{ run, advised, asked, refused int }

func (c *count) add(fate string) {
	switch fate {
	case run:
		c.run++
	case advised:
		c.advised++
	case asked:
		c.asked++
	default:
		c.refused++
	}
}

func (c *count) all() int { return c.run + c.advised + c.asked + c.refused }

// table returns the counts of all projects, and what follows from them.
func table(outcomes []outcome) string {
	var b strings.Builder
	b.WriteString("project   ideal  uses   run  advised  asked  refused\n")
	var sessions []outcome
	for _, name := range append(slices.Clone(kinds), everydayProject) {
		of := ofProject(outcomes, name)
		rows(&b, name, of)
		if name != everydayProject {
			sessions = append(sessions, of...)
		}
	}
	rows(&b, "sessions", sessions)
	b.WriteString("\nin 25 uses  questions  needless  advice\n")
	for _, name := range kinds {
		in25(&b, name, ofProject(outcomes, name))
	}
	in25(&b, "sessions", sessions)
	in25(&b, everydayProject, ofProject(outcomes, everydayProject))
	b.WriteString("\n" + verdict("sessions", sessions) + verdict(everydayProject, ofProject(outcomes, everydayProject)))
	return b.String()
}

func ofProject(outcomes []outcome, name string) []outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o outcome) bool { return o.project != name })
}

// rows writes one row for each ideal.
func rows(b *strings.Builder, name string, outcomes []outcome) {
	for _, ideal := range []string{"run", "ask", "deny"} {
		var c count
		for _, o := range outcomes {
			if o.Ideal == ideal {
				c.add(o.fate)
			}
		}
		fmt.Fprintf(b, "%-9s %-5s %5d %5d %8d %6d %8d\n", name, ideal, c.all(), c.run, c.advised, c.asked, c.refused)
	}
}

// in25 writes how many questions there are in 25 uses, about as many as an
// agent makes in an hour.
func in25(b *strings.Builder, name string, outcomes []outcome) {
	var all, vain count
	for _, o := range outcomes {
		all.add(o.fate)
		if o.Ideal == run {
			vain.add(o.fate)
		}
	}
	average := func(n int) float64 { return float64(25*n) / float64(max(1, len(outcomes))) }
	fmt.Fprintf(b, "%-11s %9.1f %9.1f %7.1f\n", name, average(all.asked), average(vain.asked), average(all.advised))
}

// verdict says what the goals are about: what should not run and does, and which
// questions come again because no answer to them lasts.
func verdict(name string, outcomes []outcome) string {
	of := func(ideal, fate string) (all, lasting, kept int) {
		for _, o := range outcomes {
			if o.Ideal == ideal && o.fate == fate {
				all, lasting, kept = all+1, lasting+number(o.lasting), kept+number(o.kept)
			}
		}
		return all, lasting, kept
	}
	denyRun, _, _ := of("deny", run)
	askRun, _, askKept := of("ask", run)
	askAsked, _, _ := of("ask", asked)
	vain, settled, _ := of(run, asked)
	unasked := askRun - askKept
	percent := 100 * float64(unasked) / float64(max(1, askRun+askAsked))
	return fmt.Sprintf("%s: ideal deny allowed %d; ideal ask allowed %d (%.1f %%), and %d more by what the person answered before; needless questions that no answer settles %d of %d\n",
		name, denyRun, unasked, percent, askKept, vain-settled, vain)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// needless returns what is asked about needlessly, by cause, in sessions and in
// single lines.
func needless(outcomes []outcome) string {
	single := func(o outcome) bool { return o.project == everydayProject }
	return "== sessions\n" + byCause(slices.DeleteFunc(slices.Clone(outcomes), single)) +
		"\n== everyday\n" + byCause(ofProject(outcomes, everydayProject))
}

func byCause(outcomes []outcome) string {
	groups := map[string][]outcome{}
	for _, o := range outcomes {
		if o.Ideal == run && o.fate != run {
			groups[cause(&o)] = append(groups[cause(&o)], o)
		}
	}
	names := slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(groups[b]), len(groups[a])), cmp.Compare(a, b))
	})
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%d %s\n", len(groups[name]), name)
		for _, o := range groups[name] {
			b.WriteString("    " + line(&o) + "\n")
		}
	}
	return b.String()
}

// named matches what a reason quotes or names, which differs between uses of one
// cause.
var named = regexp.MustCompile(`"[^"]*"|\S*/\S*`)

// cause returns the cause of a question, that of the first part that is asked
// about: what the part does, and why it is asked.
func cause(o *outcome) string {
	parts := o.said.Unapproved()
	if len(parts) == 0 {
		return fmt.Sprintf("%s: %s", o.said.Layer, named.ReplaceAllString(o.said.Reason, "…"))
	}
	p := &parts[0]
	why, rest := p.Reason, ""
	if about, _, found := strings.Cut(p.Reason, ": "+p.Action); found {
		why, rest = about, p.Reason[len(about)+len(": "+p.Action):]
	}
	return fmt.Sprintf("%s: %s: %s%s", p.Layer, heading(p), named.ReplaceAllString(why, "…"), named.ReplaceAllString(rest, "…"))
}

// heading returns what a part is about: the program and its subcommand, or the
// kind of access.
func heading(p *permission.Part) string {
	var words []string
	for _, w := range p.Words[:min(2, len(p.Words))] {
		if w.Known() && !strings.HasPrefix(w.Text, "-") && !strings.Contains(w.Text, "/") {
			words = append(words, w.Text)
		}
	}
	if len(words) == 0 {
		verb, _, _ := strings.Cut(p.Action, " ")
		return verb
	}
	return strings.Join(words, " ")
}

// amiss returns one short line for each use that did not become what it ideally
// would.
func amiss(outcomes []outcome) string {
	fates := map[string]string{"run": run, "ask": asked, "deny": refused}
	var b strings.Builder
	for _, o := range outcomes {
		if o.fate != fates[o.Ideal] {
			fmt.Fprintf(&b, "%s %s %d: ideal %s, %s\n", o.project, o.Session, o.N, o.Ideal, o.fated())
		}
	}
	return b.String()
}

// fated returns the fate, with whether an answer lasts or did.
func (o *outcome) fated() string {
	switch {
	case o.fate == asked && !o.lasting:
		return o.fate + " (only once)"
	case o.kept:
		return o.fate + " (by an answer before)"
	}
	return o.fate
}

// list returns one line for each use.
func list(outcomes []outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		b.WriteString(line(&o) + "\n")
	}
	return b.String()
}

// line returns a use with its fate on one line.
func line(o *outcome) string {
	text := string(o.Input)
	if o.Tool == "Bash" && o.Command != "" {
		text = o.Command
	}
	said := visible.Line(o.said.Reason)
	if o.said.Sandbox == permission.Outside {
		said += "; outside: " + visible.Line(o.said.SandboxWhy)
	}
	return fmt.Sprintf("%-8s %s %d: ideal %s, %s: %s %s [%s %s]", o.project, o.Session, o.N, o.Ideal, o.fated(), o.Tool, visible.Line(text), o.said.Layer, said)
}
