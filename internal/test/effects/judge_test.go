//go:build oracle && linux

package effects

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
)

// rules is a policy as the judge sees it. It shares no code with the engine.
type rules struct {
	mode   string // "default" or "acceptEdits"
	allow  []rule
	denied []string // names of programs
}

// rule is one allow rule.
type rule struct {
	kind  kind
	words []string // of a command
	glob  string   // of a path: "", "dir/**", "/dir/**", "*.ext", "name"
	line  string
}

type kind uint8

const (
	prefix kind = iota
	exact
	star // words of which one is *
	everything
	wholeLine
	edit
)

func (r rule) String() string {
	switch r.kind {
	case prefix:
		return "Bash(" + strings.Join(r.words, " ") + ":*)"
	case everything:
		return "Bash"
	case wholeLine:
		return "Bash(" + r.line + ")"
	case edit:
		if r.glob == "" {
			return "Edit"
		}
		return "Edit(" + r.glob + ")"
	}
	return "Bash(" + strings.Join(r.words, " ") + ")"
}

func (p *rules) spec() *policy.Spec {
	s := &policy.Spec{Mode: p.mode, Risk: "off"}
	for _, r := range p.allow {
		s.Allow = append(s.Allow, policy.Item{Text: r.String()})
	}
	for _, name := range p.denied {
		s.Deny = append(s.Deny, policy.Item{Text: "Bash(" + name + ":*)"})
	}
	return s
}

// policy returns rules that fit the line.
func (g *generator) policy(line string) *rules {
	p := &rules{mode: "default"}
	if g.in(4) {
		p.mode = "acceptEdits"
	}
	thorough := !g.in(4)
	for _, words := range g.commands {
		if thorough || !g.in(4) {
			p.allow = append(p.allow, g.rule(words))
		}
	}
	for _, r := range []struct {
		glob string
		n    int
	}{{"", 20}, {"out/**", 4}, {"*.log", 8}, {"/tmp/**", 8}, {"sub/**", 10}, {"n1", 10}, {"a.txt", 8}} {
		if g.in(r.n) {
			p.allow = append(p.allow, rule{kind: edit, glob: r.glob})
		}
	}
	if g.in(100) {
		p.allow = append(p.allow, rule{kind: everything})
	}
	if g.in(60) && !strings.ContainsAny(line, "*\n") {
		p.allow = append(p.allow, rule{kind: wholeLine, line: line})
	}
	if len(p.allow) == 0 {
		p.allow = append(p.allow, rule{kind: prefix, words: []string{"c3"}})
	}
	for g.in(6) {
		p.denied = append(p.denied, g.one("c9", "rm", "c2", "sh", "git", "c3", "touch"))
	}
	return p
}

// rule returns an allow rule for a command. An empty last word means that the
// others are the whole command.
func (g *generator) rule(words []string) rule {
	whole := len(words) > 1 && words[len(words)-1] == ""
	if whole {
		words = words[:len(words)-1]
	}
	words = slices.Clone(words)
	switch {
	case whole && g.in(8):
		return rule{kind: exact, words: words}
	case len(words) > 2 && g.in(12):
		words[1+g.r.IntN(len(words)-1)] = "*"
		return rule{kind: star, words: words}
	}
	n := 1
	if g.in(3) {
		n += g.r.IntN(len(words))
	}
	return rule{kind: prefix, words: words[:n]}
}

// judge compares the effects of a line with the rules that allowed it.
type judge struct {
	rules *rules
	line  string
	got   effectbox.Result
	links map[string]string
	free  bool // a rule covers anything that the line does
	sure  []bool
	known []bool
}

// violations returns the effects that no rule covers.
func violations(p *rules, line string, got effectbox.Result, links map[string]string) (out []string) {
	for i, s := range got.Started {
		if s.Name != "run" && s.Name != path.Base(s.Argv[0]) {
			got.Started[i].Argv[0] = s.Name // exec -a: the rules are about the program
		}
	}
	j := &judge{rules: p, line: line, got: got, links: links, sure: make([]bool, len(got.Started)), known: make([]bool, len(got.Started))}
	for _, r := range p.allow {
		switch {
		case r.kind == everything, r.kind == wholeLine && strings.TrimSpace(r.line) == strings.TrimSpace(line):
			j.free = true
		case r.kind == exact && slices.Contains(inShell, r.words[0]):
			j.free = true // its effects cannot be told from those of the shell
		}
	}
	for i, s := range got.Started {
		if name := path.Base(s.Argv[0]); slices.Contains(p.denied, name) && !j.own(i) {
			out = append(out, "started although denied: "+strings.Join(s.Argv, "|"))
		} else if !j.covered(i) {
			out = append(out, "started without cover: "+j.lineage(i))
		}
	}
	for _, c := range got.Changes {
		if !j.mayChange(c) && !got.TimedOut {
			out = append(out, c.What+" without cover: "+c.Path)
		}
	}
	return out
}

