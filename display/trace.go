package display

import (
	"fmt"
	"io"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// WriteTrace writes for a person how a tool use was decided: the answer of each
// layer about each action, and the decision. mode and warnings are those of the
// policy. Lines are wrapped at width cells, 0 for never, but for those that name a rule
// to copy. Write errors are ignored.
func WriteTrace(out io.Writer, width int, use *permission.ToolUse, trace *permission.Trace, mode modes.Mode, warnings []string) {
	var text strings.Builder
	writeTrace(&text, use, trace, mode, warnings)
	io.WriteString(out, wrapped(text.String(), width))
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
		p.words(line[:len(line)-len(words)], strings.TrimSuffix(words, "\n"), plain)
	}
	return p.out.String()
}

func writeTrace(out io.Writer, use *permission.ToolUse, trace *permission.Trace, mode modes.Mode, warnings []string) {
	fmt.Fprintf(out, "%s %s\nin %s, mode %s\n", visible.Line(use.Tool), Summary(use), visible.Line(use.Dir), mode)
	for _, w := range warnings {
		fmt.Fprintf(out, "warning: %s\n", visible.Line(w))
	}
	for i := range trace.Actions {
		writeAction(out, i+1, &trace.Actions[i])
	}
	if trace.Whole.Layer != 0 {
		fmt.Fprintf(out, "\nthe tool use as a whole\n%s", layerLine(">", trace.Whole.Layer, &trace.Whole))
	}
	fmt.Fprintln(out)
	writeDecision(out, trace.Decision)
}

func writeAction(out io.Writer, n int, t *permission.TracedAction) {
	fmt.Fprintf(out, "\n%d. %s  [risk %s]", n, visible.Line(t.Action), t.Risk)
	if t.Free {
		fmt.Fprint(out, "  (needs no allow: only ask and deny rules look at it)")
	}
	fmt.Fprintln(out)
	if t.Override != "" {
		fmt.Fprintf(out, "     risk: %s%s\n", visible.Line(t.Why), from(t.OverrideSource))
	}
	for layer := permission.LayerGuard; layer <= permission.LayerDefault; layer++ {
		mark, step := stepOf(t, layer)
		if step != nil || !t.Free {
			fmt.Fprint(out, layerLine(mark, layer, step))
		}
	}
	if t.NearMiss != "" {
		fmt.Fprintf(out, "     near miss: %s%s: %s\n", visible.Line(t.NearMiss), from(t.NearMissSource), visible.Line(t.Missed))
	}
}

// stepOf returns the answer of a layer about an action, nil if none. mark is ">"
// for the layer that decides the action.
func stepOf(t *permission.TracedAction, layer permission.Layer) (mark string, step *permission.Step) {
	for i := range t.Steps {
		if t.Steps[i].Layer == layer {
			step = &t.Steps[i]
			if i == t.Decides {
				mark = ">"
			}
		}
	}
	return mark, step
}

// layerLine returns the line about one layer; step may be nil.
func layerLine(mark string, layer permission.Layer, step *permission.Step) string {
	if step == nil {
		return fmt.Sprintf("   %1s %-14s -\n", mark, layer)
	}
	says := "goes on"
	if step.Behavior != 0 {
		says = step.Behavior.String()
	}
	if step.Held {
		says += " (held)"
	}
	text := fmt.Sprintf("   %1s %-14s %-8s %s", mark, layer, says, visible.Line(step.Reason))
	if step.Rule != "" {
		text += "  [" + visible.Line(step.Rule) + from(step.Source) + "]"
	}
	return strings.TrimRight(text, " ") + "\n"
}

// WriteDecision writes a decision for a person. Write errors are ignored.
func WriteDecision(out io.Writer, d permission.Decision) {
	writeDecision(out, d)
	writeCover(out, d)
}

func writeDecision(out io.Writer, d permission.Decision) {
	fmt.Fprintf(out, "%s, by %s", strings.ToUpper(d.Behavior.String()), d.Layer)
	if d.Rule != "" {
		fmt.Fprintf(out, " %s%s", visible.Line(d.Rule), from(d.RuleSource))
	}
	fmt.Fprintf(out, ": %s\nrisk %s, tier %d\n", visible.Line(d.Reason), d.Risk, d.Tier)
	if d.Message != "" {
		fmt.Fprintf(out, "the agent is told: %s\n", visible.Line(d.Message))
	}
	for _, a := range d.Advice {
		fmt.Fprintf(out, "the agent is advised first: %s\n", visible.Line(a.String()))
	}
}

// writeCover writes which rules would cover what is asked about.
func writeCover(out io.Writer, d permission.Decision) {
	for _, part := range d.Unapproved() {
		rule := part.Exact
		if rule == "" {
			rule = "nothing can be kept: it is approved once only"
		}
		fmt.Fprintf(out, "to cover %s: %s\n", visible.Line(part.Action), visible.Line(rule))
	}
}

// from returns the source of a rule in parentheses: " (agent-wrapper.toml:4:8)".
func from(s patterns.Source) string {
	if s.Name == "" {
		return ""
	}
	return " (" + visible.Line(s.String()) + ")"
}
