package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// prefixes calls f with the allow rules for commands that leave open what
// follows.
func (l *linter) prefixes(f func(r *linted, c *commandShape)) {
	l.each(patterns.Allow, func(r *linted) {
		if r.cmd != nil && r.cmd.prefix && r.cmd.known != "" && !slices.Contains(asksOnly, r.cmd.lastKnown()) {
			f(r, r.cmd)
		}
	})
}

// asksOnly lists options with which a program only prints something about
// itself.
var asksOnly = []string{"--version", "--help", "-V"}

// allow returns a suggestion of an allow rule for Bash.
func allow(spec string) Suggestion { return Suggestion{"allow", "Bash(" + spec + ")"} }

// everything looks for rules that match all uses of a tool or reach beyond the
// workspace.
func everything(l *linter) {
	l.each(patterns.Allow, func(r *linted) {
		switch {
		case r.rule.Bare() && l.allows(r, "unknown-program --any"):
			l.done[r] = true
			l.find(LevelDanger, r, "this allows every command line that no ask or deny rule stops", "name the commands",
				allow("git status:*"), allow("git diff:*"))
		case l.allowsUse(r, "WebFetch", "url", "https://any.example/"):
			l.find(LevelWarning, r, "the agent may contact any host and send it what it has read", "name the hosts",
				Suggestion{"allow", "WebFetch(domain:github.com)"})
		default:
			l.anyFile(r)
		}
	})
}

// anyFile looks for path rules that reach the keys and settings in the user's
// home.
func (l *linter) anyFile(r *linted) {
	tool := r.rule.Tool()
	inWorkspace := Suggestion{"allow", tool + "(./**)"}
	switch {
	case tool == "Read" || tool == "Grep" || tool == "NotebookRead":
		if l.allowsUse(r, tool, tools.Builtin(tool).Main(), "/home/dev/.ssh/id_ed25519") {
			l.done[r] = true
			l.find(LevelWarning, r, "this also allows reading files outside the workspace, such as keys in the home directory",
				"limit it to the workspace, or deny the secrets", inWorkspace, Suggestion{"deny", "Read(~/.ssh/**)"})
		}
	case tool == "Edit" || general(tool) == tools.Editor:
		if l.allowsUse(r, tool, tools.Builtin(tool).Main(), "/home/dev/.config/any") {
			l.done[r] = true
			l.find(LevelWarning, r, "this also allows changing files outside the workspace", "limit it to the workspace", inWorkspace)
		}
	}
}

// runsProgram looks for interpreters and shells that may be given any file.
func runsProgram(l *linter) {
	l.prefixes(func(r *linted, c *commandShape) {
		if c.entry == nil {
			return
		}
		for _, e := range entries(c) {
			line := c.known + e.words + " ./any-file"
			if e.entry.Operands != program.Script || c.operands > 0 || !l.allows(r, line) {
				continue
			}
			l.done[r] = true
			l.find(LevelDanger, r, fmt.Sprintf("it allows %q: any program file, including one that the agent wrote", line),
				"name the program", allow(c.known+e.words+" ./scripts/check:*"), Suggestion{"ask", r.rule.String()})
			return
		}
	})
}

// reached is the entry of a program or subcommand, and the words that lead to
// it from those of the rule.
type reached struct {
	entry *program.Program
	words string
}

// entries returns the entry of a rule's words, followed by those of the
// subcommands that may come next.
func entries(c *commandShape) []reached {
	all := []reached{{c.entry, ""}}
	for i := 0; i < len(all); i++ {
		for _, sub := range subs(all[i].entry) {
			all = append(all, reached{sub, all[i].words + " " + sub.Name})
		}
	}
	return all
}

// subs returns the subcommands of an entry, each under its main name only.
func subs(p *program.Program) []*program.Program {
	var all []*program.Program
	for sub := range p.Subs {
		if len(sub.Path) > 0 && sub.Path[len(sub.Path)-1] == sub.Name {
			all = append(all, sub)
		}
	}
	return all
}

// openTargets lists the subcommands whose first operand names what is run.
var openTargets = []string{"run", "run-script", "exec", "x"}

// runsScript looks for make, npm run and similar commands without a target.
func runsScript(l *linter) {
	l.prefixes(func(r *linted, c *commandShape) {
		if c.entry == nil || c.operands > 0 || c.entry.Wraps() && c.lastKnown() != "run" {
			return
		}
		alone := len(c.entry.Path) == 0 && !c.entry.HasSubs()
		if !alone && (len(c.entry.Path) != 1 || !slices.Contains(openTargets, c.lastKnown())) {
			return
		}
		line := c.known + " any-name"
		finding, _, _ := l.riskOf(line)
		if !finding.RunsCode() || !l.allows(r, line) {
			return
		}
		l.done[r] = true
		l.find(LevelWarning, r, fmt.Sprintf("it allows %q: any script or target, and whoever can write files in the workspace decides what it does", line),
			"name the scripts or targets", allow(c.known+" test"), allow(c.known+" build"))
	})
}

