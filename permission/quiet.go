package permission

import (
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// localURL matches the beginning of a URL on this machine, to where nothing that
// follows changes the host. curl takes a URL without a scheme for one of HTTP.
var localURL = lazyregexp.New(`^(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::[0-9]+)?(?:/|$)`)

// quiet marks the commands of tier 2 that are harmless where an agent works: a safe
// command whose words a substitution gives, since what that runs is judged by itself;
// a short sleep; the end of the shell's own jobs; a request that only gets something
// from this machine; and what git names of a repository outside the workspace. Their classes stay.
func (e *evaluation) quiet() {
	if e.policy.Profile == risk.Terminal || e.policy.RiskOff {
		return
	}
	found := e.risks(e.policy.Profile)
	for i := range e.acts {
		a := &e.acts[i]
		if a.sub.Kind != patterns.RunCommand || a.inline || i >= len(found) || a.class != risk.Moderate || a.lifted || a.secret || a.override != nil {
			continue
		}
		switch {
		case found[i].Unproven && e.namesElsewhere(a.does):
			a.quiet, a.names = "it shows no file contents of that repository", true
		case found[i].Lifted && keeps(a.does) && !a.does.Environment:
			a.quiet = "read-only: the command that supplies its arguments is checked separately"
		case a.does.Waits():
			a.quiet = "it waits briefly"
		case a.does.EndsJobs():
			a.quiet = "it ends a job of this shell"
		case a.does.OnlyGets() && e.fetchesHere(i):
			a.quiet = "it only fetches from this machine"
		}
	}
}

// keeps reports whether what a substitution gives a command stays on this machine: the
// command only prints or compares its words, or what it is given is a pipe, whose
// contents are no words. What any other program does with them is not known: dig and
// npm view send them (CVE-2025-55284), and cat reads what has such a name.
func keeps(does *shell.Action) bool {
	if does.Program == nil {
		return false
	}
	switch does.Program.Special {
	case "echo", "printf", "test":
		return true
	}
	return does.Program.Facts&program.NamesHosts == 0 && !slices.ContainsFunc(does.Words, func(w shell.Word) bool {
		return slices.ContainsFunc(w.Holes, func(h shell.Hole) bool {
			return h.Kind != shell.Pipe && h.Kind != shell.Number && h.Kind != shell.Digits
		})
	})
}

// fetchesHere reports whether command i fetches only from this machine. The fetches
// then need no answer of their own.
func (e *evaluation) fetchesHere(i int) bool {
	urls := 0
	for k := range e.acts {
		f := &e.acts[k]
		if f.parent != i || f.sub.Kind != patterns.FetchURL {
			continue
		}
		url := f.does.Path
		if len(url.Holes) > 0 {
			url.Text = url.Text[:url.Holes[0].At] + "?" // may be part of the host
		}
		if !localURL.MatchString(url.Text) {
			return false
		}
		urls++
	}
	return urls > 0
}
