package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// tree creates directories and files, whose text is a policy's, and returns their
// root.
func tree(t *testing.T, dirs []string, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestRoots: the directories of the workspace have the same rights, and no other has
// them.
func TestRoots(t *testing.T) {
	root := tree(t, []string{"a/src/in", "a/lib", "b/.git", "b/src", "c"}, map[string]string{
		"b/" + policy.FileName: "deny = [\"Read(.env)\", \"Edit(./src/**)\"]",
	})
	if err := os.Symlink(filepath.Join(root, "b"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(root, name))
		}
		return paths
	}
	edit := func(name string) permission.ToolUse {
		return permission.ToolUse{Tool: "Write", Input: fmt.Appendf(nil, `{"file_path":%q,"content":"x"}`, filepath.Join(root, name))}
	}
	run := func(format string, names ...any) permission.ToolUse {
		for i := range names {
			names[i] = filepath.Join(root, names[i].(string))
		}
		return permission.ToolUse{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, fmt.Sprintf(format, names...))}
	}
	for _, tt := range []struct {
		name  string
		roots []string
		use   permission.ToolUse
		want  permission.Behavior
	}{
		{"alone, inside", nil, edit("a/src/x"), permission.Allow},
		{"alone, above", nil, edit("a/x"), permission.Ask},
		{"alone, beside", nil, edit("b/x"), permission.Ask},
		{"above it", in("a"), edit("a/x"), permission.Allow},
		{"above it, elsewhere", in("a"), edit("b/x"), permission.Ask},
		{"two", in("a/src", "b"), edit("b/x"), permission.Allow},
		{"two, by a link", in("a/src", "link"), edit("b/x"), permission.Allow},
		{"two, inside", in("a/src", "b"), edit("a/src/x"), permission.Allow},
		{"two, between", in("a/src", "b"), edit("a/x"), permission.Ask},
		{"two, a name that begins alike", in("a/src", "b"), edit("bb/x"), permission.Ask},
		{"its policy counts", in("a/src", "b"), edit("b/src/x"), permission.Deny},
		{"relative to itself", in("a/src", "b"), edit("a/src/src/x"), permission.Allow},
		{"its policy is guarded", in("a/src", "b"), edit("b/" + policy.FileName), permission.Ask},
		{"one that may be made there", in("a/src", "c"), edit("c/" + policy.LocalName), permission.Ask},
		{"its repository is protected", in("a/src", "b"), edit("b/.git/config"), permission.Ask},
		{"it is not removed", in("a/src", "c"), run("rm -rf %s", "c"), permission.Deny},
		{"another one may be, by a rule", in("a/src", "c"), run("rm -rf %s", "a/src/in"), permission.Allow},
		{"commands in it", in("a/src", "c"), run("cd %s && npm test", "c"), permission.Allow},
		{"commands beside it", in("a/src", "c"), run("cd %s && npm test", "b"), permission.Ask},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{
				Dir: filepath.Join(root, "a/src"), Roots: tt.roots, Dirs: &Dirs{},
				Settings: settings(t, "mode = \"acceptEdits\"\nunlisted = \"ask\"\nallow = [\"Bash(npm test)\", \"Bash(cd:*)\", \"Bash(rm:*)\"]"),
			}
			r, err := Load(o)
			if err != nil {
				t.Fatal(err)
			}
			tt.use.Dir = r.Place.Workspace
			if d := r.Explain(tt.use, nil); d.Behavior != tt.want {
				t.Errorf("%s, want %s: %s", d.Behavior, tt.want, d.Reason)
			}
		})
	}
}

