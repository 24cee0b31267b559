package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/postgres"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// storeFlags say where the service keeps what it knows.
type storeFlags struct{ state, url string }

func (f *storeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.state, "state", "", "`directory` for the store and the audit log (default: agent-wrapper in the state directory)")
	flags.StringVar(&f.url, "store", "", "`URL` of a database that several servers share, postgres://… (default: a file in the state directory)")
}

// dir returns the state directory, which is made if necessary.
func (f *storeFlags) dir() (string, error) {
	dir := userDirs().State
	if f.state != "" {
		dir = absolute(f.state)
	}
	if dir == "" {
		return "", usage("%w: give --state, or set HOME or XDG_STATE_HOME", engine.ErrNoState)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the state directory cannot be created: %w", err)
	}
	return dir, nil
}

// storeFile is the file of the store in the state directory, serveDir the directory of
// what belongs to one server.
const (
	storeFile = "serve.db"
	serveDir  = "serve"
)

// open opens the store.
func (f *storeFlags) open(ctx context.Context) (store.Store, error) {
	dir, err := f.dir()
	if err != nil {
		return nil, err
	}
	switch {
	case f.url == "":
		return sqlite.Open(ctx, filepath.Join(dir, storeFile))
	case !strings.HasPrefix(f.url, "postgres://") && !strings.HasPrefix(f.url, "postgresql://"):
		return nil, usage("--store is not the URL of a database: write it as postgres://user@host/database, or leave it out for a file in the state directory")
	}
	return postgres.Open(ctx, f.url)
}

// serveFlags are the flags of serve.
type serveFlags struct {
	storeFlags
	policyFlags
	audit       auditFlags
	listen      string
	sessions    int
	hosts       []string
	cert, key   string
	json        *jsonForm
	unrecorded  bool
	recordInput bool
}

