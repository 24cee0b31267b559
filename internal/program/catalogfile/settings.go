package catalogfile

import (
	"slices"
	"strings"
)

// Setting is a form in which a program is told a setting; see program.Setting.
type Setting struct {
	Subs           []string
	Option, Prefix string
	Each, Valued   bool
}

// readSettings parses the key settings.
func (e *Entry) readSettings(value any) error {
	list, err := e.words("settings", value)
	if err != nil {
		return err
	}
	for _, text := range list {
		s, ok := parseSetting(strings.Fields(text))
		if !ok || len(e.Path) > 0 {
			return e.where.fault("settings", text, "setting "+text+": no such form")
		}
		e.Settings = append(e.Settings, s)
	}
	return nil
}

// parseSetting parses the words of a form; see the package comment.
func parseSetting(words []string) (s Setting, ok bool) {
	if len(words) > 1 && words[len(words)-1] == "VALUE" {
		s.Valued, words = true, words[:len(words)-1]
	}
	last := len(words) - 1
	switch prefix, found := strings.CutSuffix(words[last], "KEY"); {
	case found && prefix != "":
		s.Prefix = prefix
		return s, last == 0 && prefix[0] == '-'
	case words[last] == "KEYS":
		s.Each = true
	case !found:
		return s, false
	}
	words = words[:last]
	if last > 0 && option(words[last-1]) {
		s.Option, words = words[last-1], words[:last-1]
	}
	s.Subs = words
	return s, !slices.ContainsFunc(words, option) && (s.Option != "" || len(words) > 0)
}
