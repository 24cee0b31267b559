package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// The limits of a tool use, beyond which it is denied. A command line longer
// than shell.MaxLine is opaque instead, so that a person may still see it.
const (
	maxInput = 16 << 20 // bytes of the input
	maxName  = 512      // bytes of the tool's name
	maxField = 16 << 10 // bytes of a path or a URL
)

// inputOptions are the options with which an input is parsed.
var inputOptions = []strictjson.Option{strictjson.MaxSize(maxInput), strictjson.Known(tools.Known()...)}

// Knowledge is what determines the reading of a tool use. Policies with equal
// knowledge share one reading.
type Knowledge struct {
	Place   patterns.Place
	Catalog *program.Catalog // nil: the built-in one
	Tools   *tools.Table     // describes tools that are not built in
	// scratch holds the session's places for temporary files, nil for none.
	scratch *scratch
}

func (k *Knowledge) equal(other *Knowledge) bool {
	return k.Catalog == other.Catalog && k.Tools == other.Tools && k.scratch == other.scratch && k.Place.Equal(&other.Place)
}

// reading is a tool use as read once for all policies: its actions, and what
// the file system reported about them. It belongs to one decision and the
// questions about it. The decision after an answer has a new reading.
type reading struct {
	use         ToolUse // a copy: a person may edit the input while asked about it
	know        Knowledge
	env         Env
	commandGate CommandGate // may be nil
	err         error       // what is malformed about the tool use, which is then denied

	dir   string // use.Dir if it is known
	input map[string]any
	facts *shell.Facts // of a command line, else nil
	// catastrophe is why the line is catastrophic, "" if it is not.
	catastrophe string
	actions     []action
	trims       bool // the path for a file tool has surrounding spaces
	// outsideSandbox is set if the tool use asks to run outside the sandbox.
	outsideSandbox bool
	refusal        Refusal // the gate's objection to the line

	found   []risk.Finding // the risks of the actions by the tables of profile
	profile risk.Profile
	weighed bool

	links map[string]target
	// programs says of those that were looked for whether they may be planted.
	programs map[string]bool
	walks    map[walk]walked
	// repositories holds the settings of the repositories by directory.
	repositories []repository
	// projectHosts holds what the files of registries name.
	projectHosts []projectHosts
	watched      watched // for the last policy that judged
	// inside is the directory that was last found to be in the workspace.
	inside string
	others []*reading // readings of the same tool use with other knowledge
	// mapped holds the uses in the input of a mapped tool.
	mapped []*reading
	field  string // the main field of the input, "" if the tool is used as a whole
	// wordless is set while a supposition is decided, whose parts need no
	// descriptions.
	wordless bool
	// holding is set while a line is decided as what it is inside the sandbox.
	holding *enclosure
	// doubts are the actions that the last judgement asked about, and stopped is set if
	// a policy denied more than a question that nobody may be asked.
	doubts  []doubt
	stopped bool
}

// watched holds the files that a policy guards and protects, and the targets of
// links there, which count as well.
type watched struct {
	by                          *Policy
	guarded, files, credentials []string
}

// action is one action of a tool use.
type action struct {
	sub patterns.Subject
	// does is the action in the form of package shell. It is nil for a use of a
	// tool that is not a command, read, write or fetch.
	does *shell.Action
	// parent is the index of the action whose effect this is, -1 for none.
	parent int
	// beside is set if the action needs no answer and only exists for ask and deny
	// rules.
	beside bool
	// chore is set if the use of a tool is only housekeeping. beyond is the field
	// that makes it more than that.
	chore  bool
	beyond string
	// forms are the forms of the path that is written.
	forms []shell.Word
	// inside is set if the path is proven to be in the workspace, or scratch.
	inside bool
	// scratch is set if the path is proven to be a temporary file of the session.
	scratch bool
	// reads and writes hold what its command may read and write, once computed.
	reads, writes []patterns.Subject
	// supposed holds what its command may run, once computed.
	supposed []action
	// inline is set if the command stands for code in the line.
	inline bool
	words  string // cached result of describe
}

// command reports whether a belongs to a command line.
func (a *action) command() bool { return a.sub.Line != "" }

// readings are reused between tool uses for their lists.
var readings = sync.Pool{New: func() any { return new(reading) }}

// maxKept is the number of actions up to which a list is reused.
const maxKept = 32

