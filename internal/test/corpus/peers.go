package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Peer is a case from the tests of another engine in neutral form.
type Peer struct {
	ID       string   `json:"id"`
	Source   string   `json:"source"` // engine:part
	Licence  string   `json:"licence"`
	Kind     string   `json:"kind"` // rules, split, redirect
	Rules    *Policy  `json:"rules"`
	Tool     string   `json:"tool"`
	Input    string   `json:"input"`    // the tool's naming field, or the whole input as JSON
	Expected string   `json:"expected"` // allow, ask, deny; unknown if no rule is about it
	Parts    []string `json:"parts"`    // for split, the commands of the line,
	Roots    []string `json:"roots"`    // or only their programs
	// Ordered reports that in the original the last matching rule decides.
	Ordered bool `json:"ordered"`
	// Lost describes what the neutral form omits of the original.
	Lost     string            `json:"lost"`
	Cwd      string            `json:"cwd"`
	Symlinks map[string]string `json:"symlinks"`
}

// ReadPeers reads a file of cases of other engines.
func ReadPeers(path string) ([]Peer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []Peer
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		var p Peer
		if err := json.Unmarshal(sc.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		rows = append(rows, p)
	}
	return rows, sc.Err()
}

// Use returns the input of the tool use.
func (p *Peer) Use() map[string]any {
	var whole map[string]any
	if json.Unmarshal([]byte(p.Input), &whole) == nil && whole != nil {
		return whole
	}
	switch p.Tool {
	case "Bash":
		return map[string]any{"command": p.Input}
	case "Read", "Edit":
		return map[string]any{"file_path": p.Input}
	case "WebFetch":
		return map[string]any{"url": "https://" + p.Input + "/"}
	}
	return map[string]any{}
}

// Policy returns the rules of the case. A case about redirections has none: the
// programs that it runs are allowed.
func (p *Peer) Policy() Policy {
	if p.Rules != nil {
		return *p.Rules
	}
	return Policy{Allow: []string{"Bash(echo:*)", "Bash(cat:*)"}}
}
