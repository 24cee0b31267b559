package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
)

func (a *app) trustCommand() *cobra.Command {
	var rules policyFlags
	var list, yes bool
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "trust [FILE] | trust --list",
		Short: "Trust the permission settings in a policy or chat file",
		Long: `trust shows the permission settings of a file, asks, and records that you trust
exactly these. Of a file that you trusted before, it shows what has changed.
Without a terminal it trusts only with --yes. What an agent starts is refused.

FILE is an agent-wrapper.toml or agent-wrapper.local.toml of a workspace, or the
front matter of a chat file. Without FILE it takes the one policy of the
workspace, or above it, that is not trusted yet. Until then such a file can only
restrict: its deny and ask rules count, its allow list is one more gate, and
whatever would allow more is ignored.

FILE may also be one that names hosts for a package manager: .npmrc,
.cargo/config.toml, pyproject.toml, a file of requirements. Commands that ask
these hosts are then covered by the usual rules.

Trust covers the settings, not the file: a chat may go on and comments may
change, but changed settings must be trusted again. The list is in
agent-wrapper/trust.json in the state directory.`,
		Example: `  agent-wrapper trust
  agent-wrapper trust chat.md
  agent-wrapper trust --list`,
		Args: func(cmd *cobra.Command, args []string) error {
			if list {
				return none("")(cmd, args)
			}
			if len(args) == 0 {
				return nil
			}
			return exactly(1, "one file, or --list")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			trust, err := ownTrust()
			switch {
			case err != nil:
				return err
			case list:
				return a.listTrusted(trust, form)
			}
			if len(args) == 0 {
				path, err := rules.untrusted(trust)
				if err != nil {
					return err
				}
				args = []string{path}
			}
			return a.trust(cmd.Context(), &trusting{rules: &rules, list: trust, yes: yes, json: form}, args[0])
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the trusted files")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "trust the settings without asking")
	form = a.addJSON(cmd, jsonOnce)
	cmd.Flags().StringVar(&rules.cwd, "cwd", "", "the workspace `directory` (default: here)")
	return cmd
}

func (a *app) untrustCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "untrust FILE",
		Short:   "Stop trusting a file's permission settings",
		Example: "  agent-wrapper untrust agent-wrapper.toml",
		Args:    exactly(1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			trust, err := ownTrust()
			if err != nil {
				return err
			}
			path := absolute(args[0])
			if real, err := policy.RealPath(path); err == nil {
				path = real
			}
			was, err := trust.Remove(path)
			switch {
			case err != nil:
				return notKept(err)
			case !was:
				return usage("%s is not trusted: run agent-wrapper trust --list to see what is", args[0])
			}
			fmt.Fprintf(a.out, "%s is no longer trusted.\n", visible.Line(args[0]))
			return nil
		},
	}
}

// notKept returns the error that the list of trusted files cannot be written,
// with what to do if it is a file or directory that is in the way.
func notKept(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%w: set XDG_STATE_HOME to a directory that you can write to", err)
	}
	return err
}

// ownTrust returns the user's list of trusted files.
func ownTrust() (*policy.Trust, error) {
	trust, err := userDirs().Trust()
	return trust, opening(err)
}

// trustedJSON is the output of trust --list --json.
type trustedJSON struct {
	envelope
	Files []policy.Trusted `json:"files"`
}

func (a *app) listTrusted(trust *policy.Trust, form *jsonForm) error {
	if form.on {
		return form.put(&trustedJSON{Files: orNone(trust.List())})
	}
	for _, f := range trust.List() {
		fmt.Fprintf(a.out, "%s  %s\n", visible.Line(f.Path), f.Digest)
	}
	return nil
}

// untrusted returns the one policy of the workspace, or above it, that is not
// trusted.
func (p *policyFlags) untrusted(trust *policy.Trust) (string, error) {
	o := &engine.Options{Dir: p.cwd}
	place, err := o.Place()
	if err != nil {
		return "", opening(err)
	}
	files, err := o.PolicyFiles()
	if err != nil {
		return "", opening(err)
	}
	var found []string
	for _, f := range files {
		src, err := f.Read(trust, place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", unread(f.Path, err)
		case !src.Trusted:
			found = append(found, f.Path)
		}
	}
	switch len(found) {
	case 0:
		return "", usage("there is nothing to trust: no policy of this workspace waits for it; write one with agent-wrapper init")
	case 1:
		return found[0], nil
	}
	return "", usage("more than one policy is not trusted: %s: look at each, then name it", strings.Join(found, ", "))
}

