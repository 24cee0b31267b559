package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/risk"
	"github.com/agent-wrapper/agent-wrapper/shell"
)

// The limits of a tool use; what is beyond them is denied. A longer command
// line than shell.MaxLine is read as opaque, so that a person may still see it.
const (
	maxInput = 16 << 20 // bytes of the input
	maxName  = 512      // bytes of the tool's name
	maxField = 16 << 10 // bytes of a path or a URL
)

// tool says how the input of a built-in tool is read. Tools without an entry
// are used as a whole: patterns.Name says what they are asked for.
type tool struct {
	kind patterns.Kind
	// field names the path, the URL or the command line.
	field string
	// dir: the field may be absent, it is the directory of the shell then.
	dir bool
	// tree: everything below the path as well.
	tree bool
	// glob names a field with a pattern whose leading directories are followed
	// from the path.
	glob string
}

var tools = map[string]tool{
	"Bash":         {kind: patterns.RunCommand, field: "command"},
	"Monitor":      {kind: patterns.RunCommand, field: "command"},
	"Read":         {kind: patterns.ReadPath, field: "file_path"},
	"NotebookRead": {kind: patterns.ReadPath, field: "notebook_path"},
	"LS":           {kind: patterns.ReadPath, field: "path", dir: true},
	"Grep":         {kind: patterns.ReadPath, field: "path", dir: true, tree: true},
	"Glob":         {kind: patterns.ReadPath, field: "path", dir: true, tree: true, glob: "pattern"},
	"Edit":         {kind: patterns.WritePath, field: "file_path"},
	"MultiEdit":    {kind: patterns.WritePath, field: "file_path"},
	"Write":        {kind: patterns.WritePath, field: "file_path"},
	"NotebookEdit": {kind: patterns.WritePath, field: "notebook_path"},
	"WebFetch":     {kind: patterns.FetchURL, field: "url"},
}

// The tools that are neither allowed nor refused by lists and modes.
const (
	askQuestion = "AskUserQuestion"
	exitPlan    = "ExitPlanMode"
	unsandboxed = "dangerouslyDisableSandbox"
)

// fields are the keys that are looked at: an input with a twin of one, equal
// but for its case, is refused.
var fields = []string{
	"command", "file_path", "notebook_path", "path", "pattern", "url", unsandboxed,
	"questions", "answers", "skill", "subagent_type", "query", "name",
}

// inputOptions are how an input is read.
var inputOptions = []strictjson.Option{strictjson.MaxSize(maxInput), strictjson.Known(fields...)}

// act is one action of a tool use, as the layers see it.
type act struct {
	sub patterns.Subject
	// does is the action in the terms of package shell. For a use of a tool
	// that is no command, read, write or fetch it is nil.
	does *shell.Action
	// parent is the index of the act that does this one, -1 for none.
	parent int
	// free: it needs no answer, only ask and deny rules are asked about it.
	free bool
	// chore: the use of a tool that is housekeeping and nothing more. beyond is
	// the field that makes it more.
	chore  bool
	beyond string
	// forms are those of the path that is written.
	forms []shell.Word
	// inside: the path is proven to lie inside the workspace.
	inside bool
	// protected: a mode does not answer for the path, and it may be held.
	protected bool
	class     risk.Class
	why       string // the reason for the class
	factors   []string
	// override is what the policy says of the class, nil if that is the tables'.
	override *Override
	// lifted: the class is higher than that of the tables. looks: all the same it
	// only looks at something.
	lifted, looks bool
	// reads are what its command may read, once that is looked at.
	reads []patterns.Subject
}

// command reports whether a is part of a command line.
func (a *act) command() bool { return a.sub.Line != "" }

// read turns a tool use into the actions of e. An error says what is malformed
// about it.
func (e *evaluation) read() error {
	if err := checkName(e.use.Tool); err != nil {
		return err
	}
	t, known := tools[e.use.Tool]
	input, err := strictjson.Object(e.use.Input, inputOptions...)
	if err != nil {
		return fmt.Errorf("the input of %s: %w", e.use.Tool, err)
	}
	e.input = input
	if path.IsAbs(e.use.Dir) {
		e.dir = e.use.Dir
	}
	switch {
	case !known:
		e.readOther()
		return nil
	case t.kind == patterns.RunCommand:
		err = e.readLine(t)
	default:
		err = e.readField(t)
	}
	if err != nil {
		return err
	}
	e.overlay()
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the tool use names no tool")
	case len(name) > maxName:
		return fmt.Errorf("the tool's name is longer than %d bytes", maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the tool's name %q holds control characters or is not UTF-8", name)
	}
	return nil
}

