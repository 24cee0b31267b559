package process

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// Starter returns the nearest process that has started this one, by way of others, and
// whose program is none of those with these names. It is the parent if there is none.
func Starter(besides ...string) int {
	all := Ancestors()
	for _, pid := range all {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if err == nil && !slices.Contains(besides, strings.TrimSpace(string(name))) {
			return pid
		}
	}
	return os.Getppid()
}
