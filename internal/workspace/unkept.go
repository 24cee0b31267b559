package workspace

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// Unkept reports whether a file at an absolute path has contents that git cannot bring
// back: it lies in a repository that ignores it and whose index does not have it. A hole
// stands for any text without a slash. What cannot be told is not brought back.
func (e Env) Unkept(name shell.Word) bool {
	if len(name.Holes) == 0 {
		return e.unkept(path.Clean(name.Text))
	}
	found, err := filepath.Glob(globOf(name))
	return err != nil || slices.ContainsFunc(found, e.unkept)
}

func (e Env) unkept(file string) bool {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	root := repositoryOf(path.Dir(file))
	if root == "" {
		return false
	}
	ignored, known := e.ignores(root, file, false)
	return (ignored || !known) && !tracks(root, strings.TrimPrefix(file, strings.TrimSuffix(root, "/")+"/"))
}

// compiled are the first bytes of what compilers make: ELF, Mach-O, PE, archives, WebAssembly.
var compiled = []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ", "!<arch>\n", "\x00asm"}

// Compiled reports whether a file at an absolute path begins as one that a compiler made.
func (e Env) Compiled(name shell.Word) bool {
	info, err := os.Lstat(name.Text)
	if err != nil || len(name.Holes) > 0 || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name.Text)
	if err != nil {
		return false
	}
	defer f.Close()
	var first [8]byte
	n, _ := io.ReadFull(f, first[:])
	return slices.ContainsFunc(compiled, func(magic string) bool { return strings.HasPrefix(string(first[:n]), magic) })
}

// globOf returns a pattern for the paths that a word may be (path.Match).
func globOf(name shell.Word) string {
	var b strings.Builder
	for i := 0; i <= len(name.Text); i++ {
		if slices.ContainsFunc(name.Holes, func(h shell.Hole) bool { return h.At == i }) {
			b.WriteByte('*')
		}
		if i == len(name.Text) {
			break
		}
		if strings.IndexByte(`*?[\`, name.Text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name.Text[i])
	}
	return b.String()
}

// tracks reports whether the index of the repository that begins at root has a file, by its
// path below root.
func tracks(root, file string) bool {
	store, common, ok := gitStore(root)
	if !ok {
		return false
	}
	config, hash := gitReader{}, 20
	if config.file(filepath.Join(common, "config"), 0, false) == nil && slices.Contains(config.found, sha256Objects) {
		hash = 32
	}
	found := false
	err := eachIndexed(store, hash, func(name []byte, _ uint32) { found = found || string(name) == file })
	return found && err == nil
}

// gitStore returns the directory of the repository that begins at root, and the one that it
// shares with others, which is the same unless root is a linked worktree.
func gitStore(root string) (store, common string, ok bool) {
	store = filepath.Join(root, ".git")
	if info, err := os.Stat(store); err != nil {
		return "", "", false
	} else if !info.IsDir() {
		if store, ok = pathIn(store, "gitdir:"); !ok {
			return "", "", false
		}
	}
	common, err := commonOf(store)
	return store, common, err == nil
}
