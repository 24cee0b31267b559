package workspace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// settledMemory has every directory settled. The test has to wait for the next time of the
// file system between a look and a change.
func settledMemory() *Memory {
	return &Memory{clock: func() time.Time { return time.Now().Add(time.Hour) }}
}

// ticked waits until the file system gives another time than that of the last change.
func ticked(t *testing.T, dir string) {
	t.Helper()
	probe := filepath.Join(dir, "probe")
	changed := func() (at syscall.Stat_t) {
		if err := os.WriteFile(probe, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(probe, 0o600); err != nil { // which sets its time
			t.Fatal(err)
		}
		if err := syscall.Stat(probe, &at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	for first := changed(); changed().Ctim == first.Ctim; {
	}
}

// TestMemory: with a memory of what was there, a glance says of every name what a look at
// it says, whatever has changed meanwhile.
func TestMemory(t *testing.T) {
	slow.Test(t)
	root, probes := t.TempDir(), t.TempDir()
	dir, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s := stampOf(dir)
	told := s != (stamp{}) // else nothing is kept here
	if told && !s.still(root) {
		t.Fatalf("a directory in which nothing has changed is not as it was: %+v", s)
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	var dirs, names []string
	for _, dir := range []string{"", "a", "a/b", "c"} {
		dirs = append(dirs, dir)
		for _, name := range []string{"a", "A", "b", "c", "d", "é"} {
			names = append(names, filepath.Join(dir, name))
		}
	}
	change := func(name string) string {
		path := filepath.Join(root, name)
		other := filepath.Join(root, names[r.IntN(len(names))])
		switch r.IntN(8) {
		case 0:
			return fmt.Sprint("remove ", name, os.Rename(path, filepath.Join(probes, fmt.Sprint(r.Uint64())))) // RemoveAll would open a pipe, and wait
		case 1, 2:
			return fmt.Sprint("directory ", name, os.Mkdir(path, 0o755))
		case 3:
			return fmt.Sprint("link ", name, os.Symlink("../"+filepath.Base(other), path))
		case 4:
			return fmt.Sprint("rename ", name, os.Rename(path, other))
		case 5:
			return fmt.Sprint("pipe ", name, syscall.Mkfifo(path, 0o600))
		case 6:
			_ = os.Remove(path)
			return fmt.Sprint("instead ", name, os.Symlink(other, path))
		}
		return fmt.Sprint("file ", name, syscall.Mknod(path, syscall.S_IFREG|0o600, 0))
	}
	memory, kept := settledMemory(), 0
	var did []string
	for range 400 {
		g, fresh := NewGlance(Tree{}, memory), Tree{}
		for _, dir := range dirs {
			path := filepath.Join(root, dir)
			before := memory.known[path]
			got, err := g.List(path)
			want, wantErr := fresh.List(path)
			if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(sorted(got), sorted(want)) {
				t.Fatalf("seed %d: %s has %v, %v, want %v, %v\n%q", seed, dir, got, err, want, wantErr, did)
			}
			if before != nil && err == nil && got == before.of {
				kept++
			}
		}
		for _, name := range names {
			path := filepath.Join(root, name)
			if got, want := g.Kind(path), fresh.Kind(path); got != want {
				t.Fatalf("seed %d: %s is %v, want %v\n%q", seed, name, got, want, did)
			}
			real, ok := g.Resolve(path)
			if want, wantOK := fresh.Resolve(path); real != want || ok != wantOK {
				t.Fatalf("seed %d: %s leads to %s, %v, want %s, %v\n%q", seed, name, real, ok, want, wantOK, did)
			}
		}
		ticked(t, probes)
		did = append(did, change(names[r.IntN(len(names))]))
	}
	if told && kept < 100 {
		t.Errorf("only %d listings were kept", kept)
	}
	total := 0
	for _, d := range memory.known {
		total += d.size()
	}
	if total != memory.names {
		t.Errorf("%d names are counted, and %d are kept", memory.names, total)
	}
}

func sorted(l *sandbox.Listing) []sandbox.Entry {
	return slices.SortedFunc(slices.Values(l.Entries), func(a, b sandbox.Entry) int { return strings.Compare(a.Name, b.Name) })
}

// TestGone: a directory that was not there, and cannot be listed, has nothing in it.
func TestGone(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	g := NewGlance(Tree{}, new(Memory))
	for range 3 {
		for _, name := range []string{"", "/a", "/b", "/a/b"} {
			if kind := g.Kind(gone + name); kind != sandbox.Nothing {
				t.Errorf("%s is %v", name, kind)
			}
			if real, ok := g.Resolve(gone + name); !ok || real != gone+name {
				t.Errorf("%s leads to %s, %v", name, real, ok)
			}
			if l, err := g.List(gone + name); err == nil {
				t.Errorf("%s has %v", name, l)
			}
		}
	}
}

// TestUnsettled: what has changed just now is looked at again, since the next change may
// have the same time; so is what is in a file system that does not tell.
func TestUnsettled(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{root, "/proc/self/fdinfo"} {
		memory := new(Memory)
		if dir != root {
			memory = settledMemory()
		}
		first, err := NewGlance(Tree{}, memory).List(dir)
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := NewGlance(Tree{}, memory).List(dir); second == first {
			t.Errorf("%s is not looked at again", dir)
		}
	}
}

// TestMemoryIsBounded: of many directories not all are kept.
func TestMemoryIsBounded(t *testing.T) {
	slow.Test(t)
	m := new(Memory)
	for i := range 10 {
		m.keep(fmt.Sprint(i), &directory{of: &sandbox.Listing{Entries: make([]sandbox.Entry, maxNames/4)}})
	}
	if m.names > maxNames || len(m.known) > 4 {
		t.Errorf("%d names of %d directories", m.names, len(m.known))
	}
	empty := &directory{of: &sandbox.Listing{}}
	for i := range 2 * maxNames {
		m.keep(strconv.Itoa(i), empty)
	}
	if len(m.known) > maxNames {
		t.Errorf("%d empty directories", len(m.known))
	}
}
