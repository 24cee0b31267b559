//go:build linux

package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// The test binary acts as a process that writes to a record: AUDIT_WRITE is the
// number of records, the arguments are the record and the setting.
func TestMain(m *testing.M) {
	if os.Getenv("AUDIT_WRITE") == "" {
		os.Exit(m.Run())
	}
	if err := writer(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// writer writes records, and prints each number once it is recorded.
func writer(path, setting string) error {
	signal.Ignore(syscall.SIGXFSZ)
	n, err := strconv.Atoi(os.Getenv("AUDIT_WRITE"))
	if err != nil {
		return err
	}
	s, err := ParseSync(setting)
	if err != nil {
		return err
	}
	l, err := Open(path, Options{Sync: s})
	if err != nil {
		return err
	}
	for i := range n {
		if err := l.Record(context.Background(), record(fmt.Sprintf(`{"command":"echo %d of %d"}`, i, os.Getpid()), "")); err != nil {
			return err
		}
		fmt.Println(i)
	}
	return l.Close()
}

func process(t *testing.T, n int, path, setting string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], path, setting)
	cmd.Env = append(os.Environ(), "AUDIT_WRITE="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	return cmd
}

// TestTwoProcesses: two processes write to one record at the same time.
func TestTwoProcesses(t *testing.T) {
	slow.Test(t)
	n := 500
	if *every {
		n = 10_000
	}
	for _, setting := range SyncNames() {
		path := filepath.Join(t.TempDir(), "log")
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := process(t, n, path, setting).Run(); err != nil {
					t.Errorf("%s: %v", setting, err)
				}
			})
		}
		both.Wait()
		r := proven(t, path)
		if want := uint64(2*n + 1); r.Records != want || r.Known != want || r.Torn != 0 || len(r.Notes) != 0 {
			t.Errorf("%s: %+v", setting, r)
		}
	}
}

// TestKilledWriter: a writer that is killed leaves a record that verifies or has a torn
// line, contains everything that was reported as recorded, and can be
// continued. It is killed at a random moment while a second process writes.
func TestKilledWriter(t *testing.T) {
	slow.Test(t)
	kills := 10
	switch {
	case *every:
		kills = 200
	case sampled > 8:
		kills = 3
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, setting := range SyncNames() {
		path := filepath.Join(t.TempDir(), "log")
		said, torn := 0, 0
		for range kills {
			if info, err := os.Stat(path); err == nil && info.Size() > 1<<19 && !*every {
				path, said = filepath.Join(t.TempDir(), "log"), 0
			}
			said += killed(t, path, setting, r.IntN(60))
			report := proven(t, path)
			for _, note := range report.Notes {
				if strings.Contains(note.Text, "is torn") {
					torn++
				}
			}
			if int(report.Records) < said+1 {
				t.Fatalf("%s: %d records, and %d were said to be recorded", setting, report.Records, said)
			}
		}
		t.Logf("%s: %d kills, %d torn lines", setting, kills, torn)
		l := open(t, path)
		if err := l.Record(context.Background(), record(`{}`, "")); err != nil {
			t.Errorf("%s: %v", setting, err)
		}
		l.Close()
		proven(t, path)
	}
}

// killed starts two writers and kills the first after it has recorded n
// decisions. It returns how many both reported.
func killed(t *testing.T, path, setting string, n int) (said int) {
	t.Helper()
	victim, other := process(t, 1<<30, path, setting), process(t, n, path, setting)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(victim.Start(), other.Start()); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(out)
	for said < n && in.Scan() {
		said++
	}
	victim.Process.Kill()
	for in.Scan() {
		said++
	}
	victim.Wait()
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
	return said + n
}

// TestFull: a full disk denies, and earlier records remain. A limit on the file
// size ends a write in the middle, as a full disk does.
func TestFull(t *testing.T) {
	for _, setting := range SyncNames() {
		path := filepath.Join(t.TempDir(), "log")
		cmd := exec.Command("/bin/sh", "-c", `ulimit -f 8 && exec "$0" "$@"`, os.Args[0], path, setting)
		cmd.Env = append(os.Environ(), "AUDIT_WRITE=100")
		var why strings.Builder
		cmd.Stderr = &why
		out, err := cmd.Output()
		if err == nil || !strings.Contains(why.String(), "record the decision: write "+path+": file too large") {
			t.Fatalf("%s: %v %s", setting, err, why.String())
		}
		said := strings.Count(string(out), "\n")
		before := proven(t, path)
		if said == 0 || int(before.Records) != said+1 {
			t.Errorf("%s: %d said, %+v", setting, said, before)
		}
		full, _ := os.ReadFile(path)
		l := open(t, path) // there is space again
		if err := l.Record(context.Background(), record(`{}`, "")); err != nil {
			t.Error(err)
		}
		now, _ := os.ReadFile(path)
		if !strings.HasPrefix(string(now), string(full)) {
			t.Errorf("%s: something is lost", setting)
		}
		if r := proven(t, path); r.Torn != 1 {
			t.Errorf("%s: the torn line is not named: %+v", setting, r)
		}
	}
}

// TestReadOnly: a record that cannot be written denies and says why.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	var errs []error
	unprivileged(t, func() {
		_, err := Open(filepath.Join(dir, "log"), Options{})
		errs = append(errs, err)
	})
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		os.Chmod(dir, 0o755)
	}
	unprivileged(t, func() { // the record is already open, its head is not
		errs = append(errs, l.Record(context.Background(), record(`{}`, "")))
		_, err := Open(path, Options{})
		errs = append(errs, err)
	})
	for _, err := range errs {
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("%v", err)
		}
	}
	if err := l.Record(context.Background(), record(`{}`, "")); err != nil {
		t.Errorf("once it may be written again: %v", err)
	}
	if r := proven(t, path); r.Records != 3 || r.Known != 3 {
		t.Errorf("%+v", r)
	}
}

