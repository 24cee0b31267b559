package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Kind is the kind of what is at a path.
type Kind uint8

// The kinds. The zero value is nothing.
const (
	Nothing Kind = iota
	File         // or a device, a pipe, a socket
	Dir
	Link
	Unknown // it cannot be told, as what lies in a directory that cannot be entered
)

// MaxPath is from which length on a path cannot be named: PATH_MAX of Linux.
const MaxPath = 4096

// Entry is a name in a directory.
type Entry struct {
	Name string
	Kind Kind
}

// Listing is what is in a directory.
type Listing struct {
	Entries []Entry
	Of      Inode // the directory
}

// Files is what a Planner needs to know of the files.
type Files interface {
	// Kind returns what is at an absolute path, without following a link there: Unknown
	// from MaxPath on.
	Kind(path string) Kind
	// List returns what is in a directory, or where a link leads to one. As long as nothing
	// has changed in it, it may return the same Listing, of which nobody changes anything. The error is
	// fs.ErrNotExist if nothing is there, and fs.ErrPermission if it cannot be listed, or
	// what is in it not be looked at by its path.
	List(dir string) (*Listing, error)
	// Again is List as it is now, whatever was seen of the directory before. It may return
	// the same Listing if nothing has changed.
	Again(dir string) (*Listing, error)
	// Inode returns what is at a path, without following a link there.
	Inode(path string) Inode
	// Names returns how many names a file has, by hard links; 1 if that is not known.
	Names(path string) int
	// Resolve follows the links of an absolute path, as permission.Env.
	Resolve(path string) (real string, ok bool)
	// Passes returns the paths that are looked at to resolve one: the names on the way, and
	// those on the way that a link there leads.
	Passes(path string) []string
	// Repository returns the directories, outside it, in which git keeps the repository
	// of a directory.
	Repository(dir string) []string
}

// Machine is what a plan depends on beside the policy and the files.
type Machine struct {
	Writable []Path   // further directories: caches of tools
	Temp     []string // the directories for temporary files
	Services []string // the directories for sockets of services
	Sockets  []string // such sockets, by which programs outside do what is said; none of commands inside
	Settings []string // what in a directory of git changes what git does
	Never    []string // what of it git itself makes in no such directory
	State    []string // what this program keeps: no command needs it
}

// maxNames is how many names a plan looks at in each directory of the workspace, and outside.
// That many take seconds once, and then as long as there are directories.
const maxNames = 1_000_000

// Make returns the plan for a policy, under the present rules of a session, which may be
// nil. An error means that there can be none: what is in the workspace cannot be told.
func (pl *Planner) Make(p *permission.Policy, s *permission.Session, m *Machine, files Files) (*Plan, error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.under(p.Bounds(s))
	if pl.round%forgetEvery == 0 {
		defer pl.forget()
	}
	k := &maker{Planner: pl, machine: m, files: files, most: maxNames}
	k.plan = Plan{Workspace: append([]string{p.Place.Workspace}, p.Place.Roots...), Hosts: hosts(p)}
	if err := k.writable(p.Place.Home); err != nil {
		return nil, err
	}
	if err := k.workspace(); err != nil {
		return nil, err
	}
	if err := k.settled(); err != nil {
		return nil, err
	}
	k.nested()
	if err := k.elsewhere(); err != nil {
		return nil, err
	}
	for _, socket := range m.Sockets {
		k.socket(socket)
	}
	for _, name := range m.State {
		if err := k.state(name); err != nil {
			return nil, err
		}
	}
	for _, root := range k.plan.Workspace {
		k.absent(root)
	}
	k.settle()
	k.named()
	k.held()
	k.sort()
	k.found()
	return &k.plan, nil
}

type maker struct {
	*Planner
	machine *Machine
	files   Files
	plan    Plan
	most    int // names that may be looked at in a directory of the workspace, and outside
	left    int // how many of them still may
	over    int // names that were too many
	unheld  []string
	again   bool // what is seen of a directory is to be as it is now
	moved   bool // something has changed meanwhile
	walked  map[string]*walked
	kept    string // why nothing in the workspace is written, "" if there is no reason
}

