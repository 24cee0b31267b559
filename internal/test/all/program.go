package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A program is the agent-wrapper that tests start as a process: one for all steps, built when
// the first of them needs it.
type program struct {
	once sync.Once
	dir  string
	err  error
}

// path returns where the program is.
func (p *program) path(r *runner) (string, error) {
	p.once.Do(func() {
		if p.dir, p.err = os.MkdirTemp("", "agent-wrapper-test"); p.err != nil {
			return
		}
		if out, err := r.output("go", "build", "-o", p.dir, "./cmd/agent-wrapper", "./cmd/agent-wrapper-sandbox"); err != nil {
			p.err = fmt.Errorf("%w: %s", err, strings.TrimSpace(out))
		}
	})
	return filepath.Join(p.dir, "agent-wrapper"), p.err
}

func (p *program) remove() {
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}

// needProgram names the program to the tests of the step, in AW_BINARY.
func (r *runner) needProgram() {
	path, err := r.program.path(r)
	if err != nil {
		r.Fail("agent-wrapper does not build: " + err.Error())
		return
	}
	r.env = append(r.env, "AW_BINARY="+path)
}
