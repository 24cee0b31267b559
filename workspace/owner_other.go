//go:build !unix

package workspace

import "io/fs"

// owned reports whether a file belongs to the current user, who has a directory for
// temporary files of his own here.
func owned(fs.FileInfo) bool { return true }
