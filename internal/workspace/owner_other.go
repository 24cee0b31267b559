//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

// owned reports whether a file belongs to the current user, which is not known here: what
// depends on it is not proven.
func owned(fs.FileInfo) bool { return false }

// there is os.Stat where only the error counts.
func there(name string) error {
	_, err := os.Stat(name)
	return err
}

// names is 1: how many names a file has is not looked at here.
func names(os.FileInfo) int { return 1 }

// Identity is "": by what a file is known is not looked at here.
func Identity(string) string { return "" }

// open opens a file or a directory to read.
func open(name string, _ bool) (*os.File, error) { return os.Open(name) }