// newReading reads a tool use; gate may be nil.
func newReading(use *ToolUse, know Knowledge, env Env, gate CommandGate) *reading {
	r := readings.Get().(*reading)
	r.use, r.know, r.env, r.commandGate = *use, know, env, gate
	if r.err = r.readUse(); r.err == nil {
		r.findScratch()
		r.askGate()
	}
	return r
}

// askGate gets the gate's objection to a command line.
func (r *reading) askGate() {
	if r.commandGate != nil && r.facts != nil {
		r.refusal = r.commandGate.Forbid(r.actions[0].sub.Line, r.facts)
	}
}

// release clears r and returns it to the pool. No references to it may remain.
func (r *reading) release() {
	if r == nil {
		return // reading it failed
	}
	for _, m := range r.mapped {
		m.release()
	}
	actions, found, repositories, doubts := r.actions, r.found, r.repositories, r.doubts
	clear(doubts)
	if cap(actions) > maxKept || cap(found) > maxKept {
		actions, found = nil, nil
	}
	clear(actions)
	clear(found)
	clear(repositories)
	if len(r.links) > 0 {
		clear(r.links)
	}
	*r = reading{actions: actions[:0], found: found[:0], repositories: repositories[:0], doubts: doubts[:0], links: r.links}
	readings.Put(r)
}

// readUse reads the actions of the tool use. An error reports what is malformed
// about it.
func (r *reading) readUse() error {
	if err := checkName(r.use.Tool); err != nil {
		return err
	}
	t := tools.Builtin(r.use.Tool)
	input, err := strictjson.Object(r.use.Input, inputOptions...)
	if err != nil {
		return fmt.Errorf("the input of %s: %w", r.use.Tool, err)
	}
	r.input = input
	r.dir = knownDir(r.use.Dir)
	switch {
	case t == nil:
		r.readOther()
		return r.readMapped()
	case t.Does == 0:
		r.readOther()
		return nil
	}
	r.field = t.Field
	if t.Does == tools.Command {
		return r.readLine(t)
	}
	return r.readField(t)
}

// knownDir returns a directory that a tool use names, in its shortest form, "" if it is
// not known which one that is: a relative one, one with "..", whose meaning depends on
// links, and one with a NUL.
func knownDir(dir string) string {
	if !path.IsAbs(dir) || strings.Contains(dir, "/../") || strings.HasSuffix(dir, "/..") || strings.ContainsRune(dir, 0) {
		return ""
	}
	return path.Clean(dir)
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the tool use names no tool")
	case len(name) > maxName:
		return fmt.Errorf("the tool's name is longer than %d bytes", maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the tool's name %q contains control characters or is not UTF-8", name)
	}
	return nil
}

// text returns a field of the input that must be a string.
func (r *reading) text(field string) (string, error) {
	v, ok := r.input[field]
	if !ok {
		return "", fmt.Errorf("the input of %s lacks %q", r.use.Tool, field)
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%q in the input of %s must be a string", field, r.use.Tool)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", fmt.Errorf("%q in the input of %s contains a NUL byte", field, r.use.Tool)
	}
	return s, nil
}

// readOther reads the use of a tool that is used as a whole.
func (r *reading) readOther() {
	a := action{
		sub: patterns.Subject{
			Kind: patterns.UseTool,
			Tool: r.use.Tool,
			Name: tools.Name(r.use.Tool, r.input), Known: r.know.Tools,
		},
		parent: -1,
	}
	beyond, may := tools.Housekeeping(r.use.Tool, r.input)
	a.beyond, a.chore = beyond, may && beyond == ""
	r.actions = append(r.actions, a)
}

// readField reads the use of a tool that reads, writes or fetches the value of
// a field of its input.
func (r *reading) readField(t *tools.Tool) error {
	word, err := r.target(t)
	if err != nil {
		return err
	}
	if len(word.Text) > maxField {
		return fmt.Errorf("%q in the input of %s is longer than %d bytes", t.Field, r.use.Tool, maxField)
	}
	does := &shell.Action{
		Kind: shellKind(t.Does), Need: shell.NeedCover, Path: word,
		Recursive: t.Tree, Parent: -1, From: -1,
	}
	globs := r.globs()
	if len(globs) == 1 && strings.HasPrefix(globs[0], "!") {
		does.Skips = []string{shell.SkippedName(globs[0][1:])} // as rg -g has it
	}
	r.add(does, &patterns.Subject{Tool: r.use.Tool})
	for _, glob := range globs {
		r.addNamed(word, glob)
	}
	return nil
}

