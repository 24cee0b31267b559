// Package briefing gathers what an agent is told beside its task: the instructions of the
// person and of the project (CLAUDE.md), custom agents and skills, and what a typed
// prompt names (/command, @file).
//
// All of it is text. A repository may hold anything, so nothing of it grants a
// permission or starts a program: of the heads of files a closed list of fields counts,
// an import leads to what the Read rules let pass unasked, and a command line in a
// command, as a file that a person names, is a tool use that is decided and recorded
// before it runs.
package briefing

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Reader reads what an agent is told. All its functions must be set, but those that
// Start does not need: Decide, Run and Ended.
type Reader struct {
	Dir    string // the workspace, absolute and without links
	Config string // the person's directory of the agent CLI (~/.claude); "" for none
	Home   string // "" for none

	// Explain returns what would be decided about a tool use, and asks nobody.
	Explain func(permission.ToolUse) permission.Decision
	// Decide decides a tool use.
	Decide func(context.Context, permission.ToolUse) (permission.Result, error)
	// Run runs a command line that was allowed, and returns what it wrote and its exit
	// code. Ended is told what became of a tool use that was allowed; exit is nil if it
	// was no command.
	Run   func(ctx context.Context, line string) (out string, exit int, err error)
	Ended func(use permission.ToolUse, out string, exit *int, failed bool)
	// Warn is told what is left out, and why.
	Warn func(string)
}

// Given is what an agent is told when it starts.
type Given struct {
	Instructions string   // for the system prompt: of the files Sources, and the skills
	Sources      []string // absolute
	Agents       map[string]Agent
	Files        []string // what was read, with size and digest, for the record
}

// The limits. What is larger is left out, and never cut.
const (
	maxFile  = 128 << 10 // of one file, in bytes
	maxAll   = 512 << 10 // of all that is given at the start
	maxFiles = 200       // files that are read at the start
)

// Start reads what is given to an agent when it starts.
func (r *Reader) Start() Given {
	s := &start{Reader: r, seen: map[string]bool{}, dropped: map[string][]string{}}
	s.places = r.places()
	s.instructions()
	s.skills()
	s.agents()
	s.tellDropped()
	return Given{Instructions: s.text.String(), Sources: s.sources, Agents: s.given, Files: s.files}
}

// start is one call of Start.
type start struct {
	*Reader
	places  []place
	text    strings.Builder
	sources []string
	given   map[string]Agent
	files   []string
	seen    map[string]bool // real paths of instructions
	size    int             // of all files that were read
	full    bool            // the limit on all was told
	dropped map[string][]string
}

// place is a directory with files for the agent CLI: the person's own, or one of the
// project, which lies between the root of the repository and the workspace.
type place struct {
	dir    string // of the CLI's files, as ~/.claude or DIR/.claude
	base   string // of the project; "" for the person's own
	within string // where a file of it must lie; "" for anywhere
	above  bool   // it lies above the workspace
}

// places returns the directories, the most general first.
func (r *Reader) places() []place {
	var all []place
	if r.Config != "" {
		all = append(all, place{dir: r.Config})
	}
	dirs := upward(r.Dir)
	for _, dir := range slices.Backward(dirs) {
		all = append(all, place{dir: filepath.Join(dir, ".claude"), base: dir, within: dirs[len(dirs)-1], above: dir != r.Dir})
	}
	return all
}

// upward returns a directory, and those above it up to the root of its repository.
func upward(dir string) []string {
	var all []string
	for at := dir; ; at = filepath.Dir(at) {
		all = append(all, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return all
		}
		if at == filepath.Dir(at) {
			return []string{dir}
		}
	}
}

