package patterns

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// maxPath is the maximum length of a path that is matched, in bytes. Longer
// paths prove nothing.
const maxPath = 4 << 10

// Path is a path of a tool use, prepared once for all rules, both as written
// and with symbolic links resolved. It is read-only.
type Path struct {
	place Place
	// forms holds the written form, then the resolved one if it differs. An allow
	// rule must match both, an ask or deny rule any.
	forms []form
	first [1]form // storage for forms
	// also holds further interpretations, for ask and deny only.
	also []form
	// odd is why the path may name another file than it seems to, "" if it does
	// not. Such a path proves nothing, and ask and deny rules may match it.
	odd string
	// lost is set if the target of symbolic links is unknown, so that nothing is
	// proven; blind is set if that is so although the path is known, so that the
	// target may be any path.
	lost, blind bool
}

// form is one spelling of a path: cleaned segments.
type form struct {
	segs []segment
	// text is the path itself, cleaned, if all of it is known.
	text string
	// word is the path with its holes, as far as it is known.
	word shell.Word
}

// segment is one name of a path, or (deep) any number of unknown ones.
type segment struct {
	text  string
	holes []shell.Hole
	deep  bool
}

// NewPath prepares a path. dir is the directory to which a relative path
// refers, "" if it is unknown. resolve resolves symbolic links in an absolute
// path; if it is nil or not ok, their target is unknown.
func NewPath(word shell.Word, dir string, place Place, resolve func(string) (string, bool)) *Path {
	p := &Path{place: place}
	if word.Split && !globOnly(word.Holes) {
		// The fields into which the word may split need not end as the word does.
		word.Holes = append(word.Holes[:len(word.Holes):len(word.Holes)], shell.Hole{At: len(word.Text)})
	}
	switch {
	case len(word.Text) > maxPath:
		p.odd = "the path is longer than 4 KiB"
	case word.Text == "" && len(word.Holes) == 0:
		p.odd = "the path is empty"
	}
	if p.odd != "" {
		p.forms = []form{unknownForm()}
		return p
	}
	p.tilde(&word, dir)
	if drive, ok := drivePath(word); ok {
		p.also = append(p.also, newForm(drive))
	}
	word = rooted(word, dir)
	written := newForm(word)
	p.forms = append(p.first[:0], written)
	p.resolve(word, written, resolve)
	if strings.Contains(word.Text, "..") && passesMagic(word.Text) {
		p.odd = leadsAway
	}
	for i := range p.forms {
		p.suspect(&p.forms[i])
		if place.Fold && !isASCII(p.forms[i].word.Text) {
			p.also = append(p.also, asciiForm(p.forms[i]))
		}
		p.also = originals(p.also, &p.forms[i])
	}
	return p
}

