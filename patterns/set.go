package patterns

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// Set is the rules of a list, bound to a place and indexed, so that the cost of
// a match does not depend on their number. Rules whose program or directory is
// a wildcard are tried one by one. It is read-only.
type Set struct {
	place Place
	rules []*Rule
	reads bool // some rules match what is read by any tool
	edits bool // some rules match what is written by any tool
	// specific: some rules match by what a command line does.
	specific bool
	bounds   [Hidden + 1]bool // by the kind of access: see Bounds
	*index                    // nil if there are at most unindexed rules, which are tried one by one
	pack     *packed          // in which the index and the rules are, those of rules that are nil; or nil
}

// unindexed is the number of rules up to which an index costs more than it
// saves. The rules that a question offers to keep are tried in sets of one
// rule.
const unindexed = 4

// index finds the rules that may match a subject.
type index struct {
	lists   [numParts][]*Rule
	keyed   [numParts]rulesBy
	dirs    map[string]*dirRules // path rules by the directory that they begin with
	exactly bool                 // some programs are keyed by the first word
	loosely bool                 // some programs are keyed by the last path segment
	near    nearness
}

// part names a list of an index, or its rules by one sort of key.
type part uint8

const (
	listBare part = iota // rules about everything: of every kind, or, with a Kind added, of that kind

	listLoose    part = part(FetchURL) + iota // command rules without a literal program
	listCommands                              // all command rules
	listPaths                                 // all path rules
	listFetches                               // all rules for hosts
	listServers                               // MCP rules with a wildcard for the server
	listHidden                                // for each effect the first rule that matches an opaque spot

	byLine    // rules for whole lines
	byProgram // by the first word for allow, by its last path segment for ask and deny
	byHost
	byTool

	numParts
)

// dirRules holds the path rules that begin with one directory.
type dirRules struct {
	any  []*Rule // ending in a wildcard
	last rulesBy // by the literal name that they end in
}

// rulesBy holds rules by the key under which they are looked up. Most sets have
// rules of one kind only, so a map is created with its first rule.
type rulesBy map[string][]*Rule

func (m *rulesBy) add(key string, r *Rule) {
	if *m == nil {
		*m = rulesBy{}
	}
	(*m)[key] = append((*m)[key], r)
}

// NewSet returns a set of copies of the rules, bound to a place.
func NewSet(place Place, rules ...*Rule) *Set {
	s := &Set{place: place, rules: make([]*Rule, 0, len(rules))}
	if len(rules) > unindexed {
		s.index = &index{}
		s.keyed[byProgram] = make(rulesBy, len(rules))
	}
	copies := make([]Rule, len(rules))
	for i, r := range rules {
		if r == nil {
			continue
		}
		copies[i] = *r
		b := &copies[i]
		b.bind(place, len(s.rules))
		s.rules = append(s.rules, b)
		s.reads = s.reads || b.family == ofReads && !b.bare
		s.edits = s.edits || b.family == ofEdits && !b.bare
		s.bounds[ReadPath] = s.bounds[ReadPath] || b.family == ofReads && b.inside(place)
		s.bounds[WritePath] = s.bounds[WritePath] || b.family == ofEdits && b.inside(place)
		s.specific = s.specific || b.family != ofTool && !b.bare
		if s.index != nil {
			s.add(b)
		}
	}
	return s
}

// Rules returns the rules of the set in their order. The caller must not modify
// the slice.
func (s *Set) Rules() []*Rule {
	if s == nil {
		return nil
	}
	if s.pack != nil {
		s.pack.readAll(s)
	}
	return s.rules
}

// Reads reports whether the set has rules with a path for what is read.
func (s *Set) Reads() bool { return s != nil && s.reads }

// Edits reports whether the set has rules with a path for what is written.
func (s *Set) Edits() bool { return s != nil && s.edits }

// Bounds reports whether the set has rules with paths that may lie in the
// workspace for what is read (ReadPath) or written (WritePath).
func (s *Set) Bounds(kind Kind) bool { return s != nil && s.bounds[kind] }

