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
func settingsFiles(t testing.TB) []File { return filesBelow(t, "settings") }

// filesBelow returns the files below a directory of testdata.
func filesBelow(t testing.TB, dir string) []File {
	t.Helper()
	var all []File
	root := filepath.Join("testdata", dir)
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
	for _, f := range settingsFiles(t) {
		became(t, &b, f, Options{Home: lawHome})
	}
	golden.Check(t, "testdata/settings.golden", b.String())
}

// became writes what becomes of a file.
func became(t *testing.T, b *strings.Builder, f File, o Options) {
	t.Helper()
	made, err := Read([]File{f}, o)
	if err != nil {
		t.Errorf("%s: %v", f.Name, err)
		return
	}
	text, err := made.Draft.Text()
	if err != nil {
		t.Errorf("%s: %v", f.Name, err)
	}
	fmt.Fprintf(b, "======== %s\n%s--------\n", f.Name, text)
	for i := range made.Rules {
		r := &made.Rules[i]
		fmt.Fprintf(b, "%d:%d %s: %s %s\n    %s", r.Line, r.Col, r.Outcome, r.List, r.Rule, r.Reason)
		if r.Note != "" {
			fmt.Fprintf(b, ": %s", r.Note)
		}
		if len(r.Became) > 0 {
			fmt.Fprintf(b, "\n    > %s", strings.Join(r.Became, ", "))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "%d taken, %d tightened, %d left out\n\n", made.Count(Taken), made.Count(Tightened), made.Count(LeftOut))
}

// source says where the rules of a file below testdata/public are from.
type source struct {
	File, Repository, Path, Commit, License, Host string
}

// TestPublic imports the rules of public projects. Of their files testdata/public has only the
// rules, as facts in a form of ours; sources.json names each project, the file, its commit or
// the pull request that shows it, and its licence.
func TestPublic(t *testing.T) {
	text, err := os.ReadFile("testdata/public/sources.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []source
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	of, hosts, projects := map[string]source{}, map[string]bool{}, map[string]bool{}
	for _, s := range all {
		if s.Repository == "" || s.Path == "" || s.Commit == "" || s.License == "" {
			t.Errorf("%s has no source", s.File)
		}
		of[s.File], hosts[s.Host], projects[s.Repository] = s, true, true
	}
	if len(hosts) != len(formats) || len(projects) < 10 {
		t.Errorf("only %d hosts and %d projects", len(hosts), len(projects))
	}
	var b strings.Builder
	for _, f := range filesBelow(t, "public") {
		if f.Name == "sources.json" {
			continue
		}
		s, ok := of[f.Name]
		if !ok {
			t.Errorf("%s has no source", f.Name)
		}
		delete(of, f.Name)
		became(t, &b, f, Options{Host: s.Host, Home: lawHome})
	}
	for name := range of {
		t.Errorf("there is no %s", name)
	}
	golden.Check(t, "testdata/public.golden", b.String())
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
