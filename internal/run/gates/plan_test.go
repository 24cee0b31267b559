package gates

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const full = `{
  "schemaVersion": "1.2.0",
  "target": "main",
  "policy": {"requiredGates": ["lint"], "optionalGates": [], "maxWorkers": 2, "retries": {"lint": {"maxAttempts": 3, "backoffSeconds": 0.5}},
    "overrides": {"adminGreen": {"allowedUsers": ["x"], "requireReason": true}}, "blockOn": [], "mergeRule": {"type": "strict-required"}},
  "items": [
    {"name": "web", "deps": ["api"], "gates": [{"name": "build", "run": "npm run build"}]},
    {"name": "api", "deps": [], "gates": [
      {"name": "lint", "run": "npm run lint", "cwd": "packages/api", "env": {"CI": "1"}, "runtime": "local", "artifacts": ["out/lint.xml"]},
      {"name": "e2e", "run": "npm test", "runtime": "container", "container": {"image": "node:22", "entrypoint": ["sh"], "mounts": [{"source": "a", "target": "/a", "type": "bind"}]}}
    ]},
    {"name": "docs"}
  ]
}`

func TestParse(t *testing.T) {
	p, err := Parse([]byte(full), "plan.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"api", "web", "docs"}, names(p)); diff != "" {
		t.Error(diff)
	}
	g := p.Items[0].Gates[0]
	if p.Target != "main" || g.Run != "npm run lint" || g.Cwd != "packages/api" || g.Env["CI"] != "1" || len(g.Artifacts) != 1 || p.Policy.Retries["lint"].MaxAttempts != 3 {
		t.Errorf("%+v", p)
	}
}

func names(p *Plan) (list []string) {
	for _, item := range p.Items {
		list = append(list, item.Name)
	}
	return list
}

// plan returns a plan with these items.
func plan(items string) string {
	return "{\"schemaVersion\": \"1.0.0\", \"items\": [\n" + items + "\n]}"
}

// gate returns a plan with one gate, which begins at line 2, column 34.
func gate(members string) string {
	return plan(`{"name": "a", "gates": [{"name": "g", ` + members + `}]}`)
}

