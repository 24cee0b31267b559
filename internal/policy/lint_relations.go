package policy

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// where returns the rule and its place, for a finding about another rule.
func (r *linted) where() string {
	return fmt.Sprintf("%s %s (line %d)", r.key, r.rule, r.item.Source.Line)
}

// noEffect looks for rules that have no effect.
func noEffect(l *linter) {
	for _, r := range l.rules {
		for _, w := range r.warnings {
			if w.Kind == patterns.Dead && !l.done[r] {
				l.done[r] = true
				l.find(LevelWarning, r, w.Text, "remove it")
			}
		}
	}
	l.each(patterns.Allow, func(r *linted) {
		if r.cmd == nil || r.cmd.count == 0 {
			return
		}
		if why := l.neverAllowed(r); why != "" {
			l.done[r] = true
			l.find(LevelWarning, r, "it allows nothing: "+why, "remove it, or name what the command runs")
		} else if line := l.onlyTier3(r); line != "" {
			l.done[r] = true
			l.find(LevelWarning, r, fmt.Sprintf("it allows nothing: %q is tier 3, and rules kept from answers never allow tier 3", line), "remove it, or move it to allow")
		}
	})
}

// fillings replace the wildcards of a rule when it is tried.
var fillings = []string{"any.example", "any any", "any", "x:1", "--version", ""}

// onlyTier3 returns a command that the rule names if it is an approved rule
// that names only commands of tier 3, for which such rules do not count.
func (l *linter) onlyTier3(r *linted) (line string) {
	if r.key != approvedList {
		return ""
	}
	for _, text := range fillings {
		line = r.cmd.filled(text)
		if l.allows(r, line) || r.policy.decide("Bash", "command", line).Tier != 3 {
			return ""
		}
	}
	return line
}

// neverAllowed returns why the rule allows no command that it matches, "" if it
// allows one or if this is uncertain. It tries several words after the rule's
// own: a line that is opaque with all of them is opaque by the rule's own words.
func (l *linter) neverAllowed(r *linted) string {
	c := r.cmd
	alone := (&linter{spec: &Spec{}, catalog: l.catalog}).trialOf(r) // without ask and deny rules, which are for overruled
	if c.entry != nil && (c.entry.Plain || c.entry.Wraps()) {
		return ""
	}
	why := ""
	for _, tail := range fillings {
		line := c.filled(tail)
		hidden := opaque(analyze(line, l.catalog))
		if hidden == "" || alone.decide("Bash", "command", line).Behavior.String() == "allow" {
			return ""
		}
		why = fmt.Sprintf("not even %q, because %s", line, hidden)
	}
	return why
}

// opaque returns the reason of the first opaque spot of a line, "" if it has
// none.
func opaque(facts *shell.Facts) string {
	for i := range facts.Actions {
		if a := &facts.Actions[i]; a.Kind == shell.Opaque {
			return a.Why.String()
		}
	}
	return ""
}

// filled returns the rule as a command line, with text in place of each
// wildcard.
func (c *commandShape) filled(text string) string {
	var words []string
	for _, w := range c.action.Words {
		switch full := w.Filled(text); {
		case w.Known() || full == w.Text && full != "":
			words = append(words, shellword.Quote(w.Text))
		case full != "" && w.Text == "":
			words = append(words, full) // full may be several words
		case full != "":
			words = append(words, shellword.Quote(full))
		}
	}
	return strings.Join(words, " ")
}

// duplicates looks for rules that occur twice.
func duplicates(l *linter) {
	for i, r := range l.rules {
		for _, first := range l.rules[:i] {
			if first.key == r.key && !l.done[first] && !l.done[r] && (first.rule.String() == r.rule.String() || l.covers(first, r) && l.covers(r, first)) {
				l.done[r] = true
				l.find(LevelNote, r, "it repeats "+first.where()+" says", "remove it")
			}
		}
	}
}

// overruled looks for allow rules that never take effect.
func overruled(l *linter) {
	asks := l.gateAsks()
	l.each(patterns.Allow, func(r *linted) {
		for _, by := range l.rules {
			if by.list == patterns.Allow || by.list == patterns.Ask && !asks || l.done[r] || !l.stops(by, r) {
				continue
			}
			l.done[r] = true
			l.find(LevelWarning, r, "it never allows anything: "+by.where()+" always answers first", "remove one of the two")
		}
	})
}

