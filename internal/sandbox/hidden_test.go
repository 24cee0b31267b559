package sandbox

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// shut is a file system with directories that cannot be listed, or entered.
type shut struct {
	fake
	dirs []string
}

func (s shut) List(dir string) (*Listing, error) {
	if slices.ContainsFunc(s.dirs, func(at string) bool { return subpath.Within(dir, at) }) {
		return nil, fmt.Errorf("list %s: %w", dir, fs.ErrPermission)
	}
	return s.fake.List(dir)
}

func (s shut) Kind(name string) Kind {
	if slices.Contains(s.dirs, name) || !slices.ContainsFunc(s.dirs, func(at string) bool { return subpath.Within(name, at) }) {
		return s.fake.Kind(name)
	}
	return Unknown
}

func (s shut) Resolve(name string) (string, bool) {
	real, ok := s.fake.Resolve(name)
	return real, ok && s.Kind(real) != Unknown
}

// TestShut: what a command can hide from the plan of the next one, by chmod, is withheld
// whole. Of the workspace itself there is no plan then.
func TestShut(t *testing.T) {
	const ws = "/home/me/ws/"
	for _, tt := range []struct {
		deny, dir, want string // "": there is no plan
	}{
		{"", ws + "sub", ws + "sub"}, {"", ws + ".git", ws + ".git"}, {"", ws + ".git/hooks", ws + ".git/hooks"}, {"", ws + ".claude", ws + ".claude"}, {"", ws + "bare", ws + "bare"}, {"", ws + ".vscode", ws + ".vscode"}, {"", ws + "secrets/b", ws + "secrets/b"},
		{"Read(secrets/**)", ws + "secrets/b", ws + "secrets"}, {"Edit(sub/**)", ws + "sub", ws + "sub"},
		{"Read(//srv/**/key)", "/srv/deep", "/srv/deep"}, {"Read(~/.cache/go-build/sub/x)", "/home/me/.cache/go-build/sub", "/home/me/.cache/go-build/sub"},
		{"", "/home/me/ws", ""}, {"", "/home/me", ""},
	} {
		with := append(slices.Clone(files), "/home/me/.cache/go-build/sub/x")
		p, err := new(Planner).Make(policy(t, tt.deny, ""), nil, machine(), shut{with, []string{tt.dir}})
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s, with %s shut: there is a plan", tt.deny, tt.dir)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s, with %s shut: %v", tt.deny, tt.dir, err)
			continue
		}
		if !slices.Contains(Paths(p.Denied), tt.want) {
			t.Errorf("%s, with %s shut: withheld are %v", tt.deny, tt.dir, p.Denied)
		}
		for _, one := range slices.Concat(p.Writable, p.ReadOnly, p.Denied, p.Empty) {
			if one.Path != tt.dir && subpath.Within(one.Path, tt.dir) {
				t.Errorf("%s, with %s shut: %s (%s) cannot be mounted", tt.deny, tt.dir, one.Path, one.Why)
			}
		}
	}
}

// TestLongPaths: what lies deeper than a path can name is withheld with the nearest directory
// that can be named, and there is a plan.
func TestLongPaths(t *testing.T) {
	slow.Test(t)
	for _, name := range []string{"secret.pem", "x.go", "d/e/f/g.pem", ".git/HEAD", ".git/objects/x", ".env", "to -> /home/me/ws/.env"} {
		for length := MaxPath - 20; length < MaxPath+20; length++ {
			deep := "/home/me/ws/deep"
			for len(deep) < length {
				deep += "/" + strings.Repeat("d", min(200, max(1, length-len(deep)-1)))
			}
			with := append(slices.Clone(files), deep+"/"+name)
			if name == ".git/HEAD" {
				with = append(with, deep+"/.git/objects/", deep+"/.git/refs/")
			}
			p, err := new(Planner).Make(policy(t, "", ""), nil, machine(), with)
			if err != nil {
				t.Fatal(err)
			}
			all := slices.Concat(p.Writable, p.ReadOnly, p.Denied, p.Empty, p.Absent)
			if slices.ContainsFunc(all, func(one Path) bool { return len(one.Path) >= MaxPath }) {
				t.Errorf("%s at %d: a path is too long", name, length)
			}
			if secret := strings.HasSuffix(name, ".pem") || name == ".env"; secret && !masked(p, deep+"/"+name) {
				t.Errorf("%s at %d: it can be read", name, length)
			}
			if dir := path.Dir(deep); len(deep) >= MaxPath && !masked(p, deep) && !masked(p, dir) {
				t.Errorf("%s at %d: it is not looked at, and can be reached", name, length)
			}
		}
	}
}

// TestTooManyBelow: where there are too many names, the directory that has them is withheld,
// and what lies beside it is looked at.
func TestTooManyBelow(t *testing.T) {
	with := append(slices.Clone(files), "/home/me/ws/zz/.env")
	for i := range 60 {
		with = append(with, fmt.Sprintf("/home/me/ws/many/d/%d", i))
	}
	for _, left := range []int{0, 10, 30, 50, 90, 200} {
		pl := new(Planner)
		p := policy(t, "", "")
		pl.under(p.Bounds(nil))
		k := &maker{Planner: pl, machine: machine(), files: with, most: left, left: left}
		k.plan.Workspace = []string{"/home/me/ws"}
		k.writable("")
		err := k.walk("/home/me/ws", false)
		if left < 12 {
			if err == nil {
				t.Errorf("of %d names the workspace is looked through", left)
			}
			continue
		}
		if err != nil {
			t.Fatal(left, err)
		}
		k.settle()
		if got := masked(&k.plan, "/home/me/ws/many/d/1"); got != (left < 100) {
			t.Errorf("of %d names: what is too much is withheld: %v", left, got)
		}
		if !masked(&k.plan, "/home/me/ws/zz/.env") || left >= 50 && slices.Contains(Paths(k.plan.Denied), "/home/me/ws/zz") {
			t.Errorf("of %d names: %v", left, k.plan.Denied)
		}
	}
}