// lineage returns a program and its ancestors.
func (j *judge) lineage(i int) string {
	text := strings.Join(j.got.Started[i].Argv, "|")
	for at := j.got.Started[i].Parent; at >= 0; at = j.got.Started[at].Parent {
		text += " <- " + strings.Join(j.got.Started[at].Argv, "|")
	}
	return text
}

// inShell lists builtins that run something. An exact rule covers all of it.
var inShell = []string{".", "source", "eval", "exec", "trap", "builtin", "command", "time"}

// plain lists the wrappers that need no rule.
var plain = []string{"timeout", "nice", "nohup", "time", "stdbuf"}

// covered reports whether the start of a program is covered.
func (j *judge) covered(i int) bool {
	if !j.known[i] {
		j.known[i] = true
		j.sure[i] = j.free || j.find(i)
	}
	return j.sure[i]
}

func (j *judge) find(i int) bool {
	argv := j.got.Started[i].Argv
	if slices.Contains(plain, standard(argv[0])) || j.own(i) {
		return true
	}
	for _, r := range j.rules.allow {
		if r.covers(argv) {
			return true
		}
	}
	if (slices.Contains(writers, argv[0]) || slices.Contains(editors, argv[0])) && j.rules.mode == "acceptEdits" {
		return true // its changes are checked path by path
	}
	return j.reached(i)
}

// standard returns the name of a program that is called by its name or its
// usual path.
func standard(name string) string {
	for _, dir := range []string{"/usr/bin/", "/bin/"} {
		if rest, ok := strings.CutPrefix(name, dir); ok {
			return rest
		}
	}
	return name
}

// covers reports whether a rule for commands covers an argv.
func (r rule) covers(argv []string) bool {
	words := r.words
	if r.kind <= star {
		for len(words) > 1 && slices.Contains(inShell, words[0]) {
			// The builtin leaves no trace, but what it runs does.
			for words = words[1:]; len(words) > 1 && strings.HasPrefix(words[0], "-"); words = words[1:] {
				if words[0] == "-a" && len(words) > 2 {
					words = words[1:] // the name given by exec
				}
			}
			if argv[0] == standard(words[0]) {
				argv = append([]string{words[0]}, argv[1:]...)
			}
		}
	}
	switch r.kind {
	case prefix:
		return len(argv) >= len(words) && slices.Equal(argv[:len(words)], words)
	case exact:
		return slices.Equal(argv, words)
	case star:
		return expression(words).MatchString(strings.Join(argv, "\x00"))
	}
	return false
}

// expression returns a regular expression for words with stars.
func expression(words []string) *regexp.Regexp {
	text := "(?s)^"
	for i, w := range words {
		last := i == len(words)-1
		switch {
		case w == "*" && last:
			text += "(\x00.*)?"
		case i == 0:
			text += regexp.QuoteMeta(w)
		case w == "*":
			text += "\x00.*"
		default:
			text += "\x00" + regexp.QuoteMeta(w)
		}
	}
	return regexp.MustCompile(text + "$")
}

// reached reports whether a rule for an ancestor covers the program: a rule for
// exactly its words, or one whose words extend into this command.
func (j *judge) reached(i int) bool {
	argv := j.got.Started[i].Argv
	for at := j.got.Started[i].Parent; at >= 0; at = j.got.Started[at].Parent {
		above := j.got.Started[at].Argv
		for _, r := range j.rules.allow {
			if !r.covers(above) {
				continue
			}
			if r.kind == exact {
				return true
			}
			for k := 1; k < len(r.words); k++ {
				if n := len(r.words) - k; n <= len(argv) && len(above) >= len(r.words) && slices.Equal(r.words[k:], argv[:n]) {
					return true
				}
			}
			if r.kind == star && slices.Contains(above, argv[0]) {
				return true
			}
		}
	}
	return false
}

