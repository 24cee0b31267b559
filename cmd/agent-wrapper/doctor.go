package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/doctor"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// checkup is what doctor is asked for.
type checkup struct {
	hosts  []string
	prove  bool
	json   *jsonForm
	fenced bool // we are the program that the fence runs, before the fence is closed
}

func (a *app) doctorCommand() *cobra.Command {
	c := &checkup{}
	cmd := &cobra.Command{
		Use:   "doctor [HOST...]",
		Short: "Find what switches the hooks off; prove that they stop tools",
		Long: `doctor looks at each agent host that is installed: is the hook of agent-wrapper
in force, what switches it off here, which modes and other hooks answer before
it, and what the host never calls a hook for. The hosts are
` + strings.Join(doctor.Names(), ", ") + `.

With --prove it has each host attempt harmless canaries (each leaves an empty
file in a temporary directory): a command, a file, an MCP tool, a subagent and
a command in the background, with a hook that answers, is killed, hangs, is
missing, fails, prints garbage, and with one that allows them. The hosts run in
a throw-away home against a scripted model on this machine, without a key and
without the network; your files are read only.

The exit code is 3 if something is red.`,
		Example: `  agent-wrapper doctor
  agent-wrapper doctor claude --prove`,
		Args: func(_ *cobra.Command, args []string) error {
			for _, host := range args {
				if !slices.Contains(doctor.Names(), host) {
					return fmt.Errorf("there is no host %s: the hosts are %s", quoted(host), strings.Join(doctor.Names(), ", "))
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c.hosts = args
			return a.doctor(cmd.Context(), c)
		},
	}
	cmd.Flags().BoolVar(&c.prove, "prove", false, "have each host attempt canaries, and show which were stopped")
	c.json = a.addJSON(cmd, jsonOnce)
	cmd.Flags().BoolVar(&c.fenced, "fenced", false, "")
	cmd.Flags().MarkHidden("fenced")
	return cmd
}

// diagnosis is what doctor --json prints.
type diagnosis struct {
	envelope
	Hosts []doctor.Host `json:"hosts"`
	Proof *proof        `json:"proof,omitempty"`
}

// proof is what came of the canaries.
type proof struct {
	Network string          `json:"network"` // none, or proxies
	Results []doctor.Result `json:"results"`
}

func (a *app) doctor(ctx context.Context, c *checkup) error {
	if c.fenced {
		code, err := doctor.EnterFence(c.args())
		return &coded{code, err}
	}
	if c.prove && !doctor.Alone() {
		code, err := doctor.Fence(ctx, append(c.args(), "--fenced"))
		if err == nil {
			c.json.said = true
			return exit(code)
		}
		fmt.Fprintf(a.err, "agent-wrapper: no network namespace can be made here (%s): the hosts are given closed proxies instead\n", visible.Line(err.Error()))
	}
	d, err := a.diagnose(ctx, c)
	if err != nil {
		return err
	}
	if c.json.on {
		err = c.json.put(d)
	} else {
		err = d.print(a)
	}
	if err == nil && d.red() {
		return exit(codeDenied)
	}
	return err
}

// args returns the command line of the checkup.
func (c *checkup) args() []string {
	args := append([]string{"doctor"}, c.hosts...)
	if c.prove {
		args = append(args, "--prove")
	}
	if c.json.on {
		args = append(args, "--json")
	}
	return args
}

// diagnose finds out, and proves if it is asked to.
func (a *app) diagnose(ctx context.Context, c *checkup) (*diagnosis, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	m := doctor.Machine{Home: home, Dir: dir, Env: os.Environ()}
	d := &diagnosis{}
	if d.Hosts, err = m.Look(ctx, c.hosts...); err != nil || !c.prove {
		return d, err
	}
	tell := func(line string) { fmt.Fprintln(a.err, visible.Line(line)) }
	p := doctor.Proof{Machine: m, Hosts: c.hosts, Isolated: doctor.Alone(), Tell: tell}
	d.Proof = &proof{Network: "none"}
	if !p.Isolated {
		d.Proof.Network = "proxies"
	}
	d.Proof.Results, err = p.Run(ctx)
	return d, err
}

// red reports whether something is red.
func (d *diagnosis) red() bool {
	for _, h := range d.Hosts {
		if slices.ContainsFunc(h.Findings, func(f doctor.Finding) bool { return f.Mark == doctor.Red }) {
			return true
		}
	}
	return d.Proof != nil && slices.ContainsFunc(d.Proof.Results, func(r doctor.Result) bool { return r.Mark == doctor.Red })
}

// print prints a diagnosis for a person.
func (d *diagnosis) print(a *app) error {
	var out strings.Builder
	if len(d.Hosts) == 0 {
		fmt.Fprintf(&out, "No agent host is installed: none of %s is on PATH.\n", strings.Join(doctor.Names(), ", "))
	}
	for i, h := range d.Hosts {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "%s (%s)\n", h.Title, visible.Line(cmp.Or(h.Version, h.Name)))
		for _, f := range h.Findings {
			out.WriteString(folded(fmt.Sprintf("  %-5s ", f.Mark), "        ", visible.Line(strings.TrimSpace(f.Text+" "+f.Fix)), 80))
		}
	}
	if _, err := fmt.Fprint(a.out, out.String()); err != nil || d.Proof == nil {
		return err
	}
	return d.Proof.print(a)
}

// print prints the table of a proof.
func (p *proof) print(a *app) error {
	fmt.Fprintf(a.out, "\nThe proof (network: %s)\n\n", p.Network)
	t := newTable(a.out, "HOST", "CANARY", "THE HOOK", "RESULT", "MARK")
	notes := []string{}
	for _, r := range p.Results {
		t.row(r.Host, r.Canary, r.Hook, string(r.Outcome), string(r.Mark))
		if note := r.Host + ": " + string(r.Outcome) + ": " + r.Why; r.Why != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, note := range notes {
		if _, err := fmt.Fprint(a.out, folded("- ", "  ", visible.Line(note), 80)); err != nil {
			return err
		}
	}
	return nil
}
