// Command agent-wrapper runs AI agents and commands under a policy: nothing runs
// without a decision. See the README, or agent-wrapper help.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

func main() { os.Exit(mainCode()) }

// mainCode runs the command line of the process and returns its exit code.
func mainCode() int {
	ctx, stop := heeding(context.Background(), endingSignals())
	defer stop()
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, token: agentToken()}
	return a.run(ctx, os.Args[1:])
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ syscall.Signal }

func (s *signalled) Error() string {
	name := map[syscall.Signal]string{syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP", syscall.SIGQUIT: "SIGQUIT"}[s.Signal]
	return cmp.Or(name, s.Signal.String())
}

// heeding returns a context that the first of the signals ends, with a *signalled as
// the cause, until stop is called.
func heeding(parent context.Context, signals []os.Signal) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	came := make(chan os.Signal, 1)
	signal.Notify(came, signals...)
	go func() {
		select {
		case s := <-came:
			sig, _ := s.(syscall.Signal)
			cancel(&signalled{sig})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(came)
		cancel(nil)
	}
}

// endingSignals returns the signals that end the program in an orderly way: what it
// started is ended, and the audit log is closed. A signal that was ignored when the
// program started, as by nohup or by & in a script, stays ignored.
func endingSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

// app is one call of the program.
type app struct {
	in       io.Reader
	out, err io.Writer

	began time.Time
	token string // by which an agent asks at a server, "" for none
	// outcome is that of a run whose result is written when the program ends; nil if
	// none is.
	outcome *report
}

// run runs a command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.began = time.Now()
	root := a.tree(args)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return a.report(a.failJSON(cmd, args, a.writeResult(cmd, args, err)))
}

// The exit codes. docs/reference/commands.md has them with these comments.
const (
	codeDone     = 0   // done, or allowed
	codeInternal = 1   // it could not be done, or a test failed
	codeUsage    = 2   // the command line, or a file that it names, is wrong
	codeDenied   = 3   // the run ended on a denial or a breach, --fail-on counts, or the audit log was changed
	codeAsk      = 10  // with --exit-code: the answer is ask
	codeDeny     = 11  // with --exit-code: the answer is deny
	codeTimeout  = 124 // the run took longer than --timeout, as timeout(1) has it
	codeSignal   = 128 // a signal ended the run, with its number n added: 130 for ^C
)

// coded is an error with its exit code. If the error is nil, nothing is reported.
type coded struct {
	code int
	err  error
}

func (c *coded) Error() string {
	if c.err == nil {
		return fmt.Sprintf("exit code %d", c.code)
	}
	return c.err.Error()
}

func (c *coded) Unwrap() error { return c.err }

// usage returns an error about what the user gave.
func usage(format string, args ...any) error {
	return &coded{codeUsage, fmt.Errorf(format, args...)}
}

// exit returns an error that ends the program with a code and without a message.
func exit(code int) error {
	if code == codeDone {
		return nil
	}
	return &coded{code: code}
}

// report writes an error for the user and returns its exit code.
func (a *app) report(err error) int {
	if err == nil {
		return codeDone
	}
	var c *coded
	if !errors.As(err, &c) || c.err != nil {
		fmt.Fprintf(a.err, "agent-wrapper: %s\n", visible.Text(plain.Text(err)))
	}
	return exitCode(err)
}

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var c *coded
	switch {
	case err == nil:
		return codeDone
	case errors.As(err, &c):
		return c.code
	}
	return codeInternal
}
