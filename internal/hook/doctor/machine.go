package doctor

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
)

// find returns the path of a program in the absolute directories of the person's
// PATH, "" if it is not there.
func (m *Machine) find(name string) string {
	for _, dir := range filepath.SplitList(m.variable("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// versionLimit is how long a host may take to say its version.
const versionLimit = 20 * time.Second

// version returns what a host prints of its version, "" if it says none. It runs in a
// home of its own, because hosts write files when they start.
func (m *Machine) version(ctx context.Context, path string) string {
	home, err := os.MkdirTemp("", "agent-wrapper-doctor-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(home)
	var out bytes.Buffer
	c := process.Command{
		Args: []string{path, "--version"}, Dir: home, Env: bare(m.variable("PATH"), home), Stdout: &out,
		Limit: versionLimit, Grace: time.Second,
	}
	if res, err := c.Run(ctx); err != nil || res.Exit != 0 {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	return line
}

// bare returns the environment of a host in a home of its own: nothing of the person's
// but PATH, and so no key.
func bare(path, home string) []string {
	return []string{
		"PATH=" + path, "HOME=" + home, "TMPDIR=" + home, "SHELL=/bin/sh", "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1", "CI=1",
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DO_NOT_TRACK=1", "COPILOT_AUTO_UPDATE=false",
	}
}
