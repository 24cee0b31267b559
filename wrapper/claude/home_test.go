package claude

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckHome(t *testing.T) {
	const session = "5f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90"
	for _, x := range []struct {
		name    string
		file    string // relative to the home directory
		text    string
		config  bool // CLAUDE_CONFIG_DIR is home/conf
		session string
		want    string // in the error; "" for none
	}{
		{name: "nothing there"},
		{name: "nothing there to resume", session: session},
		{name: "no env", file: ".claude.json", text: `{"projects":{"/w":{"env":{"A":"1"}}},"numStartups":3}`},
		{name: "empty env", file: ".claude.json", text: `{"env":{}}`},
		{name: "null env", file: ".claude.json", text: `{"env":null}`},
		{name: "other case", file: ".claude.json", text: `{"Env":{"A":"1"}}`},
		{name: "env", file: ".claude.json", text: `{"a":1,"env":{"B":"1","A":"2"}}`, want: ".claude.json sets A, B:"},
		{name: "hidden by another case", file: ".claude.json", text: `{"env":{"A":"1"},"ENV":{}}`, want: "sets A:"},
		{name: "the last of two", file: ".claude.json", text: `{"env":{},"env":{"A":"1"}}`, want: "sets A:"},
		{name: "legacy name", file: ".claude/.config.json", text: `{"env":{"A":"1"}}`, want: ".config.json sets A:"},
		{name: "folder of its own", file: "conf/.claude.json", text: `{"env":{"A":"1"}}`, config: true, want: "conf/.claude.json sets A:"},
		{name: "folder of its own, the home does not count", file: ".claude.json", text: `{"env":{"A":"1"}}`, config: true},
		{name: "no JSON", file: ".claude.json", text: `{"env":{"A":"1"}`, want: "cannot be read"},
		{name: "no object", file: ".claude.json", text: `{"env":["A"]}`, want: "cannot be read"},
		{name: "a folder", file: ".claude.json/x", text: ``, want: "cannot be read"},
		{name: "a script", file: ".claude/session-env/" + session + "/sessionstart-hook-0.sh", text: "x", session: session, want: "sessionstart-hook-0.sh would run"},
		{name: "a script of the folder of its own", file: "conf/session-env/" + session + "/setup-hook-12.sh", text: "x", session: session, config: true, want: "setup-hook-12.sh would run"},
		{name: "an empty script", file: ".claude/session-env/" + session + "/setup-hook-0.sh", session: session},
		{name: "no script", file: ".claude/session-env/" + session + "/notes.txt", text: "x", session: session},
		{name: "a script of another session", file: ".claude/session-env/" + session + "/setup-hook-0.sh", text: "x", session: "00000000" + session[8:]},
		{name: "a script, and nothing is resumed", file: ".claude/session-env/" + session + "/setup-hook-0.sh", text: "x"},
		{name: "not a folder", file: ".claude/session-env/" + session, text: "x", session: session, want: "cannot be read"},
		{name: "no session id", session: "my chat", want: "no session id"},
		{name: "a way out", session: "../" + session, want: "no session id"},
	} {
		t.Run(x.name, func(t *testing.T) {
			home := t.TempDir()
			if x.file != "" {
				path := filepath.Join(home, x.file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(x.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := []string{"HOME=/nowhere", "HOME=" + home}
			if x.config {
				env = append(env, "CLAUDE_CONFIG_DIR="+home+"/conf")
			}
			err := checkHome(env, x.session)
			if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("got %v, want %q", err, x.want)
			}
		})
	}
}

func TestHomeOf(t *testing.T) {
	known := func() (*user.User, error) { return &user.User{HomeDir: "/home/u"}, nil }
	unknown := func() (*user.User, error) { return nil, errors.New("nobody") }
	for _, x := range []struct {
		name    string
		env     []string
		current func() (*user.User, error)
		want    string
		fails   bool
	}{
		{"variable", []string{"HOME=/h"}, unknown, "/h", false},
		{"user", nil, known, "/home/u", false},
		{"empty variable", []string{"HOME="}, known, "/home/u", false},
		{"neither", nil, unknown, "", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got, err := homeOf(x.env, x.current); got != x.want || (err != nil) != x.fails {
				t.Errorf("homeOf(%q) = %q, %v, want %q", x.env, got, err, x.want)
			}
		})
	}
}
