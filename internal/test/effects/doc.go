// Package effects holds a test that runs command lines that the engine allows, with real programs
// in a disposable root, and checks that the rules cover whatever they start or write. The test
// requires root and the build tag oracle:
//
//	go test -tags oracle ./internal/test/effects -run Effects -args -lines 1000 -seed 1
//
// TestWithin does the reverse: it runs lines that are allowed because they run inside the sandbox,
// whatever they do, and checks from outside whether anything got out:
//
//	go test -tags oracle ./internal/test/effects -run Within -args -within 1000 -seed 1
//
// TestUses gives what the catalogue knows something hostile, and runs what is allowed without a
// sandbox:
//
//	go test -tags oracle ./internal/test/effects -run Uses -args -uses 1000 -seed 1
package effects