// inside reports whether a rule has a path that may lie in the workspace.
func (r *Rule) inside(place Place) bool {
	return !r.bare && slices.ContainsFunc(r.Roots(), func(root string) bool {
		return place.Workspace == "" || subpath.Within(root, place.Workspace) || subpath.Within(place.Workspace, root)
	})
}

// Specific reports whether the set has rules with a specifier for what a command
// line does.
func (s *Set) Specific() bool { return s != nil && s.specific }

// Len returns the number of rules.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.rules)
}

// add adds a rule to the index.
func (s *Set) add(r *Rule) {
	s.indexHidden(r)
	if r.bare {
		s.indexBare(r)
		return
	}
	switch r.family {
	case ofLines:
		s.indexCommand(r)
	case ofFetch:
		s.list(listFetches, r)
		s.keyed[byHost].add(r.host.name, r)
	case ofTool:
		s.indexTool(r)
	default:
		s.indexPath(r)
	}
}

func (s *Set) indexBare(r *Rule) {
	kind := listBare
	switch r.family {
	case ofReads, ofReadsBy:
		kind += part(ReadPath)
	case ofEdits, ofEditsBy:
		kind += part(WritePath)
	case ofFetch:
		kind += part(FetchURL)
	case ofTool:
		s.indexTool(r)
		return
	}
	s.list(kind, r)
}

func (s *Set) indexTool(r *Rule) {
	if r.name != nil && r.name.server {
		if len(r.name.chunks) == 1 && r.list == Allow {
			s.keyed[byTool].add(r.name.chunks[0], r)
			return
		}
		if key := serverOf(r.name.chunks[0]); key != "" {
			s.keyed[byTool].add(key, r)
			return
		}
		s.list(listServers, r)
		return
	}
	s.keyed[byTool].add(r.tool, r)
	if other := twin(r.tool); other != "" {
		s.keyed[byTool].add(other, r)
	}
}

// serverOf returns mcp__server__ of the name of an MCP tool, "" if the name is
// incomplete.
func serverOf(tool string) string {
	rest, ok := strings.CutPrefix(tool, "mcp__")
	at := strings.Index(rest, "__")
	if !ok || at < 0 {
		return ""
	}
	return tool[:len("mcp__")+at+len("__")]
}

func (s *Set) indexCommand(r *Rule) {
	c := r.command
	s.list(listCommands, r)
	for _, line := range c.lines {
		s.keyed[byLine].add(line, r)
	}
	if c.words != nil {
		if strings.IndexByte(c.words[0], wild) >= 0 {
			s.list(listLoose, r)
			return
		}
		s.program(c.words[0], r)
	}
	for _, sh := range c.shapes {
		if sh.respelled {
			s.program(sh.words[0], r)
		}
	}
	for i, words := range c.exact {
		if i == 0 || words[0] != c.exact[0][0] {
			s.program(words[0], r)
		}
	}
}

func (s *Set) program(name string, r *Rule) {
	s.exactly, s.loosely = s.exactly || r.list == Allow, s.loosely || r.list != Allow
	key := s.key(name, r.list)
	s.keyed[byProgram].add(key, r)
}

// key returns the key under which a program is looked up.
func (s *Set) key(program string, list List) string {
	if list == Allow {
		return program
	}
	program = lastSegment(program)
	if s.place.Fold {
		program = strings.ToLower(program)
	}
	return "/" + program
}

func (s *Set) indexPath(r *Rule) {
	s.list(listPaths, r)
	if r.unbound {
		d := s.dir("")
		d.any = append(d.any, r)
	}
	for i := range r.globs {
		g := &r.globs[i]
		prefix := g.prefix
		last := g.names[max(len(g.names)-1, 0):]
		if g.whole && prefix != "" {
			prefix = path.Dir(prefix)
		}
		prefix = strings.TrimSuffix(prefix, "/")
		d := s.dir(prefix)
		if len(last) == 0 || last[0].wild || last[0].many {
			d.any = append(d.any, r)
			continue
		}
		d.last.add(s.fold(last[0].literal), r)
	}
}

