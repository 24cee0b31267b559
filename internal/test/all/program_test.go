package main

import (
	"context"
	"io"
	"slices"
	"testing"
)

// TestProgramThatDoesNotBuild: each step that needs the program fails, and none is handed a
// path where nothing is.
func TestProgramThatDoesNotBuild(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the compiler is not even started
	p := &program{}
	defer p.remove()
	for range 2 {
		r := &runner{ctx: ctx, out: io.Discard, program: p}
		r.needProgram()
		if r.Failed != 1 || slices.ContainsFunc(r.env, func(v string) bool { return v[:3] == "AW_" }) {
			t.Errorf("%d failed, environment %q", r.Failed, r.env)
		}
	}
}
