package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// maxIgnore is the maximum size of a .gitignore that is read.
const maxIgnore = 1 << 20

// Ignored reports whether the files .gitignore of a repository ignore the directory
// at a clean absolute path, or one above it (gitignore(5)). Of their patterns those
// with "**" are understood only at the beginning; another one ignores nothing, and if
// it is negated, nothing is ignored. No other file that git looks at is read.
func (Env) Ignored(dir string) bool {
	root := repositoryOf(path.Dir(dir))
	if root == "" {
		return false
	}
	names := strings.Split(strings.TrimPrefix(dir, strings.TrimSuffix(root, "/")+"/"), "/")
	var ignore ignorer
	at := root
	for _, name := range names {
		if !ignore.read(at) {
			return false
		}
		at = path.Join(at, name)
		if ignore.matches(at) {
			return true
		}
	}
	return false
}

// repositoryOf returns the top of the repository that a directory lies in, "" if there
// is none.
func repositoryOf(dir string) string {
	for ; ; dir = path.Dir(dir) {
		if _, err := os.Lstat(path.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == "/" || dir == "." {
			return ""
		}
	}
}

// ignorer holds the patterns of the files .gitignore from the top down.
type ignorer struct{ rules []ignoreRule }

// ignoreRule is one pattern.
type ignoreRule struct {
	dir      string // of its file
	pattern  string
	anchored bool // it is matched with the path below dir, not with a name
	keeps    bool // it is negated
}

// read adds the patterns of a directory. It is false if one of them may keep what
// others ignore, but is not understood.
func (g *ignorer) read(dir string) bool {
	name := path.Join(dir, ".gitignore")
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() { // git follows no link here
		return errors.Is(err, fs.ErrNotExist)
	}
	data, err := readRegular(name, maxIgnore)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		rule, ok := parseIgnore(dir, strings.TrimRight(line, "\r\n"))
		switch {
		case ok:
			g.rules = append(g.rules, rule)
		case rule.keeps:
			return false
		}
	}
	return true
}

// parseIgnore parses a line; ok is false if it holds no pattern that is understood.
func parseIgnore(dir, line string) (rule ignoreRule, ok bool) {
	line = strings.TrimRight(line, " ")
	line, rule.keeps = strings.CutPrefix(line, "!")
	if line == "" || line[0] == '#' {
		rule.keeps = false
		return rule, false
	}
	line = strings.TrimSuffix(line, "/")
	line, anywhere := strings.CutPrefix(line, "**/")
	rule.dir, rule.anchored, rule.pattern = dir, strings.Contains(line, "/"), strings.TrimPrefix(line, "/")
	if anywhere && rule.anchored || rule.pattern == "" || strings.Contains(line, "**") || strings.ContainsAny(line, "\\") || strings.Contains(line, "[!") {
		return rule, false
	}
	_, err := path.Match(rule.pattern, "")
	return rule, err == nil
}

// matches reports whether the last pattern that matches a path ignores it.
func (g *ignorer) matches(name string) bool {
	ignored := false
	for i := range g.rules {
		rule := &g.rules[i]
		text := path.Base(name)
		if rule.anchored {
			text = strings.TrimPrefix(name, strings.TrimSuffix(rule.dir, "/")+"/")
		}
		if found, err := path.Match(rule.pattern, text); err == nil && found {
			ignored = !rule.keeps
		}
	}
	return ignored
}
