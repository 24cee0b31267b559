package patterns

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

// A set is packed for processes that ask it about one tool use only. A rule of a packed
// set is read when it is looked up, so that opening one costs the same for ten rules and
// for ten thousand.
//
// The form, with numbers as in package encoding/binary ("u" is an unsigned varint, "o" four
// bytes, little-endian):
//
//	packForm
//	flags u
//	names: number u, then each: length u, bytes           the names and directories of sources
//	rules: number u, size of their texts u, an o for each: where its text ends, the texts
//	keys:  number u, size of their texts u, an o for each: where its text ends, the texts
//
// The text of a rule: name u, directory u, line u, column u, the rule. That of a key: part
// (one byte), length of the key u, the key, number of rules u, their places in the set u.
// Keys are sorted by part and key.
const packForm = "rules 1\n"

// The parts of the index of a packed set that an index in memory has as directories.
const (
	byDir   = numParts + iota // ending in a wildcard
	byLast                    // by the directory, a zero byte, and the literal name that they end in
	byBelow                   // all rules that begin with the directory
	packParts
)

// The flags of a packed set, those of Bounds above them.
const (
	packReads = 1 << iota
	packEdits
	packSpecific
	packExactly
	packLoosely
	packBounds
)

// Pack returns the rules of the set and its index, as they are bound to its place, for
// Unpack.
func (s *Set) Pack() []byte {
	rules := s.Rules()
	if s == nil || s.index == nil {
		s = indexed(s, rules)
	}
	var names []string
	place := func(name string) uint64 {
		at := slices.Index(names, name)
		if at < 0 {
			at, names = len(names), append(names, name)
		}
		return uint64(at)
	}
	var texts table
	for _, r := range rules {
		src := r.source
		texts.add(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil,
			place(src.Name)), place(src.Dir)), uint64(src.Line)), uint64(src.Col)), r.text)
	}
	out := binary.AppendUvarint([]byte(packForm), s.flags())
	out = binary.AppendUvarint(out, uint64(len(names)))
	for _, name := range names {
		out = appendText(out, name)
	}
	return s.keys().appendTo(texts.appendTo(out))
}

// indexed returns the set with an index, which small ones have not.
func indexed(s *Set, rules []*Rule) *Set {
	with := &Set{index: &index{}}
	if s != nil {
		*with = *s
		with.index = &index{}
	}
	for _, r := range rules {
		with.add(r)
	}
	return with
}

func (s *Set) flags() uint64 {
	var flags uint64
	for i, is := range append([]bool{s.reads, s.edits, s.specific, s.exactly, s.loosely}, s.bounds[:]...) {
		if is {
			flags |= 1 << i
		}
	}
	return flags
}

// keys returns the table of the index.
func (s *Set) keys() table {
	type entry struct {
		in    part
		key   string
		rules []*Rule
	}
	var all []entry
	for in := range numParts {
		if rules := s.lists[in]; len(rules) > 0 {
			all = append(all, entry{in, "", rules})
		}
		for key, rules := range s.keyed[in] {
			all = append(all, entry{in, key, rules})
		}
	}
	for dir, d := range s.dirs {
		all = append(all, entry{byDir, dir, d.any}, entry{byBelow, dir, d.appendTo(nil)})
		for name, rules := range d.last {
			all = append(all, entry{byLast, dir + "\x00" + name, rules})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.in, b.in), cmp.Compare(a.key, b.key)) })
	var t table
	for _, e := range all {
		text := binary.AppendUvarint(appendText([]byte{byte(e.in)}, e.key), uint64(len(e.rules)))
		for _, r := range e.rules {
			text = binary.AppendUvarint(text, uint64(r.order))
		}
		t.add(text, "")
	}
	return t
}

// table is a list of texts of which each can be found without reading the others.
type table struct {
	texts []byte
	ends  []byte
}

func (t *table) add(head []byte, text string) {
	t.texts = append(append(t.texts, head...), text...)
	t.ends = binary.LittleEndian.AppendUint32(t.ends, uint32(len(t.texts)))
}

func (t table) appendTo(out []byte) []byte {
	out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(len(t.ends)/4)), uint64(len(t.texts)))
	return append(append(out, t.ends...), t.texts...)
}

func (t *table) len() int { return len(t.ends) / 4 }

// at returns a text, nil if the table is not as it was written.
func (t *table) at(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = binary.LittleEndian.Uint32(t.ends[4*(i-1):])
	}
	to := binary.LittleEndian.Uint32(t.ends[4*i:])
	if from > to || int(to) > len(t.texts) {
		return nil
	}
	return t.texts[from:to]
}

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// reader reads what Pack has written.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.bad, r.data = true, nil
		return nil
	}
	text := r.data[:n]
	r.data = r.data[n:]
	return text
}

func (r *reader) table() table {
	count, size := r.number(), r.number()
	if count > uint64(len(r.data)) { // so that four times as much is a number
		r.bad = true
		return table{}
	}
	ends := r.bytes(4 * count)
	return table{texts: r.bytes(size), ends: ends}
}