// text returns a field of the input that must be a string.
func (e *evaluation) text(field string) (string, error) {
	v, ok := e.input[field]
	if !ok {
		return "", fmt.Errorf("the input of %s has no %q", e.use.Tool, field)
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%q in the input of %s is no string", field, e.use.Tool)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", fmt.Errorf("%q in the input of %s holds a NUL byte", field, e.use.Tool)
	}
	return s, nil
}

// readOther reads the use of a tool that is used as a whole.
func (e *evaluation) readOther() {
	a := act{
		sub: patterns.Subject{
			Kind: patterns.UseTool,
			Tool: e.use.Tool,
			Name: patterns.Name(e.use.Tool, e.input),
		},
		parent: -1,
		class:  risk.Moderate,
	}
	if fields, listed := housekeeping[e.use.Tool]; listed {
		if a.beyond = beyond(fields, e.input); a.beyond == "" {
			a.chore, a.class = true, risk.Safe
		}
	}
	e.acts = append(e.acts, a)
}

// readField reads the use of a tool that reads, writes or fetches what one
// field of its input says.
func (e *evaluation) readField(t tool) error {
	word, err := e.target(t)
	if err != nil {
		return err
	}
	if len(word.Text) > maxField {
		return fmt.Errorf("%q in the input of %s is longer than %d bytes", t.field, e.use.Tool, maxField)
	}
	does := &shell.Action{
		Kind: shellKind(t.kind), Need: shell.NeedCover, Path: word,
		Recursive: t.tree, Parent: -1, From: -1,
	}
	found := risk.Action(does, e.policy.Profile)
	e.add(does, &found, &patterns.Subject{Tool: e.use.Tool})
	return nil
}

// target returns the path or the URL that a tool is asked for.
func (e *evaluation) target(t tool) (shell.Word, error) {
	word := shell.Word{Text: e.dir}
	if e.dir == "" {
		word.Holes = []shell.Hole{{}}
	}
	if v := e.input[t.field]; !t.dir || v != nil && v != "" {
		text, err := e.text(t.field)
		if err != nil {
			return word, err
		}
		word = shell.Word{Text: text}
		e.trims = t.kind != patterns.FetchURL && text != strings.TrimFunc(text, blank)
	}
	if t.glob == "" {
		return word, nil
	}
	pattern, err := e.text(t.glob)
	if err != nil {
		return word, err
	}
	return follow(word, pattern), nil
}

// blank reports whether a character is one that the agent's tools take off the
// ends of a path.
func blank(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// follow returns the directory that a glob pattern starts from: dir, or where
// the pattern's leading directories lead. It is unknown when a later part of
// the pattern can lead out again.
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

func shellKind(k patterns.Kind) shell.Kind {
	switch k {
	case patterns.ReadPath:
		return shell.Read
	case patterns.WritePath:
		return shell.Write
	}
	return shell.Fetch
}

// readLine reads a command line.
func (e *evaluation) readLine(t tool) error {
	line, err := e.text(t.field)
	if err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(line) == "":
		return fmt.Errorf("the command line of %s is empty", e.use.Tool)
	case len(line) > shell.MaxLine:
		return fmt.Errorf("the command line of %s is longer than %d bytes: write what it holds into a file first", e.use.Tool, shell.MaxLine)
	}
	v := e.input[unsandboxed]
	e.outsideSandbox = v != nil && v != false
	e.facts = shell.Analyze(line, shell.Options{
		Dir:       e.dir,
		Home:      e.policy.Place.Home,
		Workspace: e.policy.Place.Workspace,
		Dialect:   e.use.Dialect,
		Catalog:   e.policy.Catalog,
	})
	e.acts = slices.Grow(e.acts, len(e.facts.Actions)+2)
	outside := e.followConfig()
	place := risk.Place{Home: e.policy.Place.Home, Workspace: e.policy.Place.Workspace}
	e.found = risk.AppendEach(e.found, e.facts, e.policy.Profile, place)
	if !e.policy.NoCatastrophic {
		e.catastrophe, _ = risk.Catastrophic(e.facts, place)
	}
	runs, sub := false, patterns.Subject{Tool: "Bash", Line: line, Simple: e.facts.Simple, Outside: outside}
	for i := range e.facts.Actions {
		does := &e.facts.Actions[i]
		e.add(does, &e.found[i], &sub)
		runs = runs || does.Kind == shell.Command || does.Kind == shell.Opaque
	}
	if !runs {
		// Only redirections or assignments: a deny for Bash as a whole still
		// has to see that Bash is used.
		e.addFree(patterns.Subject{Kind: patterns.Hidden, Tool: "Bash", Line: line})
	}
	if e.use.Tool != "Bash" {
		e.addFree(patterns.Subject{Kind: patterns.UseTool, Tool: e.use.Tool})
	}
	if e.ceiling != nil {
		e.objection = e.ceiling.Forbid(line, e.facts)
	}
	return nil
}

