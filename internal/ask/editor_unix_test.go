//go:build unix

package ask

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditorPath: an editor is a program of the PATH that it was given, and so are those that
// it starts, whatever lies on that of this process.
func TestEditorPath(t *testing.T) {
	planted, own := t.TempDir(), t.TempDir()
	lay := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lay(own, "ed1", `helper "$1"`)
	lay(own, "helper", `echo own >"$1"`)
	lay(planted, "ed1", `echo planted >"$1"`)
	lay(planted, "helper", `echo planted >"$1"`)
	t.Setenv("PATH", planted+":"+own+":"+os.Getenv("PATH"))
	t.Setenv("VISUAL", "ed1")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if got, err := NewEditor(null, own).edit(t.Context(), commandFile, "as it was"); got != "own\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := NewEditor(null, t.TempDir()).edit(t.Context(), commandFile, "as it was"); err == nil || !strings.Contains(err.Error(), "no ed1 on PATH") {
		t.Errorf("with no editor there: %q, %v", got, err)
	}
}
