package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// runner runs the commands of a step and counts their results.
type runner struct {
	Tally
	ctx      context.Context
	out      io.Writer
	seed     int64
	long     bool
	fuzztime time.Duration
	program  *program
	env      []string      // of the commands, beside that of this process
	yields   bool          // the processors to other steps
	computed time.Duration // by the commands, on all processors
}

// step runs one step. In the long form it keeps the output.
func (r *runner) step(s step) {
	if r.ctx.Err() != nil {
		r.Fail(s.name + ": interrupted")
		return
	}
	began := time.Now()
	if r.long {
		defer r.keep(s.name)()
	}
	r.printf("\n== %s\n", s.name)
	s.run(r)
	r.printf("-- %s took %s, and computed for %s\n", s.name, time.Since(began).Round(time.Second), r.computed.Round(time.Second))
}

// keep also writes the output to docs/proof/NAME.txt until the returned
// function is called.
func (r *runner) keep(name string) func() {
	dir := filepath.Join("docs", "proof")
	file, err := (*os.File)(nil), os.MkdirAll(dir, 0o755) // git does not keep empty directories
	if err == nil {
		file, err = os.Create(filepath.Join(dir, name+".txt"))
	}
	if err != nil {
		r.Fail(err.Error())
		return func() {}
	}
	commit, _ := r.output("git", "rev-parse", "HEAD")
	fmt.Fprintf(file, "commit %s\nseed %d\n", strings.TrimSpace(commit), r.seed)
	r.out = io.MultiWriter(r.out, file)
	return func() { file.Close() }
}

func (r *runner) printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

// command returns a command with the environment of the tests.
func (r *runner) command(name string, args ...string) *exec.Cmd {
	if r.yields {
		name, args = "nice", append([]string{"-n", "5", name}, args...)
	}
	cmd := exec.CommandContext(r.ctx, name, args...)
	cmd.Env = append(os.Environ(), oneWay()...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("AW_SEED=%d", r.seed), fmt.Sprintf("AW_E2E_SEED=%d", r.seed))
	// Otherwise a program that is built with -race sleeps for a second when it ends, and
	// tests start hundreds.
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0")
	if r.long {
		cmd.Env = append(cmd.Env, "AW_LONG=1", "AW_E2E_LONG=1")
	}
	cmd.Env = append(cmd.Env, r.env...)
	return cmd
}

// oneWay has all steps compile as release does, static and with paths trimmed: then they
// share what is compiled. (With cgo a library also reads /proc, which the sandbox leaves out.)
func oneWay() []string {
	return []string{"CGO_ENABLED=0", "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath")}
}

// output runs a command and returns its output, including standard error.
func (r *runner) output(name string, args ...string) (string, error) {
	cmd := r.command(name, args...)
	out, err := cmd.CombinedOutput()
	r.count(cmd)
	return string(out), err
}

// count adds what a command that has ended, and the commands that it waited for, computed.
func (r *runner) count(cmd *exec.Cmd) {
	if ended := cmd.ProcessState; ended != nil {
		r.computed += ended.UserTime() + ended.SystemTime()
	}
}

// quiet runs a command for its effect.
func (r *runner) quiet(name string, args ...string) bool {
	_, err := r.output(name, args...)
	return err == nil
}

// check runs a command that must succeed, and counts it.
func (r *runner) check(what, name string, args ...string) {
	out, err := r.output(name, args...)
	if err != nil {
		r.printf("%s\n%s: %v\n", strings.TrimSpace(out), what, err)
		r.Fail(what)
		return
	}
	r.printf("ok   %s\n", what)
	r.Pass()
}

// checkEmpty runs a command that must succeed without output, and counts it.
func (r *runner) checkEmpty(what, name string, args ...string) {
	out, err := r.output(name, args...)
	if err != nil || strings.TrimSpace(out) != "" {
		r.printf("%s: %s\n", what, strings.TrimSpace(out))
		r.Fail(what)
		return
	}
	r.printf("ok   %s\n", what)
	r.Pass()
}

// goTest runs go test and counts its tests. It does not vet: lint vets all of them.
func (r *runner) goTest(args ...string) {
	before := r.Failed
	cmd := r.command("go", append([]string{"test", "-json", "-vet=off"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.Fail("go test " + strings.Join(args, " ") + ": " + err.Error())
		return
	}
	readErr := r.Read(stdout, r.out)
	err = cmd.Wait()
	r.count(cmd)
	r.out.Write(stderr.Bytes())
	if (err != nil || readErr != nil) && r.Failed == before {
		r.Fail(fmt.Sprintf("go test %s: %v", strings.Join(args, " "), err))
	}
}

// again runs go test by run and, up to a number of times, once more if it failed and
// flaw recognizes its output. What failed so is not counted.
func (r *runner) again(times int, flaw func(output string) bool, run func()) {
	for ; ; times-- {
		tally, out := r.Tally, r.out
		var output bytes.Buffer
		r.out = io.MultiWriter(out, &output)
		run()
		r.out = out
		if times == 0 || r.Failed == tally.Failed || !flaw(output.String()) {
			return
		}
		r.Tally = tally
		r.printf("once more: nothing failed but the clock\n")
	}
}