// own reports whether a program is internal to the one that started it: the
// words of the line do not name it, and cannot.
func (j *judge) own(i int) bool {
	s := j.got.Started[i]
	if s.Parent < 0 {
		return false
	}
	argv, above := s.Argv, j.got.Started[s.Parent].Argv
	name, by := standard(argv[0]), standard(above[0])
	if !j.covered(s.Parent) {
		return false
	}
	shellText := name == "sh" && len(argv) > 2 && argv[1] == "-c"
	switch by {
	case "git":
		return name == "git" || strings.HasPrefix(argv[0], "/usr/lib/git-core/") || len(argv) > 1 && strings.HasPrefix(argv[1], "/usr/lib/git-core/") ||
			shellText || slices.Contains([]string{"editor", "gpg"}, name)
	case "sh":
		if len(above) > 1 && strings.HasPrefix(above[1], "/usr/lib/git-core/") {
			return slices.Contains(gitScripts, name)
		}
		if above[1] == "-c" && j.own(s.Parent) { // the shell in which a program calls its compressor
			return len(argv) <= 2 && slices.Contains([]string{"gzip", "bzip2", "xz", "zstd", "lzma", "lzip", "lzop", "compress"}, name) && above[2] == strings.Join(argv, " ") ||
				name == "unzip" && (argv[1] == "-v" || strings.HasPrefix(argv[1], "-t")) || j.script(argv, above)
		}
	case "flock":
		return argv[0] == "/bin/sh" && shellText // flock -c
	case "tar", "awk", "gawk", "mawk", "sed", "sort", "rsync", "zip", "split", "sqlite3", "ed", "less":
		if shellText {
			return true
		}
		return by == "tar" && len(argv) <= 2 && slices.Contains([]string{"gzip", "bzip2", "xz", "zstd", "lzma", "lzip", "lzop", "compress"}, name) ||
			by == "rsync" && name == "ssh"
	case "egrep", "fgrep":
		return name == "grep" && len(argv) > 1 && (argv[1] == "-E" || argv[1] == "-F")
	case "gunzip", "zcat":
		return name == "gzip" && argv[1] == "-cd" || name == "gzip" && argv[1] == "-d"
	case "zgrep":
		return slices.Contains([]string{"gzip", "grep", "sed", "expr", "cat", "zcat", "mktemp", "rm", "bzip2", "xz"}, name)
	case "diff":
		return name == "pr"
	case "sdiff", "diff3":
		return name == "diff"
	case "xargs":
		return name == "echo"
	case "rg":
		return slices.Contains([]string{"gzip", "bzip2", "xz", "zstd", "lz4", "brotli", "uncompress"}, name)
	case "bash", "dash":
	}
	return j.script(argv, above)
}

// gitScripts lists what the shell scripts of git start.
var gitScripts = strings.Fields("git sed uname basename sh expr cat sleep mkdir dirname grep cut which rm tr wc date")

// script reports whether the contents of a file of the tree named a program.
// Those are not part of a tool use, unless the line changed the file.
func (j *judge) script(argv, above []string) bool {
	if len(argv) != 2 || argv[0] != "c9" || !strings.HasPrefix(argv[1], "from-") {
		return false
	}
	file := map[string]string{"from-x": work + "/x", "from-prog": work + "/prog.awk", "from-bashrc": home + "/.bashrc"}[argv[1]]
	return !slices.ContainsFunc(j.got.Changes, func(c effectbox.Change) bool {
		return c.What != "removed" && c.Path == file
	})
}

// editors lists the programs that change the files among their operands.
var editors = []string{"sed", "tee"}

// writers lists the programs whose purpose is to write their operands; link and
// unlink are ln and rm for a single file.
var writers = []string{"mkdir", "touch", "rm", "rmdir", "cp", "mv", "ln", "install", "chmod", "link", "unlink"}

// makers lists the writers that create the directories on the way to their operands.
var makers = []string{"mkdir", "install"}

// mayChange reports whether a change is covered.
func (j *judge) mayChange(c effectbox.Change) bool {
	if j.free || !protected(c.Path) && j.byRule(c.Path) || j.temporary(c) {
		return true
	}
	if j.rules.mode == "acceptEdits" && inside(c.Path, work) && !protected(c.Path) {
		return true
	}
	for i, s := range j.got.Started {
		if j.exactly(i) || j.spelt(i, c.Path) || slices.Contains(writers, standard(s.Argv[0])) && inside(c.Path, work) && !protected(c.Path) && j.operand(s, c.Path) || j.repository(s, c) {
			return true
		}
	}
	return false
}

// temporary reports whether a path is the empty file or directory that mktemp
// creates without arguments.
func (j *judge) temporary(c effectbox.Change) bool {
	rest, ok := strings.CutPrefix(c.Path, "/tmp/tmp.")
	return ok && len(rest) >= 10 && c.What == "created" && slices.ContainsFunc(j.got.Started, func(s effectbox.Started) bool { return s.Name == "mktemp" })
}

