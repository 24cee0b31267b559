// Command release builds the archives of a release into a directory: for each platform the
// programs, static, with manual pages, completions, schemas and licence; an SBOM beside
// each, and the SHA-256 of all.
//
//	go run ./internal/release [-out DIR] [-platforms linux/amd64,...] [-version V] [-commit C -time T]
//
// The same commit gives the same bytes, wherever and whenever it is built, with the same
// version of Go: paths are trimmed, all times are that of the commit, and nothing is read
// from the machine. docs/releases.md tells how that is checked.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// linked is the package that holds the version of a release.
const linked = "github.com/agent-wrapper/agent-wrapper/internal/build"

// programs are the commands below cmd/ that an archive holds.
var programs = []string{"agent-wrapper", hook, sandbox}

const (
	hook    = "agent-wrapper-hook"
	sandbox = "agent-wrapper-sandbox"
)

// holds reports whether the archive for a platform has a program.
func holds(platform, program string) bool {
	switch goos, _, _ := strings.Cut(platform, "/"); program {
	case hook:
		return goos != "windows" // it leaves most to agent-wrapper by exec(2)
	case sandbox:
		return goos == "linux"
	}
	return true
}

// platforms are those for which there is an archive.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// module is the path of the module.
const module = "github.com/agent-wrapper/agent-wrapper"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := &release{}
	out := flag.String("out", "dist", "the directory for the files, which must not exist or be empty")
	flag.StringVar(&r.version, "version", "", "the version (default: the tag of the commit, else a pseudo-version)")
	chosen := flag.String("platforms", strings.Join(platforms, ","), "the platforms, separated by commas")
	flag.StringVar(&r.commit, "commit", "", "the commit (default: git tells it)")
	flag.StringVar(&r.seconds, "time", "", "the time of the commit, in seconds since 1970 (default: git tells it)")
	flag.BoolVar(&r.changed, "changed", false, "build files that differ from the commit; for tests")
	flag.Parse()
	r.out, r.platforms = *out, strings.Split(*chosen, ",")
	if err := r.build(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one release.
type release struct {
	out       string
	version   string
	platforms []string
	changed   bool

	commit, seconds string
	at              time.Time // of the commit
}

// file is a file of an archive.
type file struct {
	name string // with slashes
	mode fs.FileMode
	data []byte
}

// build builds everything.
func (r *release) build(ctx context.Context) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	common, err := r.common(ctx, work)
	if err != nil {
		return err
	}
	var made []file
	for _, platform := range r.platforms {
		files, err := r.archive(ctx, platform, work, common)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		made = append(made, files...)
	}
	made = append(made, file{"SHA256SUMS", 0o644, sums(made)})
	for _, f := range made {
		if err := os.WriteFile(filepath.Join(r.out, f.name), f.data, 0o644); err != nil {
			return err
		}
		fmt.Println(filepath.Join(r.out, f.name))
	}
	return nil
}

// check finds out what is released, and rejects what could not be built again.
func (r *release) check(ctx context.Context) error {
	for _, p := range r.platforms {
		if !slices.Contains(platforms, p) {
			return fmt.Errorf("there is no platform %s: use %s", p, strings.Join(platforms, ", "))
		}
	}
	if err := r.describe(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if there, err := os.ReadDir(r.out); err != nil || len(there) > 0 {
		return fmt.Errorf("%s is not empty: remove it, or name another directory with -out", r.out)
	}
	return nil
}

// describe asks git for the commit, its time and its version.
func (r *release) describe(ctx context.Context) error {
	if r.commit == "" || r.seconds == "" {
		if status, err := git(ctx, "status", "--porcelain"); err != nil || status != "" && !r.changed {
			return fmt.Errorf("the files are not those of the commit: commit them first\n%s", status)
		}
		var err error
		if r.commit, err = git(ctx, "rev-parse", "HEAD"); err != nil {
			return err
		}
		if r.seconds, err = git(ctx, "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(r.seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the commit: %w", err)
	}
	r.at = time.Unix(n, 0).UTC()
	if r.version == "" {
		if r.version, err = git(ctx, "describe", "--tags", "--exact-match", "--match", "v*"); err != nil {
			r.version = fmt.Sprintf("v0.0.0-%s-%.12s", r.at.Format("20060102150405"), r.commit)
		}
	}
	return nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// compile builds a program for a platform.
func (r *release) compile(ctx context.Context, platform, program, into string) error {
	goos, goarch, _ := strings.Cut(platform, "/")
	flags := fmt.Sprintf("-s -w -buildid= -X %[1]s.Version=%[2]s -X %[1]s.Commit=%[3]s", linked, r.version, r.commit)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", into, "./cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// common returns the files of all archives: the documents, and what the program itself
// writes on this machine.
func (r *release) common(ctx context.Context, work string) ([]file, error) {
	files, err := documents()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(work, "here", "agent-wrapper")
	if err := r.compile(ctx, runtime.GOOS+"/"+runtime.GOARCH, "agent-wrapper", program); err != nil {
		return nil, err
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = []string{"HOME=" + work, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix())}
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("agent-wrapper %s: %w", strings.Join(args, " "), err)
		}
		return out, err
	}
	for shell, name := range map[string]string{"bash": "agent-wrapper.bash", "zsh": "_agent-wrapper", "fish": "agent-wrapper.fish", "powershell": "agent-wrapper.ps1"} {
		text, err := run("completion", shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"completions/" + name, 0o644, text})
	}
	man := filepath.Join(work, "man")
	if _, err := run("man", man); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("no manual pages were written: %w", err)
	}
	for _, name := range pages {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"man/" + filepath.Base(name), 0o644, text})
	}
	return files, nil
}

// documents returns the files of the source that are in all archives.
func documents() ([]file, error) {
	names, err := filepath.Glob("schemas/*.json")
	if err != nil {
		return nil, err
	}
	var files []file
	for _, name := range append(names, "LICENSE", "README.md", "CHANGELOG.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{filepath.ToSlash(name), 0o644, text})
	}
	return files, nil
}

// archive builds the programs for a platform, and returns the archive and the SBOM.
func (r *release) archive(ctx context.Context, platform, work string, common []file) ([]file, error) {
	name := strings.Join([]string{"agent-wrapper", strings.TrimPrefix(r.version, "v"), strings.Replace(platform, "/", "_", 1)}, "_")
	files, windows := slices.Clone(common), strings.HasPrefix(platform, "windows/")
	var built []string
	for _, program := range programs {
		if !holds(platform, program) {
			continue
		}
		into := filepath.Join(work, platform, program)
		if windows {
			into += ".exe"
		}
		if err := r.compile(ctx, platform, program, into); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(into)
		if err != nil {
			return nil, err
		}
		files, built = append(files, file{filepath.Base(into), 0o755, data}), append(built, into)
	}
	bom, err := sbom(r, platform, built)
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].name = path.Join(name, files[i].name)
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	pack, end := tarball, ".tar.gz"
	if windows {
		pack, end = zipped, ".zip"
	}
	data, err := pack(files, r.at)
	if err != nil {
		return nil, err
	}
	return []file{{name + end, 0o644, data}, {name + ".cdx.json", 0o644, bom}}, nil
}

// sums returns the checksums of files, in the form that sha256sum -c reads.
func sums(files []file) []byte {
	var out bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return out.Bytes()
}
