package claude

import (
	"encoding/json"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// TestClients writes what the agent CLI is started with for the clients in other
// languages, whose SDKs start it themselves.
func TestClients(t *testing.T) {
	ours := map[string]string{}
	for _, v := range variables.ours {
		ours[v.name] = v.value
	}
	data, err := json.MarshalIndent(map[string]any{
		"settings": json.RawMessage(isolation(&launch{})),
		"families": variables.families, "withheld": variables.withheld, "passed": variables.passed, "nested": variables.nested,
		"ours": ours, "hookTimeout": hookTimeout,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const made = " What the agent CLI is started with; made from package wrapper/claude by its TestClients -update.\n"
	golden.Check(t, "../../clients/typescript/src/isolation.ts", "//"+made+"export const isolation = "+string(data)+";\n")
	golden.Check(t, "../../clients/python/agent_wrapper/_isolation.py", "#"+made+"import json\nfrom typing import Any\n\nisolation: dict[str, Any] = json.loads(\n    r\"\"\"\n"+string(data)+"\n\"\"\"\n)\n")
}
