package patterns

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// shape is the interpretation of a rule's words for ask and deny: the program,
// its positional words in order, and its options anywhere before "--".
type shape struct {
	// words are the program, its subcommands, operands and options, and may
	// contain wildcards. If there is no program (any), they are options only.
	words []string
	any   bool
	open  bool // more operands and options may follow
	// respelled: the program is not the rule's own, but another name of it.
	respelled bool
	sure      Match // of a respelled one: how well it can match

	read atomic.Pointer[reading]
}

// reading is a shape interpreted by the entry of a program.
type reading struct {
	prog  *program.Program
	words []shell.Word
	scan  shell.Scan
	subs  []string // the main names of its subcommands
}

// stranger is the entry of programs that the catalogue lacks.
var stranger = &program.Program{Operands: program.Unread}

// shapesOf interprets the words of a rule with wildcards. A final "push*" is
// treated as "push *" as well; "/*" and "--author=*" remain patterns of one
// word.
func shapesOf(words []string, open bool) []*shape {
	last := len(words) - 1
	head, starred := strings.CutSuffix(words[last], wildcard)
	if !starred || head == "" {
		return usable(shapeOf(words, open))
	}
	shapes := usable(shapeOf(words, true))
	if strings.Trim(head, "-") != "" && !strings.HasSuffix(head, "=") {
		shapes = append(shapes, usable(shapeOf(append(words[:last:last], head), true))...)
	}
	return shapes
}

func usable(s *shape) []*shape {
	if s == nil {
		return nil
	}
	return []*shape{s}
}

// shapeOf interprets words as a shape, nil if that is impossible. A wildcard
// word may be followed by options, but not by operands, whose position would be
// unknown.
func shapeOf(words []string, open bool) *shape {
	s := &shape{open: open}
	gap := false
	for i, w := range words {
		switch {
		case w == wildcard:
			gap, s.open = true, true
			s.any = s.any || i == 0
		case gap && (strings.Trim(withoutStars(w), "-") == "" || !strings.HasPrefix(w, "-")):
			return nil
		default:
			s.words = append(s.words, w)
		}
	}
	if len(s.words) == 0 || !s.any && strings.IndexByte(s.words[0], wild) >= 0 {
		return nil
	}
	return s
}

// match matches the shape against a command, and against commands that an
// unknown program may run.
func (s *shape) match(sub *Subject, place Place) Match {
	switch {
	case !s.respelled:
		return s.matchSubject(sub, place)
	case sub.shortened && s.sure == Maybe:
		return No // python3.12 is no python3.11, though both may be python3
	}
	return min(s.sure, s.matchSubject(sub, place))
}

// maxInner is how often the name of a rule's program may stand among the words of an
// unknown program. More of them possibly match.
const maxInner = 64

func (s *shape) matchSubject(sub *Subject, place Place) Match {
	a := sub.Command
	best := s.matchWords(a.Words, a.Program, sub, a.Dirs, place)
	if best > No || a.Program != nil || s.any || !a.Words[0].Known() {
		return best
	}
	name, found := lastSegment(s.words[0]), 0
	for i := 1; i < len(a.Words); i++ {
		w := &a.Words[i]
		if !w.Known() || lastSegment(w.Text) != name {
			continue
		}
		if found++; found > maxInner {
			return Maybe
		}
		inner := program.Lookup(lastSegment(w.Text))
		if s.matchWords(a.Words[i:], inner, nil, a.Dirs, place) > No {
			return Maybe
		}
	}
	return No
}

