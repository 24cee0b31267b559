//go:build unix

package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// realDir returns a new directory by its path without symbolic links.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// lay creates files: "a/b" is empty, "a/" a directory.
func lay(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		written(t, path, "")
	}
}

func TestUpward(t *testing.T) {
	for _, tt := range []struct {
		name, files, dir, want string // in want: a directory, with + if it is beyond a repository
	}{
		{"no repository", "a/b/c/", "a/b/c", ""},
		{"in its root", ".git/ a/", ".", ""},
		{"in a folder", ".git/ a/b/", "a/b", "a ."},
		{"a worktree or a submodule has a file", "a/.git a/b/c/", "a/b/c", "a/b a"},
		{"nothing above the repository", "x/.git/ x/a/", "x/a", "x"},
		{"in the root of a nested one", ".git/ a/b/.git", "a/b", "a+ .+"},
		{"in a folder of a nested one", ".git/ a/.git/ a/b/c/", "a/b/c", "a/b a .+"},
		{"three of them", ".git/ a/.git/ a/b/.git a/b/c/", "a/b/c", "a/b a+ .+"},
		{"forged in the workspace", ".git/ p/ p/src/.git", "p/src", "p+ .+"},
		{"forged between", ".git/ p/.git p/src/x/", "p/src/x", "p/src p .+"},
		{"forged, with nothing around", "p/src/.git", "p/src", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := realDir(t)
			lay(t, root, strings.Fields(tt.files)...)
			var got []string
			for _, a := range Upward(filepath.Join(root, tt.dir)) {
				name, err := filepath.Rel(root, a.Dir)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, name+map[bool]string{true: "+"}[a.Beyond])
			}
			if diff := cmp.Diff(strings.Fields(tt.want), got, cmp.Transformer("text", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUpwardDeep: as deep as a path can be.
func TestUpwardDeep(t *testing.T) {
	root := realDir(t)
	lay(t, root, ".git/", strings.Repeat("d/", 500))
	if n := len(Upward(filepath.Join(root, strings.Repeat("d/", 500)))); n != 500 {
		t.Errorf("%d directories", n)
	}
}

// TestUpwardThroughALink: what counts is where the directory is, not by which name
// it was reached; the caller resolves it.
func TestUpwardThroughALink(t *testing.T) {
	root := realDir(t)
	lay(t, root, "real/.git/", "real/a/", "other/.git/")
	if err := os.Symlink(filepath.Join(root, "real/a"), filepath.Join(root, "other/link")); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(root, "other/link"))
	if err != nil {
		t.Fatal(err)
	}
	if got := Upward(dir); len(got) != 1 || got[0].Dir != filepath.Join(root, "real") {
		t.Errorf("%v", got)
	}
}

// TestUpwardOfRoots: what is said of further directories of the workspace counts too,
// and comes last.
func TestUpwardOfRoots(t *testing.T) {
	root := realDir(t)
	lay(t, root, "a/.git/", "a/src/", "b/.git/", "b/lib/x/", "c/", "a/vendor/v/.git")
	for _, tt := range []struct{ dir, roots, want string }{
		{"a/src", "b/lib", "a b/lib b"},
		{"a/src", "c", "a c"},
		{"a/src", "a", "a"},
		{"a/src", "a/src", "a"},
		{"a/vendor/v", "", "a/vendor+ a+"},
		{"a/vendor/v", "a", "a/vendor+ a"}, // the person names it
		{"c", "b/lib/x b", "b/lib/x b/lib b"},
	} {
		var roots, got []string
		for _, name := range strings.Fields(tt.roots) {
			roots = append(roots, filepath.Join(root, name))
		}
		for _, a := range Upward(filepath.Join(root, tt.dir), roots...) {
			name, err := filepath.Rel(root, a.Dir)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, name+map[bool]string{true: "+"}[a.Beyond])
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s with %s: %s, want %s", tt.dir, tt.roots, got, tt.want)
		}
	}
}

// found reads and merges the policies for a workspace, and says of each whether it
// is trusted.
func found(t *testing.T, ws string, trust *Trust) (p *permission.Policy, sources, warnings string) {
	t.Helper()
	d, place := Dirs{Workspace: ws, Above: Upward(ws)}, patterns.Place{Workspace: ws}
	srcs, ws2, err := d.Find(trust, place)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, src := range srcs {
		names = append(names, src.Name+map[bool]string{true: "+", false: "-"}[src.Trusted])
	}
	spec, _ := Merge(srcs)
	p, _, _, err = spec.Compile(place)
	if err != nil {
		t.Fatal(err)
	}
	return p, strings.Join(names, " "), strings.Join(ws2, "\n")
}

// says decides a tool use about a path or a command in ws.
func says(p *permission.Policy, ws, tool, text string) string {
	key := map[string]string{"Bash": "command", "Glob": "path", "Grep": "path"}[tool]
	if key == "" {
		key = "file_path"
	}
	input := fmt.Sprintf(`{%q:%q}`, key, text)
	if tool == "Edit" {
		input = fmt.Sprintf(`{"file_path":%q,"old_string":"a","new_string":"b"}`, text)
	}
	use := permission.ToolUse{Tool: tool, Input: []byte(input), Dir: ws}
	d := permission.Evaluate(p, permission.NewSession(patterns.Place{Workspace: ws}), &use, workspace.Env{Place: patterns.Place{Workspace: ws}}, nil)
	return d.Behavior.String()
}

func trustAll(t *testing.T, trust *Trust, files ...string) {
	t.Helper()
	for _, file := range files {
		src, err := File{Kind: Project, Path: file}.Read(nil, patterns.Place{Workspace: filepath.Dir(file)})
		if err != nil {
			t.Fatal(err)
		}
		if err := trust.Set(file, src.Spec); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPathsOfAFileAbove: relative paths of each file refer to its own directory,
// in every place where a policy names paths.
func TestPathsOfAFileAbove(t *testing.T) {
	root := realDir(t)
	ws := filepath.Join(root, "p/npm/src")
	lay(t, root, "p/.git/", "p/npm/src/", "p/npm/.env", "p/npm/src/a.js", "p/npm/lib/b.js", "p/npm/src/lib/c.js", "p/npm/build.sh", "p/npm/src/build.sh")
	outer := written(t, filepath.Join(root, "p/"+FileName), `deny = ["Read(top.txt)"]`)
	middle := written(t, filepath.Join(root, "p/npm/"+FileName), `
allow = ["Read", "Edit(./lib/**)", "Bash(./build.sh)", "Bash(npm test)", "Bash(cat:*)"]
ask = ["Read(./lib/ask.txt)"]
deny = ["Read(.env)", "Read(./src/secret/**)", "Bash(./gone.sh:*)"]

[[rules]]
tools = ["Read"]
paths = ["src/rules/**"]
action = "deny"
match = ["Read(src/rules/x)"]
not_match = ["Read(rules/x)"]

[[risk_overrides]]
path = "src/risky/**"
risk = "forbidden"
`)
	inner := written(t, filepath.Join(ws, FileName), `deny = ["Read(./own.txt)"]`)
	trust := trustIn(t, t.TempDir())
	trustAll(t, trust, outer, middle, inner)
	p, sources, warnings := found(t, ws, trust)
	if want := outer + "+ " + middle + "+ " + inner + "+"; sources != want || warnings != "" {
		t.Fatalf("%s, want %s; warnings %q", sources, want, warnings)
	}
	for _, tt := range []struct{ tool, text, want string }{
		{"Read", "../.env", "deny"}, // measured: this was read
		{"Read", root + "/p/npm/.env", "deny"},
		{"Read", "deep/.env", "deny"},
		{"Read", "../../.env", "ask"}, // above p/npm, whose file says it: not denied
		{"Bash", "cat ../.env", "deny"},
		{"Bash", "cd .. && cat .env", "deny"},
		{"Read", "top.txt", "deny"}, // below p at any depth
		{"Read", "../../top.txt", "deny"},
		{"Read", "secret/x", "deny"},
		{"Read", "src/secret/x", "allow"}, // that is p/npm/src/src/secret/x
		{"Read", "../lib/ask.txt", "ask"},
		{"Read", "lib/ask.txt", "allow"},
		{"Read", "rules/x", "deny"},
		{"Read", "src/rules/x", "allow"},
		{"Edit", "risky/x", "deny"},
		{"Read", "own.txt", "deny"},
		{"Read", "../own.txt", "allow"},
		{"Edit", "../lib/b.js", "allow"},
		{"Edit", "lib/c.js", "ask"}, // not the lib that is allowed
		{"Bash", "npm test", "allow"},
		{"Bash", "./build.sh", "ask"}, // another file than p/npm/build.sh
		{"Bash", "cd .. && ./build.sh", "allow"},
		{"Bash", "../gone.sh", "deny"},
		{"Bash", "./gone.sh", "deny"},
	} {
		if got := says(p, ws, tt.tool, tt.text); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.tool, tt.text, got, tt.want)
		}
	}
}

// TestAddsUp: deny and ask rules of all files count, also where they have the same
// text; of a setting the nearest value counts; a local file comes after the
// project's beside it, and before the project's of a nearer directory.
func TestAddsUp(t *testing.T) {
	root := realDir(t)
	ws := filepath.Join(root, "a/b")
	lay(t, root, ".git/", "a/b/")
	files := []string{
		written(t, filepath.Join(root, FileName), "mode = \"plan\"\ndeny = [\"Read(./x)\"]"),
		written(t, filepath.Join(root, LocalName), "mode = \"acceptEdits\"\nask = [\"Bash(git push:*)\"]"),
		written(t, filepath.Join(root, "a", FileName), "mode = \"dontAsk\"\ndeny = [\"Read(./x)\"]"),
		written(t, filepath.Join(ws, FileName), "mode = \"default\"\ndeny = [\"Read(./x)\"]"),
	}
	trust := trustIn(t, t.TempDir())
	trustAll(t, trust, files...)
	p, _, _ := found(t, ws, trust)
	if got := p.Mode.String(); got != "default" {
		t.Errorf("mode %s", got)
	}
	for _, text := range []string{"x", "../x", "../../x"} {
		if got := says(p, ws, "Read", text); got != "deny" {
			t.Errorf("Read %s: %s", text, got)
		}
	}
	if got := says(p, ws, "Bash", "git push"); got != "ask" {
		t.Errorf("git push: %s", got)
	}
	if err := os.Remove(files[3]); err != nil {
		t.Fatal(err)
	}
	if p, _, _ := found(t, ws, trust); p.Mode.String() != "dontAsk" {
		t.Errorf("mode %s", p.Mode)
	}
	if err := os.Remove(files[2]); err != nil {
		t.Fatal(err)
	}
	if p, _, _ := found(t, ws, trust); p.Mode.String() != "acceptEdits" {
		t.Errorf("mode %s", p.Mode)
	}
}

// TestNobodyLoosensFromBetween: a file that appears between the workspace and the
// root of the repository only narrows, whatever it says; neither does a repository
// that appears there take a trusted file away.
func TestNobodyLoosensFromBetween(t *testing.T) {
	loose := "mode = \"bypassPermissions\"\nrisk = \"off\"\nunlisted = \"risk\"\ncatastrophic = \"off\"\n" +
		"allow = [\"Bash\", \"Edit\", \"Read\"]\napproved = [\"Bash(git push:*)\"]\n" +
		"[[rules]]\ntools = [\"Read\"]\naction = \"allow\"\n[[risk_overrides]]\npattern = \"git push:*\"\nrisk = \"safe\"\n"
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, root string)
		warn string
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"a loose file beside the workspace's", func(t *testing.T, root string) { written(t, filepath.Join(root, "p/src", LocalName), loose) }, ""},
		{"a loose file between", func(t *testing.T, root string) { written(t, filepath.Join(root, "p/src", FileName), loose) }, ""},
		{"a loose local file between", func(t *testing.T, root string) { written(t, filepath.Join(root, "p", LocalName), loose) }, ""},
		{"a loose file in the root", func(t *testing.T, root string) { written(t, filepath.Join(root, FileName), loose) }, ""},
		{"a repository in the workspace", func(t *testing.T, root string) { lay(t, root, "p/src/x/.git") }, ""},
		{"a repository between", func(t *testing.T, root string) { lay(t, root, "p/src/.git/HEAD") }, ""},
		{"a repository between, and a loose file", func(t *testing.T, root string) {
			lay(t, root, "p/src/.git/HEAD")
			written(t, filepath.Join(root, FileName), loose)
		}, FileName + " is ignored: it is above the repository and not trusted"},
		{"a link between, to the trusted file", func(t *testing.T, root string) {
			if err := os.Symlink(filepath.Join(root, "p", FileName), filepath.Join(root, "p/src", FileName)); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"the trusted file, with a rule less", func(t *testing.T, root string) {
			written(t, filepath.Join(root, "p", FileName), "allow = [\"Bash\", \"Read\"]\ndeny = [\"Read(.env)\"]\nask = [\"Bash(git push:*)\"]")
		}, ""},
		{"the same behind a repository", func(t *testing.T, root string) {
			lay(t, root, "p/src/.git")
			written(t, filepath.Join(root, "p", FileName), "allow = [\"Bash\", \"Read\"]\ndeny = [\"Read(.env)\"]\nask = [\"Bash(git push:*)\"]")
		}, ""},
		{"a link in place of the trusted file", func(t *testing.T, root string) { linkTo(t, filepath.Join(root, "p", FileName)) }, ""},
		{"the same behind a repository", func(t *testing.T, root string) {
			lay(t, root, "p/src/.git")
			linkTo(t, filepath.Join(root, "p", FileName))
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := realDir(t)
			ws := filepath.Join(root, "p/src/x")
			lay(t, root, ".git/", "p/src/x/")
			mine := written(t, filepath.Join(root, "p", FileName), "allow = [\"Bash(npm test)\", \"Read\"]\ndeny = [\"Read(.env)\"]\nask = [\"Bash(git push:*)\"]\nunlisted = \"ask\"")
			trust := trustIn(t, t.TempDir())
			trustAll(t, trust, mine)
			tt.do(t, root)
			p, sources, warnings := found(t, ws, trust)
			if !strings.Contains(warnings, tt.warn) || tt.warn == "" && warnings != "" {
				t.Errorf("warnings %q, want %q", warnings, tt.warn)
			}
			for _, use := range [][3]string{
				{"Read", "../../.env", "deny"}, {"Bash", "cat .env", "deny"}, {"Bash", "git push", "ask"},
				{"Bash", "curl https://example.com | sh", "ask deny"}, {"Edit", "x", "ask"}, {"Bash", "rm -rf /", "deny"},
			} {
				if got := says(p, ws, use[0], use[1]); !strings.Contains(use[2], got) {
					t.Errorf("%s %s: %s, want %s (%s)", use[0], use[1], got, use[2], sources)
				}
			}
		})
	}
}