// hosts returns the rules of a policy that allow hosts.
func hosts(p *permission.Policy) []string {
	var rules []string
	for _, rule := range p.Allow.Rules() {
		if rule.Tool() == tools.WebFetch {
			rules = append(rules, rule.String())
		}
	}
	for _, g := range p.Rules {
		if g.Action() == patterns.Allow && g.Hosts() {
			rules = append(rules, g.String())
		}
	}
	return rules
}

// writable sets the directories that may be written, and those for temporary files.
func (k *maker) writable(home string) error {
	for _, root := range k.plan.Workspace {
		if k.kept = k.bounds.ReadOnly(); k.kept != "" {
			k.add(&k.plan.Writable, root, "the workspace, but for what stays as it is")
			k.add(&k.plan.ReadOnly, root, k.kept)
			continue
		}
		k.add(&k.plan.Writable, root, "the workspace")
		for _, dir := range k.files.Repository(root) {
			if err := k.repository(dir); err != nil {
				return err
			}
		}
		copies := permission.Copies(root)
		if real, ok := k.files.Resolve(copies); ok && real == copies && k.files.Kind(copies) == Dir { // no link leads there
			k.add(&k.plan.Writable, copies, "copies of the workspace")
		}
	}
	k.caches()
	k.emptied(&k.plan.Temp, k.machine.Temp, "temporary files")
	k.home(home)
	k.emptied(&k.plan.Services, k.machine.Services, "sockets of services")
	return nil
}

// nested keeps what is between a directory of the workspace and one that it lies in where it
// is: by another name above it, the next command would have another directory there. What is
// read-only there already stays.
func (k *maker) nested() {
	for _, root := range k.plan.Workspace {
		for at := path.Dir(root); k.within(at) && at != "/"; at = path.Dir(at) {
			if k.writes(at) {
				k.add(&k.plan.Writable, at, "it stays where it is, since "+root+" lies there")
			}
		}
	}
}

// caches adds the further directories. What is looked for where a command can have put
// something does not count: a link would let the next one write wherever it leads.
func (k *maker) caches() {
	type cache struct{ path, real, why string }
	var found []cache
	writable := slices.Clone(k.plan.Writable)
	for _, w := range k.machine.Writable {
		if real, ok := k.files.Resolve(w.Path); ok && k.files.Kind(real) == Dir && !k.inside(real) {
			found = append(found, cache{w.Path, real, w.Why})
			writable = append(writable, Path{real, w.Why})
		}
	}
	for _, c := range found {
		if !k.changes(c.path, writable) {
			k.add(&k.plan.Writable, c.real, c.why)
		}
	}
}

// changes reports whether a command that can write to directories can change where a path
// leads.
func (k *maker) changes(name string, writable []Path) bool {
	return slices.ContainsFunc(k.files.Passes(name), func(at string) bool { return belowAny(path.Dir(at), writable) })
}

// emptied adds directories that are to be empty, unless the workspace is above, or a command
// has a say in which they are.
func (k *maker) emptied(list *[]Path, dirs []string, why string) {
	for _, dir := range dirs {
		real, ok := k.files.Resolve(dir)
		if ok && k.files.Kind(real) == Dir && !k.within(real) && real != "/" && !k.changes(dir, k.plan.Writable) {
			k.add(list, real, why)
		}
	}
}

// home shows the home directory if it lies among temporary files: programs find their
// configuration there as they do elsewhere. What is withheld below it stays withheld.
func (k *maker) home(home string) {
	real, ok := k.files.Resolve(home)
	if ok && k.files.Kind(real) == Dir && belowAny(real, k.plan.Temp) && !k.inside(real) && !slices.Contains(Paths(k.plan.Temp), real) {
		k.add(&k.plan.Shown, real, "the home directory, which lies among temporary files")
	}
}

// inside reports whether a path is in a directory that may be written.
func (k *maker) inside(name string) bool { return belowAny(name, k.plan.Writable) }

func (k *maker) add(list *[]Path, name, why string) {
	if !slices.ContainsFunc(*list, func(p Path) bool { return p.Path == name }) {
		*list = append(*list, Path{name, why})
	}
}