// TestRootsMustHoldDir: the agent starts in its workspace.
func TestRootsMustHoldDir(t *testing.T) {
	root := tree(t, []string{"a/src", "b"}, map[string]string{"file": ""})
	for _, tt := range []struct {
		roots []string
		ok    bool
	}{
		{[]string{"a"}, true}, {[]string{"a/src"}, true}, {[]string{"b", "a"}, true}, {[]string{"/"}, true},
		{[]string{"b"}, false}, {[]string{"a/src/none", "a"}, false}, {[]string{"a", "file"}, false}, {[]string{"a", ""}, false},
	} {
		var roots []string
		for _, name := range tt.roots {
			if name != "" && name != "/" {
				name = filepath.Join(root, name)
			}
			roots = append(roots, name)
		}
		_, err := Load(Options{Dir: filepath.Join(root, "a/src"), Roots: roots, Dirs: &Dirs{}})
		option := new(OptionError)
		if (err == nil) != tt.ok || err != nil && (!errors.As(err, &option) || option.Option != "Roots") {
			t.Errorf("%s: %v", tt.roots, err)
		}
	}
}

// TestDriveTellsNoOtherPaths: the agent would take a relative path of a policy above
// the workspace as relative to its own directory, and refuse other files than the
// rule is about.
func TestDriveTellsNoOtherPaths(t *testing.T) {
	root := tree(t, []string{".git", "src"}, map[string]string{
		policy.FileName:          "deny = [\"Read(./x)\", \"Read(.env)\", \"WebSearch\", \"Read(/srv/x)\", \"Bash(rm:*)\"]",
		"src/" + policy.FileName: "deny = [\"Read(./y)\"]",
	})
	e := opened(t, Options{Dir: filepath.Join(root, "src"), Dirs: &Dirs{State: t.TempDir()}})
	e.Spec.Deny = append(e.Spec.Deny, e.Spec.Further[0].Deny...) // as if they were trusted
	e.Spec.Deny = append(e.Spec.Deny, e.Spec.Further[1].Deny...)
	var got wrapper.Task
	if _, err := e.Drive(t.Context(), taken(func(task wrapper.Task) error { got = task; return nil }), wrapper.Task{Prompt: "x"}); err != nil {
		t.Fatal(err)
	}
	if told := strings.Join(got.Disallowed, " "); told != "WebSearch Read(/srv/x) Bash(rm:*) Read(./y)" {
		t.Errorf("the agent is told %s", told)
	}
}