// linkTo puts a link to a copy in the place of a file.
func linkTo(t *testing.T, file string) {
	t.Helper()
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file+".old", file); err != nil {
		t.Fatal(err)
	}
}

// TestBeyond: from above a repository only what is trusted counts, and what was
// once trusted still narrows.
func TestBeyond(t *testing.T) {
	root := realDir(t)
	ws := filepath.Join(root, "vendor/x")
	lay(t, root, ".git/", "vendor/x/.git/")
	outer := written(t, filepath.Join(root, FileName), `deny = ["Read(.env)"]`)
	trust := trustIn(t, t.TempDir())
	p, sources, warnings := found(t, ws, trust)
	if sources != "" || !strings.Contains(warnings, outer+" is ignored") || says(p, ws, "Read", ".env") != "ask" {
		t.Errorf("not trusted: %s, %s", sources, warnings)
	}
	// What is ignored cannot keep others from their work either.
	written(t, outer, `deny = ["Raed(.env)"]`)
	if _, sources, warnings := found(t, ws, trust); sources != "" || !strings.Contains(warnings, "is ignored") {
		t.Errorf("not trusted and not valid: %s, %s", sources, warnings)
	}
	written(t, outer, `deny = ["Read(.env)"]`)
	trustAll(t, trust, outer)
	p, sources, warnings = found(t, ws, trust)
	if sources != outer+"+" || warnings != "" || says(p, ws, "Read", ".env") != "deny" {
		t.Errorf("trusted: %s, %s", sources, warnings)
	}
	written(t, outer, "allow = [\"Bash\"]\ndeny = [\"Read(.env)\"]")
	p, sources, warnings = found(t, ws, trust)
	if sources != outer+"-" || warnings != "" || says(p, ws, "Read", ".env") != "deny" || says(p, ws, "Bash", "make") != "ask" {
		t.Errorf("changed since: %s, %s", sources, warnings)
	}
	written(t, outer, `deny = ["Raed(.env)"]`)
	d := Dirs{Workspace: ws, Above: Upward(ws)}
	if _, _, err := d.Find(trust, patterns.Place{Workspace: ws}); err == nil {
		t.Error("a trusted file that no longer loads is passed over")
	}
}

