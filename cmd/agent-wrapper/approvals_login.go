package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/server/client"
)

func (a *app) loginCommand(f *approvalsFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "login --server URL",
		Short: "Keep your token for a server, to answer there",
		Long: `login asks for the token that serve token create --role person has printed, or
reads it from standard input, and keeps it in the state directory, in a file
that only you can read and that no agent reads without a question. It is never
an argument: those are seen by every process of the machine.`,
		Example: "  agent-wrapper approvals login --server https://approvals.example",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.login(cmd.Context(), f.server) },
	}
}

func (a *app) logoutCommand(f *approvalsFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "logout --server URL",
		Short:   "Forget your token for a server",
		Long:    "logout removes the token from this machine. It still counts: serve token revoke\nends it at the server.",
		Example: "  agent-wrapper approvals logout --server https://approvals.example",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			tokens, err := userTokens()
			if err != nil {
				return err
			}
			if err = tokens.Forget(f.server); errors.Is(err, client.ErrNoToken) {
				return usage("--server %s: %v", f.server, err)
			}
			return a.toldOf(err, "the token for %s is forgotten", f.server)
		},
	}
}

// toldOf tells that something is done, if there is no error.
func (a *app) toldOf(err error, format string, args ...any) error {
	if err == nil {
		fmt.Fprintf(a.err, "agent-wrapper: "+format+"\n", args...)
	}
	return err
}

// userTokens returns the file with the user's tokens.
func userTokens() (client.Tokens, error) {
	file := userDirs().Credentials()
	if file == "" {
		return client.Tokens{}, usage("%w: set HOME or XDG_STATE_HOME", engine.ErrNoState)
	}
	return client.Tokens{File: file}, nil
}

// login keeps a token, if the server knows it as a person's.
func (a *app) login(ctx context.Context, server string) error {
	tokens, err := userTokens()
	if err != nil {
		return err
	}
	if server == "" {
		return usage("--server: it says for which server the token is")
	}
	secret, err := a.secret()
	if err != nil {
		return err
	}
	c, err := client.New(client.Options{URL: server, Token: secret})
	if err != nil {
		return usage("%v", err)
	}
	defer c.Close()
	who, err := c.Owner(ctx)
	switch {
	case err != nil:
		return err
	case who.Role != "person" && who.Role != "admin":
		return usage("this is the token of an agent (%s): it cannot answer", who.Name)
	}
	return a.toldOf(tokens.Keep(server, secret), "%s answers at %s from now on", who.Name, server)
}

// longestToken is more than the size of any token in bytes.
const longestToken = 4096

// secret asks for a secret, without showing it, or reads it from standard input.
func (a *app) secret() (string, error) {
	if f, ok := a.in.(*os.File); ok && isTerminal(f) {
		fmt.Fprint(a.err, "Token (it is not shown): ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.err)
		return strings.TrimSpace(string(text)), err
	}
	line, err := bufio.NewReader(io.LimitReader(a.in, longestToken)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}
