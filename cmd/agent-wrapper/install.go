package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/install"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/text/spelling"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// hookOptions are the flags of install and uninstall.
type hookOptions struct {
	all, yes bool
	scope    string
	into     string // the directory for a package, "" for none
	chosen   install.Options
	json     *jsonForm
}

// The parts of the help of install and uninstall that are the same.
const (
	hostForm = "one or more hosts, or --all"
	askFirst = `It shows the difference of each file and asks before it writes. Without a
terminal it writes only with --yes. What an agent starts is refused.`
)

func (a *app) installCommand() *cobra.Command {
	o := &hookOptions{}
	cmd := &cobra.Command{
		Use:   "install HOST... | install --all",
		Short: "Check the tool uses of agents that you start yourself",
		Long: `install adds a hook to the configuration of an agent that you start in a window
of your own: from then on it asks agent-wrapper before each tool use, and your
policies decide. The hosts are
` + hostList(" and ") + `.

Comments, order, formatting and hooks of others stay as they are. The texts from
before are kept in agent-wrapper/installed in the state directory, and uninstall
puts them back. If the hook is in force already, nothing is changed.

` + askFirst + `

--scope managed writes the machine's configuration, as root: much of what lets a
repository or a flag switch your own hook off does not reach that one.
agent-wrapper status lists what stays open in each scope.

--package DIR writes a plugin of Claude Code, or an extension of Gemini CLI,
into a new directory, for others to install. It starts the agent-wrapper on
PATH. A repository or a setting switches a package off where it would not reach
the hook that install writes; what stays open is shown.`,
		Example: `  agent-wrapper install claude
  agent-wrapper install --all --yes
  agent-wrapper install claude --no-auto-mode
  sudo agent-wrapper install codex --scope managed
  agent-wrapper install claude --package ./agent-wrapper-plugin`,
		Args: o.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("package") {
				return a.writePackage(o, args)
			}
			return a.install(cmd.Context(), o, args)
		},
	}
	o.add(a, cmd, "install it for every host that is on this machine")
	cmd.Flags().BoolVar(&o.chosen.NoAutoMode, "no-auto-mode", false, "claude: switch off the modes auto and bypassPermissions, which do not ask you")
	cmd.Flags().StringVar(&o.into, "package", "", "claude, gemini: write a plugin or extension into this new `directory`, and nothing else")
	cmd.Flags().BoolVar(&o.chosen.NoWebSearch, "no-web-search", false, "codex: switch off its web search, which no hook sees")
	return cmd
}

// packageVersion returns the version of a package: ours, if it is a release.
func packageVersion() string {
	return cmp.Or(strings.Join(released.FindStringSubmatch(strings.TrimPrefix(thisBuild().Version, "v")), ""), "0.0.0")
}

// released matches the version of a release, and the beginning of that of a commit.
var released = lazyregexp.New(`^[0-9]+\.[0-9]+\.[0-9]+`)

// writePackage writes the package of a host, and tells how it is used and what it leaves
// open.
func (a *app) writePackage(o *hookOptions, args []string) error {
	switch {
	case len(args) != 1 || o.all:
		return usage("--package is for one host: name %s", strings.Join(install.PackageHosts(), " or "))
	case o.into == "":
		return usage("--package takes a directory: it is made if it is not there")
	case o.chosen != install.Options{} || o.scope != string(install.User):
		return usage("a package cannot change settings: leave --scope and the --no-... flags out")
	}
	doors, err := install.WritePackage(args[0], packageVersion(), o.into)
	if err != nil {
		return usage("%w", err)
	}
	name := visible.Line(o.into)
	fmt.Fprintf(a.out, "Wrote %s.\n", name)
	fmt.Fprintln(a.out, map[string]string{
		"claude": "To try it:    claude --plugin-dir " + shellword.Quote(o.into) + "\nFor others:   put it into a marketplace (claude plugin marketplace add).",
		"gemini": "To use it:    gemini extensions install " + shellword.Quote(o.into),
	}[args[0]])
	for _, d := range doors {
		fmt.Fprint(a.out, wrapped("open        "+d.String(), "            ", columns(a.out)))
	}
	return nil
}

func (a *app) uninstallCommand() *cobra.Command {
	o := &hookOptions{}
	cmd := &cobra.Command{
		Use:   "uninstall HOST... | uninstall --all",
		Short: "Take the hook out of the configuration of agents",
		Long: `uninstall takes out what install wrote. A file that nobody has changed since
gets exactly the text that it had before. From a file that was changed, only
what agent-wrapper added is taken out. The trust that codex has stored for the
hook stays in its config.toml: it is for this very hook only.

` + askFirst,
		Example: `  agent-wrapper uninstall claude
  agent-wrapper uninstall --all --yes`,
		Args: o.args,
		RunE: func(cmd *cobra.Command, args []string) error { return a.uninstall(cmd.Context(), o, args) },
	}
	o.add(a, cmd, "take it out of every host that has it")
	return cmd
}

