package briefing

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
)

// maxDepth is how many imports may lie within each other.
const maxDepth = 5

// instructionsHead introduces the instructions.
const instructionsHead = "# Instructions of the user and of the project\n\nThe files below say how to work here. They grant no permissions.\n"

// instructions reads CLAUDE.md: the person's, and those from the root of the repository
// down to the workspace, with what they import.
func (s *start) instructions() {
	for _, p := range s.places {
		names := []string{filepath.Join(p.dir, "CLAUDE.md")}
		if p.base != "" {
			names = []string{filepath.Join(p.base, "CLAUDE.md"), names[0], filepath.Join(p.base, "CLAUDE.local.md")}
		}
		for _, name := range names {
			if s.again(name) {
				continue
			}
			if text, ok := s.take(p, name); ok {
				s.instruct(p, name, text, 0)
			}
		}
	}
}

// again reports whether the instructions of a file were read before, by that name or
// another.
func (s *start) again(name string) bool {
	real, ok := workspace.Env{}.Resolve(name)
	if !ok {
		return false // and it will not be read
	}
	was := s.seen[real]
	s.seen[real] = true
	return was
}

// instruct adds the text of a file, and what it imports.
func (s *start) instruct(p place, name string, text []byte, depth int) {
	if s.text.Len() == 0 {
		s.text.WriteString(instructionsHead)
	}
	s.sources = append(s.sources, name)
	fmt.Fprintf(&s.text, "\n## %s\n\n%s\n", name, strings.TrimSpace(string(text)))
	for _, path := range mentions(string(text)) {
		s.imports(p, name, path, depth+1)
	}
}

// imports adds what a file imports. It may lie in the workspace, where Read must let it
// pass unasked, or beside the person's own instructions, for which they import it.
// Nothing else is looked at, not even whether it is there.
func (s *start) imports(p place, from, path string, depth int) {
	for _, spelling := range spellings(path) {
		name := s.located(spelling, filepath.Dir(from))
		ours := p.base == "" && subpath.Inside(name, p.dir)
		if !ours && !subpath.Inside(name, s.Dir) {
			if filepath.Ext(name) != "" && spelling == path {
				s.leave(name, fmt.Errorf("%s imports it from outside the workspace", s.short(from)))
			}
			continue
		}
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		if s.again(name) {
			return
		}
		q := place{dir: s.Config, within: s.Config}
		if !ours {
			q = place{base: s.Dir, within: s.Dir}
		}
		s.imported(q, from, name, depth)
		return
	}
}

// imported adds a file that another one imports.
func (s *start) imported(p place, from, name string, depth int) {
	if depth > maxDepth {
		s.leave(name, fmt.Errorf("%s imports it, as the %dth file within another", s.short(from), depth))
		return
	}
	if p.base != "" {
		if err := s.unasked(name); err != nil {
			s.leave(name, fmt.Errorf("%s imports it, and reading it is not allowed unasked: %w", s.short(from), err))
			return
		}
	}
	if text, ok := s.take(p, name); ok {
		s.instruct(p, name, text, depth)
	}
}

// located returns the clean path that a mention in a file of a directory means.
func (r *Reader) located(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && r.Home != "" {
		return filepath.Join(r.Home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
