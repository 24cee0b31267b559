package shell

import (
	"path"
	"strings"
)

// Walk tells which files below a directory a program names: one that prints names or runs
// a command on them, or a search with patterns for files. The zero value is every file.
type Walk struct {
	Depth   int    // the most levels below the directory, or 0 for any number
	Visible bool   // no names that begin with a dot, unless an ignore file shows them
	Kept    bool   // only files that git holds, or that the program itself searches or counts
	only    string // patterns of the last names that are named (path.Match), with a slash behind each
	leaves  string // patterns of the last names that are left out
	slashed bool   // each path is printed with a slash before the last name
}

// stoodFor is the walk of a name below a starting point: the walk from there stands for it.
var stoodFor = Walk{Kept: true}

// Walk tells which files below its path a recursive Read shows, as far as patterns or the
// program that names them tell.
func (a *Action) Walk() Walk {
	if len(a.walk) == 0 {
		return Walk{}
	}
	return a.walk[0]
}

// flat returns the walk for the files of another directory that have the same names.
func (w Walk) flat() Walk {
	w.Depth, w.Kept = 1, false
	return w
}

// Only reports whether patterns for names tell which files are named.
func (w Walk) Only() bool { return w.only != "" }

// Names reports whether the file with a last name may be among those that are named.
func (w Walk) Names(name string) bool {
	return (w.only == "" || hasName(w.only, name, true)) && !hasName(w.leaves, name, false)
}

// Ends reports whether a name with an extension may be among those that are named.
func (w Walk) Ends(ext string) bool {
	for pattern := range strings.SplitSeq(strings.TrimSuffix(w.leaves, "/"), "/") {
		if end, any := strings.CutPrefix(pattern, "*"); any && !strings.ContainsAny(end, `*?[\`) && strings.HasSuffix(ext, end) {
			return false
		}
	}
	for pattern := range strings.SplitSeq(strings.TrimSuffix(w.only, "/"), "/") {
		end := strings.ToLower(pattern[strings.LastIndexAny(pattern, `*?]\`)+1:])
		if strings.HasSuffix(end, ext) || end != pattern && strings.HasSuffix(ext, end) {
			return true
		}
	}
	return w.only == ""
}

// Ending returns the names with one of some extensions that patterns for any extension mean:
// server.key for server.*.
func (w Walk) Ending(extensions []string) []string {
	var names []string
	for pattern := range strings.SplitSeq(strings.TrimSuffix(w.only, "/"), "/") {
		stem, any := strings.CutSuffix(pattern, ".*")
		if !any || stem == "" || strings.ContainsAny(stem, `*?[\`) {
			continue
		}
		for _, ext := range extensions {
			names = append(names, stem+ext)
		}
	}
	return names
}

// hasName reports whether one of the patterns matches a name; unclear says so of one that
// cannot be read.
func hasName(patterns, name string, unclear bool) bool {
	for pattern := range strings.SplitSeq(strings.TrimSuffix(patterns, "/"), "/") {
		matched, err := path.Match(pattern, name)
		if !matched && unclear { // find -iname
			matched, _ = path.Match(strings.ToLower(pattern), strings.ToLower(name))
		}
		if matched || err != nil && unclear {
			return true
		}
	}
	return false
}
