//go:build !unix

package sqlite

import "os"

const hasModes = false

func share(path string) (*os.File, error) { return os.Open(os.DevNull) }