// dir returns the rules that begin with a directory, in order to add one.
func (s *Set) dir(prefix string) *dirRules {
	if s.dirs == nil {
		s.dirs = map[string]*dirRules{}
	}
	if s.dirs[prefix] == nil {
		s.dirs[prefix] = &dirRules{}
	}
	return s.dirs[prefix]
}

func (s *Set) fold(text string) string {
	if s.place.Fold {
		return strings.ToLower(text)
	}
	return text
}

// indexHidden keeps the first rule for an opaque spot of each effect.
func (s *Set) indexHidden(r *Rule) {
	if r.list == Allow {
		return
	}
	var covered shell.Effects
	for _, h := range s.lists[listHidden] {
		if h.bare == r.bare {
			covered |= h.hiddenBy()
		}
	}
	whole := r.family == ofLines && !r.bare && r.command.onlyLines()
	if r.hiddenBy()&^covered != 0 && !whole {
		s.list(listHidden, r)
	}
}

// Match returns the rule with the strongest match for the subject, the first of
// several, and that match. For a set of allow rules it is Yes or No. The
// subject must not be in use by another goroutine.
func (s *Set) Match(sub *Subject, q Query) (*Rule, Match) {
	if s.Len() == 0 {
		return nil, No
	}
	f := finder{sub: sub, q: q}
	if s.index == nil && s.pack == nil {
		f.all(s.rules)
		return f.best, f.match
	}
	f.all(s.all(listBare))
	if kind := min(sub.Kind, FetchURL); kind > 0 {
		f.all(s.all(listBare + part(kind)))
	}
	if sub.Line != "" && s.has(byLine) {
		f.all(s.by(byLine, trimBlanks(sub.Line)))
	}
	switch sub.Kind {
	case RunCommand:
		s.findCommand(&f)
	case ReadPath, WritePath:
		s.findPath(&f)
	case FetchURL:
		s.findHost(&f)
	case Hidden:
		f.all(s.all(listHidden))
	}
	s.findTool(&f)
	return f.best, f.match
}

// list adds a rule to a list of the index.
func (x *index) list(in part, r *Rule) { x.lists[in] = append(x.lists[in], r) }

// all returns the rules of a list of the index.
func (s *Set) all(in part) []*Rule {
	if s.pack != nil {
		return s.pack.find(s, in, "")
	}
	return s.lists[in]
}

// by returns the rules with a key.
func (s *Set) by(in part, key string) []*Rule {
	if s.pack != nil {
		return s.pack.find(s, in, key)
	}
	return s.keyed[in][key]
}

// has reports whether a part of the index has rules.
func (s *Set) has(in part) bool {
	if s.pack != nil {
		return s.pack.has(in)
	}
	return len(s.lists[in]) > 0 || len(s.keyed[in]) > 0
}

// spelt reports whether programs are keyed by the first word, and by the last segment of
// its path.
func (s *Set) spelt() (exactly, loosely bool) {
	if s.pack != nil {
		return s.pack.exactly, s.pack.loosely
	}
	return s.exactly, s.loosely
}

// finder holds the best match so far.
type finder struct {
	sub   *Subject
	q     Query
	best  *Rule
	match Match
}

func (f *finder) all(rules []*Rule) {
	for _, r := range rules {
		f.try(r)
	}
}

func (f *finder) try(r *Rule) {
	if f.match == Yes && r.order >= f.best.order {
		return
	}
	m := r.match(f.sub, f.q)
	if m > f.match || m == f.match && m > No && r.order < f.best.order {
		f.best, f.match = r, m
	}
}

