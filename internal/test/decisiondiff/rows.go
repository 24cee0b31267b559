package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/test/client"
)

// row is a tool use of a corpus, as a line of check --jsonl has it.
type row struct {
	ID      string          `json:"id"`
	Class   string          `json:"-"`
	Policy  json.RawMessage `json:"policy,omitempty"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Context json.RawMessage `json:"context,omitempty"`
	Shell   string          `json:"shell,omitempty"`
}

func (r *row) ownPolicy() bool { return bytes.HasPrefix(r.Policy, []byte("{")) }

// use returns the row as an agent in a project sends it.
func (r *row) use() client.Use { return client.Use{Tool: r.Tool, Input: r.Input} }

// readRows reads files of cases, each with one JSON object per line: a tool use (tool,
// input) or a command line (command). The same use under the same policy counts once.
func readRows(files []string) ([]row, error) {
	var rows []row
	seen := map[string]bool{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 16<<20)
		for n := 1; lines.Scan(); n++ {
			base, _, _ := strings.Cut(filepath.Base(name), ".")
			r, ok := rowOf(fmt.Sprintf("%s:%d", base, n), lines.Bytes())
			if !ok {
				continue
			}
			if key := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s", r.Policy, r.Tool, r.Input, r.Context, r.Shell); !seen[key] {
				seen[key] = true
				rows = append(rows, r)
			}
		}
		file.Close()
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return rows, nil
}

// rowOf returns a case, ok if it is a tool use.
func rowOf(place string, line []byte) (r row, ok bool) {
	var c struct {
		row
		Class    string          `json:"class"`
		Command  json.RawMessage `json:"command"`
		Cwd      string          `json:"cwd"`
		Home     string          `json:"home"`
		Symlinks json.RawMessage `json:"symlinks"`
		FS       string          `json:"fs"`
	}
	if json.Unmarshal(line, &c) != nil {
		return r, false
	}
	r = c.row
	if len(c.Command) > 0 {
		r.Tool, r.Input = "Bash", json.RawMessage(`{"command":`+string(c.Command)+`}`)
	}
	if r.Tool == "" || !bytes.HasPrefix(bytes.TrimSpace(r.Input), []byte("{")) {
		return r, false
	}
	if r.Context == nil && c.Cwd != "" {
		place, err := json.Marshal(struct {
			Cwd      string          `json:"cwd"`
			Home     string          `json:"home,omitempty"`
			Symlinks json.RawMessage `json:"symlinks,omitempty"`
			FS       string          `json:"fs,omitempty"`
		}{c.Cwd, c.Home, c.Symlinks, c.FS})
		if err == nil {
			r.Context = place
		}
	}
	r.ID, r.Class = place, c.Class
	if r.Class == "" {
		r.Class, _, _ = strings.Cut(place, ":")
	}
	r.Input, r.Policy = bytes.TrimSpace(r.Input), bytes.TrimSpace(r.Policy)
	if !r.ownPolicy() {
		r.Policy = nil
	}
	return r, true
}
