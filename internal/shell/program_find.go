package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// find handles the actions of find, which may run commands on the names found, and
// remove and write files.
func (e *effector) find() {
	e.done = true
	start := findStart(e.words)
	walk := e.w.numbered(walkOfFind(e.prog, start, e.words))
	for i := 1; i < len(e.words); i++ {
		t := &e.words[i]
		if t.MayBeOption() && i >= start.end {
			e.odd(causeFindUnknown)
			continue
		}
		if i >= start.end && e.findTest(t.Text) {
			i++ // the value of a test, even if it looks like an action
			continue
		}
		switch t.Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			i = e.findExec(i, start, walk)
		case "-delete":
			from := len(e.w.facts.Actions)
			for _, p := range start.paths {
				e.recursive = true
				e.write(p, NeedCover, false, "-delete of find")
			}
			e.choose(from, e.index, start.end, i)
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			if i++; i < len(e.words) {
				e.recursive = false
				e.write(e.words[i], NeedCover, false, t.Text+" of find")
			}
		case "-files0-from":
			if i++; i < len(e.words) {
				e.unprovenLate(causeFindNames)
				e.read(e.words[i], NeedCover, t.Text+" of find")
			}
		}
	}
}

// choose records the name that find demands before word i of it acts, with the writes of a
// command that changes only what is found, and follows no links.
func (e *effector) choose(from, command, start, i int) {
	name, ok := e.findName(start, i)
	actions := e.w.facts.Actions[from:]
	writes := func(a Action) bool { return a.Kind == Write && a.Parent == command }
	if !ok || command != e.index && slices.ContainsFunc(actions, func(a Action) bool { return writes(a) && (!a.NoFollow || !a.Found) }) {
		return
	}
	for j := range actions {
		if writes(actions[j]) && actions[j].Sweep {
			actions[j].Chosen = []Word{name}
		}
	}
}

// findName returns the name that a file must have for word end of find to act on it, false
// if it may have any. A name is only demanded if the test cannot be skipped.
func (e *effector) findName(start, end int) (name Word, ok bool) {
	for i := start; i < end; i++ {
		t := &e.words[i]
		if !t.Known() {
			return Word{}, false
		}
		switch text := t.Text; {
		case text == "-o" || text == "-or" || text == ",":
			ok = false
		case text == "!" || text == "-not" || text == "(" || text == ")" || strings.HasPrefix(text, "-exec") || strings.HasPrefix(text, "-ok"):
			return Word{}, false
		case e.findTest(text):
			if i++; i >= end || !e.words[i].Known() {
				return Word{}, false
			}
			if text == "-name" || text == "-iname" {
				name = globWord(e.words[i].Text, e.words[i])
				ok = name.Text != ""
			}
		case !e.findFlag(text):
			return Word{}, false
		}
	}
	return name, ok
}

// findFlag reports whether a word of find is an option or a test without a value.
func (e *effector) findFlag(text string) bool {
	return slices.ContainsFunc(e.prog.Options, func(o program.Option) bool {
		return o.Value == program.NoValue && slices.Contains(o.Names, text)
	})
}

// findTest reports whether a word of find only takes the next one as its value.
func (e *effector) findTest(text string) bool {
	for i := range e.prog.Options {
		o := &e.prog.Options[i]
		if o.Value == program.Required && o.Effect == program.EffNone && slices.Contains(o.Names, text) {
			return text != "-files0-from" && !strings.HasPrefix(text, "-fprint") && text != "-fls"
		}
	}
	return false
}

// findExec runs the words up to ; or + with a name in place of {}, and returns the
// index of that end.
func (e *effector) findExec(i int, start findPaths, walk uint16) int {
	end := i + 1
	for end < len(e.words) && e.words[end].Text != ";" && !(e.words[end].Text == "+" && e.words[end-1].Text == "{}") {
		end++
	}
	var under []Word
	for _, p := range start.names(e.words, walk, e.w.numbered(stoodFor)) {
		for _, at := range beneath(e.dirs, p) {
			at.files, at.walk = p.files, p.walk
			under = append(under, at)
		}
	}
	words, whole := append([]Word(nil), e.words[i+1:end]...), true
	for j := range words {
		if strings.Contains(words[j].Text, "{}") {
			whole = whole && words[j].Text == "{}"
			words[j] = foundName(words[j], under)
		}
	}
	if len(words) > 0 {
		dirs := e.dirs
		if strings.HasSuffix(e.words[i].Text, "dir") {
			e.dirs = []Word{unknown()} // the directory of each name
		}
		from := len(e.w.facts.Actions)
		e.runList(words, i+1)
		if whole {
			e.choose(from, from, start.end, i)
		}
		e.dirs = dirs
	}
	return end
}

// foundName returns a word with the name that find substitutes for {}. The name
// begins with a starting point, so it is never an option.
func foundName(w Word, under []Word) Word {
	if w.Text != "{}" {
		return holeFor(w, "{}", under)
	}
	return Word{Text: "./", Holes: []Hole{{At: 2, Kind: AnyText}}, under: under, Pos: w.Pos, End: w.End}
}