// TestPlanErrors: errors have a position.
func TestPlanErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{``, "p.json:1:1: "},
		{`[]`, "p.json:1:1: must be an object, not an array"},
		{`{}`, `p.json:1:1: schemaVersion: version "" is not supported: use 1.x.y`},
		{`{"schemaVersion": "2.0.0"}`, `p.json:1:19: schemaVersion: version "2.0.0" is not supported: use 1.x.y`},
		{`{"schemaVersion": "1.0"}`, `p.json:1:19: schemaVersion: version "1.0"`},
		{`{"schemaVersion": "1.0.0\n"}`, `p.json:1:19: schemaVersion: version "1.0.0\n"`},
		{`{"schemaVersion": "1.01.0"}`, `p.json:1:19: schemaVersion: version "1.01.0"`},
		{`{"schemaVersion": 1}`, "p.json:1:19: schemaVersion: must be a string, not a number"},
		{`{"schemaVersion": "1.0.0", "schemaVersion": "1.0.0"}`, "p.json:1:28: key schemaVersion appears twice in one object"},
		{`{"schemaVersion": "1.0.0", "Items": []}`, "p.json:1:28: unknown key Items (did you mean items?)"},
		{`{"schemaVersion": "1.0.0", "items": null}`, "p.json:1:37: items: must be an array, not null"},
		{`{"schemaVersion": "1.0.0", "policy": "strict"}`, "p.json:1:38: policy: must be an object, not a string"},
		{`{"schemaVersion": "1.0.0", "policy": {"retry": {}}}`, "p.json:1:39: policy: unknown key retry"},
		{`{"schemaVersion": "1.0.0"} x`, "p.json:1:28: "},
		{plan(`{}`), "p.json:2:1: items[0].name: a name is required"},
		{plan(`{"name": "a"}, {"name": "a"}`), `p.json:2:25: items[1].name: the name "a" appears twice`},
		{plan(`{"name": "a\u001b[2J"}`), `p.json:2:10: items[0].name: the name "a\x1b[2J" contains invisible characters`},
		{plan(`{"name": "a\u202eb"}`), `p.json:2:10: items[0].name: the name "a\u202eb" contains invisible characters`},
		{plan(`{"name": "a\nb"}`), `p.json:2:10: items[0].name: `},
		{plan(`{"name": "` + strings.Repeat("a", 201) + `"}`), `p.json:2:10: items[0].name: the name is longer than 200 bytes`},
		{plan(`{"name": "a", "deps": ["b"]}`), `p.json:2:24: items[0].deps[0]: there is no item "b"`},
		{plan(`{"name": "b"}, {"name": "a", "deps": ["b", "b"]}`), `p.json:2:44: items[1].deps[1]: "b" appears twice`},
		{plan(`{"name": "a", "deps": ["a"]}`), `p.json:2:23: items[0].deps: the items depend on each other in a cycle: a → a`},
		{plan(`{"name": "z", "deps": ["a"]}, {"name": "a", "deps": ["b"]}, {"name": "b", "deps": ["c", "a"]}, {"name": "c"}`), `p.json:2:53: items[1].deps: the items depend on each other in a cycle: a → b → a`},
		{plan(`{"name": "a", "gates": [{"name": "g", "run": "x"}, {"name": "g", "run": "x"}]}`), `p.json:2:61: items[0].gates[1].name: the name "g" appears twice`},
		{plan(`{"name": "a", "gates": [{"run": "x"}]}`), `p.json:2:25: items[0].gates[0].name: a name is required`},
		{gate(`"run": " \n"`), `p.json:2:46: items[0].gates[0].run: a command line is required`},
		{gate(`"Run": "x"`), `p.json:2:39: items[0].gates[0]: unknown key Run (did you mean run?)`},
		{gate(`"run": "x", "shell": true`), `p.json:2:51: items[0].gates[0]: unknown key shell`},
		{gate(`"run": ["x"]`), `p.json:2:46: items[0].gates[0].run: must be a string, not an array`},
		{gate(`"run": "x", "runtime": "docker"`), `p.json:2:62: items[0].gates[0].runtime: "docker" is not a runtime: use local, container or ci-service`},
		{gate(`"run": "x", "container": {"image": "i"}`), `p.json:2:64: items[0].gates[0].container: only runtime container has it`},
		{gate(`"run": "x", "cwd": "/etc"`), `p.json:2:58: items[0].gates[0].cwd: "/etc" is absolute`},
		{gate(`"run": "x", "cwd": "a/../../b"`), `p.json:2:58: items[0].gates[0].cwd: "a/../../b" leads out of the workspace`},
		{gate(`"run": "x", "cwd": "a/../b"`), `p.json:2:58: items[0].gates[0].cwd: "a/../b" leads out of the workspace`},
		{gate(`"run": "x", "cwd": ".."`), `p.json:2:58: items[0].gates[0].cwd: ".." leads out of the workspace`},
		{gate(`"run": "x", "cwd": "a\u0000"`), `p.json:2:58: items[0].gates[0].cwd: it contains a NUL byte`},
		{gate(`"run": "x", "artifacts": [""]`), `p.json:2:65: items[0].gates[0].artifacts[0]: a path is required`},
		{gate(`"run": "x", "artifacts": ["a", "../b"]`), `p.json:2:70: items[0].gates[0].artifacts[1]: "../b" leads out of the workspace`},
		{gate(`"run": "x", "env": {"CI": 1}`), `p.json:2:65: items[0].gates[0].env.CI: must be a string, not a number`},
		{gate(`"run": "x", "env": {"CI": "1", "CI": "2"}`), `p.json:2:70: items[0].gates[0].env: key CI appears twice in one object`},
		{strings.Repeat(" ", maxSize+1), "p.json:"},
	} {
		p, err := Parse([]byte(tt.text), "p.json")
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || p != nil && tt.want != "" && !strings.Contains(tt.want, "cycle") {
			t.Errorf("%.80s\ngot  %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

// TestAllErrors: all errors are reported at once.
func TestAllErrors(t *testing.T) {
	_, err := Parse([]byte(plan(`{"name": "", "deps": ["x"], "gates": [{"name": "g", "run": ""}, {"name": "h", "run": "y", "cwd": ".."}]}`)), "p.json")
	if err == nil || len(strings.Split(err.Error(), "\n")) != 4 {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Read(filepath.Dir(path)); err == nil || !strings.HasSuffix(err.Error(), " is a directory, not a plan") {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(full), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Read(path); err != nil || len(p.Items) != 3 {
		t.Error(p, err)
	}
}

// TestCheck: where a gate may run and what it may set.
func TestCheck(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"out": "/etc", "up": "..", "in": "sub", "round": "round", "sub2": "sub/gone"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	allowed := func(name string) bool { return name == "CI" || name == "PATH" || name == "Path" || name == Bypass }
	for _, tt := range []struct{ members, want string }{
		{`"env": {"CI": "1"}`, ""},
		{`"env": {}`, ""},
		{`"cwd": "."`, ""},
		{`"cwd": "sub/"`, ""},
		{`"cwd": "in"`, ""},
		{`"cwd": "not/there/yet"`, ""},
		{`"cwd": "sub2"`, ""},
		{`"cwd": "out"`, `p.json:2:58: items[0].gates[0].cwd: "out" leads to /etc through a link, which is outside the workspace`},
		{`"cwd": "out/ssl"`, `p.json:2:58: items[0].gates[0].cwd: "out/ssl" leads to /etc/ssl through a link`},
		{`"cwd": "in/../up"`, `plan`},
		{`"cwd": "up"`, `p.json:2:58: items[0].gates[0].cwd: "up" leads to `},
		{`"cwd": "round"`, `p.json:2:58: items[0].gates[0].cwd: cannot tell where "round" leads`},
		{`"env": {"PATH": "/tmp"}`, `p.json:2:67: items[0].gates[0].env.PATH: a gate may not set where programs are found`},
		{`"env": {"Path": "/tmp"}`, `p.json:2:67: items[0].gates[0].env.Path: a gate may not set where programs are found`},
		{`"env": {"LEX_BYPASS_COMMAND_VALIDATION": "1"}`, `p.json:2:92: items[0].gates[0].env.LEX_BYPASS_COMMAND_VALIDATION: a gate may not turn the whitelist off`},
		{`"env": {"LD_PRELOAD": "x"}`, `p.json:2:73: items[0].gates[0].env.LD_PRELOAD: the whitelist does not allow this variable`},
		{`"env": {"ci": "1"}`, `p.json:2:65: items[0].gates[0].env.ci: the whitelist does not allow`},
		{`"env": {"BASH_FUNC_git%%": "1"}`, `p.json:2:78: items[0].gates[0].env.BASH_FUNC_git%%: this is not a variable name`},
		{`"env": {"": "1"}`, `p.json:2:58: items[0].gates[0].env.: this is not a variable name`},
		{`"env": {"CI=1 PATH": "1"}`, `p.json:2:72: items[0].gates[0].env.CI=1 PATH: this is not a variable name`},
		{`"env": {"CI": "a\u0000b"}`, `p.json:2:65: items[0].gates[0].env.CI: its value contains a NUL byte`},
	} {
		p, err := Parse([]byte(gate(`"run": "x", `+tt.members)), "p.json")
		if tt.want == "plan" {
			if err == nil {
				t.Errorf("%s is read", tt.members)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.members, err)
			continue
		}
		err = p.Check(dir, allowed)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%s\ngot  %v\nwant %s", tt.members, err, tt.want)
		}
	}
}

// TestOrder: items follow their dependencies, otherwise the order of the file;
// an error names a cycle of real dependencies.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		items := make([]Item, n)
		for i := range items {
			items[i].Name = string(rune('a' + i))
		}
		for i := range items {
			for _, dep := range rapid.SliceOfDistinct(rapid.IntRange(0, n-1), rapid.ID[int]).Draw(t, "deps") {
				if len(items[i].Deps) < 2 {
					items[i].Deps = append(items[i].Deps, items[dep].Name)
				}
			}
		}
		p := &Plan{Items: slices.Clone(items)}
		if err := p.order(); err != nil {
			_, circle, _ := strings.Cut(err.Error(), "cycle: ")
			way := strings.Split(circle, " → ")
			for i, name := range way[:len(way)-1] {
				if !slices.Contains(items[name[0]-'a'].Deps, way[i+1]) {
					t.Fatalf("%s does not depend on %s: %v", name, way[i+1], err)
				}
			}
			if way[0] != way[len(way)-1] || len(way) < 2 {
				t.Fatal(err)
			}
			return
		}
		where := map[string]int{}
		for i, item := range p.Items {
			where[item.Name] = i
		}
		for i, item := range p.Items {
			for _, dep := range item.Deps {
				if where[dep] >= i {
					t.Fatalf("%s stands before %s", item.Name, dep)
				}
			}
			if i > 0 && item.Name < p.Items[i-1].Name && !waits(items, item.Name[0], p.Items[i-1].Name[0]) {
				t.Fatalf("%s stands behind %s for nothing", item.Name, p.Items[i-1].Name)
			}
		}
		if len(where) != n {
			t.Fatalf("%d of %d items", len(where), n)
		}
	})
}

// waits reports whether an item depends on another one directly.
func waits(items []Item, item, on byte) bool {
	return slices.Contains(items[item-'a'].Deps, string(rune(on)))
}

// FuzzParse: a plan is refused with a position, or it is what the documentation
// says.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{full, plan(`{"name": "a", "deps": ["a"]}`), gate(`"run": "x", "cwd": "a/b", "env": {"CI": "1"}`), `{"schemaVersion":"1.0.0"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data, "p.json")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "p.json:") {
				t.Errorf("no place: %v", err)
			}
			return
		}
		done := map[string]bool{}
		for _, item := range p.Items {
			for _, dep := range item.Deps {
				if !done[dep] {
					t.Errorf("%q stands before %q", item.Name, dep)
				}
			}
			if item.Name == "" || done[item.Name] {
				t.Errorf("the name %q", item.Name)
			}
			done[item.Name] = true
			for _, g := range item.Gates {
				if g.Name == "" || strings.TrimSpace(g.Run) == "" || g.Cwd != "" && !filepath.IsLocal(g.Cwd) {
					t.Errorf("%+v", g)
				}
			}
		}
	})
}
