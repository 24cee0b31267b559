package install

import (
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// Diff returns a change as a unified diff, in which a screen shows all that is there.
func (c *Change) Diff() string {
	var b strings.Builder
	from, to := visible.Line(c.Path), visible.Line(c.Path)
	if !c.Existed {
		from = "/dev/null"
	}
	if c.Removed {
		to = "/dev/null"
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	if c.Target != c.Path {
		fmt.Fprintf(&b, "    (a link to %s, which is changed)\n", visible.Line(c.Target))
	}
	b.WriteString(display.Unified(unix(c.Before), unix(c.After)) + "\n")
	return b.String()
}

// unix returns a text with line feeds alone: what is changed keeps the ends of its lines.
func unix(text []byte) string { return strings.ReplaceAll(string(text), "\r\n", "\n") }
