//go:build !linux

package process

import "os"

// Ancestors returns the processes that have started this one, as far as the system
// tells: the parent.
func Ancestors() []int { return []int{os.Getppid()} }
