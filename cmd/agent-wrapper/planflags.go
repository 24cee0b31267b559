package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/gates"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// planFlags are the flags of the commands that read a plan.
type planFlags struct {
	policyFlags
	whitelist string
}

func (f *planFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.addSources(flags)
	flags.StringVar(&f.whitelist, "whitelist", "", "`file` with the commands that may run (default: "+whitelist.FileName+" in the workspace, else a short built-in list); whitelists that a policy names apply too")
}

// planned are rules with the whitelists of gates.
type planned struct {
	*engine.Rules
	// lifted: a person lifted the whitelists.
	lifted bool
	// names are the names of the whitelists for people.
	names []string
}

// compilePlanned returns the rules for gates: the policies of the machine, the
// user and the workspace, with a bare Bash in the allow list, because the
// whitelist is the gate here and the plan is the caller's own. A mode that allows
// commands is not applied: it would lift ask rules.
func (f *planFlags) compilePlanned() (*planned, error) { return f.plannedBy(&engine.Options{}) }

// plannedBy is compilePlanned with options for the record and the count.
func (f *planFlags) plannedBy(o *engine.Options) (*planned, error) {
	f.allow = append(f.allow, "Bash")
	f.unbound = true // they are read below, together with others
	own, err := f.options()
	if err != nil {
		return nil, err
	}
	own.NoAdvice = true // no agent is driven
	own.Record, own.Sync, own.Agent, own.Plan, own.Warn = o.Record, o.Sync, o.Agent, o.Plan, o.Warn
	r, err := load(own)
	if err != nil {
		return nil, err
	}
	for _, p := range append([]*permission.Policy{r.Policy}, r.Policy.Further...) {
		if !p.Mode.Narrows() {
			p.Mode = modes.Default
		}
	}
	r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "--allow:") }) // about the rule that we add
	p := &planned{Rules: r}
	return p, p.readWhitelists(f)
}

// readWhitelists reads the whitelists of gates. One that cannot be read is an
// error.
func (p *planned) readWhitelists(f *planFlags) error {
	usual, ignored := p.UsualWhitelists()
	p.Warnings = append(p.Warnings, ignored...)
	if f.whitelist != "" {
		usual = nil // another replaces them
	}
	files := p.WhitelistFiles(usual...)
	if f.whitelist != "" && !slices.Contains(files, absolute(f.whitelist)) {
		files = append(files, absolute(f.whitelist))
	}
	for _, file := range files {
		list, err := whitelist.Read(file)
		if errors.Is(err, fs.ErrNotExist) {
			return usage("there is no whitelist %s%s", file, p.NamedIn(file))
		}
		if err != nil {
			return usage("the whitelist cannot be used: %w%s", err, p.NamedIn(file))
		}
		p.Guard(file)
		p.bind(list, file)
	}
	if len(files) == 0 {
		p.bind(whitelist.BuiltIn(), builtIn)
	}
	return nil
}

// builtIn is the name of the whitelist of gates if there is no other.
const builtIn = "built-in"

func (p *planned) bind(list *whitelist.List, name string) {
	p.names = append(p.names, name)
	p.Bind(list)
}

// tellLists reports which whitelist is used if none was named.
func (p *planned) tellLists(a *app) {
	for _, w := range p.Warnings {
		a.warn(w)
	}
	if slices.Contains(p.names, builtIn) {
		a.warn("there is no whitelist: the strict built-in list binds (npm test, npm run build, npm run lint, git status, git diff); write " + whitelist.FileName + ", or name a file with --whitelist")
	}
}

func (a *app) warn(text string) {
	fmt.Fprintf(a.err, "agent-wrapper: warning: %s\n", visible.Line(text))
}

// plan reads a plan and checks whether it may run here.
func (p *planned) plan(path string) (*gates.Plan, error) {
	plan, err := gates.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage("there is no plan %s: name a file that exists", path)
	}
	if err == nil {
		err = plan.Check(p.Place.Workspace, p.mayBeSet)
	}
	switch ext := filepath.Ext(path); {
	case err != nil && (ext == ".yml" || ext == ".yaml"):
		return nil, usage("%s is not a plan, which is a JSON object: write one, or check a CI file with agent-wrapper security validate-commands --ci", path)
	case err != nil:
		return nil, usage("%w", err)
	}
	if !slices.ContainsFunc(plan.Items, func(i gates.Item) bool { return len(i.Gates) > 0 }) {
		return nil, usage("%s has no gates, so nothing would be checked: give an item gates, each with a name and a command to run", path)
	}
	p.Guard(absolute(path))
	return plan, nil
}

// mayBeSet reports whether a gate may set a variable: one that every whitelist
// allows or, if they are lifted, one that cannot make a program run another.
func (p *planned) mayBeSet(name string) bool {
	if p.lifted {
		facts := shell.Analyze(name+"=x true", shell.Options{})
		return !slices.ContainsFunc(facts.Actions, func(a shell.Action) bool { return a.Kind == shell.Opaque })
	}
	return !slices.ContainsFunc(p.Whitelists(), func(l *whitelist.List) bool { return !slices.Contains(l.Policy().AllowEnvVars, name) })
}

// options returns how the evaluator reads lines.
func (p *planned) options() shell.Options {
	return shell.Options{Home: p.Place.Home, Workspace: p.Place.Workspace, Catalog: p.Policy.Catalog}
}

// shell reports whether lines that need a shell get one.
func (p *planned) shell() bool {
	return p.lifted || !slices.ContainsFunc(p.Whitelists(), func(l *whitelist.List) bool {
		return !l.Policy().AllowShellOperators && !l.Policy().DryRunMode
	})
}

// command returns what an allowed line runs: the command of its whitelist or, if
// a person or a dry run let it pass although the whitelist refuses it, its own
// words.
func (p *planned) command(line string, facts *shell.Facts) (argv, env []string, err error) {
	for _, list := range p.Whitelists() {
		words, set, ok := list.Command(line, facts)
		switch {
		case !ok:
		case argv == nil:
			argv, env = p.located(list, words, facts), set
		case !slices.Equal(argv, p.located(list, words, facts)):
			return nil, nil, fmt.Errorf("its whitelists name different programs for it: %s and %s", argv[0], words[0])
		}
	}
	if argv != nil {
		return argv, env, nil
	}
	if !facts.Simple {
		return nil, nil, gates.ErrShell
	}
	words := facts.Actions[0].Words
	for i := range words {
		if !words[i].Known() {
			return nil, nil, gates.ErrShell
		}
		argv = append(argv, words[i].Text)
	}
	return argv, nil, nil
}

// located returns the words of a program. If a whitelist gives a relative path
// for it, that is below the directory in which the whitelist was found, or else below
// the workspace.
func (p *planned) located(list *whitelist.List, argv []string, facts *shell.Facts) []string {
	said := func(a shell.Action) bool { return a.Kind == shell.Command && a.Words[0].Text == argv[0] }
	if !slices.ContainsFunc(facts.Actions, said) && strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		argv[0] = filepath.Join(p.foundIn(list), argv[0])
	}
	return argv
}

// foundIn returns the directory above the workspace in which a whitelist was found,
// otherwise the workspace.
func (p *planned) foundIn(list *whitelist.List) string {
	dir, usual := strings.CutSuffix(list.Name(), "/"+whitelist.FileName)
	if usual && slices.ContainsFunc(policy.Upward(p.Place.Workspace, p.Place.Roots...), func(up policy.Above) bool { return up.Dir == dir }) {
		return dir
	}
	return p.Place.Workspace
}
