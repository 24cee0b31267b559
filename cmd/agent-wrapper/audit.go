package main

import (
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
)

// auditFlags are the flags about the audit log.
type auditFlags struct{ file, sync string }

func (f *auditFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "audit", "", "write every decision to this `file` (default: agent-wrapper/audit.jsonl in the state directory)")
	flags.StringVar(&f.sync, "audit-sync", audit.SyncNames()[0], "wait until decisions are on the disk, `group|each|none`: those that come "+
		"together share the wait, each waits alone, or none waits")
}

// into sets the options about the record.
func (f *auditFlags) into(o *engine.Options) error {
	sync, err := audit.ParseSync(f.sync)
	if err != nil {
		return usage("--audit-sync: %w", err)
	}
	o.Record, o.Sync = f.file, sync
	return nil
}
