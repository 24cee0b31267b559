package shell

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// ArgKind is the role of an argument.
type ArgKind uint8

// The kinds of arguments; the zero value is invalid.
const (
	ArgOption     ArgKind = iota + 1 // a listed option, with its value if it takes one
	ArgOperand                       // an operand
	ArgSubcommand                    // a subcommand; its entry reads what follows
	ArgDashes                        // "--", which ends the options
	ArgUnlisted                      // an option or subcommand that the entry does not list
	ArgUnsure                        // an option or an operand, known only when the line runs
)

// Arg is one argument as its program reads it. A cluster of options gives several
// Args with one Word, as may a word that splits.
type Arg struct {
	Kind    ArgKind
	Word    int             // index in the words given to ScanWords
	Option  *program.Option // of an ArgOption
	Value   Word            // value of an ArgOption, if ValueAt is not -1
	ValueAt int             // index of the word that holds the value: Word itself if attached, -1 if there is no value
}

// Scan is the result of ScanWords.
type Scan struct {
	Prog *program.Program // the entry of the innermost subcommand, else of the program
	Path []string         // names of the subcommands, aliases resolved
	Args []Arg            // in the order of the words, without words[0]
}

// ScanWords sorts the words of a command into options, operands and subcommands, as
// the program p reads them; words[0] is the program. It never fails: what the entry
// does not list is ArgUnlisted, and what is known only when the command runs is
// ArgUnsure.
func ScanWords(p *program.Program, words []Word) Scan { return ScanInto(p, words, nil) }

// ScanInto is ScanWords with a buffer for Args, which may be nil.
func ScanInto(p *program.Program, words []Word, buf []Arg) Scan {
	s := scanner{words: words, prog: p, args: buf[:0]}
	s.parents[0] = p
	s.depth = 1
	s.sub = p.HasSubs()
	if s.args == nil && len(words) > 1 {
		s.args = make([]Arg, 0, len(words)+2)
	}
	for s.at = 1; s.at < len(words); s.at = s.next {
		s.next = s.at + 1
		s.word()
	}
	return Scan{Prog: s.prog, Path: s.prog.Path, Args: s.args}
}

// maxSubs is the maximum depth of subcommands (aws ec2 describe-instances has 2).
const maxSubs = 5

type scanner struct {
	words   []Word
	at      int // index of the current word
	next    int // index of the word after it and its values
	prog    *program.Program
	parents [maxSubs]*program.Program // prog is the last of them
	depth   int
	sub     bool // the next operand names a subcommand
	done    bool // no more options
	args    []Arg
}

// add records an argument without a value.
func (s *scanner) add(kind ArgKind, word int) {
	s.args = append(s.args, Arg{Kind: kind, Word: word, ValueAt: -1})
}

// unlisted records, once for each word, that the entry does not list it.
func (s *scanner) unlisted() {
	if n := len(s.args); n > 0 && s.args[n-1].Kind == ArgUnlisted && s.args[n-1].Word == s.at {
		return
	}
	s.add(ArgUnlisted, s.at)
}

// flag records an option without a value.
func (s *scanner) flag(o *program.Option) {
	s.done = s.done || o.Ends
	s.args = append(s.args, Arg{Kind: ArgOption, Word: s.at, Option: o, ValueAt: -1})
}

// attached records an option with its value in the same word.
func (s *scanner) attached(o *program.Option, v Word) {
	s.done = s.done || o.Ends
	s.args = append(s.args, Arg{Kind: ArgOption, Word: s.at, Option: o, Value: v, ValueAt: s.at})
}

// valued records an option and takes its value, if it has one, from the next words.
func (s *scanner) valued(o *program.Option) {
	n := 0
	switch o.Value {
	case program.Required:
		n = 1
	case program.Pair:
		n = 2
	}
	s.flag(o)
	if n == 0 {
		return
	}
	last := s.next + n - 1
	if last >= len(s.words) {
		s.next = len(s.words)
		return
	}
	a := &s.args[len(s.args)-1]
	a.Value, a.ValueAt = s.words[last], last
	for ; s.next <= last; s.next++ {
		s.splitValue(s.next)
	}
	s.doubtValue(last)
}

// doubtValue records that the value of an option looks like an option with an effect,
// where the entry stands for several programs (Unread): the one that runs may take no
// value there.
func (s *scanner) doubtValue(at int) {
	w := &s.words[at]
	if s.prog.Operands != program.Unread || len(w.Text) < 2 || w.Text[0] != '-' || len(w.Holes) > 0 {
		return
	}
	name, _, _ := strings.Cut(w.Text, "=")
	if o := s.exact(name); o != nil && o.Effect != program.EffNone {
		s.add(ArgUnsure, at)
	}
}