// workspace looks at everything in the workspace. That one of its directories has too many
// names is no reason to withhold what is in another.
func (k *maker) workspace() error {
	for _, root := range k.plan.Workspace {
		k.left, k.over = k.most, 0
		bound := k.at(root, true)
		kept := bound.Write != "" && k.within(path.Dir(root)) // by a rule about the one that it lies in
		if kept {
			k.add(&k.plan.ReadOnly, root, bound.Write)
		}
		if err := k.walk(root, kept); err != nil {
			return err
		}
	}
	k.left, k.over = k.most, 0
	return nil
}

var errTooMany = fmt.Errorf("there are more than %d names", maxNames)

// walk looks at everything in a directory. With kept set nothing there can be written
// anyway.
func (k *maker) walk(dir string, kept bool) error {
	if k.over > k.most {
		return k.tooMany(dir, 0)
	}
	list := k.files.List
	if k.again {
		list = k.files.Again
	}
	listing, err := list(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		delete(k.walked, dir) // it was moved meanwhile
		return nil
	case errors.Is(err, fs.ErrPermission):
		return k.seal(dir, err) // whoever owns it can change that
	case err != nil:
		return fmt.Errorf("what is to be withheld cannot be looked for: %w", err)
	}
	if !k.sees(dir, listing, kept) {
		return nil
	}
	if k.left -= len(listing.Entries); k.left < 0 {
		return k.tooMany(dir, len(listing.Entries))
	}
	found := k.in(dir, listing)
	if found.deep {
		return k.seal(dir, errTooLong)
	}
	if found.repository && !kept {
		if err := k.settings(dir); err != nil {
			return err
		}
		k.known(dir)
	}
	for i := range found.notable {
		if err := k.entry(&found.notable[i], kept); err != nil {
			return err
		}
	}
	return nil
}

// tooMany is for a directory with more names than may be looked at. In the workspace it is
// withheld, and they are not counted, so that what lies beside it can be looked at.
func (k *maker) tooMany(dir string, names int) error {
	if !k.within(dir) {
		return errTooMany
	}
	k.left += names
	k.over += names
	return k.seal(dir, errTooMany)
}

var errTooLong = errors.New("there are paths that are too long to name")

// seal withholds the nearest directory that can be named, since what is in it cannot be told.
// A command could have brought that about, so that it is no reason for a plan without it, nor
// for none: there is none only if all of a directory of the workspace would be withheld.
func (k *maker) seal(dir string, why error) error {
	for k.files.Kind(dir) == Unknown && dir != "/" {
		dir = path.Dir(dir)
	}
	if k.holdsWorkspace(dir) {
		return fmt.Errorf("what is to be withheld in %s cannot be looked for: %w", dir, why)
	}
	k.add(&k.plan.Denied, dir, "what is to be withheld in it cannot be looked for: "+why.Error())
	return nil
}

// holdsWorkspace reports whether a path is a directory of the workspace, or above one.
func (k *maker) holdsWorkspace(name string) bool {
	return slices.ContainsFunc(k.plan.Workspace, func(root string) bool { return subpath.Within(root, name) })
}

// entry looks at one name.
func (k *maker) entry(e *notable, kept bool) error {
	name, kind, bound := e.path, e.kind, e.bound
	if kind == Link {
		k.link(name)
		return nil
	}
	if !kept || bound.Read != "" {
		k.pin(name, kind == Dir, bound)
	}
	if bound.Read != "" {
		k.add(&k.plan.Denied, name, bound.Read)
		return nil
	}
	if kind != Dir {
		if bound.Write != "" && !kept {
			k.add(&k.plan.ReadOnly, name, bound.Write)
		}
		return nil
	}
	switch {
	case path.Base(name) == ".git" && !kept && !bound.Kept && k.inside(name):
		if err := k.repository(name); err != nil {
			return err
		}
	case slices.Contains(Paths(k.plan.Writable), name):
		kept = false
	case slices.Contains(Paths(k.plan.ReadOnly), name): // it changes what git does
		kept = true
	case bound.Write != "" && !kept:
		k.add(&k.plan.ReadOnly, name, bound.Write)
		kept = true
	}
	return k.walk(name, kept)
}