// gateAsks reports whether unlisted actions are asked about or decided by their
// risk. Where they are denied, an allow rule beside an ask rule makes a
// difference.
func (l *linter) gateAsks() bool {
	return l.spec.Unlisted != "deny" && (l.spec.Unlisted != "" || l.spec.Mode != modes.DontAsk.String())
}

// stops reports whether an ask or deny rule certainly matches all that an allow
// rule matches.
func (l *linter) stops(by, r *linted) bool {
	if r.cmd != nil {
		return by.surely(r.cmd.subject(), 0) || l.stopsRun(by, r.cmd)
	}
	return l.covers(by, r)
}

// stopsRun reports whether a rule certainly matches a command that the commands of an
// allow rule run, whatever follows their words: python for uv run python.
func (l *linter) stopsRun(by *linted, c *commandShape) bool {
	if by.cmd == nil || c.count == 0 {
		return false
	}
	for _, tail := range fillings {
		facts := analyze(c.filled(tail), l.catalog)
		if !slices.ContainsFunc(facts.Actions[min(1, len(facts.Actions)):], func(a shell.Action) bool {
			return a.Kind == shell.Command && by.surely(&patterns.Subject{Kind: patterns.RunCommand, Tool: tools.Bash, Command: &a}, 0)
		}) {
			return false
		}
	}
	return true
}

// shadowed looks for rules that could be removed.
func shadowed(l *linter) {
	for _, r := range l.rules {
		for _, by := range l.rules {
			if l.done[r] || by == r || l.done[by] && !l.trial || !l.shadows(by, r) {
				continue
			}
			l.done[r] = true
			why := by.where() + " covers it"
			if by.list != r.list {
				why = "it never decides: " + by.where() + " covers it"
			}
			l.find(LevelNote, r, why, "remove it, or the wider rule")
		}
	}
}

// shadows reports whether a rule that covers another makes it redundant.
func (l *linter) shadows(by, r *linted) bool {
	switch {
	case r.list == patterns.Allow && by.key == r.key:
		return l.coversAllow(by, r)
	case r.list == patterns.Allow || by.list < r.list:
		return false
	}
	return l.covers(by, r)
}

// coversAllow reports whether one allow rule allows all that another does. It
// asks the matcher, and tries the arguments of the program with the evaluator.
func (l *linter) coversAllow(by, r *linted) bool {
	if !l.covers(by, r) {
		return false
	}
	if r.cmd == nil {
		file := l.lifts(r)
		return file == "" || l.allowsUse(by, r.rule.Tool(), tools.Builtin(r.rule.Tool()).Main(), file)
	}
	for _, line := range l.attempts(r.cmd) {
		if l.allows(r, line) && !l.allows(by, line) {
			return false
		}
	}
	return true
}

// attempts returns lines that a rule matches, with the options and operands that
// may follow its words. What an allow rule covers depends on them: an exact rule
// covers what the command writes, a longer one what it fetches or runs.
func (l *linter) attempts(c *commandShape) []string {
	lines := []string{c.filled("")}
	if len(c.action.Words) == c.count {
		return lines
	}
	lines = append(lines, c.filled("any"), c.filled("any any"), c.filled("./any"))
	if !c.prefix || c.entry == nil {
		return lines
	}
	for o := range c.entry.All {
		line := c.known + " " + o.Names[0]
		if o.Value != program.NoValue {
			line += " any"
		}
		lines = append(lines, line, line+" any")
	}
	return lines
}

// covers reports whether one rule certainly matches all that another does. Both
// are in one list, or the first is in a stricter one.
func (l *linter) covers(by, r *linted) bool {
	switch {
	case by.rule.Tool() == "*":
		return r.rule.Tool() != "*"
	case r.cmd != nil && by.cmd != nil && r.list == patterns.Allow:
		// The matcher gives no answer where an argument may be an option. A rule
		// whose words begin the other's covers that case as well.
		return by.cmd.alike(r.cmd) && by.surely(r.cmd.subject(), reach(r.cmd)) || by.cmd.prefix && leads(by.cmd, r.cmd)
	case r.cmd != nil && by.cmd != nil:
		return by.cmd.prefix && leads(by.cmd, r.cmd)
	case by.rule.Bare() && !r.rule.Bare():
		return by.rule.Tool() == r.rule.Tool() || wider(r.rule.Tool()) == by.rule.Tool()
	case r.rule.Bare() || by.rule.Bare():
		return r.rule.Bare() && by.rule.Bare() && wider(r.rule.Tool()) == by.rule.Tool()
	}
	return coversPath(by.rule, r.rule) || coversName(by, r.rule)
}

