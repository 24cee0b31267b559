//go:build !linux

package tty

// Session is not supported on this system.
func Session() (id string, ok bool) { return "", false }