// TestRootIsGone: a directory of the workspace that was removed is nothing that a plan of the
// sandbox cannot be made without.
func TestRootIsGone(t *testing.T) {
	dir, gone := t.TempDir(), t.TempDir()
	r, err := Load(Options{Dir: dir, Roots: []string{dir, gone}, Dirs: &Dirs{State: t.TempDir()}, Isolated: true, Unbound: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Sandbox(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Sandbox(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestPlantedRunsInside: a program that a directory of the workspace on PATH provides is not
// the one that works outside.
func TestPlantedRunsInside(t *testing.T) {
	dir := tree(t, []string{"bin"}, nil)
	t.Setenv("PATH", filepath.Join(dir, "bin")+":/usr/bin:/bin")
	e := opened(t, Options{Dir: dir, Dirs: &Dirs{State: t.TempDir()}, Isolated: true, Unbound: true, NoRecord: true})
	if err := e.Within(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []permission.Sandboxed{permission.Outside, permission.Inside} {
		v := e.Evaluator()
		v.Recorder = e.evaluator.Recorder
		res, err := v.CanUseTool(t.Context(), permission.ToolUse{ID: "1", Tool: "Bash", Input: []byte(`{"command":"ps aux"}`), Dir: dir})
		if err != nil || res.Behavior != permission.Allow || res.Sandbox != want {
			t.Errorf("ps: %s %s (%s), %v; want %s", res.Behavior, res.Sandbox, res.Reason, err, want)
		}
		if err := os.WriteFile(filepath.Join(dir, "bin/ps"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplaceable: a program that runs outside is replaceable where a command inside can write,
// wherever its plan says so, which is not in our directory for temporary files.
func TestReplaceable(t *testing.T) {
	dir := tree(t, []string{"bin", ".git/objects", ".git/refs"}, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
	temp, scratch := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	e := opened(t, Options{Dir: dir, Dirs: &Dirs{State: t.TempDir()}, Isolated: true, Unbound: true, NoRecord: true})
	if err := e.Within(); err != nil {
		t.Fatal(err)
	}
	around := e.around(scratch)
	for path, want := range map[string]bool{
		filepath.Join(dir, "bin/agent"): true, dir + "/../" + filepath.Base(dir) + "/agent": true,
		filepath.Join(temp, "agent"): false, "/usr/bin/env": false,
	} {
		if got := around.Replaceable(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	plan, err := around.Plan()
	if err != nil || len(plan.Writable) < 2 {
		t.Fatalf("%+v, %v", plan, err)
	}
	for _, w := range plan.Writable {
		if !around.Replaceable(filepath.Join(w.Path, "agent")) {
			t.Errorf("%s can be written (%s), and is not replaceable", w.Path, w.Why)
		}
	}
	if !around.Planted(filepath.Join(temp, "agent")) {
		t.Error("a temporary file is none that a command inside has written")
	}
}

// TestBeginsElsewhere: the directory in which a command begins does not become writable by
// that.
func TestBeginsElsewhere(t *testing.T) {
	dir, root, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	r, err := Load(Options{Dir: dir, Roots: []string{dir, root}, Dirs: &Dirs{State: t.TempDir()}, Isolated: true, Unbound: true})
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.Sandbox(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"", root, filepath.Join(root, "none"), elsewhere, filepath.Dir(elsewhere), filepath.Dir(dir), r.Place.Home, "/"} {
		if got, err := r.Sandbox(at); err != nil || !slices.Equal(got.Writable, want.Writable) {
			t.Errorf("from %s: %v, %v, want %v", at, got.Writable, err, want.Writable)
		}
	}
}

// TestStateIsKept: a command inside the sandbox does not see what the engine keeps, where the
// options say or where the environment does.
func TestStateIsKept(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/nowhere/state")
	for want, dirs := range map[string]*Dirs{"/nowhere/own": {State: "/nowhere/own"}, "/nowhere/state/agent-wrapper": nil} {
		dir := t.TempDir()
		r, err := Load(Options{Dir: dir, Dirs: dirs, Isolated: true, Unbound: true})
		if err != nil {
			t.Fatal(err)
		}
		if plan, err := r.Sandbox(dir); err != nil || !slices.Contains(sandbox.Paths(plan.Empty), want) {
			t.Errorf("%s can be read: %v", want, err)
		}
	}
}

// TestMade: what a driven agent's command has made that is protected is told of, once it is
// there and not before.
func TestMade(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, Options{Dir: dir, Dirs: &Dirs{State: t.TempDir()}, Isolated: true, Unbound: true, NoRecord: true})
	if err := e.Within(); err != nil {
		t.Fatal(err)
	}
	around := e.around("")
	plan, err := around.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if made := around.Made(plan); len(made) > 0 {
		t.Errorf("%v", made)
	}
	if err := os.Mkdir(filepath.Join(dir, ".vscode"), 0o700); err != nil {
		t.Fatal(err)
	}
	if made := around.Made(plan); len(made) != 1 || made[0].Path != filepath.Join(dir, ".vscode") {
		t.Errorf("%v", made)
	}
}

// TestRootsByLinks: a directory of the workspace does not count if a link in another one
// leads to it, which a command could have put there; a link elsewhere may.
func TestRootsByLinks(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"ws/a", "victim/b", "other"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"ws/b": "victim", "ws/c": "ws/a", "link": "ws", "other/d": "ws/b"} {
		if err := os.Symlink(filepath.Join(top, to), filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, ok := range map[string]bool{"ws/b": false, "ws/b/b": false, "ws/c": false, "other/d/b": false, "link/b": false, "ws/a": true, "link": true, "link/a": true, "other": true, "victim/b": true} {
		o := Options{Dir: filepath.Join(top, "ws"), Roots: []string{filepath.Join(top, "ws"), filepath.Join(top, name)}}
		if _, err := o.Place(); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		} else if err != nil && !strings.Contains(err.Error(), "leads through the link "+filepath.Join(top, "ws")) {
			t.Error(err)
		}
	}
}