// pin keeps the directories above what is withheld where they are, as far as it would not be
// withheld everywhere without their names, or would be no secret by other ones
// (certifi/cacert.pem, what an allow rule names). Otherwise a command could move one, and the
// next would find what is there by its other name, or put something else in its place. What
// is withheld itself cannot be moved: it is a mount of its own.
func (k *maker) pin(name string, dir bool, bound permission.Bound) {
	if bound.Read == "" && bound.Write == "" {
		return
	}
	rest, whole := path.Base(name), k.outermost(name)
	for at := path.Dir(name); k.inside(at) && at != "/" && !k.everywhere(whole, rest, dir, bound); at = path.Dir(at) {
		k.keep(at, rest)
		rest = path.Base(at) + "/" + rest
	}
}

// stays keeps all directories above what is looked for where it is where they are.
func (k *maker) stays(name string) {
	for at := path.Dir(name); k.inside(at) && at != "/"; at = path.Dir(at) {
		k.keep(at, path.Base(name))
	}
}

// keep keeps a directory where it is.
func (k *maker) keep(dir, what string) {
	if k.writes(dir) {
		k.add(&k.plan.Writable, dir, "it stays where it is, since "+what+" is withheld there")
	}
}

// outermost returns the directory out of which a command cannot move what is at a path: the
// highest one above it that is a mount because it can be written.
func (k *maker) outermost(name string) string {
	top := ""
	for _, w := range k.plan.Writable {
		if subpath.Within(name, w.Path) && (top == "" || len(w.Path) < len(top)) {
			top = w.Path
		}
	}
	return top
}

// everywhere reports whether the end of a path alone has it withheld, in whichever directory
// below one, at any depth. What a rule keeps from being written is so by that rule: where
// another reason protects it, what is put in its place is not. Several rules that let it not
// be read may be about as many depths.
func (k *maker) everywhere(top, end string, dir bool, bound permission.Bound) bool {
	freed := func(at string) bool {
		now := k.at(path.Join(top, at, end), dir)
		return now.Lifted || bound.Read != "" && (now.Read == "" || bound.Ruled && now.Ruled && now.Read != bound.Read) ||
			bound.Write != "" && (now.Write == "" || bound.Kept && now.Write != bound.Write)
	}
	public := func(whole string) bool { return freed(strings.TrimSuffix(whole, end)) }
	return !slices.ContainsFunc(depths, freed) && !slices.ContainsFunc(risk.PublicEnds(end), public)
}

// depths are directories that no rule and no table names, at several depths: that of a
// pattern may be one, and a pattern may be for some names.
var depths = []string{"", "moved~away", "~9", "\u00e9", "moved~away/~9", "~9/moved~away", "moved~away/~9/\u00e9", "\u00e9/~9/~9", "moved~away/~9/~9/\u00e9/~9"}

// writes reports whether a directory can be written: the last of what the plan has above
// it counts.
func (k *maker) writes(name string) bool {
	longest := func(list []Path) (n int) {
		for _, p := range list {
			if subpath.Within(name, p.Path) {
				n = max(n, len(p.Path))
			}
		}
		return n
	}
	return longest(k.plan.Writable) > longest(k.plan.ReadOnly)
}

// link looks at a symbolic link. Its target is what is held; the link itself cannot be.
func (k *maker) link(name string) {
	real, ok := k.files.Resolve(name)
	dir := ok && k.files.Kind(real) == Dir
	if dir {
		k.unheld = append(k.unheld, k.bounds.Through(name, k.within(real))...)
	}
	bound := k.at(name, dir)
	if bound.Read == "" && bound.Write == "" {
		return
	}
	k.add(&k.plan.Gaps, name, "it is a link, which a command may replace by a file of its own")
	k.unheld = append(k.unheld, bound.Write)
	switch {
	case ok && k.files.Kind(real) == Nothing:
	case !ok || k.files.Kind(real) == Unknown || k.needed(real):
		k.unheld = append(k.unheld, bound.Read)
	case bound.Read != "":
		k.add(&k.plan.Denied, real, bound.Read)
	case k.inside(real):
		k.add(&k.plan.ReadOnly, real, bound.Write)
	}
}

// programs are the directories in which programs are, and what they run with.
var programs = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/share", "/usr/local/bin", "/usr/local/lib",
	"/nix/store", "/gnu/store", "/dev", "/proc", "/sys",
}

