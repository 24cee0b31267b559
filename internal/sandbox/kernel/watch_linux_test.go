//go:build amd64 || arm64

package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWatch: what a command makes that it must not is seen while it runs, and when it has
// ended right behind that, and it is gone afterwards; nothing else is.
func TestWatch(t *testing.T) {
	lay := func(name string) error { return os.WriteFile(name, nil, 0o600) }
	for _, tt := range []struct {
		name string
		make func(dir string) error
		made bool
	}{
		{"nothing", func(string) error { return nil }, false},
		{"something else", func(dir string) error { return lay(dir + "/index.lock") }, false},
		{"a file", func(dir string) error { return lay(dir + "/commondir") }, true},
		{"a file, gone again", func(dir string) error {
			if err := lay(dir + "/commondir"); err != nil {
				return err
			}
			return os.Remove(dir + "/commondir")
		}, true},
		{"a file, behind others", func(dir string) error {
			for range 2000 {
				if err := lay(dir + "/x"); err != nil {
					return err
				}
				if err := os.Remove(dir + "/x"); err != nil {
					return err
				}
			}
			return lay(dir + "/commondir")
		}, true},
		{"a link", func(dir string) error { return os.Symlink("x", dir+"/commondir") }, true},
		{"a directory", func(dir string) error { return os.MkdirAll(dir+"/commondir/x", 0o700) }, true},
		{"another name", func(dir string) error { return os.Rename(dir+"/HEAD", dir+"/commondir") }, true},
	} {
		for _, begins := range []bool{true, false} { // it ends before anybody has seen it
			dir := t.TempDir()
			if err := lay(dir + "/HEAD"); err != nil {
				t.Fatal(err)
			}
			w, err := newWatch([]string{filepath.Join(dir, "commondir")})
			if err != nil {
				t.Fatal(err)
			}
			struck := make(chan bool, 1)
			if begins {
				w.begin(func() { struck <- true })
			}
			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			if begins && tt.made {
				<-struck
			}
			if err := w.end(); IsMade(err) != tt.made || !tt.made && err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if _, err := os.Lstat(dir + "/commondir"); err == nil {
				t.Errorf("%s: it is there", tt.name)
			}
			if len(struck) > 0 {
				t.Errorf("%s: ended once more, or for nothing", tt.name)
			}
		}
	}
	dir := t.TempDir()
	if err := lay(dir + "/commondir"); err != nil {
		t.Fatal(err)
	}
	if _, err := newWatch([]string{dir + "/commondir"}); err == nil || !strings.Contains(err.Error(), "was not when the sandbox was planned") {
		t.Error(err)
	}
	if _, err := newWatch([]string{dir + "/none/commondir"}); err == nil || !strings.Contains(err.Error(), "cannot be watched") {
		t.Error(err)
	}
}