// splitValue records that a word taken for a value may become several words, or none.
func (s *scanner) splitValue(at int) {
	w := &s.words[at]
	switch {
	case !w.Split:
	case w.MayBeOption(), s.looksLikeOption(w):
		s.add(ArgUnsure, at)
	default:
		s.add(ArgOperand, at)
	}
}

// word reads the current word, and the words that are its value.
func (s *scanner) word() {
	w := &s.words[s.at]
	switch {
	case s.done || s.prog.Style == program.NoOpts:
		s.operand(w)
	case w.holeAt(0) && w.MayBeOption():
		s.add(ArgUnsure, s.at)
	case w.Text == "--" && w.Known():
		s.add(ArgDashes, s.at)
		s.done = true
	case s.bundle(w):
		s.cluster(w, 0)
	case s.looksLikeOption(w):
		s.dashed(w)
		s.fallsApart(w)
	case w.MayBeOption():
		s.add(ArgUnsure, s.at)
	default:
		s.operand(w)
	}
}

func (s *scanner) looksLikeOption(w *Word) bool {
	if w.Text == "" || w.holeAt(0) {
		return false
	}
	switch w.Text[0] {
	case '-':
		return len(w.Text) > 1 || len(w.Holes) > 0
	case '+':
		return s.exact("+") != nil || s.exact(w.Text) != nil
	case ':': // git push origin :branch
		return (len(w.Text) > 1 || len(w.Holes) > 0) && s.exact(":") != nil
	}
	return false
}

// bundle reports whether w is a first word of option letters without a dash (tar xf).
func (s *scanner) bundle(w *Word) bool {
	return s.prog.Style == program.Bundle && s.at == 1 && len(w.Holes) == 0 &&
		w.Text != "" && w.Text[0] != '-' && !strings.Contains(w.Text, "/")
}

// fallsApart records that a word read as an option may become several words.
func (s *scanner) fallsApart(w *Word) {
	if w.Split && w.MayBeOption() && s.args[len(s.args)-1].Kind != ArgUnsure {
		s.add(ArgUnsure, s.at)
	}
}

func (s *scanner) operand(w *Word) {
	if s.sub {
		s.subcommand(w)
		return
	}
	s.add(ArgOperand, s.at)
	if s.prog.Ends || s.prog.Style == program.POSIX {
		s.done = true
	}
}

func (s *scanner) subcommand(w *Word) {
	s.sub = false
	var sub *program.Program
	if w.Known() {
		sub = s.prog.Subcommand(w.Text)
	}
	switch {
	case sub != nil && s.depth < maxSubs:
		s.add(ArgSubcommand, s.at)
		s.prog = sub
		s.parents[s.depth] = sub
		s.depth++
		s.sub = sub.HasSubs()
	case s.prog.Operands == program.Unread:
		s.unlisted()
	default:
		s.operand(w)
	}
}

// dashed reads a word that begins with -, + or :.
func (s *scanner) dashed(w *Word) {
	switch {
	case w.Text[0] == '+' || w.Text[0] == ':':
		s.sign(w)
	case s.prog.Style == program.Dash || s.prog.Style == program.Joined:
		s.dashName(w)
	case strings.HasPrefix(w.Text, "--"):
		s.long(w)
	default:
		s.shorts(w)
	}
}

// shorts reads a word with one dash: an option listed as a whole (kill -TERM, wget
// -nc), or a cluster.
func (s *scanner) shorts(w *Word) {
	if len(w.Text) > 2 && len(w.Holes) == 0 {
		if o := s.exact(w.Text); o != nil {
			s.valued(o)
			return
		}
	}
	s.cluster(w, 1)
}

// sign reads a word that begins with a plus sign or a colon.
func (s *scanner) sign(w *Word) {
	if o := s.exact(w.Text); o != nil && w.Known() {
		s.flag(o)
	} else if o := s.exact(w.Text[:1]); o != nil {
		s.attached(o, w.after(1))
		if rest := w.after(1); s.looksLikeOption(&rest) && rest.Text[0] == ':' { // git push origin +:branch
			s.attached(s.exact(":"), rest.after(1))
		}
	} else {
		s.unlisted()
	}
}

// long reads --name and --name=value.
func (s *scanner) long(w *Word) {
	name, value, hasValue := w.splitAt('=')
	if !hasValue && len(w.Holes) > 0 {
		s.add(ArgUnsure, s.at)
		return
	}
	o := s.exact(name)
	if o == nil && s.prog.Style != program.Exact {
		o = s.abbreviated(name)
	}
	s.named(o, value, hasValue)
}

