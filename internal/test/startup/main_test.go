//go:build unix

package main

import (
	"slices"
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	p := &program{name: "true", path: "true"}
	if err := measure([]*program{p}, 3); err != nil {
		t.Fatal(err)
	}
	fast, median := p.fastest()
	if len(p.times) != 3 || len(p.faults) != 3 || fast <= 0 || median < fast || p.faults[0] <= 0 {
		t.Errorf("%+v", p)
	}
	if err := measure([]*program{{path: "false"}}, 1); err == nil {
		t.Error("a program that fails counts")
	}
}

func TestFastest(t *testing.T) {
	p := &program{times: []time.Duration{5, 1, 3}, faults: []int64{9, 7, 8}}
	if fast, median := p.fastest(); fast != 1 || median != 3 || p.faults[1] != 8 {
		t.Errorf("%v, %v, %v", fast, median, p.faults)
	}
}

// TestLibraries checks that the lower bound includes what agent-wrapper imports,
// but none of its own packages.
func TestLibraries(t *testing.T) {
	t.Chdir("../../..")
	all, err := libraries()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(all, "net/http") || !slices.Contains(all, "github.com/spf13/cobra") || slices.Contains(all, module+"engine") {
		t.Error(all)
	}
}
