//go:build !unix

package client

import "io/fs"

// shared reports whether others may read a file, which its mode does not tell here.
func shared(fs.FileInfo) bool { return false }
