//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// markVar names the folder where the MCP server leaves its marks.
const markVar = "AW_E2E_MARKS"

// serveMCP is a small MCP server: its tools leave a mark, a file with the name
// that the caller gives. One claims to be read-only.
func serveMCP(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	enc := json.NewEncoder(out)
	for lines.Scan() {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string            `json:"protocolVersion"`
				Name            string            `json:"name"`
				URI             string            `json:"uri"`
				Arguments       map[string]string `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		var result any = map[string]any{}
		switch req.Method {
		case "initialize":
			result = map[string]any{
				"protocolVersion": req.Params.ProtocolVersion,
				"capabilities":    map[string]any{"tools": map[string]any{}, "resources": map[string]any{}},
				"serverInfo":      map[string]any{"name": "marks", "version": "1"},
			}
		case "tools/list":
			result = map[string]any{"tools": []any{markTool("peek", true), markTool("poke", false)}}
		case "resources/list":
			result = map[string]any{"resources": []any{map[string]any{"uri": "mark://one", "name": "one"}}}
		case "resources/read":
			leaveMark("resource")
			result = map[string]any{"contents": []any{map[string]any{"uri": req.Params.URI, "text": "resource text"}}}
		case "tools/call":
			leaveMark(req.Params.Arguments["mark"])
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": "marked"}}}
		}
		enc.Encode(map[string]any{"jsonrpc": "2.0", "id": req.ID, "result": result})
	}
}

func markTool(name string, readOnly bool) map[string]any {
	return map[string]any{
		"name": name, "description": "leaves a mark",
		"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"mark": map[string]any{"type": "string"}}},
		"annotations": map[string]any{"readOnlyHint": readOnly, "destructiveHint": !readOnly},
	}
}

func leaveMark(name string) {
	os.WriteFile(filepath.Join(os.Getenv(markVar), filepath.Base(name)), nil, 0o600)
}
