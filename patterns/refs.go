package patterns

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// maxRefs is the number of refs of a command that are compared one by one. A command
// with more counts as one that may write any.
const maxRefs = 16

// refUse is a command of git that names refs.
type refUse struct {
	form string
	kept []shell.Word // the words without the refs
	// repository reports that kept ends in the repository.
	repository bool
	refs       []shell.Word
	rest       []shell.Word // operands behind the refs
	any        bool         // the configuration, or more words than are compared, names the refs
}

// refsOf sorts the words of a command as program.Program.Refs says. It is nil if the
// command names no refs. One with options before its subcommand is read without them: see
// withoutGlobals.
func refsOf(sub *Subject) *refUse {
	a := sub.Command
	if a.Program == nil || len(a.Words) < 2 || !a.Words[1].Known() {
		return nil
	}
	inner := a.Program.Subcommand(a.Words[1].Text)
	if inner == nil || inner.Refs == "" {
		return nil
	}
	have := sub.read()
	spec := strings.Fields(inner.Refs)
	u := &refUse{form: spec[0]}
	all, others := spec[1:], []string(nil)
	if at := slices.Index(all, "--"); at >= 0 {
		all, others = all[:at], all[at+1:]
	}
	every := hasAny(&have, all)
	u.sort(&have, a.Words, all)
	switch {
	case u.form == "each" && !every:
		return nil
	case u.form == "pushed":
		u.any = every || len(u.refs) == 0 && !hasAny(&have, others)
	case u.form == "first" && len(u.refs) > 1:
		u.refs, u.rest = u.refs[:1], u.refs[1:]
	}
	if len(u.refs) > maxRefs {
		u.refs, u.any = nil, true
	}
	return u
}

func hasAny(have *shell.Scan, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return hasOptions(have, []string{name}) })
}

// sort divides the words into refs and the others. Options that stand for all refs are
// left out.
func (u *refUse) sort(have *shell.Scan, words []shell.Word, all []string) {
	const (
		kept = iota
		isRef
		dropped
	)
	role := make([]int, len(words))
	operands := u.form == "each" || u.form == "first"
	u.repository = operands
	for i := range have.Args {
		a := &have.Args[i]
		option := a.Kind == shell.ArgOption
		sign := option && !strings.HasPrefix(words[a.Word].Text, "-") // +main, :main
		switch {
		case option && !operands && slices.ContainsFunc(all, func(name string) bool { return named(a.Option, name) }):
			role[a.Word] = dropped
		case a.Kind != shell.ArgOperand && a.Kind != shell.ArgUnsure && !sign:
		case u.repository:
			role[a.Word] = isRef
		case a.Kind == shell.ArgOperand:
			u.repository = true
		}
	}
	for i := range words {
		switch role[i] {
		case kept:
			u.kept = append(u.kept, words[i])
		case isRef:
			u.refs = append(u.refs, words[i])
		}
	}
}

// ref is one ref of a command: what it is read from, what it is written to, and the
// option for which its sign stands.
type ref struct {
	from, to shell.Word
	both     bool // both are given
	option   string
}

// readRef reads [+]SRC[:DST].
func readRef(w shell.Word) ref {
	var r ref
	if plain(w, '+') {
		r.option, w = "--force", tail(w, 1)
	}
	r.from, r.to = w, w
	if at := strings.LastIndexByte(w.Text, ':'); at >= 0 {
		r.from, r.to, r.both = head(w, at), tail(w, at+1), true
		if at == 0 && len(r.from.Holes) == 0 && r.to.Text != "" {
			r.option = "--delete"
		}
	}
	return r
}

// plain reports whether a word begins with c.
func plain(w shell.Word, c byte) bool {
	return w.Text != "" && w.Text[0] == c && (len(w.Holes) == 0 || w.Holes[0].At > 0)
}

func head(w shell.Word, at int) shell.Word {
	w.Holes = slices.DeleteFunc(slices.Clone(w.Holes), func(h shell.Hole) bool { return h.At > at })
	w.Text = w.Text[:at]
	return w
}

func tail(w shell.Word, at int) shell.Word {
	holes := w.Holes
	w.Text, w.Holes = w.Text[at:], nil
	for _, h := range holes {
		if h.At >= at {
			h.At -= at
			w.Holes = append(w.Holes, h)
		}
	}
	return w
}

// branch returns a ref by the name of its branch, with * as unknown text. It is not ok if
// the name depends on the state of the repository: HEAD, @{-1}.
func branch(w shell.Word) (name shell.Word, ok bool) {
	for _, prefix := range []string{"refs/", "heads/"} {
		if strings.HasPrefix(w.Text, prefix) && (len(w.Holes) == 0 || w.Holes[0].At >= len(prefix)) {
			w = tail(w, len(prefix))
		}
	}
	if slash := strings.LastIndexByte(w.Text, '/'); len(w.Holes) > 0 && w.Holes[0].At <= slash {
		w = tail(w, slash+1) // the hole may be refs/heads
	}
	for at := strings.IndexByte(w.Text, '*'); at >= 0; at = strings.IndexByte(w.Text, '*') {
		hole := shell.Hole{At: at, Kind: shell.AnyText}
		after := tail(w, at+1)
		w = head(w, at)
		w.Holes = append(w.Holes, hole)
		for _, h := range after.Holes {
			w.Holes = append(w.Holes, shell.Hole{At: h.At + at, Kind: h.Kind})
		}
		w.Text += after.Text
	}
	state := w.Text == "HEAD" || w.Text == "@" || strings.Contains(w.Text, "@{") || w.Text == ""
	return w, !state || len(w.Holes) > 0
}

