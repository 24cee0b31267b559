package risk

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// forkBomb is the reason for a function that starts itself in a pipe or in the
// background.
var forkBomb = shell.Why{Cause: shell.CauseForkBomb}.String()

// Catastrophic reports whether a command line would do what no rule and no mode
// may allow, and returns the reason: the recursive removal of /, a home
// directory, the workspace, a system directory, or of ".", ".." and "*" where
// these stand for one of them; the creation of a file system; a write to a
// block device; a fork bomb.
//
// Only what is proven counts, because the user cannot lift this guard for a
// single case. A word whose value is known only at run time proves nothing: rm
// -rf "$x" and rm -rf /$x remove whatever x names. The tables give these a
// class (forbidden), which a rule that names the command may lift. $HOME,
// ${HOME}, $PWD, ~ and the same with / or /* appended are recognized by their
// spelling, even if the home directory is unknown. A pathname expansion counts
// as everything that it can match: /* and /e* match /etc.
func Catastrophic(f *shell.Facts, place Place) (reason string, found bool) {
	in := newRoom()
	defer in.free()
	l, parts := newLine(f, place, in), unread{place: place}
	for i := range f.Actions {
		if reason := l.catastrophe(i); reason != "" {
			return reason, true
		}
		if f.Actions[i].Kind != shell.Opaque {
			continue
		}
		if reason := parts.catastrophe(f, i); reason != "" {
			return reason, true
		}
	}
	return "", false
}

// line is a command line that is checked for catastrophic actions.
type line struct {
	facts *shell.Facts
	place Place
	room  *room
	first int // the first command that changes the directory; -1: not computed yet
	// removers are the ancestors of each recursive rm; nil: not computed yet.
	removers map[int]bool
}

func newLine(f *shell.Facts, place Place, in *room) line {
	return line{facts: f, place: place, room: in, first: -1}
}

// catastrophe returns why the action at index i is catastrophic, or "".
func (l *line) catastrophe(i int) string {
	a := &l.facts.Actions[i]
	switch {
	case a.Kind == shell.Opaque && a.Why.Cause == shell.CauseForkBomb:
		return forkBomb
	case a.Kind == shell.Write && device(&a.Path) && !onlyMetadata(l.facts, a):
		return "destructive operation on the block device " + shown(&a.Path)
	case a.Kind == shell.Command:
		return l.command(i)
	}
	return ""
}

// moved reports whether a command before the action at index i changes the
// directory. What only may change it (source, eval) proves nothing. The answer is
// computed once a line, which may hold thousands of commands.
func (l *line) moved(i int) bool {
	if l.first < 0 {
		for l.first = 0; l.first < len(l.facts.Actions) && !l.facts.Actions[l.first].Moves(); l.first++ {
		}
	}
	return l.first < i
}

// spellsForkBomb reports whether a line that failed to parse holds a function
// whose body is only itself, piped into itself in the background: bash rejects
// :(){:|:&};: because a blank is missing, other shells accept it.
func spellsForkBomb(line string) bool {
	squeezed := strings.Join(strings.Fields(line), "")
	for rest := squeezed; ; {
		name, behind, ok := strings.Cut(rest, "(){")
		if !ok {
			return false
		}
		name = name[strings.LastIndexAny(name, ";&|\n(){}")+1:]
		if name != "" && strings.HasPrefix(behind, name+"|"+name+"&}") {
			return true
		}
		rest = behind
	}
}

// handlesNames are the programs that write to the name of a path, not to the
// device behind it.
var handlesNames = []string{"chattr", "chgrp", "chmod", "chown", "install", "ln", "mkdir", "mknod", "rm", "rmdir", "setfacl", "touch", "unlink"}

func onlyMetadata(f *shell.Facts, a *shell.Action) bool {
	if a.Redirect || a.Parent < 0 || a.Parent >= len(f.Actions) {
		return false
	}
	return slices.Contains(handlesNames, programName(&f.Actions[a.Parent]))
}

// programName returns the last path segment of a command's name, or "" if the
// name is unknown.
func programName(a *shell.Action) string {
	if len(a.Words) == 0 || !a.Words[0].Known() {
		return ""
	}
	return base(a.Words[0].Text)
}

// base returns the last path segment of a program's name.
func base(program string) string {
	if program != "" && strings.IndexByte(program, '/') < 0 {
		return program
	}
	return path.Base(program)
}

// command returns why the command at index i is catastrophic, or "".
func (l *line) command(i int) string {
	name := programName(&l.facts.Actions[i])
	switch {
	case name == "rm" || name == "srm":
		return l.target(i).removal()
	case name == "find":
		return l.target(i).findRemoval(l.removes(i))
	case makesFileSystem(name):
		return l.target(i).formatting(name)
	case overwrites(name):
		return l.target(i).overwriting(name)
	}
	return ""
}

