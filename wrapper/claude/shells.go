package claude

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/build"
	"github.com/agent-wrapper/agent-wrapper/internal/outputs"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/prefix"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/shelltext"
)

// shells answers the programs that the agent CLI starts in front of the commands of its
// shell (package prefix): a command runs if, and as often as, it was allowed. This does
// not depend on what the CLI says of itself. A nil *shells is one that the CLI does not
// ask.
type shells struct {
	o       *launch
	dir     string // with the socket; removed at the end
	bash    string
	envText string     // of the file Task.ShellEnv
	servers [][]string // the commands of the MCP servers
	scratch *os.Root   // the open directory for temporary files, nil if there is none

	listener *net.UnixListener
	serving  sync.WaitGroup
	ctx      context.Context // ends when the run does
	stop     context.CancelFunc
	told     chan struct{} // there are events
	keeps    time.Duration // how long a sandbox that was built ahead waits

	mu        sync.Mutex
	events    []wrapper.Event // for the run to emit
	session   string
	place     *kernel.Room         // nil before a command runs inside the sandbox
	running   []*sandbox.Refusals  // of the commands inside the sandbox
	hooks     []string             // the commands of managed hooks that were accepted
	met       map[string][]string  // what the sandbox refused commands, by tool use without a result
	allowed   map[string][]*permit // by command line
	begun     []*permit            // those that have run, whose results are not there yet
	known     map[string]bool      // the command lines that were ever allowed
	undecided []string             // others that were to run
}

// permit is a tool use that was allowed and has not run yet.
type permit struct {
	id       string
	forms    []string    // its command line, as the CLI may write it
	dir      string      // in which it was decided, "" if unknown
	at       os.FileInfo // the directory, as it was then; nil if it was none
	later    bool        // its result may come before it has begun
	inside   bool        // inside the sandbox
	plain    bool        // it only reads
	programs []string    // those of one that only reads
	ahead    func() (*ahead, error)
	again    func() (*permission.Decision, error) // decides one outside the sandbox anew; nil without a sandbox
	// line is the command line, and outward why something in it cannot be done inside.
	line, outward string
	told          string // the file in which its shell leaves its directory; "" if that is the CLI's
}

// ahead is the sandbox of a command, which is built while the CLI starts its shell.
type ahead struct {
	plan    *sandbox.Plan // with what is hidden of our own
	room    *kernel.Room
	process *kernel.Process
}

const (
	askLimit   = 10 * time.Second // to read a question
	aheadLimit = 2 * time.Second  // for which the sandbox waits
	lateLimit  = 30 * time.Second // from the result of a tool use in the background until its command has begun
)

// guarded reports whether the commands of the CLI ask us.
func (o *launch) guarded(bash string) bool {
	return runtime.GOOS == "linux" && o.Start == nil && bash != ""
}

