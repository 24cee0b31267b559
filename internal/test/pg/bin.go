// Package pg runs a PostgreSQL of its own for tests: Debian's programs, a private
// directory, a loopback port that was free, and a password. Nothing of the machine's
// own clusters is used or changed. It is for tests only.
//
//	server, err := pg.Start()
//	defer server.Close()
//	url := server.Database(t)
//	server.Restart(t, pg.Crash)
//
// The files are not synced to disk: a crash is that of PostgreSQL, not of the machine.
package pg

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Bin returns the directory of the programs of the newest PostgreSQL of Debian, ""
// if there is none.
func Bin() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(found[len(found)-1])
}