func (a *app) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve decisions, terminal sessions and approvals over HTTP",
		Long: `serve is the approval service. Agents use it to have tool uses decided and to
run commands in terminals that people can watch and take over. People answer
what the policy asks: on the page that it serves, from another terminal, or from
another machine. On a terminal, serve prints the address of the page with a code
that lets one browser in, until serve ends. Every request is signed with a
token: see serve token.
docs/server.md describes the API. With --sandbox agents' commands in terminals
run in a sandbox, and what people type does not (Linux).`,
		Example: `  agent-wrapper serve
  agent-wrapper serve token create --role person --name ann
  agent-wrapper serve --listen 127.0.0.1:0 --state DIR --json`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7717", "`address` and port to listen on; port 0 picks a free one")
	flags.Var((*list)(&f.hosts), "host", "another host `name` of the server, with its port unless it is the usual one; repeatable")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` with the TLS certificate (PEM); required if other machines can reach the address")
	flags.StringVar(&f.key, "tls-key", "", "`file` with the certificate's private key")
	flags.IntVar(&f.sessions, "sessions", 10, "how many terminal sessions may be open at once")
	flags.BoolVar(&f.unrecorded, "no-recording", false, "do not record terminal sessions")
	flags.BoolVar(&f.recordInput, "record-input", false, "also record what people type in them, where the terminal shows it")
	f.json = a.addJSON(cmd, "print one JSON object when the server is ready, and log as JSON")
	f.storeFlags.add(flags)
	f.policyFlags.add(cmd)
	f.addSandbox(cmd)
	f.audit.add(flags)
	cmd.AddCommand(a.serveTokenCommand(), a.serveBackupCommand(), a.serveRestoreCommand())
	return cmd
}

// serve runs the service until a signal ends it.
func (a *app) serve(ctx context.Context, f *serveFlags) (err error) {
	if f.unrecorded && f.recordInput {
		return usage("--no-recording and --record-input do not go together: leave one of them out")
	}
	dir, err := f.dir()
	if err != nil {
		return err
	}
	o, err := f.engineOptions(dir)
	if err != nil {
		return err
	}
	rules, err := load(o) // an error in a policy is told before anything is served
	if err != nil {
		return err
	}
	if err := enclose(ctx, rules, false, a.warn); err != nil { // as where there is no sandbox
		return err
	}
	listener, err := f.listener()
	if err != nil {
		return err
	}
	defer listener.Close() // for an error before it is served
	unlock, err := claim(filepath.Join(dir, serveDir), atomicfile.TryLock)
	if err != nil {
		return err
	}
	defer unlock()
	kept, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	defer copyRecord(kept, f.record(dir), f.log(a.err))()
	at, err := f.serving(rules, listener)
	if err != nil {
		return err
	}
	name, err := serverName(filepath.Join(dir, serveDir))
	if err != nil {
		return err
	}
	instance, before, err := newInstance(filepath.Join(dir, serveDir))
	if err != nil {
		return err
	}
	head, err := userDirs().Head(at.Record)
	if err != nil {
		return err
	}
	s, err := server.New(server.Options{
		Store: kept, Hosts: f.hosts, TLS: f.cert != "", Log: f.log(a.err), Name: name, Instance: instance, Before: before, Record: at.Record, Head: head, Workspace: at.Workspace,
		Private: filepath.Join(dir, serveDir, "terminals"), MostSessions: f.sessions,
		Recordings: f.recordings(dir), RecordInput: f.recordInput,
		Environ: append(os.Environ(), claude.BelowRun+"=1"), // an agent is at its terminals
		Open: func(agent, role string, warn func(string)) (*engine.Engine, error) {
			mine := inRole(o, role)
			mine.Agent, mine.Warn = agent, warn
			e, err := engine.Open(mine)
			return e, opening(err)
		},
		Enclose: func(r *engine.Rules) error { return enclose(ctx, r, false, func(string) {}) }, // it was told above
		Rules:   func(role string) (*engine.Rules, error) { return load(new(inRole(o, role))) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := a.ready(ctx, f, at, rules.Warnings, kept, instance); err != nil {
		return err
	}
	return s.Serve(ctx, listener)
}

// inRole returns the options for agents of a role.
func inRole(o *engine.Options, role string) engine.Options {
	mine, settings := *o, *o.Settings
	settings.Role = role
	mine.Settings = &settings
	return mine
}

// recordings returns the directory for recordings of terminal sessions, "" for none.
func (f *serveFlags) recordings(dir string) string {
	if f.unrecorded {
		return ""
	}
	return filepath.Join(dir, serveDir, "recordings")
}

// serverName returns the name of the server whose directory it is. It is made up once.
func serverName(dir string) (string, error) {
	file := filepath.Join(dir, "name")
	name, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		name = []byte("server-" + strings.ToLower(rand.Text()[:16]))
		err = atomicfile.Write(file, name, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("the server's name: %w", err)
	}
	return string(name), nil
}

// instanceFile is the file, in the directory of a server, with the name of its latest start.
const instanceFile = "instance"

// newInstance names this start of the server whose directory it is, and returns the name
// of the one before too, "" if there was none.
func newInstance(dir string) (instance, before string, err error) {
	file := filepath.Join(dir, instanceFile)
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("the server's instance: %w", err)
	}
	instance = server.NewInstance()
	if err := atomicfile.Write(file, []byte(instance), 0o600); err != nil {
		return "", "", fmt.Errorf("the server's instance: %w", err)
	}
	return instance, string(text), nil
}

// runningInstance returns the name of the start of the server that runs on a state
// directory.
func runningInstance(dir string) (string, error) {
	own := filepath.Join(dir, serveDir)
	text, err := os.ReadFile(filepath.Join(own, instanceFile))
	if err == nil {
		var unlock func()
		var free bool
		if unlock, free, err = atomicfile.TryLock(own); free {
			unlock()
		}
		if err == nil && !free {
			return string(text), nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return "", usage("--browser: no server runs with the state directory %s: start agent-wrapper serve first; a code is for the server that runs when it is made", dir)
}

// engineOptions returns the options of the engines that decide.
func (f *serveFlags) engineOptions(dir string) (*engine.Options, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	if err := f.audit.into(o); err != nil {
		return nil, err
	}
	if o.Record == "" && f.state != "" {
		o.Record = filepath.Join(dir, recordFile)
	}
	o.Settings.Profile = "terminal"
	o.NoAdvice = true // a person can be asked at any time
	// The store has what all agents do, the directory of the server what is typed in
	// terminals, and its process the environment that commands get only a part of.
	self := filepath.Join("/proc", strconv.Itoa(os.Getpid()))
	o.Hide = []string{filepath.Join(dir, serveDir), self, filepath.Join(self, "environ")} // environ also of $PPID
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".lock", ".turn"} {
		o.Hide = append(o.Hide, filepath.Join(dir, storeFile+suffix))
	}
	// Records have what other agents did, the broker of this user what they ask, unmasked.
	state := userDirs().State
	for _, file := range []string{o.Record, filepath.Join(dir, recordFile), filepath.Join(state, recordFile), filepath.Join(state, approvalsDir)} {
		if file != "" {
			o.Hide = append(o.Hide, file)
		}
	}
	if home, err := os.UserHomeDir(); err == nil { // what audit and exec history are known to read
		o.Hide = append(o.Hide, filepath.Join(home, ".local", "state", "agent-wrapper", recordFile))
	}
	o.Guard = append(o.Guard, o.Hide...)
	return o, nil
}

// What lies in a state directory: the audit log, and the questions of run, exec
// and decide.
const (
	recordFile   = "audit.jsonl"
	approvalsDir = "approvals"
)

// listener listens where the flags say. What is sent to an address that others reach
// is not sent in the clear.
func (f *serveFlags) listener() (net.Listener, error) {
	if (f.cert == "") != (f.key == "") {
		return nil, usage("--tls-cert and --tls-key belong together: give both")
	}
	addr, err := net.ResolveTCPAddr("tcp", f.listen)
	if err != nil {
		return nil, usage("--listen %s: %w", f.listen, err)
	}
	if !addr.IP.IsLoopback() && f.cert == "" {
		return nil, usage("--listen %s can be reached from other machines, which would see the tokens: give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy that has TLS", f.listen)
	}
	var pair tls.Certificate
	if f.cert != "" {
		if pair, err = tls.LoadX509KeyPair(f.cert, f.key); err != nil {
			return nil, fileError("--tls-cert and --tls-key", err)
		}
	}
	l, err := net.ListenTCP("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, usage("--listen %s: something listens there already, perhaps another agent-wrapper serve: give another port, or 0 for any that is free", f.listen)
	}
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", f.listen, err)
	}
	if f.cert != "" {
		return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
	}
	return l, nil
}

// A server waits so long for the lock of a directory, and tries again after each pause:
// the child that a killed server was about to start has it for a moment more.
const (
	lockPatience = time.Second
	lockPause    = 10 * time.Millisecond
)

// claim makes this process the server of a directory, by a lock of it.
func claim(dir string, lock func(dir string) (unlock func(), free bool, err error)) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the state directory cannot be created: %w", err)
	}
	again := time.NewTicker(lockPause)
	defer again.Stop()
	for end := time.Now().Add(lockPatience); ; <-again.C {
		unlock, free, err := lock(dir)
		if err != nil || free {
			return unlock, err
		}
		if time.Now().After(end) {
			return nil, usage("another server uses the state directory %s: stop it, or give this one another --state", filepath.Dir(dir))
		}
	}
}

// log returns where the server tells an operator what happens.
func (f *serveFlags) log(w io.Writer) *slog.Logger {
	if f.json.on {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// serving says that a server is ready.
type serving struct {
	envelope
	Listening string `json:"listening"` // the URL
	Workspace string `json:"workspace"`
	State     string `json:"state"`
	Record    string `json:"record"`
	PID       int    `json:"pid"`
	Version   string `json:"version"`
}

// serving returns what a server serves, and where.
func (f *serveFlags) serving(r *engine.Rules, l net.Listener) (serving, error) {
	dir, err := f.dir()
	if err != nil {
		return serving{}, err
	}
	scheme := "http"
	if f.cert != "" {
		scheme = "https"
	}
	return serving{
		Listening: scheme + "://" + l.Addr().String(), Workspace: r.Place.Workspace, State: dir, Record: absolute(f.record(dir)),
		PID: os.Getpid(), Version: buildVersion(),
	}, nil
}

// ready tells that the server listens, and what is to be done next.
func (a *app) ready(ctx context.Context, f *serveFlags, at serving, warnings []string, kept store.Store, instance string) error {
	for _, w := range warnings {
		a.warn(w)
	}
	if f.json.on {
		return f.json.put(&at)
	}
	tokens, err := kept.Tokens(ctx)
	if err != nil {
		return err
	}
	code, err := a.personCode(ctx, kept, instance)
	if err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Serving approvals for %s at %s (audit log: %s). Press ^C to stop.\n", at.Workspace, at.Listening, at.Record)
	if code != "" {
		fmt.Fprintf(&out, "Open %s/#%s (it lets one browser in, within ten minutes)\n", f.page(at), code)
	}
	out.WriteString(f.nextSteps(tokens, code == ""))
	_, err = io.WriteString(a.out, visible.Text(out.String()))
	return err
}

// nextSteps says how to make the credentials that are missing.
func (f *serveFlags) nextSteps(tokens []store.Token, person bool) string {
	where := ""
	if f.state != "" {
		where = " --state " + f.state
	}
	if f.url != "" {
		where += " --store URL" // which may hold a password
	}
	has := func(agent bool) bool {
		return slices.ContainsFunc(tokens, func(t store.Token) bool { return (t.Role == server.RoleAgent) == agent && t.Revoked.IsZero() })
	}
	create := "  agent-wrapper serve token create --role agent --name my-agent" + where + "\n"
	switch {
	case person && !has(false):
		return "Nobody has a credential yet. In another terminal, not in one of an agent:\n" +
			"  agent-wrapper serve token create --role person --name " + cmp.Or(os.Getenv("USER"), "NAME") + where + "\n" + create
	case !person && !has(true):
		return "No agent has a credential yet. In another terminal, not in one of an agent:\n" + create
	}
	return ""
}

// page returns the URL of the page: by the first further name, if there is one.
func (f *serveFlags) page(at serving) string {
	scheme, host, _ := strings.Cut(at.Listening, "://")
	if len(f.hosts) > 0 {
		host = f.hosts[0]
	}
	return scheme + "://" + host
}

// personCode returns a one-time code that lets a browser in as the user, "" if there is
// to be none: without a terminal nobody sees it but who reads the output, and what an
// agent has started is not the user.
func (a *app) personCode(ctx context.Context, kept store.Store, instance string) (string, error) {
	if !isTerminal(a.in) || !isTerminal(a.out) || startedByAgent() {
		return "", nil
	}
	t, code, err := server.MintCode(server.RolePerson, userName(), instance, time.Now())
	if err != nil || unambiguous(ctx, kept, &t) != nil { // the name is none, or an agent's
		return "", nil
	}
	return code, kept.CreateToken(ctx, t)
}

// startedByAgent reports whether mayAnswer would refuse an answer of this process.
func startedByAgent() bool {
	state := userDirs().State
	if state == "" {
		return true
	}
	l, err := broker.OpenLocal(filepath.Join(state, "approvals"), nil)
	if err != nil {
		return true
	}
	return errors.Join(mayAnswer(l), l.Close()) != nil
}
