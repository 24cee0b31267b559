//go:build linux && serve

package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/client"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
)

// patience is how long the judge waits for what has to come. Other work may share the
// machine.
const patience = 2 * time.Minute

// The owners of credentials: two agents and two people.
const (
	bot   = "bot"
	batch = "batch"
	ann   = "ann"
	ben   = "ben"
)

// world is servers over one store, with all that uses them.
type world struct {
	t        testing.TB
	binary   string
	dir      string
	store    string // URL; "" is a file of each server
	servers  []*server
	secrets  map[string]string // by owner
	book     book
	view     view
	events   atomic.Int64 // requests that were sent and answers that came
	strike   atomic.Pointer[strike]
	slowest  time.Duration     // start
	verdict  []string          // what is wrong
	ends     map[string]string // how commands ended, by id
	patience time.Duration     // of the judge
}

// strike is what is done at a moment: when so many events have happened.
type strike struct {
	at   int64
	once sync.Once
	do   func()
}

// tick counts an event.
func (w *world) tick() {
	n := w.events.Add(1)
	if s := w.strike.Load(); s != nil && n >= s.at {
		s.once.Do(s.do)
	}
}

// wrong notes a fault that was found.
func (w *world) wrong(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.verdict, text) {
		w.verdict = append(w.verdict, text)
	}
}

// newWorld starts servers, makes credentials and begins sessions.
func newWorld(t testing.TB, binary, store string, servers int) *world {
	t.Helper()
	w := &world{t: t, binary: binary, dir: t.TempDir(), store: store, secrets: map[string]string{}, book: newBook(), ends: map[string]string{}, patience: patience, view: view{seqs: map[string]int64{}}}
	for i := range servers {
		s := &server{world: w, dir: filepath.Join(w.dir, "server"+strconv.Itoa(i+1)), chat: map[string]int64{}}
		s.space = filepath.Join(s.dir, "space")
		if err := os.MkdirAll(s.space, 0o755); err != nil {
			t.Fatal(err)
		}
		w.servers = append(w.servers, s)
	}
	t.Cleanup(w.close)
	for _, s := range w.servers {
		s.start()
	}
	for name, role := range map[string]string{bot: "agent", batch: "agent", ann: "person", ben: "person"} {
		w.secrets[name] = strings.Fields(w.servers[0].run("serve", "token", "create", "--role", role, "--name", name))[0]
	}
	for i := range guests {
		g := &guest{name: "guest" + strconv.Itoa(i)}
		w.secrets[g.name] = strings.Fields(w.servers[0].run("serve", "token", "create", "--role", "person", "--name", g.name))[0]
		g.id = strings.Split(w.secrets[g.name], "_")[1]
		w.book.guests = append(w.book.guests, g)
	}
	for _, s := range w.servers {
		for i := range sessions {
			r := s.must(bot, "POST", sessionsPath, map[string]any{"conversation_id": s.name() + "-" + strconv.Itoa(i)})
			s.sessions = append(s.sessions, r.text("session_id"))
		}
	}
	return w
}

// close ends what still runs.
func (w *world) close() {
	for _, s := range w.servers {
		if s.up.Load() {
			s.kill()
		}
		if w.t.Failed() {
			w.t.Logf("the log of %s:\n%s", s.name(), s.log.String())
		}
	}
}

// sessions is how many sessions each server has, the half that one agent may have;
// guests is how many people there are whose credential is revoked.
const (
	sessions = 3
	guests   = 4
)

const sessionsPath = "/api/agent-terminal/sessions"

// server is a server that is started again and again.
type server struct {
	world    *world
	dir      string // of its state
	space    string // the workspace
	sessions []string
	chat     map[string]int64 // the last entry that was seen, by session

	up    atomic.Bool
	alive context.Context // as long as it is not killed
	die   context.CancelFunc
	url   string
	cmd   *exec.Cmd
	out   io.Closer
	log   bytes.Buffer
	http  *http.Client
	webs  *sync.Map // *http.Client, by who signs
}

// web returns the client of the owner of a credential.
func (s *server) web(who string) *http.Client {
	c, _ := s.webs.LoadOrStore(who, &http.Client{
		Transport: &signed.Transport{Key: signed.TokenKey(s.world.secrets[who]), Base: s.http.Transport}, Timeout: patience,
	})
	return c.(*http.Client)
}

func (s *server) name() string { return filepath.Base(s.dir) }

// command returns a command of agent-wrapper for this server.
func (s *server) command(args ...string) *exec.Cmd {
	args = append(args, "--state", s.dir)
	if s.world.store != "" {
		args = append(args, "--store", s.world.store)
	}
	cmd := exec.Command(s.world.binary, args...)
	cmd.Dir = s.space
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.world.dir, "USER=tester", "LANG=C.UTF-8"}
	return cmd
}

