package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/build"
)

// versionJSON is the output of version --json, and what is known of this program.
type versionJSON struct {
	envelope
	Version string `json:"version"` // v1.2.3, a pseudo-version, or (devel)
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed"` // the files were not those of the commit
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (a *app) versionCommand() *cobra.Command {
	var form *jsonForm
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: none(""),
		Example: `  agent-wrapper version
  agent-wrapper version --json`,
		RunE: func(*cobra.Command, []string) error {
			v := thisBuild()
			if form.on {
				return form.put(&v)
			}
			_, err := fmt.Fprintln(a.out, "agent-wrapper", v.String())
			return err
		},
	}
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// thisBuild returns what is known of this program. A release has its version and commit
// from its build; other builds know them from Go: go install from the version that it was
// told, go build from the repository.
func thisBuild() versionJSON {
	v := versionJSON{Version: build.Version, Commit: build.Commit, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		v.Version = cmp.Or(v.Version, "unknown")
		return v
	}
	v.Version = cmp.Or(v.Version, info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = cmp.Or(v.Commit, s.Value)
		case "vcs.modified":
			v.Changed = s.Value == "true"
		}
	}
	return v
}

// String returns the version in a line, with the commit unless the version holds it.
func (v *versionJSON) String() string {
	words := []string{v.Version}
	if v.Commit != "" && !strings.Contains(v.Version, v.Commit[:min(12, len(v.Commit))]) {
		words = append(words, v.Commit)
	}
	if v.Changed {
		words = append(words, "(changed)")
	}
	return strings.Join(append(words, v.Go), " ")
}

// buildVersion returns the version in a line.
func buildVersion() string {
	v := thisBuild()
	return v.String()
}