// drivePath returns a path of Windows as shells there write it, and rules: /c/Web for
// C:\Web. Elsewhere it is the name of a file, so that this is for ask and deny only.
func drivePath(word shell.Word) (shell.Word, bool) {
	if !isWindows(word.Text) || word.Text[0] == '/' || len(word.Holes) > 0 && word.Holes[0].At < 3 {
		return word, false
	}
	text := []byte(strings.ReplaceAll(word.Text, `\`, "/"))
	text[0], text[1] = '/', text[0]|0x20
	word.Text = string(text)
	return word, true
}

// Worktrees are the names of the directory in which the agent CLI creates copies of a
// repository: .claude/worktrees/NAME below its root.
var Worktrees = []string{".claude", "worktrees"}

// originals appends what a form in a copy of a repository is a copy of, so that rules
// that ask or deny hold in the copy, too.
func originals(also []form, f *form) []form {
	for at := len(f.segs) - len(Worktrees) - 1; at >= 0; at-- {
		if named := strings.EqualFold(f.segs[at].text, Worktrees[0]) && strings.EqualFold(f.segs[at+1].text, Worktrees[1]); named &&
			len(f.segs[at].holes)+len(f.segs[at+1].holes) == 0 {
			original := form{segs: slices.Concat(f.segs[:at], f.segs[at+len(Worktrees)+1:])}
			also = originals(append(also, original), &original)
			break
		}
	}
	return also
}

// globOnly reports whether there is unknown text and all of it comes from
// pathname expansion.
func globOnly(holes []shell.Hole) bool {
	for _, h := range holes {
		if h.Kind == shell.AnyText {
			return false
		}
	}
	return len(holes) > 0
}

// asciiForm returns the form with unknown text in place of each non-ASCII
// letter, which a case-insensitive file system may equate with other letters or
// ignore.
func asciiForm(f form) form {
	var out form
	for _, s := range f.segs {
		t := segment{deep: s.deep, holes: s.holes}
		if isASCII(s.text) {
			t.text = s.text
		} else {
			t.holes = nil
			for _, r := range s.text {
				if r < unicode.MaxASCII {
					t.text += string(r)
				} else {
					t.holes = append(t.holes, shell.Hole{At: len(t.text), Kind: shell.Glob})
				}
			}
		}
		out.segs = append(out.segs, t)
	}
	return out
}

// passesMagic reports whether a path, before cleaning, goes through a link of
// the kernel and up again.
func passesMagic(text string) bool {
	var segs []segment
	for _, name := range strings.Split(text, "/") {
		if name != "" && name != "." {
			segs = append(segs, segment{text: name})
		}
	}
	for i := range segs {
		if magic(segs[i:]) {
			return true
		}
	}
	return false
}

func unknownForm() form {
	return form{segs: []segment{{deep: true}}, word: shell.Word{Holes: []shell.Hole{{}}}}
}

// tilde interprets a "~" at the beginning as the file tools do. A file of that
// name is possible as well.
func (p *Path) tilde(word *shell.Word, dir string) {
	rest, ok := strings.CutPrefix(word.Text, "~")
	if !ok || len(word.Holes) > 0 && word.Holes[0].At < 1 {
		return
	}
	p.also = append(p.also, newForm(rooted(*word, dir)))
	if p.place.Home == "" || rest != "" && rest[0] != '/' || len(word.Holes) > 0 && word.Holes[0].At == 1 {
		p.odd = "it is in the home directory of an unknown user"
		return
	}
	*word = shift(*word, 1, p.place.Home)
}

// shift replaces the first n bytes of a word with head.
func shift(word shell.Word, n int, head string) shell.Word {
	holes := make([]shell.Hole, len(word.Holes))
	for i, h := range word.Holes {
		holes[i] = shell.Hole{At: h.At - n + len(head), Kind: h.Kind}
	}
	if len(holes) == 0 {
		holes = nil
	}
	word.Text, word.Holes = head+word.Text[n:], holes
	return word
}

// rooted makes a word absolute. A relative path in an unknown directory may
// begin anywhere.
func rooted(word shell.Word, dir string) shell.Word {
	if strings.HasPrefix(word.Text, "/") && (len(word.Holes) == 0 || word.Holes[0].At > 0) {
		return word
	}
	if len(word.Holes) > 0 && word.Holes[0].At == 0 && word.Holes[0].Kind == shell.AnyText {
		return word // it may be absolute
	}
	if path.IsAbs(dir) {
		return shift(word, 0, strings.TrimSuffix(dir, "/")+"/")
	}
	word = shift(word, 0, "/")
	word.Holes = append([]shell.Hole{{}}, word.Holes...)
	return word
}

// newForm splits a word at its slashes and cleans it.
func newForm(word shell.Word) form {
	if len(word.Holes) == 0 {
		return knownForm(path.Clean(word.Text))
	}
	f := form{word: cleanWord(word)}
	at := 0
	for at <= len(word.Text) {
		end := strings.IndexByte(word.Text[at:], '/')
		if end < 0 {
			end = len(word.Text)
		} else {
			end += at
		}
		f.push(cut(word, at, end))
		at = end + 1
	}
	return f
}

func knownForm(text string) form {
	f := form{text: text, word: shell.Word{Text: text}}
	if text == "/" {
		return f
	}
	f.segs = make([]segment, 0, strings.Count(text, "/"))
	for name := range strings.SplitSeq(text[1:], "/") {
		f.segs = append(f.segs, segment{text: name})
	}
	return f
}

// cut returns the part of a word from one byte offset to another as a segment.
func cut(word shell.Word, from, to int) segment {
	s := segment{text: word.Text[from:to]}
	for _, h := range word.Holes {
		// A hole between two segments belongs to the one before the slash.
		if h.At >= from && h.At <= to {
			s.holes = append(s.holes, shell.Hole{At: h.At - from, Kind: h.Kind})
		}
	}
	return s
}

// push adds a segment, cleaning the path. Unknown text may contain slashes and
// "..", so that nothing before it is certain.
func (f *form) push(s segment) {
	last := -1
	for i, h := range s.holes {
		if h.Kind == shell.AnyText {
			last = i
		}
	}
	switch {
	case last >= 0:
		f.segs = append(f.segs[:0], segment{deep: true})
		if at := s.holes[last].At; at < len(s.text) {
			rest := segment{text: s.text[at:], holes: []shell.Hole{{}}}
			for _, h := range s.holes[last+1:] {
				rest.holes = append(rest.holes, shell.Hole{At: h.At - at, Kind: h.Kind})
			}
			f.segs = append(f.segs, rest)
		}
	case len(s.holes) > 0 && s.text != "" && strings.Trim(s.text, ".") == "" && s.holes[0].At > 0:
		f.segs = append(f.segs[:0], segment{deep: true}) // ".*" may be ".."
	case len(s.holes) == 0 && (s.text == "" || s.text == "."):
	case len(s.holes) == 0 && s.text == "..":
		if n := len(f.segs); n > 0 && !f.segs[n-1].deep {
			f.segs = f.segs[:n-1]
		}
	default:
		f.segs = append(f.segs, s)
	}
}

// cleanWord removes doubled slashes and "." from the known part of a word with
// holes.
func cleanWord(word shell.Word) shell.Word {
	if len(word.Holes) == 0 {
		return shell.Word{Text: path.Clean(word.Text)}
	}
	at := strings.LastIndexByte(word.Text[:word.Holes[0].At], '/')
	if at < 0 {
		return shell.Word{Text: word.Text, Holes: word.Holes}
	}
	lead := path.Clean(word.Text[:at+1])
	if lead != "/" {
		lead += "/"
	}
	clean := shift(word, at+1, lead)
	return shell.Word{Text: clean.Text, Holes: clean.Holes}
}

// resolve adds the form with symbolic links resolved, in the whole path or in
// the directory before the first unknown name.
func (p *Path) resolve(word shell.Word, written form, resolve func(string) (string, bool)) {
	lead, rest := word.Text, ""
	if len(word.Holes) > 0 {
		at := strings.LastIndexByte(word.Text[:word.Holes[0].At], '/') + 1
		lead, rest = word.Text[:at], word.Text[at:]
	}
	if !path.IsAbs(lead) || written.deep() {
		p.lost = true
		return
	}
	real, ok := "", false
	if resolve != nil {
		real, ok = resolve(lead)
	}
	if !ok || !path.IsAbs(real) {
		p.lost, p.blind = true, true
		return
	}
	real = path.Clean(real)
	if len(word.Holes) == 0 {
		if real != written.word.Text {
			p.forms = append(p.forms, newForm(shell.Word{Text: real}))
		}
		return
	}
	head := strings.TrimSuffix(real, "/") + "/"
	resolved := newForm(shift(word, len(word.Text)-len(rest), head))
	if resolved.word.Text != written.word.Text {
		p.forms = append(p.forms, resolved)
	}
}

// Plain returns the path if all of it is known, it contains no symbolic links
// and nothing about it is odd: rules match two such paths of equal text alike.
// Otherwise it returns "".
func (p *Path) Plain() string {
	if p.odd != "" || p.lost || p.blind || len(p.also) > 0 || len(p.forms) != 1 {
		return ""
	}
	return p.forms[0].text
}

// Expands returns the directory, with links resolved, in which pathname
// expansion begins to create names of the path, and the number of levels of the
// path below it. depth is 0 if the names are known, or if nothing is.
func (p *Path) Expands() (dir string, depth int) {
	if p.odd != "" || p.lost || len(p.forms) == 0 {
		return "", 0
	}
	f := &p.forms[len(p.forms)-1]
	for i := range f.segs {
		if len(f.segs[i].holes) > 0 {
			return "/" + joined(f.segs[:i]), len(f.segs) - i
		}
	}
	return "", 0
}

func joined(segs []segment) string {
	names := make([]string, 0, len(segs))
	for i := range segs {
		names = append(names, segs[i].text)
	}
	return strings.Join(names, "/")
}

// Lose records that the target of the path is unknown, so that it proves
// nothing.
func (p *Path) Lose() { p.lost = true }

// Doubt records why the path may name another file than it seems to.
func (p *Path) Doubt(why string) {
	if p.odd == "" {
		p.odd = why
	}
}

// deep reports whether nothing is known about where the path leads.
func (f *form) deep() bool { return len(f.segs) > 0 && f.segs[0].deep }

const leadsAway = "it goes through /proc or /dev, which depend on the running process"

// suspect records why a form may name another file than it seems to.
func (p *Path) suspect(f *form) {
	if p.odd != "" {
		return
	}
	text := f.word.Text
	switch {
	case strings.ContainsFunc(text, unicode.IsControl):
		p.odd = "it contains a control character"
	case magic(f.segs):
		p.odd = leadsAway
	case p.place.Fold && foldedName(f.segs):
		p.odd = "the file system may treat it as another name"
	}
}

// magic reports whether a path goes through a link of the kernel to a process's
// open files, directory or root.
func magic(segs []segment) bool {
	switch {
	case len(segs) < 2:
		return false
	case segs[0].text == "dev":
		return segs[1].text == "fd"
	}
	return segs[0].text == "proc" && (len(segs[1].holes) > 0 || kernelLink(segs[2:]))
}

func kernelLink(segs []segment) bool {
	for i := range segs {
		switch segs[i].text {
		case "root", "cwd", "fd", "map_files", "exe":
			return true
		}
		if len(segs[i].holes) > 0 {
			return true
		}
	}
	return false
}

// foldedName reports whether a case-insensitive file system may equate a name
// with another: one with a trailing dot or space, a short 8.3 name, or one with
// a backslash or a colon.
func foldedName(segs []segment) bool {
	for i := range segs {
		text := segs[i].text
		if text == "" {
			continue
		}
		last := text[len(text)-1]
		if last == '.' || last == ' ' || strings.ContainsAny(text, `\:`) {
			return true
		}
		if at := strings.LastIndexByte(text, '~'); at > 0 && at+1 < len(text) && text[at+1] >= '0' && text[at+1] <= '9' {
			return true
		}
	}
	return false
}

func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Forms returns the path as written and, if it differs, as resolved: absolute
// and cleaned as far as known, with holes for unknown text. The caller must not
// modify them.
func (p *Path) Forms() []shell.Word {
	words := make([]shell.Word, 0, len(p.forms))
	for i := range p.forms {
		words = append(words, p.forms[i].word)
	}
	return words
}

// String returns the path as written, with "…" for unknown text.
func (p *Path) String() string {
	return p.forms[0].word.Filled("…")
}

// Inside reports whether the path is the workspace or inside it. It is Yes only
// if both forms prove it.
func (p *Path) Inside() Match {
	if p.place.Workspace == "" {
		return Maybe
	}
	if p.odd != "" || p.lost {
		return Maybe
	}
	dir, best := path.Clean(p.place.Workspace), Yes
	for i := range p.forms {
		in := p.forms[i].within(dir, p.place.Fold)
		for _, root := range p.place.Roots {
			in = max(in, p.forms[i].within(path.Clean(root), p.place.Fold))
		}
		best = min(best, in)
	}
	return best
}

// Under reports whether the path is below one of the directories, which are
// absolute and clean. It is Yes only if all forms prove it.
func (p *Path) Under(dirs ...string) Match {
	if p.odd != "" || p.lost {
		return Maybe
	}
	best := Yes
	for i := range p.forms {
		below := No
		for _, dir := range dirs {
			if len(p.forms[i].segs) > strings.Count(dir, "/") {
				below = max(below, p.forms[i].within(dir, p.place.Fold))
			}
		}
		best = min(best, below)
	}
	return best
}

// within reports whether a form is in a directory, whose path is clean.
func (f *form) within(dir string, fold bool) Match {
	switch {
	case f.deep():
		return Maybe
	case dir[0] != '/':
		return No
	}
	n := 0
	for rest := dir[1:]; rest != ""; n++ {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if n >= len(f.segs) {
			return No
		}
		s := &f.segs[n]
		if len(s.holes) > 0 {
			return Maybe
		}
		if !sameName(s.text, name, fold) {
			return No
		}
	}
	for ; n < len(f.segs); n++ {
		if f.segs[n].deep {
			return Maybe
		}
	}
	return Yes
}

// Within returns the result of Inside for the path that NewPath would prepare.
// It is faster for the workspace itself, from which commands take their
// settings.
func Within(word shell.Word, dir string, place Place, resolve func(string) (string, bool)) Match {
	if resolve != nil && word.Known() && word.Text == place.Workspace && !place.Fold && ordinary(word.Text) {
		if real, ok := resolve(word.Text); ok && real == word.Text {
			return Yes
		}
	}
	return NewPath(word, dir, place, resolve).Inside()
}

// ordinary reports whether an absolute path is clean and names what it seems
// to, so that it needs no further checks.
func ordinary(text string) bool {
	if text == "" || text[0] != '/' || len(text) > maxPath || strings.HasPrefix(text, "/proc/") || strings.HasPrefix(text, "/dev/") {
		return false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c <= ' ' || c >= 0x7f:
			return false
		case c != '/':
		case i+1 == len(text) || text[i+1] == '/' || text[i+1] == '.':
			return false
		}
	}
	return !strings.Contains(text, "..")
}
