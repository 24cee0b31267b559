package process

import (
	"errors"
	"os/exec"
	"strings"
)

// Words splits the command that a setting names: a program by its whole name,
// blanks and all, or a program and arguments with blanks between them. "" gives
// none. Quotes are not read.
func Words(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	if _, err := exec.LookPath(text); err == nil {
		return []string{text}, nil
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, errors.New("it is blank")
	}
	if strings.ContainsAny(text, `"'`) {
		return nil, errors.New("quotes are not read: give the program and its arguments with blanks between them, or put the line into a script")
	}
	return words, nil
}
