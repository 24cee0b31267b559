package process

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openDir opens one part of the path after the other, none of which may be a link.
// openat2(2) with RESOLVE_NO_SYMLINKS would do it at once, but not before Linux 5.6, nor
// in all containers.
func openDir(path string) (*Dir, error) {
	const how = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if !filepath.IsAbs(path) {
		return nil, os.ErrInvalid
	}
	at, err := unix.Open("/", how, 0)
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(filepath.Clean(path)[1:], "/") {
		if part == "" { // the path is /
			continue
		}
		next, err := unix.Openat(at, part, how, 0)
		unix.Close(at)
		if err != nil {
			return nil, err
		}
		at = next
	}
	return &Dir{path, os.NewFile(uintptr(at), path)}, nil
}
