// Package workspace answers what the evaluator asks about the file system: where
// a path leads, and whether a path that a rule covers exists below a directory.
// [Env] examines the real file system, [Fake] a table of symbolic links.
package workspace

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// maxLinks is how many symbolic links one path may lead through, as in Linux.
const maxLinks = 40

// reader returns the target of the symbolic link at a clean absolute path, "" if
// there is no link or no file. ok is false if that cannot be determined.
type reader func(path string) (target string, ok bool)

// follow resolves an absolute path segment by segment, as the kernel does: ".."
// is applied after the link before it. Segments that do not exist are kept.
func follow(name string, read reader) (real string, ok bool) {
	if !path.IsAbs(name) || strings.IndexByte(name, 0) >= 0 {
		return "", false
	}
	if path.Clean(name) == name {
		switch plain, ok := linkless(name, read); {
		case !ok:
			return "", false
		case plain:
			return name, true
		}
	}
	at, links := "/", 0
	rest := strings.Split(name, "/")
	for len(rest) > 0 {
		segment := rest[0]
		rest = rest[1:]
		switch segment {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, segment)
		if shifting(next) {
			return "", false
		}
		target, ok := read(next)
		if !ok {
			return "", false
		}
		if target == "" {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		if path.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, true
}

// passes returns the paths that are read to follow one, as far as that goes.
func passes(name string, read reader) []string {
	var all []string
	follow(name, func(at string) (string, bool) {
		all = append(all, at)
		return read(at)
	})
	return all
}

// LinkWithin returns the first symbolic link in some directories, or below, by which an
// absolute path leads, "" if there is none.
func LinkWithin(name string, dirs []string) string {
	for _, at := range passes(name, readlink) {
		inside := func(dir string) bool { return path.Dir(at) == dir || subpath.BelowFold(path.Dir(at), dir) }
		if target, ok := readlink(at); (!ok || target != "") && slices.ContainsFunc(dirs, inside) {
			return at
		}
	}
	return ""
}

// linkless reports whether no part of a clean path is a link. ok is false if that
// cannot be determined.
func linkless(name string, read reader) (plain, ok bool) {
	for at := 1; at < len(name); at++ {
		end := strings.IndexByte(name[at:], '/') + at
		if end < at {
			end = len(name)
		}
		if shifting(name[:end]) {
			return false, false
		}
		if target, ok := read(name[:end]); !ok || target != "" {
			return false, ok
		}
		at = end
	}
	return true, true
}

// shifting reports whether the path means something else in each process:
// /proc/self, /proc/1/root, /dev/fd, /dev/stdin.
func shifting(name string) bool {
	switch name {
	case "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/proc/self", "/proc/thread-self", "/proc/net", "/proc/mounts":
		return true
	}
	rest, ok := strings.CutPrefix(name, "/proc/")
	if !ok {
		return false
	}
	pid, rest, _ := strings.Cut(rest, "/")
	if pid == "" || strings.Trim(pid, "0123456789") != "" {
		return false
	}
	if task, ok := strings.CutPrefix(rest, "task/"); ok {
		_, rest, _ = strings.Cut(task, "/")
	}
	switch rest, _, _ = strings.Cut(rest, "/"); rest {
	case "root", "cwd", "exe", "fd", "map_files", "ns":
		return true
	}
	return false
}
