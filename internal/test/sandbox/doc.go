// Package sandbox tests exec --sandbox as its users have it: with real tools, with kills at
// random moments, and with a clock.
package sandbox
