package terminal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// swapping puts a link in the place of a directory when a command begins, behind the last
// look at it.
type swapping struct {
	*memory
	dir, other string
}

func (s swapping) UpdateCommand(ctx context.Context, from store.CommandState, c store.Command) error {
	err := s.memory.UpdateCommand(ctx, from, c)
	if c.State == store.CommandExecuting {
		err = errors.Join(err, os.Rename(s.dir, s.dir+".judged"), os.Symlink(s.other, s.dir))
	}
	return err
}

// TestDirectorySwappedAtStart: a command runs in the directory that was decided about,
// also if a link takes its place while the command begins.
func TestDirectorySwappedAtStart(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shown, other := filepath.Join(root, "shown"), filepath.Join(root, "other")
	if err := errors.Join(os.Mkdir(shown, 0o700), os.Mkdir(other, 0o700)); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(o *Options) { o.Store = swapping{o.Store.(*memory), shown, other} })
	info, err := b.Create(t.Context(), store.Session{AgentID: "bot", Dir: shown})
	if err != nil {
		t.Fatal(err)
	}
	r := b.execute(info.ID, ": ask; touch there")
	if got, err := b.Approve(t.Context(), info.ID, answerOf(approval.Approve), nil); err != nil || !got.Executed {
		t.Fatalf("%+v, %v", got, err)
	}
	b.store.ends(t, r.CommandID, store.CommandCompleted)
	if _, err := os.Stat(filepath.Join(shown+".judged", "there")); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(other); len(left) > 0 {
		t.Error("it ran elsewhere")
	}
}
