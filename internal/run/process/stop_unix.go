//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package process

// attend does nothing: package syscall cannot report a stop without reaping. A
// program that is stopped stays stopped until its limit.
func (*child) attend() {}

// stop does nothing, as attend.
func (*child) stop() {}
