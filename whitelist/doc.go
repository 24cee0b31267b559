// Package whitelist holds commands against a list of those that may run, tells
// which were made up, counts these per agent and plan, and pauses an agent that
// makes up too many (seed 2). It is a further gate: what it lets through is
// still decided by package permission, which asks it as its Ceiling.
package whitelist
