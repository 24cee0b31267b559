package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlanted: what a command can write where PATH, or a link, leads through is told from
// what it cannot.
func TestPlanted(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"usr/bin/docker": "", "usr/bin/git": "", "usr/bin/node": "", "usr/bin/npm": "#!/usr/bin/env node\n", "usr/bin/aws": "#! /usr/bin/env -S FOO=1 python3 -I\n", "usr/bin/own": "#!" + dir + "/work/bin/x\n",
		"usr/bin/loop": "#!" + dir + "/usr/bin/loop\n", "work/bin/docker": "", "work/bin/x": "", "work/bin/python3": "", "work/.venv/bin/plain": "", "opt/tool": "",
	} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"usr/bin/linked": at("work/bin/x"), "usr/bin/through": at("work/back"), "work/back": at("opt/tool"), "usr/bin/good": "../../opt/tool", "usr/ours": at("work/bin"), "usr/gone": at("none"), "alias": at("work"),
	} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(at("work/.venv/bin/plain"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		want       bool
	}{
		{"docker", "usr/bin", false}, {"docker", "usr/bin:work/bin", false}, {"docker", "work/bin:usr/bin", true}, {"docker", "work/.venv/bin:usr/bin", false},
		{"docker", "usr/ours:usr/bin", true}, {"docker", "usr/gone:none:usr/bin", false}, {"docker", "alias/bin:usr/bin", true},
		{"plain", "work/.venv/bin:usr/bin", false}, // nothing that can be started
		{"unheard", "work/bin:usr/bin", false},     // nothing is started
		{"linked", "usr/bin", true}, {"through", "usr/bin", true}, {"good", "usr/bin", false},
		// An interpreter.
		{"npm", "usr/bin", false}, {"npm", "work/bin:usr/bin", false}, {"aws", "work/bin:usr/bin", true}, {"aws", "usr/bin", false}, {"own", "usr/bin", true}, {"loop", "usr/bin", true},
		// Whatever the directory is in which the command begins.
		{"docker", ":usr/bin", true}, {"docker", "./bin:usr/bin", true}, {"docker", "usr/bin:", false}, {"unheard", "usr/bin:", true},
		// Paths.
		{"usr/bin/docker", "work/bin", false}, {"work/bin/x", "usr/bin", true}, {"usr/bin/linked", "usr/bin", true}, {"usr/bin/../../work/bin/x", "", true}, {"./docker", "usr/bin", true},
	} {
		name := tt.name
		if strings.Contains(name, "/") && !strings.HasPrefix(name, ".") {
			name = dir + "/" + name
		}
		list := strings.Split(tt.path, ":")
		for i, d := range list {
			if d != "" && d[0] != '.' {
				list[i] = at(d)
			}
		}
		p := Programs{Path: strings.Join(list, ":"), Written: []string{at("alias")}}
		if got := p.Planted(name); got != tt.want {
			t.Errorf("%s on %s: %v", tt.name, tt.path, got)
		}
	}
}

// TestFound: a program is pinned where a directory stands on PATH, before it, in which commands
// can write, and never to what is in that; one that is nowhere, to where nobody can put it.
func TestFound(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"usr/docker", "work/x"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "work"), filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, want, others string }{
		{"docker", "usr", "", "usr"},
		{"docker", "usr:work", "", "usr"},
		{"docker", "work:usr", "usr/docker", "usr"},
		{"docker", "alias:usr", "usr/docker", "usr"},
		{"docker", "none:usr:work", "", "none:usr"},
		{"none", "usr", "", "usr"},
		{"none", "usr:work", "/dev/null/none", "usr"},
		{"none", "work:usr", "/dev/null/none", "usr"},
		{"none", "work", "/dev/null/none", ""},
		{"x", "work:usr", "/dev/null/x", "usr"}, // it was put there since somebody looked
		{"docker", "alias", "/dev/null/docker", ""},
	} {
		var list []string
		for one := range strings.SplitSeq(tt.path, ":") {
			list = append(list, filepath.Join(dir, one))
		}
		p := Programs{Path: strings.Join(list, ":"), Written: []string{filepath.Join(dir, "work")}}
		if got := strings.TrimPrefix(p.Found(tt.name), dir+"/"); got != tt.want {
			t.Errorf("%s on %s: %q", tt.name, tt.path, got)
		}
		if got := strings.ReplaceAll(p.Others(), dir+"/", ""); got != tt.others {
			t.Errorf("others of %s: %q", tt.path, got)
		}
	}
	if got := (Programs{Path: ":.:/usr/bin"}).Others(); got != "/usr/bin" {
		t.Errorf("%q", got)
	}
}