// alike reports whether two rules may be about the same program.
func (c *commandShape) alike(other *commandShape) bool {
	return c.count == 0 || other.count == 0 || c.program() == other.program()
}

// reach returns how far the words of an allow rule extend.
func reach(c *commandShape) int {
	if len(c.action.Words) == c.count {
		return 0
	}
	return c.action.Reach
}

// leads reports whether the words of one rule begin those of the other. This
// suffices for ask and deny, which normalize the spelling of both in the same
// way.
func leads(by, r *commandShape) bool {
	if by.count != len(by.action.Words)-1 || by.count == 0 || by.action.Words[by.count].Text != "" || r.count < by.count {
		return false
	}
	for i := range by.count {
		if by.action.Words[i].Text != r.action.Words[i].Text {
			return false
		}
	}
	return true
}

// general returns the tool whose path rules apply to what the tool does, "" for
// a tool that neither reads nor writes paths.
func general(tool string) string {
	t := tools.Builtin(tool)
	if t == nil || t.Does != tools.Read && t.Does != tools.Write {
		return ""
	}
	return t.Does.General()
}

// wider returns the other tool whose rules apply to what the tool does as well,
// "" if there is none.
func wider(tool string) string {
	if g := general(tool); g != tool {
		return g
	}
	return ""
}

