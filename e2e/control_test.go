//go:build e2e

package e2e

import (
	"fmt"
	"testing"
)

func TestProbe(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.Version, func(t *testing.T) {
			need(t, r)
			b := newBox(t)
			furnish(b)
			s, rows := matrix(b)
			m := startModel(t, s)
			d := driver{Release: r, Args: append(isolated, "--mcp-config", b.mcpConfig()), Hook: true, Answer: func(a ask) (bool, string) { return true, "" },
			Env: []string{"CLAUDE_CODE_ENABLE_TODO_TOOLS=1"}}
			asks, lines := d.drive(t, b, m, "go [[main]]")
			h, c := map[string]int{}, map[string]int{}
			dir := map[string]string{}
			for _, a := range asks {
				if a.Kind == "hook" {
					h[a.ID]++
					dir[a.ID] = a.Dir
				} else {
					c[a.ID]++
				}
			}
			for _, x := range rows {
				res, ok := m.result(x.Name)
				fmt.Printf("%-16s hook %d ask %d ran %-5v back %v err %v %.150q %s\n", x.Name, h[x.id()], c[x.id()], x.ran(b, m), ok, res.Error, res.Text, dir[x.id()])
			}
			fmt.Println(lines[len(lines)-1])
		})
	}
}
