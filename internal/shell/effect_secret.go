package shell

import "strings"

// secretWords marks a command that gets the value of a secret as one of its words, and
// may print it: in what it is for, or in the message of an error. A command that runs
// the words has no need to.
func (e *effector) secretWords() {
	if e.silent || !holdsSecret(e.words[1:]) {
		return
	}
	for _, a := range e.derived() {
		if a.Kind == Command && a.Parent == e.index && holdsSecret(a.Words) {
			return
		}
	}
	e.shows()
}

// quiet is the reader of programs that print nothing, whatever their words are.
func (e *effector) quiet() { e.silent = true }

// testsSecret reports whether test compares a secret with anything but nothing, takes it
// for something else, as a number, which it prints if it is none, or gets a part of it.
func (e *effector) testsSecret() bool {
	words := e.words[1:]
	at := func(i int) string {
		if i < 0 || i >= len(words) || !words[i].Known() {
			return ""
		}
		return words[i].Text
	}
	for i := range words {
		if words[i].secrecy() == derived {
			return true
		}
		if !words[i].secret() || at(i-1) == "-n" || at(i-1) == "-z" {
			continue
		}
		switch next := at(i + 1); {
		case next == "=", next == "==", next == "!=":
			if i+2 >= len(words) || !sameButHoles(&words[i], &words[i+2]) {
				return true
			}
		case strings.Trim(at(i-1), "!=(") == "" && at(i-1) != "" && i > 1 && strings.HasSuffix(at(i-1), "="):
			if !sameButHoles(&words[i], &words[i-2]) {
				return true
			}
		case i > 0 && at(i-1) != "!" && at(i-1) != "-a" && at(i-1) != "-o" && at(i-1) != "(":
			return true
		case next != "" && next != "]" && next != "-a" && next != "-o" && next != ")":
			return true
		}
	}
	return false
}

// sameButHoles reports whether a word is what another is if its holes are empty:
// "x$y" and x, "$y" and "".
func sameButHoles(w, other *Word) bool { return other.Known() && other.Text == w.Text }