func (l *line) target(i int) *target {
	return &target{facts: l.facts, action: &l.facts.Actions[i], place: l.place, room: l.room, moved: l.moved(i)}
}

// makesFileSystem reports whether the program is mkfs or one of its variants.
func makesFileSystem(name string) bool {
	switch name {
	case "mkfs", "mke2fs", "mkdosfs", "mkntfs", "newfs":
		return true
	}
	return strings.HasPrefix(name, "mkfs.") || strings.HasPrefix(name, "newfs_")
}

// onlyShowing are those of them that with -n only show what they would do: mke2fs(8).
var onlyShowing = []string{"mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4"}

// overwrites reports whether a program destroys the block device that an
// operand names.
func overwrites(name string) bool {
	switch name {
	case "blkdiscard", "cp", "dc3dd", "dcfldd", "dd", "ddrescue", "mkswap", "shred", "sgdisk", "tee", "truncate", "wipefs":
		return true
	}
	return false
}

// target examines what one command removes or overwrites.
type target struct {
	facts  *shell.Facts
	action *shell.Action
	place  Place
	room   *room
	moved  bool // whether the line changes the directory before the command
}

// formatting is the plan for the words of programs that make file systems.
var formatting = newPlan(formats)

func (t *target) formatting(name string) string {
	u := t.room.sortWords(t.action, name)
	if u.asksForHelp(formatting) || slices.Contains(onlyShowing, name) && u.option("-n", true) {
		return ""
	}
	return "makes a file system (" + name + ")"
}

// overwriting returns the reason if the program destroys a block device that an
// operand names. Where the catalogue knows the program, the operands that it
// writes are Write actions too.
func (t *target) overwriting(name string) string {
	u := t.room.sortWords(t.action, name)
	for n, arg := range u.scan.Args {
		w := t.action.Words[arg.Word]
		switch name {
		case "dd", "dc3dd", "dcfldd":
			rest, ok := strings.CutPrefix(w.Text, "of=")
			if !ok || len(w.Holes) > 0 && w.Holes[0].At < len("of=") {
				continue
			}
			w = shell.Word{Text: rest, Holes: shifted(w.Holes, len("of="))}
		case "cp", "ddrescue":
			if n+1 < len(u.scan.Args) {
				continue
			}
		case "wipefs":
			if !u.option("-a", false) && !u.option("--all", false) {
				return ""
			}
		}
		if arg.Kind == shell.ArgOperand && device(&w) {
			return "destructive operation on the block device " + w.Text
		}
	}
	return ""
}

func shifted(holes []shell.Hole, by int) []shell.Hole {
	var out []shell.Hole
	for _, h := range holes {
		out = append(out, shell.Hole{At: h.At - by, Kind: h.Kind})
	}
	return out
}

// removal examines the operands of rm.
func (t *target) removal() string {
	u := t.room.sortWords(t.action, "rm")
	recursive := u.option("-r", false) || u.option("-R", false) || u.option("--recursive", false) ||
		u.option("--no-preserve-root", false)
	if !recursive && !u.unsure {
		return ""
	}
	for _, arg := range u.scan.Args {
		if arg.Kind != shell.ArgOperand && arg.Kind != shell.ArgUnsure {
			continue
		}
		// Without a certain -r only a directory itself counts: rm without it
		// could not remove one anyway.
		if what := t.everything(arg.Word, recursive); what != "" {
			return "recursive removal of " + what
		}
	}
	return ""
}

// everything returns what the word at the index stands for if its removal is
// catastrophic, else "". Pathname expansions count if globs is set.
func (t *target) everything(at int, globs bool) string {
	w := &t.action.Words[at]
	if spelling := t.spelling(w); spelling != "" {
		return spelling
	}
	if len(w.Holes) > 0 && !(globs && onlyGlobs(w)) || len(w.Holes) == 0 && w.Split {
		return ""
	}
	dir, all := contents(w)
	all = all && t.takesAll(w)
	switch {
	case all && onlyDots(dir) && t.nowhere():
		return orDot(dir) + "/*"
	case !all && len(w.Holes) == 0 && onlyDots(dir):
		return dir
	}
	for _, p := range t.absolute(dir) {
		if len(w.Holes) == 0 || all {
			if t.vital(p) {
				return p
			}
		}
	}
	return t.meets(w)
}

