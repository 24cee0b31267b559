package install

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
)

// A package is the hook as a plugin of Claude Code or an extension of Gemini CLI, in a
// directory: for a marketplace, or for machines that other people set up. It starts the
// agent-wrapper that is on PATH there, with the same events, limits and guard as the hook
// that Install writes. It is weaker than that one: see the doors of the scope Packaged.

// packages are the hosts that have packages, with what makes one.
var packages = map[string]func(version string) []packageFile{"claude": claudePackage, "gemini": geminiPackage}

// PackageHosts returns the names of the hosts that have packages.
func PackageHosts() []string {
	var names []string
	for _, h := range hosts() {
		if packages[h.name] != nil {
			names = append(names, h.name)
		}
	}
	return names
}

// packageFile is a file of a package.
type packageFile struct {
	path string // with slashes
	text []byte
}

// WritePackage writes the package of a host into a directory that is empty or not there,
// and returns what stays open with it.
func WritePackage(name, version, dir string) ([]Door, error) {
	makes := packages[name]
	if makes == nil {
		return nil, fmt.Errorf("there is no package for %q: use %s", name, strings.Join(PackageHosts(), " or "))
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: give a directory of its own", dir)
	}
	for _, f := range makes(version) {
		path := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, f.text, 0o644); err != nil {
			return nil, err
		}
	}
	return open(name, Packaged, Options{}), nil
}

const packageSays = "Has agent-wrapper decide every tool use by your policies. It needs agent-wrapper on PATH."

// claudePackage is the plugin of Claude Code.
func claudePackage(version string) []packageFile {
	return []packageFile{
		{".claude-plugin/plugin.json", indented(map[string]string{"name": entry.Program, "version": version, "description": packageSays})},
		{"hooks/hooks.json", hooksFile(claudeEvents(entry.Program, "--"+entry.InPlugin))},
	}
}

// geminiPackage is the extension of Gemini CLI.
func geminiPackage(version string) []packageFile {
	return []packageFile{
		{"gemini-extension.json", indented(map[string]string{"name": entry.Program, "version": version, "description": packageSays})},
		{"hooks/hooks.json", hooksFile(geminiEvents(entry.Program))},
	}
}

// hooksFile is a file with hooks alone.
func hooksFile(events []event) []byte {
	hooks := map[string][]any{}
	for _, e := range events {
		hooks[e.name] = []any{e.entry}
	}
	return indented(map[string]any{"hooks": hooks})
}

// indented returns a value as a JSON file.
func indented(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // it is made of texts and numbers
	return []byte(b.String())
}

// geminiEvents are the events of Gemini CLI with a hook.
func geminiEvents(binary string) []event {
	off := false
	h := handler{Type: "command", Name: hookNameFor(), Command: entry.Guard(binary, "gemini", entry.Guarded), Timeout: int(entry.Limit / time.Millisecond)}
	return []event{{"BeforeTool", group{Matcher: "*", Sequential: &off, Hooks: []handler{h}}}}
}