// followConfig takes the proof from commands whose configuration lies outside
// the workspace once links are followed, and reports whether the line starts
// outside while a command needs to know.
func (e *evaluation) followConfig() (outside bool) {
	elsewhere := false
	for i := range e.facts.Actions {
		does := &e.facts.Actions[i]
		if !e.trusted(does.Config) && does.Unproven == "" {
			does.Unproven = does.Words[0].Text + " takes its configuration from a directory that a link leads to, outside the workspace"
			does.Elsewhere = !e.trusted(does.Dirs)
		}
		elsewhere = elsewhere || does.Elsewhere
	}
	return elsewhere && !e.trusted([]shell.Word{{Text: e.dir}})
}

// trusted reports whether directories lie in the workspace, links followed.
func (e *evaluation) trusted(dirs []shell.Word) bool {
	for i := range dirs {
		if e.inside != "" && dirs[i].Known() && dirs[i].Text == e.inside {
			continue
		}
		if patterns.Within(dirs[i], e.dir, e.policy.Place, e.resolve) != patterns.Yes {
			return false
		}
		e.inside = dirs[i].Text
	}
	return true
}

func (e *evaluation) addFree(sub patterns.Subject) {
	e.acts = append(e.acts, act{sub: sub, parent: -1, free: true, class: risk.Safe})
}

// add appends the action to e.acts; sub holds what is known of the tool use.
func (e *evaluation) add(does *shell.Action, found *risk.Finding, sub *patterns.Subject) {
	n := len(e.acts)
	e.acts = append(e.acts, act{does: does, parent: does.Parent, class: found.Class, why: found.Reason, factors: found.Factors})
	a := &e.acts[n]
	a.sub = *sub
	a.sub.Recursive = does.Recursive
	if a.parent >= n {
		a.parent = -1 // a parent stands before what it does
	}
	place := e.policy.Place
	switch does.Kind {
	case shell.Command:
		a.sub.Kind, a.sub.Command = patterns.RunCommand, does
	case shell.Read, shell.Write:
		a.sub.Kind = patterns.ReadPath
		if does.Kind == shell.Write {
			a.sub.Kind = patterns.WritePath
		}
		a.sub.Path = patterns.NewPath(does.Path, e.dir, place, e.resolve)
		if e.trims {
			a.sub.Path.Doubt("the tool may take the blanks around it away")
		}
		if does.Need != shell.NeedNone {
			e.expand(a.sub.Path, does)
		}
		a.inside = a.sub.Path.Inside() == patterns.Yes
	case shell.Fetch:
		a.sub.Kind, a.sub.URL = patterns.FetchURL, patterns.NewURL(does.Path)
		for at := a.parent; at >= 0 && !does.Followed; at = e.acts[at].parent {
			e.acts[at].sub.Fetches = append(e.acts[at].sub.Fetches, does.Path)
		}
	default:
		a.sub.Kind, a.sub.May = patterns.Hidden, does.May
		if does.Kind != shell.Opaque {
			a.sub.May = shell.MayRun
		}
	}
	if a.sub.Kind == patterns.WritePath {
		a.forms = a.sub.Path.Forms()
		a.protected = e.protects(a)
	}
	a.free = does.Need == shell.NeedNone || does.Need == shell.NeedOutside && a.inside && !a.protected
	if a.class < risk.Safe || a.class > risk.Forbidden {
		a.class = risk.Forbidden // no class at all
	}
}

// anyDepth is more levels than a path can have.
const anyDepth = 4 << 10

// expand notes that pathname expansion, or a search, may meet a symbolic link
// in a path.
func (e *evaluation) expand(p *patterns.Path, does *shell.Action) {
	dir, depth := p.Expands()
	switch forms := p.Forms(); {
	case does.Found && does.NoFollow:
		return
	case does.NoFollow:
		depth--
	case does.Found && depth == 0:
		dir, depth = forms[len(forms)-1].Text, anyDepth
	case does.Found:
		depth = anyDepth
	}
	if depth > 0 && (e.env == nil || e.walk(walk{dir: dir, depth: depth})) {
		p.Lose()
	}
}

// resolve follows symbolic links, without an Env nothing is known of them.
func (e *evaluation) resolve(name string) (string, bool) {
	if e.env == nil {
		return "", false
	}
	return e.env.Resolve(name)
}