// openShells begins to answer. env is the environment of the agent CLI, bash its shell.
func openShells(o *launch, env []string, bash string) (_ *shells, err error) {
	s := &shells{o: o, bash: bash, keeps: aheadLimit, told: make(chan struct{}, 1), allowed: map[string][]*permit{}, met: map[string][]string{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if s.servers, err = mcpCommands(o.MCPConfig, env); err != nil {
		return nil, err
	}
	if o.ShellEnv != "" {
		text, err := os.ReadFile(o.ShellEnv)
		if err != nil {
			return nil, err
		}
		s.envText = string(text)
	}
	if o.Scratch != "" {
		if s.scratch, err = os.OpenRoot(o.Scratch); err != nil {
			return nil, err
		}
	}
	if err = s.hold(); err != nil {
		return nil, err
	}
	if s.dir, err = s.makeDir(); err != nil {
		return nil, fmt.Errorf("there is no place from which the agent's commands are let run: %w", err)
	}
	if err = s.listen(); err != nil {
		s.close()
		return nil, fmt.Errorf("there is no place from which the agent's commands are let run: %w", err)
	}
	return s, nil
}

// makeDir makes the directory, which nobody else may look into.
func (s *shells) makeDir() (string, error) {
	if s.o.Private == "" {
		return os.MkdirTemp("", "agent-wrapper-shell-")
	}
	dir := filepath.Join(s.o.Private, "shell")
	return dir, os.Mkdir(dir, 0o700)
}

// listen puts the program into the directory, and listens beside it.
func (s *shells) listen() error {
	if strings.Contains(s.dir, " -") {
		return fmt.Errorf("the agent CLI would take a part of %q for an option: set TMPDIR to another directory", s.dir)
	}
	if err := os.Symlink(program(), s.prefix()); err != nil {
		return err
	}
	at, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer at.Close()
	name := fmt.Sprintf("/proc/self/fd/%d/%s", at.Fd(), prefix.Socket) // a path of any length
	s.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return err
	}
	s.listener.SetUnlinkOnClose(false)
	s.serving.Go(s.serve)
	return nil
}

// prefix is what the agent CLI starts in front of its commands.
func (s *shells) prefix() string { return filepath.Join(s.dir, prefix.Name) }

// close ends what is still answered, and the commands inside the sandbox with it.
func (s *shells) close() {
	if s == nil {
		return
	}
	s.stop()
	if s.listener != nil {
		s.listener.Close()
	}
	s.mu.Lock()
	place := s.place
	s.mu.Unlock()
	if place != nil {
		place.Close() // which ends what is waited for
	}
	s.serving.Wait()
	_ = os.RemoveAll(s.dir) // it is not in the way
	if s.scratch != nil {
		s.scratch.Close()
	}
}

func (s *shells) serve() {
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.tell(wrapper.Event{Type: wrapper.ErrorEvent, Message: "a command of the agent could not ask whether it may run: " + err.Error()})
			return
		}
		s.serving.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(s.ctx, func() { conn.Close() })()
			s.attend(&stream{UnixConn: conn})
		})
	}
}

// attend answers one question.
func (s *shells) attend(conn *stream) {
	var asked prefix.Asked
	defer conn.closeFiles()
	conn.SetReadDeadline(time.Now().Add(askLimit))
	if err := prefix.Read(conn, &asked); err != nil {
		return // it does not run then
	}
	a, p, err := s.answer(&asked)
	if err == nil && p != nil && p.inside {
		var plan *sandbox.Plan
		if a, plan, err = s.within(conn, &asked, a, p); plan != nil {
			defer s.lookForAbsent(plan, p.id) // nobody waits for that
		}
	}
	words := ""
	if err != nil {
		a, words = &prefix.Answer{Refused: err.Error()}, s.refused(&asked, err)
	}
	_ = prefix.Write(conn, a) // what gets no answer does not run
	conn.closeFiles()
	if words != "" {
		s.tell(wrapper.Event{Type: wrapper.ErrorEvent, Message: words})
	}
}

// accept lets commands of hooks run, as often as the CLI wants.
func (s *shells) accept(hooks []string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = hooks
}

func (s *shells) isHook(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.hooks, text)
}

// answer returns what is to run, and the tool use that it is; nil for an MCP server and
// a hook.
func (s *shells) answer(asked *prefix.Asked) (*prefix.Answer, *permit, error) {
	if own := build.Name(); asked.Build != own {
		return nil, nil, fmt.Errorf("it is not the agent-wrapper of this run that asks (build %s, not %s): begin the run again, and install all of its programs", asked.Build, own)
	}
	if words, err := shelltext.Words(asked.Text); err == nil && slices.ContainsFunc(s.servers, func(c []string) bool { return slices.Equal(c, words) }) {
		path, err := (&process.Command{Args: words, Dir: asked.Dir, Env: asked.Env}).Find()
		return &prefix.Answer{Path: path, Args: words, Drop: variables.reaching}, nil, err
	}
	if s.isHook(asked.Text) {
		return &prefix.Answer{Path: s.bash, Args: []string{s.bash, "-c", asked.Text}, Drop: variables.reaching}, nil, nil
	}
	text, err := shelltext.Parse(asked.Text, s.envText)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.use(text.Command, asked.Dir)
	if err != nil {
		return nil, nil, err
	}
	run := asked.Text
	switch {
	case p.inside:
		run, err = s.inward(&text, p)
	case p.again != nil:
		run, err = s.outward(&text, p)
	}
	if err != nil {
		return nil, nil, err
	}
	return &prefix.Answer{Path: s.bash, Args: []string{s.bash, "-c", run}, Drop: withheldFromCommands(asked.Env)}, p, nil
}

