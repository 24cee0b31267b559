package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkPlan makes the plan of the sandbox for one command after the other, in a
// workspace of a few names and in one with the modules of a larger project.
func BenchmarkPlan(b *testing.B) {
	for _, size := range []int{0, 1000} {
		b.Run(fmt.Sprintf("directories=%d", size), func(b *testing.B) {
			dir := b.TempDir()
			for i := range size {
				at := filepath.Join(dir, "node_modules", fmt.Sprint(i))
				if err := os.MkdirAll(at, 0o700); err != nil {
					b.Fatal(err)
				}
				for j := range 40 {
					if err := os.WriteFile(filepath.Join(at, fmt.Sprint(j, ".js")), nil, 0o600); err != nil {
						b.Fatal(err)
					}
				}
			}
			r, err := Load(Options{Dir: dir, Dirs: &Dirs{State: b.TempDir()}, Isolated: true, Unbound: true, NoRecord: true})
			if err != nil {
				b.Fatal(err)
			}
			// What was changed less than three seconds ago is looked at again each time.
			for began := time.Now(); time.Since(began) < 4*time.Second; {
				if _, err := r.Sandbox(dir); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := r.Sandbox(dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