// hostList returns the names of the hosts as a sentence has them.
func hostList(last string) string {
	names := install.Hosts()
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + last + names[n]
}

// add defines the flags that install and uninstall share.
func (o *hookOptions) add(a *app, cmd *cobra.Command, all string) {
	cmd.Flags().BoolVar(&o.all, "all", false, all)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "write without asking")
	o.json = a.addJSON(cmd, jsonOnce)
	cmd.Flags().StringVar(&o.scope, "scope", string(install.User), "whose configuration: `user|managed`")
	complete(cmd, "scope", string(install.User), string(install.Managed))
	cmd.ValidArgs = install.Hosts()
}

// args rejects arguments that are no hosts.
func (o *hookOptions) args(cmd *cobra.Command, args []string) error {
	switch {
	case o.all && len(args) > 0:
		return fmt.Errorf("%s and --all do not go together: leave one of them out", quoted(args[0]))
	case !o.all && len(args) == 0:
		return fmt.Errorf("%s takes %s: name %s", cmd.CommandPath(), hostForm, hostList(" or "))
	}
	return knownHosts(args)
}

// knownHosts rejects names that are no hosts.
func knownHosts(args []string) error {
	for _, arg := range args {
		if slices.Contains(install.Hosts(), arg) {
			continue
		}
		if near := spelling.Nearest(arg, slices.Values(install.Hosts())); near != "" {
			return fmt.Errorf("there is no host %s: did you mean %s?", quoted(arg), near)
		}
		return fmt.Errorf("there is no host %s: name %s", quoted(arg), hostList(" or "))
	}
	return nil
}

// check rejects values of the flags that do not fit together.
func (o *hookOptions) check(hosts []string) error {
	if err := among("--scope", o.scope, string(install.User), string(install.Managed)); err != nil {
		return err
	}
	managed := o.scope == string(install.Managed)
	switch {
	case o.chosen.NoAutoMode && !slices.Contains(hosts, "claude"):
		return usage("--no-auto-mode is for claude: name it, or leave the flag out")
	case o.chosen.NoWebSearch && !slices.Contains(hosts, "codex"):
		return usage("--no-web-search is for codex: name it, or leave the flag out")
	case o.chosen.NoWebSearch && managed:
		return usage("--no-web-search writes your own configuration: use it with --scope user")
	}
	return nil
}

// onlyPerson returns an error for a process that an agent has started: an agent would take
// out a hook, end its pause, or trust what it wrote.
func onlyPerson(does string) error {
	l, err := broker.OpenLocal(filepath.Join(userDirs().State, approvalsDir), nil)
	if err != nil {
		return err
	}
	return errors.Join(byPerson(l, does), l.Close())
}

// thisMachine returns what is known of this machine.
func thisMachine() (*install.Machine, error) {
	binary, err := ownBinary()
	if err != nil {
		return nil, err
	}
	m, err := install.NewMachine(userDirs().State, hookOf(binary))
	if err != nil {
		return nil, usage("%w", err)
	}
	return m, nil
}

// hookOf returns the program that is written into the configuration of hosts.
func hookOf(binary string) string {
	for _, program := range entry.Programs(binary) {
		if found, err := exec.LookPath(program); err == nil {
			return found
		}
	}
	return binary
}

// ownBinary returns the path of this program: the one on PATH if it is the same file,
// since that stays when a package manager puts a new version in its place.
func ownBinary() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot tell where agent-wrapper lies: %w", err)
	}
	if filepath.Base(filepath.Dir(self)) == "exe" && strings.Contains(self, "go-build") {
		return "", usage("this agent-wrapper was made by go run and goes away: build it, and run install from there")
	}
	found, err := exec.LookPath("agent-wrapper")
	if err != nil {
		return self, nil
	}
	found = absolute(found)
	one, errOne := os.Stat(self)
	other, errOther := os.Stat(found)
	if errors.Join(errOne, errOther) == nil && os.SameFile(one, other) {
		return found, nil
	}
	return self, nil
}

// prepare checks who asks and for what, and returns the machine.
func (o *hookOptions) prepare(hosts func(m *install.Machine) []string, args []string) (*install.Machine, []string, error) {
	m, err := thisMachine()
	if err != nil {
		return nil, nil, err
	}
	if err := onlyPerson("change hooks"); err != nil {
		return nil, nil, err
	}
	if o.all {
		args = hosts(m)
	}
	slices.Sort(args)
	return m, slices.Compact(args), o.check(args)
}

