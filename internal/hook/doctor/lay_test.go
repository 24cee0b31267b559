package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
)

// TestLay: in the throw-away configuration of hosts that are not among the usual tests
// stands the person's hook, with another program and the address of the model, and
// nothing else of the person's.
func TestLay(t *testing.T) {
	const program = "/usr/bin/agent-wrapper"
	for name, tt := range map[string]struct {
		lay              func(*box) error
		from, text, hook string
		config           string
	}{
		"crush": {
			layCrush, ".config/crush/crush.json",
			`{"hooks":{"PreToolUse":[{"command":` + encode(entry.GuardInBash(program, "crush", entry.Guarded)) + `,"timeout":600},{"command":"other"}]},"providers":{"mine":{}}}`,
			".config/crush/crush.json", ".config/crush/crush.json",
		},
		"opencode": {layOpenCode, ".config/opencode/plugins/agent-wrapper.js", entry.Plugin(program, entry.Limit), ".config/opencode/plugins/agent-wrapper.js", ".config/opencode/opencode.json"},
	} {
		t.Run(name, func(t *testing.T) {
			b := testBox(t, hanging)
			b.url = "http://127.0.0.1:1"
			put(t, filepath.Join(b.person.Home, tt.from), tt.text)
			if err := tt.lay(b); err != nil {
				t.Fatal(err)
			}
			hook, config := readFile(t, filepath.Join(b.home, tt.hook)), readFile(t, filepath.Join(b.home, tt.config))
			if !strings.Contains(hook, b.hook) || strings.Contains(hook, program) || b.program != program {
				t.Errorf("the program is not that of the proof (%s): %s", b.program, hook)
			}
			if strings.Contains(hook, "590") || strings.Contains(hook, "600000") {
				t.Errorf("a hook that hangs has its whole time: %s", hook)
			}
			if !strings.Contains(config, b.url+"/v1") || !strings.Contains(config, "canary-server") || strings.Contains(config, "other") || strings.Contains(config, "mine") {
				t.Errorf("%s", config)
			}
		})
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
