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

	"golang.org/x/tools/go/packages"
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

// TestPlatforms: the programs compile and pass vet on each system. Without -all all packages
// and their tests are type-checked for a system of each kind, which is what a compiler finds
// fault with and takes a tenth of its time: what is compiled would be thrown away.
func TestPlatforms(t *testing.T) {
	if !*all {
		for _, platform := range []string{"darwin/arm64", "windows/amd64"} {
			if faults := faultsOf(t, platform, root, "./..."); len(faults) > 0 {
				t.Errorf("%s:\n%s", platform, strings.Join(faults, "\n"))
			}
		}
		return
	}
	for _, platform := range platforms {
		cmd := exec.Command("go", "vet", "-gcflags=all=-N -l", "./...")
		cmd.Dir = root
		cmd.Env = on(platform)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", platform, err, out)
		}
	}
}

// on is the environment in which go builds for a platform.
func on(platform string) []string {
	goos, goarch, _ := strings.Cut(platform, "/")
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
}

// faultsOf type-checks packages and their tests for a platform, and returns what is wrong
// with them or with what they import.
func faultsOf(t *testing.T, platform, dir, pattern string) (faults []string) {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedModule,
		Dir:  dir, Env: on(platform), Tests: true,
	}, pattern)
	if err != nil || len(loaded) == 0 {
		t.Fatalf("%d packages: %v", len(loaded), err)
	}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			faults = append(faults, e.Error())
		}
	})
	return faults
}

// TestFaultsOfAPlatform: what does not compile on one system only is found there.
func TestFaultsOfAPlatform(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module small\n\ngo 1.26\n",
		"p.go":              "package small\n",
		"p_windows.go":      "package small\n\nimport \"syscall\"\n\nfunc stop() error { return syscall.Kill(1, 9) }\n",
		"q_darwin_test.go":  "package small\n\nfunc unused() { x := 1 }\n",
		"q_windows_test.go": "package small\n\nimport \"os\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for platform, want := range map[string][]string{
		"linux/amd64":   nil,
		"darwin/arm64":  {"declared and not used: x"},
		"windows/amd64": {"undefined: syscall.Kill", `"os" imported and not used`},
	} {
		got := strings.Join(faultsOf(t, platform, dir, "./..."), "\n")
		for _, fault := range want {
			if !strings.Contains(got, fault) {
				t.Errorf("%s: %q is not found: %s", platform, fault, got)
			}
		}
		if want == nil && got != "" {
			t.Errorf("%s: %s", platform, got)
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
