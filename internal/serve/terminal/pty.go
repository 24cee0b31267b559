package terminal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/creack/pty"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
)

// size is the size of a terminal in characters. The zero value is 80 by 24.
type size struct{ columns, rows uint16 }

// orUsual returns the size, or the usual one if there is none.
func (s size) orUsual() size {
	if s.columns == 0 || s.rows == 0 {
		return size{80, 24}
	}
	return s
}

// console is a program on a pseudo-terminal of its own.
type console struct {
	leader    *process.Leader
	master    *os.File
	read      chan struct{}  // closed when all of its output was read
	sandbox   chan sandboxed // says how that went; nil if no sandbox was wanted
	sandboxed                // that, after wait
}

const (
	// pieceSize is the most that is read from a pseudo-terminal at once.
	pieceSize = 32 << 10
	// silence is how long a terminal is read on when its program has ended, since
	// what has left the session may hold it open.
	silence = 200 * time.Millisecond
	// held is more than a pseudo-terminal holds that was not read (64 KiB on Linux).
	held = 1 << 20
	// patience is how long a program may leave its input unread before what is typed
	// is refused.
	patience = 2 * time.Second
)

// open starts a program on a new pseudo-terminal. output is called with what the
// program writes, in order and by one goroutine; it may keep the program waiting,
// and must not keep the bytes.
func open(args []string, dir string, env []string, at size, output func([]byte)) (*console, error) {
	return openIn(nil, args, dir, env, at, output)
}

// sandboxed is how a program went inside the sandbox.
type sandboxed struct {
	says []string // what a person is told of it
	err  error    // why there was no sandbox: it did not run
}

// preparer changes a program right before it is started, so that it runs inside the sandbox. over
// is called when that was started, or could not be: it returns when the program has ended,
// as that of an encloser.
type preparer func(cmd *exec.Cmd) (over func() ([]string, error), err error)

// openIn is open with a program that prepare, which may be nil, has run inside the sandbox.
func openIn(prepare preparer, args []string, dir string, env []string, at size, output func([]byte)) (*console, error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("no pseudo-terminal: %w", err)
	}
	defer tty.Close()
	if master, err = pollable(master); err != nil {
		return nil, err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	c := &console{master: master, read: make(chan struct{})}
	if err = setSize(master, at.orUsual()); err == nil {
		err = c.start(prepare, cmd, tty)
	}
	if err != nil {
		master.Close()
		return nil, err
	}
	go c.drain(output)
	go func() {
		<-c.leader.Ended()
		master.SetReadDeadline(time.Now().Add(silence))
	}()
	return c, nil
}

// start starts the program.
func (c *console) start(prepare preparer, cmd *exec.Cmd, tty *os.File) (err error) {
	if prepare == nil {
		c.leader, err = process.StartLeader(cmd, tty)
		return err
	}
	over, err := prepare(cmd)
	if err != nil {
		return err
	}
	if c.leader, err = process.StartLeader(cmd, tty); err != nil {
		_, _ = over() // there is nothing to wait for
		return err
	}
	c.sandbox = make(chan sandboxed, 1)
	go func() {
		says, err := over()
		c.sandbox <- sandboxed{says, err}
	}()
	return nil
}

// drain reads the terminal to its end: on Linux the error EIO. Once the program has
// ended that is also silence, or more than can have been written before.
func (c *console) drain(output func([]byte)) {
	defer close(c.read)
	buf := make([]byte, pieceSize)
	for rest := held; rest > 0; {
		over := c.over()
		if over {
			c.master.SetReadDeadline(time.Now().Add(silence)) // output may have taken long
		}
		n, err := c.master.Read(buf)
		if n > 0 {
			output(buf[:n])
		}
		if over {
			rest -= n
		}
		if err != nil && (over || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return
		}
	}
}

// over reports whether the program has ended.
func (c *console) over() bool {
	select {
	case <-c.leader.Ended():
		return true
	default:
		return false
	}
}

// wait waits until the program has ended and its output was read, and returns its
// exit code, or 128 plus the number of the signal that ended it.
func (c *console) wait() int {
	exit := c.leader.Wait()
	<-c.read
	c.master.Close()
	if c.sandbox != nil {
		c.sandboxed = <-c.sandbox
	}
	return exit
}

// write types bytes.
func (c *console) write(p []byte) error {
	c.master.SetWriteDeadline(time.Now().Add(patience))
	_, err := c.master.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the program does not read its input")
	}
	return err
}

func (c *console) resize(at size) error { return setSize(c.master, at.orUsual()) }

// busy reports whether a job has the foreground in place of the program.
func (c *console) busy() bool { return !c.leader.InFront(c.master) }

// stop ends the program's group: SIGTERM first, and after grace all of its session is
// killed. It returns when the program has ended.
func (c *console) stop(grace time.Duration) {
	c.leader.Terminate()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.leader.Ended():
	case <-timer.C:
		c.leader.Kill()
		<-c.leader.Ended()
	}
}