// trusting is what trust is asked for.
type trusting struct {
	rules *policyFlags
	list  *policy.Trust
	yes   bool
	json  *jsonForm
}

// trustJSON is the output of trust --json about a file.
type trustJSON struct {
	envelope
	File     string         `json:"file"`
	Already  bool           `json:"already"` // it was trusted with exactly these settings
	Settings []policy.Shown `json:"settings"`
	Before   []string       `json:"before,omitempty"` // the settings that were trusted last
}

// trust shows the settings of a file, asks, and trusts them.
func (a *app) trust(ctx context.Context, t *trusting, path string) error {
	if lines, is, err := workspace.FileHosts(absolute(path)); is && (err != nil || len(lines) > 0) {
		if err != nil {
			return unread(path, err)
		}
		return a.trustHosts(ctx, t, path, lines)
	}
	place, err := (&engine.Options{Dir: t.rules.cwd}).Place()
	if err != nil {
		return opening(err)
	}
	src, err := policy.File{Kind: kindOf(path), Path: path}.Read(nil, place)
	if err != nil {
		return unread(path, err)
	}
	if src.Trusted {
		return usage("%s has no permission settings, so there is nothing to trust: name another file", path)
	}
	real, err := policy.RealPath(path)
	if err != nil {
		return usage("%w", err)
	}
	known, err := t.list.Covers(path, src.Spec)
	if err != nil {
		return err
	}
	before := t.list.Settings(real)
	return a.trustLines(ctx, t, &trustJSON{File: real, Already: known, Settings: src.Spec.Show(), Before: before}, path, src.Spec.Lines(), func() error {
		return t.list.Set(real, src.Spec)
	})
}

// trustHosts shows what a file of a package manager names, asks, and trusts it.
func (a *app) trustHosts(ctx context.Context, t *trusting, path string, lines []string) error {
	real, err := policy.RealPath(path)
	if err != nil {
		return usage("%w", err)
	}
	said := &trustJSON{File: real, Already: t.list.CoversHosts(real, lines), Before: t.list.Settings(real)}
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = visible.Line(line)
		key, text, _ := strings.Cut(shown[i], " ")
		said.Settings = append(said.Settings, policy.Shown{Key: key, Text: text})
	}
	return a.trustLines(ctx, t, said, path, shown, func() error { return t.list.SetHosts(real, lines) })
}

// trustLines shows settings, a line each, unless they are trusted already, asks, and has
// them kept.
func (a *app) trustLines(ctx context.Context, t *trusting, said *trustJSON, path string, lines []string, keep func() error) error {
	if !said.Already {
		if !t.json.on {
			a.showTrusted(lines, said.Before)
		}
		if err := a.agreeToTrust(ctx, t, keep); err != nil {
			return err
		}
	}
	switch {
	case t.json.on:
		return t.json.put(said)
	case said.Already:
		fmt.Fprintf(a.out, "You already trust %s with exactly these settings.\n", visible.Line(path))
	default:
		fmt.Fprintf(a.out, "\nYou trust %s with exactly these settings.\n", visible.Line(path))
	}
	return nil
}

// agreeToTrust asks, and has settings kept.
func (a *app) agreeToTrust(ctx context.Context, t *trusting, keep func() error) error {
	if err := onlyPerson("trust settings"); err != nil {
		return notKept(err)
	}
	if t.json.on && !t.yes {
		return usage("it is not trusted: --json shows no question; look at the settings without --json, then add --yes")
	}
	if err := a.consent(ctx, t.yes, "\nDo you trust exactly these settings? [y/N] ", "it is not trusted"); err != nil {
		return err
	}
	if err := keep(); err != nil {
		return notKept(err)
	}
	return nil
}

// showTrusted shows settings, a line each, so that no text can pass for another setting;
// if others were trusted before, what differs from these.
func (a *app) showTrusted(now, before []string) {
	if before == nil {
		fmt.Fprintln(a.out, strings.Join(now, "\n"))
		return
	}
	fmt.Fprintln(a.out, "What has changed since you trusted it:")
	fmt.Fprintln(a.out, strings.TrimRight(display.Unified(strings.Join(before, "\n")+"\n", strings.Join(now, "\n")+"\n"), "\n"))
}

// kindOf returns the kind of policy in a file, by its name.
func kindOf(path string) policy.Kind {
	switch {
	case filepath.Base(path) == policy.LocalName:
		return policy.Local
	case strings.EqualFold(filepath.Ext(path), ".toml"):
		return policy.Project
	}
	return policy.FrontMatter
}
