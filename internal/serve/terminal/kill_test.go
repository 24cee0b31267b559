package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// victim is the variable with which the test program is a server that works until it
// is killed: the directory that it shares with others, and its name.
const victim = "TERMINAL_TEST_VICTIM"

// openStore opens the store of the servers in a directory. The tests with PostgreSQL
// replace it.
var openStore = func(ctx context.Context, dir string) (store.Store, error) {
	return sqlite.Open(ctx, filepath.Join(dir, "store.db"))
}

// over returns the manager of a server.
func over(ctx context.Context, at string) (*Manager, store.Store, error) {
	db, err := openStore(ctx, filepath.Dir(at))
	if err != nil {
		return nil, nil, err
	}
	m, err := Open(ctx, Options{
		Store: db, Server: filepath.Base(at), Private: at + "-private", Most: 4,
		Decider: func(_ store.Session, a permission.Approver) (Decider, error) {
			return rules{approver: a, mu: new(sync.Mutex), outcomes: new([]audit.Outcome)}, nil
		},
		Approver: func(_ store.Session, b approval.Broker) permission.Approver { return person{b} },
	})
	return m, db, err
}

// serve works with sessions until the process is killed, and tells each step.
func serve(at string) {
	ctx, dir := context.Background(), filepath.Dir(at)
	m, _, err := over(ctx, at)
	if err != nil {
		panic(err)
	}
	for len(m.List()) < 4 {
		if _, err := m.Create(ctx, store.Session{ConversationID: "talk", Dir: dir}); err != nil {
			panic(err)
		}
	}
	for i := 0; ; i++ {
		id := m.List()[i%4].ID
		r, err := m.Execute(ctx, id, Request{Command: ": ask; echo " + random() + " >>" + filepath.Join(dir, "ran")})
		if err != nil && kindOf(err) != Conflict {
			panic(err)
		}
		fmt.Println(r.Status)
		if i%3 == 2 {
			continue // and so it stays pending for a while
		}
		r, err = m.Approve(ctx, id, answerOf(approval.Approve), nil)
		// After a restart the approval may be consumed, and the command is being denied.
		if settled := new(approval.Settled); err != nil && kindOf(err) != Conflict && !errors.As(err, &settled) {
			panic(err)
		}
		fmt.Println(r.Status)
	}
}

// kills returns how often each server is killed.
func kills() int {
	if os.Getenv("AW_LONG") != "" {
		return 200
	}
	return 10
}

// killOften starts a server and kills it, again and again, each time after some steps.
func killOften(t *testing.T, at string, around func(i int, kill func())) {
	for i := range kills() {
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stderr = append(os.Environ(), victim+"="+at), os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Error(err)
			return
		}
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		r := bufio.NewScanner(out)
		for range 1 + rand.IntN(30) {
			if !r.Scan() {
				t.Error("the server has ended by itself")
				break
			}
		}
		around(i, func() { cmd.Process.Kill() })
		cmd.Wait()
	}
}

// TestKilled: a server that is killed at any moment loses nothing that waits, runs
// nothing twice and nothing that was not approved.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	killOften(t, filepath.Join(dir, "one"), func(_ int, kill func()) { kill() })
	nothingLost(t, dir, "one")
}

// nothingLost checks what servers of a directory have run and stored.
func nothingLost(t *testing.T, dir string, servers ...string) {
	t.Helper()
	var db store.Store
	for _, name := range servers {
		m, kept, err := over(t.Context(), filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { m.Close(); kept.Close() }()
		db = kept
	}
	text, err := os.ReadFile(filepath.Join(dir, "ran"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, word := range strings.Fields(string(text)) {
		if ran[word]++; ran[word] > 1 {
			t.Errorf("%s ran %d times", word, ran[word])
		}
	}
	all, err := db.Commands(t.Context(), store.CommandFilter{})
	if err != nil {
		t.Fatal(err)
	}
	states := map[store.CommandState]int{}
	for _, c := range all {
		states[c.State]++
		word := strings.Fields(c.Command)[3]
		var e approval.Entry
		if c.ApprovalID != "" {
			if e, err = db.Get(t.Context(), c.ApprovalID); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
		began := c.State == store.CommandUnknown || c.State == store.CommandCompleted || c.State == store.CommandFailed
		if ran[word] > 0 && (!began || e.Status != approval.Consumed) {
			t.Errorf("it ran: %+v, %v", c, e.Status)
		}
		if c.State == store.CommandCompleted && ran[word] != 1 {
			t.Errorf("it did not run: %+v", c)
		}
		if e.Status == approval.Pending && c.State != store.CommandPending {
			t.Errorf("a question is left: %+v", c)
		}
		delete(ran, word)
	}
	if len(ran) > 0 {
		t.Errorf("nobody handed in %v", ran)
	}
	t.Logf("%v", states)
}