// addNamed adds the reads of the files that a pattern names below a directory, and of all
// of them where it may be about any name.
func (r *reading) addNamed(dir shell.Word, glob string) {
	files := shell.GlobFiles(dir, glob)
	whole := anyName(glob)
	if whole {
		files = append(files, follow(dir, glob))
	}
	for i, file := range files {
		r.add(&shell.Action{
			Kind: shell.Read, Path: file, Recursive: whole && i == len(files)-1, ByPattern: true, Parent: -1, From: -1,
		}, &patterns.Subject{Tool: r.use.Tool})
	}
}

// target returns the path or URL in the input of a tool.
func (r *reading) target(t *tools.Tool) (shell.Word, error) {
	word := shell.Word{Text: r.dir}
	if r.dir == "" {
		word.Holes = []shell.Hole{{}}
	}
	if v := r.input[t.Field]; !t.Optional || v != nil && v != "" {
		text, err := r.text(t.Field)
		if err != nil {
			return word, err
		}
		word = shell.Word{Text: text}
		r.trims = t.Does != tools.Fetch && text != strings.TrimFunc(text, blank)
	}
	if t.Glob == "" {
		return word, nil
	}
	pattern, err := r.text(t.Glob)
	if err != nil {
		return word, err
	}
	return follow(word, pattern), nil
}