// wrappers looks for rules that seem to be about the commands that a program
// runs.
func wrappers(l *linter) {
	l.prefixes(func(r *linted, c *commandShape) {
		if c.entry == nil || !c.entry.Wraps() || c.operands > c.entry.Skip {
			return
		}
		line := c.known + strings.Repeat(" any", c.entry.Skip-c.operands) + " ls"
		_, _, ruins := l.riskOf(line)
		switch program := c.known; {
		case c.entry.Plain:
			l.find(LevelNote, r, program+" needs no rule: only the command it runs does", "remove it", allow("ls:*"))
		case ruins:
			l.done[r] = true
			l.find(LevelDanger, r, "everything that other rules allow also runs with the rights that "+program+" gives", "name the command",
				allow(line), Suggestion{"ask", r.rule.String()})
		case !l.allows(r, line):
			l.find(LevelNote, r, "the rule does not cover the commands that "+program+" runs: each needs its own rule, or a rule that continues with its words",
				"name the command too", allow(c.known+" ls:*"))
		}
	})
}

// wholeProgram looks for rules for a program that has both subcommands that
// only read and others.
func wholeProgram(l *linter) {
	l.prefixes(func(r *linted, c *commandShape) {
		if c.entry == nil || !c.entry.HasSubs() || c.operands > 0 {
			return
		}
		reads, writes, ruin := l.subcommands(r, c)
		if len(writes) == 0 || len(reads) == 0 {
			return
		}
		l.done[r] = true
		level := LevelWarning
		if ruin {
			level = LevelDanger
		}
		l.find(level, r, "all subcommands are allowed, including "+listed(writes), "name the subcommands", suggested(reads)...)
	})
}

// subcommands returns the subcommands that the rule allows, the worst first,
// divided into those that only read and the others. ruin reports whether one is
// destructive.
func (l *linter) subcommands(r *linted, c *commandShape) (reads, writes []string, ruin bool) {
	var ruins []string
	for _, sub := range subs(c.entry) {
		line := c.known + " " + sub.Name
		finding, changes, destroys := l.riskOf(line)
		switch {
		case finding.Class == 0 || !l.allows(r, line):
		case destroys:
			ruins = append(ruins, line)
		case changes:
			writes = append(writes, line)
		default:
			reads = append(reads, line)
		}
	}
	return reads, append(ruins, writes...), len(ruins) > 0
}

// common lists the most frequently wanted subcommands.
var common = []string{"status", "diff", "log", "list", "ls", "ps", "show", "get", "view", "test", "describe", "info", "version"}

// suggested returns rules for some of the lines, the most frequently wanted
// first.
func suggested(lines []string) []Suggestion {
	rank := func(line string) int {
		if i := slices.Index(common, line[strings.LastIndexByte(line, ' ')+1:]); i >= 0 {
			return i
		}
		return len(common)
	}
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	var rules []Suggestion
	for _, line := range lines[:min(3, len(lines))] {
		rules = append(rules, allow(line+":*"))
	}
	return rules
}

// listed returns a few of the lines, quoted.
func listed(lines []string) string {
	const most = 4
	var quoted []string
	for _, line := range lines[:min(most, len(lines))] {
		quoted = append(quoted, fmt.Sprintf("%q", line))
	}
	text := strings.Join(quoted, ", ")
	if n := len(lines) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// destroys looks for rules that allow commands whose risk is high or forbidden.
func destroys(l *linter) {
	l.prefixes(func(r *linted, c *commandShape) {
		if c.operands > 0 || c.entry != nil && (c.entry.HasSubs() || c.entry.Wraps()) {
			return
		}
		for _, tail := range []string{" any", " -r any", " -f any", " -rf any", " --force any", " --hard any"} {
			line := c.known + tail
			finding, _, ruins := l.riskOf(line)
			if ruins && l.allows(r, line) {
				l.find(LevelWarning, r, fmt.Sprintf("it allows %q: %s", line, finding.Reason), "move it to ask, or name what may be removed",
					Suggestion{"ask", r.rule.String()})
				return
			}
		}
	})
}

// anyHost looks for programs that fetch any URL they are given.
func anyHost(l *linter) {
	l.prefixes(func(r *linted, c *commandShape) {
		const host = "https://any.example/"
		switch last := c.lastWord(); {
		case c.entry != nil && c.entry.Operands == program.URLs && c.operands == 0:
			if l.allows(r, c.known+" "+host) {
				l.find(LevelWarning, r, fmt.Sprintf("it allows %q, and any other host", c.known+" "+host), "name the host",
					allow(c.known+" http://localhost:3000/*"), Suggestion{"ask", r.rule.String()})
			}
		case strings.Contains(last, "://") && strings.Count(last, "/") == 2:
			if line := c.known + ".any.example/"; l.allows(r, line) {
				l.find(LevelWarning, r, fmt.Sprintf("it allows %q: the host name is cut short", line), `write "/" after the host`, allow(c.known+"/*"))
			}
		}
	})
}

// lastWord returns the last word as far as it is known.
func (c *commandShape) lastWord() string {
	return c.action.Words[min(c.count, len(c.action.Words)-1)].Text
}
