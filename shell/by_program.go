package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-wrapper/agent-wrapper/program"
)

// readByProgram runs the reader of a program that a table cannot describe, and
// returns the state behind the command.
func (e *effector) readByProgram() outcome {
	name := e.sub().Special
	if name == "" {
		return same(e.s)
	}
	read, ok := byProgram[name]
	if !ok {
		return same(e.s)
	}
	return read(e)
}

// byProgram are the readers by the name that the catalogue gives them.
var byProgram map[string]func(*effector) outcome

func init() {
	here := func(f func(*effector)) func(*effector) outcome {
		return func(e *effector) outcome { f(e); return same(e.s) }
	}
	byProgram = map[string]func(*effector) outcome{
		"cd": (*effector).cd, "command": (*effector).builtin, "eval": (*effector).eval,
		"pushd": (*effector).stack, "popd": (*effector).stack, "exit": (*effector).exit,
		"source": (*effector).source, "exec": (*effector).exec,
		"env": here((*effector).env), "xargs": here((*effector).xargs), "find": here((*effector).find),
		"sed": here((*effector).sed), "awk": here((*effector).awk), "dd": here((*effector).dd),
		"test": here((*effector).testCommand), "shell": here((*effector).shell),
		"declare": here((*effector).declare), "read": here((*effector).names), "mapfile": here((*effector).mapfile),
		"getopts": here((*effector).names), "wait": here((*effector).wait), "unset": here((*effector).unset),
		"printf": here((*effector).printf), "let": here((*effector).letCommand), "hash": here((*effector).hash),
		"trap": (*effector).trap, "alias": here((*effector).alias), "enable": here((*effector).enable),
		"set": here((*effector).set), "shopt": here((*effector).shopt), "complete": here((*effector).complete),
		"compgen": here((*effector).complete), "fc": here((*effector).fc), "history": here((*effector).history),
		"git": here((*effector).git), "patch": here((*effector).patch), "tar": here((*effector).tar), "jq": here((*effector).jq),
		"busybox": here((*effector).busybox), "ssh": here((*effector).ssh), "curl": here((*effector).curl), "ssh-option": here((*effector).sshOptions),
		"go": here((*effector).goTool), "gcc": here((*effector).gcc), "gh": here((*effector).gh),
		"kubectl": here((*effector).kubectl), "npm": here((*effector).npm), "crontab": here((*effector).crontab), "tmux": here((*effector).tmux), "behind": here((*effector).behind), "mvn": here((*effector).mvn), "cmake": here((*effector).cmake),
		"rustc": here((*effector).rustc), "rustc-words": here((*effector).rustcWords), "libtest": here((*effector).libtest), "golangci": here((*effector).golangci), "sources": here((*effector).reformats),
		"python": here((*effector).python), "pytest": here((*effector).pytest), "runner": here((*effector).runner), "deno": here((*effector).deno), "compose": here((*effector).compose),
		"aws": here((*effector).aws), "azure": here((*effector).azure),
		"supervised": here((*effector).supervised),
		"variables":  here((*effector).variables), "envsubst": here((*effector).envsubst), "ps": here((*effector).ps),
		"make": here((*effector).make), "flock": here((*effector).flock), "mktemp": here((*effector).mktemp), "jobs": here((*effector).jobs),
	}
}

func (e *effector) odd(c Cause, names ...string) { e.w.opaque(e.index, MayRun, c, names...) }

// cd moves the directory when its word is known.
func (e *effector) cd() outcome {
	rest := e.operandWords(0)
	for _, a := range e.frame.Assigns {
		if a.Name == "CDPATH" {
			rest = []Word{{Text: "-"}}
		}
	}
	switch {
	case len(rest) == 0:
		return outcome{ok: e.s.in(known(e.w.opt.Home)), fail: e.s}
	case e.physical() && strings.Contains(rest[0].Text, ".."):
	case len(rest) == 1 && rest[0].Known() && plainDir(rest[0].Text):
		return outcome{ok: e.s.in(clean(beneath(e.s.dirs, rest[0]))...), fail: e.s}
	}
	return e.stack()
}

// physical reports whether cd follows links before it goes up.
func (e *effector) physical() bool {
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "-P" {
			return true
		}
	}
	return false
}

// plainDir: cd - goes back, and an empty word stays.
func plainDir(text string) bool { return text != "" && !strings.HasPrefix(text, "-") }

