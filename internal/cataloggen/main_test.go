package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpToDate: the checked-in tables are those of the TOML files.
func TestUpToDate(t *testing.T) {
	want, err := generate("../../program/catalog")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../program/catalog_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Error("program/catalog_gen.go is out of date: run go generate ./program")
	}
}

func TestGenerate(t *testing.T) {
	got := generated(t, `
[group.common]
options = ["--help", "-v --verbose"]

[sort]
names = ["gsort"]
operands = "reads"
use = ["common"]
options = ["-o --output= : write", "-f= : input pattern", "--color?", "--pair==", "--[no-]x"]

[npm]
workdir = true
[npm.sub.exec]
names = ["x"]
operands = "runs-args"
options = ["-c --call= : run ends"]
`)
	for _, want := range []string{
		`case "gsort":`,
		`{Name: "gsort", Operands: Reads, Options: `,
		`Shared: [][]Option{`,
		`{Names: names{"-o", "--output"}, Value: Required, Effect: EffWrite},`,
		`{Names: names{"-f"}, Value: Required, Effect: EffInput, Pattern: true},`,
		`{Names: names{"--color"}, Value: Optional},`,
		`{Names: names{"--pair"}, Value: Pair},`,
		`{Names: names{"--x"}},`,
		`{Names: names{"--no-x"}},`,
		`{Names: names{"-c", "--call"}, Value: Required, Effect: EffRun, Ends: true},`,
		`{Name: "x", Operands: RunsArgs, Path: names{"exec"}, `,
		`Ends: true, Workdir: true}`,
		`{Name: "npm", Operands: Unread, `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in:\n%s", want, got)
		}
	}
}

func generated(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, err := generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	return string(code)
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"[sort]\nstile = \"gnu\"\n", "a.toml:2: [sort]: unknown key stile"},
		{"[sort]\nStyle = \"gnu\"\n", "a.toml:2: [sort]: unknown key Style"},
		{"[sort]\n\nstyle = \"bsd\"\n", "a.toml:3: [sort]: style is one of bundle, dash, exact, gnu, joined, none, posix"},
		{"[sort]\nskip = 0\n", "a.toml:2: [sort]: skip is a number from 1 to 9"},
		{"[sort]\nsafe = 1\n", "a.toml:2: [sort]: safe is true or false"},
		{"[sort]\noptions = \"-a\"\n", "a.toml:2: [sort]: options is not a list of strings"},
		{"[sort]\noptions = [\"-a\",\n  \"-b : wipe\"]\n", `a.toml:3: [sort]: option "-b : wipe": unknown effect "wipe"`},
		{"[sort]\noptions = [\"output\"]\n", `a.toml:2: [sort]: option "output": "output" is no name of an option`},
		{"[sort]\noptions = [\"-a= --all?\"]\n", `a.toml:2: [sort]: option "-a= --all?": the names take different values: make them two options`},
		{"[sort]\noptions = [\"-a\", \"-b -a\"]\n", "a.toml:2: [sort]: option -a is given twice"},
		{"[sort]\n[uniq]\nnames = [\"sort\"]\n", "a.toml:2: [uniq]: sort stands in [sort] at a.toml:1 as well"},
		{"[git.sub.log]\n[git.sub.show]\nnames = [\"log\"]\n", "a.toml:2: [git.sub.show]: log stands in [git.sub.log] at a.toml:1 as well"},
		{"[sort]\nuse = [\"nothing\"]\n", `a.toml:2: [sort]: there is no group "nothing"`},
		{"[group.x]\nstyle = \"gnu\"\n", "a.toml:2: [group.x]: a group has options and use only, not style"},
		{"x = 1\n", "a.toml:1: [x]: x is not a table"},
		{"[sort]\n[sort]\n", "a.toml: toml: line 2"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.toml"), []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := generate(dir)
		if err == nil {
			t.Errorf("%q: no error, want %s", test.text, test.want)
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%q (-want +got):\n%s", test.text, cmp.Diff(test.want, got))
		}
	}
}

func TestNoFiles(t *testing.T) {
	if _, err := generate(t.TempDir()); err == nil {
		t.Error("an empty folder gives tables")
	}
}

func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.go")
	if err := run("../../program/catalog", out); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(out); err != nil || info.Size() == 0 {
		t.Errorf("nothing written: %v", err)
	}
}
