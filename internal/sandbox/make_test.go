package sandbox

import (
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// fake is a file system: paths that end in / are directories, "a -> b" is a link.
type fake []string

func (f fake) Kind(name string) Kind {
	if len(name) >= MaxPath {
		return Unknown
	}
	if dir, _ := f.Resolve(path.Dir(name)); name != "/" {
		name = path.Join(dir, path.Base(name))
	}
	for _, line := range f {
		at, _, link := strings.Cut(line, " -> ")
		switch {
		case at == name && link:
			return Link
		case at == name:
			return File
		case strings.HasPrefix(at, name+"/"), name == "/":
			return Dir
		}
	}
	return Nothing
}

func (f fake) List(dir string) (*Listing, error) {
	if dir, _ = f.Resolve(dir); f.Kind(dir) != Dir {
		return nil, fs.ErrNotExist
	}
	var entries []Entry
	for _, line := range f {
		at, _, _ := strings.Cut(line, " -> ")
		rest, ok := strings.CutPrefix(at, strings.TrimSuffix(dir, "/")+"/")
		name, _, _ := strings.Cut(rest, "/")
		if ok && name != "" && !slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == name }) {
			entries = append(entries, Entry{name, f.Kind(path.Join(dir, name))})
		}
	}
	return &Listing{Entries: entries}, nil
}

func (f fake) Resolve(name string) (string, bool) {
	for _, line := range f {
		if at, to, link := strings.Cut(line, " -> "); link && (at == name || strings.HasPrefix(name, at+"/")) {
			return f.Resolve(to + name[len(at):])
		}
	}
	return name, true
}

// Passes: as the links of a fake are absolute, the way is that of each text in turn.
func (f fake) Passes(name string) (all []string) {
	for at := name; at != "/"; at = path.Dir(at) {
		all = append(all, at)
	}
	for _, line := range f {
		if at, to, link := strings.Cut(line, " -> "); link && (at == name || strings.HasPrefix(name, at+"/")) {
			return append(all, f.Passes(to+name[len(at):])...)
		}
	}
	return all
}

func (f fake) Again(dir string) (*Listing, error) { return f.List(dir) }

func (f fake) Inode(string) Inode { return Inode{} }

func (f fake) Repository(string) []string { return nil }

// Names: files named copied have two.
func (f fake) Names(name string) int {
	if strings.Contains(path.Base(name), "copied") {
		return 2
	}
	return 1
}

var place = patterns.Place{Workspace: "/home/me/ws", Home: "/home/me"}

func policy(t *testing.T, deny, allow string) *permission.Policy {
	t.Helper()
	set := func(list patterns.List, text string) *patterns.Set {
		var rules []*patterns.Rule
		for one := range strings.SplitSeq(text, "; ") {
			if one == "" {
				continue
			}
			rule, _, err := patterns.Parse(one, list, patterns.Source{})
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, rule)
		}
		return patterns.NewSet(place, rules...)
	}
	return &permission.Policy{Place: place, SensitiveAsks: true, Deny: set(patterns.Deny, deny), Allow: set(patterns.Allow, allow)}
}

var files = fake{
	"/home/me/ws/a.go", "/home/me/ws/.env", "/home/me/ws/sub/.env", "/home/me/ws/secrets/a", "/home/me/ws/secrets/b/c",
	"/home/me/ws/.git/HEAD", "/home/me/ws/.git/config", "/home/me/ws/.git/hooks/x", "/home/me/ws/.git/objects/a", "/home/me/ws/.vscode/settings.json", "/home/me/ws/.vscode/.env",
	"/home/me/ws/sub/.git/config", "/home/me/ws/bare/HEAD", "/home/me/ws/bare/objects/", "/home/me/ws/bare/refs/", "/home/me/ws/bare/config",
	"/home/me/ws/.npmrc -> /home/me/dot/npmrc", "/home/me/dot/npmrc", "/home/me/.ssh/id_rsa", "/home/me/.aws/x", "/home/me/.gitconfig",
	"/home/me/.cache/go-build/x", "/tmp/.X11-unix/X0", "/tmp/y", "/run/docker.sock", "/opt/agent.sock", "/srv/a/x", "/srv/deep/1/key", "/home/me/.local/state/agent-wrapper/credentials.json",
	"/home/me/ws/.claude/worktrees/x/.env", "/home/me/ws/.claude/worktrees/x/a.go", "/home/me/ws/.claude/settings.json",
}

func machine() *Machine {
	return &Machine{
		Writable: []Path{{"/home/me/.cache/go-build", "cache of go"}, {"/home/me/.cache/none", "cache of none"}}, Temp: []string{"/tmp", "/tmp"}, Services: []string{"/run"},
		Sockets: []string{"/tmp/.X11-unix/X0", "/run/docker.sock", "/opt/agent.sock", "/home/me/ws/a.sock"}, Settings: []string{"config", "hooks", "commondir"},
	}
}

