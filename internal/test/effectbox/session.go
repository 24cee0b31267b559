//go:build linux

package effectbox

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
)

// Secret is in every file that must not be read.
const Secret = "cAnArY7f3a9c"

// Session is several lines, of which some are run, one after the other within the same sandbox.
type Session struct {
	Lines []string
	// Run has the lines run whose Verdict.Sandbox is one of these; all if it is empty.
	Run []string
	// Again is after how many lines the others are decided anew, in the tree as it is then,
	// and run in a sandbox of their own; 0: never.
	Again int
	// Without is a part that is left out.
	Without string
}

// Outcome is what became of a session.
type Outcome struct {
	Verdicts []Verdict
	Ran      []Ran
	Changes  []Change // everywhere
	Breaches []Breach
	Plan     *sandbox.Plan // nil if nothing was run
	Output   string        // its beginning
	Mended   int           // how often a line had taken away what others are about
	// CPU is the time used so far, by the box, the agent, and the lines.
	CPU map[string]time.Duration
}

// Ran is a line that was run. Exit is -1 if the line ended the whole session.
type Ran struct{ Line, Exit int }

// Breach is an effect that the sandbox should have held.
type Breach struct{ Kind, What string }

// The kinds of breaches.
const (
	Outside   = "outside"   // something was changed outside what can be written
	Protected = "protected" // something was changed that is read-only in the workspace
	Read      = "read"      // a file was opened for reading that is masked
	Shown     = "shown"     // its content is in the output, or in a file
	Reached   = "reached"   // a service outside was
	Packets   = "packets"   // an interface outside saw some
	Sent      = "sent"      // packets went to a host that nobody trusts, or named one
	Left      = "left"      // a process was
	System    = "system"    // mounts, the name of the host or shared memory have changed
)

func (s *server) session(req *Request) (*Outcome, error) {
	ses := req.Session
	if err := s.tree.reset(req.Extra); err != nil {
		return nil, fmt.Errorf("make the tree: %w", err)
	}
	if s.agent == nil {
		var err error
		if s.agent, err = startAgent(&s.conf); err != nil {
			return nil, err
		}
	}
	net, err := s.around.seen()
	if err != nil {
		return nil, err
	}
	system, err := systemState()
	if err != nil {
		return nil, err
	}
	o := &Outcome{CPU: map[string]time.Duration{}}
	again := len(ses.Lines)
	if ses.Again > 0 {
		again = min(again, ses.Again)
	}
	for _, part := range [][2]int{{0, again}, {again, len(ses.Lines)}} {
		if err := s.round(ses, o, part[0], part[1]); err != nil {
			return nil, err
		}
	}
	if len(o.Ran) == 0 {
		return o, nil
	}
	if err := s.network(o, net); err != nil {
		return nil, err
	}
	if err := o.altered(system); err != nil {
		return nil, err
	}
	o.CPU["box"] = cpu(syscall.RUSAGE_SELF)
	return o, s.files(o)
}

// round decides lines and runs them within a sandbox of their own.
func (s *server) round(ses *Session, o *Outcome, from, to int) error {
	if from == to {
		return nil
	}
	said, err := s.agent.do(errand{Decide: ses.Lines[from:to]})
	if err != nil {
		return err
	}
	o.Verdicts = append(o.Verdicts, said.Verdicts...)
	begun := len(o.Ran)
	for i := from; i < to; i++ {
		if v := &o.Verdicts[i]; len(ses.Run) == 0 || v.Behavior == "allow" && slices.Contains(ses.Run, v.Sandbox) {
			o.Ran = append(o.Ran, Ran{Line: i})
		}
	}
	if begun == len(o.Ran) {
		return nil
	}
	watched, names, err := s.watch()
	if err != nil {
		return err
	}
	if err := s.lines(ses, o, begun); err != nil {
		return err
	}
	s.left(o)
	return o.opened(watched, names)
}

// systemState returns what the box has beside files, by its files in /proc: mounts, the
// name of the host, and what System V's IPC keeps.
func systemState() (map[string]string, error) {
	state := map[string]string{}
	for _, name := range []string{"/proc/self/mounts", "/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/proc/sysvipc/shm", "/proc/sysvipc/sem", "/proc/sysvipc/msg"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		state[name] = string(data)
	}
	return state, nil
}

// altered finds what has changed beside files.
func (o *Outcome) altered(before map[string]string) error {
	after, err := systemState()
	for name, was := range before {
		if now := after[name]; now != was {
			o.breach(System, name+": "+now)
		}
	}
	return err
}

func (o *Outcome) breach(kind, what string) { o.Breaches = append(o.Breaches, Breach{kind, what}) }

// lines runs what is to be run, but for what has been.
func (s *server) lines(ses *Session, o *Outcome, done int) error {
	for done < len(o.Ran) {
		var run []string
		for _, r := range o.Ran[done:] {
			run = append(run, ses.Lines[r.Line])
		}
		said, err := s.agent.do(errand{Run: run, Without: ses.Without, Room: len(strings.Join(run, ""))%2 == 1, Dir: s.conf.Dir, Keep: s.conf.Keep, Timeout: s.conf.Timeout})
		if err != nil {
			return err
		}
		if o.Plan == nil {
			o.Plan, o.Output = said.Plan, string(said.Output)
		}
		if said.Shown {
			o.breach(Shown, "output")
		}
		o.Mended += said.Mended
		o.CPU = said.CPU
		for _, code := range said.Exits[:min(len(said.Exits), len(run))] {
			o.Ran[done].Exit = code
			done++
		}
		if len(said.Exits) < len(run) {
			o.Ran[done].Exit = -1
			done++
		}
	}
	return nil
}

