package display

import (
	"fmt"
	"io"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// WriteTrace writes for a person how a tool use was decided: the answers of the layers
// about each action, and the decision. mode and warnings are those of the policy. Lines
// are wrapped at the width, 0 for never, but for those that name a rule to copy. Write
// errors are ignored.
func WriteTrace(out io.Writer, o TextOptions, use *permission.ToolUse, trace *permission.Trace, mode modes.Mode, warnings []string) {
	var text strings.Builder
	writeTrace(&text, use, trace, mode, warnings)
	io.WriteString(out, painted(wrapped(text.String(), o.Width), o.Colour))
	writeCover(out, trace.Decision)
}

// wrapped wraps the lines of a text at their indentation.
func wrapped(text string, width int) string {
	if width == 0 {
		return text
	}
	p := newPage(TextOptions{Width: width})
	for line := range strings.Lines(text) {
		words := strings.TrimLeft(line, " >")
		head := line[:len(line)-len(words)]
		p.words(head, strings.Repeat(" ", max(min(len(head), 9)-2, 0))+": ", strings.TrimSuffix(words, "\n"), plain)
	}
	return p.out.String()
}

// painted colours the word for the decision at the beginning of a line.
func painted(text string, colour bool) string {
	if !colour {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		number := line[:len(line)-len(strings.TrimLeft(line, "0123456789. "))]
		line = line[len(number):]
		word := line[:len(line)-len(strings.TrimLeft(line, "ADEKLNOSWY"))]
		out.WriteString(number + paint(word, verdicts[word]) + line[len(word):])
	}
	return out.String()
}

var verdicts = map[string]ink{"ALLOW": green, "ASK": yellow, "DENY": red}

func writeTrace(out io.Writer, use *permission.ToolUse, trace *permission.Trace, mode modes.Mode, warnings []string) {
	fmt.Fprintf(out, "%s %s\nin %s, mode %s\n", visible.Line(use.Tool), Summary(use), visible.Line(use.Dir), mode)
	for _, w := range warnings {
		fmt.Fprintf(out, "warning: %s\n", visible.Line(w))
	}
	for i := range trace.Actions {
		writeAction(out, i+1, &trace.Actions[i])
	}
	if len(trace.Actions) > 0 {
		writeLayers(out)
	}
	if trace.Whole.Layer != 0 {
		fmt.Fprintf(out, "\nthe tool use as a whole\n%s", layerLine(">", trace.Whole.Layer, &trace.Whole))
	}
	fmt.Fprintln(out)
	writeDecision(out, trace.Decision)
}

// writeAction writes an action with the layers that have an answer to it, ">" before
// the one that decides it.
func writeAction(out io.Writer, n int, t *permission.TracedAction) {
	says := "-"
	if t.Decides >= 0 {
		says = strings.ToUpper(t.Steps[t.Decides].Behavior.String())
	}
	fmt.Fprintf(out, "\n%d. %-5s  %s  [%s]\n", n, says, visible.Line(t.Action), t.Risk.Word())
	if t.Free {
		fmt.Fprint(out, "     needs no allow: only ask and deny rules look at it\n")
	}
	if t.Override != "" {
		fmt.Fprintf(out, "     risk: %s%s\n", visible.Line(t.Why), from(t.OverrideSource))
	}
	for i := range t.Steps {
		if step := &t.Steps[i]; !t.Free || step.Behavior != 0 {
			fmt.Fprint(out, layerLine(mark(i == t.Decides), step.Layer, step))
		}
	}
	if t.NearMiss != "" {
		fmt.Fprintf(out, "     near miss      %s%s: %s\n", visible.Line(t.NearMiss), from(t.NearMissSource), visible.Line(t.Missed))
	}
}

// mark returns the sign before the layer that decides.
func mark(decides bool) string {
	if decides {
		return ">"
	}
	return " "
}

// writeLayers writes the order of the layers, since a layer without an answer is not
// shown.
func writeLayers(out io.Writer) {
	var names []string
	for layer := permission.LayerGuard; layer <= permission.LayerDefault; layer++ {
		names = append(names, layer.String())
	}
	fmt.Fprintf(out, "\nlayers in order: %s; one that is not shown has no answer\n", strings.Join(names, ", "))
}

// layerLine returns the line about the answer of one layer.
func layerLine(mark string, layer permission.Layer, step *permission.Step) string {
	says := "goes on"
	if step.Behavior != 0 {
		says = step.Behavior.String()
	}
	if step.Held {
		says += " (held)"
	}
	reason := visible.Line(step.Reason)
	text := fmt.Sprintf("   %s %-14s %-8s %s%s", mark, layer, says, reason, ruleNote(visible.Line(step.Rule), visible.Line(step.Source.String()), reason))
	return strings.TrimRight(text, " ") + "\n"
}

// WriteDecision writes a decision for a person, in lines as those of WriteTrace. Write errors
// are ignored.
func WriteDecision(out io.Writer, o TextOptions, d permission.Decision) {
	var text strings.Builder
	writeDecision(&text, d)
	io.WriteString(out, painted(wrapped(text.String(), o.Width), o.Colour))
	writeCover(out, d)
}

func writeDecision(out io.Writer, d permission.Decision) {
	fmt.Fprintf(out, "%s, by %s", strings.ToUpper(d.Behavior.String()), d.Layer)
	if d.Rule != "" {
		fmt.Fprintf(out, " %s%s", visible.Line(d.Rule), from(d.RuleSource))
	}
	fmt.Fprintf(out, ": %s\nrisk: %s, tier %d\n", visible.Line(d.Reason), d.Risk.Word(), d.Tier)
	if d.Sandbox != 0 {
		fmt.Fprintf(out, "runs %s\n", visible.Line(runsWhere(d)))
	}
	if d.Message != "" {
		fmt.Fprintf(out, "the agent is told: %s\n", visible.Line(d.Message))
	}
	for _, a := range d.Advice {
		fmt.Fprintf(out, "the agent is advised first: %s\n", visible.Line(a.String()))
	}
}

// runsWhere says where a command line runs that is allowed in a session with a sandbox.
func runsWhere(d permission.Decision) string {
	switch {
	case d.Sandbox == permission.Outside:
		return "outside the sandbox: " + d.SandboxWhy
	case d.SandboxWhy != "":
		return "inside the sandbox, although " + d.SandboxWhy
	}
	return "inside the sandbox"
}

// writeCover writes which rules would allow what is asked about, if there are any.
func writeCover(out io.Writer, d permission.Decision) {
	parts := d.Unapproved()
	for _, part := range parts {
		it := "it"
		if len(parts) > 1 {
			it = "`" + part.Action + "`"
		}
		switch {
		case part.Exact == "":
			fmt.Fprintln(out, visible.Line("an answer can only approve "+it+" once, and keep no rule"))
		case part.Allows:
			fmt.Fprintln(out, visible.Line("the rule that would allow "+it+": "+part.Exact))
		}
	}
}

// from returns the source of a rule in parentheses: " (agent-wrapper.toml:4:8)".
func from(s patterns.Source) string {
	if s.Name == "" {
		return ""
	}
	return " (" + visible.Line(s.String()) + ")"
}
