//go:build !race

package audit

// sampled is which part of the bytes are changed.
const sampled = 8
