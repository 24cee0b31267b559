// Package command reads the custom commands and skills of the agent CLI: Markdown files
// whose text becomes a prompt, with command lines in it that run before the model sees
// the text.
//
//	state of the tree: !`git status`
//
// It finds and reads them. It runs nothing, and decides nothing.
package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// maxSize is the maximum size of the file of a command in bytes.
const maxSize = 1 << 20

// The forms of a command line in the text of a command: !`git status`, and ```! to ```
// for several lines.
var (
	inline = lazyregexp.New("^!`([^`]*)`")
	block  = lazyregexp.New("(?s)^```!\\s*\n(.*?)```")
)

// Lines returns all that may be taken for a command line in the text of a command, also
// what begins within another one: which of the two runs is the agent CLI's affair.
func Lines(text string) []string {
	var lines []string
	for at := range len(text) {
		if _, line := begins(text[at:]); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Part is a part of the text of a command: words, or a command line whose output takes
// its place.
type Part struct {
	Text string
	Runs bool
}

// Parts splits the text of a command. Every command line is one of Lines; one that
// stands directly behind a word (done!`x`) is text.
func Parts(text string) []Part {
	var parts []Part
	add := func(p Part) {
		if p.Text != "" {
			parts = append(parts, p)
		}
	}
	done := 0
	for at := 0; at < len(text); {
		length, line := begins(text[at:])
		if length == 0 || at > 0 && !strings.ContainsRune(" \t\r\n", rune(text[at-1])) {
			at++
			continue
		}
		add(Part{Text: text[done:at]})
		add(Part{Text: line, Runs: true})
		at += length
		done = at
	}
	add(Part{Text: text[done:]})
	return parts
}

// begins returns the command line with which a text begins, and how long the spot is; 0
// if it begins with none.
func begins(text string) (length int, line string) {
	form := inline
	switch {
	case strings.HasPrefix(text, "```!"):
		form = block
	case !strings.HasPrefix(text, "!`"):
		return 0, ""
	}
	found := form.FindStringSubmatch(text)
	if found == nil {
		return 0, ""
	}
	return len(found[0]), strings.TrimSpace(found[1])
}

// Placeholder matches what is replaced by the words behind the name of a command.
var Placeholder = lazyregexp.New(`\$(ARGUMENTS|[0-9])`)

// Read returns the text of a command's file.
func Read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return nil, fmt.Errorf("%s: it is no file of at most %d bytes", file, maxSize)
	}
	return os.ReadFile(file)
}

// Find returns the file of a command or skill by its name, "" if there is none. Each
// root is a directory as .claude; the first that has it counts. A command in a
// subdirectory may be called with or without that (sub:name).
func Find(name string, roots ...string) (string, error) {
	if strings.ContainsAny(name, `\`) || slices.Contains(strings.Split(name, "/"), "..") {
		return "", fmt.Errorf("the command %.60q has no usual name", name)
	}
	parts := strings.Split(name, ":")
	if slices.Contains(parts, "..") {
		return "", fmt.Errorf("the command %.60q has no usual name", name)
	}
	last := Last(name)
	for _, root := range roots {
		for _, file := range []string{
			filepath.Join(append([]string{root, "commands"}, append(slices.Clone(parts[:len(parts)-1]), last+".md")...)...),
			filepath.Join(root, "skills", last, "SKILL.md"),
		} {
			if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
				return file, err
			}
		}
	}
	for _, root := range roots {
		if found, err := Below(filepath.Join(root, "commands"), last+".md"); err != nil || found != "" {
			return found, err
		}
	}
	return "", nil
}

// The limits of Names: how many it returns of a kind, and at how many files it looks.
const (
	maxNames = 200
	maxLooks = 5000
)

// Names returns the names of the commands and skills in a directory as .claude, without
// those of subdirectories before them. What cannot be read has none.
func Names(root string) []string {
	var names []string
	looks := 0
	_ = filepath.WalkDir(filepath.Join(root, "commands"), func(path string, d fs.DirEntry, err error) error {
		if name, found := strings.CutSuffix(filepath.Base(path), ".md"); found && err == nil && !d.IsDir() {
			names = append(names, name)
		}
		if looks++; looks > maxLooks || len(names) >= maxNames {
			return fs.SkipAll
		}
		return nil
	})
	skills, _ := os.ReadDir(filepath.Join(root, "skills"))
	for _, skill := range skills[:min(len(skills), maxNames)] {
		if _, err := os.Stat(filepath.Join(root, "skills", skill.Name(), "SKILL.md")); err == nil {
			names = append(names, skill.Name())
		}
	}
	return names
}

// Last returns the name of a command without the directories or the plugin before it.
func Last(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// Below returns the file with a name anywhere below a directory, "" if there is none.
func Below(dir, name string) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == name {
			found = path
			return filepath.SkipAll
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return found, err
}
