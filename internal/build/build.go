// Package build says which build of the programs of this project runs.
package build

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Version and Commit are those of a release. The linker sets them: see internal/release.
var Version, Commit string

// Name returns a name that two builds share only if they are of the same source, as far as
// the toolchain tells: the release, the version of the module, the commit.
func Name() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(Version+" "+Commit, "unknown")
	}
	words := []string{info.GoVersion, info.Main.Version, info.Main.Sum, Version, Commit}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "vcs.") {
			words = append(words, s.Value)
		}
	}
	return strings.Join(words, " ")
}
