package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// TestExitTwice: of two starts for one session the later waits until the other has ended.
// If that has asked about something, the later one is refused: what it answers is not that.
func TestExitTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, first string
		refused     bool
		want        string // decisions of the second
	}{
		{"the other asks", "npm publish", true, ""},
		{"the other asks nothing", "ls", false, "deny"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlugin(t)
			p.turn("fix it", wants("npm i"))
			message := p.answers("allow_once")
			task := wants("npm publish")
			path, open := gate(t)
			first, one := start(t, p.command(message, wants("npm i", tool("Bash", object{"command": tt.first}, fmt.Sprintf(`,"gate":%q`, path)))))
			one.until(wrapper.ToolResultEvent)
			second, two := start(t, p.command(message, task))
			if e := two.until(wrapper.WarningEvent); !strings.Contains(e.Message, "another process uses this session") {
				t.Errorf("%+v", e)
			}
			open()
			one.rest()
			two.rest()
			p.read(one.lines.String(), "", first())
			if got, want := p.got(), "allow "+map[bool]string{true: "deny", false: "allow"}[tt.refused]; got != want {
				t.Errorf("first: %s, want %s", got, want)
			}
			p.read(two.lines.String(), "", second())
			if got := p.got(); got != tt.want || (p.code == 1) != tt.refused || (p.count(wrapper.ErrorEvent) == 1) != tt.refused || p.count(wrapper.DoneEvent) != 1 {
				t.Errorf("second: %s, want %s; exit code %d: %+v", got, tt.want, p.code, p.events)
			}
		})
	}
}
