package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/store/sqlite"
)

// errNotAFile is the error for a backup of a store that is none of ours to copy.
var errNotAFile = errors.New("--store: a database is backed up and restored by its own programs, pg_dump and pg_restore")

func (a *app) serveBackupCommand() *cobra.Command {
	f := &storeFlags{}
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write what the service stores to a new file, also while it runs",
		Long: `The file has the store as it is at one moment: approvals, sessions, commands,
chat, credentials (not their secrets), remembered approvals and copies of
records. Only its owner may read it.`,
		Example: `  agent-wrapper serve backup ~/agent-wrapper-2026-11-23.db`,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.serveBackup(cmd.Context(), f, args[0]) },
	}
	f.add(cmd.Flags())
	return cmd
}

func (a *app) serveBackup(ctx context.Context, f *storeFlags, to string) error {
	path, err := f.file()
	if err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(s.Backup(ctx, absolute(to)), s.Close())
}

func (a *app) serveRestoreCommand() *cobra.Command {
	f := &storeFlags{}
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of what the service stores",
		Long: `The service must not run. The backup is checked first, and the store that was
there stays beside it under another name.

What was approved when the backup was made, and not used yet, may have been used
since: it is abandoned. Credentials that were revoked since count again; revoke
them once more.`,
		Example: `  agent-wrapper serve restore ~/agent-wrapper-2026-11-23.db`,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.serveRestore(cmd.Context(), f, args[0]) },
	}
	f.add(cmd.Flags())
	return cmd
}

func (a *app) serveRestore(ctx context.Context, f *storeFlags, from string) error {
	path, err := f.file()
	if err != nil {
		return err
	}
	before, err := sqlite.Restore(ctx, absolute(from), path)
	if err != nil || before == "" {
		return err
	}
	_, err = fmt.Fprintf(a.err, "agent-wrapper: the store that was there is %s\n", visible.Line(before))
	return err
}

// file returns the path of the store.
func (f *storeFlags) file() (string, error) {
	if f.url != "" {
		return "", usage("%w", errNotAFile)
	}
	dir, err := f.dir()
	return filepath.Join(dir, storeFile), err
}
