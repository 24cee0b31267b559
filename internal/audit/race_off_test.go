//go:build !race

package audit

// sampled is the interval of the bytes that are changed.
const sampled = 8
