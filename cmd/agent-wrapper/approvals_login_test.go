package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/server"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
)

// approvalService starts a service and returns its URL, and how to make credentials.
func approvalService(t *testing.T, hosts ...string) (url string, mint func(role, name string) string) {
	t.Helper()
	kept, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "serve.db"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{Store: kept, Hosts: hosts, Private: filepath.Join(t.TempDir(), "private")})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		end()
		<-served
		s.Close()
		kept.Close()
	})
	return "http://" + l.Addr().String(), func(role, name string) string {
		agentRole := ""
		if role == server.RoleAgent {
			agentRole = "chat"
		}
		tok, secret, err := server.Mint(role, agentRole, name, time.Now(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if err := kept.CreateToken(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		return secret
	}
}

// A token is kept for nobody but the user, shown nowhere, and only if it is a person's.
func TestLogin(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	url, mint := approvalService(t)
	run := func(stdin string, args ...string) (int, string) {
		var out bytes.Buffer
		a := &app{in: strings.NewReader(stdin), out: &out, err: &out}
		return a.run(t.Context(), append([]string{"approvals"}, args...)), out.String()
	}
	file := filepath.Join(state, "agent-wrapper", "credentials.json")
	for name, tt := range map[string]struct {
		stdin, server string
		code          int
	}{
		"an agent's":        {mint(server.RoleAgent, "ci") + "\n", url, codeUsage},
		"none":              {"", url, codeUsage},
		"unknown":           {"awt_tabc_def\n", url, codeInternal},
		"over the network":  {"awt_secret\n", "http://approvals.example", codeUsage},
		"with a token":      {"awt_secret\n", "https://awt_secret@approvals.example", codeUsage},
		"no server":         {"awt_secret\n", "", codeUsage},
		"a line of a shell": {"export TOKEN=awt_secret\n", url, codeUsage},
	} {
		code, out := run(tt.stdin, "login", "--server", tt.server)
		if secret := strings.TrimSpace(tt.stdin); code != tt.code || secret != "" && strings.Contains(out, secret) || strings.Contains(out, "awt_secret") {
			t.Errorf("%s: %d: %s", name, code, out)
		}
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("%s: it is kept", name)
		}
	}
	secret := mint(server.RolePerson, "ann")
	if code, out := run(secret, "login", "--server", url); code != codeDone || !strings.Contains(out, "ann can now answer at "+url) || strings.Contains(out, secret) {
		t.Fatalf("%d: %s", code, out)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), secret) {
		t.Fatalf("%s, %v", text, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	for _, read := range []string{"cat " + file, "grep -r awt_ " + state, "cp " + filepath.Dir(file) + "/* /tmp"} {
		var out bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &out}
		code := a.run(t.Context(), []string{"check", "--exit-code", "--allow", "Bash", "Bash", `{"command":"` + read + `"}`})
		if code != codeAsk {
			t.Errorf("%s: %d: %s", read, code, &out)
		}
	}
	if code, out := run("", "logout", "--server", url); code != codeDone {
		t.Errorf("%d: %s", code, out)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "awt_") {
		t.Errorf("%s, %v", text, err)
	}
	if code, _ := run("", "logout", "--server", url); code != codeUsage {
		t.Error(code)
	}
}
