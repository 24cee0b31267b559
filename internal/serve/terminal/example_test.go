package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/terminal"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// nobody is there to be asked.
type nobody struct{}

func (nobody) Approve(context.Context, permission.Request) (permission.Answer, error) {
	return permission.Answer{}, errors.New("nobody is there")
}

// A server opens a manager over its store; an engine decides for each session.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "terminal")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, filepath.Join(dir, "store.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	m, err := terminal.Open(ctx, terminal.Options{
		Store: db, Server: "here", Private: filepath.Join(dir, "private"),
		Decider: func(s store.Session, a permission.Approver) (terminal.Decider, error) {
			return engine.Open(engine.Options{Dir: s.Dir, Dirs: &engine.Dirs{State: dir}, Isolated: true, Approver: a})
		},
		Approver: func(store.Session, approval.Broker) permission.Approver { return nobody{} },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	s, err := m.Create(ctx, store.Session{AgentID: "bot", AgentRole: "chat_agent", ConversationID: "talk", Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	view, err := m.Subscribe(s.ID, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range []string{"rm -rf /", "echo hello"} {
		r, err := m.Execute(ctx, s.ID, terminal.Request{Command: line})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Status)
	}

	for output := ""; !strings.Contains(output, "hello\r\n"); {
		out, err := view.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		output += string(out.Data)
	}

	// A person takes over while it runs or afterwards, types, and lets go.
	if _, err := m.Interrupt(ctx, s.ID, "anna", true); err != nil {
		log.Fatal(err)
	}
	var wrong *terminal.Error
	if _, err := m.Execute(ctx, s.ID, terminal.Request{Command: "echo hello"}); errors.As(err, &wrong) && wrong.Kind == terminal.NoControl {
		fmt.Println(err)
	}
	err = errors.Join(
		m.Resize(s.ID, "anna", 120, 40), m.Input(ctx, s.ID, "anna", []byte("exit\r"), false), m.Signal(ctx, s.ID, "anna", "SIGHUP"),
	)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := m.Release(ctx, s.ID, "anna", true); err != nil {
		log.Fatal(err)
	}
	_, err = m.Approve(ctx, s.ID, approval.Event{Kind: approval.Approve, By: approval.Principal{Role: approval.Person, Name: "anna"}}, nil)
	fmt.Println(err)
	if now, err := m.Get(s.ID); err == nil {
		fmt.Println(now.State, len(m.List()))
	}
	if err := m.CloseSession(ctx, s.ID, "the talk is over"); err != nil {
		log.Fatal(err)
	}
	if _, err := view.Next(ctx); err == nil || err == io.EOF {
		fmt.Println("closed")
	}
	// Output:
	// forbidden
	// executed
	// Agent does not have control
	// no command is waiting for approval
	// agent_control 1
	// closed
}