func (s *shape) matchWords(words []shell.Word, prog *program.Program, sub *Subject, dirs []shell.Word, place Place) Match {
	head := Yes
	known := words[0].Known()
	if !s.any {
		if head = isProgram(s.words[0], &words[0], dirs, place); head == No {
			return No
		}
	}
	switch {
	case !known && words[0].Split:
		return Maybe // it may split into any words
	case !known && s.any:
		return maybeIf(mayHaveOptions(words[1:]))
	case !known:
		prog = program.Lookup(lastSegment(s.words[0]))
	}
	entry := program.Spellings(prog, lastSegment(words[0].Text))
	if prog == nil {
		prog = stranger
	}
	var have shell.Scan
	switch {
	case sub == nil || sub.Command.Program != prog:
		have = shell.ScanWords(prog, words)
	default:
		have = sub.scanned()
	}
	r := s.reading(prog)
	m := r.match(&have, words, s.open)
	if m == No && entry != nil && entry.Abbreviates {
		m = maybeIf(r.abbreviated(&have, words, s.open))
	}
	return min(head, m)
}

func mayHaveOptions(words []shell.Word) bool {
	for i := range words {
		if strings.HasPrefix(words[i].Text, "-") || words[i].MayBeOption() {
			return true
		}
	}
	return false
}

// scanned returns the words of the subject's command as interpreted by its
// program.
func (sub *Subject) scanned() shell.Scan {
	if sub.scan.Prog == nil {
		sub.scan = shell.ScanWords(sub.Command.Program, sub.Command.Words)
	}
	return sub.scan
}

// reading returns the rule's words as interpreted by the program.
func (s *shape) reading(prog *program.Program) *reading {
	if r := s.read.Load(); r != nil && r.prog == prog {
		return r
	}
	r := &reading{prog: prog}
	if s.any {
		r.words = append(r.words, shell.Word{Text: prog.Name})
	}
	for _, w := range s.words {
		r.words = append(r.words, shell.Word{Text: w})
	}
	r.scan = shell.ScanWords(prog, r.words)
	r.subs = mainNames(prog, &r.scan, r.words)
	s.read.Store(r)
	return r
}

// mainNames returns the main names of the subcommands among words.
func mainNames(prog *program.Program, scan *shell.Scan, words []shell.Word) []string {
	names, n := scan.Path, 0
	for i := range scan.Args {
		a := &scan.Args[i]
		if a.Kind != shell.ArgSubcommand {
			continue
		}
		prog = prog.Subcommand(words[a.Word].Text)
		if main := prog.Main(); names[n] != main {
			names = slices.Clone(names) // the table of the program
			names[n] = main
		}
		n++
	}
	return names
}

// isProgram matches the rule's program against a command's first word. A name
// without a slash is compared with the last path segment.
func isProgram(want string, w *shell.Word, dirs []shell.Word, place Place) Match {
	if strings.Contains(want, "/") {
		return isProgramAt(want, w, dirs, place)
	}
	if w.Known() {
		return yesIf(sameName(want, lastSegment(w.Text), place.Fold))
	}
	if w.Split && !staysFile(w) {
		return Maybe
	}
	return maybeIf(nameMeets(want, w))
}

// staysFile reports whether a word that may split begins with a known directory
// and has no unknown text with slashes: "./bin/*.sh".
func staysFile(w *shell.Word) bool {
	for _, h := range w.Holes {
		if h.Kind == shell.AnyText {
			return false
		}
	}
	return len(w.Holes) > 0 && strings.Contains(w.Text[:w.Holes[0].At], "/")
}

func nameMeets(want string, w *shell.Word) bool {
	p := textPattern{chunks: []string{want}}
	whole := *w
	whole.Split = false
	return p.meets(lastSteps(wordSteps(nil, &whole, false)))
}

func sameName(a, b string, fold bool) bool {
	return a == b || fold && strings.EqualFold(a, b)
}

// systemDirs are directories that are often links to each other.
var systemDirs = map[string]bool{
	"/bin": true, "/sbin": true, "/usr/bin": true, "/usr/sbin": true, "/usr/local/bin": true, "/usr/local/sbin": true,
}

