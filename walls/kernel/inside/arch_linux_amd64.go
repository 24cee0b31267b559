package inside

import "golang.org/x/sys/unix"

// arch is the architecture of the system calls that the filter is for. Their numbers are
// below those of the other ABI of the machine, x32.
const (
	arch     = unix.AUDIT_ARCH_X86_64
	otherABI = 0x40000000
)
