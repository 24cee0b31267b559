// Package effects holds a test: command lines that the engine allows are run
// with real programs in a throw-away root, and whatever they started or wrote
// must be covered by the rules. The test needs root and the build tag oracle:
//
//	go test -tags oracle ./internal/test/effects -run Effects -args -lines 1000 -seed 1
package effects