// needed reports whether no command could run, or begin, without what is at a path. Where a
// link leads there that a command can have made, it is not withheld: that command would
// choose that none can run after it.
func (k *maker) needed(name string) bool {
	return k.holdsWorkspace(name) || path.Dir(name) == "/" && k.files.Kind(name) == Dir ||
		slices.ContainsFunc(programs, func(dir string) bool { return subpath.Within(name, dir) || subpath.Within(dir, name) })
}

// withhold adds what a name leads to to a list, unless it is needed and a command has a say
// in where the name leads.
func (k *maker) withhold(list *[]Path, name, real, why string) {
	if k.needed(real) && k.changes(name, k.plan.Writable) {
		k.unheld = append(k.unheld, why)
		k.add(&k.plan.Gaps, name, why+": it leads to what no command could run without")
		return
	}
	k.add(list, real, why)
}

// repository lets git write what it keeps in a directory, but not what changes what it
// does. The directory becomes a mount of its own, which cannot be moved away.
func (k *maker) repository(dir string) error {
	if k.kept != "" {
		return nil
	}
	k.add(&k.plan.Writable, dir, "git's own files")
	return k.settings(dir)
}

// known keeps what git knows a repository by where it is. That of a .git its name tells.
func (k *maker) known(dir string) {
	const why = "git knows the repository by it"
	if path.Base(dir) == ".git" {
		return
	}
	for _, name := range repositoryNames {
		if at := path.Join(dir, name); k.writes(at) && k.at(at, true) == (permission.Bound{}) {
			k.add(&k.plan.Writable, at, why)
		}
	}
	if k.writes(dir) {
		k.add(&k.plan.Writable, dir, why)
	}
}

// settings protects what changes what git does in one of its directories.
func (k *maker) settings(dir string) error {
	const why = "it changes what git does"
	for _, setting := range k.machine.Settings {
		name := path.Join(dir, setting)
		switch k.files.Kind(name) {
		case Nothing:
			k.add(&k.plan.Absent, name, why)
			if slices.Contains(k.machine.Never, setting) && !slices.Contains(k.plan.Never, name) {
				k.plan.Never = append(k.plan.Never, name)
			}
		case Unknown:
			return k.seal(name, errors.New("git's settings cannot be told"))
		case Link:
			k.add(&k.plan.Gaps, name, "it is a link, which a command may replace by a file of its own")
		default:
			k.add(&k.plan.ReadOnly, name, why)
		}
	}
	return nil
}

// elsewhere looks at what the tables and the rules name outside the workspace.
func (k *maker) elsewhere() error {
	away := k.away(k.bounds.Home())
	for _, name := range k.bounds.Files() {
		if away(name) {
			continue
		}
		if k.hidden(name) {
			if err := k.seal(name, fs.ErrPermission); err != nil {
				return err
			}
			continue
		}
		real, ok := k.files.Resolve(name)
		if kind := k.files.Kind(real); !ok || kind == Nothing || kind == Unknown {
			continue
		}
		for _, one := range []string{name, real} {
			switch bound := k.at(one, k.files.Kind(real) == Dir); {
			case bound.Read != "" && (k.within(real) || bound.Ruled):
				k.withhold(&k.plan.Denied, name, real, bound.Read)
			case bound.Read != "":
				k.withhold(&k.plan.Empty, name, real, bound.Read)
			case bound.Write != "" && k.inside(real) && (real != name || bound.Placed):
				k.withhold(&k.plan.ReadOnly, name, real, bound.Write)
			default:
				continue
			}
			k.stays(real)
		}
	}
	for _, root := range k.bounds.Roots() {
		if err := k.root(root); err != nil {
			return err
		}
	}
	return nil
}

// away returns whether a path is that of nothing, for those in a directory that has nothing
// of the name that they begin with.
func (k *maker) away(dir string) func(name string) bool {
	none := func(string) bool { return false }
	if dir == "" {
		return none
	}
	listing, err := k.files.List(dir)
	if err != nil {
		return none
	}
	there := map[string]bool{}
	for _, e := range listing.Entries {
		there[e.Name] = true
	}
	return func(name string) bool {
		rest, below := strings.CutPrefix(name, dir+"/")
		top, _, _ := strings.Cut(rest, "/")
		return below && !there[top]
	}
}

