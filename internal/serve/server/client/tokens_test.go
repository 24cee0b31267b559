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
	for server, secret := range map[string]string{"https://a/": "awt_p1_x", "http://127.0.0.1:7": "awt_p2_x"} {
		if err := file.Keep(Options{URL: server, Token: secret, User: new(7)}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := file.Of("https://a"); got.Token != "awt_p1_x" || *got.User != 7 || err != nil {
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
	if got, err := file.Of("http://127.0.0.1:7"); got.Token != "awt_p2_x" || err != nil {
		t.Error(got, err)
	}
	for _, bad := range [][2]string{{"http://h", "awt"}, {"https://h", ""}, {"https://h", "a\nb"}} {
		if err := file.Keep(Options{URL: bad[0], Token: bad[1]}); err == nil {
			t.Error(bad)
		}
	}
}

// A file that others can read has no secret; a broken one is not overwritten.
func TestTokensOfOthers(t *testing.T) {
	file := Tokens{filepath.Join(t.TempDir(), "credentials.json")}
	if err := file.Keep(Options{URL: "https://a", Token: "awt_p1_x"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file.File, 0o640); err != nil {
		t.Fatal(err)
	}
	if got, err := file.Of("https://a"); err == nil || strings.Contains(err.Error(), "awt_") {
		t.Error(got, err)
	}
	for _, text := range []string{`{"servers":{"https://a":{"token":"awt_p1_x","x":1}}}`, `{"servers":{},"servers":{}}`, "awt_p1_x"} {
		if err := os.WriteFile(file.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file.File, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := file.Keep(Options{URL: "https://b", Token: "awt_p2_x"}); err == nil || strings.Contains(err.Error(), "awt_") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
