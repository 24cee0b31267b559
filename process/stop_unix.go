//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package process

// attend does nothing here: package syscall does not tell of a stop without
// reaping. A program that is stopped stays so until its limit.
func (*child) attend() {}
