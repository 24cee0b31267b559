//go:build e2e

package e2e

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// long reports whether the long forms are to run.
func long() bool { return os.Getenv("AW_E2E_LONG") == "1" }

// drawn returns whether row i of a table is tried: all are in the long form, and n that follow
// each other in the short one, from one on that the seed says.
func drawn(seed uint64, i, n, of int) bool {
	return long() || (uint64(i)+seed)%uint64(of) < uint64(n)
}

// seed gives the seed of this run and prints it.
func seed(t testing.TB) uint64 {
	n, err := strconv.ParseUint(os.Getenv("AW_E2E_SEED"), 10, 64)
	if err != nil {
		n = uint64(time.Now().UnixNano())
	}
	t.Logf("AW_E2E_SEED=%d", n)
	return n
}
