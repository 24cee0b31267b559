package policy

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// hostFiles are files that name a host, @, for the commands behind them.
var hostFiles = []struct{ name, text, commands string }{
	{".npmrc", "registry=https://@/", "npm ci;npm install;npm view x;npm audit;npm publish;npm outdated;npm search x;npx x;pnpm install;pnpm add x;pnpm audit;pnpm dlx x;yarn add x;yarn;bun add x;bunx x;npm ping;npm --prefix . ci;deno add x"},
	{".npmrc", "@a:registry=//@/x", "npm ci;pnpm i;bun install;cnpm ci"},
	{".npmrc", "//@/:_authToken=${NPM_TOKEN}", "npm ci;npm view x;npm ls;npm test;npm run build;pnpm i"},
	{"package.json", `{"publishConfig": {"registry": "https://@/"}}`, "npm publish;npm publish --access public;pnpm publish;yarn publish;yarn npm publish;bun publish;npm unpublish x;npm dist-tag add x y"},
	{"pnpm-workspace.yaml", "registry: https://@", "pnpm install;pnpm add x"},
	{".yarnrc.yml", "npmRegistryServer: 'https://@'", "yarn;yarn install;yarn add x;yarn npm audit;yarn npm publish;yarn up;yarn dlx x"},
	{".yarnrc", "registry \"https://@\"", "yarn;yarn install;yarn add x;yarn audit;yarn info x"},
	{"bunfig.toml", "[install]\nregistry = \"https://@\"", "bun install;bun add x;bun update;bunx x;bun outdated"},
	{".cargo/config.toml", "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"https://@\"", "cargo build;cargo fetch;cargo add x;cargo search x;cargo test;cargo update;cargo publish;cargo install x;cargo info x;cargo +nightly check"},
	{".cargo/config", "[registries]\nx.index = \"https://@\"", "cargo build;cargo check;cargo search x"},
	{".venv/pip.conf", "[global]\nindex-url: https://@", "pip install x;pip3 install x;python -m pip install x;pip download x;pip index versions x;pip wheel x;pip list --outdated;python3 -m pip index versions x"},
	{"requirements.txt", "-i https://@", "pip install -r requirements.txt;pip install -rrequirements.txt;pip install --requirement=requirements.txt;pip install -c requirements.txt x;uv pip install -r requirements.txt;uv pip sync requirements.txt;uv add -r requirements.txt"},
	{"pyproject.toml", "[[tool.uv.index]]\nurl = \"https://@\"", "uv sync;uv add x;uv lock;uv run pytest;uv pip install x;uvx x;uv tool install x"},
	{"uv.toml", "extra-index-url = [\"https://@\"]", "uv sync;uv pip install x"},
	{"pyproject.toml", "[[tool.poetry.source]]\nurl = \"https://@\"", "poetry install;poetry add x;poetry lock;poetry update;poetry publish;poetry search x;poetry show --latest"},
	{"Pipfile", "[[source]]\nurl = \"https://@\"", "pipenv install;pipenv lock"},
	{"pyproject.toml", "[[tool.pdm.source]]\nurl = \"https://@\"", "pdm install;pdm add x"},
	{"Gemfile", "source \"https://@\"", "bundle install;bundle update;bundle add x;bundle outdated;bundle"},
	{".bundle/config", "BUNDLE_MIRROR__ALL: https://@", "bundle install;bundle update"},
	{"nuget.config", "<configuration><packageSources><add key=\"x\" value=\"https://@/v3\"/></packageSources></configuration>", "dotnet restore;dotnet build;dotnet test;dotnet add package x;dotnet nuget push x;nuget install x;nuget restore"},
}

// TestHostsOfProjects checks, for each file and each command that obeys it, that a rule for
// the program covers the command without the file and with a public host, and not with
// another, wherever the file lies; nor does the command run without a rule.
func TestHostsOfProjects(t *testing.T) {
	public := map[string]string{".npmrc": "registry.npmjs.org", ".cargo": "index.crates.io", "nuget.config": "api.nuget.org", "Gemfile": "rubygems.org"}
	for _, f := range hostFiles {
		top := project(t)
		sub := filepath.Join(top, "home/w/sub")
		if f.name == "requirements.txt" {
			sub = filepath.Join(top, "home/w")
		}
		for _, host := range []string{"", "a.example", "10.0.0.1", "localhost:4873", public[f.name]} {
			layFile(t, filepath.Join(top, "home/w", f.name), strings.ReplaceAll(f.text, "@", host), host != "")
			for line := range strings.SplitSeq(f.commands, ";") {
				words := strings.Fields(line)
				rule := "Bash(" + words[0] + ":*)"
				if words[0] == "python" || words[0] == "python3" {
					rule = "Bash(" + strings.Join(words[:3], " ") + ":*)"
				}
				free := decidedIn(t, top, sub, line+" --", "")
				d := decidedIn(t, top, sub, line, rule)
				names := host != "" && host != public[f.name]
				short, _, _ := strings.Cut(host, ":")
				switch {
				case names && (d.Behavior == permission.Allow || free.Behavior == permission.Allow):
					t.Errorf("%q with %s for %s is allowed", line, f.name, host)
				case names && !strings.Contains(d.Reason, short+", which "+f.name+" names"):
					t.Errorf("%q with %s for %s: %s", line, f.name, host, d.Reason)
				case !names && strings.Contains(d.Reason, "which "+f.name):
					t.Errorf("%q with %s for %q: %s", line, f.name, host, d.Reason)
				}
			}
		}
	}
}

// TestHostsBelow checks that the files of a project that words name count where the program
// looks for them there.
func TestHostsBelow(t *testing.T) {
	top := project(t)
	layFile(t, filepath.Join(top, "home/w/sub/nuget.config"), `<configuration><packageSources><add key="x" value="https://a.example"/></packageSources></configuration>`, true)
	layFile(t, filepath.Join(top, "home/w/sub/package.json"), `{"publishConfig": {"registry": "https://a.example"}}`, true)
	for line, names := range map[string]bool{
		"dotnet build sub/x.csproj": true, "dotnet test sub": true, "dotnet run --project sub": true, "dotnet add ./sub package x": true, "dotnet build": false, "dotnet build other": false,
		"npm publish ./sub": true, "npm publish": false,
	} {
		d := decidedIn(t, top, filepath.Join(top, "home/w"), line, "Bash("+strings.Fields(line)[0]+":*)")
		if names != strings.Contains(d.Reason, "a.example, which sub/") {
			t.Errorf("%q: %s", line, d.Reason)
		}
	}
}

// TestHostsOfEverydayProjects checks that what honest projects have makes nothing asked.
func TestHostsOfEverydayProjects(t *testing.T) {
	top := project(t)
	for name, text := range map[string]string{
		".npmrc":              "save-exact=true\nengine-strict=true\nlegacy-peer-deps=true\npublic-hoist-pattern[]=*eslint*\nmessage=\"chore: %s\"\nregistry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n",
		"pnpm-workspace.yaml": "packages:\n  - packages/*\n  - '!**/test/**'\ncatalog:\n  react: ^18\nonlyBuiltDependencies:\n  - esbuild\n",
		".yarnrc.yml":         "nodeLinker: node-modules\nyarnPath: .yarn/releases/yarn-4.5.0.cjs\nenableTelemetry: false\n",
		"bunfig.toml":         "[install]\nexact = true\n[test]\npreload = ['./x.ts']\n",
		".cargo/config.toml":  "[build]\nrustflags = ['-C', 'target-cpu=native']\n[target.x86_64-unknown-linux-gnu]\nlinker = 'clang'\n[alias]\nxtask = 'run -p xtask --'\n[net]\ngit-fetch-with-cli = true\n[registries.crates-io]\nprotocol = 'sparse'\n[env]\nX = 'https://x.example'\n",
		"pyproject.toml":      "[project]\nname = 'x'\nurls = {Home = 'https://x.example'}\ndependencies = ['y @ git+https://github.com/x/y']\n[tool.uv]\ndev-dependencies = ['z @ https://z.example/z.whl']\n[tool.uv.sources]\ny = {git = 'https://github.com/x/y'}\n[tool.poetry]\nrepository = 'https://x.example'\n[tool.ruff]\nline-length = 100\n",
		"requirements.txt":    "requests==2\n-r dev.txt\n-e .\ny @ git+https://github.com/x/y\n--hash=sha256:1\n",
		"Gemfile":             "source 'https://rubygems.org'\ngit_source(:github) { |r| \"https://github.com/#{r}\" }\ngem 'x', git: 'https://github.com/x/x'\ngem 'source_map', '~> 1'\n",
		"nuget.config":        "<configuration><packageSources><clear /><add key=\"nuget.org\" value=\"https://api.nuget.org/v3/index.json\" protocolVersion=\"3\" /><add key=\"l\" value=\"./packages\" /></packageSources><packageSourceMapping><packageSource key=\"nuget.org\"><package pattern=\"*\" /></packageSource></packageSourceMapping></configuration>",
	} {
		layFile(t, filepath.Join(top, "home/w", name), text, true)
	}
	lines := map[string]bool{}
	for _, f := range hostFiles {
		for line := range strings.SplitSeq(f.commands, ";") {
			lines[line] = true
		}
	}
	for _, line := range append(slices.Sorted(maps.Keys(lines)), "npm test", "pnpm lint", "yarn build", "bundle exec rspec", "poetry run x", "cargo fmt") {
		if d := decidedIn(t, top, filepath.Join(top, "home/w"), line, "Bash("+strings.Fields(line)[0]+":*)"); strings.Contains(d.Reason, "would ask") || strings.Contains(d.Reason, "would send") || strings.Contains(d.Reason, "any host") {
			t.Errorf("%q: %s", line, d.Reason)
		}
	}
}

func project(t *testing.T) (top string) {
	t.Helper()
	for _, name := range []string{"VIRTUAL_ENV", "PIP_CONFIG_FILE", "CARGO_HOME", "XDG_CONFIG_HOME", "NPM_CONFIG_USERCONFIG"} {
		t.Setenv(name, "")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.MkdirAll(filepath.Join(top, "home/w/sub"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func layFile(t *testing.T, name, text string, there bool) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	switch {
	case err == nil && there:
		err = os.WriteFile(name, []byte(text), 0o600)
	case err == nil:
		err = os.RemoveAll(name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// decidedIn decides a line in a directory under one rule.
func decidedIn(t *testing.T, top, dir, line, rule string) permission.Decision {
	t.Helper()
	where := patterns.Place{Workspace: filepath.Join(top, "home/w"), Home: filepath.Join(top, "home")}
	spec := &Spec{}
	if rule != "" {
		spec.Allow = []Item{{Text: rule}}
	}
	compiled, session, _, err := spec.Compile(where)
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	use := permission.ToolUse{Tool: "Bash", Input: input, Dir: dir}
	return permission.Evaluate(compiled, session, &use, workspace.Env{Place: where}, nil)
}
