package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// errNotKept is the error of Keep if the engine would not read a policy that the
// rule could be written to.
var errNotKept = errors.New("no policy that is read could contain it")

// Keeps reports whether Keep can write rules.
func (r *Rules) Keeps() bool { return !r.options.Isolated }

// Keep writes an approved rule to a policy file: to the local policy of the nearest
// directory, from the workspace upwards, that has a policy which a person has
// trusted. Without one it is the workspace's, if that is trusted or does not exist
// yet, and otherwise the user's. A rule with relative paths, which would mean
// something else above, is not written there. Keep returns the rule's place in the
// file. The rules in memory do not change; see Session.
func (r *Rules) Keep(rule string) (patterns.Source, error) {
	if !r.Keeps() {
		return patterns.Source{}, errNotKept
	}
	dirs := r.options.dirs()
	for _, local := range r.locals(rule) {
		place, kept, err := dirs.keepLocal(rule, local)
		if kept || err != nil {
			return place, err
		}
	}
	return dirs.keepUser(rule)
}

// KeepsIn returns the file that Keep would write a rule to now, as a person would name
// it: from the workspace, or with ~ for the home directory. It is "" if there is none.
func (r *Rules) KeepsIn(rule string) string {
	if !r.Keeps() {
		return ""
	}
	dirs := r.options.dirs()
	for _, local := range r.locals(rule) {
		if dirs.keepsLocal(local) {
			return r.named(local)
		}
	}
	if dirs.User == "" {
		return ""
	}
	return r.named(filepath.Join(dirs.User, policy.FileName))
}

// named returns a path as a person would name it.
func (r *Rules) named(path string) string {
	if name, ok := subpath.Below(path, r.Place.Workspace); ok {
		return name
	}
	if name, ok := subpath.Below(path, r.Place.Home); ok && r.Place.Home != "" {
		return "~/" + name
	}
	return path
}

// locals returns the local policies that may hold a rule, the first choice first.
func (r *Rules) locals(rule string) []string {
	var all []string
	for _, dir := range r.trustedDirs() {
		if dir != r.Place.Workspace && r.relative(rule) {
			break
		}
		all = append(all, filepath.Join(dir, policy.LocalName))
	}
	if r.options.Policy == "" {
		all = append(all, filepath.Join(r.Place.Workspace, policy.LocalName))
	}
	return all
}

// trustedDirs returns the directories whose project or local policy a person has
// trusted, the nearest first.
func (r *Rules) trustedDirs() []string {
	dirs := []string{r.Place.Workspace}
	for _, up := range policy.Upward(r.Place.Workspace) {
		dirs = append(dirs, up.Dir)
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return !slices.ContainsFunc(r.Sources, func(src policy.Source) bool {
			return src.Trusted && len(src.Spec.Show()) > 0 && (src.Kind == policy.Project || src.Kind == policy.Local) &&
				r.dirOf(src) == dir
		})
	})
}

// dirOf returns the directory of a source that was found. The workspace's may have a
// name that is relative to it.
func (r *Rules) dirOf(src policy.Source) string {
	if filepath.IsAbs(src.Name) {
		return filepath.Dir(src.Name)
	}
	return r.Place.Workspace
}

// relative reports whether a rule would mean something else in the file of another
// directory.
func (r *Rules) relative(rule string) bool {
	parsed, _, err := r.Spec.ParseRule(rule, patterns.Allow, patterns.Source{})
	return err != nil || parsed.Relative()
}

// approvedKey is the list of a policy file that Keep adds to.
const approvedKey = "approved"

// keepUser adds a rule to the user's policy.
func (d Dirs) keepUser(rule string) (patterns.Source, error) {
	if d.User == "" {
		return patterns.Source{}, errors.New("there is no home directory to keep a policy in")
	}
	if err := os.MkdirAll(d.User, 0o700); err != nil {
		return patterns.Source{}, err
	}
	return policy.AddRule(filepath.Join(d.User, policy.FileName), approvedKey, rule)
}

// keepsLocal reports whether keepLocal would keep a rule in a file.
func (d Dirs) keepsLocal(path string) bool {
	trust, err := d.Trust()
	if err != nil {
		return false
	}
	_, ok := trusted(trust, path)
	return ok
}

// keepLocal adds a rule to a local policy that does not exist or is trusted in
// its current state, and trusts the result. kept is false if the policy is not
// trusted.
func (d Dirs) keepLocal(rule, path string) (place patterns.Source, kept bool, err error) {
	trust, err := d.Trust()
	if err != nil {
		return place, false, nil // nothing is trusted
	}
	before, ok := trusted(trust, path)
	if !ok {
		return place, false, nil
	}
	if place, err = policy.AddRule(path, approvedKey, rule); err != nil {
		return place, false, err
	}
	real, err := policy.RealPath(path)
	if err != nil {
		return place, false, err
	}
	settings, err := policy.ReadFile(path)
	switch {
	case err != nil:
	case !grownBy(rule, before, settings):
		err = errors.New("another process changed it at the same time")
	default:
		err = trust.Set(real, settings)
	}
	if err != nil {
		return place, false, fmt.Errorf("it was written to %s, which is not trusted: %w", place, err)
	}
	return place, true, nil
}

// trusted returns the settings of a file if they are trusted in their current
// state; those of a missing file are empty.
func trusted(trust *policy.Trust, path string) (*policy.Spec, bool) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return &policy.Spec{}, true
	}
	settings, err := policy.ReadFile(path)
	if err != nil {
		return nil, false
	}
	covered, err := trust.Covers(path, settings)
	return settings, covered && err == nil
}

// grownBy reports whether settings are those of before with at most the approved
// rule added.
func grownBy(rule string, before, settings *policy.Spec) bool {
	parsed, _, err := settings.ParseRule(rule, patterns.Allow, patterns.Source{})
	if err != nil {
		return false
	}
	more := *before
	more.Approved = append(slices.Clip(more.Approved), policy.Item{Text: parsed.String()})
	now := settings.Digest()
	return now == before.Digest() || now == more.Digest() // before may have had the rule
}
