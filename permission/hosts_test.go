package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestHosts checks that a command which asks a host that a file of the project names, or sends
// it a variable, is proven by no prefix and by no tier, and that the question names both.
func TestHosts(t *testing.T) {
	host := fakeFS{named: []shell.Named{{File: ".npmrc", Key: "registry", Host: "npm.example.com"}}}
	leak := fakeFS{named: append(host.named[:1:1], shell.Named{File: ".npmrc", Key: "_authToken", Variable: "${NPM_TOKEN}"})}
	idle := fakeFS{named: leak.named[1:]}
	none := fakeFS{}
	for _, tt := range []struct {
		about, allow, line string
		env                Env
		want               Behavior
		says               string
	}{
		{"by tier", "", "npm view x", host, Ask, "npm would ask npm.example.com, which .npmrc names (agent-wrapper trust .npmrc accepts it)"},
		{"a variable", "", "npm view x", leak, Ask, "npm would send ${NPM_TOKEN} to npm.example.com, which .npmrc names"},
		{"a variable and no host", "", "npm view x", idle, Allow, ""},
		{"unread", "", "npm view x", fakeFS{named: host.named, unread: true}, Ask, "npm may ask any host: .npmrc cannot be read"},
		{"no file", "", "npm view x", none, Allow, ""},
		{"by a prefix", "Bash(npm ci:*)", "npm ci --no-audit", host, Ask, "npm.example.com"},
		{"by the program", "Bash(npm:*)", "npm publish", host, Ask, "npm.example.com"},
		{"by the very words", "Bash(npm ci)", "npm ci", host, Ask, "npm.example.com"},
		{"behind words", "Bash(timeout 5 npm ci)", "timeout 5 npm ci", host, Ask, "npm.example.com"},
		{"by the tool", "Bash", "npm ci", host, Allow, ""},
		{"behind a wrapper", "Bash(npm ci:*)", "timeout 5 npm ci --no-audit", host, Ask, "npm.example.com"},
		{"in a list", "", "ls && npm view x", host, Ask, "npm.example.com"},
		{"as a module", "Bash(python3 -m pip install:*)", "python3 -m pip install x", host, Ask, "npm.example.com"},
		{"of which only the risk is known", "Bash(nuget:*)", "nuget install x", host, Ask, "nuget would ask"},
		{"with words that are unknown", "Bash(yarn:*)", "yarn $x", host, Ask, ""},
		{"files that are unknown", "Bash(pip install:*)", "pip install -r $f", none, Ask, ""},
		{"a directory that is unknown", "", "cd $d; pip list --outdated", none, Allow, ""},
		{"a script", "Bash(npm test:*)", "npm test -- -v", host, Allow, ""},
		{"a script, with a variable", "Bash(npm test:*)", "npm test -- -v", leak, Ask, "would send"},
		{"a script of another", "Bash(pnpm lint:*)", "pnpm lint --fix", leak, Allow, ""},
		{"an option that asks", "", "pip list --outdated", host, Ask, "npm.example.com"},
		{"a list that may look for a newer pip", "", "pip list", host, Ask, "npm.example.com"},
		{"without one", "", "pip freeze", host, Allow, ""},
		{"a version", "", "npm -v", leak, Allow, ""},
		{"another program", "", "ls", host, Allow, ""},
	} {
		s := spec{allow: tt.allow, risk: true}
		p := s.policy(t)
		use := using("Bash", tt.line)
		use.Dir = workspace
		d := Evaluate(p, nil, &use, tt.env, nil)
		if d.Behavior != tt.want || !strings.Contains(d.Reason, tt.says) {
			t.Errorf("%s: %v: %s", tt.about, d.Behavior, d.Reason)
		}
	}
}

// asking is a command of each kind that asks a registry, and one that does not.
var asking = map[string][2]string{
	"npm": {"npm ci", "npm run x"}, "npx": {"npx x", ""}, "pnpm": {"pnpm add x", "pnpm build"}, "yarn": {"yarn", "yarn build"},
	"bun": {"bun test", "bun why x"}, "bunx": {"bunx x", ""}, "pnpx": {"pnpx x", ""}, "deno": {"deno add x", "deno fmt"}, "cargo": {"cargo fetch", "cargo fmt"},
	"pip": {"pip download x", "pip show x"}, "uv": {"uv sync", "uv pip freeze"}, "uvx": {"uvx x", ""}, "poetry": {"poetry lock", "poetry check"},
	"pdm": {"pdm lock", "pdm info"}, "hatch": {"hatch run x", "hatch config"}, "bundle": {"bundle install", "bundle list"}, "dotnet": {"dotnet restore", "dotnet --version"}, "nuget": {"nuget restore", ""},
}

// TestAsks checks for each program with a registry that its uses ask, but for those of which
// the catalogue says that they do not.
func TestAsks(t *testing.T) {
	for p := range program.Builtin {
		if p.Registry == "" || p.Name == "cnpm" || p.Name == "tnpm" {
			continue
		}
		name := p.Name
		if strings.HasPrefix(name, "pip2") || strings.HasPrefix(name, "pip3") || name == "pip.exe" {
			name = "pip"
		}
		switch name {
		case "yarnpkg", "bundler":
			name = strings.TrimSuffix(strings.TrimSuffix(name, "pkg"), "r")
		case "rye", "pipenv", "flit":
			name = "pdm"
		case "pixi":
			name = "hatch"
		}
		if asking[name][0] == "" {
			t.Errorf("%s has no line above", p.Name)
		}
		for i, line := range asking[name] {
			if line == "" {
				continue
			}
			line = p.Name + strings.TrimPrefix(line, name)
			facts := shell.Analyze(line, shell.Options{Dir: workspace, Workspace: workspace})
			asks, ok := facts.Actions[0].Asks()
			if asked := ok && !asks.Seldom; asked != (i == 0) {
				t.Errorf("%q asks: %v", line, asked)
			}
		}
	}
}

// TestHostsWithin checks that a command whose work is to ask another host is asked about
// although there is a sandbox, and that one which only may send something runs inside it.
func TestHostsWithin(t *testing.T) {
	leak := fakeFS{named: []shell.Named{{File: ".npmrc", Host: "npm.example.com", Variable: "${NPM_TOKEN}"}}}
	for line, want := range map[string]Sandboxed{"npm view x": Outside, "npm search x": Outside, "npm ls": Within, "npm run x": Within} {
		s := spec{risk: true, unlisted: UnlistedRisk}
		session := s.session(t)
		session.Sandbox(&Sandbox{Held: func() ([]string, error) { return nil, nil }, Planted: func(string) bool { return false }})
		use := using("Bash", line)
		use.Dir = workspace
		d := Evaluate(s.policy(t), session, &use, leak, nil)
		if d.Sandbox != want || (d.Behavior == Allow) != (want == Within) {
			t.Errorf("%q: %v, %v: %s", line, d.Behavior, d.Sandbox, d.Reason)
		}
	}
}
