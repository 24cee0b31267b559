package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// policyFlags are the flags about policies.
type policyFlags struct {
	cwd                       string
	roots                     []string
	file, chat                string
	isolated                  bool
	mode, unlisted, risk      string
	advice, sandbox           string
	allow, ask, deny          []string
	sessionAllow, sessionDeny []string
	rules                     []string
	// unbound leaves out the whitelists.
	unbound bool
}

// addPlaces defines the flags about the workspace.
func (p *policyFlags) addPlaces(flags *pflag.FlagSet) {
	flags.StringVar(&p.cwd, "cwd", "", "the workspace `directory` (default: here)")
	flags.Var((*list)(&p.roots), "workspace", "a `directory` of a workspace that has several; --cwd must lie in one; repeatable")
}

// addSources defines the flags about where policies are found.
func (p *policyFlags) addSources(flags *pflag.FlagSet) {
	p.addPlaces(flags)
	flags.StringVar(&p.file, "policy", "", "policy `file` (TOML) instead of the workspace's own; flags add to it")
	flags.BoolVar(&p.isolated, "isolated", false, "use only the rules of the flags: no policy of the machine, the user or the workspace")
}

func (p *policyFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	p.addSources(flags)
	flags.StringVar(&p.chat, "frontmatter", "", "chat `file` (Markdown) with permission settings in its front matter; see agent-wrapper trust")
	flags.StringVar(&p.mode, "mode", "", "permission `mode`: default, acceptEdits, plan, dontAsk, bypassPermissions (also --permission-mode)")
	flags.StringVar(&p.unlisted, "unlisted", "", "what to do if no rule matches: `ask|deny|risk`; risk lets harmless commands run (default: risk, or deny in mode dontAsk)")
	flags.StringVar(&p.risk, "risk", "", "rate commands by how dangerous they are: `on|off` (default: on)")
	flags.Var((*list)(&p.allow), "allow", "allow `rules`, separated by commas: 'Read,Bash(git status)'; repeatable")
	flags.Var((*list)(&p.ask), "ask", "`rules` that ask you first: 'Bash(git push:*)'; repeatable")
	flags.Var((*list)(&p.deny), "deny", "deny `rules`: 'Bash(rm:*)'; repeatable")
	flags.Var((*list)(&p.sessionAllow), "session-allow", "`rules` allowed earlier in the session; never enough for tier 3 (destructive)")
	flags.Var((*list)(&p.sessionDeny), "session-deny", "`rules` denied earlier in the session")
	flags.Var((*list)(&p.rules), "rules", "granular rules: a JSON array, or an `@file` with one")
	flags.SetNormalizeFunc(aliases)
	complete(cmd, "mode", modes.Names()...)
	complete(cmd, "unlisted", "ask", "deny", "risk")
	complete(cmd, "risk", "on", "off")
}

// addSandbox defines --sandbox, for commands that build a sandbox or say what it does.
func (p *policyFlags) addSandbox(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.sandbox, "sandbox", "", "run commands in a sandbox (Linux), and ask about fewer of them, `how`: off, on (where this machine can build one), or require, as --sandbox alone: else nothing runs (default: off)")
	cmd.Flags().Lookup("sandbox").NoOptDefVal = "require"
	complete(cmd, "sandbox", "off", "on", "require")
}

// list is the value of a flag that may be repeated. That of pflag writes its
// default as CSV when the flag is added, each with a buffer of 4 KiB: together
// three fifths of what the tree of commands allocated.
type list []string

// Set adds a value.
func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// String lists the values; for none it is "", which help leaves out as a default.
func (l *list) String() string { return strings.Join(*l, ", ") }

// Type returns pflag's name of the type, by which completion offers the flag
// again.
func (l *list) Type() string { return "stringArray" }

// allValues is the annotation of a flag that has a few values, with these.
const allValues = "agent-wrapper_values"

// complete sets the values of a flag that has a few, for shell completion and for those who
// read what was given.
func complete(cmd *cobra.Command, flag string, values ...string) {
	offer(cmd, flag, values...)
	_ = cmd.Flags().SetAnnotation(flag, allValues, values) // as offer
}

