package shell

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// settings marks a command opaque that tells its program a setting that the
// catalogue does not know to be harmless: it may be a command that is run later, or
// lead the program elsewhere.
func (e *effector) settings() {
	p := program.Spellings(e.prog, lastOf(e.words[0].Text))
	if p == nil {
		return
	}
	for i := range p.Settings {
		for _, key := range e.settingKeys(&p.Settings[i]) {
			if !harmlessSetting(p, &key) {
				e.odd(causeSetting, settingName(&key), p.Name)
			}
		}
	}
}

// lastOf returns the last segment of the path of a program.
func lastOf(text string) string { return text[strings.LastIndexByte(text, '/')+1:] }

// settingKeys returns the words KEY or KEY=VALUE of a form.
func (e *effector) settingKeys(form *program.Setting) []Word {
	if form.Prefix != "" {
		return e.prefixedKeys(form.Prefix)
	}
	rest, found := e.behindNames(form.Subs)
	switch {
	case !found:
		return nil
	case form.Option != "" && !form.Each:
		return e.optionKeys(form.Option)
	case form.Option != "" && !e.spelled(form.Option), len(rest) == 0, form.Valued && len(rest) == 1:
		return nil
	case form.Each:
		return rest
	}
	keys := rest[:1]
	for i := 1; i < len(rest) && strings.Contains(rest[0].Text, "="); i++ {
		keys = append(keys, rest[i])
	}
	return keys
}

func (e *effector) prefixedKeys(prefix string) []Word {
	var keys []Word
	for _, w := range e.words[1:] {
		if strings.HasPrefix(w.Text, prefix) {
			keys = append(keys, w.after(len(prefix)))
		}
	}
	return keys
}

// behindNames returns the words behind subcommands, options left out.
func (e *effector) behindNames(names []string) ([]Word, bool) {
	var rest []Word
	for i, w := range e.words[1:] {
		if e.listedOption(i+1) || strings.HasPrefix(w.Text, "-") {
			continue
		}
		rest = append(rest, w)
	}
	if len(rest) < len(names) {
		return nil, false
	}
	for i, name := range names {
		if w := &rest[i]; w.Known() && !strings.Contains("|"+name+"|", "|"+w.Text+"|") {
			return nil, false
		}
	}
	return rest[len(names):], true
}

// listedOption reports whether a word is an option that the entry lists, or its
// value.
func (e *effector) listedOption(at int) bool {
	for i := range e.scan.Args {
		if a := &e.scan.Args[i]; a.Kind == ArgOption && (a.Word == at || a.ValueAt == at) {
			return true
		}
	}
	return false
}

// spelled reports whether an option is among the words.
func (e *effector) spelled(option string) bool {
	for i := range e.words[1:] {
		if e.words[i+1].Text == option || e.words[i+1].MayBeOption() {
			return true
		}
	}
	return false
}

// optionKeys returns the values of an option, attached or in the next word; a long
// name may be abbreviated.
func (e *effector) optionKeys(option string) []Word {
	var keys []Word
	for i := 1; i < len(e.words); i++ {
		w := &e.words[i]
		name, value, attached := w.splitAt('=')
		long := strings.HasPrefix(option, "--")
		switch {
		case name == option || long && len(name) > 3 && strings.HasPrefix(option, name):
			if attached {
				keys = append(keys, value)
			} else if i+1 < len(e.words) {
				keys = append(keys, e.words[i+1])
			}
		case !long && strings.HasPrefix(w.Text, option):
			keys = append(keys, w.after(len(option)))
		}
	}
	return keys
}

// harmlessSetting reports whether the catalogue says that a setting is harmless.
func harmlessSetting(p *program.Program, w *Word) bool {
	key, _, pair := strings.Cut(w.Text, "=")
	if !w.Known() && (!pair || w.Holes[0].At <= len(key)) {
		return false
	}
	for _, pattern := range p.Harmless {
		before, behind, wild := strings.Cut(pattern, "*")
		if key == pattern || wild && len(key) >= len(pattern)-1 && strings.HasPrefix(key, before) && strings.HasSuffix(key, behind) {
			return true
		}
	}
	return false
}

// settingName returns the name of a setting, for a cause.
func settingName(w *Word) string {
	key, _, pair := strings.Cut(w.Text, "=")
	if !w.Known() && (!pair || w.Holes[0].At <= len(key)) {
		return "that is only known when it runs"
	}
	return key
}