// dashName reads -name, -name=value and, in style Joined, -namevalue.
func (s *scanner) dashName(w *Word) {
	name, value, hasValue := w.splitAt('=')
	if hasValue || len(w.Holes) == 0 {
		o := s.exact(name)
		if o == nil && strings.HasPrefix(name, "--") {
			o = s.exact(name[1:])
		}
		if o == nil {
			o = s.number(name)
		}
		if o != nil {
			s.named(o, value, hasValue)
			return
		}
	}
	if s.prog.Style == program.Joined {
		if o, n := s.longestPrefix(w); o != nil {
			s.attached(o, w.after(n))
			return
		}
	}
	if hasValue || len(w.Holes) == 0 {
		s.unlisted()
	} else {
		s.add(ArgUnsure, s.at)
	}
}

// number returns the option -# if name is a dash and digits.
func (s *scanner) number(name string) *program.Option {
	if len(name) < 2 || digits(name[1:]) != len(name)-1 {
		return nil
	}
	return s.exact("-#")
}

// named records an option whose full name is in the word.
func (s *scanner) named(o *program.Option, value Word, hasValue bool) {
	switch {
	case o == nil:
		s.unlisted()
	case hasValue && o.Value == program.Pair:
		s.unlisted()
	case hasValue:
		s.attached(o, value)
	default:
		s.valued(o)
	}
}

// cluster reads the short options of a word from byte i on. Letters behind an
// unlisted one are still read, since they may be options.
func (s *scanner) cluster(w *Word, i int) {
	bundled := i == 0
	for i < len(w.Text) && !w.holeAt(i) {
		o, n := s.short(w.Text[i:])
		i += n
		more := i < len(w.Text) || w.holeAt(i)
		switch {
		case o == nil:
			s.unlisted()
		case o.Value == program.NoValue:
			s.flag(o)
		case bundled:
			s.valued(o)
		case more:
			s.attached(o, s.shortValue(w, i))
			return
		default:
			s.valued(o)
		}
	}
	if w.holeAt(i) {
		s.add(ArgUnsure, s.at)
	}
}

// shortValue returns the value attached to a short option. Cobra and clap take
// -o=value for -o value.
func (s *scanner) shortValue(w *Word, from int) Word {
	if s.prog.Style == program.Exact && from < len(w.Text) && w.Text[from] == '=' && !w.holeAt(from) {
		from++
	}
	return w.after(from)
}

// short returns the option at the start of the rest of a cluster and the length of
// its name there. A number is one option.
func (s *scanner) short(rest string) (*program.Option, int) {
	for d := s.depth - 1; d >= 0; d-- {
		if o := s.parents[d].Letter(rest[0]); o != nil {
			return o, 1
		}
		if d > 0 && !s.parents[d-1].Inherit {
			break
		}
	}
	if n := digits(rest); n > 0 {
		return s.exact("-#"), n
	}
	return nil, 1
}

// exact returns the option of that name, or nil.
func (s *scanner) exact(name string) *program.Option {
	for d := s.depth - 1; d >= 0; d-- {
		if o := s.parents[d].Option(name); o != nil {
			return o
		}
		if d > 0 && !s.parents[d-1].Inherit {
			break
		}
	}
	return nil
}

// abbreviated returns the option that name abbreviates. If there are several it
// returns one with an effect, since the installed version may have only that one.
func (s *scanner) abbreviated(name string) *program.Option {
	if len(name) < 3 {
		return nil
	}
	var found *program.Option
	several := false
	for d := s.depth - 1; d >= 0; d-- {
		for o := range s.parents[d].All {
			if !o.Begins(name) || o == found {
				continue
			}
			several = several || found != nil
			if found == nil || found.Effect == program.EffNone {
				found = o
			}
		}
		if d > 0 && !s.parents[d-1].Inherit {
			break
		}
	}
	if several && found.Effect == program.EffNone {
		return nil
	}
	return found
}

// longestPrefix returns the option with a value whose name is the longest prefix of
// the word, and the length of the name.
func (s *scanner) longestPrefix(w *Word) (*program.Option, int) {
	text := w.Text
	if len(w.Holes) > 0 {
		text = text[:w.Holes[0].At]
	}
	var found *program.Option
	length := 0
	for o := range s.prog.All {
		if n := o.PrefixOf(text); o.Value != program.NoValue && n > length {
			found, length = o, n
		}
	}
	return found, length
}

// behind drops the first word, unless an option took its place.
func behind(words []Word, given bool) []Word {
	if given || len(words) == 0 {
		return words
	}
	return words[1:]
}

// behindMode is behind for files that are written. A first word that may split is
// kept, since it may hold some of them.
func behindMode(words []Word, given bool) []Word {
	if len(words) > 0 && words[0].Split {
		return words
	}
	return behind(words, given)
}
