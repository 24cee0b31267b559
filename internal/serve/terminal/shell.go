package terminal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
)

// shell is the shell of a person who has the terminal.
type shell struct {
	session *session
	rec     store.Session // at its start
	console *console
	file    *os.File // to which it tells what it runs
	ended   chan struct{}

	mu     sync.Mutex
	unread []byte
	last   string        // number of the line that was told last
	now    store.Command // the one that runs; State "" if none does
	dir    string
}

// telling is what the shell reads at its start. It tells each line before it runs it,
// and how it has ended at the next prompt: which of both, the exit code, the directory
// and the entry of the history, each with a NUL behind it. The mark that the line runs
// (OSC 133 C, which terminals do not show) has us look.
const telling = `HISTFILE= HISTCONTROL= HISTTIMEFORMAT=
PS1='\w\$ '
__tell() { builtin printf '%%s\0%%s\0%%s\0%%s\0' "$1" "$2" "$(builtin pwd -P)" "$(builtin history 1)" 2>/dev/null >>%s; }
PS0='$(__tell begin 0)\e]133;C\a'
PROMPT_COMMAND='__tell end $?'
`

// startShell starts a shell for the person who has the terminal. The lock is held.
func (s *session) startShell() error {
	rc, said := s.private(shellStartup), s.private(shellSaid)
	if err := os.WriteFile(rc, fmt.Appendf(nil, telling, shellword.Single(said)), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(said, nil, 0o600); err != nil {
		return err
	}
	file, err := os.Open(said)
	if err != nil {
		return err
	}
	sh := &shell{session: s, file: file, ended: make(chan struct{}), rec: s.rec}
	dir := existing(s.rec.Dir)
	env := append(slices.Clone(s.env), "PWD="+dir)
	sh.console, err = open([]string{"bash", "--noprofile", "--rcfile", rc, "-i"}, dir, env, s.size, sh.output)
	if err != nil {
		file.Close()
		return err
	}
	s.shell = sh
	go func() {
		defer close(sh.ended)
		sh.console.wait()
		sh.listen()
		sh.lost()
		file.Close()
		s.warn(os.Truncate(said, 0)) // what was typed may be secret
	}()
	return nil
}

// output is what the shell and its jobs write.
func (sh *shell) output(p []byte) {
	sh.listen()
	sh.session.output(p)
}

// over reports whether the shell has ended.
func (sh *shell) over() bool {
	select {
	case <-sh.ended:
		return true
	default:
		return false
	}
}

// end ends the shell and its jobs, and waits for that.
func (sh *shell) end() {
	sh.listen()
	sh.console.leader.Signal(syscall.SIGHUP)
	timer := time.NewTimer(hangup)
	defer timer.Stop()
	select {
	case <-sh.ended:
	case <-timer.C:
		sh.console.leader.Kill()
		<-sh.ended
	}
}

// hangup is how long a shell may take to end.
const hangup = time.Second

// listen reads what the shell has told.
func (sh *shell) listen() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	data, err := io.ReadAll(io.LimitReader(sh.file, 1<<20))
	if err != nil {
		return
	}
	sh.unread = append(sh.unread, data...)
	for {
		fields := bytes.SplitN(sh.unread, []byte{0}, 5)
		if len(fields) < 5 {
			return
		}
		sh.unread = fields[4]
		sh.told(string(fields[0]), string(fields[1]), string(fields[2]), string(fields[3]))
	}
}

// entry is the form of an entry of the history: its number, a mark, and the line.
var entry = lazyregexp.New(`^ *([0-9]+)[* ] ?`)

// told notes the beginning or the end of a line.
func (sh *shell) told(what, exit, dir, line string) {
	if dir != "" {
		sh.dir = dir
	}
	if what != "begin" {
		if code, err := strconv.Atoi(exit); err == nil {
			sh.settle(store.CommandCompleted, &code)
		}
		return
	}
	m := entry.FindStringSubmatch(line)
	if m == nil || m[1] == sh.last {
		return // it is not in the shell's history
	}
	sh.lost()
	sh.last = m[1]
	text, _ := mask.Command(strings.TrimPrefix(line, m[0]))
	now := time.Now()
	c := store.Command{
		ID: "command-" + random(), SessionID: sh.rec.ID, ConversationID: sh.rec.ConversationID, Command: text, Dir: sh.dir, By: sh.rec.Person,
		State: store.CommandExecuting, Created: now, Changed: now,
	}
	if err := sh.session.options.Store.CreateCommand(context.Background(), c); err != nil {
		sh.session.warn(fmt.Errorf("a command of %s cannot be recorded: %w", sh.rec.Person, err))
		return
	}
	sh.now = c
	sh.session.options.Changed(sh.rec, &c)
}

// settle stores the end of the line that runs.
func (sh *shell) settle(state store.CommandState, exit *int) {
	c := sh.now
	if c.State == "" {
		return
	}
	sh.now = store.Command{}
	c.State, c.Exit, c.Changed = state, exit, time.Now()
	if err := sh.session.options.Store.UpdateCommand(context.Background(), store.CommandExecuting, c); err != nil {
		sh.session.warn(fmt.Errorf("a command of %s cannot be stored: %w", sh.rec.Person, err))
		return
	}
	sh.session.options.Changed(sh.rec, &c)
}

// lost settles a line whose end was not told.
func (sh *shell) lost() { sh.settle(store.CommandUnknown, nil) }

// directory returns where the shell was at its last prompt, "" if that is unknown.
func (sh *shell) directory() string {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.dir
}