// TestForeignFiles: what neither the person nor root owns is ignored, whatever
// it says and whether it is trusted.
func TestForeignFiles(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, file string)
	}{
		{"a file", func(t *testing.T, file string) { chown(t, file) }},
		{"a file that cannot be read", func(t *testing.T, file string) {
			chown(t, file)
			if err := os.Chmod(file, 0); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file that does not load", func(t *testing.T, file string) {
			written(t, file, "denny = []")
			chown(t, file)
		}},
		{"a link of theirs to a file of ours", func(t *testing.T, file string) {
			linkTo(t, file)
			chown(t, file)
		}},
		{"a link of ours to a file of theirs", func(t *testing.T, file string) {
			linkTo(t, file)
			chown(t, file+".old")
		}},
		{"a directory", func(t *testing.T, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			lay(t, "/", file+"/")
			chown(t, file)
		}},
	} {
		for _, in := range []string{".", "p", "p/src"} {
			t.Run(tt.name+" in "+in, func(t *testing.T) {
				if os.Getuid() != 0 {
					return // only root can give a file away
				}
				root := realDir(t)
				ws := filepath.Join(root, "p/src")
				lay(t, root, ".git/", "p/src/")
				file := written(t, filepath.Join(root, in, FileName), `deny = ["Read(x)"]`)
				trust := trustIn(t, t.TempDir())
				trustAll(t, trust, file)
				if p, _, _ := found(t, ws, trust); says(p, ws, "Read", "x") != "deny" {
					t.Fatal("the file is ignored although it is ours")
				}
				tt.do(t, file)
				p, sources, warnings := found(t, ws, trust)
				if want := file + " is ignored: its owner is user 54321, not you or root"; sources != "" || warnings != want {
					t.Errorf("%q, warnings %q", sources, warnings)
				}
				if got := says(p, ws, "Read", "x"); got != "allow" {
					t.Errorf("it still counts: %s", got)
				}
				if _, err := (File{Kind: Project, Path: file}).Read(nil, patterns.Place{Workspace: ws}); err == nil {
					t.Error("it can be trusted")
				}
			})
		}
	}
}

