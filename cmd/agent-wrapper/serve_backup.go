package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// errNotAFile is the error for a backup of a store that is none of ours to copy.
var errNotAFile = errors.New("--store is a database: use pg_dump and pg_restore for that")

func (a *app) serveBackupCommand() *cobra.Command {
	f := &storeFlags{}
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the service's store to a new file, even while it runs",
		Long: `The backup holds the store as it is at one moment: approvals, sessions,
commands, chat, tokens (not their secrets), remembered approvals and copies of
audit logs. Only its owner can read it.`,
		Example: `  agent-wrapper serve backup ~/agent-wrapper-2026-11-23.db`,
		Args:    usageArgs(exactly(1, "the backup's file")),
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
		Short: "Replace the service's store by a backup",
		Long: `Stop the service first. restore checks the backup, and keeps the present store
beside it under another name.

An approval that was unused when the backup was made may have been used since,
so it is abandoned. Tokens that you revoked since are valid again: revoke them
once more.`,
		Example: `  agent-wrapper serve restore ~/agent-wrapper-2026-11-23.db`,
		Args:    usageArgs(exactly(1, "the backup's file")),
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
	_, err = fmt.Fprintf(a.err, "The previous store is kept as %s.\n", visible.Line(before))
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
