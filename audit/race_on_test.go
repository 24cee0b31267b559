//go:build race

package audit

// sampled is which part of the bytes are changed: the race detector slows each
// change down, and there is nothing in them for it to find.
const sampled = 97