// refForms returns a command that writes refs once for each of them, by the name of its
// branch: git push --force origin main for git push origin dev +HEAD:refs/heads/main.
func (s spelling) refForms() []spelling {
	u := refsOf(s.sub)
	if u == nil {
		return nil
	}
	var list []spelling
	add := func(sure Match, words ...shell.Word) { list = append(list, s.with(words, min(sure, s.sure))) }
	for _, w := range u.refs {
		r := readRef(w)
		to, ok := branch(r.to)
		if !ok {
			continue
		}
		sure := yesIf(len(r.to.Holes) == len(to.Holes))
		if sure == No {
			sure = Maybe
		}
		if r.option != "" && u.form != "fetched" {
			add(sure, u.with(shell.Word{Text: r.option}, to)...)
		} else {
			add(sure, u.with(to)...)
		}
		if from, ok := branch(r.from); ok && r.both && u.form == "fetched" {
			add(Yes, u.with(from)...)
		}
		if r.both && (u.form == "fetched" || u.local()) {
			add(Maybe, append(renamed(s.sub.Command.Words[:1], 1, "git", "branch", deletes(r)), to)...)
		}
	}
	return list
}

// deletes returns the option of git branch that does what a ref does here.
func deletes(r ref) string {
	if r.option == "--delete" {
		return "-D"
	}
	return "-f"
}

// local reports whether the repository is the one of the working directory.
func (u *refUse) local() bool {
	return u.form == "pushed" && slices.ContainsFunc(u.kept, func(w shell.Word) bool { return w.Text == "." })
}

// at returns a push to the address of a repository as one to a remote, whose address it
// may be. It is nil for other commands.
func (u *refUse) at(remote shell.Word) *refUse {
	if u.form != "pushed" {
		return nil
	}
	var named *refUse
	for i := range u.kept {
		text := u.kept[i].Text
		if i < 2 || text == "" || text[0] == '-' || !strings.ContainsAny(text, ":/") {
			continue
		}
		if named == nil {
			copied := *u
			named, copied.kept = &copied, slices.Clone(u.kept)
		}
		named.kept[i] = remote
	}
	return named
}

// with returns the words of the command with these in place of its refs.
func (u *refUse) with(words ...shell.Word) []shell.Word {
	return slices.Concat(u.kept, words, u.rest)
}

// someRef matches a rule against a command whose refs depend on the configuration or the
// branch, or whose repository is an address: it may write the one that the rule names.
func (c *commandRule) someRef(sub *Subject, place Place) Match {
	u := refsOf(sub)
	if u == nil {
		return No
	}
	s := spelling{sub: sub, sure: Maybe}
	may := func(words []shell.Word) bool { return c.possibly(s.with(words, Maybe).sub, place) > No }
	names := c.refNames()
	refs := u.written()
	if u.unknown() {
		refs = append(refs, names...)
	}
	for _, name := range names {
		if u.unknown() && u.repository && may(u.with(name)) {
			return Maybe
		}
		named := u.at(name)
		for _, ref := range refs {
			if named != nil && may(named.with(ref)) || u.unknown() && !u.repository && may(u.with(name, ref)) {
				return Maybe
			}
		}
	}
	return No
}

// written returns the refs that the words of the command name, by their branches.
func (u *refUse) written() (refs []shell.Word) {
	for _, w := range u.refs {
		if to, ok := branch(readRef(w).to); ok {
			refs = append(refs, to)
		}
	}
	return refs
}

// unknown reports whether the command may write refs that its words do not name.
func (u *refUse) unknown() bool {
	return u.any || slices.ContainsFunc(u.refs, func(w shell.Word) bool {
		_, ok := branch(readRef(w).to)
		return !ok
	})
}

// refNames returns the words of the rule that may name a repository or a ref.
func (c *commandRule) refNames() []shell.Word {
	var names []shell.Word
	for _, words := range append(c.exact[:len(c.exact):len(c.exact)], c.words) {
		for i, w := range words {
			text := withoutStars(w)
			if i == 0 || text == "" || text[0] == '-' {
				continue
			}
			names = append(names, shell.Word{Text: text})
		}
	}
	return names
}

// refShapes returns the words of a rule with its refs by the names of their branches:
// git push origin main for git push origin HEAD:refs/heads/main. Signs stay, since a rule
// against +main is not one against main.
func refShape(words []string) []string {
	prog := program.Lookup(words[0])
	if prog == nil || !prog.HasSubs() {
		return nil
	}
	sub := &Subject{Kind: RunCommand, Command: &shell.Action{Program: prog}}
	for _, w := range words {
		sub.Command.Words = append(sub.Command.Words, shell.Word{Text: w})
	}
	u := refsOf(sub)
	if u == nil || len(u.refs) != 1 || u.any {
		return nil
	}
	r := readRef(u.refs[0])
	to, ok := branch(r.to)
	if !ok || r.option != "" || len(to.Holes) > 0 || to.Text == u.refs[0].Text {
		return nil
	}
	out := []string{}
	for _, w := range u.with(to) {
		out = append(out, w.Text)
	}
	return out
}
