// Package install puts the hook of agent-wrapper into the configuration of the agents
// that a person runs in windows of their own, and takes it out again.
//
// The configuration belongs to the person. What is there is kept byte for byte:
// comments, order, formatting, hooks of others. A file is replaced as a whole or not at
// all, through symbolic links, with its mode. Before it is, its text is kept in the
// state directory, and [Machine.Remove] puts exactly that back if nobody has changed the
// file since; otherwise it takes out what is ours and leaves the rest.
//
// Planning reads, [Plan.Apply] writes: between the two a person sees the difference.
//
// Most hosts let a tool run when its hook is missing, crashes or takes too long. There
// the command of the hook is a guarded line of shell that ends with exit code 2, which
// denies, whatever becomes of agent-wrapper. What no configuration of this scope can
// close is listed in one table, doors.go, and [Machine.Status] names it.
//
// What is known of the hosts was measured, with the versions that docs/hosts.md lists.
package install
