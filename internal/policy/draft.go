package policy

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Draft is a policy that is still to be written to a file.
type Draft struct {
	About          []string // the comment at the head, line by line
	Mode, Unlisted string
	AboutUnlisted  []string // the comment above unlisted
	// Allow, Ask and Deny are the lists, Rules the granular rules after them.
	Allow, Ask, Deny []Group
	Rules            []RuleSpec
}

// Group is a number of rules with a comment that says why they are there.
type Group struct {
	About string
	Rules []string
}

// Text returns the policy as a file. It loads, or the error says what does not.
func (d *Draft) Text() ([]byte, error) {
	var b bytes.Buffer
	for _, line := range d.About {
		fmt.Fprintf(&b, "# %s\n", plain(line))
	}
	b.WriteString("\n")
	if d.Mode != "" {
		fmt.Fprintf(&b, "mode = %s\n", stricttoml.Quote(d.Mode))
	}
	for _, line := range d.AboutUnlisted {
		fmt.Fprintf(&b, "# %s\n", plain(line))
	}
	fmt.Fprintf(&b, "unlisted = %s\n", stricttoml.Quote(d.Unlisted))
	for _, l := range []struct {
		about, key string
		groups     []Group
	}{
		{"# Runs without asking, unless a rule below asks or denies.", "allow", d.Allow},
		{"# Always asks, even where a rule above allows it.", "ask", d.Ask},
		{"# Never.", "deny", d.Deny},
	} {
		if len(l.groups) > 0 {
			writeList(&b, l.about, l.key, l.groups)
		}
	}
	writeRules(&b, d.Rules)
	return b.Bytes(), d.loads(b.Bytes())
}

// loads reports why the text of the draft is no policy.
func (d *Draft) loads(text []byte) error {
	spec, err := Parse(text, FileName)
	if err != nil {
		return err
	}
	_, _, _, err = spec.Compile(patterns.Place{Workspace: "/", Home: "/"})
	return err
}

// plain returns a text as it may stand in a comment.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if control(r) {
			return ' '
		}
		return r
	}, text)
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// writeRules writes granular rules.
func writeRules(b *bytes.Buffer, rules []RuleSpec) {
	for i := range rules {
		r := &rules[i]
		b.WriteString("\n[[rules]]\n")
		for _, field := range []struct {
			key    string
			values []string
		}{{"tools", r.Tools}, {"paths", r.Paths}, {"commands", r.Commands}, {"patterns", r.Patterns}, {"domains", r.Domains}} {
			if len(field.values) > 0 {
				quoted := make([]string, len(field.values))
				for i, v := range field.values {
					quoted[i] = stricttoml.Quote(v)
				}
				fmt.Fprintf(b, "%s = [%s]\n", field.key, strings.Join(quoted, ", "))
			}
		}
		fmt.Fprintf(b, "action = %s\n", stricttoml.Quote(r.Action))
		if r.Message != "" {
			fmt.Fprintf(b, "message = %s\n", stricttoml.Quote(r.Message))
		}
	}
}
