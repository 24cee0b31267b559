//go:build release

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var all = flag.Bool("all", false, "build all platforms twice, not only this one")

const root = "../.."

// TestSameBytes: two releases of the same files from two directories have the same bytes.
// With -all, the second shares no compiled package with the first.
func TestSameBytes(t *testing.T) {
	chosen := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if *all {
		chosen = platforms
	}
	var made []map[string][]byte
	for _, name := range []string{"one", "another/place"} {
		dir := filepath.Join(t.TempDir(), name)
		for _, f := range sources(t) {
			copied(t, filepath.Join(root, f), filepath.Join(dir, f))
		}
		cmd := exec.Command("go", "run", "-buildvcs=false", "./internal/release", "-out", "dist", "-platforms", strings.Join(chosen, ","),
			"-version", "v1.2.3", "-commit", "0123456789abcdef", "-time", "1795660864")
		cmd.Dir = dir
		cmd.Env = os.Environ()
		if *all && len(made) > 0 {
			cmd.Env = append(cmd.Env, "GOCACHE="+t.TempDir())
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		made = append(made, filesOf(t, filepath.Join(dir, "dist")))
	}
	if len(made[0]) != 2*len(chosen)+1 {
		t.Errorf("%d files", len(made[0]))
	}
	for name, data := range made[0] {
		t.Logf("%s: %d bytes", name, len(data))
		if !bytes.Equal(data, made[1][name]) {
			t.Errorf("%s differs", name)
		}
	}
	holdsAll(t, made[0])
}

// holdsAll checks what is in the archive for this platform.
func holdsAll(t *testing.T, made map[string][]byte) {
	t.Helper()
	base := fmt.Sprintf("agent-wrapper_1.2.3_%s_%s", runtime.GOOS, runtime.GOARCH)
	files := map[string]file{}
	for _, f := range unpacked(t, "tar.gz", made[base+".tar.gz"]) {
		files[strings.TrimPrefix(f.name, base+"/")] = f
	}
	for _, name := range append([]string{
		"LICENSE", "README.md", "CHANGELOG.md", "completions/agent-wrapper.bash", "completions/_agent-wrapper", "completions/agent-wrapper.fish", "completions/agent-wrapper.ps1",
		"man/agent-wrapper.1", "man/agent-wrapper-audit-verify.1", "schemas/json.schema.json",
	}, programs...) {
		if len(files[name].data) == 0 {
			t.Errorf("the archive has no %s", name)
		}
	}
	program := filepath.Join(t.TempDir(), "agent-wrapper")
	if err := os.WriteFile(program, files["agent-wrapper"].data, 0o700); err != nil {
		t.Fatal(err)
	}
	says(t, exec.Command(program, "version", "--json"), "v1.2.3", "0123456789abcdef")
}

// says checks what version --json of a program says.
func says(t *testing.T, cmd *exec.Cmd, version, commit string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var v struct{ Version, Commit string }
	if err != nil || json.Unmarshal(out, &v) != nil || v.Version != version || v.Commit != commit {
		t.Errorf("%v: %s", err, out)
	}
}

// TestPlatforms: the programs compile and pass vet on each system, with -all all of it on
// each platform.
func TestPlatforms(t *testing.T) {
	chosen := []string{"darwin/arm64", "windows/amd64"} // and this one, by go vet
	if *all {
		chosen = platforms
	}
	for _, platform := range chosen {
		goos, goarch, _ := strings.Cut(platform, "/")
		packages := "./cmd/..." // with all that they are made of
		if *all {
			packages = "./..."
		}
		cmd := exec.Command("go", "vet", "-gcflags=all=-N -l", packages) // what is compiled is thrown away
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", platform, err, out)
		}
	}
}

// TestInstall: go install takes a tagged version from a module proxy, and the program
// knows its version.
func TestInstall(t *testing.T) {
	const version = "v1.2.3"
	proxy, bin := t.TempDir(), t.TempDir()
	at := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".mod": mod, version + ".zip": moduleZip(t, version),
		version + ".info": []byte(`{"Version":"` + version + `","Time":"2026-11-26T00:00:00Z"}`),
	} {
		if err := os.WriteFile(filepath.Join(at, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
	mine := t.TempDir()
	cmd := exec.Command("go", "install", module+"/cmd/agent-wrapper@"+version)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOMODCACHE="+mine, "GOPROXY=file://"+proxy+",file://"+known, "GOSUMDB=off", "GOFLAGS=-modcacherw -trimpath", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	says(t, exec.Command(filepath.Join(bin, "agent-wrapper"), "version", "--json"), version, "")
}

// moduleZip returns the module as a proxy has it.
func moduleZip(t *testing.T, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range sources(t) {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.Create(path.Join(module+"@"+version, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sources returns the regular files of the source tree that git knows or would add.
func sources(t *testing.T) (names []string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
			names = append(names, name)
		}
	}
	return names
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// filesOf returns the files of a directory.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
