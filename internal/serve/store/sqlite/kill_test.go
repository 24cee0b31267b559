//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// TestMain lets the test binary act as a server that writes until it is killed:
// SQLITE_WRITE is its name, the argument is the store.
func TestMain(m *testing.M) {
	name := os.Getenv("SQLITE_WRITE")
	if name == "" {
		os.Exit(m.Run())
	}
	if err := server(name, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// server writes, and says what it did after each step: on a line, what and which.
func server(name, path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	one, err := s.CreateSession(ctx, store.Session{ID: name, State: "agent_control", Server: name, Created: time.Now()})
	if err != nil {
		return err
	}
	for n := int64(0); ; n++ {
		id := fmt.Sprint(name, "-", n)
		steps := []func() error{
			func() error { return approvals(ctx, s, id, n) },
			func() error { return commands(ctx, s, name, id) },
			func() error {
				entry := store.Chat{ConversationID: "c", SessionID: name, Text: id}
				_, err := s.AppendChat(ctx, entry, entry)
				return said(err, "chat", id)
			},
			func() error {
				return said(s.AppendAudit(ctx, name, 2*n, []byte(id), []byte(id)), "audit", id)
			},
			func() error {
				one.State = fmt.Sprint("state ", n)
				one, err = s.UpdateSession(ctx, one)
				return said(err, "session", fmt.Sprint(name, " ", one.Version))
			},
			func() error {
				return said(s.CreateGrant(ctx, store.Grant{ID: id, Person: "anna"}), "grant", id)
			},
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
	}
}

func said(err error, what, which string) error {
	if err == nil {
		fmt.Println(what, which)
	}
	return err
}

// approvals submits an approval, and takes it one to three steps on.
func approvals(ctx context.Context, s store.Store, id string, n int64) error {
	_, err := s.Submit(ctx, approval.Entry{State: approval.State{Terms: approval.Terms{ID: id, Digest: "d", Asker: asker}}})
	if err = said(err, "pending", id); err != nil || n%4 == 0 {
		return err
	}
	kind := approval.Approve
	if n%4 == 1 {
		kind = approval.Deny
	}
	e, err := s.Answer(ctx, approval.Event{Kind: kind, ID: id, Digest: "d", By: anna}, []byte(`{}`))
	if err = said(err, e.Status.String(), id); err != nil || n%4 < 3 {
		return err
	}
	_, err = s.Consume(ctx, id, "d")
	return said(err, "consumed", id)
}

// commands runs a command.
func commands(ctx context.Context, s store.Store, session, id string) error {
	c := store.Command{ID: id, SessionID: session, State: store.CommandPending}
	if err := said(s.CreateCommand(ctx, c), string(c.State), id); err != nil {
		return err
	}
	for _, next := range []store.CommandState{store.CommandExecuting, store.CommandCompleted} {
		was := c.State
		c.State = next
		if err := said(s.UpdateCommand(ctx, was, c), string(next), id); err != nil {
			return err
		}
	}
	return nil
}

// TestKill: whatever a server said that it stored is there after it was killed at a
// random moment while another one writes, and nothing is consumed again.
func TestKill(t *testing.T) {
	slow.Test(t)
	kills := 10
	if *every {
		kills = 200
	}
	path := filepath.Join(t.TempDir(), "store.db")
	open(t, path).Close()
	r := rand.New(rand.NewPCG(7, 8))
	var said []string
	for n := range kills {
		said = append(said, killed(t, path, fmt.Sprintf("s%d", 2*n), fmt.Sprintf("s%d", 2*n+1), r.IntN(60))...)
		if n%10 == 9 {
			holds(t, path, said)
		}
	}
	holds(t, path, said)
	t.Logf("%d kills, %d lines", kills, len(said))
}

// killed starts two servers and kills both after the first has said n lines. It returns
// what both said.
func killed(t *testing.T, path, one, two string, n int) (lines []string) {
	t.Helper()
	var outs []*bufio.Scanner
	var cmds []*exec.Cmd
	for _, name := range []string{one, two} {
		cmd := exec.Command(os.Args[0], path)
		cmd.Env, cmd.Stderr = append(os.Environ(), "SQLITE_WRITE="+name), os.Stderr
		out, err := cmd.StdoutPipe()
		if err = errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		outs, cmds = append(outs, bufio.NewScanner(out)), append(cmds, cmd)
	}
	for len(lines) < n && outs[0].Scan() {
		lines = append(lines, outs[0].Text())
	}
	for i, cmd := range cmds {
		cmd.Process.Kill()
		for outs[i].Scan() {
			lines = append(lines, outs[i].Text())
		}
		if err := cmd.Wait(); cmd.ProcessState.Exited() {
			t.Fatalf("a server ended before it was killed: %v", err)
		}
	}
	return lines
}

// rank orders the states that follow each other.
var rank = map[string]int{
	"pending": 0, "approved": 1, "denied": 2, "consumed": 3,
	"pending_approval": 0, "executing": 1, "completed": 2, "unknown": 3,
}

// holds checks that a store has what was said, and the laws that it has to keep.
func holds(t *testing.T, path string, said []string) {
	t.Helper()
	ctx, s := t.Context(), open(t, path)
	defer s.Close()
	entries, err := s.List(ctx, approval.Filter{})
	commands, errCommands := s.Commands(ctx, store.CommandFilter{})
	grants, errGrants := s.Grants(ctx, "", "")
	chat, errChat := s.Chat(ctx, "c", "", 0, 0)
	audit, errAudit := s.AuditServers(ctx)
	if err := errors.Join(err, errCommands, errGrants, errChat, errAudit); err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for _, e := range entries {
		status[e.ID] = e.Status.String()
	}
	state := map[string]string{}
	for _, c := range commands {
		state[c.ID] = string(c.State)
	}
	counted := map[string]int{}
	for i, c := range chat {
		if counted[c.Text]++; c.Seq != int64(i)+1 {
			t.Fatalf("entry %d of the chat has number %d", i+1, c.Seq)
		}
	}
	for _, line := range said {
		what, which, _ := strings.Cut(line, " ")
		ok := false
		switch what {
		case "chat":
			ok = counted[which] == 2
		case "grant":
			ok = slices.ContainsFunc(grants, func(g store.Grant) bool { return g.ID == which })
		case "audit":
			name, n, _ := strings.Cut(which, "-")
			ok = audit[name] >= 2*int64(number(n))+2
		case "session":
			name, n, _ := strings.Cut(which, " ")
			one, err := s.Session(ctx, name)
			ok = err == nil && one.Version >= int64(number(n))
		case "pending", "approved", "denied", "consumed":
			is, there := status[which]
			ok = there && rank[is] >= rank[what]
		default:
			is, there := state[which]
			ok = there && rank[is] >= rank[what]
		}
		if !ok {
			t.Fatalf("it was said that %s, and that is lost", line)
		}
		if what == "consumed" {
			if _, err := s.Consume(ctx, which, "d"); err == nil {
				t.Fatalf("%s is consumed twice", which)
			}
		}
	}
	torn(t, s, audit)
}

// torn checks that lines of the audit came in pairs, and what is left executing.
func torn(t *testing.T, s store.Store, audit map[string]int64) {
	t.Helper()
	for name, n := range audit {
		if lines, err := s.Audit(t.Context(), name, 0, 0); err != nil || int64(len(lines)) != n || n%2 != 0 {
			t.Fatalf("%s has %d lines, %d counted, %v", name, len(lines), n, err)
		}
	}
	sessions, err := s.Sessions(t.Context(), store.SessionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range sessions {
		if _, err := s.Recover(t.Context(), one.Server, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	left, err := s.Commands(t.Context(), store.CommandFilter{States: []store.CommandState{store.CommandExecuting}})
	if err != nil || len(left) > 0 {
		t.Fatalf("%d commands execute, %v", len(left), err)
	}
}

func number(text string) (n int) {
	fmt.Sscan(text, &n)
	return n
}
