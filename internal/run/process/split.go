package process

import (
	"errors"
	"os/exec"
	"strings"
)

// Words splits a setting that names a command. A setting that as a whole is the
// name of a program, with blanks or without, is one word; otherwise words are
// separated by blanks, and quotes are an error. "" has no words.
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
