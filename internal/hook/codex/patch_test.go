package codex

import (
	"fmt"
	"strings"
	"testing"
)

func TestFilesOf(t *testing.T) {
	for _, tt := range []struct{ name, patch, want string }{
		{"add", "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch", "[a.txt]"},
		{"several", "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: b\n*** Add File: c d\n+1\n*** End Patch\n", "[a b c d]"},
		{"move", "*** Begin Patch\n*** Update File: a\n*** Move to: .git/hooks/pre-commit\n@@\n-x\n+y\n*** End of File\n*** End Patch", "[a .git/hooks/pre-commit]"},
		{"twice", "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Update File: a\n@@\n-x\n+y\n*** End Patch", "[a]"},
		{"indented", "*** Begin Patch\n  *** Add File: /etc/passwd  \n+x\n*** End Patch", "[/etc/passwd]"},
		{"carriage returns", "*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n", "[a]"},
		{"context that looks like a header", "*** Begin Patch\n*** Update File: a\n@@\n *** Delete File: b\n+x\n*** End Patch", "[a b]"},
		{"added text that looks like one", "*** Begin Patch\n*** Add File: a\n+*** Delete File: b\n*** End Patch", "[a]"},
		{"unicode blanks", "*** Begin Patch\n\u00a0*** Delete File: b\n*** End Patch", "[b]"},
		{"no end", "*** Begin Patch\n*** Add File: a\n+x", "error"},
		{"no beginning", "*** Add File: a\n+x\n*** End Patch", "error"},
		{"a here-document", "<<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF", "error"},
		{"no file", "*** Begin Patch\n*** End Patch", "error"},
		{"no name", "*** Begin Patch\n*** Add File: \n*** End Patch", "error"},
		{"unknown header", "*** Begin Patch\n*** Rename File: a\n*** End Patch", "error"},
		{"another machine", "*** Begin Patch\n*** Environment ID: x\n*** Add File: a\n*** End Patch", "error"},
		{"nothing", "", "error"},
	} {
		files, err := filesOf(tt.patch)
		got := fmt.Sprint(files)
		if err != nil {
			got = "error"
		}
		if got != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestPatched(t *testing.T) {
	for _, in := range []map[string]any{{}, {"command": 1}, {"command": "*** Begin Patch\n*** Add File: a\n*** End Patch", "workdir": "/"}} {
		if out, err := patched(in); err == nil {
			t.Errorf("%v is %v", in, out)
		}
	}
}

// FuzzFilesOf: a line that begins with a header names its file, or the patch is an error.
func FuzzFilesOf(f *testing.F) {
	f.Add("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch")
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch")
	f.Fuzz(func(t *testing.T, patch string) {
		files, err := filesOf(patch)
		if err != nil {
			return
		}
		for _, line := range strings.Split(patch, "\n") {
			for _, header := range []string{patchAdd, patchUpdate, patchDelete, patchMove} {
				if name, ok := strings.CutPrefix(line, header); ok && !strings.Contains(fmt.Sprintf("%q", files), fmt.Sprintf("%q", strings.TrimSpace(name))) {
					t.Errorf("%q is not among %q", name, files)
				}
			}
		}
	})
}
