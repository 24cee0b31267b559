package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/server"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

func (a *app) serveTokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens of the service",
		Long: `A token says who asks, answers or takes over a terminal. An agent's token can
never answer. A token is shown once, when it is created: keep it where no agent
can read it without a question.`,
		Example: `  agent-wrapper serve token create --role person --name ann
  agent-wrapper serve token list
  agent-wrapper serve token revoke pabcdefghjkmnpqrs`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

// tokenFlags are the flags of serve token create.
type tokenFlags struct {
	storeFlags
	role, agentRole, name string
	ttl                   time.Duration
	browser               bool
}

func (a *app) tokenCreateCommand() *cobra.Command {
	f := &tokenFlags{}
	cmd := &cobra.Command{
		Use:   "create --role ROLE --name NAME",
		Short: "Create a token and print it",
		Example: `  agent-wrapper serve token create --role person --name ann --ttl 720h
  agent-wrapper serve token create --role agent --name ci
  agent-wrapper serve token create --role person --name ann --browser`,
		Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.tokenCreate(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.role, "role", "", "who uses the token: `agent|person|admin`")
	complete(cmd, "role", server.RoleAgent, server.RolePerson, server.RoleAdmin)
	flags.StringVar(&f.agentRole, "agent-role", "", "kind of `agent`: chat, automation, system or admin (default: chat)")
	complete(cmd, "agent-role", "chat", "automation", "system", "admin")
	flags.StringVar(&f.name, "name", "", "`name` of the person or the agent")
	flags.DurationVar(&f.ttl, "ttl", 0, "how `long` the token is valid, such as 720h (default: until revoked)")
	flags.BoolVar(&f.browser, "browser", false, "print a one-time code for a browser instead, valid for ten minutes and for the server that runs now")
	f.storeFlags.add(flags)
	return cmd
}

// tokenCreate creates a credential and prints its secret.
func (a *app) tokenCreate(ctx context.Context, f *tokenFlags) error {
	roles := []string{server.RoleAgent, server.RolePerson, server.RoleAdmin}
	if f.role == "" {
		return usage("--role is missing: write --role agent, person or admin")
	}
	if err := among("--role", f.role, roles...); err != nil {
		return err
	}
	if f.ttl < 0 {
		return usage("--ttl %v: write a time above 0 with its unit, such as 720h", f.ttl)
	}
	if f.browser && f.ttl != 0 {
		return usage("--ttl does not go with --browser: leave it out; a code is valid for ten minutes")
	}
	if f.role == server.RoleAgent && f.agentRole == "" {
		f.agentRole = "chat"
	}
	t, secret, err := f.mint(time.Now())
	if err != nil {
		return err
	}
	kept, err := f.open(ctx)
	if err != nil {
		return err
	}
	if err = unambiguous(ctx, kept, &t); err == nil {
		err = kept.CreateToken(ctx, t)
	}
	if err := errors.Join(err, kept.Close()); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "The token %[3]s of %[1]s %[2]s, shown only once:\n", t.Role, t.Name, t.ID)
	_, err = fmt.Fprintln(a.out, secret)
	return err
}

// mint returns the credential that the flags ask for.
func (f *tokenFlags) mint(now time.Time) (store.Token, string, error) {
	var end time.Time
	if f.ttl > 0 {
		end = now.Add(f.ttl)
	}
	mint := func() (store.Token, string, error) { return server.Mint(f.role, f.agentRole, f.name, now, end) }
	if f.browser {
		dir, err := f.dir()
		if err != nil {
			return store.Token{}, "", err
		}
		instance, err := runningInstance(dir)
		if err != nil {
			return store.Token{}, "", err
		}
		mint = func() (store.Token, string, error) { return server.MintCode(f.role, f.name, instance, now) }
	}
	t, secret, err := mint()
	if err != nil {
		return t, "", usage("%w", err)
	}
	return t, secret, nil
}

func (a *app) tokenListCommand() *cobra.Command {
	f := &storeFlags{}
	var form *jsonForm
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens", Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.tokenList(cmd.Context(), f, form) },
	}
	form = a.addJSON(cmd, jsonOnce)
	f.add(cmd.Flags())
	return cmd
}

// tokensJSON is the output of serve token list --json.
type tokensJSON struct {
	envelope
	Tokens []tokenRow `json:"tokens"`
}

// tokenRow is a credential in the list.
type tokenRow struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Role      string `json:"role"`
	AgentRole string `json:"agent_role,omitempty"`
	Created   string `json:"created"`
	Expires   string `json:"expires,omitempty"`
	Revoked   string `json:"revoked,omitempty"`
}

func newTokenRow(t *store.Token) tokenRow {
	return tokenRow{t.ID, t.Name, t.Role, t.AgentRole, date(t.Created), date(t.Expires), date(t.Revoked)}
}

// date writes a time, "" for the zero one.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// tokenList lists the credentials.
func (a *app) tokenList(ctx context.Context, f *storeFlags, form *jsonForm) (err error) {
	kept, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	all, err := kept.Tokens(ctx)
	if err != nil {
		return err
	}
	if form.on {
		out := &tokensJSON{Tokens: []tokenRow{}}
		for i := range all {
			out.Tokens = append(out.Tokens, newTokenRow(&all[i]))
		}
		return form.put(out)
	}
	if len(all) == 0 { // perhaps the store of another directory is meant
		where, err := f.dir()
		if f.url != "" {
			where = "--store" // the URL may hold a password
		}
		a.say("there are no tokens in the store of %s: create one with serve token create", where)
		return err
	}
	out := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ID\tROLE\tNAME\tCREATED\tVALID (UTC)")
	for i := range all {
		t := &all[i]
		row := newTokenRow(t)
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", row.ID, row.role(), row.Name, t.Created.UTC().Format(time.DateOnly), countsUntil(t, time.Now()))
	}
	return out.Flush()
}

func (r *tokenRow) role() string {
	if r.AgentRole != "" {
		return r.Role + "/" + r.AgentRole
	}
	return r.Role
}

// countsUntil says in a few words until when a credential counts.
func countsUntil(t *store.Token, now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return "revoked " + t.Revoked.UTC().Format(time.DateOnly)
	case t.Expires.IsZero():
		return "until revoked"
	case !now.Before(t.Expires):
		return "expired " + t.Expires.UTC().Format(time.DateOnly)
	}
	return "until " + t.Expires.UTC().Format("2006-01-02 15:04")
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	f := &storeFlags{}
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token and close its connections", Args: exactly(1, "the id of a token"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.tokenRevoke(cmd.Context(), f, args[0]) },
	}
	f.add(cmd.Flags())
	return cmd
}

// tokenRevoke ends a credential. A server that runs heeds it within a second.
func (a *app) tokenRevoke(ctx context.Context, f *storeFlags, id string) error {
	kept, err := f.open(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(kept.RevokeToken(ctx, id, time.Now()), kept.Close())
	if errors.Is(err, store.ErrUnknown) {
		return usage("there is no token %s: run agent-wrapper serve token list to see them", id)
	}
	return err
}

// unambiguous returns why a name cannot be given: a person's name is no agent's.
func unambiguous(ctx context.Context, kept store.Store, t *store.Token) error {
	all, err := kept.Tokens(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if other := &all[i]; other.Name == t.Name && (other.Role == server.RoleAgent) != (t.Role == server.RoleAgent) {
			return usage("--name %s: a token with role %s has that name: give another", t.Name, other.Role)
		}
	}
	return nil
}