// take reads a file of a place, at the start. What is not there is no error, and what
// cannot be taken is told of.
func (s *start) take(p place, name string) (text []byte, ok bool) {
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, false
	}
	text, err := s.allowed(p, name)
	size := len(text)
	if filepath.Base(name) == skillFile {
		size = 0 // it is named, and not given
	}
	if err == nil {
		err = s.room(size)
	}
	if err != nil {
		s.leave(name, err)
		return nil, false
	}
	s.size += size
	s.files = append(s.files, fmt.Sprintf("%s (%d bytes, sha256:%x)", s.short(name), len(text), sha256.Sum256(text)))
	return text, true
}

// errRoom ends the reading: the limit was told.
var errRoom = errors.New("full")

// room reports whether there is room for a further file.
func (s *start) room(size int) error {
	if s.size+size <= maxAll && len(s.files) < maxFiles {
		return nil
	}
	if s.full {
		return errRoom
	}
	s.full = true
	return fmt.Errorf("the agent is given %d files with %d bytes in all at most: make them shorter, or start with --bare", maxFiles, maxAll)
}

// leave tells of a file that is not given.
func (s *start) leave(name string, why error) {
	if !errors.Is(why, errRoom) {
		s.Warn(fmt.Sprintf("%s is not given to the agent: %v", s.short(name), why))
	}
}

// allowed returns the text of a file of a place, unless the rules deny to read it.
func (s *start) allowed(p place, name string) ([]byte, error) {
	if p.above {
		if _, own := (workspace.Env{}).Entry(name); !own {
			return nil, errors.New("it lies above the workspace, and is not a file of yours")
		}
	}
	if p.base != "" {
		if err := s.denied(name); err != nil {
			return nil, err
		}
	}
	return read(name, p.within, maxFile)
}

// read returns the text of a regular file of a limited size, whose real path must lie
// within a directory, unless that is "".
func read(name, within string, most int) ([]byte, error) {
	data, err := content(name, within, most)
	if err == nil && !isText(data) {
		return nil, errors.New("it is no UTF-8 text")
	}
	return data, err
}

func isText(data []byte) bool { return utf8.Valid(data) && !slices.Contains(data, 0) }

// content is read for a file of any content.
func content(name, within string, most int) ([]byte, error) {
	real, ok := workspace.Env{}.Resolve(name)
	switch {
	case !ok:
		return nil, errors.New("where it leads cannot be told")
	case within != "" && !subpath.Inside(real, within):
		return nil, fmt.Errorf("it is a link to %s, outside %s", real, within)
	}
	info, err := os.Lstat(real)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case info.Size() > int64(most):
		return nil, fmt.Errorf("it has %d bytes, and %d are the most: make it shorter", info.Size(), most)
	}
	file, err := os.Open(real)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.New("it was replaced while it was read")
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("it has more than %d bytes: make it shorter", most)
	}
	return data, err
}

// short returns a path as a person would write it.
func (r *Reader) short(name string) string {
	if rel, within := subpath.Rel(name, r.Dir); within {
		return rel
	}
	if rel, within := subpath.Rel(name, r.Home); r.Home != "" && within {
		return filepath.Join("~", rel)
	}
	return name
}

// drop notes a field of a file that does not count.
func (s *start) drop(field, name string) {
	if !slices.Contains(s.dropped[field], s.short(name)) {
		s.dropped[field] = append(s.dropped[field], s.short(name))
	}
}

// maxNamed is how many files a warning names for a field.
const maxNamed = 3

// tellDropped warns of all fields that do not count, once.
func (s *start) tellDropped() {
	var all []string
	for _, field := range slices.Sorted(maps.Keys(s.dropped)) {
		files := s.dropped[field]
		more := ""
		if n := len(files) - maxNamed; n > 0 {
			files, more = files[:maxNamed], fmt.Sprintf(" and %d more", n)
		}
		all = append(all, fmt.Sprintf("%s (%s%s)", field, strings.Join(files, ", "), more))
	}
	if len(all) > 0 {
		s.Warn(notTaken + strings.Join(all, ", "))
	}
}

// notTaken is the begin of the warning about fields that do not count.
const notTaken = "your policy decides what runs; not taken over from the agent's files: "
