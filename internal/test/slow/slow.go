// Package slow marks tests that go test -short leaves out.
package slow

import "testing"

// Test marks a test that takes seconds, or that starts and kills many programs.
// With -short it ends here.
func Test(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a slow test, left out with -short")
	}
}
