package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: an error shows no more than its text, whatever file name is in it.
func TestReport(t *testing.T) {
	var errs strings.Builder
	a := &app{err: &errs}
	_, err := os.Open(filepath.Join(t.TempDir(), "a\x1b[2J\u202e\r"))
	if a.report(err); strings.ContainsAny(errs.String(), "\x1b\u202e\r") || !strings.Contains(errs.String(), "<U+001B>[2J<U+202E>") {
		t.Errorf("%q", errs.String())
	}
}
