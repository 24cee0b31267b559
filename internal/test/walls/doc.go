// Package walls tests exec --walls as its users have it: with real tools, with kills at
// random moments, and with a clock.
package walls
