package hostrules

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// settingsFiles returns files of the forms that public projects have.
func settingsFiles(t testing.TB) []File {
	t.Helper()
	var all []File
	root := filepath.Join("testdata", "settings")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		all = append(all, File{Name: name, Path: "/" + strings.Replace(name, "home/", "home/dev/", 1), Text: text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSettings imports each file, and compares the policy and the report with a golden file.
func TestSettings(t *testing.T) {
	var b strings.Builder
	files := settingsFiles(t)
	if len(files) < 10 {
		t.Fatalf("only %d files", len(files))
	}
	for _, f := range files {
		made, err := Read([]File{f}, Options{Home: lawHome})
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		text, err := made.Draft.Text()
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		fmt.Fprintf(&b, "======== %s\n%s--------\n", f.Name, text)
		for i := range made.Rules {
			r := &made.Rules[i]
			fmt.Fprintf(&b, "%d:%d %s: %s %s\n    %s", r.Line, r.Col, r.Outcome, r.List, r.Rule, r.Reason)
			if r.Note != "" {
				fmt.Fprintf(&b, ": %s", r.Note)
			}
			if len(r.Became) > 0 {
				fmt.Fprintf(&b, "\n    > %s", strings.Join(r.Became, ", "))
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%d taken, %d tightened, %d left out\n\n", made.Count(Taken), made.Count(Tightened), made.Count(LeftOut))
	}
	golden.Check(t, "testdata/settings.golden", b.String())
}

// TestPlaces: at the place of each rule of Claude Code stands the rule.
func TestPlaces(t *testing.T) {
	for _, f := range settingsFiles(t) {
		if !strings.Contains(f.Name, "settings") || strings.Contains(f.Name, ".vscode") {
			continue
		}
		made, err := Read([]File{f}, Options{Home: lawHome})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(f.Text), "\n")
		for _, r := range made.Rules {
			quoted, _ := json.Marshal(r.Rule)
			want := strings.NewReplacer(`\u003e`, ">", `\u003c`, "<", `\u0026`, "&").Replace(string(quoted[1 : len(quoted)-1]))
			if got := lines[r.Line-1][r.Col-1:]; !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q is not at its place: %.40q", f.Name, r.Rule, got)
			}
		}
	}
}