// isProgramAt matches a program given by a path against a command's first word.
func isProgramAt(want string, w *shell.Word, dirs []shell.Word, place Place) Match {
	name := lastSegment(want)
	if !w.Known() {
		return maybeIf(w.Split || nameMeets(name, w) || path.Base(want) != name)
	}
	if !sameName(name, lastSegment(w.Text), place.Fold) {
		return No
	}
	target := under(place.Workspace, want)
	if !strings.Contains(w.Text, "/") {
		return maybeIf(path.IsAbs(want)) // found through PATH
	}
	if sameName(path.Clean(w.Text), path.Clean(want), place.Fold) {
		return Yes
	}
	if path.IsAbs(w.Text) {
		return sameFile(target, path.Clean(w.Text), place.Fold)
	}
	best := No
	for i := range dirs {
		if !dirs[i].Known() || dirs[i].Text == "" {
			best = max(best, Maybe)
			continue
		}
		best = max(best, sameFile(target, under(dirs[i].Text, w.Text), place.Fold))
	}
	if len(dirs) == 0 {
		best = Maybe
	}
	return best
}

func sameFile(a, b string, fold bool) Match {
	if sameName(a, b, fold) {
		return Yes
	}
	return maybeIf(systemDirs[path.Dir(a)] && systemDirs[path.Dir(b)])
}

