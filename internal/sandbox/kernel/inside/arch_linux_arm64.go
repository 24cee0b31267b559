package inside

import "golang.org/x/sys/unix"

// arch is the architecture of the system calls that the filter is for.
const arch = unix.AUDIT_ARCH_AARCH64
