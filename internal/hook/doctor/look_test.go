package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
)

// TestLook: each archive in testdata/look is a machine: home, repo and root. Its comment
// names the host, and the variables that are set. What is found out stands beside it.
func TestLook(t *testing.T) {
	paths, err := filepath.Glob("testdata/look/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			m := lay(t, ar)
			words := strings.Fields(string(ar.Comment))
			m.Env = append(m.Env, words[1:]...)
			golden.Check(t, strings.TrimSuffix(path, "txtar")+"txt", told(t, m, words[0]))
		})
	}
}

// lay makes a machine of an archive, on which every host is installed.
func lay(t *testing.T, ar *txtar.Archive) *Machine {
	t.Helper()
	dir := t.TempDir()
	m := &Machine{Home: dir + "/home", Dir: dir + "/repo", Root: dir + "/root", Env: []string{"PATH=" + dir + "/bin"}}
	for _, d := range []string{m.Home, m.Dir, m.Root, dir + "/bin"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range agents() {
		put(t, filepath.Join(dir, "bin", a.program), "#!/bin/sh\necho 2.1.330\n")
	}
	for _, f := range ar.Files {
		text := strings.ReplaceAll(string(f.Data), "@DIR@", dir)
		text = strings.Replace(text, "@PLUGIN@\n", entry.Plugin("/usr/bin/agent-wrapper", entry.Limit), 1)
		put(t, filepath.Join(dir, f.Name), text)
	}
	return m
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// told returns what is found out about a host.
func told(t *testing.T, m *Machine, host string) string {
	t.Helper()
	found, err := m.Look(context.Background(), host)
	if err != nil || len(found) != 1 || found[0].Version != "2.1.330" {
		t.Fatalf("%+v, %v", found, err)
	}
	var out strings.Builder
	for _, f := range found[0].Findings {
		fmt.Fprintf(&out, "%s: %s\n", f.Mark, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(&out, "    %s\n", f.Fix)
		}
	}
	return strings.ReplaceAll(out.String(), filepath.Dir(m.Home), "@DIR@")
}

func TestLookHosts(t *testing.T) {
	m := &Machine{Home: t.TempDir(), Dir: t.TempDir(), Root: t.TempDir(), Env: []string{"PATH=" + t.TempDir()}}
	if found, err := m.Look(context.Background()); err != nil || len(found) != 0 {
		t.Errorf("nothing is installed: %+v, %v", found, err)
	}
	found, err := m.Look(context.Background(), "claude")
	if err != nil || len(found) != 1 || found[0].Findings[0].Mark != Red {
		t.Errorf("a host that is named and not there: %+v, %v", found, err)
	}
	if _, err := m.Look(context.Background(), "clod"); err == nil {
		t.Error("clod is a host")
	}
}

// The forms in which our hook stands in configurations, and others that only look so.
func TestOurs(t *testing.T) {
	tests := []struct {
		fields object
		want   bool
	}{
		{object{"command": "/usr/bin/agent-wrapper", "args": []any{"hook", "claude"}}, true},
		{object{"command": "/opt/agent-wrapper-2", "args": []any{"hook", "claude"}}, true},
		{object{"command": "agent-wrapper hook claude"}, true},
		{object{"command": `'/a b/agent-wrapper' hook codex; exit 2`}, true},
		{object{"command": `aw='/a b/agent-wrapper'; if true; then timeout -k 1 590 "$aw" hook codex; fi`}, true},
		{object{"command": `bash -c 'aw='\''/a b/agent-wrapper'\''; "$aw" hook crush'; exit 2`}, true},
		{object{"bash": `aw='/b/agent-wrapper'; "$aw" hook copilot`}, true},
		{object{"command": "echo agent-wrapper hook claude"}, true}, // a proof tells
		{object{"command": "agent-wrapper audit tail"}, false},
		{object{"command": "/srv/agent-wrapper/run hook x"}, false},
		{object{"command": "aw='/b/renamed'; \"$aw\" hook codex"}, true},
		{object{"command": "aw='/b/other'; \"$aw\" hooks"}, false},
		{object{"command": "echo agent-wrapper; my hook x"}, false},
		{object{}, false},
	}
	for _, tt := range tests {
		if got := (handler{fields: tt.fields}).ours(); got != tt.want {
			t.Errorf("%v: %v", tt.fields, got)
		}
	}
}

func TestWithoutComments(t *testing.T) {
	tests := map[string]string{
		"{} // x\n":               "{}     \n",
		`{"a":"//b"} /* c */ `:    `{"a":"//b"}         `,
		`{"a\"//":1}`:             `{"a\"//":1}`,
		"/* never closed":         "               ",
		"{/*/ */}":                "{      }",
		`"an open string // here`: `"an open string // here`,
	}
	for in, want := range tests {
		if got := string(withoutComments([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestKnowsOnFailure: of a version of Claude Code that was not seen to obey onFailure,
// doctor does not say that a hook that fails stops anything. 2.1.197 and 2.1.268 were seen
// to let all canaries run.
func TestKnowsOnFailure(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.1.197 (Claude Code)": false, "2.1.268 (Claude Code)": false, "2.1.329": false, "2.1.330 (Claude Code)": true, "2.1.331": true, "2.2.0": true, "3.0.0": true,
		"1.9.999": false, "": false, "unknown": false, "2.1": false,
	} {
		if got := knowsOnFailure(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
		l := &look{Machine: &Machine{}, host: "claude", version: version}
		l.claudeFailure(handler{fields: map[string]any{"onFailure": "block"}})
		if len(l.findings) != 1 || (l.findings[0].Mark == OK) != want {
			t.Errorf("%q: %+v", version, l.findings)
		}
	}
}
