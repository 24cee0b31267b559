//go:build !linux

package tty

// Session is not known here.
func Session() (string, error) { return "", ErrNoSession }
