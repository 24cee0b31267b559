//go:build !race

package audit

// sampled: one byte in so many is changed.
const sampled = 8
