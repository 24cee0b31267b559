//go:build race

package audit

// sampled is the interval of the bytes that are changed. The race detector is
// slow, and has nothing to find here.
const sampled = 97