// coversPath compares path rules: a rule for everything below a directory
// covers rules for what is in it.
func coversPath(by, r *patterns.Rule) bool {
	if by.Tool() != r.Tool() && wider(r.Tool()) != by.Tool() {
		return false
	}
	dir, found := strings.CutSuffix(specifier(by), "/**")
	if !found || strings.ContainsAny(dir, `*?[{\`) {
		return false
	}
	set := patterns.NewSet(lintPlace, by, r).Rules()
	top, roots := set[0].Roots(), set[1].Roots()
	if len(top) != 1 || len(roots) == 0 {
		return false
	}
	return !slices.ContainsFunc(roots, func(root string) bool { return !below(top[0], root, specifier(r)) })
}

// below reports whether everything that a rule with this root matches is below
// another root.
func below(top, root, spec string) bool {
	if root == top {
		return strings.ContainsAny(spec, "*?[") // excludes the directory itself
	}
	_, below := subpath.Below(root, top)
	return below
}

// specifier returns the text in a rule's parentheses without a leading "./".
func specifier(r *patterns.Rule) string {
	_, spec, _ := strings.Cut(strings.TrimSuffix(r.String(), ")"), "(")
	return strings.TrimPrefix(spec, "./")
}

// coversName compares rules for hosts, names and MCP tools.
func coversName(by *linted, r *patterns.Rule) bool {
	sub := &patterns.Subject{Kind: patterns.UseTool, Tool: r.Tool(), Name: specifier(r)}
	switch {
	case strings.Contains(r.String(), "*") || by.rule.Tool() == "Bash" || r.Tool() == "Bash":
		return false
	case r.Tool() == "WebFetch":
		host := strings.TrimPrefix(specifier(r), "domain:")
		if _, port, err := net.SplitHostPort(host); err != nil || port == "" {
			host += ":0" // it stands for every port, which a rule with a port does not cover
		}
		url := patterns.NewURL(shell.Word{Text: "https://" + host + "/"})
		sub = &patterns.Subject{Kind: patterns.FetchURL, Tool: "WebFetch", URL: url}
	case general(r.Tool()) != "":
		return false
	}
	return by.surely(sub, 0)
}

// hostInCommand looks for hosts in the words of ask and deny rules.
func hostInCommand(l *linter) {
	for _, r := range l.rules {
		if r.list == patterns.Allow || r.cmd == nil || r.cmd.action.Program == nil || l.done[r] {
			continue
		}
		for _, w := range r.cmd.action.Words[1:] {
			if host := hostOf(w.Filled("*")); host != "" {
				l.find(LevelNote, r, "it matches only this spelling of this command: other programs, and WebFetch, can still reach "+host+" too",
					"name the host", Suggestion{r.key, "WebFetch(domain:" + host + ")"})
				break
			}
		}
	}
}

// hostOf returns the host of a URL in a word of a rule, "" if it has none.
func hostOf(word string) string {
	_, rest, found := strings.Cut(word, "://")
	if !found {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, ":")
	host = strings.Trim(host, "*.")
	if !strings.Contains(host, ".") || strings.Contains(host, "*") {
		return ""
	}
	return host
}

// oneTool looks for path rules for a single tool, which other tools bypass.
func oneTool(l *linter) {
	for _, r := range l.rules {
		text := wider(r.rule.Tool())
		if r.list == patterns.Allow || text == "" || l.done[r] {
			continue
		}
		if !r.rule.Bare() {
			text += "(" + specifier(r.rule) + ")"
		}
		l.find(LevelWarning, r, "it covers only the tool "+r.rule.Tool()+": other tools and commands can do the same to these files",
			"write "+wider(r.rule.Tool())+", which covers all of them", Suggestion{r.key, text})
	}
}

// unreachable looks for granular rules that follow one without conditions.
func unreachable(l *linter) {
	for i, r := range l.spec.Rules {
		for _, first := range l.spec.Rules[:i] {
			bare := len(first.Paths)+len(first.Commands)+len(first.Patterns)+len(first.Domains) == 0
			if r.Action == "deny" || first.Action == "deny" && !bare || !bare || !amongTools(r.Tools, first.Tools) {
				continue
			}
			l.findings = append(l.findings, Finding{
				Check: l.check, Level: LevelWarning, Source: r.Source, Rule: r.Action + " " + strings.Join(r.Tools, ", "),
				Why: fmt.Sprintf("the rule in line %d has no conditions and answers first", first.Source.Line),
				Fix: "put this rule before it",
			})
			break
		}
	}
}

// amongTools reports whether others contains all of the tools.
func amongTools(tools, others []string) bool {
	return !slices.ContainsFunc(tools, func(t string) bool { return !slices.Contains(others, t) })
}

// lifted lists the values of settings that remove a protection.
var lifted = []struct{ key, value, level, why, fix string }{
	{"mode", "bypassPermissions", LevelDanger, "everything that no rule denies runs without asking", `mode = "acceptEdits" asks for commands`},
	{"catastrophic", "off", LevelDanger, "rm -rf / is then treated like any other command", "remove it, and allow the one command that you need"},
	{"risk", "off", LevelNote, "commands are judged only by rules, not by what they do", "remove it"},
	{"advice", "off", LevelNote, "you are also asked about commands that the agent could rewrite so that they need no question", "remove it"},
	{"profile", "terminal", LevelNote, "reboot and similar commands are asked about, not denied", "remove it unless a person sits at the terminal"},
}

func settings(l *linter) {
	for _, s := range lifted {
		if *l.spec.settings()[s.key] != s.value {
			continue
		}
		l.findings = append(l.findings, Finding{
			Check: l.check, Level: s.level, Source: l.spec.places[s.key], Rule: s.key + " = " + stricttoml.Quote(s.value), Why: s.why, Fix: s.fix,
		})
	}
	for i := range l.spec.RiskOverrides {
		if o := &l.spec.RiskOverrides[i]; o.Risk == "safe" {
			l.findings = append(l.findings, l.harmless(o))
		}
	}
	l.spec.showRisks(func(key, answer string, at patterns.Source) {
		if answer == "allow" && strings.HasSuffix(key, ".moderate") {
			l.findings = append(l.findings, Finding{
				Check: l.check, Level: LevelWarning, Source: at, Rule: key + " = " + stricttoml.Quote(answer),
				Why: "commands that change files or contact hosts run without asking, and so does code that the agent wrote (python3 x.py)",
				Fix: "set it only for a role that needs it, or name the commands in allow",
			})
		}
	})
}

// harmless returns the finding about an override that makes actions safe.
func (l *linter) harmless(o *OverrideSpec) Finding {
	f := Finding{
		Check: l.check, Level: LevelNote, Source: o.Source, Rule: "risk_overrides " + o.String(),
		Why: "it runs without asking wherever no rule matches", Fix: "name only what is harmless",
	}
	if strings.Trim(o.Pattern, "* ") == "" && strings.Trim(o.Path, "*/") == "" {
		f.Level, f.Why = LevelDanger, "everything that is not destructive runs without asking wherever no rule matches"
	}
	return f
}

// readsDifferently reports the warnings of the parser of rules.
func readsDifferently(l *linter) {
	for _, r := range l.rules {
		for _, w := range r.warnings {
			switch {
			case l.done[r]:
			case w.Kind == patterns.Danger && r.cmd == nil:
				l.find(LevelWarning, r, w.Text, "write what you mean")
			case w.Kind == patterns.Note && tools.Builtin(r.rule.Tool()).Main() != "file_path":
				// The note that a path is absolute does not apply: in a policy file
				// absolute paths are intended.
				l.find(LevelNote, r, w.Text, "write what you mean")
			}
		}
	}
}
