package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/program/catalogfile"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// hostsIn returns what the files of a registry name for a program in w, a line each.
func hostsIn(t *testing.T, registry string, files map[string]string, further ...string) string {
	t.Helper()
	for _, r := range program.AllRegistries() {
		for _, row := range slices.Concat(r.Own, r.Files) {
			if name, _, _ := strings.Cut(row, " "); name[0] == '$' {
				name, _, _ = strings.Cut(name[1:], "/")
				t.Setenv(name, "")
			}
		}
	}
	top := layRepository(t, files)
	env := Env{Place: patterns.Place{Home: filepath.Join(top, "home"), Workspace: filepath.Join(top, "home/w")}}
	return hostLines(env.Hosts(program.RegistryOf(registry), filepath.Join(top, "home/w/sub"), further))
}

func hostLines(named []shell.Named, ok bool) string {
	if !ok {
		return "? " + named[0].File
	}
	var lines []string
	for _, n := range named {
		lines = append(lines, n.File+": "+n.Line())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// file is a file of the project.
func file(name, text string) map[string]string { return map[string]string{"home/w/" + name: text} }

func TestHosts(t *testing.T) {
	for _, tt := range []struct {
		about, registry string
		files           map[string]string
		want            string
	}{
		{"nothing", "npm", file("x", "registry=https://a.example"), ""},
		{"a registry", "npm", file(".npmrc", "registry=https://npm.a.example/x/"), ".npmrc: registry npm.a.example"},
		{"here", "npm", file("sub/.npmrc", "registry=https://npm.a.example"), "sub/.npmrc: registry npm.a.example"},
		{"of a scope", "npm", file(".npmrc", " @a:registry = \"https://u:p@npm.a.example:8080\" \r\n"), ".npmrc: @a:registry npm.a.example"},
		{"the public one", "npm", file(".npmrc", "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}"), ""},
		{"a token", "npm", file(".npmrc", "//a.example/:_authToken=${T}"), ".npmrc: //a.example/:_authToken a.example ${T}"},
		{"a token that is written out", "npm", file(".npmrc", "//a.example/:_authToken=abc"), ""},
		{"a token for whatever host", "npm", file(".npmrc", "_authToken=${T}"), ".npmrc: _authToken  ${T}"},
		{"a variable as the host", "npm", file(".npmrc", "registry=${R}"), ".npmrc: registry an unknown host ${R}"},
		{"a variable in the URL", "npm", file(".npmrc", "registry=https://a.example/${T}/"), ".npmrc: registry a.example ${T}"},
		{"a variable as the key", "npm", file(".npmrc", "${K}=https://registry.npmjs.org"), ".npmrc: ${K} an unknown host"},
		{"in capitals, in a section", "npm", file(".npmrc", "[x]\nREGISTRY=https://A.example"), ".npmrc: REGISTRY a.example"},
		{"a key in quotes", "npm", file(".npmrc", `"\u0072egistry"='https://a.example'`), ".npmrc: registry a.example"},
		{"behind a byte order mark", "npm", file(".npmrc", "\ufeffregistry=https://a.example"), ".npmrc: registry a.example"},
		{"without a scheme", "npm", file(".npmrc", "proxy=a.example:3128\nhttps-proxy=b"), ".npmrc: https-proxy b\n.npmrc: proxy a.example"},
		{"with slashes of another kind", "npm", file(".npmrc", `registry=https:\\a.example`), ".npmrc: registry a.example"},
		{"without slashes", "npm", file(".npmrc", "registry=https:a.example"), ".npmrc: registry a.example"},
		{"that looks like the public one", "npm", file(".npmrc", `registry=https://registry.npmjs.org\@a.example`), ".npmrc: registry an unknown host"},
		{"another file", "npm", file(".npmrc", "userconfig=./x"), ".npmrc: userconfig an unknown host"},
		{"no proxy", "npm", file(".npmrc", "noproxy=a.example"), ""},
		{"other settings", "npm", file(".npmrc", "save-exact=true\n; registry=https://a.example\nfund = false\ncache=${HOME}/x\nx"), ""},
		{"an unknown setting with a URL", "npm", file(".npmrc", "electron_mirror=https://a.example/"), ".npmrc: electron_mirror a.example"},
		{"a directory", "npm", map[string]string{"home/w/.npmrc/": ""}, "? .npmrc"},
		{"no text", "npm", file(".npmrc", "a\xff"), "? .npmrc"},
		{"the person's own", "npm", map[string]string{"home/w/.npmrc": "registry=https://a.example\n@x:registry=https://b.example", "home/.npmrc": "@y:registry=https://a.example"}, ".npmrc: @x:registry b.example"},
		{"of pnpm", "pnpm", file("pnpm-workspace.yaml", "packages: [a]\nregistries:\n  https://a.example/: {}\n  default: https://b.example\ncatalog:\n  x: https://c.example"), "pnpm-workspace.yaml: registries.default b.example\npnpm-workspace.yaml: registries.https://a.example/ a.example"},
		{"of yarn", "yarn", file(".yarnrc.yml", "npmRegistryServer: https://a.example\nnpmAuthToken: ${T}\nnpmScopes:\n  x: {npmRegistryServer: 'https://b.example'}"), ".yarnrc.yml: npmAuthToken  ${T}\n.yarnrc.yml: npmRegistryServer a.example\n.yarnrc.yml: npmScopes.x.npmRegistryServer b.example"},
		{"of yarn, a key that stands twice", "yarn", file(".yarnrc.yml", "a: 1\na: 2"), "? .yarnrc.yml"},
		{"of yarn, an anchor", "yarn", file(".yarnrc.yml", "a: &x https://a.example\nb: *x"), "? .yarnrc.yml"},
		{"of yarn 1", "yarn", file(".yarnrc", "# x\nregistry \"https://a.example\"\n\"@x:registry\" https://b.example\n--install.registry: https://c.example"), ".yarnrc: --install.registry c.example\n.yarnrc: @x:registry b.example\n.yarnrc: registry a.example"},
		{"of yarn 1, no setting", "yarn", file(".yarnrc", "x"), "? .yarnrc"},
		{"of bun", "bun", file("bunfig.toml", "preload = ['https://x.example']\n[install]\nregistry = {url = 'https://a.example', token = '$T'}\n[install.scopes]\n'@x' = 'https://b.example'"), "bunfig.toml: install.registry.token  $T\nbunfig.toml: install.registry.url a.example\nbunfig.toml: install.scopes.@x b.example"},
		{"of cargo", "cargo", file(".cargo/config.toml", "[build]\nrustc-wrapper = 'x'\n[env]\nU = 'https://x.example'\n[source.crates-io]\nreplace-with = 'm'\n[source.m]\nregistry = 'sparse+https://a.example/index/'\n[registries.c]\nindex = 'ssh://git@b.example/x.git'"), ".cargo/config.toml: registries.c.index b.example\n.cargo/config.toml: source.m.registry a.example"},
		{"of cargo, the public one", "cargo", file(".cargo/config", "[registries.c]\nindex = 'https://github.com/rust-lang/crates.io-index'\n[source.v]\ndirectory='vendor'"), ""},
		{"of cargo, another at that host", "cargo", file(".cargo/config", "[registries.c]\nindex = 'https://github.com/x/crates.io-index'"), ".cargo/config: registries.c.index github.com"},
		{"of cargo, included", "cargo", file(".cargo/config.toml", "include = 'x.toml'"), ".cargo/config.toml: include an unknown host"},
		{"of cargo, not read", "cargo", file(".cargo/config.toml", "[x\n"), "? .cargo/config.toml"},
		{"of cargo, a proxy", "cargo", file(".cargo/config.toml", "http.proxy = 'a.example:1'"), ".cargo/config.toml: http.proxy a.example"},
		{"of pip, in its environment", "pip", file(".venv/pip.conf", "[global]\nextra_index_url =\n  https://a.example/simple\n  https://b.example\n"), ".venv/pip.conf: extra-index-url a.example\n.venv/pip.conf: extra-index-url b.example"},
		{"of pip, where it does not look", "pip", file("pip.conf", "[global]\nindex-url=https://a.example"), ""},
		{"of uv", "uv", file("pyproject.toml", "[project]\nurls = {Home = 'https://x.example'}\n[[tool.uv.index]]\nname = 'x'\nurl = 'https://a.example'\n[tool.uv.sources]\ny = {git = 'https://y.example'}\n[[tool.poetry.source]]\nurl = 'https://z.example'"), "pyproject.toml: tool.uv.index.url a.example"},
		{"of uv, in its file", "uv", file("uv.toml", "index-url = 'https://a.example'\n"), "uv.toml: index-url a.example"},
		{"of poetry", "poetry", file("pyproject.toml", "[[tool.poetry.source]]\nname = 'x'\nurl = 'https://a.example'\n[tool.poetry.dependencies]\nx = {git = 'https://y.example'}"), "pyproject.toml: tool.poetry.source.url a.example"},
		{"of pipenv", "pdm", file("Pipfile", "[[source]]\nurl = 'https://${U}:${P}@a.example/simple'\n[packages]\nx = {git = 'https://y.example'}"), "Pipfile: source.url a.example ${U}"},
		{"of bundler", "bundle", file("Gemfile", "source 'https://rubygems.org'\ngem 'x', git: 'https://y.example'\nsource \"https://a.example\" do\nend\ngem 'z', :source => 'https://b.example'\n# source 'https://c.example'"), "Gemfile: source a.example\nGemfile: source b.example"},
		{"of bundler, code", "bundle", file("Gemfile", "source ENV['X']"), "Gemfile: source an unknown host ${ENV['X']}"},
		{"of bundler, a mirror", "bundle", file(".bundle/config", "---\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: \"https://a.example\"\nBUNDLE_JOBS: \"4\"\n"), ".bundle/config: BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/ a.example"},
		{"of NuGet", "nuget", file("NuGet.Config", "<?xml version=\"1.0\"?><configuration><packageSources><clear/><add key=\"nuget.org\" value=\"https://api.nuget.org/v3/index.json\"/><add key=\"x\" value=\"https://a.example\" protocolVersion=\"3\"/><add key=\"l\" value=\"./l\"/></packageSources><packageSourceCredentials><x><add key=\"ClearTextPassword\" value=\"%T%\"/></x></packageSourceCredentials></configuration>"), "NuGet.Config: configuration.packageSourceCredentials.x.ClearTextPassword  %T%\nNuGet.Config: configuration.packageSources.x a.example"},
		{"of NuGet, not closed", "nuget", file("nuget.config", "<configuration>"), "? nuget.config"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			if got := hostsIn(t, tt.registry, tt.files); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestHostsOfRequirements checks what files of requirements name, and those that they include.
func TestHostsOfRequirements(t *testing.T) {
	for text, want := range map[string]string{
		"x==1\n# --index-url https://a.example\ny @ https://y.example/y.whl": "",
		"-i https://a.example":                                          "sub/r.txt: i a.example",
		"-ihttps://a.example":                                           "sub/r.txt: i a.example",
		"--index-url=https://a.example  # x":                            "sub/r.txt: index-url a.example",
		"--index https://a.example":                                     "sub/r.txt: index-url a.example",
		"--extra-index-url \\\n  \"https://a.example/x\"":               "sub/r.txt: extra-index-url a.example",
		"-f https://a.example\n-f ./wheels\n-e git+https://y.example/y": "sub/r.txt: f a.example",
		"--trusted-host a.example":                                      "",
		"x @ https://a.example/${T}/x.whl":                              "sub/r.txt: requirement a.example ${T}",
		"-r ../s.txt":                                                   "s.txt: i b.example",
		"--req=../s.txt\n-c gone.txt":                                   "s.txt: i b.example",
		"-r https://a.example/r.txt":                                    "sub/r.txt: index-url a.example",
		"-r r.txt":                                                      "? sub/r.txt",
	} {
		files := map[string]string{"home/w/sub/r.txt": text, "home/w/s.txt": "-i https://b.example"}
		if text == "x @ https://a.example/${T}/x.whl" {
			delete(files, "home/w/s.txt")
		}
		if got := hostsIn(t, "pip", files, "r.txt"); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", text, got, want)
		}
	}
}

// TestHostsByEnvironment checks that a file which the environment names counts as the
// project's if it lies there, and else as the person's.
func TestHostsByEnvironment(t *testing.T) {
	top := layRepository(t, map[string]string{"w/pip.conf": "[global]\nindex-url=https://a.example", "my/pip.conf": "[global]\nindex-url=https://b.example", "w/.venv/pip.conf": "[global]\nextra-index-url=https://b.example"})
	env := Env{Place: patterns.Place{Home: filepath.Join(top, "home"), Workspace: filepath.Join(top, "w")}}
	for name, want := range map[string]string{
		"w/pip.conf":  ".venv/pip.conf: extra-index-url b.example\npip.conf: index-url a.example",
		"my/pip.conf": "",
	} {
		t.Setenv("PIP_CONFIG_FILE", filepath.Join(top, name))
		if got := hostLines(env.Hosts(program.RegistryOf("pip"), env.Place.Workspace, nil)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestHostsPinned checks that what a policy names, and a file that a person trusts, do not
// count.
func TestHostsPinned(t *testing.T) {
	top := layRepository(t, map[string]string{"w/.npmrc": "registry=https://a.example\n@b:registry=https://b.example"})
	path := filepath.Join(top, "w/.npmrc")
	lines, is, err := FileHosts(path)
	if want := "@b:registry b.example\nregistry a.example"; strings.Join(lines, "\n") != want || !is || err != nil {
		t.Fatalf("%q, %v, %v", lines, is, err)
	}
	if _, is, _ := FileHosts(filepath.Join(top, "w/x")); is {
		t.Error("x is a file of a registry")
	}
	hosts := func(p Pins) string {
		env := Env{Place: patterns.Place{Home: filepath.Join(top, "home"), Workspace: filepath.Join(top, "w")}, Pins: p}
		return hostLines(env.Hosts(program.RegistryOf("npm"), env.Place.Workspace, nil))
	}
	trusts := func(trusted []string) Pins {
		return Pins{File: func(name string, now []string) bool { return name == path && slices.Equal(now, trusted) }}
	}
	for want, p := range map[string]Pins{
		"": trusts(lines),
		".npmrc: @b:registry b.example\n.npmrc: registry a.example": trusts(lines[1:]),
		".npmrc: registry a.example":                                {Host: func(host string) bool { return host == "b.example" }},
	} {
		if got := hosts(p); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if err := os.Rename(path, filepath.Join(top, "w/real")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", path); err != nil {
		t.Fatal(err)
	}
	if got := hosts(trusts(lines)); got == "" {
		t.Error("a link is trusted")
	}
}

// samples has a file of each format, with @ for a host.
var samples = map[string]string{
	"ini": "a=1\nregistry=https://@/x\n", "cfg": "[global]\nindex-url = https://@/x\n", "xml": `<c><s><add key="k" value="https://@/x"/></s></c>`,
	"toml": "[registries.x]\nindex = \"https://@/x\"\n", "yaml": "npmRegistryServer: \"https://@/x\"\n", "yarnrc": "registry \"https://@/x\"\n",
	"gemfile": "source \"https://@/x\"\n", "json": `{"registry": "https://@/x"}`, requirements: "x==1\n--index-url https://@/x\n",
}

// TestHostsOfEveryFile checks for each file of each registry that it is found, and that each
// host in it but the public ones is told.
func TestHostsOfEveryFile(t *testing.T) {
	for _, format := range catalogfile.Formats {
		if samples[format] == "" {
			t.Errorf("there is no sample of %s", format)
		}
	}
	for _, r := range program.AllRegistries() {
		for _, text := range r.Files {
			f := parseRow(text)
			if f.name[0] == '$' {
				continue
			}
			sample := samples[f.format]
			if len(f.keys) > 0 {
				if sample = strings.ReplaceAll(sample, `"registry"`, `"publishConfig": {"registry"`) + "}"; f.format != "json" {
					sample = ""
				}
			}
			if sample == "" {
				sample = "[" + strings.TrimSuffix(f.keys[0], ".*") + "]\nindex.url = \"https://@/x\"\nregistry = \"https://@/x\"\nurl = \"https://@/x\"\n"
			}
			for _, host := range []string{"a.example", "127.0.0.1", "[::1]", "xn--bcher-kva.example", "localhost", "16843009"} {
				got := hostsIn(t, r.Name, file(f.name, strings.ReplaceAll(sample, "@", host)))
				if !strings.Contains(got, f.name+": ") || !strings.Contains(got, " "+host) {
					t.Errorf("%s, %s: %s is not told: %q", r.Name, f.name, host, got)
				}
			}
			public, _, _ := strings.Cut(r.Public[0], "/")
			if got := hostsIn(t, r.Name, file(f.name, strings.ReplaceAll(sample, "@", public))); got != "" {
				t.Errorf("%s, %s: the public host is told: %s", r.Name, f.name, got)
			}
		}
	}
}

// TestHostsAltered checks that a byte that is put in, left out or altered never hides a host
// that still stands in the file as before, whatever the format: it is told, or the file
// cannot be read.
func TestHostsAltered(t *testing.T) {
	alter := []string{"", "\"", "'", "#", "\\", "\n", "\t", " ", "=", ":", "[", "]", "{", "$", "%", "<", "&", "\ufeff", "\u00a0", "\u2028"}
	for _, r := range program.AllRegistries() {
		for _, row := range r.Files {
			f := parseRow(row)
			if len(f.keys) > 0 || f.name[0] == '$' {
				continue
			}
			text := strings.ReplaceAll(samples[f.format], "@", "a.example")
			start := strings.LastIndex(text, "https://")
			for at := range text {
				if at >= start && at <= start+len("https://a.example") {
					continue // the host itself
				}
				for i, with := range alter {
					rest := text[at:]
					if i == 0 { // left out, rather than put in
						rest = rest[1:]
					}
					altered := text[:at] + with + rest
					if hides(f.format, altered) {
						continue
					}
					settings, err := readSettings(f.format, []byte(altered), f.name)
					if err == nil && len(shell.NamedHosts(r, f.name, f.keys, settings)) == 0 {
						t.Errorf("%s, %s: %q names no host: %v", r.Name, f.name, altered, settings)
					}
				}
			}
		}
	}
}

// hides reports whether the programs do not take the host for that of a setting: it stands in
// a comment, or behind another word.
func hides(format, text string) bool {
	start := strings.LastIndex(text, "https")
	line := text[strings.LastIndexByte(text[:start], '\n')+1:]
	line, _, _ = strings.Cut(line, "\n")
	switch at := strings.IndexAny(line, "#;"); {
	case at >= 0 && at < strings.Index(line, "https"):
		return true
	case format == "gemfile":
		return !strings.Contains(line, "source") // is another method
	case format == requirements:
		return !strings.HasPrefix(strings.TrimSpace(line), "-")
	}
	return false
}

// BenchmarkHosts measures what a command costs that asks a registry in a directory five
// levels deep, with a .npmrc and without.
func BenchmarkHosts(b *testing.B) {
	for _, text := range []string{"", "save-exact=true\nregistry=https://registry.npmjs.org\n"} {
		b.Run(fmt.Sprintf("file=%v", text != ""), func(b *testing.B) {
			top := b.TempDir()
			dir := filepath.Join(top, "a/b/c/d/e")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			if text != "" {
				if err := os.WriteFile(filepath.Join(top, "a/.npmrc"), []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			env := Env{Place: patterns.Place{Home: top, Workspace: filepath.Join(top, "a")}}
			for b.Loop() {
				env.Hosts(program.RegistryOf("npm"), dir, nil)
			}
		})
	}
}
