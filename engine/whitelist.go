package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/shell"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
)

// bindFiles reads the whitelists that bind commands: those that the policy
// names, and usual if it is there, "" for none. One that cannot be read lets no
// command pass, and is among the errors.
func (r *Rules) bindFiles(usual string) (unusable []error) {
	for _, file := range r.WhitelistFiles(usual) {
		r.Guard(file)
		list, err := whitelist.Read(file)
		if err != nil {
			r.gates = append(r.gates, whitelist.Unusable{Err: err})
			unusable = append(unusable, fmt.Errorf("no command may run, since its whitelist cannot be used: %w%s", err, r.NamedIn(file)))
			continue
		}
		r.Bind(list, false)
	}
	return unusable
}

// Bind has a whitelist bind commands; argv says that they run without a shell.
func (r *Rules) Bind(list *whitelist.List, argv bool) {
	r.lists = append(r.lists, list)
	r.gates = append(r.gates, r.Validator(list, argv))
}

// Lift takes away all whitelists that bind.
func (r *Rules) Lift() { r.gates = nil }

// Validator holds commands against a list; argv says that they run without a
// shell.
func (r *Rules) Validator(list *whitelist.List, argv bool) *whitelist.Validator {
	return &whitelist.Validator{List: list, Argv: argv, Look: r.look}
}

// Whitelists are the lists that bind, also those that were lifted.
func (r *Rules) Whitelists() []*whitelist.List { return r.lists }

// Forbid is what the whitelists have against a command line.
func (r *Rules) Forbid(line string, facts *shell.Facts) permission.Refusal {
	return r.gates.Forbid(line, facts)
}

// WhitelistFiles are the files of the whitelists that bind, absolute: those that
// the policy names, and usual if something is there.
func (r *Rules) WhitelistFiles(usual string) []string {
	var files []string
	for _, item := range r.Spec.Whitelists {
		if file := WhitelistFile(item); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	if usual == "" || slices.Contains(files, usual) {
		return files
	}
	if _, err := os.Lstat(usual); !errors.Is(err, fs.ErrNotExist) {
		files = append(files, usual)
	}
	return files
}

// NamedIn says for a message which policy names a whitelist, "" if none does.
func (r *Rules) NamedIn(file string) string {
	for _, item := range r.Spec.Whitelists {
		if WhitelistFile(item) == file {
			return ", which is named in " + item.Source.String()
		}
	}
	return ""
}

// UsualWhitelist is where a whitelist lies that no policy names, "" if none such
// counts.
func (r *Rules) UsualWhitelist() string {
	if r.options.Isolated {
		return ""
	}
	return filepath.Join(r.Place.Workspace, whitelist.FileName)
}

// WhitelistFile is the file of a whitelist that a policy names: relative to the
// policy's own, and absolute.
func WhitelistFile(item policy.Item) string {
	if filepath.IsAbs(item.Text) {
		return filepath.Clean(item.Text)
	}
	return absolute(filepath.Join(filepath.Dir(item.Source.Name), item.Text))
}

// dryRun reports whether one of the whitelists is a dry run.
func (r *Rules) dryRun() bool {
	return slices.ContainsFunc(r.lists, func(l *whitelist.List) bool { return l.Policy().DryRunMode })
}

// threshold is the lowest of those that the whitelists have.
func (r *Rules) threshold() int {
	lowest := math.MaxInt
	for _, list := range r.lists {
		lowest = min(lowest, list.Policy().HallucinationThreshold)
	}
	return lowest
}