// use uses up a tool use that allows a command line in a directory.
func (s *shells) use(command, dir string) (*permit, error) {
	now, _ := os.Stat(dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.allowed[command]
	i := slices.IndexFunc(all, func(p *permit) bool { return p.dir != "" && now != nil && p.at != nil && os.SameFile(p.at, now) })
	if i < 0 {
		i = slices.IndexFunc(all, func(p *permit) bool { return p.dir == "" })
	}
	switch {
	case i >= 0:
		p := all[i]
		s.drop(p)
		s.begun = append(s.begun, p)
		return p, nil
	case len(all) > 0:
		return nil, fmt.Errorf("it was allowed in %s, and not in %s", all[len(all)-1].dir, dir)
	}
	if !s.known[command] && !slices.Contains(s.undecided, command) {
		s.undecided = append(s.undecided, command)
	}
	return nil, errors.New("nobody has allowed this command, or it has run already")
}

// reached reports whether a shell was to run the command line of a tool use, which nobody has
// ever allowed: the CLI runs its tools without asking.
func (s *shells) reached(e *entry) bool {
	tool := tools.Builtin(e.tool)
	if s == nil || tool == nil || tool.Does != tools.Command {
		return false
	}
	forms := shelltext.Forms(field(e.input, tool.Field))
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(forms, func(form string) bool { return slices.Contains(s.undecided, form) })
}

// drop takes a tool use out of those that may run. mu is held.
func (s *shells) drop(p *permit) {
	for _, form := range p.forms {
		s.allowed[form] = slices.DeleteFunc(s.allowed[form], func(q *permit) bool { return q == p })
		if len(s.allowed[form]) == 0 {
			delete(s.allowed, form)
		}
	}
}

// allow lets a tool use run once that was allowed, in the directory that it was decided in. The
// CLI has not been told yet.
func (s *shells) allow(use *permission.ToolUse, at os.FileInfo, res *permission.Result) {
	tool := tools.Builtin(use.Tool)
	if s == nil || tool == nil || tool.Does != tools.Command {
		return
	}
	if res.Sandbox == permission.Within && s.o.Sandbox == nil {
		return // nothing allows it without a sandbox
	}
	p := &permit{
		id: use.ID, forms: shelltext.Forms(field(res.UpdatedInput, tool.Field)), dir: use.Dir, at: at,
		later: isSet(res.UpdatedInput, "run_in_background"), inside: s.inside(res), plain: res.OnlyReads, programs: res.Programs,
	}
	switch {
	case p.inside:
		p.line, p.outward = p.forms[0], res.SandboxWhy
		p.ahead = sync.OnceValues(func() (*ahead, error) { return s.prepare(p) })
		s.serving.Go(func() { _, _ = p.ahead() })
	case s.o.Sandbox != nil:
		p.again = s.anew(use, res)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = use.Session
	if p.inside {
		s.met[p.id] = nil // until its result
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	for _, form := range p.forms {
		s.allowed[form], s.known[form] = append(s.allowed[form], p), true
	}
}

// inside reports whether a tool use that was allowed runs inside the sandbox. It does unless it
// was decided to run outside.
func (s *shells) inside(res *permission.Result) bool {
	return s.o.Sandbox != nil && res.Sandbox != permission.Outside
}

// over takes the result of a tool use: what has not begun by then will not, unless it ran as
// another one with the same line, which then takes its place.
func (s *shells) over(id string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.begun, func(p *permit) bool { return p.id == id }); i >= 0 {
		s.begun = slices.Delete(s.begun, i, i+1)
		return
	}
	for _, all := range s.allowed {
		for _, p := range all {
			switch {
			case p.id != id:
			case p.later:
				p.later = false
				time.AfterFunc(lateLimit, func() { s.over(id) })
			case s.swap(p):
			default:
				s.drop(p)
				go p.forgo()
			}
			if p.id == id {
				return
			}
		}
	}
}

// forgo ends the sandbox of a tool use that does not run.
func (p *permit) forgo() {
	if !p.inside {
		return
	}
	if w, err := p.ahead(); err == nil {
		w.process.Forgo()
	}
}

// swap has a tool use that is over stand for another one with the same line, as which it
// has run: the CLI does not say for which one of two a command begins. mu is held.
func (s *shells) swap(p *permit) bool {
	i := slices.IndexFunc(s.begun, func(q *permit) bool { return slices.Equal(q.forms, p.forms) && q.dir == p.dir && q.inside == p.inside })
	if i < 0 {
		return false
	}
	p.id, p.later = s.begun[i].id, s.begun[i].later
	s.begun = slices.Delete(s.begun, i, i+1)
	return true
}

// refused records that a command did not run, and returns the words of that.
func (s *shells) refused(asked *prefix.Asked, why error) string {
	words := fmt.Sprintf("a command of the agent did not run: %v: %s", why, wrapper.OneLine(asked.Text))
	if s.o.Note == nil {
		return words
	}
	if err := s.o.Note("shell", words); err != nil {
		words += fmt.Sprintf(" (not recorded: %v)", err)
	}
	return words
}

// tell has the run emit an event.
func (s *shells) tell(e wrapper.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	select {
	case s.told <- struct{}{}:
	default: // the run will take all of them
	}
}

// heard returns a channel that says when there are events.
func (s *shells) heard() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.told
}

// emit emits the events.
func (s *shells) emit() {
	if s == nil {
		return
	}
	s.mu.Lock()
	events := s.events
	s.events = nil
	s.mu.Unlock()
	for _, e := range events {
		emit(s.o.Events, e)
	}
}

// within has a command run inside the sandbox, and returns the answer when it has ended, and the
// plan if it ran. It is ended when whoever asks is.
func (s *shells) within(conn *stream, asked *prefix.Asked, a *prefix.Answer, p *permit) (*prefix.Answer, *sandbox.Plan, error) {
	defer p.forgo() // unless it has begun
	defer s.look(p.told)
	if len(conn.files) != streams {
		return nil, nil, fmt.Errorf("it came with %d streams, and not with %d", len(conn.files), streams)
	}
	refused := &sandbox.Refusals{}
	defer s.refusing(refused)()
	written := outputs.Of(conn.files[1:]...)
	cmd := &exec.Cmd{Path: a.Path, Args: a.Args, Env: without(asked.Env, a.Drop), Dir: asked.Dir}
	w, err := s.start(p, cmd, [streams]*os.File(conn.files))
	if err != nil {
		return nil, nil, err
	}
	process := w.process
	if len(written) == 0 {
		conn.closeFiles() // somebody may wait for the end of a pipe
	}
	limit := w.plan.Limits.Time(0)
	limited := endIn(process, limit)
	s.serving.Go(func() { pass(conn, process) })
	code, err := process.Wait()
	if limited() && err == nil {
		return &prefix.Answer{Ran: true, Code: code, Says: fmt.Sprintf("agent-wrapper: ended after %v: the time limit (limits.sandbox.timeout_seconds of the policy)\n", limit)}, w.plan, nil
	}
	if err != nil || code == 0 {
		return &prefix.Answer{Ran: true}, w.plan, err
	}
	end := &sandbox.End{Dir: asked.Dir, Line: p.line, Outward: p.outward, Output: written.Read(), Refused: refused.All()}
	return &prefix.Answer{Ran: true, Code: code, Says: s.advice(w.plan, p, end)}, w.plan, nil
}

// prepare has a sandbox built.
func (s *shells) prepare(p *permit) (*ahead, error) {
	plan, err := s.o.Sandbox.Plan()
	if err != nil {
		return nil, fmt.Errorf("the sandbox cannot be planned: %w", err)
	}
	if err := s.hold(); err != nil {
		return nil, err
	}
	w := &ahead{plan: s.o.hide(plan, p.plain)}
	w.plan.Denied = append(slices.Clone(w.plan.Denied), sandbox.Path{Path: s.dir, Why: "agent-wrapper listens there"})
	if w.room, err = s.room(); err != nil {
		return nil, err
	}
	if w.process, err = w.room.Prepare(w.plan); err == nil {
		time.AfterFunc(s.keeps, w.process.Forgo)
	}
	return w, err
}

// start starts the command of a tool use, in the sandbox that was built ahead unless there is a
// reason to plan and build another one.
func (s *shells) start(p *permit, cmd *exec.Cmd, files [streams]*os.File) (*ahead, error) {
	w, err := p.ahead()
	if err == nil && !w.room.Gone() {
		if err = w.process.Start(cmd, files); err == nil || !kernel.IsUnbegun(err) {
			return w, err
		}
	}
	p.forgo()
	if w, err = s.prepare(p); err != nil {
		return nil, err
	}
	return w, w.process.Start(cmd, files)
}

// lookForAbsent warns of protected files that a command has made.
func (s *shells) lookForAbsent(plan *sandbox.Plan, id string) {
	for _, path := range s.o.Sandbox.Made(plan) {
		s.tell(wrapper.Event{Type: wrapper.WarningEvent, ToolUseID: id, Message: path.Made()})
	}
}

// streams is how many a command has: input, output and errors.
const streams = 3

func (s *stream) closeFiles() {
	for _, f := range s.files {
		f.Close()
	}
	s.files = nil
}

// pass sends a command the signals of whoever has asked, and ends it with that.
func pass(conn *stream, process *kernel.Process) {
	conn.SetReadDeadline(time.Time{})
	for {
		var got prefix.Signal
		if err := prefix.Read(conn.UnixConn, &got); err != nil { // and no more descriptors
			process.Signal(syscall.SIGKILL)
			return
		}
		process.Signal(syscall.Signal(got.Number))
	}
}

// endIn ends a command after a time, if that is not 0. over is to be called when it has
// ended, and reports whether that was why.
func endIn(process *kernel.Process, limit time.Duration) (over func() bool) {
	if limit == 0 {
		return func() bool { return false }
	}
	timer := time.AfterFunc(limit, func() { process.Signal(syscall.SIGKILL) })
	return func() bool { return !timer.Stop() }
}

// room returns the room of the session, in which its commands share a network. If it is
// gone, nothing of what ran there is left, and there is a new one.
func (s *shells) room() (*kernel.Room, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.place != nil && !s.place.Gone() {
		return s.place, nil
	}
	if s.ctx.Err() != nil {
		return nil, errors.New("the run is over")
	}
	room, err := kernel.OpenRoom(s.reaches)
	if err == nil {
		s.place = room
	}
	return room, err
}

// refusing has the hosts that are refused noted, until it is called back: for each command
// that runs, since they share a proxy.
func (s *shells) refusing(r *sandbox.Refusals) (over func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = append(s.running, r)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running = slices.DeleteFunc(s.running, func(other *sandbox.Refusals) bool { return other == r })
	}
}

