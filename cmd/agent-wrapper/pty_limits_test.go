//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// At a limit the person sees why, whatever allows the tool use; the answer counts
// once, and an approval begins the count anew.
func TestLimitOnTerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "limits.toml")
	if err := os.WriteFile(file, []byte("allow = [\"Bash\"]\n[limits]\ntool_uses = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := onTerminal(t, []string{bash("ls a"), bash("ls b"), bash("ls c"), bash("ls d"), bash("ls e")}, "--policy", file)
	x.wait("┌ Bash")
	x.wait("│ │ ls c")
	x.wait("│ 2 tool uses in this session; the limit is 2 [" + file + ":3:13]")
	x.wait("1 more part: allowed")
	x.wait("this can only be approved once")
	x.press("s") // is not offered
	x.press("o")
	x.wait("ALLOW  Bash  ls d")
	x.wait("│ │ ls e")
	x.press("d")
	x.decided("ALLOW ls a", "ALLOW ls b", "ALLOW ls c", "ALLOW ls d", "DENY ls e")
}
