package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/client"
)

func (a *app) loginCommand(f *approvalsFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "login --server URL",
		Short: "Store your token for a server, to answer there",
		Long: `login asks for the token that serve token create --role person printed, or reads
it from standard input. It stores the token in the state directory, in a file
that only you can read and that no agent can read without a question. The token
is never an argument, since every process on the machine can see arguments. It
is never sent either: it signs requests, once the server has proved itself. On
Linux login also notes which user listens at an http:// address; later nothing
is sent to a program of another user.`,
		Example: "  agent-wrapper approvals login --server https://approvals.example",
		Args:    none(""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.login(cmd.Context(), f.server) },
	}
}

func (a *app) logoutCommand(f *approvalsFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "logout --server URL",
		Short:   "Remove your token for a server",
		Long:    "logout removes the token from this machine. The token stays valid until serve\ntoken revoke revokes it at the server.",
		Example: "  agent-wrapper approvals logout --server https://approvals.example",
		Args:    none(""),
		RunE: func(*cobra.Command, []string) error {
			tokens, err := userTokens()
			if err != nil {
				return err
			}
			if err = tokens.Forget(f.server); errors.Is(err, client.ErrNoToken) {
				return usage("--server %s: %w", f.server, err)
			}
			return a.toldOf(err, "the token for %s is removed", f.server)
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
		return usage("--server is missing: name the server that the token is for")
	}
	secret, err := a.secret(ctx)
	if err != nil {
		return err
	}
	o := client.Options{URL: server, Token: secret}
	o.User = client.Listener(ctx, server)
	c, err := client.New(o)
	if err != nil {
		return usage("--server: %w", err)
	}
	defer c.Close()
	who, err := c.Owner(ctx)
	switch {
	case err != nil:
		return err
	case who.Role != "person" && who.Role != "admin":
		return usage("this is the token of an agent (%s), which cannot answer: give a person's token (agent-wrapper serve token create --role person)", who.Name)
	}
	return a.toldOf(tokens.Keep(o), "%s can now answer at %s", who.Name, server)
}

// longestToken is more than the size of any token in bytes.
const longestToken = 4096

// secret asks for a secret, without showing it, or reads it from standard input.
func (a *app) secret(ctx context.Context) (string, error) {
	if f, ok := a.in.(*os.File); ok && isTerminal(f) {
		fmt.Fprint(a.err, "Token (not shown as you type): ")
		text, err := unseen(ctx, int(f.Fd()))
		fmt.Fprintln(a.err)
		return strings.TrimSpace(string(text)), err
	}
	line, err := bufio.NewReader(io.LimitReader(a.input(ctx), longestToken)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// unseen reads a line from a terminal that does not show it, and shows what is typed again
// afterwards, whatever ends it.
func unseen(ctx context.Context, fd int) ([]byte, error) {
	was, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	var text []byte
	var failed error
	if !until(ctx, func() { text, failed = term.ReadPassword(fd) }) {
		awaitHidden(fd, was)
		return nil, errors.Join(cutShort(ctx), term.Restore(fd, was))
	}
	return text, failed
}

// awaitHidden waits until a read of a password, which may only just have begun, has changed the
// terminal: what is restored before that would not last. Of a terminal that did not show
// what is typed anyway, nothing changes.
func awaitHidden(fd int, was *term.State) {
	for range 100 {
		if now, err := term.GetState(fd); err != nil || *now != *was {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
