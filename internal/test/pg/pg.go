//go:build linux

package pg

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// Password is that of the user of every Server. Nothing but its URL may show it.
const Password = "sesame-open-7f3a"

const role = "wrapper"

// End is how a Server is stopped.
type End syscall.Signal

// The ends. After Crash the transactions that were not committed are gone, and every
// connection was cut without a word.
const (
	Crash = End(syscall.SIGQUIT) // "immediate": recovery at the next start
	Fast  = End(syscall.SIGINT)  // cuts connections, and ends in order
)

// Server is a PostgreSQL that runs.
type Server struct {
	bin, dir  string
	port      int
	as        *syscall.Credential // nil: as the user of the test
	databases atomic.Int64

	process *os.Process
	ended   chan error
	mu      sync.Mutex
	log     []string
}

// Start makes a cluster and starts it. Settings are lines of postgresql.conf.
func Start(settings ...string) (*Server, error) {
	s := &Server{bin: Bin()}
	if s.bin == "" {
		return nil, errors.New("no PostgreSQL: install Debian's package postgresql")
	}
	err := s.prepare(settings)
	for range 5 { // another program may take the port between free and start
		if err == nil {
			if err = s.start(); err == nil {
				return s, nil
			}
			s.port, err = free()
		}
	}
	return nil, errors.Join(err, fmt.Errorf("PostgreSQL does not start: %s", strings.Join(s.Log(), "\n")), os.RemoveAll(s.dir))
}

// prepare makes the directory, and the cluster in it.
func (s *Server) prepare(settings []string) (err error) {
	if s.dir, err = os.MkdirTemp("", "aw-pg"); err != nil {
		return err
	}
	if s.port, err = free(); err != nil {
		return err
	}
	if err := s.lower(); err != nil {
		return err
	}
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(Password+"\n"), 0o644); err != nil {
		return err
	}
	out, err := s.command("initdb", "--no-sync", "--no-instructions", "--username="+role, "--pwfile="+password,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "-D", s.data()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s.configure(settings)
}

// lower chooses the user that runs PostgreSQL, which refuses root.
func (s *Server) lower() error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres") // of Debian's package
	if err != nil {
		return err
	}
	uid, errU := strconv.ParseUint(u.Uid, 10, 32)
	gid, errG := strconv.ParseUint(u.Gid, 10, 32)
	s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return errors.Join(errU, errG, os.Chown(s.dir, int(uid), int(gid)))
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// small are settings for a server that a few tests use.
var small = []string{
	"listen_addresses = '127.0.0.1'", "fsync = off", "shared_buffers = 8MB", "max_connections = 60",
	"wal_level = minimal", "max_wal_senders = 0", "min_wal_size = 32MB", "max_wal_size = 64MB",
	"jit = off", "huge_pages = off", "max_worker_processes = 1", "max_parallel_workers = 0",
	"logging_collector = off", "log_destination = 'stderr'", "log_connections = on", "lc_messages = 'C'",
}

func (s *Server) configure(settings []string) error {
	lines := append(slices.Clone(small), "unix_socket_directories = '"+s.dir+"'")
	text := strings.Join(append(lines, settings...), "\n") + "\n"
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// free returns a port of the loopback that nobody listens at.
func free() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// command returns a command of PostgreSQL, as its user.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "PGPASSWORD=" + Password}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// start starts the server, and returns when it accepts connections.
func (s *Server) start() error {
	cmd := s.command("postgres", "-D", s.data(), "-p", strconv.Itoa(s.port))
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT // it must not outlive a test that is killed
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	started, ready := make(chan error, 1), make(chan bool, 1)
	s.ended = make(chan error, 1)
	ended := s.ended
	go func() {
		// The signal is sent when the thread ends that started the process.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			s.read(bufio.NewScanner(stderr), ready)
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process = cmd.Process
	if !<-ready {
		return fmt.Errorf("it ended: %w", <-ended)
	}
	return nil
}

// read keeps the log, and says whether the server got ready.
func (s *Server) read(lines *bufio.Scanner, ready chan<- bool) {
	for lines.Scan() {
		s.mu.Lock()
		s.log = append(s.log, lines.Text())
		s.mu.Unlock()
		if strings.HasSuffix(lines.Text(), "database system is ready to accept connections") {
			select {
			case ready <- true:
			default:
			}
		}
	}
	close(ready)
}

// Log returns what the server has logged.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Stop ends the server. Its data stay.
func (s *Server) Stop(how End) error {
	if err := s.process.Signal(syscall.Signal(how)); err != nil {
		return err
	}
	err := <-s.ended
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && how == Crash {
		return nil
	}
	return err
}

// Restart stops the server and starts it again, at the same port.
func (s *Server) Restart(t testing.TB, how End) {
	t.Helper()
	if err := errors.Join(s.Stop(how), s.Again()); err != nil {
		t.Fatal(err)
	}
}

// Again starts the server after Stop.
func (s *Server) Again() error { return s.start() }

// Close ends the server and removes its data.
func (s *Server) Close() error {
	return errors.Join(s.Stop(Crash), os.RemoveAll(s.dir))
}

// Database makes an empty database and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "test" + strconv.FormatInt(s.databases.Add(1), 10)
	s.Exec(t, "postgres", "CREATE DATABASE "+name)
	return s.url(name)
}

func (s *Server) url(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(role, Password), Host: "127.0.0.1:" + strconv.Itoa(s.port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Exec runs SQL in a database, given by its name or URL, and returns what it prints.
func (s *Server) Exec(t testing.TB, database, sql string) string {
	t.Helper()
	if !strings.Contains(database, "://") {
		database = s.url(database)
	}
	out, err := s.command("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, database).CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