// reaches decides a connection through the proxy.
func (s *shells) reaches(ctx context.Context, host, port string) error {
	err := s.o.Sandbox.Reaches(ctx, s.sessionID(), host, port)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.running {
		_ = r.Note(host, port, err)
	}
	return err
}

// advice returns what is written behind the output of a command that has failed, if the sandbox
// stopped it. What was refused is kept for the record of the tool use.
func (s *shells) advice(plan *sandbox.Plan, p *permit, end *sandbox.End) string {
	if s.o.Sandbox.Meets == nil {
		return ""
	}
	met, advice := s.o.Sandbox.Meets(plan, end)
	s.meets(p.id, met)
	if advice == "" {
		return ""
	}
	says := "agent-wrapper: " + visible.Line(advice) + "\n"
	if n := len(end.Output); n > 0 && end.Output[n-1] != '\n' {
		says = "\n" + says
	}
	return says
}

// meets notes what the sandbox refused the command of a tool use. If that has its result already,
// since it went on in the background, the record has a note of it.
func (s *shells) meets(id string, met []string) {
	s.mu.Lock()
	_, waits := s.met[id]
	if waits {
		s.met[id] = met
	}
	s.mu.Unlock()
	if waits || len(met) == 0 || s.o.Note == nil {
		return
	}
	if err := s.o.Note("sandbox", "a command in the background was stopped by the sandbox: "+strings.Join(met, ", ")); err != nil {
		s.tell(wrapper.Event{Type: wrapper.ErrorEvent, ToolUseID: id, Message: err.Error()})
	}
}

// took returns what the sandbox refused the command of a tool use, which has its result now.
func (s *shells) took(id string) []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	met := s.met[id]
	delete(s.met, id)
	return met
}

func (s *shells) sessionID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}
