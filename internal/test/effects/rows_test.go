//go:build oracle && linux

package effects

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
)

var rows = flag.String("rows", "", "a file that gets -lines rows for check --jsonl, each with a policy that fits its line; nothing runs")

// TestRows writes rows with which internal/test/decisiondiff compares two
// programs.
func TestRows(t *testing.T) {
	if *rows == "" {
		t.Skip("no -rows")
	}
	if *seed == 0 {
		t.Fatal("rows that can be made again need a -seed")
	}
	file, err := os.Create(*rows)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	g := newGenerator(*seed, world(t))
	for i := range *lines {
		line := g.line()
		row, err := json.Marshal(rowOf(fmt.Sprintf("generated %d", i), line, g.policy(line)))
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(row, '\n'))
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// rowOf returns a line under a policy as a row of check --jsonl.
func rowOf(id, line string, p *rules) any {
	list := map[string]any{"mode": p.mode, "allow": []string{}, "deny": []string{}}
	for _, item := range p.spec().Allow {
		list["allow"] = append(list["allow"].([]string), item.Text)
	}
	for _, item := range p.spec().Deny {
		list["deny"] = append(list["deny"].([]string), item.Text)
	}
	return map[string]any{"id": id, "policy": list, "tool": "Bash", "input": map[string]string{"command": line}}
}
