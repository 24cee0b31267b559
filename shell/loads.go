package shell

import (
	"slices"
	"strings"
)

// load reads what a program obeys or sends: a manifest, a chart, a build
// context, an asset. One that comes from another machine is what the
// subcommand is for, not what the program is for: a rule has to name it.
func (e *effector) load(w Word, what string) {
	for _, scheme := range []string{"file://", "fileb://"} {
		if strings.HasPrefix(w.Text, scheme) && !w.holeAt(0) {
			w = cutWord(w, len(scheme))
		}
	}
	switch {
	case w.Known() && (w.Text == "" || w.Text == "-"):
	case remoteSource(&w):
		e.apartLate(causeRemoteSource, what)
	default:
		e.read(w, NeedOutside, what)
	}
}

// loadPairs is load for each PATH of [NAME=]PATH,…
func (e *effector) loadPairs(w Word, what string) {
	for _, piece := range pieces(w, ',') {
		if at := strings.IndexByte(piece.Text, '='); at >= 0 {
			piece = cutWord(piece, at+1)
		}
		e.load(piece, what)
	}
}

// pieces are the parts of a word between separators.
func pieces(w Word, sep byte) []Word {
	var out []Word
	for {
		at := strings.IndexByte(w.Text, sep)
		if at < 0 {
			return append(out, w)
		}
		out = append(out, headWord(w, 0, at))
		w = cutWord(w, at+1)
	}
}

// remoteSource reports whether a word names something on another machine: a
// URL, user@host:path, or a repository as kustomize and docker write it
// (github.com/o/r, gh:o/r, host/x.git//dir, host/x.git?ref=v1), in whatever case.
func remoteSource(w *Word) bool {
	text := strings.ToLower(w.Text)
	if head, _, ok := strings.Cut(text, ":"); ok && strings.Contains(head, "@") && !strings.Contains(head, "/") {
		return true
	}
	if len(w.Holes) > 0 && strings.Contains(text, ".git") { // ? may be a pattern
		return true
	}
	return strings.Contains(text, "://") ||
		strings.HasPrefix(text, "github.com/") || strings.HasPrefix(text, "gh:") ||
		strings.Contains(text, ".git//") || strings.Contains(text, ".git?") || strings.Contains(text, ".git#") || strings.Contains(text, "/_git/")
}

// apartLate asks for a rule that names the subcommand; where there is none,
// for one with the very words.
func (e *effector) apartLate(c Cause, names ...string) {
	if e.index < 0 {
		return
	}
	at := e.subcommandAt()
	if at == 0 {
		e.unprovenLate(c, names...)
	}
	a := &e.w.facts.Actions[e.index]
	a.Reach = max(a.Reach, at)
}

// subcommandAt is the index of the word that names the innermost subcommand, 0
// for none.
func (e *effector) subcommandAt() int {
	at := 0
	for _, a := range e.scan.Args {
		if a.Kind == ArgSubcommand {
			at = a.Word
		}
	}
	return at
}

// plugin runs the program that a subcommand is which the entry does not list:
// git x is git-x.
func (e *effector) plugin() {
	if !e.prog.Plugins || len(e.scan.Path) > 0 {
		return
	}
	for _, a := range e.scan.Args {
		t := &e.words[a.Word]
		if a.Kind != ArgUnlisted || strings.HasPrefix(t.Text, "-") {
			continue
		}
		name := joinText(Word{Text: e.prog.Name + "-"}, *t)
		e.runList(append([]Word{name}, e.words[a.Word+1:]...), -1)
		return
	}
}

// homeFile is a file of the user's that the subcommand is there to write
// (kubectl config set).
func (e *effector) homeFile() {
	if name := e.sub().Home; name != "" {
		e.write(joinPath(known(e.w.opt.Home), Word{Text: name}), NeedNone, false, "settings of "+e.prog.Name)
	}
}

