//go:build !linux

package tty

// Session is not known here.
func Session() (id string, ok bool) { return "", false }