// clean resolves . and .. as cd does, which looks at the spelling. A directory
// with a path longer than any is not followed.
func clean(dirs []Word) []Word {
	for i := range dirs {
		if dirs[i].Known() {
			dirs[i].Text = pathClean(dirs[i].Text)
		}
		if len(dirs[i].Text) > maxPath {
			dirs[i] = unknown()
		}
		dirs[i].Pos, dirs[i].End = 0, 0
	}
	return dirs
}

// stack moves to a directory that is not known for certain, as far as its word
// tells: ask and deny rules and the guard see where it may lead.
func (e *effector) stack() outcome {
	rest := e.operandWords(0)
	if len(rest) != 1 || !plainDir(rest[0].Text) || strings.HasPrefix(rest[0].Text, "+") {
		return outcome{ok: e.s.in(unknown()), fail: e.s}
	}
	dirs := []Word{endOf(rest[0])}
	if rest[0].Known() {
		dirs = append(dirs, beneath(e.s.dirs, rest[0])...)
	}
	return outcome{ok: e.s.in(clean(dirs)...), fail: e.s}
}

// endOf is a directory of which only the names are known that a word ends in:
// those of "$x/.git".
func endOf(word Word) Word {
	dir, from := unknown(), 0
	text, shift := word.Text, 0
	if !word.holeAt(0) {
		text, shift = "/"+text, 1
	}
	if up := strings.LastIndex(text, ".."); up >= 0 {
		from = up + len("..")
	}
	dir.Text = text[from:]
	for _, h := range word.Holes {
		if at := h.At + shift - from; at > 0 {
			dir.Holes = append(dir.Holes, Hole{At: at, Kind: AnyText})
		}
	}
	return dir
}

// exit ends the shell: what stands behind is not reached.
func (e *effector) exit() outcome {
	// exit --help goes on, and so does an exit whose assignment fails.
	plain := (len(e.words) == 1 || len(e.words) == 2 && number(&e.words[1])) && len(e.frame.Assigns) == 0
	if plain && e.w.unit.outer == nil && e.words[0].Text == "exit" {
		return outcome{}
	}
	return same(e.s)
}

// builtin is command and builtin: they run their words in this shell.
func (e *effector) builtin() outcome {
	e.done = true
	dashes := false
	for i := 1; i < len(e.words); i++ {
		t := &e.words[i]
		switch {
		case !t.Known():
			e.odd(causeBuiltinUnknown)
			return same(e.s)
		case isOption(t.Text) && !dashes:
			dashes = t.Text == "--"
			if strings.ContainsAny(t.Text, "vV") {
				return same(e.s) // names only
			}
		default:
			f := frame{assigns: e.frame.Assigns, parent: e.index, from: i, subst: e.frame.Substitution}
			return e.w.recurse.simple(e.words[i:], f, e.s)
		}
	}
	return same(e.s)
}

// isOption reports whether a word before -- is an option: a lone dash is not.
func isOption(text string) bool { return len(text) > 1 && text[0] == '-' }

// eval runs its words, joined, in this shell.
func (e *effector) eval() outcome {
	e.done = true
	rest := e.words[1:]
	if len(rest) > 0 && rest[0].Known() && rest[0].Text == "--" {
		rest = rest[1:]
		e.w.bashOnly("-- behind eval")
	}
	text, ok := joinWords(rest)
	if !ok {
		e.odd(causeEvalUnknown)
		return same(e.s.in(unknown()))
	}
	s := e.s.with(func(c *scope) { c.set = nil })
	e.w.recurse.nested(text, e.w.unit.dialect, s, e.index, "eval")
	if e.w.unit.moves {
		return same(s.in(unknown()))
	}
	return same(s)
}

func (e *effector) source() outcome {
	e.done = true
	if rest := e.operandWords(0); len(rest) > 0 {
		e.read(rest[0], NeedNone, "operand of "+e.prog.Name)
	}
	e.odd(causeSource)
	return outcome{ok: e.s.in(unknown()), fail: e.s.in(unknown())}
}

// exec without a command only redirects.
func (e *effector) exec() outcome {
	e.done = true
	dashes := false
	for i := 1; i < len(e.words); i++ {
		t := &e.words[i]
		switch {
		case t.Known() && isOption(t.Text) && !dashes:
			dashes = t.Text == "--"
			e.w.bashOnly("an option of exec")
			// The name that -a gives is attached, or the next word.
			if at := strings.IndexByte(t.Text, 'a'); at == len(t.Text)-1 {
				if i++; i < len(e.words) && !e.words[i].Known() {
					e.odd(causeExecName)
				}
			}
		default:
			e.runWords(i)
			return same(e.s)
		}
	}
	return same(e.s)
}

// env runs a command with other variables, and shows all of them if there is no
// command. With - or -i they are only those that it sets.
func (e *effector) env() {
	clean := e.has("-i") || len(e.operands) > 0 && e.words[e.operands[0]].Text == "-"
	if !e.envRuns() && !clean && !e.asksHelp() {
		e.shows()
	}
}

// envRuns reports whether env runs a command for certain. What stands behind its
// options and assignments is the command.
func (e *effector) envRuns() bool {
	e.done = true
	at := len(e.words)
	if len(e.operands) > 0 {
		at = e.operands[0]
	}
	for _, a := range e.scan.Args {
		if a.Word < at && !e.envOption(a) {
			return false
		}
	}
	for first := at; at < len(e.words); at++ {
		t := &e.words[at]
		switch {
		case at == first && t.Text == "-" && t.Known(): // the same as -i
		case t.MayBeOption():
			e.odd(causeArgumentUnknown, "env")
			return false
		case strings.Contains(t.Text, "="):
			e.envAssign(t)
		default:
			e.runWords(at)
			return true
		}
	}
	return false
}

// envOption reports whether an option of env leaves the command in its place.
func (e *effector) envOption(a Arg) bool {
	switch {
	case a.Kind == ArgUnsure, a.Kind == ArgUnlisted && e.words[a.Word].Text != "-":
		e.odd(causeEnvOption)
		return false
	case a.Kind == ArgOption && a.Option.Effect == program.EffRun:
		e.odd(causeEnvSplits)
		return false
	}
	return true
}

func (e *effector) envAssign(t *Word) {
	name, value, _ := t.splitAt('=')
	if len(t.Holes) > 0 && t.Holes[0].At <= len(name) {
		e.odd(causeEnvName)
		return
	}
	a := Assign{Name: name, Value: value, Class: e.w.unit.dialect.classOf(name, &value)}
	e.w.sets(name, &value, e.index)
	if !e.ownAssigns {
		e.frame.Assigns, e.ownAssigns = slices.Clone(e.frame.Assigns), true
	}
	e.frame.Assigns = append(e.frame.Assigns, a)
}

// xargs runs a command with words from its standard input.
func (e *effector) xargs() {
	e.done = true
	if len(e.operands) == 0 {
		return // echo
	}
	at := e.operands[0]
	names := Word{Holes: []Hole{{Kind: AnyText}}, Split: true, under: e.s.names}
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && (a.Option.Names[0] == "-a" || a.Option.Names[0] == "--arg-file") {
			names.under = nil
		}
	}
	replace, ok := e.xargsReplace()
	words := append([]Word(nil), e.words[at:]...)
	if !ok {
		words = append(words, names)
	}
	for i := range words {
		if ok && strings.Contains(words[i].Text, replace) {
			words[i] = holeFor(words[i], replace, names.under)
		}
	}
	e.runList(words, at)
}

func (e *effector) xargsReplace() (string, bool) {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch a.Option.Names[0] {
		case "-I", "-i", "--replace":
			if a.Value.Text == "" {
				return "{}", true
			}
			return a.Value.Text, true
		}
	}
	return "", false
}

// holeFor replaces text in a word by a hole.
func holeFor(w Word, text string, under []Word) Word {
	at := strings.Index(w.Text, text)
	out := Word{Text: w.Text[:at] + w.Text[at+len(text):], Pos: w.Pos, End: w.End}
	out.Holes = []Hole{{At: at, Kind: AnyText}}
	if out.Text == "" {
		out.under = under // with text around it the name lies elsewhere
	}
	if strings.Contains(out.Text, text) {
		return Word{Holes: []Hole{{Kind: AnyText}}, Pos: w.Pos, End: w.End}
	}
	return out
}

// find prints names, and may run commands on them, remove and write files.
func (e *effector) find() {
	e.done = true
	start := findStart(e.words)
	for i := 1; i < len(e.words); i++ {
		t := &e.words[i]
		if t.MayBeOption() && i >= start.end {
			e.odd(causeFindUnknown)
			continue
		}
		if i >= start.end && e.findTest(t.Text) {
			i++ // what looks like an action is the value of a test
			continue
		}
		switch t.Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			i = e.findExec(i, start)
		case "-delete":
			for _, p := range start.paths {
				e.recursive = true
				e.write(p, NeedCover, false, "-delete of find")
			}
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			if i++; i < len(e.words) {
				e.recursive = false
				e.write(e.words[i], NeedCover, false, t.Text+" of find")
			}
		case "-files0-from":
			if i++; i < len(e.words) {
				e.unprovenLate(causeFindNames)
				e.read(e.words[i], NeedCover, t.Text+" of find")
			}
		}
	}
}

// findTest reports whether a word of find takes the next one for its value,
// and nothing else.
func (e *effector) findTest(text string) bool {
	for i := range e.prog.Options {
		o := &e.prog.Options[i]
		if o.Value == program.Required && o.Effect == program.EffNone && slices.Contains(o.Names, text) {
			return text != "-files0-from" && !strings.HasPrefix(text, "-fprint") && text != "-fls"
		}
	}
	return false
}

// findPaths are the places where find starts, and where they end.
type findPaths struct {
	paths []Word
	end   int
	links bool // it goes through links on the way
}

// findOption reports whether a word stands before the places where find
// starts.
func findOption(text string) bool {
	switch text {
	case "-H", "-L", "-P", "-D", "--":
		return true
	}
	return strings.HasPrefix(text, "-O") && digits(text[2:]) == len(text)-2
}

// findStart returns the places where find starts, by its words.
func findStart(words []Word) findPaths {
	i := 1
	out := findPaths{}
	for i < len(words) && words[i].Known() && findOption(words[i].Text) {
		out.links = words[i].Text == "-L" || out.links && words[i].Text[1] != 'H' && words[i].Text[1] != 'P'
		if words[i].Text == "-D" {
			i++ // what is to be reported
		}
		i++
	}
	for ; i < len(words); i++ {
		t := &words[i]
		if t.MayBeOption() || strings.HasPrefix(t.Text, "-") || t.Text == "(" || t.Text == "!" || t.Text == "," {
			break
		}
		out.paths = append(out.paths, *t)
	}
	if len(out.paths) == 0 {
		out.paths = []Word{{Text: "."}}
	}
	out.end = min(i, len(words))
	for _, t := range words[out.end:] {
		out.links = out.links || t.Text == "-follow"
		if t.Text == "-files0-from" { // wherever the file says
			out.paths = append(out.paths, unknown())
		}
	}
	if out.links {
		for j := range out.paths { // a name below may lie anywhere
			out.paths[j] = Word{Holes: []Hole{{Kind: AnyText}}, Pos: out.paths[j].Pos, End: out.paths[j].End}
		}
	}
	return out
}

// findExec runs the words up to ; or + with a name in the place of {}.
func (e *effector) findExec(i int, start findPaths) int {
	end := i + 1
	for end < len(e.words) && e.words[end].Text != ";" && !(e.words[end].Text == "+" && e.words[end-1].Text == "{}") {
		end++
	}
	var under []Word
	for _, p := range start.names(e.words) {
		for _, at := range beneath(e.dirs, p) {
			at.files = p.files
			under = append(under, at)
		}
	}
	words := append([]Word(nil), e.words[i+1:end]...)
	for j := range words {
		if strings.Contains(words[j].Text, "{}") {
			words[j] = foundName(words[j], under)
		}
	}
	if len(words) > 0 {
		dirs := e.dirs
		if strings.HasSuffix(e.words[i].Text, "dir") {
			e.dirs = []Word{unknown()} // the directory of each name
		}
		e.runList(words, i+1)
		e.dirs = dirs
	}
	return end
}

// foundName is a name that find puts in the place of {}: it begins with the
// start path, so it is never an option.
func foundName(w Word, under []Word) Word {
	if w.Text != "{}" {
		return holeFor(w, "{}", under)
	}
	return Word{Text: "./", Holes: []Hole{{At: 2, Kind: AnyText}}, under: under, Pos: w.Pos, End: w.End}
}

// mktemp makes a file or a folder from a template, in the folder that an option
// gives. What it makes in the system's own folder needs no cover.
func (e *effector) mktemp() {
	e.done = true
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch a.Option.Names[0] {
		case "-u":
			e.readOnly = true
		case "-t":
			e.named = true
			if len(e.operands) > 0 {
				e.below(Word{Text: "/tmp"}, NeedCover, "option -t of mktemp")
			}
		}
	}
	if e.readOnly || e.named {
		return
	}
	for _, t := range e.operandWords(0) {
		e.write(beside(t), NeedCover, false, "operand of mktemp")
	}
}

// flock makes the file that it locks; a number without a command is a
// descriptor.
func (e *effector) flock() {
	if len(e.operands) == 0 {
		return
	}
	lock := e.words[e.operands[0]]
	if len(e.operands) > 1 || e.pattern || !number(&lock) {
		e.write(lock, NeedCover, false, "lock file of flock")
	}
}

func (e *effector) dd() {
	e.done = true
	for _, t := range e.words[1:] {
		key, _, _ := strings.Cut(t.Text, "=")
		at := len(key) + 1
		switch {
		case len(t.Holes) > 0 && t.Holes[0].At < at:
			e.odd(causeArgumentUnknown, "dd")
		case key == "of":
			e.write(cutWord(t, at), NeedCover, false, "of= of dd")
		case key == "if":
			e.read(cutWord(t, at), NeedOutside, "if= of dd")
		}
	}
}

// cutWord leaves the first n bytes of a word's text out.
func cutWord(w Word, n int) Word {
	if n > len(w.Text) {
		n = len(w.Text)
	}
	out := Word{Text: w.Text[n:], Split: w.Split, Pos: w.Pos, End: w.End}
	if n == 0 {
		out.under, out.printed = w.under, w.printed
	}
	for _, h := range w.Holes {
		if h.At >= n {
			out.Holes = append(out.Holes, Hole{At: h.At - n, Kind: h.Kind})
		}
	}
	return out
}

// shell is a shell: -c runs text, an operand is a script, and without either
// it reads commands from standard input.
func (e *effector) shell() {
	e.done = true
	text, script, reads := false, true, false
	i := 1
options:
	for ; i < len(e.words); i++ {
		t := &e.words[i]
		switch {
		case t.MayBeOption():
			e.odd(causeArgumentUnknown, e.prog.Name)
			return
		case t.Text == "--" || t.Text == "-":
			i++
			break options
		case t.Text == "+": // an option without letters
		case t.Text == "--rcfile" || t.Text == "--init-file":
			if i++; i < len(e.words) {
				e.runFile(e.words[i], "option "+t.Text)
			}
		case t.Text == "-O" || t.Text == "+O" || t.Text == "-o" || t.Text == "+o":
			i++
		case strings.HasPrefix(t.Text, "--"):
			script = script && t.Text != "--version" && t.Text != "--help"
		case len(t.Text) > 1 && (t.Text[0] == '-' || t.Text[0] == '+'):
			text = text || strings.Contains(t.Text, "c")
			reads = reads || strings.Contains(t.Text, "s")
			if strings.HasSuffix(t.Text, "o") || strings.HasSuffix(t.Text, "O") {
				i++
			}
		default:
			break options
		}
	}
	switch {
	case text && i < len(e.words):
		e.shellText(e.words[i])
		if reads { // dash goes on with its input
			e.stdin()
		}
	case reads || i >= len(e.words) && script && !text:
		e.stdin()
	case i < len(e.words):
		e.pattern = false
		e.script(e.words[i:], "script")
	}
}

// supervised is agent-wrapper exec: behind -- one argument is a line for bash,
// several are words. Where some may vanish, one may be left. What names a
// subcommand behind -- is a command too.
func (e *effector) supervised() {
	rest, ok := e.behindDashes()
	if !ok {
		e.done = len(e.sub().Path) == 1 // exec itself runs nothing without --
		return
	}
	e.done = true
	for i := range rest {
		if rest[i].Split {
			e.odd(causeArgumentsUnknown)
			return
		}
	}
	switch len(rest) {
	case 0:
	case 1:
		e.runLine(rest[0])
	default:
		e.runWords(len(e.words) - len(rest))
	}
}

// runLine runs a line for bash.
func (e *effector) runLine(text Word) {
	if !text.Known() {
		e.odd(causeLineUnknown)
		return
	}
	e.w.recurse.nested(text.Text, Bash, e.child(), e.index, "agent-wrapper exec")
}

func (e *effector) shellText(text Word) {
	if !text.Known() {
		e.odd(causeShellText, e.prog.Name)
		return
	}
	e.w.recurse.nested(text.Text, dialectOf(e.prog.Name), e.child(), e.index, e.prog.Name+" -c")
}

func dialectOf(shell string) Dialect {
	switch shell {
	case "bash":
		return Bash
	case "zsh":
		return Zsh
	case "sh", "dash", "ash":
		return Sh
	}
	return Foreign
}

// busybox runs the applet that its first argument names.
func (e *effector) busybox() {
	e.done = true
	if len(e.words) > 1 && !strings.HasPrefix(e.words[1].Text, "--") {
		e.runWords(1)
	}
}

// ssh runs the words behind the host on that host.
func (e *effector) ssh() {
	e.done = true
	e.sshOptions()
	if rest := e.operandWords(1); len(rest) > 0 {
		e.runsText(rest, "command for the host")
	}
}

// sshOptions looks at the settings on the command line of ssh, scp and sftp.
func (e *effector) sshOptions() {
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "-o" {
			e.sshOption(a.Value)
		}
	}
}

// sshOption: settings of ssh_config(5) that run or load something here.
func (e *effector) sshOption(v Word) {
	key, _, _ := strings.Cut(strings.ToLower(v.Text), "=")
	key, _, _ = strings.Cut(strings.TrimSpace(key), " ")
	switch key {
	case "stricthostkeychecking", "connecttimeout", "batchmode", "user", "port", "serveraliveinterval",
		"serveralivecountmax", "loglevel", "passwordauthentication", "preferredauthentications", "requesttty",
		"compression", "addressfamily", "identitiesonly":
		if v.Known() {
			return
		}
	}
	e.odd(causeSSHOption, e.prog.Name)
}

// curl sends the contents of a file that a data option names with @.
func (e *effector) curl() {
	for _, r := range e.operandWords(0) {
		e.fileURL(r)
	}
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch a.Option.Names[0] {
		case "-w":
			e.curlFormat(a.Value)
		case "-d", "--data", "--data-ascii", "--data-binary", "--data-urlencode", "-F", "--form", "--json", "-H", "--header":
			if at := strings.IndexAny(a.Value.Text, "@<"); at >= 0 || len(a.Value.Holes) > 0 && a.Value.Holes[0].At == 0 {
				e.curlFile(a, at)
			}
		}
	}
}

func (e *effector) curlFile(a Arg, at int) {
	name := a.Option.Names[0]
	form := name == "-F" || name == "--form" || name == "--data-urlencode"
	if at > 0 && !form || at < 0 && name == "-H" {
		return
	}
	if at >= 0 {
		e.read(cutWord(a.Value, at+1), NeedOutside, "option "+name+" of curl")
	}
	e.unprovenLate(causeMaySend, name, "curl")
}

// unprovenLate marks the command after it was added.
func (e *effector) unprovenLate(c Cause, names ...string) { e.doubted(because(c, names...)) }

func (e *effector) doubted(why Why) {
	if e.index >= 0 && !e.w.facts.Actions[e.index].Unproven() {
		e.w.facts.Actions[e.index].Why = why
	}
}

// patch: the first operand is the file that is patched (patch(1)).
func (e *effector) patch() {
	if rest := e.operandWords(0); len(rest) > 0 && !e.has("--dry-run") {
		e.write(rest[0], NeedCover, false, "operand of patch")
	}
}

// git: a URL of the form ext::COMMAND runs a command.
func (e *effector) git() {
	for i := range e.words[1:] {
		t := e.words[i+1].Text
		if strings.HasPrefix(t, "ext::") || strings.HasPrefix(t, "fd::") {
			e.odd(causeGitURL)
		}
	}
	e.gitShows()
	e.gitConfig()
	e.gitBundle()
	e.gitRestores()
	e.gitPatches()
}

// gitBundle: git bundle create writes its first operand; the others are
// revisions.
func (e *effector) gitBundle() {
	if rest := e.operandWords(0); strings.Join(e.scan.Path, " ") == "bundle create" && len(rest) > 0 && rest[0].Text != "-" {
		e.write(rest[0], NeedCover, false, "operand of git bundle create")
	}
}

// gitPatches: what a patch, a stash or a reset changes below the workspace
// stands in no word. It is what these subcommands are for: only ask and deny
// rules look at it.
func (e *effector) gitPatches() {
	if len(e.scan.Path) == 0 {
		return
	}
	sub := strings.Join(e.scan.Path, " ")
	switch sub {
	case "apply":
		looks := e.has("--stat") || e.has("--numstat") || e.has("--summary") || e.has("--check")
		if e.has("--cached") || looks && !e.has("--apply") {
			return
		}
	case "reset":
		if !e.has("--hard") && !e.has("--merge") && !e.has("--keep") {
			return
		}
	case "stash pop":
		if verb := e.words[e.subcommandAt()].Text; verb != "pop" && verb != "apply" && verb != "branch" {
			return
		}
	case "am":
	default:
		return
	}
	from := len(e.w.facts.Actions)
	e.write(joinPath(known(e.w.opt.Workspace), Word{Holes: []Hole{{Kind: AnyText}}}), NeedNone, false, "git "+sub)
	for i := from; i < len(e.w.facts.Actions); i++ {
		e.w.facts.Actions[i].Unnamed = true
	}
}

// gitRestores: a path that is checked out is overwritten, one that is removed,
// moved or cleaned away is lost. That is what these subcommands are for, so only
// ask and deny rules look at it.
func (e *effector) gitRestores() {
	if len(e.scan.Path) == 0 || e.has("--dry-run") || e.has("--cached") {
		return
	}
	sub := e.scan.Path[0]
	switch sub {
	case "checkout", "restore", "rm", "clean", "mv":
	default:
		return
	}
	rest, what := e.operandWords(0), "operand of git "+sub
	switch sub {
	case "clean":
		if len(rest) == 0 {
			rest = []Word{{Text: "."}}
		}
	case "mv":
		if n := len(rest) - 1; n > 0 {
			for _, src := range rest[:n] {
				e.write(joinPath(rest[n], last(src)), NeedNone, false, what)
			}
		}
		return // the operands themselves are in its entry
	}
	for _, path := range rest {
		e.inPlaceWrite(path, NeedNone, what)
	}
}

// gitShows: what git prints of a file, it has read.
func (e *effector) gitShows() {
	if len(e.scan.Path) == 0 || !gitPrinters[e.scan.Path[0]] {
		return
	}
	for _, r := range e.operandWords(0) {
		if !r.Known() {
			continue // nearly always a revision
		}
		if at := strings.LastIndexByte(r.Text, ':'); at >= 0 {
			r = cutWord(r, at+1)
		}
		if r.Text != "" {
			e.read(r, NeedNone, "operand of git "+e.scan.Path[0])
		}
	}
}

var gitPrinters = set("diff", "show", "blame", "annotate", "difftool")

// jq: a filter can read the environment, and load modules. That of yq may stand
// behind eval.
func (e *effector) jq() {
	filters := e.filters()
	for _, filter := range filters {
		switch {
		case !filter.Known():
			e.unprovenLate(causeJqUnknown)
		case wordIn(filter.Text, "env", "ENV", "input_filename", "import", "include", "get_search_list"):
			e.unprovenLate(causeJqReads)
		}
	}
	if e.prog.Name == "yq" {
		filters = append(filters, e.operandWords(0)...)
		if slices.ContainsFunc(filters, yqLoads) {
			e.w.opaque(e.index, MayRead, causeYqLoads)
		}
	}
	if slices.ContainsFunc(filters, func(w Word) bool { return w.Known() && jqEnviron(w.Text) }) {
		e.shows()
	}
}

// yqLoads reports whether an expression of yq loads a file.
func yqLoads(w Word) bool {
	return wordIn(w.Text, "load", "load_str", "load_xml", "load_props", "load_base64") && strings.Contains(w.Text, "(")
}

// filters are the filters that jq and yq are given on the command line.
func (e *effector) filters() []Word {
	if !e.pattern && len(e.operands) > 0 {
		return []Word{e.words[e.operands[0]]}
	}
	var list []Word
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Effect == program.EffPattern && a.ValueAt >= 0 {
			list = append(list, a.Value)
		}
	}
	return list
}

// wordIn reports whether text holds one of the names as a word of its own.
func wordIn(text string, names ...string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	}) {
		for _, n := range names {
			if word == n {
				return true
			}
		}
	}
	return false
}

// plainIndex reports whether a name with an index evaluates to nothing: a
// plain name, or digits in the brackets.
func plainIndex(name string) bool {
	at := strings.IndexByte(name, '[')
	if at < 0 {
		return syntax.ValidName(name)
	}
	index := strings.TrimSuffix(name[at+1:], "]")
	return syntax.ValidName(name[:at]) && (index == "@" || index == "*" || index != "" && strings.Trim(index, "0123456789") == "")
}
