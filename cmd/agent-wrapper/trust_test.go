package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
)

// trustOf runs trust in a workspace with a policy, and returns what it said.
func trustOf(t *testing.T, text string, args ...string) (said string, code int) {
	t.Helper()
	if err := os.WriteFile(policy.FileName, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := &app{in: strings.NewReader("y\n"), out: &out, err: &out}
	code = a.run(t.Context(), append([]string{"trust"}, args...))
	return out.String(), code
}

// Without a terminal nothing is trusted unless --yes says so, what an agent starts trusts
// nothing, and what has changed since is shown.
func TestTrustNeedsConsent(t *testing.T) {
	state := t.TempDir()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", state)
	for _, name := range agentVariables {
		t.Setenv(name, "")
	}
	const before, after = "allow = [\"Bash(ls:*)\"]\nask = [\"Edit\"]\n", "allow = [\"Bash\"]\nask = [\"Edit\"]\n"
	list := filepath.Join(state, "agent-wrapper", "trust.json")
	for _, args := range [][]string{{}, {"--json"}} {
		if said, code := trustOf(t, before, args...); code != codeUsage || !strings.Contains(said, "it is not trusted") {
			t.Errorf("%q: %d: %s", args, code, said)
		}
	}
	t.Setenv("CLAUDECODE", "1")
	if said, code := trustOf(t, before, "--yes"); code != codeDenied || !strings.Contains(said, "only a person may trust settings") {
		t.Errorf("%d: %s", code, said)
	}
	if _, err := os.Stat(list); err == nil {
		t.Fatal("something was trusted")
	}
	t.Setenv("CLAUDECODE", "")
	if said, code := trustOf(t, before, "--yes"); code != codeDone || !strings.Contains(said, "Bash(ls:*)") || strings.Contains(said, "changed") {
		t.Errorf("%d: %s", code, said)
	}
	if said, code := trustOf(t, after); code != codeUsage || !strings.Contains(said, "\n-allow         Bash(ls:*)\n+allow         Bash\n") {
		t.Errorf("%d: %s", code, said)
	}
	if said, code := trustOf(t, before, policy.FileName); code != codeDone || !strings.Contains(said, "You already trust") {
		t.Errorf("the trust of before is gone: %d: %s", code, said)
	}
}

// A file that names hosts for a package manager is trusted as it is, by what it names.
func TestTrustHosts(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, name := range agentVariables {
		t.Setenv(name, "")
	}
	const file = ".npmrc"
	for _, step := range []struct {
		text string
		args []string
		code int
		says string
	}{
		{"registry=https://npm.a.example\n", nil, codeUsage, "registry npm.a.example\nagent-wrapper: it is not trusted"},
		{"registry=https://npm.a.example\n", []string{"--yes"}, codeDone, "You trust .npmrc with exactly these settings"},
		{"registry=https://npm.a.example/x\nfund=false\n", nil, codeDone, "You already trust"},
		{"registry=https://npm.a.example\n_authToken=${T}\n", nil, codeUsage, "+_authToken  ${T}"},
		{"registry=https://registry.npmjs.org\n", nil, codeUsage, "nothing to trust"},
		{"a\x00", nil, codeUsage, ".npmrc"},
	} {
		if err := os.WriteFile(file, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		said, code := trustOf(t, "", append([]string{file}, step.args...)...)
		if code != step.code || !strings.Contains(said, step.says) {
			t.Errorf("%q %v: %d: %s", step.text, step.args, code, said)
		}
	}
	if said, code := trustOf(t, "", "--list"); code != codeDone || !strings.Contains(said, "/.npmrc  hosts:") {
		t.Errorf("%d: %s", code, said)
	}
}