// unprivileged calls do on a thread that cannot write to files of others.
func unprivileged(t *testing.T, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do() // not root
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread exits with its identity
		if _, _, err := syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0); err != 0 {
			t.Error(err)
		}
		do()
	}()
	<-done
}

// faulty is a file whose writes and syncs fail on demand.
type faulty struct {
	file
	write func(p []byte) (int, error) // nil: the file's own
	sync  func() error
}

func (f *faulty) Write(p []byte) (int, error) {
	if f.write != nil {
		return f.write(p)
	}
	return f.file.Write(p)
}

func (f *faulty) Sync() error {
	if f.sync != nil {
		return f.sync()
	}
	return f.file.Sync()
}

// TestShortWrites: wherever a write ends early, with or without an error, the
// decision is not recorded, and the next one is.
func TestShortWrites(t *testing.T) {
	for n := range 40 {
		for _, fault := range []error{nil, syscall.ENOSPC, io.ErrClosedPipe} {
			path := filepath.Join(t.TempDir(), "log")
			l := open(t, path)
			bad := &faulty{file: l.file}
			bad.write = func(p []byte) (int, error) {
				written, _ := bad.file.Write(p[:min(len(p), n*20)])
				return written, fault
			}
			l.file = bad
			if err := l.Record(context.Background(), record(`{}`, "")); err == nil && n*20 < 300 {
				t.Errorf("%d bytes, %v: recorded", n*20, fault)
			}
			bad.write = nil
			if err := l.Record(context.Background(), record(`{}`, "")); err != nil {
				t.Errorf("%d bytes, %v: %v", n*20, fault, err)
			}
			proven(t, path)
		}
	}
}

// TestSyncFails: after a failed sync the state of the disk is unknown, so
// everything is denied from then on.
func TestSyncFails(t *testing.T) {
	for _, s := range []Sync{SyncGroup, SyncEach} {
		path := filepath.Join(t.TempDir(), "log")
		l, err := Open(path, Options{Sync: s})
		if err != nil {
			t.Fatal(err)
		}
		bad := &faulty{file: l.file, sync: func() error { return syscall.EIO }}
		l.file = bad
		for range 2 {
			if err := l.Record(context.Background(), record(`{}`, "")); !errors.Is(err, syscall.EIO) {
				t.Errorf("%v: %v", s, err)
			}
			bad.sync = nil
		}
		l.Close()
		proven(t, path)
	}
}

// TestGroup: decisions that arrive during a sync share the next one, and none
// is answered before it was synced.
func TestGroup(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "log"))
	const n = 50
	var written sync.WaitGroup
	written.Add(n)
	real := l.file
	syncs, synced := 0, position{}
	first := make(chan struct{})
	bad := &faulty{file: real}
	bad.write = func(p []byte) (int, error) { defer written.Done(); return real.Write(p) }
	bad.sync = func() error {
		if syncs++; syncs == 1 {
			close(first)
			written.Wait() // the others write while this one syncs
		}
		info, err := real.Stat()
		synced.End = info.Size()
		return errors.Join(err, real.Sync())
	}
	l.file = bad
	var all sync.WaitGroup
	one := func() {
		if err := l.Record(context.Background(), record(`{}`, "")); err != nil {
			t.Error(err)
		}
	}
	all.Go(one)
	<-first
	for range n - 1 {
		all.Go(one)
	}
	all.Wait()
	if syncs != 2 {
		t.Errorf("%d syncs for %d decisions, want 2", syncs, n)
	}
	if l.walk.at.End != synced.End {
		t.Errorf("answered up to byte %d, synced up to %d", l.walk.at.End, synced.End)
	}
	if known, _ := l.head.position(); known.Seq != n+1 {
		t.Errorf("%+v", known)
	}
}