// TestMake: a plan holds what the rules and the tables name, and not what they do not.
func TestMake(t *testing.T) {
	p, err := new(Planner).Make(policy(t, "Read(secrets/**); Read(/srv/a/**); Read(~/**/*.kdbx)", "WebFetch(example.com); Read(sub/.env)"), nil, machine(), files)
	if err != nil {
		t.Fatal(err)
	}
	ws := "/home/me/ws/"
	for _, part := range []struct {
		name string
		got  []Path
		want []string
	}{
		{"writable", p.Writable, []string{"/home/me/.cache/go-build", "/home/me/ws", ws + ".claude/worktrees", ws + ".claude/worktrees/x", ws + ".git", ws + "bare", ws + "bare/objects", ws + "bare/refs", ws + "sub/.git"}},
		{"temp", p.Temp, []string{"/tmp"}},
		{"services", p.Services, []string{"/run"}},
		{"read-only", p.ReadOnly, []string{ws + ".claude", ws + ".git/config", ws + ".git/hooks", ws + ".vscode", ws + "bare/config", ws + "sub/.git/config"}},
		{"denied", p.Denied, []string{ws + ".claude/worktrees/x/.env", ws + ".env", ws + ".vscode/.env", ws + "secrets", "/home/me/dot/npmrc", "/opt/agent.sock", "/srv/a"}},
		{"empty", p.Empty, []string{"/home/me/.aws", "/home/me/.local/state/agent-wrapper/credentials.json", "/home/me/.ssh"}},
		{"absent", gitsOf(p.Absent), []string{ws + ".git/commondir", ws + "bare/commondir", ws + "bare/hooks", ws + "sub/.git/commondir", ws + "sub/.git/hooks"}},
		{"gaps", p.Gaps, []string{"/home/me", ws + ".npmrc"}},
	} {
		got := Paths(part.got)
		slices.Sort(got)
		slices.Sort(part.want)
		for _, name := range part.want {
			if !slices.Contains(got, name) {
				t.Errorf("%s: %s is missing", part.name, name)
			}
		}
		for _, one := range part.got {
			if !slices.Contains(part.want, one.Path) {
				t.Errorf("%s: %s (%s) is too much", part.name, one.Path, one.Why)
			}
		}
	}
	if !slices.Equal(p.Hosts, []string{"WebFetch(example.com)"}) {
		t.Errorf("hosts %v", p.Hosts)
	}
}

// TestTooMany: where not every name can be looked at, there is no plan.
func TestTooMany(t *testing.T) {
	many := slices.Clone(files)
	pl := new(Planner)
	pl.under(policy(t, "", "").Bounds(nil))
	m := &maker{Planner: pl, machine: machine(), files: many, most: 5, left: 5}
	if err := m.walk("/home/me/ws", false); err == nil {
		t.Error("a plan without a look at everything")
	}
}

// TestCaches: what a command can have put where a cache is looked for does not become
// writable, nor is it emptied: a link, on the way as well, in the workspace or in another
// cache.
func TestCaches(t *testing.T) {
	with := append(slices.Clone(files), "/opt/victim/x", "/opt/victim/go-build/x", "/data/cache/pip/x", "/data/cache/yarn/x", "/home/me/ws/.cache/pip/x", "/home/me/ws/.cache/go -> /opt/victim", "/home/me/ws/linked -> /opt/victim",
		"/data/link -> /home/me/ws/linked", "/data/cache/pip/l -> /opt/victim", "/home/me/caches -> /data/cache")
	for name, want := range map[string]string{
		"/data/cache/pip": "/data/cache/pip", "/home/me/caches/pip": "/data/cache/pip", "/data/cache/yarn": "/data/cache/yarn",
		"/home/me/ws/.cache/go": "", "/home/me/ws/linked/go-build": "", "/home/me/ws/.cache/pip": "", "/data/link": "", "/data/link/go-build": "", "/data/cache/pip/l": "", "/data/cache/pip/l/go-build": "",
	} {
		for _, first := range []bool{false, true} {
			m := machine()
			caches := []Path{{"/data/cache/pip", "cache"}, {name, "cache"}}
			if first {
				slices.Reverse(caches)
			}
			m.Writable, m.Temp, m.Services = caches, []string{name}, []string{name}
			p, err := new(Planner).Make(policy(t, "", ""), nil, m, with)
			if err != nil {
				t.Fatal(err)
			}
			writable := Paths(p.Writable)
			if slices.ContainsFunc(writable, func(dir string) bool { return subpath.Within(dir, "/opt") }) || want != "" && !slices.Contains(writable, want) {
				t.Errorf("%s: %v", name, writable)
			}
			if emptied := Paths(slices.Concat(p.Temp, p.Services)); want == "" && len(emptied) > 0 {
				t.Errorf("%s: emptied are %v", name, emptied)
			}
		}
	}
}