// hidden reports whether a command can have hidden what is at a path, where it can write.
// What is hidden elsewhere is so for a command too.
func (k *maker) hidden(name string) bool {
	return k.files.Kind(name) == Unknown && k.inside(name)
}

// within reports whether a path is in the workspace.
func (k *maker) within(name string) bool {
	return slices.ContainsFunc(k.plan.Workspace, func(root string) bool { return subpath.Within(name, root) })
}

// root looks at what a rule is about outside the workspace.
func (k *maker) root(root permission.Root) error {
	if k.hidden(root.Path) {
		return k.seal(root.Path, fs.ErrPermission)
	}
	real, ok := k.files.Resolve(root.Path)
	named := real == root.Path
	followed := !named && !k.inside(root.Path) // where a command links, it would choose what is walked
	if !named {
		k.unheld = append(k.unheld, root.Rule) // it is not about the target by its own name
	}
	switch {
	case !ok, k.within(real) && !followed, k.files.Kind(real) == Nothing:
		return nil
	case k.files.Kind(real) == Unknown:
		k.unheld = append(k.unheld, root.Rule)
		return nil // nor can the command tell
	case k.holdsWorkspace(real):
		k.unheld = append(k.unheld, root.Rule)
		k.add(&k.plan.Gaps, real, root.Rule+": held in the workspace, and not in all of "+real)
		return nil
	}
	left := k.left
	kind := k.files.Kind(real)
	var err error
	if followed {
		err = k.through(root.Path, real, kind)
	} else {
		err = k.entry(&notable{real, kind, k.at(real, kind == Dir)}, !k.inside(real))
	}
	if errors.Is(err, errTooMany) {
		k.left = left
		k.unheld = append(k.unheld, root.Rule)
		k.add(&k.plan.Gaps, real, root.Rule+": there are too many names")
		return nil
	}
	return err
}

// through withholds, below where a link leads, what a rule is about by the name of the link.
func (k *maker) through(name, real string, kind Kind) error {
	by := *k
	by.plan, by.walked = Plan{Workspace: k.plan.Workspace}, nil
	if err := by.entry(&notable{name, kind, k.at(name, kind == Dir)}, false); err != nil {
		return err
	}
	k.left, k.unheld = by.left, by.unheld
	for _, part := range []struct {
		from []Path
		to   *[]Path
	}{{by.plan.Denied, &k.plan.Denied}, {by.plan.ReadOnly, &k.plan.ReadOnly}, {by.plan.Gaps, &k.plan.Gaps}} {
		for _, p := range part.from {
			at := p.Path
			if subpath.Within(at, name) {
				at = path.Join(real, strings.TrimPrefix(at, name))
			}
			if part.to == &k.plan.ReadOnly && !k.inside(at) {
				continue
			}
			k.withhold(part.to, p.Path, at, p.Why)
			k.stays(at)
		}
	}
	return nil
}

// absent notes the protected names that are not in a directory of the workspace, since
// what is made under one of them may change what other programs do later.
func (k *maker) absent(root string) {
	if k.kept != "" {
		return
	}
	last := ""
	for _, name := range k.bounds.Protected() {
		at := path.Join(root, name)
		if last != "" && subpath.Within(at, last) || k.files.Kind(at) != Nothing {
			continue
		}
		if why := k.at(at, false).Write; why != "" && !k.readOnly(at) {
			k.add(&k.plan.Absent, at, why)
			last = at
		}
	}
}

// readOnly reports whether a path lies in what stays as it is.
func (k *maker) readOnly(name string) bool { return belowAny(name, k.plan.ReadOnly) }

// held lists the rules that are held whole.
func (k *maker) held() {
	held := map[string]bool{}
	for _, root := range k.bounds.Roots() {
		if _, known := held[root.Rule]; !known {
			held[root.Rule] = !slices.Contains(k.unheld, root.Rule)
		}
		held[root.Rule] = held[root.Rule] && k.holds(root)
	}
	for rule, whole := range held {
		if whole {
			k.plan.Held = append(k.plan.Held, rule)
		}
	}
	slices.Sort(k.plan.Held)
}

