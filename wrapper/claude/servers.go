package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// mcpCommands returns the commands of the MCP servers that the configurations, files or
// JSON texts, have the agent CLI start, with its variables put in as it does that.
func mcpCommands(configs, env []string) ([][]string, error) {
	var all [][]string
	for _, config := range configs {
		data := []byte(config)
		if !json.Valid(data) {
			var err error
			if data, err = os.ReadFile(config); err != nil {
				return nil, fmt.Errorf("--mcp-config: %w", err)
			}
		}
		var given struct {
			Servers map[string]struct {
				Command string   `json:"command"`
				Args    []string `json:"args"`
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal(data, &given); err != nil {
			continue // the agent CLI says what is wrong with it
		}
		for _, s := range given.Servers {
			if s.Command == "" {
				continue
			}
			words := append([]string{s.Command}, s.Args...)
			for i := range words {
				words[i] = expand(words[i], env)
			}
			all = append(all, words)
		}
	}
	return all, nil
}

// expand replaces ${NAME} and ${NAME:-default} by the value of the variable. One that is
// not set, and has no default, stays as it is.
func expand(text string, env []string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		inner, after, closed := strings.Cut(rest, "}")
		if !found || !closed || inner == "" {
			b.WriteString(text)
			return b.String()
		}
		name, other, hasOther := strings.Cut(inner, ":-")
		value, set := lookup(env, name)
		switch {
		case set:
		case hasOther:
			value = other
		default:
			value = "${" + inner + "}"
		}
		b.WriteString(before + value)
		text = after
	}
}