// blank reports whether the agent's tools strip a character from the ends of a
// path.
func blank(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// follow returns the directory in which a glob pattern begins: dir, or where
// the leading directories of the pattern lead. It is unknown if a later part of
// the pattern may lead out again.
func follow(dir shell.Word, pattern string) shell.Word {
	lead, rest := pattern, ""
	if at := strings.IndexAny(pattern, `*?[{(\`); at >= 0 {
		lead, rest = pattern[:at], pattern[at:]
	}
	lead = lead[:strings.LastIndexByte(lead, '/')+1]
	switch {
	case path.IsAbs(lead) || strings.HasPrefix(pattern, "~"):
		dir = shell.Word{Text: lead}
	case lead != "":
		dir.Text += "/" + lead
	}
	for _, out := range []string{"..", "{/", ",/", "(/", "|/", `\`} {
		if strings.Contains(rest, out) {
			return shell.Word{Holes: []shell.Hole{{Kind: shell.AnyText}}}
		}
	}
	return dir
}

func shellKind(k tools.Kind) shell.Kind {
	switch k {
	case tools.Read:
		return shell.Read
	case tools.Write:
		return shell.Write
	}
	return shell.Fetch
}

// readLine reads a command line.
func (r *reading) readLine(t *tools.Tool) error {
	line, err := r.text(t.Field)
	if err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(line) == "":
		return fmt.Errorf("the command line of %s is empty", r.use.Tool)
	case len(line) > shell.MaxLine:
		return fmt.Errorf("the command line of %s is longer than %d bytes: write its text to a file first", r.use.Tool, shell.MaxLine)
	}
	v := r.input[tools.Unsandboxed]
	r.outsideSandbox = v != nil && v != false
	r.facts = shell.Analyze(line, r.shellOptions())
	r.actions = slices.Grow(r.actions, len(r.facts.Actions)+2)
	outside := r.followConfig()
	r.catastrophe, _ = risk.Catastrophic(r.facts, r.riskPlace())
	runs, sub := false, patterns.Subject{Tool: tools.Bash, Line: line, Simple: r.facts.Simple, Outside: outside}
	for i := range r.facts.Actions {
		does := &r.facts.Actions[i]
		r.add(does, &sub)
		runs = runs || does.Kind == shell.Command || does.Kind == shell.Opaque
	}
	if !runs {
		// Only redirections or assignments: a deny rule for Bash as a whole must
		// still see that Bash is used.
		r.addBeside(patterns.Subject{Kind: patterns.Hidden, Tool: tools.Bash, Line: line})
	}
	if r.use.Tool != tools.Bash {
		r.addBeside(patterns.Subject{Kind: patterns.UseTool, Tool: r.use.Tool})
	}
	return nil
}

func (r *reading) shellOptions() shell.Options {
	return shell.Options{
		Dir:       r.dir,
		Home:      r.know.Place.Home,
		Workspace: r.know.Place.Workspace,
		Roots:     r.know.Place.Roots,
		Temp:      r.know.scratch.privateDir(),
		Dialect:   r.use.Dialect,
		Survives:  !r.use.OwnShell,
		Catalog:   r.know.Catalog,
	}
}

// mayDo returns what the command of a may do although its words do not say so.
func (r *reading) mayDo(a *act) []action {
	if a.supposed == nil {
		found := a.does.PossibleCommands(r.shellOptions())
		a.supposed = make([]action, len(found))
		for i := range found {
			a.supposed[i] = action{does: &found[i], parent: -1}
			a.supposed[i].sub.Tool = a.sub.Tool
			r.fill(&a.supposed[i])
		}
	}
	return a.supposed
}

func (r *reading) riskPlace() risk.Place {
	place := risk.Place{Home: r.know.Place.Home, Workspace: r.know.Place.Workspace, Roots: r.know.Place.Roots}
	if r.know.scratch.privateDir() != "" {
		place.Roots = place.Roots[:len(place.Roots)-1] // it is no loss to empty the private directory
	}
	return place
}

// followConfig makes commands unproven whose configuration is outside the
// workspace with links resolved, or makes them run a program, and reports whether
// the line starts outside while a command depends on that.
func (r *reading) followConfig() (outside bool) {
	elsewhere := false
	for i := range r.facts.Actions {
		does := &r.facts.Actions[i]
		if !r.trusted(does.Config) && !does.Unproven() {
			does.Why = shell.Why{Cause: shell.CauseConfigLinked, Name: does.Words[0].Text}
			does.Elsewhere = !r.trusted(does.Dirs)
		}
		if does.Kind == shell.Command && !does.Unproven() {
			does.Why = r.obeyed(does)
			r.doubtWhole(does)
		}
		elsewhere = elsewhere || does.Elsewhere
	}
	return elsewhere && !r.trusted([]shell.Word{{Text: r.dir}})
}

// doubtWhole makes the command unproven of whose work an unproven one is a part that needs no
// rule (python -m pip).
func (r *reading) doubtWhole(does *shell.Action) {
	if does.Unproven() && does.Need == shell.NeedNone && does.Parent >= 0 {
		if whole := &r.facts.Actions[does.Parent]; whole.Kind == shell.Command && !whole.Unproven() {
			whole.Why = does.Why
		}
	}
}

// trusted reports whether directories are in the workspace with links resolved.
func (r *reading) trusted(dirs []shell.Word) bool {
	for i := range dirs {
		if r.inside != "" && dirs[i].Known() && dirs[i].Text == r.inside {
			continue
		}
		if patterns.Within(dirs[i], r.dir, r.know.Place, r.resolve) != patterns.Yes {
			return false
		}
		r.inside = dirs[i].Text
	}
	return true
}

func (r *reading) addBeside(sub patterns.Subject) {
	r.actions = append(r.actions, action{sub: sub, parent: -1, beside: true})
}

// add appends an action; sub holds the known fields of its subject.
func (r *reading) add(does *shell.Action, sub *patterns.Subject) {
	n := len(r.actions)
	r.actions = append(r.actions, action{does: does, parent: does.Parent})
	a := &r.actions[n]
	a.sub = *sub
	if a.parent >= n {
		a.parent = -1 // a parent precedes its effects
	}
	r.fill(a)
}

// fill turns what an action does into its subject.
func (r *reading) fill(a *action) {
	does := a.does
	a.sub.Recursive = does.Recursive
	switch does.Kind {
	case shell.Command:
		a.sub.Kind, a.sub.Command = patterns.RunCommand, does
	case shell.Read, shell.Write:
		r.addPath(a)
	case shell.Fetch:
		a.sub.Kind, a.sub.URL = patterns.FetchURL, patterns.NewURL(does.Path)
		for at := a.parent; at >= 0 && !does.Followed; at = r.actions[at].parent {
			r.actions[at].sub.Fetches = append(r.actions[at].sub.Fetches, does.Path)
		}
	default:
		a.sub.Kind, a.sub.May = patterns.Hidden, does.May
		if does.Kind != shell.Opaque {
			a.sub.May = shell.MayRun
		}
	}
}

// addPath prepares the path of a read or a write.
func (r *reading) addPath(a *action) {
	a.sub.Kind = patterns.ReadPath
	if a.does.Kind == shell.Write {
		a.sub.Kind = patterns.WritePath
	}
	a.sub.Path = patterns.NewPath(a.does.Path, r.dir, r.know.Place, r.resolve)
	if r.trims {
		a.sub.Path.Doubt("the tool may trim the blanks around it")
	}
	if a.does.Need != shell.NeedNone {
		r.expand(a.sub.Path, a.does)
	}
	a.inside = a.sub.Path.Inside() == patterns.Yes
	if a.sub.Kind == patterns.WritePath {
		a.forms = a.sub.Path.Forms()
	}
}

// anyDepth is more levels than a path may have.
const anyDepth = 4 << 10

// expand records that pathname expansion, or a search, may find a symbolic link
// in a path.
func (r *reading) expand(p *patterns.Path, does *shell.Action) {
	dir, depth := p.Expands()
	deep := does.Found || does.FollowsLinks
	switch forms := p.Forms(); {
	case does.Found && does.NoFollow:
		return
	case does.NoFollow:
		depth--
	case deep && depth == 0:
		dir, depth = forms[len(forms)-1].Text, anyDepth
	case deep:
		depth = anyDepth
	}
	if depth > 0 {
		if links, all := r.linksBelow(dir, depth); len(links) > 0 || !all {
			p.Lose()
		}
	}
}

// target is the target of a path.
type target struct {
	real string
	ok   bool
}

// resolve resolves symbolic links. Without an Env they are unknown. Each path
// is resolved once.
func (r *reading) resolve(name string) (string, bool) {
	if t, asked := r.links[name]; asked {
		return t.real, t.ok
	}
	var t target
	t.real, t.ok = r.lookUp(name)
	if r.links == nil {
		r.links = map[string]target{}
	}
	r.links[name] = t
	return t.real, t.ok
}

// lookUp is resolve without a cache, for paths that are resolved only once.
func (r *reading) lookUp(name string) (string, bool) {
	if r.env == nil {
		return "", false
	}
	return r.env.Resolve(name)
}

// walk is a question to the file system that may require reading directories:
// whether a path that the rule matches exists below dir or, without a rule, which
// names at most depth levels below it are links; or whether dir is a file that git cannot
// bring back; or which files dir, with * for wildcards, means.
type walk struct {
	dir    string
	rule   *patterns.Rule
	hidden bool
	depth  int
	unkept bool
	files  bool
}

// walked is the answer to a walk: found if such a path may exist, or the links or files, and
// whether these are all.
type walked struct {
	found bool
	links []string
	all   bool
}

// maxWalks is the maximum number of such questions for one tool use. A command
// line may have thousands, which would delay the decision too long.
const maxWalks = 1000

// walk asks each question once. Beyond the limit the answer is that it may be
// so.
func (r *reading) walk(w walk) bool {
	return r.ask(w, walked{found: true}, func() walked {
		return walked{found: r.env.Below(w.dir, w.rule, w.hidden)}
	}).found
}

// linksBelow returns the links at most depth levels below a directory, and whether
// these are all.
func (r *reading) linksBelow(dir string, depth int) (links []string, all bool) {
	if r.env == nil {
		return nil, false
	}
	w := r.ask(walk{dir: dir, depth: depth}, walked{}, func() (w walked) {
		w.links, w.all = r.env.Links(dir, depth)
		return w
	})
	return w.links, w.all
}

// filesOf returns the files that a path with wildcards means, and whether these are all.
func (r *reading) filesOf(form shell.Word) (files []string, all bool) {
	own := form.Holes[0].Kind == shell.Pattern
	w := r.ask(walk{dir: form.Filled("*"), files: true, hidden: own}, walked{}, func() (w walked) {
		w.links, w.all = r.env.Files(form)
		return w
	})
	return w.links, w.all
}

// ask returns the answer to a walk, which look finds out, or beyond the limit the
// given one.
func (r *reading) ask(w walk, beyond walked, look func() walked) walked {
	answer, asked := r.walks[w]
	switch {
	case asked:
		return answer
	case len(r.walks) >= maxWalks:
		return beyond
	case r.walks == nil:
		r.walks = map[walk]walked{}
	}
	answer = look()
	r.walks[w] = answer
	return answer
}
