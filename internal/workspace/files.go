package workspace

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// Files returns the paths that the wildcards of the shell in an absolute path mean, a
// directory with a slash behind it. A leading wildcard means no name that begins with a
// dot. Not all: a directory cannot be read, or the limit of names, farLimit times as large,
// does not suffice.
func (e Env) Files(name shell.Word) (found []string, all bool) {
	s := expansion{left: farLimit * cmp.Or(e.Limit, defaultLimit)}
	all = s.expand("", name)
	return s.found, all
}

// expansion is the state of one call of Files.
type expansion struct {
	left  int // number of names that may still be examined
	found []string
}

// expand adds what a path means below a directory, and reports whether that is all.
func (s *expansion) expand(dir string, rest shell.Word) bool {
	if len(rest.Holes) == 0 {
		s.add(dir + rest.Text)
		return true
	}
	first := rest.Holes[0].At
	if at := strings.LastIndexByte(rest.Text[:first], '/'); at >= 0 {
		dir, rest = dir+rest.Text[:at+1], behind(rest, at+1, at+1)
	}
	entries, err := list(cmp.Or(dir, "."), s.left+1)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
	}
	end := strings.IndexByte(rest.Text+"/", '/')
	segment := shell.Word{Text: rest.Text[:end]}
	for _, h := range rest.Holes {
		if h.At <= end {
			segment.Holes = append(segment.Holes, h)
		}
	}
	pattern, all := globOf(segment), true
	for _, entry := range entries {
		if s.left--; s.left < 0 {
			return false
		}
		matched, err := path.Match(pattern, entry.Name())
		if err == nil && !matched || segment.Holes[0].At == 0 && segment.Holes[0].Kind != shell.Pattern && strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		all = s.expand(dir+entry.Name(), behind(rest, end, end+1)) && all
	}
	return all
}

// add adds a path if something is there.
func (s *expansion) add(name string) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
	case info.IsDir():
		s.found = append(s.found, strings.TrimSuffix(name, "/")+"/")
	default:
		s.found = append(s.found, name)
	}
}

// behind returns a word from byte n of its text on, without the holes before byte from.
func behind(w shell.Word, n, from int) shell.Word {
	out := shell.Word{Text: w.Text[n:]}
	for _, h := range w.Holes {
		if h.At >= from {
			out.Holes = append(out.Holes, shell.Hole{At: h.At - n, Kind: h.Kind})
		}
	}
	return out
}
