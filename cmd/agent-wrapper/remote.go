package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/client"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
)

// tokenVariable is the environment variable with the token by which an agent asks at a
// server.
const tokenVariable = "AGENT_WRAPPER_TOKEN"

// agentToken returns the token by which this process asks, and takes it out of the
// environment, so that nothing that it starts has it.
func agentToken() string {
	token := os.Getenv(tokenVariable)
	_ = os.Unsetenv(tokenVariable) // cannot fail for this name
	return token
}

// approvalsAt returns the beginning of the commands for what is asked at a server, or with
// "" on this machine.
func approvalsAt(server string) string {
	if server == "" {
		return "agent-wrapper approvals"
	}
	return "agent-wrapper approvals --server " + shellword.Quote(server)
}

// isServer reports whether a value of --approvals is the URL of a server.
func isServer(where string) bool {
	return strings.HasPrefix(where, "https://") || strings.HasPrefix(where, "http://")
}

// askerAt returns the broker of a server for a process that asks there, with the token
// of an agent. It answers nothing: an answer at its own terminal withdraws the question.
func (a *app) askerAt(server string) (*place, error) {
	if a.token == "" {
		return nil, usage("--approvals %s: there is no token to ask with: set %s to an agent's (agent-wrapper serve token create --role agent)", server, tokenVariable)
	}
	c, err := client.New(client.Options{URL: server, Token: a.token})
	if err != nil {
		return nil, usage("--approvals: %w", err)
	}
	return &place{
		Broker: c, asks: func(int) error { return nil }, close: closed(c), server: server,
		answer: func() error { return errors.New("the token of an agent does not answer") },
	}, nil
}

func closed(c *client.Client) func() error {
	return func() error {
		c.Close()
		return nil
	}
}

// personAt returns the broker of a server for the user, with the token that login keeps.
func (a *app) personAt(ctx context.Context, server string) (*place, error) {
	tokens, err := userTokens()
	if err != nil {
		return nil, err
	}
	o, err := tokens.Of(server)
	if errors.Is(err, client.ErrNoToken) {
		return nil, usage("--server %s: you have no token for it: log in with agent-wrapper approvals login --server %s", server, server)
	}
	if err != nil {
		return nil, usage("--server: %w", err)
	}
	c, err := client.New(o)
	if err != nil {
		return nil, usage("--server: %w", err)
	}
	who, err := c.Owner(ctx)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &place{Broker: c, person: who.Name, server: server, close: closed(c), answer: mayAnswerThere}, nil
}

// mayAnswerThere is mayAnswer for a server: what an agent of this machine started does
// not answer with the token of the user either.
func mayAnswerThere() error {
	local, err := placeAt(approvalsLocal, nil)
	if err != nil {
		return err
	}
	return errors.Join(local.answer(), local.close())
}
