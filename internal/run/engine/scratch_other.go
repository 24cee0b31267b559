//go:build !unix

package engine

import "io/fs"

// owned reports whether a file belongs to the current user, which is not known here.
func owned(fs.FileInfo) bool { return false }

// unshared reports whether nobody else can replace what is in a directory: each user
// has his own directory for temporary files here.
func unshared(fs.FileInfo) bool { return true }