// TestTooManyInOne: too many names in one directory of the workspace withhold nothing in
// another, in whichever order.
func TestTooManyInOne(t *testing.T) {
	with := append(slices.Clone(files), "/home/me/two/.env", "/home/me/two/src/main.go")
	for d := range 20 {
		for i := range 40 {
			with = append(with, fmt.Sprintf("/home/me/ws/many/%d/%d", d, i))
		}
	}
	for _, roots := range [][]string{{"/home/me/ws", "/home/me/two"}, {"/home/me/two", "/home/me/ws"}} {
		pl := new(Planner)
		pl.under(policy(t, "", "").Bounds(nil))
		k := &maker{Planner: pl, machine: machine(), files: with, most: 100}
		k.plan.Workspace = roots
		if err := k.workspace(); err != nil {
			t.Fatal(roots, err)
		}
		k.settle()
		denied := Paths(k.plan.Denied)
		if !slices.Contains(denied, "/home/me/two/.env") || slices.Contains(denied, "/home/me/two/src") || !masked(&k.plan, "/home/me/ws/many/19/1") {
			t.Errorf("%v: %v", roots, denied)
		}
	}
}

// TestLinksToWhatIsNeeded: a link that a command makes does not have the sandbox withhold what
// no command can run without: then there would be no sandbox, or no command would run. The rule
// is not held then.
func TestLinksToWhatIsNeeded(t *testing.T) {
	needed := []string{
		"/home/me/ws", "/home/me", "/home", "/", "/usr", "/usr/bin", "/usr/bin/bash", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/bin", "/etc", "/opt", "/tmp", "/run", "/dev", "/dev/null", "/proc", "/proc/1/environ", "/sys/kernel", "/usr/local", "/nix",
	}
	there := append(slices.Clone(files), "/usr/bin/bash", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/bin/sh", "/etc/app/secret", "/opt/app/secret", "/dev/null", "/proc/1/environ", "/sys/kernel/x", "/usr/local/bin/node", "/usr/local/etc/secret", "/nix/store/x")
	for _, link := range []string{"x.pem", "new/.env", "x.rule", "sub/x.edit", ".envrc"} {
		for _, to := range append(needed, "/home/me/ws/sub", "/etc/app/secret", "/opt/app/secret", "/usr/local/etc/secret", "/home/me/ws/a.go", "/home/me/ws/ring") {
			with := append(slices.Clone(there), "/home/me/ws/"+link+" -> "+to)
			p, err := new(Planner).Make(policy(t, "Read(*.rule); Edit(*.edit)", ""), nil, machine(), with)
			if err != nil {
				t.Errorf("%s -> %s: %v", link, to, err)
				continue
			}
			want := !slices.Contains(needed, to) && with.Kind(to) != Nothing
			got := slices.ContainsFunc(slices.Concat(p.Denied, p.Empty, p.ReadOnly), func(one Path) bool { return one.Path == to })
			if reads := link != "sub/x.edit" && link != ".envrc"; got != want && (reads || got || subpath.Within(to, "/home/me/ws/")) {
				t.Errorf("%s -> %s: withheld %v, want %v", link, to, got, want)
			}
			if !slices.ContainsFunc(p.Gaps, func(gap Path) bool { return gap.Path == "/home/me/ws/"+link }) {
				t.Errorf("%s -> %s: it is no gap", link, to)
			}
			if link == "x.rule" && slices.Contains(p.Held, "deny Read(*.rule)") != (want || to == "/home/me/ws/ring") {
				t.Errorf("%s -> %s: held are %v", link, to, p.Held)
			}
		}
	}
	// The same of a socket; of a link that a command cannot have made, the target is withheld.
	for _, to := range append(needed, "/usr/bin/bash") {
		m := machine()
		m.Sockets = append(m.Sockets, "/home/me/ws/agent.sock")
		with := append(slices.Clone(there), "/home/me/ws/agent.sock -> "+to)
		p, err := new(Planner).Make(policy(t, "", ""), nil, m, with)
		if err != nil {
			t.Fatal(err)
		}
		if all := slices.Concat(p.Denied, p.Empty, p.ReadOnly); slices.ContainsFunc(all, func(one Path) bool { return one.Path == to }) {
			t.Errorf("a socket is a link to %s: it is withheld", to)
		}
	}
	with := append(slices.Clone(there), "/home/me/.netrc -> /nix/store/x")
	if p, err := new(Planner).Make(policy(t, "", ""), nil, machine(), with); err != nil || !masked(p, "/nix/store/x") {
		t.Errorf("what a link of a person leads to is not withheld: %v, %v", p, err)
	}
	free := policy(t, "", "")
	free.Place.Home = place.Workspace + "/home"
	with = append(slices.Clone(there), "/home/me/ws/home/.netrc -> /usr/bin/bash", "/home/me/ws/home/.aws -> /usr")
	if p, err := new(Planner).Make(free, nil, machine(), with); err != nil || masked(p, "/usr/bin/bash") {
		t.Errorf("a home in the workspace: %v, %v", p, err)
	}
}
