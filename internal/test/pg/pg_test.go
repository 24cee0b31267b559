//go:build linux && postgres

package pg

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func start(t *testing.T, settings ...string) *Server {
	t.Helper()
	s, err := Start(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.dir); err == nil {
			t.Error("the directory is still there")
		}
	})
	return s
}

// What was committed is there after every end, and what was not is not.
func TestRestart(t *testing.T) {
	s := start(t)
	database := s.Database(t)
	s.Exec(t, database, "CREATE TABLE t (n int)")
	for i, how := range []End{Crash, Fast, Crash} {
		s.Exec(t, database, "INSERT INTO t VALUES (1)")
		s.Restart(t, how)
		if got := s.Exec(t, database, "SELECT count(*) FROM t"); got != string(rune('1'+i)) {
			t.Errorf("after end %d there are %s rows", i, got)
		}
	}
	if log := strings.Join(s.Log(), "\n"); strings.Contains(log, Password) || !strings.Contains(log, "was not properly shut down") {
		t.Errorf("the log: %s", log)
	}
}

// Each server has its own port and directory, and its databases their own tables.
func TestApart(t *testing.T) {
	a, b := start(t), start(t, "statement_timeout = 1234")
	if a.port == b.port || a.dir == b.dir {
		t.Fatal("two servers share")
	}
	one, two := a.Database(t), a.Database(t)
	a.Exec(t, one, "CREATE TABLE t (n int)")
	a.Exec(t, two, "CREATE TABLE t (n int)")
	if got := b.Exec(t, b.Database(t), "SHOW statement_timeout"); got != "1234ms" {
		t.Errorf("the setting is %q", got)
	}
}

// The server runs as the user of Debian's package if the test runs as root.
func TestNotRoot(t *testing.T) {
	s := start(t)
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/"+strconv.Itoa(s.process.Pid), &st); err != nil || st.Uid == 0 {
		t.Errorf("the server runs as user %d: %v", st.Uid, err)
	}
}