// packed is where the rules and the index of a packed set are.
type packed struct {
	list             List
	known            *tools.Table
	names            []string
	rules, keys      table
	exactly, loosely bool

	mu sync.Mutex // for the rules of the set
}

// errPacked is the error of a packed set that is not as Pack has written it.
var errPacked = errors.New("patterns: the packed rules are not as they were written")

// Unpack returns a set of rules of a list that was packed for a place. Known are the tools
// that are not built in, as they were for the set. Data, which is not copied, must be as
// Pack has returned it: the caller checks that by a digest. A rule that cannot be read when
// it is looked up is a panic.
func Unpack(data []byte, place Place, list List, known *tools.Table) (*Set, error) {
	rest, ok := bytes.CutPrefix(data, []byte(packForm))
	r := &reader{data: rest, bad: !ok}
	flags := r.number()
	p := &packed{list: list, known: known, exactly: flags&packExactly != 0, loosely: flags&packLoosely != 0}
	count := r.number()
	for range min(count, uint64(len(rest))) {
		p.names = append(p.names, string(r.bytes(r.number())))
	}
	p.rules, p.keys = r.table(), r.table()
	if r.bad || len(r.data) > 0 || len(p.names) != int(count) {
		return nil, errPacked
	}
	s := &Set{
		place: place, rules: make([]*Rule, p.rules.len()), pack: p,
		reads: flags&packReads != 0, edits: flags&packEdits != 0, specific: flags&packSpecific != 0,
	}
	for i := range s.bounds {
		s.bounds[i] = flags&(packBounds<<i) != 0
	}
	return s, nil
}

// rule returns a rule of the set.
func (p *packed) rule(s *Set, i int) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i >= len(s.rules) {
		panic(errPacked)
	}
	if s.rules[i] == nil {
		s.rules[i] = p.read(s.place, i)
	}
	return s.rules[i]
}

// read reads a rule.
func (p *packed) read(place Place, i int) *Rule {
	r := &reader{data: p.rules.at(i)}
	name, dir, line, col := r.number(), r.number(), r.number(), r.number()
	if r.bad || max(name, dir) >= uint64(len(p.names)) {
		panic(errPacked)
	}
	src := Source{Name: p.names[name], Dir: p.names[dir], Line: int(line), Col: int(col)}
	rule, _, err := ParseWith(p.known, string(r.data), p.list, src)
	if err != nil {
		panic(fmt.Errorf("%w: %w", errPacked, err))
	}
	rule.bind(place, i)
	return rule
}

// readAll reads all rules of the set.
func (p *packed) readAll(s *Set) {
	for i := range s.rules {
		p.rule(s, i)
	}
}

// key returns an entry of the index: its part, its key and, not yet read, its rules.
func (p *packed) key(i int) (in part, key []byte, rules reader) {
	r := reader{data: p.keys.at(i)}
	head := r.bytes(1)
	if r.bad {
		panic(errPacked)
	}
	key = r.bytes(r.number())
	return part(head[0]), key, r
}

// search returns the place of the first entry that is not before a part and a key.
func (p *packed) search(in part, key string) int {
	at, end := 0, p.keys.len()
	for at < end {
		mid := int(uint(at+end) >> 1)
		gotIn, got, _ := p.key(mid)
		if gotIn < in || gotIn == in && string(got) < key {
			at = mid + 1
		} else {
			end = mid
		}
	}
	return at
}

// has reports whether a part of the index has rules.
func (p *packed) has(in part) bool {
	at := p.search(in, "")
	if at == p.keys.len() {
		return false
	}
	got, _, _ := p.key(at)
	return got == in
}

// find returns the rules of a part with a key.
func (p *packed) find(s *Set, in part, key string) []*Rule {
	at := p.search(in, key)
	if at == p.keys.len() {
		return nil
	}
	gotIn, got, r := p.key(at)
	if gotIn != in || string(got) != key {
		return nil
	}
	var rules []*Rule
	for range min(r.number(), uint64(len(r.data))) {
		rules = append(rules, p.rule(s, int(min(r.number(), uint64(len(s.rules))))))
	}
	if r.bad || len(r.data) > 0 {
		panic(errPacked)
	}
	return rules
}

// findDir is Set.findDir.
func (p *packed) findDir(s *Set, f *finder, dir, rest string) {
	if !p.has(byDir) {
		return
	}
	f.all(p.find(s, byDir, dir))
	for rest != "" {
		name, more, is := strings.Cut(rest[1:], "/")
		f.all(p.find(s, byLast, dir+"\x00"+name))
		rest = ""
		if is {
			rest = "/" + more
		}
	}
}

// dirsBelow calls yield with the directories that rules begin with and whose names begin
// with a text.
func (p *packed) dirsBelow(text string, yield func(dir string)) {
	for at := p.search(byBelow, text); at < p.keys.len(); at++ {
		in, dir, _ := p.key(at)
		if in != byBelow || !bytes.HasPrefix(dir, []byte(text)) {
			return
		}
		yield(string(dir))
	}
}
