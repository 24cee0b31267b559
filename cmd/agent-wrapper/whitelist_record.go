package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
)

// maxRefused is how many refused lines are shown.
const maxRefused = 10

// tellRefused writes what a list would have refused of the commands that agents have
// asked for in a workspace, by the user's record.
func (a *app) tellRefused(out io.Writer, text []byte, workspace string) error {
	list, err := whitelist.Parse(text, whitelist.FileName)
	if err != nil {
		return err
	}
	file, err := userDirs().Record()
	if err != nil {
		return nil // nothing can have been recorded
	}
	asked, err := commandsAsked(file, workspace)
	if err != nil {
		return err
	}
	if len(asked) == 0 {
		_, err := fmt.Fprintln(out, "The audit log has no commands of an agent here yet, so what the list would have refused is unknown.")
		return err
	}
	return writeRefused(out, list, asked)
}

// asked is a command line of the record, and how often an agent asked for it.
type asked struct {
	line, dir string
	times     int
}

func writeRefused(out io.Writer, list *whitelist.List, lines []*asked) error {
	total, refused := 0, 0
	var shown []string
	for _, c := range lines {
		total += c.times
		why := list.Validate(c.line, shell.Analyze(c.line, shell.Options{Dir: c.dir}))
		if why == nil {
			continue
		}
		if refused += c.times; len(shown) < maxRefused {
			shown = append(shown, fmt.Sprintf("  %4d  %-15s  %s", c.times, why.Reason, visible.Line(c.line)))
		} else if len(shown) == maxRefused {
			shown = append(shown, "  …")
		}
	}
	_, err := fmt.Fprintf(out, "Of %s that agents asked for here so far, it would have refused %d.\n", several(total, "command"), refused)
	for _, line := range shown {
		fmt.Fprintln(out, line)
	}
	return err
}

// commandsAsked returns the command lines that agents have asked for in a workspace,
// each once, in the order of the record.
func commandsAsked(record, workspace string) ([]*asked, error) {
	f, err := os.Open(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []*asked
	seen := map[string]*asked{}
	err = audit.Scan(f, &audit.Filter{Kind: "decision"}, func(e *audit.Entry, _ []byte) error {
		line := commandIn(e)
		if line == "" || !subpath.Inside(e.Dir, workspace) {
			return nil
		}
		if seen[line] == nil {
			seen[line] = &asked{line: line, dir: e.Dir}
			all = append(all, seen[line])
		}
		seen[line].times++
		return nil
	})
	return all, err
}

// commandIn returns the command line of an agent's tool use, "" for others, for one
// that was too long to be recorded, and for a person's own command (exec).
func commandIn(e *audit.Entry) string {
	var input struct{ Command string }
	if e.Tool != "Bash" && e.Tool != "Monitor" || strings.HasPrefix(e.Use, "exec-") || json.Unmarshal(e.Input, &input) != nil {
		return ""
	}
	return input.Command
}