// TestState: what this program keeps cannot be read, wherever it is and whatever the policy
// says, unless the workspace is part of it, or a command has led its name elsewhere.
func TestState(t *testing.T) {
	with := append(slices.Clone(files), "/home/me/ws/state/x", "/srv/state/x", "/home/me/state -> /srv/state", "/home/me/ws/linked -> /usr/bin", "/usr/bin/x")
	for name, want := range map[string]struct{ empty, denied, gap string }{
		"/home/me/.local/state/agent-wrapper": {empty: "/home/me/.local/state/agent-wrapper"},
		"/home/me/not/there/yet":              {empty: "/home/me/not/there/yet"},
		"/home/me/state":                      {empty: "/srv/state"},
		"/home/me/ws/state":                   {denied: "/home/me/ws/state"},
		"/home/me/ws/not/there":               {},
		"/home/me/ws":                         {gap: "/home/me/ws"},
		"/home":                               {gap: "/home"},
		"/home/me/ws/linked":                  {gap: "/home/me/ws/linked"},
	} {
		m := machine()
		m.State = []string{name}
		p, err := new(Planner).Make(policy(t, "", "Read; Bash"), nil, m, with)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range []struct {
			list []Path
			want string
		}{{p.Empty, want.empty}, {p.Denied, want.denied}, {p.Gaps, want.gap}} {
			var got string
			for _, one := range part.list {
				if strings.HasPrefix(one.Why, "what agent-wrapper keeps") {
					got += one.Path
				}
			}
			if got != part.want {
				t.Errorf("%s: %d: %q, want %q", name, i, got, part.want)
			}
		}
	}
}