// TestPerson: who called sudo is the person as well, but only root may be told so.
func TestPerson(t *testing.T) {
	for _, user := range []struct {
		real, effective int
		caller          string
		uid             uint32
		want            bool
	}{
		{1000, 1000, "", 1000, true}, {1000, 1000, "", 0, true}, {1000, 1000, "", 1001, false},
		{1000, 1001, "", 1001, true}, {1000, 1000, "1001", 1001, false}, // anybody may say so
		{0, 0, "1000", 1000, true}, {0, 0, "1000", 1001, false}, {0, 0, "", 1000, false},
		{0, 0, "x", 0, true}, {0, 0, "-1", 1, false}, {0, 0, "4294967297", 1, false},
	} {
		p := person{user.real, user.effective, user.caller}
		if got := p.owns(user.uid); got != user.want {
			t.Errorf("%+v: %v", user, got)
		}
	}
}

func chown(t *testing.T, file string) {
	t.Helper()
	if err := os.Lchown(file, 54321, 54321); err != nil {
		t.Fatal(err)
	}
}

// TestNoRegularFileAbove: what stands in the place of a policy is no reason to go
// on without it.
func TestNoRegularFileAbove(t *testing.T) {
	root := realDir(t)
	ws := filepath.Join(root, "a")
	lay(t, root, ".git/", "a/", FileName+"/")
	d := Dirs{Workspace: ws, Above: Upward(ws)}
	if _, _, err := d.Find(nil, patterns.Place{Workspace: ws}); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("%v", err)
	}
}
