package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "x.golden")
	said := func(got string, update bool) string {
		r := &recorder{TB: t}
		check(r, path, got, update)
		return strings.Join(r.said, "\n")
	}
	if s := said("a\n", false); !strings.Contains(s, "does not exist") {
		t.Errorf("a missing file: %q", s)
	}
	if s := said("a\nb\n", true); s != "" {
		t.Errorf("update: %q", s)
	}
	if s := said("a\nb\n", false); s != "" {
		t.Errorf("equal: %q", s)
	}
	if s := said("a\nc\n", false); !strings.Contains(s, `"b"`) || !strings.Contains(s, `"c"`) {
		t.Errorf("different: %q", s)
	}
	if data, _ := os.ReadFile(path); string(data) != "a\nb\n" {
		t.Errorf("a comparison changed the file to %q", data)
	}
	path = filepath.Dir(path)
	if said("a", true) == "" || said("a", false) == "" {
		t.Error("a directory passes for a golden file")
	}
}
