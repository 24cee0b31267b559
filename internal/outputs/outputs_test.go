package outputs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func open(t *testing.T, name string, flags int) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, flags|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestOf: only what a program has written since, and of that no more than the end.
func TestOf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc/self/fd")
	}
	dir := t.TempDir()
	long := strings.Repeat("x", 3*most)
	for name, x := range map[string]struct {
		before string
		flags  int
		write  func(f *os.File)
		want   string
	}{
		"nothing":              {"old", os.O_APPEND, func(*os.File) {}, ""},
		"appended":             {"old", os.O_APPEND, func(f *os.File) { f.WriteString("new") }, "new"},
		"long":                 {long, os.O_APPEND, func(f *os.File) { f.WriteString(long + "end") }, long[:most-3] + "end"},
		"empty before":         {"", 0, func(f *os.File) { f.WriteString("new") }, "new"},
		"cut":                  {"old", os.O_APPEND, func(f *os.File) { f.Truncate(0); f.WriteString("n") }, "n"},
		"a hole of 1 TiB":      {"", 0, func(f *os.File) { f.Truncate(1 << 40) }, string(make([]byte, most))},
		"taken away meanwhile": {"", 0, func(f *os.File) { f.WriteString("new"); os.Remove(f.Name()) }, "new"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(x.before), 0o600); err != nil {
			t.Fatal(err)
		}
		f := open(t, file, x.flags|os.O_WRONLY)
		o := Of(f, f)
		x.write(f)
		if got := string(o.Read()); got != x.want {
			t.Errorf("%s: %d bytes, %.20q", name, len(got), got)
		}
	}
}

// TestOthers: of a pipe, a directory and a device nothing is read.
func TestOthers(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null := open(t, os.DevNull, os.O_RDWR)
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	closed := open(t, filepath.Join(t.TempDir(), "x"), os.O_WRONLY)
	closed.Close()
	if o := Of(w, null, dir, closed, nil); len(o) > 0 || len(o.Read()) > 0 {
		t.Errorf("%v", o)
	}
}

// TestTwo: what two files hold stands one after the other.
func TestTwo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc/self/fd")
	}
	dir := t.TempDir()
	out, err := open(t, dir+"/out", os.O_WRONLY), open(t, dir+"/err", os.O_WRONLY)
	o := Of(out, err)
	cmd := exec.Command("sh", "-c", "echo e >&2; echo o")
	cmd.Stdout, cmd.Stderr = out, err
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := string(o.Read()); got != "o\ne\n" {
		t.Errorf("%q", got)
	}
}

func TestKept(t *testing.T) {
	var to bytes.Buffer
	k := &Kept{To: &to}
	all := ""
	for i, n := range []int{0, 1, 10, most, most - 1, 3 * most, 5, 7, 2 * most, 1} {
		text := strings.Repeat(string(rune('a'+i)), n)
		all += text
		if got, err := k.Write([]byte(text)); got != n || err != nil {
			t.Fatal(got, err)
		}
		if got, want := string(k.Read()), all[max(len(all)-most, 0):]; got != want {
			t.Errorf("after %d writes: %d bytes, want %d", i+1, len(got), len(want))
		}
	}
	if to.String() != all {
		t.Error("it does not pass on what is written")
	}
}
