package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// Programs finds programs on PATH, to tell those that a command may have put there.
type Programs struct {
	Path    string   // the value of PATH
	Written []string // the directories in which commands can write
}

// maxInterpreters is how many interpreters may follow one another: that of a script may be
// a script (execve(2)).
const maxInterpreters = 5

// Planted reports whether what starts under a name, or at a path, may be a file that
// commands have written, or by way of a link that they have. What cannot be told is. A
// script counts with its interpreter.
func (p Programs) Planted(name string) bool { return p.planted(name, p.roots(), maxInterpreters) }

// Found returns the path at which a program is found, if commands can write in a directory
// of PATH before it, so that another may be found later; else "". What commands can write is
// passed by: it may have been put there since somebody looked. Where there is no other, it is a
// path at which there is nothing.
func (p Programs) Found(name string) string {
	roots, open := p.roots(), false
	for _, dir := range filepath.SplitList(p.Path) {
		file := filepath.Join(dir, name)
		switch {
		case !filepath.IsAbs(dir) || writable(file, roots):
			open = true
		case executable(file) && open:
			return file
		case executable(file):
			return ""
		}
	}
	if open {
		return nowhere + name
	}
	return ""
}

// nowhere begins paths that nobody can make.
const nowhere = os.DevNull + "/"

// Others returns the value of PATH without the directories in which commands can write.
func (p Programs) Others() string {
	roots := p.roots()
	return strings.Join(slices.DeleteFunc(filepath.SplitList(p.Path), func(dir string) bool {
		return !filepath.IsAbs(dir) || writable(filepath.Join(dir, "x"), roots)
	}), string(filepath.ListSeparator))
}

// roots returns the directories in which commands can write, with links resolved as well.
func (p Programs) roots() []string {
	roots := slices.Clone(p.Written)
	for _, dir := range p.Written {
		if real, ok := follow(dir, readlink); ok {
			roots = append(roots, real)
		}
	}
	return roots
}

func (p Programs) planted(name string, roots []string, most int) bool {
	if strings.Contains(name, "/") {
		return writable(name, roots) || p.interpreted(name, roots, most)
	}
	for _, dir := range filepath.SplitList(p.Path) {
		if !filepath.IsAbs(dir) {
			return true // there, whatever the directory is in which the command begins
		}
		if file := filepath.Join(dir, name); executable(file) {
			return writable(file, roots) || p.interpreted(file, roots, most)
		}
	}
	return false
}

// executable reports whether a shell that looks for a program takes a file.
func executable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// writable reports whether a path is, or leads through, something below one of the roots.
func writable(name string, roots []string) bool {
	passes := false
	_, ok := follow(name, func(at string) (string, bool) {
		passes = passes || slices.ContainsFunc(roots, func(root string) bool { return at == root || subpath.BelowFold(at, root) })
		return readlink(at)
	})
	return passes || !ok
}

// interpreted reports whether a file is a script whose interpreter may be planted.
func (p Programs) interpreted(file string, roots []string, most int) bool {
	f, err := open(file, false)
	if err != nil {
		return false // a program that may not be read is none that a shell reads either
	}
	defer f.Close()
	var head [256]byte
	n, _ := f.Read(head[:])
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	line, script := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	switch {
	case !script || len(words) == 0:
		return false
	case most == 0:
		return true
	}
	if filepath.Base(words[0]) == "env" {
		for _, w := range words[1:] {
			if w[0] != '-' && !strings.Contains(w, "=") {
				return p.planted(w, roots, most-1)
			}
		}
	}
	return p.planted(words[0], roots, most-1)
}