func orDot(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// nowhere reports whether the directory is unknown although the line does not
// change it: it is then the one that the agent works in.
func (t *target) nowhere() bool {
	if t.moved {
		return false
	}
	for i := range t.action.Dirs {
		if t.action.Dirs[i].Known() {
			return false
		}
	}
	return true
}

// spellings are words that stand for the home or the current directory by their
// form.
var spellings = []string{"~", "$HOME", "${HOME}", "$PWD", "${PWD}", "$(pwd)", "`pwd`"}

// spelling returns the text of a word with holes if it spells the home or the
// current directory, alone or with / or /* appended.
func (t *target) spelling(w *shell.Word) string {
	if len(w.Holes) == 0 || w.End <= w.Pos || w.End > len(t.facts.Source) {
		return ""
	}
	text := t.facts.Source[w.Pos:w.End]
	plain := strings.TrimRight(strings.ReplaceAll(text, `"`, ""), "*/.")
	if strings.ContainsRune(text, '\'') || !slices.Contains(spellings, plain) {
		return ""
	}
	if t.moved && strings.Contains(strings.ToLower(plain), "pwd") {
		return ""
	}
	return text
}

func onlyGlobs(w *shell.Word) bool {
	for _, h := range w.Holes {
		if h.Kind != shell.Glob {
			return false
		}
	}
	return true
}

// contents splits a word into the directory that it names and whether it means
// all of the directory's contents, that is, its last segments are only
// expansions.
func contents(w *shell.Word) (dir string, all bool) {
	text := w.Text
	if len(w.Holes) == 0 {
		return text, false
	}
	first := w.Holes[0].At
	for _, segment := range strings.Split(text[first:], "/") {
		if segment != "" {
			return text, false
		}
	}
	slash := strings.LastIndexByte(text[:first], '/') + 1
	if strings.Trim(text[slash:first], ".") != "" {
		return text, false
	}
	return text[:slash], true
}

// takesAll reports whether an expansion may match every name or every hidden one:
// its last segment has no [ and no ?, or begins with a dot. A word that does not
// stand in the line literally counts as such.
func (t *target) takesAll(w *shell.Word) bool {
	if w.End <= w.Pos || w.End > len(t.facts.Source) {
		return true
	}
	text := strings.TrimRight(t.facts.Source[w.Pos:w.End], "/")
	last := text[strings.LastIndexByte(text, '/')+1:]
	return strings.HasPrefix(last, ".") || !strings.ContainsAny(last, "[?")
}

// onlyDots reports whether a relative path consists of ".", ".." and slashes.
func onlyDots(dir string) bool {
	if strings.HasPrefix(dir, "/") {
		return false
	}
	for _, segment := range strings.Split(dir, "/") {
		if segment != "" && segment != "." && segment != ".." {
			return false
		}
	}
	return true
}

// absolute returns the cleaned paths that a path may stand for, one for each
// possible directory.
func (t *target) absolute(dir string) []string {
	if strings.HasPrefix(dir, "/") {
		return []string{t.real(dir)}
	}
	var out []string
	for i := range t.action.Dirs {
		if d := &t.action.Dirs[i]; d.Known() && strings.HasPrefix(d.Text, "/") {
			out = append(out, t.real(d.Text+"/"+dir))
		}
	}
	return out
}

// real cleans a path and replaces the kernel's aliases of /.
func (t *target) real(p string) string {
	p = path.Clean(p)
	if rest, ok := strings.CutPrefix(p, "/proc/"); ok {
		_, rest, _ = strings.Cut(rest, "/")
		if rest == "root" || strings.HasPrefix(rest, "root/") {
			return path.Clean("/" + strings.TrimPrefix(rest, "root"))
		}
	}
	return p
}

// system lists the directories without which a machine does not work or its
// users lose their data.
var system = []string{
	"/", "/applications", "/bin", "/boot", "/boot/efi", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64",
	"/library", "/libx32", "/media", "/mnt", "/opt", "/private", "/private/etc", "/private/var", "/proc",
	"/root", "/run", "/sbin", "/srv", "/sys", "/system", "/users", "/usr", "/usr/bin", "/usr/lib",
	"/usr/lib64", "/usr/libexec", "/usr/local", "/usr/sbin", "/usr/share", "/var", "/var/lib", "/volumes",
}

// vital reports whether a cleaned path must not be removed: a system directory,
// a home directory, the workspace or one of its parents.
func (t *target) vital(p string) bool {
	lower := strings.ToLower(p)
	if slices.Contains(system, lower) {
		return true
	}
	if up := path.Dir(lower); up == "/home" || up == "/users" {
		return true
	}
	return holds(p, t.place.Home) || holds(p, t.place.Workspace) ||
		slices.ContainsFunc(t.place.Roots, func(root string) bool { return holds(p, root) })
}

// Apart reports whether a cleaned path is no directory to work in, or lies in one: what must
// not be removed, or is sensitive or of the system.
func (p Place) Apart(name string) bool {
	return (&target{place: p}).vital(name) || p.known(&shell.Word{Text: name}) != nil
}

// holds reports whether dir is p or lies below it; an empty dir is below
// nothing.
func holds(p, dir string) bool {
	return dir != "" && subpath.Within(path.Clean(dir), p)
}

// meets returns the system directory that a word with expansions can match, or
// "".
func (t *target) meets(w *shell.Word) string {
	if len(w.Holes) == 0 || !strings.HasPrefix(w.Text, "/") {
		return ""
	}
	pattern := strings.ToLower(strings.TrimRight(w.Filled("*"), "/"))
	for _, dir := range slices.Concat(system, []string{t.place.Home, t.place.Workspace}, t.place.Roots) {
		if dir != "" && strings.Count(dir, "/") == strings.Count(pattern, "/") && star(pattern, strings.ToLower(dir)) {
			return dir
		}
	}
	return ""
}

// narrowing lists the tests of find that exclude some files. Others (-type,
// -maxdepth …) still match nearly everything.
var narrowing = []string{
	"-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-ctime", "-empty", "-executable", "-fstype", "-gid", "-group",
	"-ilname", "-iname", "-inum", "-ipath", "-iregex", "-iwholename", "-links", "-lname", "-mmin", "-mtime", "-name",
	"-newer", "-nogroup", "-nouser", "-path", "-perm", "-readable", "-regex", "-samefile", "-size", "-uid", "-used",
	"-user", "-wholename", "-writable",
}

// findRemoval examines a find with -delete, or with a child that removes
// recursively, and without a test that excludes files.
func (t *target) findRemoval(removes bool) string {
	words, narrowed := t.action.Words, false
	for k := range words {
		removes = removes || words[k].Text == "-delete" && words[k].Known()
		narrowed = narrowed || t.narrows(k)
	}
	if !removes || narrowed {
		return ""
	}
	starts := startingPoints(words)
	for k := range starts {
		if what := t.start(&starts[k]); what != "" {
			return "recursive removal of " + what
		}
	}
	return ""
}

// startingPoints returns the words of find before its expression; without any,
// find starts in the current directory.
func startingPoints(words []shell.Word) []shell.Word {
	var out []shell.Word
	for _, w := range words[1:] {
		if w.Text == "-H" || w.Text == "-L" || w.Text == "-P" || strings.HasPrefix(w.Text, "-O") {
			continue
		}
		if strings.HasPrefix(w.Text, "-") || w.Text == "(" || w.Text == "!" {
			break
		}
		out = append(out, w)
	}
	if len(out) == 0 {
		out = []shell.Word{{Text: "."}}
	}
	return out
}

// narrows reports whether the word at k is a test that excludes files: not one
// that is negated, has an alternative, or has the pattern *.
func (t *target) narrows(k int) bool {
	words := t.action.Words
	if k == 0 {
		return false
	}
	if !slices.Contains(narrowing, words[k].Text) && !strings.HasPrefix(words[k].Text, "-newer") {
		return false
	}
	if before := words[k-1].Text; before == "!" || before == "-not" {
		return false
	}
	for i := range words {
		if text := words[i].Text; text == "-o" || text == "-or" || text == "," {
			return false
		}
	}
	return k+1 >= len(words) || strings.Trim(words[k+1].Text, "*") != "" || !words[k+1].Known()
}

// removes reports whether the action at index i runs a recursive rm, directly
// or through other commands. The answer is computed once a line.
func (l *line) removes(i int) bool {
	if l.removers == nil {
		l.removers = map[int]bool{}
		for k := range l.facts.Actions {
			if l.isRecursive(&l.facts.Actions[k]) {
				l.markParents(k)
			}
		}
	}
	return l.removers[i]
}

func (l *line) isRecursive(a *shell.Action) bool {
	if a.Kind != shell.Command || programName(a) != "rm" {
		return false
	}
	u := l.room.sortWords(a, "rm")
	return u.option("-r", false) || u.option("-R", false) || u.option("--recursive", false)
}

// markParents records the ancestors of the action at k. A parent precedes its
// children.
func (l *line) markParents(k int) {
	for p := l.facts.Actions[k].Parent; p >= 0 && p < k && !l.removers[p]; k, p = p, l.facts.Actions[p].Parent {
		l.removers[p] = true
	}
}

// start returns a starting point of find if it is vital. A single dot is not:
// find . -delete in the workspace is high, as in seed 4.
func (t *target) start(w *shell.Word) string {
	if spelling := t.spelling(w); spelling != "" {
		return spelling
	}
	if !w.Known() {
		return ""
	}
	here := *t
	if onlyDots(w.Text) {
		here.place.Workspace = ""
	}
	for _, p := range here.absolute(w.Text) {
		if here.vital(p) {
			return p
		}
	}
	return ""
}
