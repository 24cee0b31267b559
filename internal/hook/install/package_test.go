package install

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
)

// TestPackage: a package has the events of the hook that install writes, and is written
// into a directory of its own only.
func TestPackage(t *testing.T) {
	t.Parallel()
	for _, name := range PackageHosts() {
		dir := filepath.Join(t.TempDir(), "new", name)
		doors, err := WritePackage(name, "1.2.3", dir)
		if err != nil || len(doors) == 0 {
			t.Fatal(doors, err)
		}
		var out strings.Builder
		for _, f := range packages[name]("1.2.3") {
			text := contentsOf(t, filepath.Join(dir, filepath.FromSlash(f.path)))
			out.WriteString("== " + f.path + "\n" + madeUpName.ReplaceAllString(text, hookName+"NAME"))
		}
		golden.Check(t, "testdata/package-"+name+".txt", out.String())
		if _, err := WritePackage(name, "1.2.3", dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("into a directory with files: %v", err)
		}
	}
	for _, name := range []string{"codex", ""} {
		dir := filepath.Join(t.TempDir(), "x")
		if _, err := WritePackage(name, "1", dir); err == nil || exists(dir) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestPackageSame: but for the path of the program and the flag, the hooks of a package
// are those of the settings.
func TestPackageSame(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	m.Binary = "/usr/bin/" + entry.Program
	for _, name := range PackageHosts() {
		h, err := m.host(name, User)
		if err != nil {
			t.Fatal(err)
		}
		f := h.files(m, User, Options{})[0]
		settings, _, err := f.add(f.path, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		all := packages[name]("1")
		var one, other struct{ Hooks any }
		if err := json.Unmarshal(settings, &one); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(all[len(all)-1].text), `"`+entry.Program+`"`, `"`+m.Binary+`"`)
		text = strings.ReplaceAll(text, "aw='"+entry.Program+"'", "aw='"+m.Binary+"'")
		if err := json.Unmarshal([]byte(text), &other); err != nil {
			t.Fatal(err)
		}
		a, b := string(encode(unnamed(one.Hooks))), string(encode(unnamed(other.Hooks)))
		if b = strings.ReplaceAll(b, `,"--`+entry.InPlugin+`"`, ""); a != b {
			t.Errorf("%s: settings\n%s\npackage\n%s", name, a, b)
		}
	}
}
