// Package serve kills agent-wrapper serve at random moments, with agents and people at
// work, and judges what is left.
//
//	go test -tags serve,postgres ./internal/test/serve -args -kills 200 -seed 1
//
// It is for tests only.
package serve