func inside(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// protected reports whether changing a path requires a rule that names it.
func protected(name string) bool {
	return inside(name, work+"/.git/hooks") || name == work+"/.git/config" || name == home+"/.bashrc"
}

// byRule reports whether an Edit rule covers a path.
func (j *judge) byRule(name string) bool {
	for _, r := range j.rules.allow {
		if r.kind != edit {
			continue
		}
		dir, tree := strings.CutSuffix(r.glob, "/**")
		switch {
		case r.glob == "":
			return true
		case tree && inside(name, path.Join(work, dir)) && !path.IsAbs(dir), tree && path.IsAbs(dir) && inside(name, dir):
			return true
		case strings.HasPrefix(r.glob, "*.") && inside(name, work) && strings.HasSuffix(name, r.glob[1:]):
			return true
		case !strings.Contains(r.glob, "/") && inside(name, work) && path.Base(name) == r.glob:
			return true
		}
	}
	return false
}

// exactly reports whether an exact rule covers the program or one of its
// ancestors, and with it all of its effects.
func (j *judge) exactly(i int) bool {
	for at := i; at >= 0; at = j.got.Started[at].Parent {
		for _, r := range j.rules.allow {
			if r.kind == exact && r.covers(j.got.Started[at].Argv) {
				return true
			}
		}
	}
	return false
}

// spelt reports whether a rule for the program names a path in its words. A
// path names the directories above it as well: mkdir -p and install -D create them.
func (j *judge) spelt(i int, name string) bool {
	s := j.got.Started[i]
	for _, r := range j.rules.allow {
		if r.kind > star || !slices.Contains(writers, standard(s.Argv[0])) || !r.covers(s.Argv) {
			continue
		}
		for _, word := range r.words[1:] {
			if !path.IsAbs(word) {
				word = s.Dir + "/" + word
			}
			if at := j.resolve(word, true); at == name || slices.Contains(makers, standard(s.Argv[0])) && inside(at, name) {
				return true
			}
		}
	}
	return false
}

// operand reports whether a writing program was asked to write a path: an
// operand, a path below or above one, its backup, or an entry of its name in
// the last operand.
func (j *judge) operand(s effectbox.Started, name string) bool {
	for _, arg := range s.Argv[1:] {
		if path.Base(arg) == path.Base(name) && path.Dir(name) == s.Dir {
			return true // ln -s x
		}
		if i := strings.IndexByte(arg, '='); strings.HasPrefix(arg, "--") && i > 0 {
			arg = arg[i+1:]
		}
		if strings.HasPrefix(arg, "-t") && len(arg) > 2 {
			arg = arg[2:]
		}
		if !path.IsAbs(arg) {
			arg = s.Dir + "/" + arg
		}
		if slices.Contains(makers, standard(s.Argv[0])) && j.passed(arg, name) {
			return true
		}
		at := j.resolve(arg, false)
		if inside(name, j.resolve(arg, true)) || inside(name, at) || inside(at, name) || strings.HasPrefix(name, at+"~") || strings.HasPrefix(name, at+".~") {
			return true
		}
		if path.Dir(name) == path.Dir(at) && strings.HasPrefix(name, at) {
			return true // a backup with its suffix
		}
	}
	return false
}

// passed reports whether a maker creates a directory on the way to another: a of
// a/../b, which is named in the operand.
func (j *judge) passed(arg, name string) bool {
	for at := strings.Index(arg, "/.."); at >= 0; {
		if j.resolve(arg[:at], false) == name {
			return true
		}
		next := strings.Index(arg[at+1:], "/..")
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return false
}

// resolve follows the links of the tree, for the last element of a name only if
// last is set.
func (j *judge) resolve(name string, last bool) string {
	at, rest := "/", strings.Split(name, "/")
	for n := 0; len(rest) > 0 && n < 100; n++ {
		part := rest[0]
		rest = rest[1:]
		if part == ".." {
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		to, link := j.links[next]
		if !link || len(rest) == 0 && !last {
			at = next
			continue
		}
		if path.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return at
}

// changing lists the subcommands of git whose purpose is to change files in the
// repository's own directory.
var changing = []string{
	"checkout", "restore", "reset", "stash", "clean", "mv", "rm", "merge", "pull", "rebase", "switch", "apply", "am",
	"cherry-pick", "revert", "bisect", "read-tree", "filter-branch", "checkout-index", "worktree", "clone", "init", "submodule", "sparse-checkout", "st",
}

// repository reports whether a change is one that a git command makes in its
// own repository.
func (j *judge) repository(s effectbox.Started, c effectbox.Change) bool {
	if standard(s.Argv[0]) != "git" || !inside(c.Path, work) || protected(c.Path) && !slices.Contains(s.Argv, "config") && !slices.Contains(s.Argv, "remote") && !slices.Contains(s.Argv, "branch") && !slices.Contains(s.Argv, "clone") && !slices.Contains(s.Argv, "init") {
		return false
	}
	if inside(c.Path, work+"/.git") {
		return true
	}
	for _, arg := range s.Argv[1:] {
		if slices.Contains(changing, arg) {
			return true
		}
	}
	return false
}
