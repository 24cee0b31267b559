package inside

import "golang.org/x/sys/unix"

// arch is the architecture of the system calls that the filter is for. The machine has
// no other ABI with numbers of its own.
const (
	arch     = unix.AUDIT_ARCH_AARCH64
	otherABI = 1 << 31
)