// watch begins to look for whoever opens a secret, by any mount.
func (s *server) watch() (fd int, names map[int32]string, err error) {
	if fd, err = syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC); err != nil {
		return 0, nil, err
	}
	names = map[int32]string{}
	at := map[string]string{}
	for _, name := range s.conf.Secrets {
		at[name] = s.tree.now(name) // which may open all files: nothing is watched yet
	}
	for name, at := range at {
		id, err := syscall.InotifyAddWatch(fd, at, syscall.IN_OPEN|syscall.IN_ACCESS)
		if err == syscall.ENOENT {
			continue // its directory was removed, as far as that can be
		} else if err != nil {
			syscall.Close(fd)
			return 0, nil, fmt.Errorf("watch %s: %w", name, err)
		}
		names[int32(id)] = name
	}
	return fd, names, nil
}

// opened ends a watch, and finds the secrets that were opened.
func (o *Outcome) opened(fd int, names map[int32]string) error {
	defer syscall.Close(fd)
	found := map[string]bool{}
	for buf := make([]byte, 16<<10); ; {
		n, err := syscall.Read(fd, buf)
		if err == syscall.EAGAIN {
			break
		} else if err != nil {
			return err
		}
		for at := 0; at+syscall.SizeofInotifyEvent <= n; at += syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[at+12:])) {
			if mask := binary.NativeEndian.Uint32(buf[at+4:]); mask&(syscall.IN_OPEN|syscall.IN_ACCESS|syscall.IN_Q_OVERFLOW) != 0 {
				found[names[int32(binary.NativeEndian.Uint32(buf[at:]))]] = true
			}
		}
	}
	for name := range found {
		o.breach(Read, name)
	}
	return nil
}

// left finds the processes that are left, and ends them, with those that they start
// meanwhile.
func (s *server) left(o *Outcome) {
	for lines := s.others(); len(lines) > 0; lines = s.others() {
		for _, line := range lines {
			o.breach(Left, line)
		}
	}
}

// others ends all processes but this one and the agent, and returns the command lines of
// those that were alive.
func (s *server) others() (lines []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid == 1 || pid == s.agent.cmd.Process.Pid {
			continue
		}
		stat, _ := os.ReadFile(dir + "/stat")
		if len(stat) > 0 && !bytes.Contains(stat, []byte(") Z ")) {
			line, _ := os.ReadFile(dir + "/cmdline")
			lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil) // if it is ours
	}
	return lines
}

// files compares the files.
func (s *server) files(o *Outcome) error {
	after, err := s.tree.look()
	if err != nil {
		return err
	}
	o.Changes = s.tree.compare(after)
	for name, was := range s.tree.before {
		if now, ok := after[name]; ok && was.kind == Dir && now.kind == Dir && was.changed != now.changed {
			s.tree.dirty = true
			if in(o.Plan, name) != writable {
				o.Changes = append(o.Changes, Change{name, "time"})
			}
		}
	}
	moved := s.tree.moved(after)
	for _, c := range o.Changes {
		at := in(o.Plan, c.Path)
		is, was := moved[c.Path]
		switch {
		case at == elsewhere:
			o.breach(Outside, c.What+" "+c.Path)
		case at == kept && !was: // nor with its directory, in the workspace
			o.breach(Protected, c.What+" "+c.Path)
		}
		if now, ok := after[c.Path]; ok && (!is || at == elsewhere) && !slices.Contains(s.conf.Secrets, c.Path) && (shows([]byte(c.Path)) || now.shows(c.Path)) {
			o.breach(Shown, c.Path)
		}
	}
	return nil
}

// shows reports whether what is at a path now has a secret in it.
func (s *state) shows(path string) bool {
	var data []byte
	switch s.kind {
	case Regular:
		data, _ = os.ReadFile(path) // as root, who reads everything; no file is large
	case Link:
		data = s.data
	}
	return shows(data)
}

func shows(data []byte) bool {
	lower := bytes.ToLower(data)
	return slices.ContainsFunc(spellings, func(text string) bool { return bytes.Contains(lower, []byte(text)) })
}

// spellings are what may show that a secret was read, in lower case.
var spellings = func() []string {
	back := []byte(Secret)
	slices.Reverse(back)
	all := []string{Secret, hex.EncodeToString([]byte(Secret)), string(back)}
	for i := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", i) + Secret))
		all = append(all, text[4:len(text)-4])
	}
	for i := range all {
		all[i] = strings.ToLower(all[i])
	}
	return all
}()

// place is what a plan says of a path.
type place uint8

const (
	elsewhere place = iota
	writable
	kept
)

// in returns what a plan says of a path: its longest entry counts.
func in(p *sandbox.Plan, name string) place {
	at, longest := elsewhere, 0
	for _, list := range []struct {
		paths []sandbox.Path
		place place
	}{{p.Writable, writable}, {p.ReadOnly, kept}, {p.Denied, kept}, {p.Empty, elsewhere}} {
		for _, path := range sandbox.Paths(list.paths) {
			if len(path) >= longest && (name == path || strings.HasPrefix(name, path+"/")) {
				at, longest = list.place, len(path)
			}
		}
	}
	return at
}
