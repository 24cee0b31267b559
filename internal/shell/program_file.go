package shell

import "strings"

func (e *effector) dd() {
	e.done = true
	for _, t := range e.words[1:] {
		key, _, _ := strings.Cut(t.Text, "=")
		at := len(key) + 1
		switch {
		case len(t.Holes) > 0 && t.Holes[0].At < at:
			e.odd(causeArgumentUnknown, "dd")
		case key == "of":
			e.write(cutWord(t, at), NeedCover, false, "of= of dd")
		case key == "if":
			e.read(cutWord(t, at), NeedOutside, "if= of dd")
		}
	}
}

// flock creates the file that it locks. A number without a command is a descriptor.
func (e *effector) flock() {
	if len(e.operands) == 0 {
		return
	}
	lock := e.words[e.operands[0]]
	if len(e.operands) > 1 || e.pattern || !number(&lock) {
		e.write(lock, NeedCover, false, "lock file of flock")
	}
}

// mktemp creates a file or directory from a template, in the directory that an option
// names. In the system's own temporary directory that needs no cover.
func (e *effector) mktemp() {
	e.done = true
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch a.Option.Names[0] {
		case "-u":
			e.readOnly = true
		case "-t":
			e.named = true
			if len(e.operands) > 0 {
				e.below(Word{Text: "/tmp"}, NeedCover, "option -t of mktemp")
			}
		}
	}
	if e.readOnly || e.named {
		return
	}
	for _, t := range e.operandWords(0) {
		e.write(beside(t), NeedCover, false, "operand of mktemp")
	}
}

// patch writes its first operand, the file to patch (patch(1)).
func (e *effector) patch() {
	if rest := e.operandWords(0); len(rest) > 0 && !e.has("--dry-run") {
		e.write(rest[0], NeedCover, false, "operand of patch")
	}
}

// crontab handles an operand, a file of commands that run later.
func (e *effector) crontab() {
	for _, r := range e.operandWords(0) {
		e.runFile(r, "operand of crontab")
	}
}

// reformats handles the subcommand of a formatter or fixer, which changes the sources
// below its operands, or below its directory. Since that is its purpose, only ask
// and deny rules consider the writes.
func (e *effector) reformats() { e.reformat(NeedNone) }

// formats is the same for a formatter that takes any files: each operand needs an
// answer of its own, so that a rule for the program does not reach further.
func (e *effector) formats() { e.reformat(NeedCover) }

func (e *effector) reformat(need Need) {
	if e.readOnly {
		return
	}
	defer func(inPlace, recursive bool) { e.inPlace, e.recursive = inPlace, recursive }(e.inPlace, e.recursive)
	e.inPlace, e.recursive = true, true
	sources := e.operandWords(0)
	if len(sources) == 0 || e.prog.Special == "go" { // those of go are packages
		sources = []Word{{Text: "."}}
	}
	for _, at := range sources {
		if need == NeedNone && e.prog.Special != "go" {
			e.inPlaceWrite(at, NeedOutside, "operand of "+e.prog.Name)
			continue
		}
		e.inPlaceWrite(at, need, "sources that "+e.prog.Name+" changes")
	}
}

// sets marks a command unproven that changes the system by an operand: date sets the
// clock unless the operand is a format, hostname the name of the machine, bind what a key
// does (date(1), hostname(1), bash(1)).
func (e *effector) sets() {
	for _, w := range e.operandWords(0) {
		if e.prog.Name != "date" || !strings.HasPrefix(w.Text, "+") || w.holeAt(0) {
			e.unprovenLate(causeVeryWords, "an operand", e.prog.Name)
			e.w.facts.Actions[e.index].Exact = true
			return
		}
	}
}

// diff reads the files in operands that are directories, by way of links as well, with
// or without -r (diff(1), "Comparing Directories").
func (e *effector) diff() { e.recursive, e.follows = true, true }
