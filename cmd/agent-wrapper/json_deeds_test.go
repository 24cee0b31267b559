//go:build linux

package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/protocol"
)

// The tests here hold to the schema what TestJSON cannot try, since something has to wait
// for it, or it does not end by itself.

// does runs a command line that must succeed, and holds its output to the schema.
func does(t *testing.T, schema *protocol.Schema, command, line string) string {
	t.Helper()
	out, code := printed(t, line)
	if code != codeDone {
		t.Fatalf("%s: exit code %d: %s", line, code, out)
	}
	holdsJSON(t, schema, defName(command), line, out)
	return out
}

// firstLine starts a command that ends with its context, and returns the first line that it
// prints.
func firstLine(t *testing.T, args ...string) string {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		a := &app{in: strings.NewReader(""), out: write, err: io.Discard}
		ended <- a.run(ctx, args)
		write.Close()
	}()
	lines := bufio.NewReader(read)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Errorf("%q printed no line: %v", args, err)
	}
	end()
	io.Copy(io.Discard, lines)
	if code := <-ended; code != codeDone {
		t.Errorf("%q: exit code %d", args, code)
	}
	return line
}

// TestJSONServe: what a server says of itself once it listens.
func TestJSONServe(t *testing.T) {
	schema := jsonSchema(t)
	jsonPlace(t)
	line := firstLine(t, "serve", "--listen", "127.0.0.1:0", "--state", "state", "--isolated", "--json")
	holdsJSON(t, schema, "serve", "serve --json", line)
	does(t, schema, "serve token list", "serve token list --state state --json")
}