// under returns the path of a name in dir.
func under(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// match compares the rule's arguments with those of a command.
func (r *reading) match(have *shell.Scan, words []shell.Word, open bool) Match {
	if r.agreed(have, words) < len(r.scan.Path) {
		return r.astray(have, words)
	}
	best := r.options(have, words)
	if best == No {
		return No
	}
	best = min(best, r.operands(have, words, open))
	if !open && best > No {
		best = min(best, r.nothingElse(have, words))
	}
	return best
}

// agreed returns how many subcommands of the rule are those of a command, in order.
// Synonyms are the same subcommand.
func (r *reading) agreed(have *shell.Scan, words []shell.Word) int {
	n, prog := 0, r.prog
	for i := range have.Args {
		a := &have.Args[i]
		if n == len(r.scan.Path) {
			break
		}
		if a.Kind != shell.ArgSubcommand {
			continue
		}
		if prog = prog.Subcommand(words[a.Word].Text); prog == nil || prog.Main() != r.subs[n] {
			break
		}
		n++
	}
	return n
}

// astray handles a command whose subcommand is not the rule's. It may still be,
// if a word before it is not listed or only known at run time.
func (r *reading) astray(have *shell.Scan, words []shell.Word) Match {
	agreed := r.agreed(have, words)
	unclear := false
	for i := range have.Args {
		a := &have.Args[i]
		if a.Kind == shell.ArgSubcommand {
			if agreed--; agreed < 0 {
				break
			}
			continue
		}
		if a.Kind == shell.ArgUnsure || a.Kind == shell.ArgUnlisted || !words[a.Word].Known() {
			unclear = true
		}
	}
	if !unclear {
		return No
	}
	return maybeIf(anyOrder(r.words[1:], words[1:]))
}

// anyOrder reports whether each wanted word may be among words.
func anyOrder(want, words []shell.Word) bool {
	for i := range want {
		found := want[i].Text == "--"
		for j := range words {
			found = found || fits(want[i].Text, &words[j]) > No || words[j].Split && words[j].MayBeOption()
		}
		if !found {
			return false
		}
	}
	return true
}

// options looks for each option of the rule before "--".
func (r *reading) options(have *shell.Scan, words []shell.Word) Match {
	best := Yes
	for i := range r.scan.Args {
		want := &r.scan.Args[i]
		switch want.Kind {
		case shell.ArgOption:
			best = min(best, r.option(want, have, words))
		case shell.ArgUnlisted:
			best = min(best, r.unlisted(want, have, words))
		case shell.ArgDashes:
			best = min(best, r.dashes(have, words))
		}
		if best == No {
			return No
		}
	}
	return best
}

// dashes looks for "--".
func (r *reading) dashes(have *shell.Scan, words []shell.Word) Match {
	best := No
	for i := range have.Args {
		switch a := &have.Args[i]; a.Kind {
		case shell.ArgDashes:
			return Yes
		case shell.ArgUnsure, shell.ArgOperand:
			best = max(best, fits("--", &words[a.Word]))
		}
	}
	return best
}

// option looks for an option that the program's entry lists.
func (r *reading) option(want *shell.Arg, have *shell.Scan, words []shell.Word) Match {
	best, sent := r.signals(want, have, words)
	if sent {
		return best
	}
	for i := range have.Args {
		a := &have.Args[i]
		switch a.Kind {
		case shell.ArgOption:
			if r.sameOption(want.Option, a.Option, have) {
				best = max(best, r.value(want, a))
			}
		case shell.ArgUnsure:
			best = max(best, maybeIf(mayHold(&words[a.Word], want.Option, r.prog)))
		case shell.ArgOperand, shell.ArgUnlisted:
			best = max(best, maybeIf(words[a.Word].Split && mayHold(&words[a.Word], want.Option, r.prog)))
		}
		best = max(best, maybeIf(best == No && otherForm(want.Option.Names, a, &words[a.Word])))
	}
	return best
}

// sameOption reports whether two options are the same, including copies in the
// entries of aliases.
func (r *reading) sameOption(a, b *program.Option, have *shell.Scan) bool {
	if a == b {
		return true
	}
	return len(have.Path) == len(r.scan.Path) && len(a.Names) > 0 && len(b.Names) > 0 && a.Names[0] == b.Names[0] &&
		len(a.Names) == len(b.Names)
}

// value compares the values of an option. A rule without a value matches any.
func (r *reading) value(want, have *shell.Arg) Match {
	if want.ValueAt < 0 {
		return Yes
	}
	if have.ValueAt < 0 {
		return No
	}
	if have.Value.Known() && equalText(r.prog, r.scan.Prog, want.Value.Text, have.Value.Text) {
		return Yes
	}
	return fits(want.Value.Text, &have.Value)
}

// unlisted looks by its text for an option that the entry does not list.
func (r *reading) unlisted(want *shell.Arg, have *shell.Scan, words []shell.Word) Match {
	text := r.words[want.Word].Text
	if !strings.HasPrefix(text, "-") {
		return r.unlistedWord(text, have, words)
	}
	best, sent := r.signals(want, have, words)
	if sent {
		return best
	}
	letters := ""
	for i := range have.Args {
		a := &have.Args[i]
		if a.Kind == shell.ArgDashes {
			break
		}
		if a.Kind == shell.ArgOption && named(a.Option, text) {
			return Yes
		}
		best = max(best, maybeIf(otherForm([]string{text}, a, &words[a.Word])))
		if a.Kind != shell.ArgUnlisted && a.Kind != shell.ArgUnsure && a.Kind != shell.ArgOperand {
			continue
		}
		w := &words[a.Word]
		best = max(best, flagText(text, w))
		if cluster(w.Text) {
			letters += w.Text[1:]
		}
		if a.Kind == shell.ArgUnsure {
			best = max(best, maybeIf(mayHold(w, &program.Option{Names: []string{text}, Value: program.Required}, r.prog)))
		}
	}
	if best == No && cluster(text) && strings.Trim(text[1:], letters) == "" {
		return Maybe
	}
	return best
}

// unlistedWord looks for a subcommand that the entry does not list: the first
// word that is not an option.
func (r *reading) unlistedWord(text string, have *shell.Scan, words []shell.Word) Match {
	best, certain := No, Yes
	subs := len(r.scan.Path)
	for i := range have.Args {
		a := &have.Args[i]
		w := &words[a.Word]
		switch {
		case a.Kind == shell.ArgOption:
			continue
		case a.Kind == shell.ArgSubcommand && subs > 0:
			subs--
			continue
		case a.Kind == shell.ArgDashes:
			return best
		case a.Kind == shell.ArgUnsure || a.Kind == shell.ArgUnlisted && strings.HasPrefix(w.Text, "-"):
			certain = Maybe
		}
		best = max(best, min(certain, fits(text, w)))
		if certain == Yes {
			return best
		}
	}
	return best
}

// flagText compares the texts of two options, which match if they are the same,
// if one has a value, or if one abbreviates the other.
func flagText(want string, w *shell.Word) Match {
	if m := fits(want, w); m > No {
		return m
	}
	if !w.Known() || !strings.HasPrefix(w.Text, "-") {
		return No
	}
	name, _, _ := strings.Cut(w.Text, "=")
	switch {
	case name == want:
		return Yes
	case strings.HasPrefix(name, "--") && len(name) > 3 && strings.HasPrefix(want, name):
		return Maybe
	}
	return No
}

// cluster reports whether a word may be several short options.
func cluster(text string) bool {
	return len(text) > 1 && text[0] == '-' && text[1] != '-'
}

// named reports whether an option has this name.
func named(o *program.Option, name string) bool {
	for _, n := range o.Names {
		if n == name {
			return true
		}
	}
	return false
}

// mayHold reports whether a word with holes may be an option, alone, with a
// value, abbreviated, or in a cluster.
func mayHold(w *shell.Word, o *program.Option, prog *program.Program) bool {
	if len(w.Holes) == 0 || w.Split && w.MayBeOption() && !globOnly(w.Holes) {
		return true
	}
	one := *w
	one.Split = false
	steps := wordSteps(nil, &one, false)
	for _, name := range o.Names {
		if len(name) == 2 && prog.Style != program.Dash && prog.Style != program.Joined {
			if clusterMay(&one, prog) {
				return true
			}
			continue
		}
		from := len(name)
		if strings.HasPrefix(name, "--") && prog.Style != program.Exact {
			from = min(3, from)
		}
		for n := from; n <= len(name); n++ {
			alone, valued := textPattern{chunks: []string{name[:n]}}, textPattern{chunks: []string{name[:n] + "=", ""}}
			if alone.meets(steps) || o.Value != program.NoValue && valued.meets(steps) {
				return true
			}
		}
	}
	return false
}

// clusterMay reports whether a word with holes may be a cluster of short
// options: its known letters must be options, up to one that takes the rest as
// its value.
func clusterMay(w *shell.Word, prog *program.Program) bool {
	switch prog.Style {
	case program.Dash, program.Joined, program.NoOpts:
		return false
	}
	known := w.Text
	switch {
	case len(w.Holes) == 0 || strings.HasPrefix(known, "--") && w.Holes[0].At > 1:
		return false
	case w.Holes[0].At > 0:
		if known[0] != '-' {
			return false
		}
		known = known[1:]
	}
	if prog == stranger || w.Holes[0].Kind == shell.AnyText {
		return true
	}
	for i := 0; i < len(known); i++ {
		if !isAlnum(known[i]) {
			return takesValue(prog)
		}
	}
	return true
}

// takesValue reports whether the program has a short option with a value, so
// that a cluster may end in any text.
func takesValue(prog *program.Program) bool {
	for o := range prog.All {
		for _, n := range o.Names {
			if len(n) == 2 && o.Value != program.NoValue {
				return true
			}
		}
	}
	return false
}

// operands compares the positional words in order. found[k] is the match of the
// first k words of the rule so far.
func (r *reading) operands(have *shell.Scan, words []shell.Word, open bool) Match {
	want := r.wanted()
	found := make([]Match, len(want)+1)
	found[0] = Yes
	after := false // an option precedes that may take this word as its value
	among := No
	if open { // an exact rule names all operands
		among = r.among(have)
	}
	for i := range have.Args {
		a := &have.Args[i]
		switch a.Kind {
		case shell.ArgUnlisted:
			after = true
		case shell.ArgOperand:
			skip := among
			if after {
				skip = max(skip, Maybe)
			}
			r.operand(found, want, &words[a.Word], skip, true, open)
			after = false
		case shell.ArgUnsure:
			r.operand(found, want, &words[a.Word], max(among, Maybe), false, open)
		default:
			after = false
		}
	}
	if found[len(want)] == No && r.prog.Kinds && fromFile(have) {
		return Maybe
	}
	return found[len(want)]
}

// wanted returns the rule's operands.
func (r *reading) wanted() []string {
	var want []string
	for i := range r.scan.Args {
		if a := &r.scan.Args[i]; a.Kind == shell.ArgOperand {
			want = append(want, r.words[a.Word].Text)
		}
	}
	return want
}

// operand compares one word of the command. skip tells whether it may precede the
// rule's next operand, or not be an operand.
func (r *reading) operand(found []Match, want []string, w *shell.Word, skip Match, certain, open bool) {
	last := len(want)
	many := w.Split && !w.Known()
	for k := last; k >= 0; k-- {
		here := found[k]
		if here == No {
			continue
		}
		if k < last {
			m := min(here, r.sameOperand(want[k], w))
			if !certain {
				m = min(m, Maybe)
			}
			found[k+1] = max(found[k+1], m)
			if many {
				for j := k + 1; j <= last; j++ {
					found[j] = max(found[j], Maybe)
				}
			}
		}
		switch {
		case k == last && open:
		case skip == Yes:
		case skip == Maybe || many:
			found[k] = min(here, Maybe)
		default:
			found[k] = No
		}
	}
}

// sameOperand compares two operands. A leading "./" and a trailing "/" of a
// path are ignored. For a program that takes a mode, numbers are compared by
// value.
func (r *reading) sameOperand(want string, w *shell.Word) Match {
	m := fits(want, w)
	if m > No || !w.Known() || want == "" || w.Text == "" {
		return m
	}
	if equalText(r.prog, r.scan.Prog, want, w.Text) {
		return Yes
	}
	if strings.Contains(w.Text, "/") && path.Clean(w.Text) != w.Text {
		if m = fits(want, &shell.Word{Text: path.Clean(w.Text)}); m > No {
			return m
		}
	}
	if strings.Contains(want, "/") && strings.IndexByte(want, wild) < 0 && path.Clean(want) == path.Clean(w.Text) {
		return Yes
	}
	if r.prog.Facts&program.TaskRunner != 0 && r.sameTask(want, w.Text) {
		return Maybe
	}
	if r.prog.Operands == program.ModeWrites || r.prog.Operands == program.ModeOutputs {
		a, errA := strconv.ParseUint(want, 8, 32)
		b, errB := strconv.ParseUint(w.Text, 8, 32)
		return yesIf(errA == nil && errB == nil && a == b)
	}
	return No
}

// nothingElse handles an exact rule: the command must not have an option after
// the subcommand that the rule does not name.
func (r *reading) nothingElse(have *shell.Scan, words []shell.Word) Match {
	best := Yes
	subs := len(have.Path)
	for i := range have.Args {
		a := &have.Args[i]
		if a.Kind == shell.ArgSubcommand {
			subs--
		}
		if subs > 0 {
			continue // an option of the program itself
		}
		switch a.Kind {
		case shell.ArgOption:
			if !r.names(a.Option, have) {
				return No
			}
		case shell.ArgUnlisted:
			if r.unnamed(words[a.Word].Text) {
				return No
			}
		case shell.ArgUnsure:
			best = Maybe
		}
	}
	if len(have.Path) > len(r.scan.Path) {
		return No
	}
	return best
}

func (r *reading) names(o *program.Option, have *shell.Scan) bool {
	for i := range r.scan.Args {
		if a := &r.scan.Args[i]; a.Kind == shell.ArgOption && r.sameOption(a.Option, o, have) {
			return true
		}
	}
	return false
}

func (r *reading) unnamed(text string) bool {
	for i := 1; i < len(r.words); i++ {
		if flagText(r.words[i].Text, &shell.Word{Text: text}) > No {
			return false
		}
	}
	return true
}