func (s *Set) findCommand(f *finder) {
	f.all(s.all(listLoose))
	a := f.sub.Command
	if a == nil || len(a.Words) == 0 || !s.has(byProgram) {
		return
	}
	head := &a.Words[0]
	if !head.Known() {
		f.all(s.all(listCommands))
		return
	}
	exactly, loosely := s.spelt()
	if exactly {
		f.all(s.by(byProgram, head.Text))
		if a.Installed != "" {
			f.all(s.by(byProgram, a.Installed))
		}
		for _, other := range f.sub.placed(s.place.Workspace) {
			f.all(s.by(byProgram, other.Command.Words[0].Text))
		}
	}
	if !loosely {
		return
	}
	s.findProgram(f, head.Text)
	to := f.sub.reach()
	for _, name := range to.names {
		s.findProgram(f, name)
	}
	for i := 0; to.any && i < len(f.sub.spellings()); i++ {
		s.findProgram(f, f.sub.others[i].sub.Command.Words[0].Text)
	}
	if a.Program != nil {
		return
	}
	// An unfamiliar program may run what its arguments name.
	var seen map[string]bool
	for i := 1; i < len(a.Words); i++ {
		name := lastSegment(a.Words[i].Text)
		if !a.Words[i].Known() || seen[name] {
			continue
		}
		s.findProgram(f, name)
		if len(a.Words) > fewWords {
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[name] = true
		}
	}
}

// fewWords are so many that looking one up again costs less than to remember it.
const fewWords = 16

// findProgram looks up ask and deny rules by the last segment of a program.
func (s *Set) findProgram(f *finder, program string) {
	name := lastSegment(program)
	var space [64]byte
	key := append(append(space[:0], '/'), name...)
	if s.place.Fold {
		key = []byte("/" + strings.ToLower(name))
	}
	f.all(s.by(byProgram, string(key)))
}

func (s *Set) findPath(f *finder) {
	p := f.sub.Path
	if !s.has(listPaths) {
		return
	}
	if p == nil || p.odd != "" || p.blind || len(p.also) > 0 {
		f.all(s.all(listPaths))
		return
	}
	for i := range p.forms {
		if p.forms[i].text == "" {
			f.all(s.all(listPaths))
			return
		}
	}
	for i := range p.forms {
		s.findForm(f, s.fold(p.forms[i].text))
	}
}

// findForm looks up the rules that begin with a parent directory of the path.
func (s *Set) findForm(f *finder, text string) {
	s.findDir(f, "", text)
	for at := 1; at < len(text); at++ {
		if text[at] == '/' {
			s.findDir(f, text[:at], text[at:])
		}
	}
	s.findDir(f, text, "")
}

// findDir looks up the rules that begin with a directory; rest is the path
// below it, with a slash before each name.
func (s *Set) findDir(f *finder, dir, rest string) {
	if s.pack != nil {
		s.pack.findDir(s, f, dir, rest)
		return
	}
	d := s.dirs[dir]
	if d == nil {
		return
	}
	f.all(d.any)
	if len(d.last) == 0 {
		return
	}
	for rest != "" {
		name := rest[1:]
		at := strings.IndexByte(name, '/')
		if at < 0 {
			at = len(name)
		}
		f.all(d.last[name[:at]])
		rest = name[at:]
	}
}

func (s *Set) findHost(f *finder) {
	u := f.sub.URL
	if !s.has(listFetches) {
		return
	}
	if u == nil || u.any {
		f.all(s.all(listFetches))
		return
	}
	for _, host := range u.hosts {
		for {
			f.all(s.by(byHost, host))
			at := strings.IndexByte(host, '.')
			if at < 0 {
				break
			}
			host = host[at+1:]
		}
	}
}

func (s *Set) findTool(f *finder) {
	if !s.has(byTool) && !s.has(listServers) {
		return
	}
	tool := f.sub.Tool
	f.all(s.by(byTool, tool))
	if !strings.HasPrefix(tool, "mcp__") {
		return
	}
	f.all(s.all(listServers))
	if key := serverOf(tool); key != "" {
		f.all(s.by(byTool, key))
	} else {
		f.all(s.by(byTool, tool+"__"))
	}
}
