package client

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTokensOfUser(t *testing.T) {
	file := Tokens{filepath.Join(t.TempDir(), "state", "credentials.json")}
	if _, err := file.Of("https://a"); !errors.Is(err, ErrNoToken) {
		t.Error(err)
	}
	for server, secret := range map[string]string{"https://a/": "awt_1", "http://127.0.0.1:7": "awt_2"} {
		if err := file.Keep(server, secret); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := file.Of("https://a"); got != "awt_1" || err != nil {
		t.Error(got, err)
	}
	if got, err := file.Servers(); !slices.Equal(got, []string{"http://127.0.0.1:7", "https://a"}) || err != nil {
		t.Error(got, err)
	}
	if info, err := os.Stat(file.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if err := file.Forget("https://a"); err != nil {
		t.Error(err)
	}
	if err := file.Forget("https://a"); !errors.Is(err, ErrNoToken) {
		t.Error(err)
	}
	if got, err := file.Of("http://127.0.0.1:7"); got != "awt_2" || err != nil {
		t.Error(got, err)
	}
	for _, bad := range [][2]string{{"http://h", "awt"}, {"https://h", ""}, {"https://h", "a\nb"}} {
		if err := file.Keep(bad[0], bad[1]); err == nil {
			t.Error(bad)
		}
	}
}

// A file that others can read has no secret; a broken one is not overwritten.
func TestTokensOfOthers(t *testing.T) {
	file := Tokens{filepath.Join(t.TempDir(), "credentials.json")}
	if err := file.Keep("https://a", "awt_1"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file.File, 0o640); err != nil {
		t.Fatal(err)
	}
	if got, err := file.Of("https://a"); err == nil || strings.Contains(err.Error(), "awt_") {
		t.Error(got, err)
	}
	for _, text := range []string{`{"servers":{"https://a":{"token":"awt_1","x":1}}}`, `{"servers":{},"servers":{}}`, "awt_1"} {
		if err := os.WriteFile(file.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file.File, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := file.Keep("https://b", "awt_2"); err == nil || strings.Contains(err.Error(), "awt_") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
