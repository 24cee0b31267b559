package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitFiles are the files and directories in a repository's directory that can
// change what git does (gitrepository-layout(5)).
var gitFiles = []string{"config", "config.worktree", "hooks", "info", "commondir", "gitdir", "modules", "worktrees"}

// gitNever are those of them that make git take another directory for its own, and that git
// makes in the directory of a linked worktree (.git/worktrees/x) only.
var gitNever = []string{"commondir"}

// maxGitFile is how much of a file .git is read, in bytes. It contains one path.
const maxGitFile = 8 << 10

// GitFiles returns the files and directories that can change what git does in a
// workspace and whose paths do not show it: those in the directory that a file or
// link .git leads to (git init --separate-git-dir), in a bare repository, and in
// dirs, the directories that the environment names. Those below a directory .git
// are left out.
func GitFiles(workspace string, dirs ...string) []string {
	for at := workspace; ; at = filepath.Dir(at) {
		kept, isTop := gitDir(at)
		dirs = append(dirs, kept...)
		if isTop || at == filepath.Dir(at) {
			break
		}
	}
	var files []string
	for _, dir := range dirs {
		if slices.Contains(strings.Split(filepath.ToSlash(dir), "/"), ".git") {
			continue
		}
		for _, name := range gitFiles {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files
}

// gitDir returns the directories of the repository whose working tree begins at a
// directory, or that the directory is, and whether there is such a repository.
func gitDir(at string) (dirs []string, isTop bool) {
	info, err := os.Stat(filepath.Join(at, ".git"))
	switch {
	case err == nil && info.IsDir():
		if real, err := filepath.EvalSymlinks(filepath.Join(at, ".git")); err == nil {
			dirs = append(dirs, real) // a link may lead elsewhere
		}
		return dirs, true
	case err == nil:
		dir, ok := pathIn(filepath.Join(at, ".git"), "gitdir:")
		if !ok {
			return nil, true
		}
		dirs = append(dirs, dir)
		if common, ok := pathIn(filepath.Join(dir, "commondir"), ""); ok {
			dirs = append(dirs, common)
		}
		return dirs, true
	case isBare(at):
		return []string{at}, true
	}
	return nil, !errors.Is(err, fs.ErrNotExist)
}

// pathIn reads the path that follows prefix word in a file. It is relative to the
// directory of the file.
func pathIn(file, word string) (string, bool) {
	f, err := open(file, false)
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	text, found := strings.CutPrefix(string(data), word)
	text = strings.Trim(text, " \r\n")
	if err != nil || !found || text == "" {
		return "", false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(file), text)
	}
	return filepath.Clean(text), true
}

// isBare reports whether git takes a directory for a repository.
func isBare(dir string) bool {
	return !slices.ContainsFunc([]string{"HEAD", "objects", "refs"}, func(name string) bool {
		return there(filepath.Join(dir, name)) != nil
	})
}