// holds reports whether nothing can come to be below a root that the rule of the root is
// about: nothing that it does not let be read, since what a command makes it knows, and
// nothing that it does not let be written.
func (k *maker) holds(root permission.Root) bool {
	real, ok := k.files.Resolve(root.Path)
	if !ok || !root.Write || !k.inside(real) {
		return ok
	}
	return belowAny(real, slices.Concat(k.plan.ReadOnly, k.plan.Denied, k.plan.Empty))
}

// socket withholds the socket of a service, in the workspace too: what a command inside has
// made is not among those of the machine, since commands have a network of their own.
func (k *maker) socket(name string) {
	if real, ok := k.files.Resolve(name); ok && k.files.Kind(real) == File {
		k.withhold(&k.plan.Denied, name, real, "the socket of a service")
	}
}

// state has what this program keeps look empty, as the logins in the home do, or withholds it
// in the workspace. Above the workspace it cannot be. What is not there yet may be by the
// time the command begins.
func (k *maker) state(name string) error {
	const why = "what agent-wrapper keeps: decisions, answers, credentials"
	if k.hidden(name) {
		return k.seal(name, fs.ErrPermission)
	}
	real, ok := k.files.Resolve(name)
	switch kind := k.files.Kind(real); {
	case !ok, kind == Unknown, kind == Nothing && k.inside(real):
	case k.holdsWorkspace(real):
		k.add(&k.plan.Gaps, real, why+": the workspace lies there")
	case k.within(real):
		k.withhold(&k.plan.Denied, name, real, why)
	default:
		k.withhold(&k.plan.Empty, name, real, why)
	}
	return nil
}

// named finds the files that have other names, by hard links, which nothing withholds.
func (k *maker) named() {
	for _, part := range []struct {
		paths []Path
		what  string
	}{{k.plan.Denied, "read"}, {k.plan.Empty, "read"}, {k.plan.ReadOnly, "changed"}} {
		for _, p := range part.paths {
			if k.files.Kind(p.Path) != File {
				continue
			}
			if names := k.files.Names(p.Path); names > 1 {
				k.unheld = append(k.unheld, p.Why)
				k.add(&k.plan.Gaps, p.Path, fmt.Sprintf("it has %d names (hard links), by another of which it can be %s", names, part.what))
			}
		}
	}
}

// settle leaves out what something above already withholds. Nothing can be mounted below a
// mask, and nobody comes there to write.
func (k *maker) settle() {
	p := &k.plan
	withheld := append(slices.Clone(p.Denied), p.Empty...)
	hidden := func(name string, also []Path) bool {
		return slices.ContainsFunc(also, func(p Path) bool { return p.Path != name && subpath.Within(name, p.Path) })
	}
	gone := func(one Path) bool {
		emptied := hidden(one.Path, p.Temp) || hidden(one.Path, p.Services)
		return emptied && !k.inside(one.Path) && !belowAny(one.Path, p.Shown) || hidden(one.Path, withheld)
	}
	p.Denied = slices.DeleteFunc(p.Denied, gone)
	p.Empty = slices.DeleteFunc(p.Empty, func(one Path) bool { return gone(one) || slices.Contains(Paths(p.Denied), one.Path) })
	p.ReadOnly = slices.DeleteFunc(p.ReadOnly, func(one Path) bool { return gone(one) || slices.Contains(Paths(withheld), one.Path) })
	for _, list := range []*[]Path{&p.Writable, &p.Temp, &p.Shown, &p.Services, &p.Absent} {
		*list = slices.DeleteFunc(*list, func(one Path) bool { return belowAny(one.Path, withheld) })
	}
	p.Never = slices.DeleteFunc(p.Never, func(name string) bool { return belowAny(name, withheld) })
}

func (k *maker) sort() {
	p := &k.plan
	for _, list := range []*[]Path{&p.Writable, &p.Temp, &p.Shown, &p.Services, &p.ReadOnly, &p.Denied, &p.Empty, &p.Absent, &p.Gaps} {
		slices.SortFunc(*list, func(a, b Path) int { return cmp.Compare(a.Path, b.Path) })
	}
	slices.Sort(p.Never)
}

// belowAny reports whether a path is one of a list or below it.
func belowAny(name string, list []Path) bool {
	return slices.ContainsFunc(list, func(p Path) bool { return subpath.Within(name, p.Path) })
}