// install adds the hook to hosts.
func (a *app) install(ctx context.Context, o *hookOptions, args []string) error {
	m, args, err := o.prepare(func(m *install.Machine) []string { return m.Found() }, args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return usage("no host is on this machine: install %s first", hostList(" or "))
	}
	var plans []*install.Plan
	for _, name := range args {
		if o.all && o.scope == string(install.Managed) && !slices.Contains(install.ManagedHosts(), name) {
			continue
		}
		p, err := m.Install(name, install.Scope(o.scope), o.chosen)
		if err != nil {
			return unplanned(err)
		}
		plans = append(plans, p)
	}
	if err := a.write(ctx, plans, o, "Install the hook?"); err != nil {
		return err
	}
	if o.json.on {
		_, err := a.trustPlans(ctx, plans)
		return errors.Join(err, o.json.put(newChanged(plans)))
	}
	return a.afterInstall(ctx, m, plans)
}

// uninstall takes the hook out of hosts.
func (a *app) uninstall(ctx context.Context, o *hookOptions, args []string) error {
	m, args, err := o.prepare(func(m *install.Machine) []string { return m.Installed(install.Scope(o.scope)) }, args)
	if err != nil {
		return err
	}
	if len(args) == 0 && !o.json.on {
		fmt.Fprintf(a.out, "No host has the hook in the scope %s: there is nothing to take out.\n", o.scope)
		return nil
	}
	var plans []*install.Plan
	for _, name := range args {
		p, err := m.Remove(name, install.Scope(o.scope))
		if err != nil {
			return unplanned(err)
		}
		plans = append(plans, p)
	}
	if err := a.write(ctx, plans, o, "Take the hook out?"); err != nil || !o.json.on {
		return err
	}
	return o.json.put(newChanged(plans))
}

// changedJSON is the output of install and uninstall with --json.
type changedJSON struct {
	envelope
	Changes []hookChange `json:"changes"` // the files that were written or removed
}

type hookChange struct {
	Host    string `json:"host"`
	File    string `json:"file"`
	Removed bool   `json:"removed"`
}

func newChanged(plans []*install.Plan) *changedJSON {
	out := &changedJSON{Changes: []hookChange{}}
	for _, p := range plans {
		for _, c := range p.Changes {
			out.Changes = append(out.Changes, hookChange{p.Host, c.Path, c.Removed})
		}
	}
	return out
}

// unplanned returns the error about a configuration that cannot be changed.
func unplanned(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return usage("%w: nothing was written; run it as the user who owns that file, for --scope managed as root", err)
	}
	return usage("%w: nothing was written", err)
}

// write shows what would change, asks, and writes it.
func (a *app) write(ctx context.Context, plans []*install.Plan, o *hookOptions, question string) error {
	changes, out := 0, a.out
	if o.json.on {
		out = io.Discard
	}
	for _, p := range plans {
		changes += len(p.Changes)
		if len(p.Changes) == 0 {
			fmt.Fprintf(out, "%s: nothing to change.\n", p.Host)
		}
		for _, c := range p.Changes {
			fmt.Fprintln(out, c.Diff())
		}
	}
	if changes > 0 && o.json.on && !o.yes {
		return usage("nothing was written: --json shows no difference to agree to; look at it without --json, then add --yes")
	}
	if changes > 0 {
		if err := a.consent(ctx, o.yes, question+" [y/N] ", "nothing was written"); err != nil {
			return err
		}
	}
	for _, p := range plans {
		if err := p.Apply(); err != nil {
			return unwritten(p, err)
		}
		for _, c := range p.Changes {
			fmt.Fprintf(out, "%s: %s %s.\n", p.Host, map[bool]string{false: "wrote", true: "removed"}[c.Removed], visible.Line(c.Path))
		}
	}
	return nil
}

// consent asks a question. not says what is so without consent.
func (a *app) consent(ctx context.Context, yes bool, question, not string) error {
	switch {
	case yes:
		return nil
	case !isTerminal(a.in):
		return usage("%s: this is no terminal, where you would be asked; look at it, then add --yes", not)
	}
	return a.need(bufio.NewReader(a.input(ctx)), question, false, not)
}

// unwritten returns the error that a plan was not carried out.
func unwritten(p *install.Plan, err error) error {
	if errors.Is(err, fs.ErrPermission) && p.Scope == install.Managed {
		return usage("%s: %w: --scope managed is written by root: run it with sudo", p.Host, err)
	}
	return fmt.Errorf("%s: %w", p.Host, err)
}

