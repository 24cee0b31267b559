package claude

import (
	"fmt"
	"strconv"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// version is a version of the CLI: major, minor, patch.
type version [3]int

var versionText = lazyregexp.New(`^(\d{1,6})\.(\d{1,6})\.(\d{1,6})\b`)

// parseVersion reads the version at the start of a text like "2.1.197 (Claude
// Code)".
func parseVersion(text string) (version, error) {
	found := versionText.FindStringSubmatch(text)
	if found == nil {
		return version{}, fmt.Errorf("no version in %.60q", text)
	}
	var v version
	for i := range v {
		v[i], _ = strconv.Atoi(found[i+1]) // at most six digits
	}
	return v, nil
}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

// The versions that matter: the oldest one accepted, and the first that is known
// to list its rules and hooks and to take a prompt as composed.
var (
	oldest = version{2, 1, 197}
	lists  = version{2, 1, 329}
)
