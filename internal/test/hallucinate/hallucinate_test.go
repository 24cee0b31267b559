package hallucinate

import (
	"slices"
	"testing"
)

func TestLines(t *testing.T) {
	good := []string{"npm run build", "npm test", "CI=1 make lint", "go test ./...", "ls -l", "echo 'a b'"}
	lines := Lines(good, []string{"--ignore-scripts"})
	has := func(kind, text string) bool {
		return slices.ContainsFunc(lines, func(l Line) bool { return l.Kind == kind && l.Text == text })
	}
	for text, kind := range map[string]string{
		"npm run publish": "script", "npm publish build": "subcommand", "CI=1 make publish": "script", "go publish ./...": "subcommand", "npm run biuld": "typo", "pnm run build": "typo", "npm tset": "typo", "CI=1 make linnt": "typo", "npm run build-with-magic-flag": "typo",
		"npm test --agent-override": "flag", "npm --agent-override test": "flag", "CI=1 make --agent-override lint": "flag", "npm test | id": "operator", "npm test;id": "operator", "npm test\nid": "operator", "(npm test)": "operator", "npm test $(id)": "operator",
		"npm test --ignore-scripts": "denied", "npm --ignore-scripts=1 test": "denied", `npm test "--ignore-scripts"`: "denied", "superbuild test": "program",
	} {
		if !has(kind, text) {
			t.Errorf("no %s %q", kind, text)
		}
	}
	for _, l := range lines {
		if slices.Contains(good, l.Text) || !slices.Contains(good, l.From) {
			t.Errorf("%+v is no wrong line of a good one", l)
		}
		if l.Kind == "subcommand" && (l.From == "ls -l" || l.From == "echo 'a b'") {
			t.Errorf("%+v: the program has none", l)
		}
	}
	if len(Lines([]string{""}, nil)) != 0 {
		t.Error("wrong lines of none")
	}
}