// afterInstall does and says what is left to do.
func (a *app) afterInstall(ctx context.Context, m *install.Machine, plans []*install.Plan) error {
	trusts, fault := a.trustPlans(ctx, plans)
	if trusts {
		fmt.Fprintln(a.out, "codex: it trusts the hook now.")
	}
	for _, p := range plans {
		s, err := m.Status(p.Host)
		if err != nil {
			return err
		}
		if p.Host != "codex" {
			for _, note := range s.Notes {
				fmt.Fprint(a.out, wrapped(p.Host+": "+note, "  ", columns(a.out)))
			}
		}
		if len(p.Changes) > 0 && len(s.Doors) > 0 {
			fmt.Fprintf(a.out, "%s: it counts from the next start on. %d ways past it stay open:\n  agent-wrapper status %s\n", p.Host, len(s.Doors), p.Host)
		}
	}
	return fault
}

// trustPlans has hosts trust the hook that must be asked to.
func (a *app) trustPlans(ctx context.Context, plans []*install.Plan) (trusts bool, err error) {
	for _, p := range plans {
		one, fault := p.Trust(ctx)
		trusts, err = trusts || one, errors.Join(err, fault)
	}
	return trusts, err
}

func (a *app) statusCommand() *cobra.Command {
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "status [HOST...]",
		Short: "Show which agents have the hook, and what stays open",
		Long: `status shows for each agent on this machine whether the hook of agent-wrapper is
in force, in which file, which program it starts, and the known ways past it,
each with what closes it. It changes nothing and starts no agent; agent-wrapper
doctor proves that the hook holds.`,
		Example: `  agent-wrapper status
  agent-wrapper status claude codex --json`,
		Args: func(_ *cobra.Command, args []string) error { return knownHosts(args) },
		RunE: func(_ *cobra.Command, args []string) error { return a.status(args, form) },
	}
	form = a.addJSON(cmd, jsonOnce)
	cmd.ValidArgs = install.Hosts()
	return cmd
}

// hookStatus is the output of status --json.
type hookStatus struct {
	envelope
	Binary string            `json:"binary"`
	Hosts  []*install.Status `json:"hosts"`
}

// status shows how hosts stand; all of them if none is named.
func (a *app) status(names []string, form *jsonForm) error {
	m, err := thisMachine()
	if err != nil {
		return err
	}
	all := len(names) == 0
	if all {
		names = install.Hosts()
	}
	report := &hookStatus{Binary: m.Binary, Hosts: []*install.Status{}}
	for _, name := range names {
		s, err := m.Status(name)
		if err != nil {
			return usage("%w", err)
		}
		report.Hosts = append(report.Hosts, s)
	}
	if form.on {
		return form.put(report)
	}
	a.showStatus(report.Hosts, all)
	return nil
}

// showStatus shows hosts; those that are not here in one line, if all are shown.
func (a *app) showStatus(hosts []*install.Status, all bool) {
	var absent []string
	for _, s := range hosts {
		if all && !s.Found {
			absent = append(absent, s.Host)
			continue
		}
		a.showHost(s)
	}
	if len(absent) > 0 {
		fmt.Fprintf(a.out, "Not on this machine: %s.\n", strings.Join(absent, ", "))
	}
}

// showHost shows a host.
func (a *app) showHost(s *install.Status) {
	where := "not on this machine"
	if s.Found {
		where = strings.TrimSpace(s.Version + " " + visible.Line(s.Program))
	}
	fmt.Fprintf(a.out, "%s: %s\n", s.Host, strings.TrimSpace(s.Title+" "+where))
	for _, h := range s.Hooks {
		fmt.Fprintf(a.out, "  %-10s  %s (%s)\n", h.State, visible.Line(h.File), h.Scope)
		if h.Binary != "" {
			fmt.Fprintf(a.out, "  %-10s  %s: %s\n", "starts", visible.Line(h.Binary), binarySaid(h.Program))
		}
		if h.Problem != "" {
			fmt.Fprint(a.out, wrapped("  error       "+visible.Line(h.Problem), "              ", columns(a.out)))
		}
	}
	for _, note := range s.Notes {
		fmt.Fprint(a.out, wrapped("  note        "+visible.Line(note), "              ", columns(a.out)))
	}
	for _, d := range s.Doors {
		fmt.Fprint(a.out, wrapped("  open        "+d.String(), "              ", columns(a.out)))
	}
}

// binarySaid says what the program of a hook is.
func binarySaid(is string) string {
	switch is {
	case "this":
		return "this program"
	case "another":
		return "another program than this one"
	}
	return is + ": every tool use is denied; run install again"
}