// offer sets some values of a flag for shell completion.
func offer(cmd *cobra.Command, flag string, values ...string) {
	// It fails for a flag that does not exist or has values already; a test
	// completes each.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// aliases maps other names of a flag to its name.
func aliases(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "permission-mode" {
		name = "mode"
	}
	return pflag.NormalizedName(name)
}

// options returns the engine's options for the flags.
func (p *policyFlags) options() (*engine.Options, error) {
	settings, err := p.spec()
	if err != nil {
		return nil, err
	}
	dirs := userDirs()
	o := &engine.Options{
		Dir: p.cwd, Roots: p.roots, Dirs: &dirs, Policy: p.file, FrontMatter: p.chat, Isolated: p.isolated,
		Settings: settings, Origin: "flags", Unbound: p.unbound,
	}
	for _, text := range p.rules {
		if file, ok := strings.CutPrefix(text, "@"); ok {
			o.Guard = append(o.Guard, file)
		}
	}
	return o, nil
}

// workspace returns the workspace directory, absolute and without symbolic links.
func (p *policyFlags) workspace() (string, error) {
	place, err := (&engine.Options{Dir: p.cwd}).Place()
	return place.Workspace, opening(err)
}

// changed returns the flags that were given.
func changed(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().Visit(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// settings rejects invalid values of the flags.
func (p *policyFlags) settings() error {
	if p.mode != "" {
		if _, err := modes.Parse(p.mode); err != nil {
			return usage("--mode: %w", err)
		}
	}
	return cmp.Or(
		ifGiven("--unlisted", p.unlisted, "ask", "deny", "risk"),
		ifGiven("--risk", p.risk, "on", "off"),
		ifGiven("--advice", p.advice, "on", "off"),
		ifGiven("--sandbox", p.sandbox, "off", "on", "require"),
	)
}

// spec returns the policy of the flags alone.
func (p *policyFlags) spec() (*policy.Spec, error) {
	if err := p.settings(); err != nil {
		return nil, err
	}
	spec := &policy.Spec{Mode: p.mode, Unlisted: p.unlisted, Risk: p.risk, Advice: p.advice, Sandbox: p.sandbox}
	lists := []struct {
		flag  string
		texts []string
		into  *[]policy.Item
	}{
		{"--allow", p.allow, &spec.Allow}, {"--ask", p.ask, &spec.Ask}, {"--deny", p.deny, &spec.Deny},
		{"--session-allow", p.sessionAllow, &spec.SessionAllow}, {"--session-deny", p.sessionDeny, &spec.SessionDeny},
	}
	for _, l := range lists {
		for _, text := range l.texts {
			rules, err := patterns.SplitList(text)
			if err != nil {
				return nil, usage("%s %q: %w", l.flag, text, err)
			}
			if len(rules) == 0 {
				return nil, usage("%s %q has no rule in it: name one, or leave %s out", l.flag, text, l.flag)
			}
			for _, rule := range rules {
				*l.into = append(*l.into, policy.Item{Text: rule, Source: patterns.Source{Name: l.flag}})
			}
		}
	}
	return spec, p.addRules(spec)
}

// addRules adds the rules of --rules.
func (p *policyFlags) addRules(spec *policy.Spec) error {
	for _, text := range p.rules {
		source := patterns.Source{Name: "--rules"}
		if file, ok := strings.CutPrefix(text, "@"); ok {
			data, err := os.ReadFile(file)
			if err != nil {
				return fileError("--rules", err)
			}
			text, source.Name = string(data), file
		} else if !strings.HasPrefix(strings.TrimSpace(text), "[") {
			return usage("--rules %s is not a JSON array: write '[{\"tools\":[\"Bash\"],\"action\":\"deny\"}]', or @FILE for a file with one", quoted(text))
		}
		rules, err := policy.ParseRules(text, source)
		if err != nil {
			return usage("%w", err)
		}
		spec.Rules = append(spec.Rules, rules...)
	}
	return nil
}

// fileError returns the error about a file, with the flag that names it.
func fileError(flag string, err error) error {
	var path *fs.PathError
	switch {
	case !errors.As(err, &path):
	case path.Path == "":
		return usage("%s is empty: give a file, or leave %s out", flag, flag)
	case errors.Is(err, fs.ErrNotExist):
		return usage("%s: there is no file %s: give one that exists, or leave %s out", flag, path.Path, flag)
	case errors.Is(err, syscall.EISDIR):
		return usage("%s: %s is a directory: name a file in it", flag, path.Path)
	default:
		return usage("%s: %w: give a file that you can read", flag, err)
	}
	return usage("%s: %w", flag, err)
}

// unwritable returns the error about a file that cannot be written, with the flag
// that names it.
func unwritable(flag string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usage("%s: %w: make its directory first", flag, err)
	}
	return usage("%s: %w", flag, err)
}

// absolute makes a path absolute, if the current directory is known.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