func (s *server) run(args ...string) string {
	s.world.t.Helper()
	out, err := s.command(args...).Output()
	if err != nil {
		s.world.t.Fatalf("%v: %v", args, err)
	}
	return string(out)
}

// start starts the server, and returns when it is ready.
func (s *server) start() {
	s.world.t.Helper()
	began := time.Now()
	s.cmd = s.command("serve", "--listen", "127.0.0.1:0", "--json", "--isolated", "--sessions", strconv.Itoa(2*sessions),
		"--allow", "Edit(ran),Bash(echo safe-*),Bash(read *)", "--ask", "Bash(echo ask-*)", "--deny", "Bash(echo never-*)")
	s.cmd.Stderr = &s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.world.t.Fatal(err)
	}
	s.out = out
	timer := time.AfterFunc(patience, func() { s.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ Listening string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if !timer.Stop() || err != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.world.t.Fatalf("%s does not start: %v: %s", s.name(), err, s.log.String())
	}
	s.webs = &sync.Map{}
	s.url, s.http = ready.Listening, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: patience}
	s.alive, s.die = context.WithCancel(context.Background())
	s.up.Store(true)
	s.world.slowest = max(s.world.slowest, time.Since(began))
}

// kill kills the server, and waits until nothing is left of it.
func (s *server) kill() {
	s.strike()
	s.gone()
}

// strike kills the server.
func (s *server) strike() {
	s.up.Store(false)
	s.cmd.Process.Kill()
	s.die()
}

// gone waits until the server and what it has started are no more.
func (s *server) gone() {
	s.cmd.Wait()
	s.http.CloseIdleConnections()
	s.out.Close()
	for _, left := range s.orphans() {
		s.world.wrong("a process of the killed %s is left: %s", s.name(), left)
	}
}

// end ends the server in order.
func (s *server) end() {
	s.up.Store(false)
	s.die()
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		s.world.wrong("%s ends with %v", s.name(), err)
	}
	s.out.Close()
}

// orphans waits for the end of the processes that are in the server's workspace, and
// returns those that do not end.
func (s *server) orphans() (left []string) {
	for {
		found := s.processes()
		if len(found) == 0 {
			return nil
		}
		for _, pid := range found {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if !ends(pid) {
				left = append(left, strconv.Itoa(pid)+" "+strings.ReplaceAll(string(text), "\x00", " "))
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if left != nil {
			return left
		}
	}
}

// processes returns those that are in the server's workspace.
func (s *server) processes() (found []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if at, err := os.Readlink(link); err == nil && at == s.space {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			found = append(found, pid)
		}
	}
	return found
}

// ends waits until a process has ended.
func ends(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	end := time.Now().Add(patience)
	for time.Now().Before(end) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(end).Milliseconds())+1)
		if n > 0 && err == nil {
			return true
		}
	}
	return false
}

// reply is the answer of a server.
type reply struct {
	status int
	fields map[string]any
}

func (r *reply) text(name string) string {
	text, _ := r.fields[name].(string)
	return text
}

// errCut is the error if it is unknown whether a request had an effect.
var errCut = errors.New("no answer")

// call does a request, which may be cut off.
func (s *server) call(who, method, path string, body any) (*reply, error) {
	var data []byte
	if body != nil {
		data, _ = json.Marshal(body)
	}
	q, err := http.NewRequest(method, s.url+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	s.world.tick()
	resp, err := s.web(who).Do(q)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCut, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	s.world.tick()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCut, err)
	}
	r := &reply{status: resp.StatusCode}
	if err := json.Unmarshal(text, &r.fields); err != nil {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	return r, nil
}

// must does a request that has to succeed.
func (s *server) must(who, method, path string, body any) *reply {
	s.world.t.Helper()
	r, err := s.call(who, method, path, body)
	if err != nil || r.status != http.StatusOK {
		s.world.t.Fatalf("%s: %s %s: %v %v\n%s", s.name(), method, path, r, err, s.log.String())
	}
	return r
}

// client returns a broker on the server.
func (s *server) client(who string) *client.Client {
	c, err := client.New(client.Options{URL: s.url, Token: s.world.secrets[who]})
	if err != nil {
		s.world.t.Fatal(err)
	}
	return c
}

// until asks again and again whether something is so.
func (w *world) until(so func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	defer cancel()
	for ctx.Err() == nil {
		if so() {
			return true
		}
	}
	return false
}

// chance is true once in n times.
func chance(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }
