package risk

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
)

// WindowsShell is a Windows shell.
type WindowsShell uint8

// The shells; the zero value is invalid and treated as PowerShell.
const (
	Cmd WindowsShell = iota + 1
	PowerShell
)

// Windows reports on a command line of a Windows shell. It understands only
// simple lines: words, quotes, the operators | & && || ; and redirections. A
// line with anything else (a variable, a block, an escape, a comment, an
// expansion) is at least Moderate, for that reason, and as high as the highest
// command that one of its words may be. The case of names and options is
// ignored.
//
// The report is for commands that classify a line. Decisions do not use it: to
// the evaluator such a line is opaque.
func Windows(line string, sh WindowsShell) Report {
	if len(line) > shell.MaxLine {
		return newReport([]Finding{{Class: Moderate, Reason: "the line is too long to be read", Factors: alone(FactorDynamic)}})
	}
	w := windowsLine{shell: sh}
	w.readLine(line, 0)
	r := newReport(w.found)
	r.Components = append(r.Components, w.components...)
	return r
}

// windowsLine is a Windows command line and what was found so far.
type windowsLine struct {
	shell      WindowsShell
	found      []Finding
	components []Component
	fetches    bool // a command of the line fetches from a host
}

// maxNested is how deep lines within words of a line are read.
const maxNested = 4

// readLine examines the commands of a line that is nested depth levels deep.
func (w *windowsLine) readLine(line string, depth int) {
	s := windowsScanner{text: line, cmd: w.shell == Cmd}
	s.scan()
	for _, words := range s.commands {
		w.command(words, depth)
	}
	for _, target := range s.writes {
		w.found = append(w.found, windowsWriting(target))
	}
	if s.odd != "" {
		f := Finding{Class: Moderate, Reason: s.odd, Factors: alone(s.factor)}
		f.join(w.possible(split(line), "a word of what is not read may be the command "))
		w.found = append(w.found, f)
	}
}

// split returns everything in a text that may be a word once its quotes and
// escapes are removed.
func split(text string) []string {
	bare := strings.NewReplacer("^", "", "`", "", `"`, "", "'", "").Replace(text)
	return strings.FieldsFunc(bare, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(",;=|&(){}<>$@#!", r)
	})
}

// possible returns the highest finding that any of the words can have as a
// command.
func (w *windowsLine) possible(words []string, reason string) Finding {
	var f Finding
	for _, one := range words {
		for _, p := range append(w.plans(one), w.plansElsewhere(one)...) {
			for i := range p.rows {
				if p.rows[i].Class > f.Class {
					f = Finding{Class: p.rows[i].Class, Reason: reason + one}
				}
			}
		}
	}
	return f
}

// command adds the findings of one command.
func (w *windowsLine) command(words []string, depth int) {
	if w.shell != Cmd && words[0] == "." && len(words) > 1 {
		words = words[1:] // runs what follows in this shell
	}
	if w.shell == Cmd {
		words = cmdWords(words)
	}
	if len(words) == 0 {
		return
	}
	f, subcommand := w.tabled(words)
	if f.Class == Safe && !ofWindows(words[0]) {
		f.raise(Moderate, "a program of that name outside the system's directories", FactorUnknown)
	}
	for _, one := range words[1:] {
		f.ofWord(one)
		if w.shell != Cmd && f.Class == Safe && ofVariables(one) {
			f.Reason, f.cause = string(environment), environment
		}
	}
	if f.cause == environment {
		f.factor(FactorSensitive)
	}
	n := 1 + len(strings.Fields(subcommand))
	w.components = append(w.components, Component{words[0], subcommand, slices.Clone(words[n:]), f.Class, f.Reason})
	if f.cause == runsCode || f.cause == needsRoot {
		w.inner(&f, words, depth)
	}
	w.fetches = w.fetches || f.cause == fromRemote || f.cause == remote
	w.found = append(w.found, f)
}

// inner raises the finding of a command that runs another one by what that one
// may be: any of its words, or a line within one of them.
func (w *windowsLine) inner(f *Finding, words []string, depth int) {
	name, in := windowsName(words[0]), *w
	in.shell = shellOf(name, w.shell)
	f.join(in.possible(split(strings.Join(words[1:], " ")), "may run "))
	if w.fetches {
		f.raise(High, "runs what it fetches from a host", FactorInterpreter)
	}
	if name == "powershell" || name == "pwsh" {
		f.encoded(words)
	}
	if depth >= maxNested {
		f.factor(FactorDynamic)
		return
	}
	for _, one := range words[1:] {
		if strings.ContainsAny(one, " \t") {
			in.readLine(one, depth+1)
		}
	}
	w.found, w.components = in.found, in.components
}

func shellOf(name string, otherwise WindowsShell) WindowsShell {
	switch name {
	case "cmd":
		return Cmd
	case "powershell", "pwsh":
		return PowerShell
	}
	return otherwise
}

// encoded looks for -EncodedCommand, which may be abbreviated to any prefix.
func (f *Finding) encoded(words []string) {
	for _, one := range words[1:] {
		option := strings.ToLower(strings.TrimLeft(one, "-/"))
		if option != "" && option != one && (option == "ec" || strings.HasPrefix("encodedcommand", option)) {
			f.join(because(High, encoded, FactorDynamic))
		}
	}
}

// ofWord adds what an argument names: a path, a device, a share.
func (f *Finding) ofWord(text string) {
	switch {
	case windowsDevice(text):
		f.join(Finding{Class: Moderate, Reason: "names a device", Factors: alone(FactorDevice)})
	case strings.HasPrefix(text, `\\`) || strings.HasPrefix(text, "//"):
		f.join(because(Moderate, remote, "")) // a share, at which Windows logs in with the user's credentials
	}
	if s := new(Place).known(&shell.Word{Text: slashed(text)}); s != nil && s.factor == FactorSensitive {
		f.factor(FactorSensitive)
	}
}

// ofVariables reports whether a word of PowerShell is a path on the drive of
// the environment's variables: env:, Env:\X, Environment::X, -Path:env:X.
func ofVariables(text string) bool {
	text = strings.ToLower(text)
	if strings.HasPrefix(text, "-") {
		_, text, _ = strings.Cut(text, ":")
	}
	return strings.HasPrefix(text, "env:") || strings.Contains(text, "environment::")
}

// slashed returns a Windows path in the form that the table of paths has.
func slashed(p string) string {
	if len(p) > 1 && p[1] == ':' {
		p = p[2:]
	}
	return strings.ToLower(strings.ReplaceAll(p, `\`, "/"))
}

// windowsDevice reports whether a path is in the device namespace.
func windowsDevice(p string) bool {
	p = strings.ToLower(strings.ReplaceAll(p, "/", `\`))
	return strings.Contains(p, `\\.\`) || strings.Contains(p, `\\?\physical`) || strings.Contains(p, `\\?\globalroot`)
}

// windowsWriting returns the finding of the target of a redirection.
func windowsWriting(target string) Finding {
	p := slashed(target)
	switch {
	case windowsDevice(target):
		return because(Forbidden, disks, FactorDevice)
	case p == "nul" || p == "con" || p == "$null":
		return because(Safe, writesNowhere, "")
	case strings.HasPrefix(p, "/windows") || strings.HasPrefix(p, "/program files"):
		return because(High, onSystem, FactorSystem)
	}
	f := Finding{Class: Moderate, Reason: "mutating operation: writes " + target}
	if s := new(Place).known(&shell.Word{Text: p}); s != nil {
		f.join(s.writing(Default))
	}
	return f
}

// ofWindows reports whether a program is called by its bare name or lies in a
// system directory.
func ofWindows(program string) bool {
	p := slashed(program)
	at := strings.LastIndexByte(p, '/')
	if at < 0 {
		return true
	}
	switch p[:at] {
	case "/windows", "/windows/system32", "/windows/syswow64", "/windows/system32/windowspowershell/v1.0":
		return true
	}
	return strings.HasPrefix(p, "microsoft.powershell.") // a module-qualified cmdlet
}

// windowsName returns the name of a program without directory and extension.
func windowsName(text string) string {
	p := slashed(text)
	p = p[strings.LastIndexByte(p, '/')+1:]
	p = strings.TrimSuffix(p, ".exe")
	return strings.TrimSuffix(p, ".com")
}

// cmdWords splits the first word as cmd does: a leading @ is not part of the
// name, and no blank is needed after a built-in command (del/f, cd.., echo.).
func cmdWords(words []string) []string {
	first := strings.TrimLeft(words[0], "@,;=")
	if first == "" {
		return words[1:]
	}
	out := append([]string{first}, words[1:]...)
	at := strings.IndexAny(first, `/\.:+[],;=`)
	if at <= 0 {
		return out
	}
	if ofBuiltins().find(strings.ToLower(first[:at])) == nil && first[at] != '/' {
		return out
	}
	return append([]string{first[:at], first[at:]}, words[1:]...)
}

var (
	ofBuiltins = sync.OnceValue(func() *index { return newIndex(cmdBuiltins()) })
	ofCmdlets  = sync.OnceValue(func() *index { return newIndex(cmdlets()) })
	ofPrograms = sync.OnceValue(func() *index { return newIndex(windowsPrograms()) })
)

// plans returns the entries of the tables for a name, those of the shell itself
// first.
func (w *windowsLine) plans(text string) []*plan {
	name := windowsName(text)
	var out []*plan
	add := func(x *index) {
		if p := x.find(name); p != nil {
			out = append(out, p)
		}
	}
	if w.shell == Cmd {
		add(ofBuiltins())
	} else {
		if !strings.ContainsAny(text, `.\/`) {
			name = aliasOf(name)
		}
		add(ofCmdlets())
	}
	add(ofPrograms())
	return out
}

func aliasOf(name string) string {
	at, found := slices.BinarySearchFunc(aliases, name, func(a alias, name string) int { return strings.Compare(a.name, name) })
	if found {
		return aliases[at].cmdlet
	}
	return name
}

// tabled returns the finding of the tables for a command, and its subcommand.
func (w *windowsLine) tabled(words []string) (f Finding, subcommand string) {
	if found := w.plans(words[0]); len(found) > 0 {
		return windowsRow(found[0], words)
	}
	if found := w.plansElsewhere(words[0]); len(found) > 0 {
		f, subcommand = windowsRow(found[0], words)
		if f.Class == Safe {
			f.raise(Moderate, "a command of another shell", FactorUnknown)
		}
		return f, subcommand
	}
	return elsewhere(windowsName(words[0]), words)
}

// plansElsewhere returns the entry that the other shell has for a name.
func (w *windowsLine) plansElsewhere(text string) []*plan {
	other := ofCmdlets
	if w.shell != Cmd {
		other = ofBuiltins
	}
	if p := other().find(windowsName(text)); p != nil {
		return []*plan{p}
	}
	return nil
}

// windowsRow returns the finding of a program's rows for its words.
func windowsRow(p *plan, words []string) (Finding, string) {
	u := use{words: []shell.Word{{Text: words[0]}}, entry: &bare}
	var subs []string
	for _, one := range words[1:] {
		text := strings.ToLower(one)
		if options := optionsOf(text); options != nil {
			for _, text := range options {
				u.arg(shell.ArgUnlisted, p.optionOf(text))
			}
			continue
		}
		subs = append(subs, one)
		u.operands = append(u.operands, text)
		u.arg(shell.ArgOperand, text)
	}
	depth := 0
	for _, r := range p.reached(&u, nil) {
		depth = max(depth, r.depth)
	}
	if !slices.Equal(subs[:depth], words[1:1+depth]) {
		depth = 0 // options may stand between
	}
	r := p.find(&u)
	return because(r.Class, r.Cause, ""), strings.Join(subs[:depth], " ")
}

func (u *use) arg(kind shell.ArgKind, text string) {
	u.scan.Args = append(u.scan.Args, shell.Arg{Kind: kind, Word: len(u.words), ValueAt: -1})
	u.words = append(u.words, shell.Word{Text: text})
}

// optionsOf returns the options of a word, or nil if it is none: /s/q is two.
func optionsOf(text string) []string {
	switch {
	case len(text) < 2:
		return nil
	case text[0] == '-':
		return []string{text}
	case text[0] != '/':
		return nil
	}
	var out []string
	for one := range strings.SplitSeq(text[1:], "/") {
		if one != "" {
			out = append(out, "/"+one)
		}
	}
	return out
}

// optionOf returns the option of the rows that a word stands for, without its
// value; the first if it may stand for several. A dash is equivalent to a
// slash. A prefix stands for the whole option unless the row is safe.
func (p *plan) optionOf(text string) string {
	text, _, _ = strings.Cut(text, ":")
	for i := range p.rows {
		for _, want := range p.wants[i] {
			for _, spelling := range want.spellings {
				same := text[1:] == spelling[1:] && (text[0] == spelling[0] || text[0] == '-')
				begins := len(text) > 1 && strings.HasPrefix(spelling[1:], text[1:]) && p.rows[i].Class > Safe
				if same || begins {
					return spelling
				}
			}
		}
	}
	return text
}

// someDirectory is the directory in which programs of other systems are
// analyzed; the result does not depend on it.
const someDirectory = "/workspace"

// portable lists programs with the same arguments on all systems.
var portable = []string{
	"aws", "az", "cargo", "docker", "gcloud", "gh", "git", "go", "helm", "kubectl", "npm", "oc", "pip", "pip3",
	"pnpm", "podman", "terraform", "tofu", "yarn",
}

// elsewhere returns the finding of the other systems' tables for a program that
// the Windows tables lack.
func elsewhere(name string, words []string) (Finding, string) {
	var quoted []string
	for _, one := range append([]string{name}, words[1:]...) {
		quoted = append(quoted, shellword.Single(one))
	}
	f := shell.Analyze(strings.Join(quoted, " "), shell.Options{Dir: someDirectory})
	found := Each(f, Default)
	r := Summary(f, found)
	if len(r.Components) == 0 {
		return Finding{Class: Moderate, Reason: "unknown command: " + words[0], Factors: alone(FactorUnknown)}, ""
	}
	first := slices.MaxFunc(found, func(a, b Finding) int { return cmp.Compare(a.Class, b.Class) })
	all := Finding{Class: r.Class, Reason: r.Reasons[0], Factors: r.Factors, cause: first.cause}
	if all.Class == Safe && !slices.Contains(portable, name) {
		all.raise(Moderate, "a program of other systems: "+name, FactorUnknown)
		return all, ""
	}
	subcommand := r.Components[0].Subcommand
	if sub := strings.Fields(subcommand); len(sub) >= len(words) || !slices.Equal(sub, words[1:1+len(sub)]) {
		subcommand = ""
	}
	return all, subcommand
}

// WindowsRules returns the tables of a Windows shell.
func WindowsRules(sh WindowsShell) []Rule {
	var out []Rule
	own := cmdlets
	if sh == Cmd {
		own = cmdBuiltins
	}
	for _, table := range [][]rated{own(), windowsPrograms()} {
		for i := range table {
			out = table[i].appendRules(out)
		}
	}
	if sh == Cmd {
		return out
	}
	for _, a := range aliases {
		out = (&rated{a.name, ofCmdlets().find(a.cmdlet).rows}).appendRules(out)
	}
	return out
}
