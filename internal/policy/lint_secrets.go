package policy

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// secrets looks for an allow rule that does not answer for the secrets that its
// commands or tool may read, and for ask and deny rules that meant secrets and
// name files that hold none. Of the allow rules it names the first, if no rule is
// about .env: what is to be done is the same for all.
func secrets(l *linter) {
	told := l.trial
	l.each(patterns.Allow, func(r *linted) {
		if !told && r.key != approvedList && l.asksForSecret(r) {
			told = true
			l.find(LevelNote, r, "it does not cover secrets: reading .env still asks",
				"name the file in a rule if the agent may read it, or deny it", Suggestion{"deny", "Read(.env)"}, Suggestion{"allow", "Read(./.env)"})
		}
	})
	for _, list := range []patterns.List{patterns.Ask, patterns.Deny} {
		l.each(list, func(r *linted) {
			if l.meansExample(r) {
				l.find(LevelNote, r, "it also covers .env.example and similar files, which hold no secrets",
					"name the files that do; reading any other .env.* file that may hold secrets asks anyway",
					Suggestion{r.key, r.rule.Tool() + "(.env.local)"}, Suggestion{r.key, r.rule.Tool() + "(.env.*.local)"}, Suggestion{r.key, r.rule.Tool() + "(.env.production)"})
			}
		})
	}
}

// asksForSecret reports whether a rule lets any file of the project be read, but not
// .env, for which there is no rule.
func (l *linter) asksForSecret(r *linted) bool {
	tool, field, text := r.rule.Tool(), "command", func(file string) string { return "cat " + file }
	switch {
	case general(tool) == tools.Reader:
		field, text = tools.Builtin(tool).Main(), func(file string) string { return file }
	case tool != tools.Bash:
		return false
	case r.cmd != nil:
		if text = r.cmd.filled; r.cmd.action.Program == nil || !readsFile(analyze(text(".env"), l.catalog), ".env") {
			return false
		}
	}
	s := l.trialSpec(r)
	s.Risk, s.SensitivePaths, s.Profile = l.spec.Risk, l.spec.SensitivePaths, l.spec.Profile
	trial := l.compiled(s)
	if d := trial.decide(tool, field, text(".env")); d.Behavior != permission.Ask || d.Rule != "" {
		return false
	}
	return trial.decide(tool, field, text("any.txt")).Behavior == permission.Allow
}

// readsFile reports whether a line certainly reads a file.
func readsFile(facts *shell.Facts, name string) bool {
	return slices.ContainsFunc(facts.Actions, func(a shell.Action) bool {
		return a.Kind == shell.Read && a.Path.Known() && strings.HasSuffix(a.Path.Text, "/"+name)
	})
}

// meansExample reports whether a rule for paths covers a .env file with values and
// one without.
func (l *linter) meansExample(r *linted) bool {
	if general(r.rule.Tool()) != tools.Reader || r.rule.Bare() {
		return false
	}
	trial := l.compiled(&Spec{Allow: []Item{{Text: r.rule.Tool()}}, Deny: []Item{r.item}, Risk: "off"})
	covers := func(name string) bool {
		return trial.decide(r.rule.Tool(), tools.Builtin(r.rule.Tool()).Main(), name).Behavior == permission.Deny
	}
	return covers(".env.local") && covers(".env.example") && !covers("any.txt")
}
