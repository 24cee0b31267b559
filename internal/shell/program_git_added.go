package shell

import "strings"

// gitShowsAdded reads the files that the line put into git's objects before, if the
// command prints or packs what is in them: git add -A && git diff --cached.
func (e *effector) gitShowsAdded() {
	if !e.printsObjects() {
		return
	}
	for _, file := range e.w.addedBefore(e.index) {
		e.read(file, NeedNone, "git add before")
	}
}

// gitForces reads what git add --force puts into git's objects, which may be what git ignores.
func (e *effector) gitForces() {
	if len(e.scan.Path) == 0 || e.scan.Path[0] != "add" || !e.has("--force") || e.has("--dry-run") {
		return
	}
	files := e.operandWords(0)
	if len(files) == 0 {
		files = []Word{{Text: "."}}
	}
	defer func(before bool) { e.recursive = before }(e.recursive)
	e.recursive = true
	for _, file := range files {
		if strings.ContainsAny(file.Text, "*?[:") { // a pathspec
			file = Word{Text: "."}
		}
		e.read(file, NeedNone, "git add --force")
	}
}

// addedBefore returns the files that the actions before an index put into git's objects.
func (w *walker) addedBefore(index int) []Word {
	g := &w.gitAdds
	for ; g.next < index; g.next++ {
		a := &w.facts.Actions[g.next]
		if a.Kind == Command && a.Program != nil && a.Program.Special == "git" {
			g.files = append(g.files, added(ScanWords(a.Program, a.Words), a.Words)...)
		}
	}
	return g.files
}

// printsObjects reports whether a command of git prints or packs contents of files
// that are in the index or in a commit.
func (e *effector) printsObjects() bool {
	for _, names := range []string{"--name-only", "--name-status", "--stat", "--shortstat", "--numstat", "--dirstat", "--summary", "--no-patch", "--quiet", "--check"} {
		if e.has(names) {
			return false
		}
	}
	path := strings.Join(e.scan.Path, " ")
	switch {
	case path == "":
		return false
	case e.scan.Path[0] == "stash":
		return e.words[e.subcommandAt()].Text == "show" && (e.has("--patch") || e.has("--include-untracked") || e.has("--only-untracked") || e.said("-p"))
	case e.scan.Path[0] == "log":
		return e.has("--patch") || e.said("-p") || e.said("-u")
	case path == "commit":
		return e.has("--verbose")
	case path == "grep":
		return e.has("--cached")
	}
	return objectPrinters.has(e.scan.Path[0])
}

// objectPrinters are the subcommands of git that print, pack or send what is in its
// objects, or write it to other files.
var objectPrinters = set("diff", "show", "difftool", "format-patch", "archive", "bundle", "cat-file", "checkout-index", "diff-index", "fast-export",
	"range-diff", "pack-objects", "unpack-file")

// said reports whether a word is among those of the command.
func (e *effector) said(word string) bool {
	for i := range e.words[1:] {
		if e.words[i+1].Text == word {
			return true
		}
	}
	return false
}

// untracked are the options by which files are added that were not before.
var untracked = set("-A", "-u", "-a")

// added returns the files whose contents a command of git puts into its objects. A
// name without an extension may be a directory.
func added(scan Scan, words []Word) []Word {
	if len(scan.Path) == 0 || scan.Path[0] != "add" && scan.Path[0] != "stash" {
		return nil
	}
	everything := Word{Holes: []Hole{{Kind: AnyText}}}
	var files []Word
	for _, a := range scan.Args {
		switch {
		case a.Kind == ArgOption && untracked.has(a.Option.Names[0]) && (scan.Path[0] != "add" || a.Option.Names[0] == "-A"):
			return []Word{everything}
		case a.Kind != ArgOperand && a.Kind != ArgUnsure || scan.Path[0] == "stash":
			continue
		}
		w := words[a.Word]
		if name := base(w.Text); !w.Known() || w.Text == "" || strings.Trim(w.Text, "./") == "" || strings.HasPrefix(w.Text, ":") {
			return []Word{everything}
		} else if !strings.Contains(strings.TrimPrefix(name, "."), ".") {
			files = append(files, joinPath(w, everything))
		}
		files = append(files, w)
	}
	return files
}