// TestTime: of two times after which a command is ended, the shorter one counts.
func TestTime(t *testing.T) {
	for _, c := range []struct {
		seconds      uint64
		anyway, want time.Duration
	}{{0, 0, 0}, {0, time.Minute, time.Minute}, {90, 0, 90 * time.Second}, {90, time.Minute, time.Minute}, {30, time.Minute, 30 * time.Second}} {
		if got := (&Limits{Seconds: c.seconds}).Time(c.anyway); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestNames: what has another name is not held by this one.
func TestNames(t *testing.T) {
	p, err := new(Planner).Make(policy(t, "Read(copied.key); Read(other.key); Read(copied-dir/**)", ""), nil, machine(), append(slices.Clone(files), "/home/me/ws/copied.key", "/home/me/ws/other.key", "/home/me/ws/copied-dir/x", "/home/me/ws/copied"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, gap := range p.Gaps {
		if strings.Contains(gap.Why, "hard links") {
			found = append(found, gap.Path)
		}
	}
	if !slices.Equal(found, []string{"/home/me/ws/copied.key"}) || !slices.Contains(Paths(p.Denied), "/home/me/ws/copied.key") {
		t.Errorf("%v", p.Gaps)
	}
}

// gitsOf returns what git obeys, of paths that are not there.
func gitsOf(absent []Path) []Path {
	return slices.DeleteFunc(slices.Clone(absent), func(p Path) bool { return p.Why != "it changes what git does" })
}

// TestAbsent: what is protected and not there is looked for, and what is there is not.
func TestAbsent(t *testing.T) {
	p, err := new(Planner).Make(policy(t, "", "Edit(.envrc)"), nil, machine(), files)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		".mcp.json": true, "agent-wrapper.toml": true, "agent-wrapper.local.toml": true, ".idea": true, ".github/workflows": true, "Jenkinsfile": true, "jenkinsfile": false,
		".vscode": false, ".vscode/tasks.json": false, ".claude/settings.json": false, // it is read-only as a whole
		".envrc": false, // a rule lets it be written
		"a.go":   false,
	} {
		if got := slices.Contains(Paths(p.Absent), "/home/me/ws/"+name); got != want {
			t.Errorf("%s is looked for: %v", name, got)
		}
	}
}

// TestHeld: a rule is held if nothing inside can act against it, whatever appears there.
func TestHeld(t *testing.T) {
	for _, tt := range []struct {
		rule string
		want bool
	}{
		{"Read(.env)", true}, {"Read(secrets/**)", true}, {"Read(~/.ssh/**)", true}, {"Read(/srv/a/**)", true}, {"Read(nothing/**)", true},
		{"Edit(secrets/**)", true}, {"Edit(.vscode/**)", true}, {"Edit(/srv/**)", true}, {"Edit(~/.ssh/**)", true}, {"Edit(a.go)", false}, // at any depth
		{"Edit(./a.go)", true}, {"Edit(./nothing)", false}, {"Edit(*.lock)", false}, {"Edit(**/*.go)", false},
		{"Read(~/**/*.kdbx)", false}, {"Read(/**)", false}, {"Edit(.npmrc)", false}, {"Edit(./.npmrc)", false}, // more than the workspace; a link
	} {
		p, err := new(Planner).Make(policy(t, tt.rule, ""), nil, machine(), files)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(p.Held, "deny "+tt.rule); got != tt.want {
			t.Errorf("%s is held: %v (%v)", tt.rule, got, p.Held)
		}
	}
}

// TestPinned: the directories above what a rule or a table withholds by their names cannot
// be moved, and others can.
func TestPinned(t *testing.T) {
	with := append(slices.Clone(files), "/home/me/ws/conf/b/certs/server.pem", "/home/me/ws/conf/b/.vscode/tasks.json", "/home/me/ws/conf/secrets/key", "/home/me/ws/conf/a/prod.json", "/home/me/ws/conf/a/x/y.pem", "/home/me/ws/.github/workflows/ci.yml", "/home/me/ws/sub/.aws/credentials", "/home/me/ws/sub/.npmrc", "/home/me/ws/.claude/worktrees/x/.github/workflows/ci.yml")
	const ws = "/home/me/ws/"
	always := []string{ws + ".claude/worktrees/x/.github", ws + ".github"}
	for _, tt := range []struct {
		deny string
		want []string
	}{
		{"Read(conf/*/prod.json)", []string{ws + "conf", ws + "conf/a"}}, {"Edit(conf/*/prod.json)", []string{ws + "conf", ws + "conf/a"}}, {"Read(*/*/prod.json)", []string{ws + "conf", ws + "conf/a"}},
		{"Read(./prod.json); Read(*/prod.json); Read(*/*/prod.json); Read(*/*/*/prod.json); Read(*/*/*/*/prod.json); Read(*/*/*/*/*/prod.json); Read(*/*/*/*/*/*/prod.json)", []string{ws + "conf", ws + "conf/a"}},
		{"Read(conf/**/y.pem)", nil}, {"Read(conf/**/prod.json)", []string{ws + "conf", ws + "conf/a"}}, {"Read(*/server.key)", nil},
		{"", nil}, {"Read(conf/secrets/**)", []string{ws + "conf"}}, {"Read(conf/secrets/key)", []string{ws + "conf", ws + "conf/secrets"}}, {"Edit(./conf/a/prod.json)", []string{ws + "conf", ws + "conf/a"}},
		{"Edit(conf/a/**)", []string{ws + "conf"}}, {"Read(conf/**)", nil}, {"Read(.env)", nil}, {"Read(*.pem)", nil}, {"Edit(prod.json)", nil}, {"Read(**/a/prod.json)", []string{ws + "conf/a"}}, {"Edit(.vscode/**)", nil},
	} {
		p, err := new(Planner).Make(policy(t, tt.deny, ""), nil, machine(), with)
		if err != nil {
			t.Fatal(err)
		}
		got, want := staying(p), append(slices.Clone(always), tt.want...)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q stay where they are, want %q", tt.deny, got, want)
		}
	}
}

// TestPlaced: what is looked for where it is cannot be replaced with a directory above it, be
// it that it is protected by its name as well, or that a link of the home leads there.
func TestPlaced(t *testing.T) {
	const ws = "/home/me/ws/"
	with := append(slices.Clone(files), ws+"dot/team/agent-wrapper.toml", ws+"dot/claude/settings.json", ws+"dot/ssh/work", ws+"c/Jenkinsfile", ws+"c/y.txt", "/home/me/.claude/settings.json -> "+ws+"dot/claude/settings.json", "/home/me/.kube -> "+ws+"dot/ssh", "/home/me/notes/a/x", "/home/me/notes/b", "/home/me/lnotes -> /home/me/notes", "/home/me/here -> "+ws+"c", ws+"made -> /usr/lib", "/usr/lib/x", "/home/me/far -> "+ws+"made")
	for _, tt := range []struct {
		name, deny, guarded string
		stay, read, written []string // stay where they are, cannot be read, cannot be written
	}{
		{"the agent's settings and logins", "", "", []string{ws + "dot", ws + "dot/claude"}, []string{ws + "dot/ssh"}, []string{ws + "dot/claude/settings.json"}},
		{"a policy", "", ws + "dot/team/agent-wrapper.toml", []string{ws + "dot", ws + "dot/claude", ws + "dot/team"}, nil, []string{ws + "dot/team/agent-wrapper.toml"}},
		{"a rule about a protected name", "Edit(c/Jenkinsfile)", "", []string{ws + "c", ws + "dot", ws + "dot/claude"}, nil, []string{ws + "c/Jenkinsfile"}},
		{"a rule by a link", "Read(~/lnotes/**)", "", []string{ws + "dot", ws + "dot/claude"}, []string{"/home/me/notes"}, nil},
		{"a rule by a link about some", "Read(~/lnotes/*/x)", "", []string{ws + "dot", ws + "dot/claude"}, []string{"/home/me/notes/a/x"}, nil},
		{"a rule by a link to a command's", "Read(~/far/x)", "", []string{ws + "dot", ws + "dot/claude"}, nil, nil},
		{"a rule by a link of a command's", "Read(made/x)", "", []string{ws + "dot", ws + "dot/claude"}, nil, nil},
		{"a rule by a link to here", "Edit(~/here/y.txt)", "", []string{ws + "c", ws + "dot", ws + "dot/claude"}, nil, []string{ws + "c/y.txt"}},
	} {
		pol := policy(t, tt.deny, "")
		if tt.guarded != "" {
			pol.Guarded = []string{tt.guarded}
		}
		p, err := new(Planner).Make(pol, nil, machine(), with)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(staying(p), func(at string) bool { return strings.HasSuffix(at, ".github") })
		if !slices.Equal(got, tt.stay) {
			t.Errorf("%s: %q stay where they are, want %q", tt.name, got, tt.stay)
		}
		for _, name := range tt.read {
			if !slices.Contains(Paths(p.Denied), name) {
				t.Errorf("%s: %s can be read: %q", tt.name, name, Paths(p.Denied))
			}
		}
		for _, name := range tt.written {
			if !slices.Contains(Paths(p.ReadOnly), name) {
				t.Errorf("%s: %s can be written: %q", tt.name, name, Paths(p.ReadOnly))
			}
		}
		if slices.Contains(Paths(p.Denied), "/home/me/notes/b") || slices.Contains(Paths(p.Denied), "/usr/lib/x") {
			t.Errorf("%s: what no rule is about is withheld", tt.name)
		}
	}
}

// TestNever: what makes another directory count for git's is known, where git does not make it
// itself.
func TestNever(t *testing.T) {
	m := machine()
	m.Never = []string{"commondir"}
	p, err := new(Planner).Make(policy(t, "", ""), nil, m, append(slices.Clone(files), "/home/me/ws/linked/.git/commondir", "/home/me/ws/linked/.git/HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/home/me/ws/.git/commondir", "/home/me/ws/bare/commondir", "/home/me/ws/sub/.git/commondir"}; !slices.Equal(p.Never, want) {
		t.Errorf("%q, want %q", p.Never, want)
	}
}

// TestRepositoryWithoutHead: what changes what git does stays as it is in a repository without
// its HEAD too, which can be moved back; what git knows it by else cannot be moved.
func TestRepositoryWithoutHead(t *testing.T) {
	with := slices.DeleteFunc(slices.Clone(files), func(name string) bool { return name == "/home/me/ws/bare/HEAD" })
	p, err := new(Planner).Make(policy(t, "", ""), nil, machine(), with)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(Paths(p.ReadOnly), "/home/me/ws/bare/config") || !slices.Contains(Paths(p.Writable), "/home/me/ws/bare/objects") || !slices.Contains(Paths(p.Writable), "/home/me/ws/bare/refs") {
		t.Errorf("%v\n%v", p.ReadOnly, p.Writable)
	}
}

// TestNothingOpened: what keeps directories where they are opens nothing for writing that a
// mode, or a rule, keeps.
func TestNothingOpened(t *testing.T) {
	with := append(slices.Clone(files), "/home/me/ws/p/q/r/x", "/home/me/ws/p/bare/objects/", "/home/me/ws/p/bare/refs/", "/home/me/ws/p/certs/x.pem")
	for _, tt := range []struct {
		name, deny string
		mode       modes.Mode
		kept       string
	}{{"mode plan", "", modes.Plan, "/home/me/ws"}, {"a rule", "Edit(p/**)", modes.Default, "/home/me/ws/p"}} {
		pol := policy(t, tt.deny, "Read(other/*.pem)")
		pol.Place.Roots, pol.Mode = []string{"/home/me/ws/p/q/r"}, tt.mode
		p, err := new(Planner).Make(pol, nil, machine(), with)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(Paths(p.ReadOnly), tt.kept) {
			t.Fatalf("%s keeps nothing: %v", tt.name, p.ReadOnly)
		}
		for _, w := range p.Writable {
			if subpath.Within(w.Path, tt.kept) && !slices.Contains(Paths(p.ReadOnly), w.Path) {
				t.Errorf("%s: %s can be written: %s", tt.name, w.Path, w.Why)
			}
		}
	}
}

// TestNestedRoots: what lies between two directories of the workspace cannot be moved.
func TestNestedRoots(t *testing.T) {
	with := append(slices.Clone(files), "/home/me/ws/p/q/r/x", "/home/me/two/x")
	for _, roots := range [][]string{{"/home/me/ws/p/q/r", "/home/me/two"}, {"/home/me/two", "/home/me/ws/p/q/r"}} {
		pol := policy(t, "", "")
		pol.Place.Roots = roots
		p, err := new(Planner).Make(pol, nil, machine(), with)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(staying(p), func(at string) bool { return strings.HasSuffix(at, ".github") })
		if !slices.Equal(got, []string{"/home/me/ws/p", "/home/me/ws/p/q"}) {
			t.Errorf("%q: %q stay where they are", roots, got)
		}
	}
}

// TestPinnedByWhatIsAllowed: where a rule lets files of a name be read or written in one
// place, those of that name elsewhere cannot be moved there with a directory.
func TestPinnedByWhatIsAllowed(t *testing.T) {
	const ws = "/home/me/ws/"
	with := append(slices.Clone(files), ws+"certs/server.pem", ws+"a/b/certs/x.pem", ws+"fixtures/y.pem", ws+"fixtures/.env.test", ws+"a/.vscode/tasks.json")
	for _, tt := range []struct {
		allow string
		want  []string
	}{
		{"", nil}, {"Read(fixtures/**)", nil}, {"Read(./**); Read(*.go)", nil}, {"Read(*.pem)", nil},
		{"Read(fixtures/*.pem)", []string{ws + "a", ws + "a/b", ws + "a/b/certs", ws + "certs"}},
		{"Read(fixtures/**/*.pem)", []string{ws + "a", ws + "a/b", ws + "a/b/certs", ws + "certs"}},
		{"Read(fixtures/y.pem)", nil}, {"Read(other/server.pem)", []string{ws + "certs"}},
		{"Edit(x/.vscode/**)", []string{ws + "a"}},
	} {
		p, err := new(Planner).Make(policy(t, "", tt.allow), nil, machine(), with)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(staying(p), func(at string) bool {
			return !slices.Contains([]string{"a", "certs"}, strings.Split(strings.TrimPrefix(at, ws), "/")[0]) || strings.HasSuffix(at, ".vscode")
		})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q stay where they are, want %q", tt.allow, got, tt.want)
		}
	}
}

// staying returns the directories that cannot be moved because of what is in them.
func staying(p *Plan) []string {
	var all []string
	for _, w := range p.Writable {
		if strings.HasPrefix(w.Why, "it stays where it is") {
			all = append(all, w.Path)
		}
	}
	return all
}

// TestPublic: the certificates of authorities are not withheld where a package brings them
// along, and what is called so elsewhere is, and cannot be moved there: the file is a mount
// of its own, and the directories stay whose names would have to be others.
func TestPublic(t *testing.T) {
	const ws = "/home/me/ws/"
	with := fake{
		ws + ".venv/lib/certifi/cacert.pem", ws + ".venv/lib/certifi/key.pem", ws + "node_modules/grpc/etc/roots.pem",
		ws + "a/keys/cacert.pem", ws + "b/x/etc/roots.pem", ws + "c/etc/x/roots.pem", ws + "d/_cython/_credentials/roots.pem", ws + "e/keys/server.pem", ws + "Certifi/cacert.pem",
	}
	p, err := new(Planner).Make(policy(t, "", ""), nil, machine(), with)
	if err != nil {
		t.Fatal(err)
	}
	wantDenied := []string{
		ws + ".venv/lib/certifi/key.pem", ws + "Certifi/cacert.pem", ws + "a/keys/cacert.pem", ws + "b/x/etc/roots.pem", ws + "c/etc/x/roots.pem", ws + "d/_cython/_credentials/roots.pem", ws + "e/keys/server.pem",
	}
	got := slices.DeleteFunc(Paths(p.Denied), func(name string) bool { return !strings.HasSuffix(name, ".pem") })
	if !slices.Equal(got, wantDenied) {
		t.Errorf("withheld: %q\nwant %q", got, wantDenied)
	}
	wantStay := []string{
		ws + "Certifi", ws + "a/keys", // certifi/cacert.pem
		ws + "b/x", ws + "b/x/etc", // grpc/etc/roots.pem
		ws + "c/etc/x", // not above it: no end has x
		ws + "d", ws + "d/_cython", ws + "d/_cython/_credentials",
	}
	if got := staying(p); !slices.Equal(got, wantStay) {
		t.Errorf("stay where they are: %q\nwant %q", got, wantStay)
	}
}

// TestCopies: the copies of a workspace are written where they are, and not where a link
// leads.
func TestCopies(t *testing.T) {
	linked := fake{"/home/me/ws/a.go", "/home/me/ws/.claude -> /home/me/other/.claude", "/home/me/other/.claude/worktrees/x/a.go"}
	for name, with := range map[string]fake{"a directory": files, "a link": linked} {
		p, err := new(Planner).Make(policy(t, "", ""), nil, machine(), with)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(p.Writable, func(w Path) bool { return w.Why == "copies of the workspace" }); got != (name == "a directory") {
			t.Errorf("%s: %v", name, p.Writable)
		}
	}
}

// TestHomeAmongTemporary: a home in a directory that is empty inside is there, and what is
// withheld in it is withheld; a home that is itself writable or empty is not shown so.
func TestHomeAmongTemporary(t *testing.T) {
	for temp, want := range map[string]string{"/home": "/home/me", "/tmp": "", "/home/me": "", "/home/me/ws/tmp": ""} {
		m := machine()
		m.Temp = []string{temp}
		p, err := new(Planner).Make(policy(t, "Read(~/notes)", ""), nil, m, append(slices.Clone(files), "/home/me/notes", "/home/me/ws/tmp/x", "/home/other"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Paths(p.Shown), " "); got != want {
			t.Errorf("below %s %q is shown", temp, got)
		}
		if temp == "/home/me" {
			continue
		}
		for _, withheld := range []string{"/home/me/notes", "/home/me/.ssh"} {
			if !belowAny(withheld, slices.Concat(p.Denied, p.Empty)) {
				t.Errorf("below %s, %s can be read", temp, withheld)
			}
		}
		if !slices.Contains(Paths(p.Writable), "/home/me/.cache/go-build") {
			t.Errorf("below %s, caches are not written: %v", temp, p.Writable)
		}
	}
}

// TestHeldThroughLinks: what a rule is about by a link is not held, unless the rule is about
// its target too.
func TestHeldThroughLinks(t *testing.T) {
	linked := append(slices.Clone(files), "/home/me/ws/data -> /srv/deep", "/home/me/ws/src -> /home/me/ws/sub", "/home/me/ws/src2/x")
	for _, tt := range []struct {
		with []string
		rule string
		want bool
	}{
		{linked, "Read(data/**)", false}, {linked, "Read(data/1/*)", false}, {linked, "Read(src/*.key)", false}, {linked, "Read(secrets/**)", true},
		{linked, "Read(src2/**)", true}, {linked, "Read(.env)", false}, // data leads out of the workspace
		{append(slices.Clone(files), "/home/me/ws/src -> /home/me/ws/sub"), "Read(.env)", true}, {files, "Read(data/**)", true},
		{append(slices.Clone(files), "/home/me/.kept -> /srv/deep"), "Read(~/.kept/**)", false},
	} {
		p, err := new(Planner).Make(policy(t, tt.rule, ""), nil, machine(), fake(tt.with))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(p.Held, "deny "+tt.rule); got != tt.want {
			t.Errorf("%s is held: %v", tt.rule, got)
		}
	}
}

// TestReadOnly: in mode plan, and where a rule denies all edits, nothing in the workspace
// can be written, git's own files included.
func TestReadOnly(t *testing.T) {
	plan := policy(t, "", "")
	plan.Mode, _ = modes.Parse("plan")
	for name, p := range map[string]*permission.Policy{"mode": plan, "rule": policy(t, "Edit", ""), "edit of a file": policy(t, "Edit(a.go)", "")} {
		made, err := new(Planner).Make(p, nil, machine(), files)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(Paths(made.ReadOnly), "/home/me/ws"); got != (name != "edit of a file") {
			t.Errorf("%s: the workspace is read-only: %v", name, got)
		}
		if got := slices.Contains(Paths(made.Writable), "/home/me/ws/.git"); got != (name == "edit of a file") {
			t.Errorf("%s: git writes: %v", name, got)
		}
	}
}

// masked and writes say what a command can do to a path inside a plan: of the mounts the
// deepest one counts.
func masked(p *Plan, name string) bool {
	return deepest(name, p.Denied, p.Empty) >= max(1, deepest(name, p.Writable))
}

func writes(p *Plan, name string) bool {
	return !masked(p, name) && deepest(name, p.Writable) > deepest(name, p.ReadOnly)
}

// deepest returns the length of the longest path that a name is below.
func deepest(name string, lists ...[]Path) (n int) {
	for _, p := range slices.Concat(lists...) {
		if subpath.Within(name, p.Path) {
			n = max(n, len(p.Path))
		}
	}
	return n
}

// TestRepositories: nothing in a directory of git is free because git writes there: not what
// a rule says, and not where nothing is written.
func TestRepositories(t *testing.T) {
	const ws = "/home/me/ws/"
	with := append(slices.Clone(files), ws+".git/a.token", ws+".git/b.key", ws+".git/refs/heads/main", ws+".git/modules/m/x.key", ws+"sub/.git/c.key", ws+"vendor/lib/.git/HEAD", ws+"vendor/lib/.git/refs/x", "/srv/repo/.git/HEAD", "/srv/repo/.git/x.key", "/srv/repo/sub/.git/HEAD",
		"/home/me/.cache/go-build/.git/HEAD", "/home/me/.cache/go-build/.git/x.key")
	for _, tt := range []struct {
		rule                   string
		masked, kept, writable []string // what a command inside cannot read, can only read, can write
	}{
		{"", nil, []string{ws + ".git/config", "/srv/repo/.git/HEAD"}, []string{ws + ".git/HEAD", ws + "vendor/lib/.git/HEAD"}},
		{"Read(//srv/**/*.key)", []string{"/srv/repo/.git/x.key"}, []string{"/srv/repo/.git", "/srv/repo/.git/HEAD", "/srv/repo/sub/.git/HEAD"}, nil},
		{"Read(//srv/repo/.git/**/*.key)", []string{"/srv/repo/.git/x.key"}, []string{"/srv/repo/.git", "/srv/repo/.git/HEAD"}, nil},
		{"Edit(vendor/**)", nil, []string{ws + "vendor/lib/.git", ws + "vendor/lib/.git/HEAD", ws + "vendor/lib/.git/refs/x"}, []string{ws + ".git/HEAD"}},
		{"Edit(./vendor/lib/.git/**)", nil, []string{ws + "vendor/lib/.git", ws + "vendor/lib/.git/HEAD"}, []string{ws + ".git/HEAD"}},
		{"Read(.git/config)", []string{ws + ".git/config"}, nil, []string{ws + ".git/HEAD"}},
		{"Read(.git/**/*.token)", []string{ws + ".git/a.token"}, nil, []string{ws + ".git/HEAD"}},
		{"Read(**/*.key)", []string{ws + ".git/b.key", ws + ".git/modules/m/x.key", ws + "sub/.git/c.key"}, []string{ws + ".git/hooks", ws + ".git/hooks/x"}, []string{ws + ".git/a.token"}},
		{"Edit(.git/HEAD)", nil, []string{ws + ".git/HEAD"}, []string{ws + ".git/a.token"}},
		{"Edit(.git/refs/**)", nil, []string{ws + ".git/refs", ws + ".git/refs/heads/main"}, []string{ws + ".git/HEAD"}},
		{"Read(.git/**)", []string{ws + ".git/HEAD", ws + ".git/b.key"}, nil, []string{ws + "vendor/lib/.git/HEAD"}},
		{"Read(~/.cache/go-build/**/*.key)", []string{"/home/me/.cache/go-build/.git/x.key"}, nil, []string{"/home/me/.cache/go-build/.git/HEAD"}},
	} {
		p, err := new(Planner).Make(policy(t, tt.rule, ""), nil, machine(), with)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range tt.masked {
			if !masked(p, name) {
				t.Errorf("%s: %s can be read", tt.rule, name)
			}
		}
		for _, name := range tt.kept {
			if masked(p, name) || writes(p, name) {
				t.Errorf("%s: %s can be written, or not be read", tt.rule, name)
			}
		}
		for _, name := range tt.writable {
			if !writes(p, name) {
				t.Errorf("%s: %s cannot be written", tt.rule, name)
			}
		}
	}
}

// TestWithheld: a plan withholds every file that a rule is about, wherever it is, and claims
// to hold no rule that it does not.
func TestWithheld(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	dirs := []string{"", ".git/", "sub/", "sub/.git/", "vendor/", "vendor/lib/.git/", ".claude/worktrees/x/", ".claude/", ".vscode/"}
	places := []string{"/home/me/ws/", "/srv/a/", "/home/me/.cache/go-build/", "/home/me/.cache/other/"}
	for range 300 {
		with := slices.Clone(files)
		for range 25 {
			with = append(with, pick(places)+pick(dirs)+pick(dirs)+pick([]string{"a.key", "b.token", "HEAD", "config", "x"}))
		}
		var rules []string
		for range 1 + r.IntN(3) {
			at := pick([]string{"", "./", "**/", "//srv/", "//srv/**/", "~/.cache/", "~/.cache/**/"})
			rules = append(rules, pick([]string{"Read(", "Edit("})+at+pick(dirs)+pick([]string{"*.key", "**", "HEAD", "**/*.token", "**/x"})+")")
		}
		policy := policy(t, strings.Join(rules, "; "), "")
		p, err := new(Planner).Make(policy, nil, machine(), with)
		if err != nil {
			t.Fatal(err)
		}
		bounds := policy.Bounds(nil)
		for _, name := range with {
			if strings.Contains(name, " -> ") || strings.HasSuffix(name, "/") {
				continue
			}
			bound := bounds.At(name, false)
			if bound.Ruled && !masked(p, name) {
				t.Errorf("seed %d: %q: %s can be read", seed, rules, name)
			}
			if strings.HasPrefix(bound.Write, "deny") && writes(p, name) {
				t.Errorf("seed %d: %q: %s can be written", seed, rules, name)
			}
			if writes(p, name) && !slices.ContainsFunc([]string{"/home/me/ws", "/home/me/.cache/go-build"}, func(dir string) bool { return subpath.Within(name, dir) }) {
				t.Errorf("seed %d: %q: %s can be written", seed, rules, name)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// TestBelowMasks: nothing of a plan lies below a mask, where it could not be mounted.
func TestBelowMasks(t *testing.T) {
	m := machine()
	m.Temp = append(m.Temp, "/tmp/mine")
	with := append(slices.Clone(files), "/tmp/mine/x")
	for _, rule := range []string{"Read(~/.cache/**)", "Read(.claude/**)", "Read(.git/**)", "Read(sub/**)", "Read(//tmp/**)", "Read(//run/**)", "Edit(.claude/**)", "Read(**)"} {
		p, err := new(Planner).Make(policy(t, rule, ""), nil, m, with)
		if err != nil {
			t.Fatal(err)
		}
		masks := slices.Concat(p.Denied, p.Empty)
		for _, one := range slices.Concat(p.Writable, p.Temp, p.Services, p.ReadOnly, p.Absent, masks) {
			if slices.ContainsFunc(masks, func(mask Path) bool { return one.Path != mask.Path && subpath.Within(one.Path, mask.Path) }) {
				t.Errorf("%s: %s (%s)", rule, one.Path, one.Why)
			}
		}
		if rule != "Edit(.claude/**)" && rule != "Read(**)" && !slices.Contains(p.Held, "deny "+rule) {
			t.Errorf("%s is not held: %v", rule, p.Gaps)
		}
	}
}

// TestSockets: the sockets of this machine cannot be opened, in the workspace too, and the
// directories with sockets of engines for containers in a home look empty.
func TestSockets(t *testing.T) {
	m := machine()
	m.Services = append(m.Services, "/home/me/.docker/run", "/home/me/.colima", "/home/me/.none")
	with := append(slices.Clone(files), "/home/me/ws/a.sock", "/home/me/.docker/run/docker.sock", "/home/me/.colima/default/docker.sock")
	p, err := new(Planner).Make(policy(t, "", "Read(./**)"), nil, m, with)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(p.Denied, Path{"/home/me/ws/a.sock", "the socket of a service"}) {
		t.Errorf("the socket in the workspace is not withheld: %v", p.Denied)
	}
	if got := Paths(p.Services); !slices.Equal(got, []string{"/home/me/.colima", "/home/me/.docker/run", "/run"}) {
		t.Errorf("emptied are %q", got)
	}
}
