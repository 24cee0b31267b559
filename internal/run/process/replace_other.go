//go:build !unix

package process

import "errors"

// Replace is not possible here.
func Replace(string, []string, []byte, string) error { return errors.ErrUnsupported }
