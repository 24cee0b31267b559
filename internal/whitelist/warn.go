package whitelist

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// Default is the list that is shipped, with comments.
//
//go:embed default.json
var Default []byte

// Warnings returns what a list allows although its reader may not expect so, in
// the order of its programs.
func (l *List) Warnings() []string {
	var out []string
	if len(l.names) == 0 && l.strict && !l.policy.DryRunMode {
		out = append(out, "no program is listed: every command is refused")
	}
	for _, name := range l.names {
		e := l.items[name]
		out = append(out, e.warnings()...)
	}
	for _, name := range l.policy.AllowEnvVars {
		if dangerous(name) {
			out = append(out, "policy.allow_env_vars: "+name+" can make a listed program run another one")
		}
	}
	if l.policy.AllowShellOperators {
		out = append(out, "policy.allow_shell_operators: a gate with operators is run by a shell")
	}
	if l.policy.DryRunMode {
		out = append(out, "policy.dry_run_mode: nothing is refused")
	}
	if !l.strict {
		out = append(out, "mode: unlisted commands are asked about, not refused")
	}
	return out
}

func dangerous(variable string) bool {
	for _, a := range shell.Analyze(variable+"=x true", shell.Options{}).Actions {
		if a.Variable() == variable {
			return true
		}
	}
	return false
}

func (e *item) warnings() []string {
	var out []string
	program := e.name
	if e.binary != "" {
		program = e.binary
	}
	for _, p := range e.phrases {
		command := e.name + " " + strings.Join(p, " ")
		switch {
		case runsCode(program, p):
			out = append(out, fmt.Sprintf("%s runs whatever code or program it is given: this allows everything", command))
		case runsScripts(e.name) && (p[0] == "test" || p[0] == "run" || p[0] == "start"):
			out = append(out, fmt.Sprintf("%s runs what package.json says: anyone who can edit that file decides what runs", command))
		}
	}
	for i := range e.allow {
		a := &e.allow[i]
		if a.word[0] == '-' && (!a.pair || strings.Contains(a.value, "*")) && runsCode(program, []string{a.word}) {
			out = append(out, fmt.Sprintf("%s %s: this option makes it run, read or follow what it is given", e.name, a.word))
		}
		if slices.ContainsFunc(e.deny, func(d argument) bool { return d.denies([]string{a.word, a.value}, false, e.lists) }) {
			out = append(out, fmt.Sprintf("%s: %s in allow_args has no effect: deny_args also lists it", e.name, a))
		}
	}
	return out
}

// runsCode reports whether one of the words is an option that the catalogue
// knows to take code, a program or configuration.
func runsCode(program string, words []string) bool {
	argv := program + " " + strings.Join(words, " ") + " x"
	for _, a := range shell.Analyze(argv, shell.Options{Dir: "/"}).Actions {
		if a.Kind != shell.Command || a.Program == nil || a.Parent >= 0 {
			continue
		}
		for _, arg := range shell.ScanWords(a.Program, a.Words).Args {
			if arg.Option != nil && obeyed[arg.Option.Effect] {
				return true
			}
		}
	}
	return false
}

// obeyed are the effects of options whose value is run.
var obeyed = map[program.Effect]bool{
	program.EffRun: true, program.EffRunMore: true, program.EffExec: true, program.EffProgram: true, program.EffCode: true, program.EffOpaque: true, program.EffPlugin: true,
}