// part reads words as those of a program that this one does the work of, which
// needs no cover of its own: gh repo clone hands git clone its words behind --.
// They begin at the index from of the words here; -1 if they do not stand there.
func (e *effector) part(words []Word, from int) {
	if e.w.depth >= maxNesting {
		e.odd(causeDeep)
		return
	}
	e.w.depth++
	defer func() { e.w.depth-- }()
	m := Action{
		Kind: Command, Need: NeedNone, Words: words, Dirs: e.dirs,
		Program: e.w.opt.Catalog.Lookup(words[0].Text), Parent: e.index, From: -1,
	}
	at := len(e.w.facts.Actions)
	e.w.recurse.effects(m, e.child())
	if at >= len(e.w.facts.Actions) || e.index < 0 {
		return
	}
	inner, own := &e.w.facts.Actions[at], &e.w.facts.Actions[e.index]
	if inner.Unproven() {
		e.doubted(inner.Why)
		own.Exact = own.Exact || inner.Exact
	}
	switch {
	case inner.Reach > 0 && from >= 0:
		own.Reach = max(own.Reach, from+inner.Reach)
	case inner.Reach > 0:
		e.unprovenLate(causeMoreThanUsual, words[0].Text)
	}
}

// aws: the value of any parameter that begins with file:// or fileb:// is the
// content of that file (AWS CLI user guide, "Load a parameter from a file").
func (e *effector) aws() {
	e.awsOutput()
	for _, t := range e.words[1:] {
		for _, piece := range pieces(t, ',') {
			for _, scheme := range []string{"file://", "fileb://"} {
				if at := strings.Index(piece.Text, scheme); at >= 0 {
					e.read(cutWord(piece, at+len(scheme)), NeedOutside, "a parameter of aws")
				}
			}
		}
	}
}

// awsOutput: an operation whose answer is a stream writes it to the file that its
// last word names (AWS CLI reference, "outfile").
func (e *effector) awsOutput() {
	last := len(e.words) - 1
	if last > 2 && slices.ContainsFunc(e.words[1:last], func(w Word) bool { return awsStreams[w.Text] }) && !strings.HasPrefix(e.words[last].Text, "-") {
		e.write(e.words[last], NeedCover, false, "output of aws")
	}
}

// awsStreams are the operations whose answer is a stream, but for those that the
// catalogue has.
var awsStreams = set(
	"synthesize-speech", "get-media", "get-clip", "get-media-for-fragment-list", "get-export", "get-sdk", "get-package-version-asset", "get-snapshot-block",
	"get-raw-message-content", "post-content", "put-session", "recognize-utterance", "invoke-endpoint", "invoke-model", "get-map-tile", "get-map-sprites", "get-map-glyphs",
	"get-map-style-descriptor", "get-latest-configuration", "get-configuration", "describe-input-device-thumbnail", "get-code-binding-source", "get-image-frame",
	"get-image-set-metadata", "get-read-set", "get-reference", "get-object-torrent", "get-tile",
)

// azure: the value of any argument that begins with @ is the content of that
// file (Azure CLI, "Use quotation marks").
func (e *effector) azure() {
	for _, t := range e.words[1:] {
		if at := strings.IndexByte(t.Text, '@'); at == 0 || at > 0 && t.Text[at-1] == '=' {
			e.read(cutWord(t, at+1), NeedOutside, "an argument of az")
		}
	}
}

// behindDashes are the words behind the first --, and whether it is there.
func (e *effector) behindDashes() ([]Word, bool) {
	at := slices.IndexFunc(e.scan.Args, func(a Arg) bool { return a.Kind == ArgDashes })
	if at < 0 {
		return nil, false
	}
	return e.words[e.scan.Args[at].Word+1:], true
}

// kubectl: some forms of output read a template from a file (kubectl reference,
// "Output options").
func (e *effector) kubectl() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || len(a.Option.Names) == 0 {
			continue
		}
		switch form, _, found := strings.Cut(a.Value.Text, "="); {
		case a.Option.Names[0] == "-o" && found && strings.HasSuffix(form, "file"):
			e.load(cutWord(a.Value, len(form)+1), "option -o of kubectl")
		case a.Option.Names[0] == "--template" && strings.IndexAny(a.Value.Text, "/~") == 0:
			e.load(a.Value, "option --template of kubectl")
		}
	}
}

// compose: a file may come from another machine (docker compose reference, -f).
func (e *effector) compose() {
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && slices.Contains(a.Option.Names, "--file") && remoteSource(&a.Value) {
			e.apartLate(causeRemoteSource, "option -f of "+e.prog.Name)
		}
	}
}
