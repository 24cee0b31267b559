package policy

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// publicRow is a row of public.jsonl: a use from a public bug report of an agent or of its
// permissions, and what is right.
type publicRow struct {
	ID     string          `json:"id"`
	Policy json.RawMessage `json:"policy"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Cwd    string          `json:"cwd"`
	Want   string          `json:"want"`
	Got    string          `json:"got"`
	Why    string          `json:"why"`
}

// publicUnmet are the rows that do not come out as they want, with the reason.
var publicUnmet = map[string]string{
	// These programs run code of the project before they print their version.
	"ver-pnpm_-v":          "packageManager in package.json makes pnpm fetch and run another version of itself",
	"ver-yarn_-v":          "yarnPath in .yarnrc.yml is run in place of yarn",
	"ver-dotnet_--version": "sdk.paths in global.json names the SDK that is run",
	"ver-poetry_--version": "plugins in .poetry/plugins are loaded",
	"ver-pytest_--version": "pytest before 9 loads conftest.py and the plugins of its configuration",
	// The policies of these rows are what the import made. TestOpenCodeOutside of hostrules decides
	// the same uses by what it makes now; a rule Bash(head *) of a person's own means any file.
	"opencode-env":        "the import no longer adds the deny",
	"opencode-ext-head35": "the import adds a rule that asks",
	"opencode-ext-ls36":   "the import adds a rule that asks",
	"opencode-ext-head38": "the import adds a rule that asks",
}

// TestPublicReports checks each row of public.jsonl.
func TestPublicReports(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range publicRows(t) {
		line, err := json.Marshal(map[string]any{"id": row.ID, "policy": row.Policy, "tool": row.Tool, "input": row.Input, "cwd": row.Cwd})
		if err != nil {
			t.Fatal(err)
		}
		a := (&Check{}).Line(line)
		met := row.met(t, a)
		why, listed := publicUnmet[row.ID]
		seen[row.ID] = listed
		if met == listed {
			t.Errorf("%s: %s %s: %s, want %s (%s)%s", row.ID, row.Input, a.Behavior, a.Reason, row.Want, row.Why, why)
		}
	}
	for id := range publicUnmet {
		if !seen[id] {
			t.Errorf("there is no row %s", id)
		}
	}
}

func (r *publicRow) met(t *testing.T, a Answer) bool {
	switch r.Want {
	case "a true reason":
		return !strings.Contains(a.Reason, "it changes agent-wrapper.toml")
	case "load error or deny":
		return a.Behavior == "deny"
	case "a lint finding":
		spec, err := parseRowPolicy(r.Policy)
		if err != nil {
			t.Fatal(err)
		}
		findings, err := Lint(spec)
		return err == nil && slices.ContainsFunc(findings, func(f Finding) bool { return f.Check == "overruled" })
	}
	for want := range strings.SplitSeq(r.Want, "|") {
		if a.Behavior == want {
			return true
		}
	}
	return false
}

func publicRows(t *testing.T) []publicRow {
	f, err := os.Open("../../testdata/cases/public.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []publicRow
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r publicRow
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) < 60 {
		t.Fatalf("%d rows", len(rows))
	}
	return rows
}
