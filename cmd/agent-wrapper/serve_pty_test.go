//go:build linux

package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// opens finds the line with the page's address.
var opens = regexp.MustCompile(`Open (http://127\.0\.0\.1:\d+)/#([a-z0-9-]+) `)

// serves starts serve on a new terminal.
func serves(t *testing.T, environ string, flags ...string) *terminal {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command("agent-wrapper", append([]string{"serve", "--listen", "127.0.0.1:0", "--cwd", home, "--isolated"}, flags...)...)
	cmd.Env = []string{environ}
	return startedBy(t, home, "xterm", cmd)
}

// TestServeOpens: at a terminal a person gets to the page by what serve prints, once.
func TestServeOpens(t *testing.T) {
	x := serves(t, "AGENT_WRAPPER_RUN=")
	x.wait("within ten minutes")
	at := opens.FindStringSubmatch(x.screen())
	if at == nil {
		t.Fatalf("no address: %s", x.screen())
	}
	if me := told(t, "POST", at[1]+"/api/pair", at[2], pairs); !strings.Contains(me, `"role":"person"`) || !strings.Contains(me, `"name":"`+userName()+`"`) {
		t.Errorf("paired: %s", me)
	}
	if again := told(t, "POST", at[1]+"/api/pair", at[2], pairs); !strings.Contains(again, `"unauthorized"`) {
		t.Errorf("paired again: %s", again)
	}
}

// TestServeOpensForPeople: what an agent has started, and what writes for a program, gets
// no code.
func TestServeOpensForPeople(t *testing.T) {
	t.Parallel()
	agents := serves(t, "AGENT_WRAPPER_RUN=1")
	agents.wait("Nobody has a credential yet")
	home := t.TempDir()
	piped := startedBy(t, home, "xterm", exec.Command("bash", "--norc", "-c", "AGENT_WRAPPER_RUN= agent-wrapper serve --listen 127.0.0.1:0 --isolated --cwd "+home+" | cat"))
	piped.wait("Nobody has a credential yet")
	programs := serves(t, "AGENT_WRAPPER_RUN=", "--json")
	programs.wait(`"listening"`)
	for _, x := range []*terminal{agents, piped, programs} {
		if shown := x.screen(); strings.Contains(shown, "/#") {
			t.Errorf("there is a code: %s", shown)
		}
	}
}
