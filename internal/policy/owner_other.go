//go:build !unix

package policy

import "io/fs"

// owner returns the user that owns a file, which is not known here.
func owner(fs.FileInfo) (uid uint32, ok bool) { return 0, false }

func isOurs(uint32) bool { return true }
