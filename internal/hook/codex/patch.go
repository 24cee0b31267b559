package codex

import (
	"errors"
	"fmt"
	"strings"
)

// The lines of a patch that name files. The format is that of the host's apply_patch
// tool.
const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	patchAdd    = "*** Add File: "
	patchUpdate = "*** Update File: "
	patchDelete = "*** Delete File: "
	patchMove   = "*** Move to: "
	patchEOF    = "*** End of File"
)

// patched returns the input of a patch with the files that it writes, creates, moves or
// removes. A patch that cannot be read completely is an error.
func patched(in map[string]any) (map[string]any, error) {
	text, ok := in["command"].(string)
	if !ok {
		return nil, errors.New("there is no patch")
	}
	for key := range in {
		if key != "command" {
			return nil, fmt.Errorf("it has the unknown field %.60q", key)
		}
	}
	files, err := filesOf(text)
	if err != nil {
		return nil, fmt.Errorf("the patch cannot be read: %w", err)
	}
	return map[string]any{"files": files, "patch": text}, nil
}

// filesOf returns the files of a patch, each once.
func filesOf(patch string) ([]any, error) {
	lines := strings.Split(strings.TrimSpace(patch), "\n")
	if len(lines) < 2 || strings.TrimSpace(lines[0]) != patchBegin || strings.TrimSpace(lines[len(lines)-1]) != patchEnd {
		return nil, fmt.Errorf("it must be between %q and %q", patchBegin, patchEnd)
	}
	var files []any
	seen := map[string]bool{}
	for i, line := range lines[1 : len(lines)-1] {
		name, err := fileOf(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		if name != "" && !seen[name] {
			seen[name] = true
			files = append(files, name)
		}
	}
	if files == nil {
		return nil, errors.New("it names no file")
	}
	return files, nil
}

// fileOf returns the file that a line names, "" for a line of text. The host trims
// lines before it looks at them, so one that is indented may be a header too: it
// counts as one.
func fileOf(line string) (string, error) {
	text := strings.TrimSpace(line)
	if !strings.HasPrefix(text, "*** ") {
		return "", nil
	}
	for _, header := range []string{patchAdd, patchUpdate, patchDelete, patchMove} {
		if name, ok := strings.CutPrefix(text, header); ok {
			if name = strings.TrimSpace(name); name == "" {
				return "", errors.New("a file without a name")
			}
			return name, nil
		}
	}
	if text == patchEOF {
		return "", nil
	}
	return "", fmt.Errorf("unknown header %.60q", text)
}
