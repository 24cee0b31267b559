package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// maxIgnore is the maximum size of a .gitignore that is read.
const maxIgnore = 1 << 20

// Ignored reports whether git ignores the directory at a clean absolute path, or one above
// it: by the files .gitignore of its repository, by info/exclude there and by the user's
// own file (gitignore(5)). What cannot be told is not ignored.
func (e Env) Ignored(dir string) bool {
	root := repositoryOf(path.Dir(dir))
	if root == "" {
		return false
	}
	ignored, known := e.ignores(root, dir, true)
	return ignored && known
}

// ignores reports whether git ignores what is at a path in the repository that begins at
// root. It is not known where a file cannot be read that may keep what others ignore.
func (e Env) ignores(root, name string, isDir bool) (ignored, known bool) {
	var ignore ignorer
	if !ignore.common(e.Place.Home, root) {
		return false, false
	}
	segments := strings.Split(strings.TrimPrefix(name, strings.TrimSuffix(root, "/")+"/"), "/")
	at := root
	for i, segment := range segments {
		if !ignore.read(at, path.Join(at, ".gitignore"), os.Lstat) { // git follows no link here
			return false, false
		}
		at = path.Join(at, segment)
		if ignore.matches(at, isDir || i < len(segments)-1) {
			return true, true
		}
	}
	return false, true
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

// ignorer holds the patterns of files from the weakest to the strongest.
type ignorer struct{ rules []ignoreRule }

// ignoreRule is one pattern.
type ignoreRule struct {
	dir      string         // of its file
	pattern  *regexp.Regexp // nil: any name
	anchored bool           // it is matched with the path below dir, not with a name
	dirs     bool           // it is for directories only
	keeps    bool           // it is negated
}

// common adds the patterns of the files beside those of the working tree. It is false as
// read is.
func (g *ignorer) common(home, root string) bool {
	own := gitReader{home: home}
	excludes := ""
	if home != "" {
		excludes = filepath.Join(envOr("XDG_CONFIG_HOME", filepath.Join(home, ".config")), "git", "ignore")
	}
	for _, s := range own.own() {
		if s.Key != "core.excludesfile" {
			continue
		}
		named, err := own.expand(s.Value, root)
		if err != nil {
			return false
		}
		excludes = named
	}
	if excludes != "" && !g.read(root, excludes, os.Stat) {
		return false
	}
	_, common, ok := gitStore(root)
	return ok && g.read(root, filepath.Join(common, "info", "exclude"), os.Stat)
}

// read adds the patterns of a file, which hold below dir. It is false if one of them may
// keep what others ignore, but is not understood.
func (g *ignorer) read(dir, name string, stat func(string) (fs.FileInfo, error)) bool {
	info, err := stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeDevice != 0
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
	line = trimBlanks(line)
	line, rule.keeps = strings.CutPrefix(line, "!")
	if line == "" || line[0] == '#' && !rule.keeps {
		rule.keeps = false
		return rule, false
	}
	line, rule.dirs = strings.CutSuffix(line, "/")
	rule.dir, rule.anchored = dir, strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule, false
	}
	var err error
	rule.pattern, err = regexp.Compile("^(?s:" + globExpression(line) + ")$")
	return rule, err == nil
}

// trimBlanks cuts the blanks at the end of a pattern, but for one that is escaped.
func trimBlanks(line string) string {
	cut := strings.TrimRight(line, " ")
	if strings.HasSuffix(cut, `\`) && len(cut) < len(line) {
		cut += " "
	}
	return cut
}

// globExpression returns a pattern of git as a regular expression.
func globExpression(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); {
		rest := glob[i:]
		first := i == 0 || glob[i-1] == '/'
		switch {
		case first && strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 3
		case first && rest == "**":
			b.WriteString(".*")
			i += 2
		case rest[0] == '*':
			b.WriteString("[^/]*")
			i += len(rest) - len(strings.TrimLeft(rest, "*"))
		case rest[0] == '?':
			b.WriteString("[^/]")
			i++
		case rest[0] == '[':
			class, n := globClass(rest)
			b.WriteString(class)
			i += n
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			i += 2
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
			i++
		}
	}
	return b.String()
}

// globClass returns the class of characters at the beginning of a pattern as an
// expression, and its length. One that is not closed matches nothing, as an expression
// that does not compile.
func globClass(glob string) (class string, n int) {
	at, begin := 1, "["
	if len(glob) > 1 && (glob[1] == '!' || glob[1] == '^') {
		at, begin = 2, "[^/"
	}
	chars := at
	if strings.HasPrefix(glob[at:], "]") { // in the first place it is one of the characters
		begin, chars = begin+`\]`, at+1
	}
	end := chars
	for end < len(glob) && glob[end] != ']' {
		named := strings.Index(glob[end:], ":]")
		switch {
		case named > 0 && strings.HasPrefix(glob[end:], "[:"):
			end += named + 1
		case glob[end] == '\\':
			end++
		}
		end++
	}
	if end >= len(glob) {
		return "[", len(glob)
	}
	return begin + glob[chars:end] + "]", end + 1
}

// matches reports whether the last pattern that matches a path ignores it.
func (g *ignorer) matches(name string, isDir bool) bool {
	last := g.last(name, isDir)
	return last != nil && !last.keeps
}

// last returns the last pattern that matches a path, or nil.
func (g *ignorer) last(name string, isDir bool) *ignoreRule {
	for i := range slices.Backward(g.rules) {
		if rule := &g.rules[i]; (isDir || !rule.dirs) && rule.match(name) {
			return rule
		}
	}
	return nil
}

func (r *ignoreRule) match(name string) bool {
	text := path.Base(name)
	if r.anchored {
		text = strings.TrimPrefix(name, strings.TrimSuffix(r.dir, "/")+"/")
	}
	return r.pattern == nil || r.pattern.MatchString(text)
}

// ignoreFiles are the files by which searches leave names out and bring hidden ones in, the
// last one counting most.
var ignoreFiles = []string{".gitignore", ".ignore", ".rgignore", ".fdignore"}

// readShown adds the patterns of a directory by which a search shows hidden names, and those
// that take them back. It is false if a file cannot be read, so that any name may be shown.
func (g *ignorer) readShown(dir string) bool {
	for _, file := range ignoreFiles {
		data, err := readRegular(path.Join(dir, file), maxIgnore)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return false
		}
		for line := range strings.Lines(string(data)) {
			rule, ok := parseIgnore(dir, strings.TrimRight(line, "\r\n"))
			if !ok && rule.keeps { // it may mean any name
				rule.pattern, rule.dirs = nil, false
			}
			if ok || rule.keeps {
				g.rules = append(g.rules, rule)
			}
		}
	}
	return true
}

// shows reports whether a search that leaves hidden names out shows this one.
func (g *ignorer) shows(name string, isDir bool) bool {
	last := g.last(name, isDir)
	return last != nil && last.keeps
}
