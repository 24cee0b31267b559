package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// bindFiles reads the whitelists that bind commands: those that the policy names,
// and usual as far as they exist. One that cannot be read denies every command and is
// among the errors.
func (r *Rules) bindFiles(usual ...string) (unusable []error) {
	for _, file := range r.WhitelistFiles(usual...) {
		r.Guard(file)
		list, err := whitelist.Read(file)
		if err != nil {
			r.gates = append(r.gates, whitelist.Unusable{Err: err})
			unusable = append(unusable, fmt.Errorf("no command may run because the whitelist cannot be used: %w%s", err, r.NamedIn(file)))
			continue
		}
		r.Bind(list)
	}
	return unusable
}

// Bind adds a whitelist that commands must be on. It must be called before Open.
func (r *Rules) Bind(list *whitelist.List) {
	r.lists = append(r.lists, list)
	r.gates = append(r.gates, r.Validator(list))
}

// Lift removes all whitelists. It must be called before Open.
func (r *Rules) Lift() { r.gates = nil }

// Validator returns a validator of commands against a list.
func (r *Rules) Validator(list *whitelist.List) *whitelist.Validator {
	return &whitelist.Validator{List: list, Look: r.look}
}

// Whitelists returns the lists that were bound, including those that Lift
// removed.
func (r *Rules) Whitelists() []*whitelist.List { return r.lists }

// Forbid returns the strictest refusal of the whitelists about a command line.
func (r *Rules) Forbid(line string, facts *shell.Facts) permission.Refusal {
	return r.gates.Forbid(line, facts)
}

// WhitelistFiles returns the absolute paths of the whitelists that bind: those
// that the policy names, and usual as far as they exist.
func (r *Rules) WhitelistFiles(usual ...string) []string {
	var files []string
	for _, item := range r.Spec.Whitelists {
		if file := WhitelistFile(item); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	for _, file := range usual {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// NamedIn returns a phrase for a message that says which policy names a
// whitelist file, "" if none does.
func (r *Rules) NamedIn(file string) string {
	for _, item := range r.Spec.Whitelists {
		if WhitelistFile(item) == file {
			return ", which is named in " + item.Source.String()
		}
	}
	return ""
}

// UsualWhitelists returns the default paths of whitelists that no policy needs to
// name, the workspace's first: they are found upwards as policies are (see
// policy.Upward). None if the engine is isolated. ignored says which of them exist
// and do not bind: those of another user and, since nobody trusts a whitelist, those
// beyond a repository in whose directory no policy is trusted.
func (r *Rules) UsualWhitelists() (files, ignored []string) {
	if r.options.Isolated {
		return nil, nil
	}
	trusted := r.trustedDirs()
	above := policy.Upward(r.Place.Workspace, r.Place.Roots...)
	for _, up := range append([]policy.Above{{Dir: r.Place.Workspace}}, above...) {
		file := filepath.Join(up.Dir, whitelist.FileName)
		_, err := os.Lstat(file)
		foreign := policy.Foreign(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case foreign != nil:
			ignored = append(ignored, foreign.Error())
		case up.Beyond && !slices.Contains(trusted, up.Dir):
			ignored = append(ignored, fmt.Sprintf("%s has no effect: it is above the repository, where no policy is trusted: name it in a policy that you trust", file))
		default:
			files = append(files, file)
		}
	}
	return files, ignored
}

// WhitelistFile returns the absolute path of a whitelist that a policy names,
// which is relative to the policy's file.
func WhitelistFile(item policy.Item) string {
	if filepath.IsAbs(item.Text) {
		return filepath.Clean(item.Text)
	}
	return absolute(filepath.Join(filepath.Dir(item.Source.Name), item.Text))
}

// dryRun reports whether any of the whitelists is a dry run.
func (r *Rules) dryRun() bool {
	return slices.ContainsFunc(r.lists, func(l *whitelist.List) bool { return l.Policy().DryRunMode })
}

// threshold returns the lowest threshold of the whitelists.
func (r *Rules) threshold() int {
	lowest := math.MaxInt
	for _, list := range r.lists {
		lowest = min(lowest, list.Policy().HallucinationThreshold)
	}
	return lowest
}
