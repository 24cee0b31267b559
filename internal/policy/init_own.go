package policy

import (
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// removes are words in the text of a script that removes files. A name says less:
// clean-data makes data, and what removes has to say it.
var removes = []string{"rm", "rimraf", "del", "clean"}

// scripts are the scripts or targets of a project by their names: the text that it runs, in which the
// targets that it depends on stand too.
type scripts map[string]string

// add adds to the text of a script.
func (s scripts) add(name, text string) { s[name] += " " + text }

// plain returns the names, sorted, of those scripts of which neither the name nor
// the text has a word that is outward, nor those that it runs. Others are the
// names of the rest. A name that a rule cannot hold, or that a command line has to
// quote, is in neither.
func (s scripts) plain() (names, others []string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		switch {
		case !scriptName.MatchString(name):
		case s.stays(name, map[string]bool{}):
			names = append(names, name)
		default:
			others = append(others, name)
		}
	}
	return names, others
}

// rules returns rules for the scripts, those that stay and those that do not, where
// each is run by the given words.
func (s scripts) rules(run, further string) own {
	var o own
	names, others := s.plain()
	for _, name := range names {
		o.allow = append(o.allow, run+name+further)
	}
	for _, name := range others {
		if s.outward(name) {
			o.ask = append(o.ask, run+name+":*")
		}
	}
	return o
}

func (s scripts) stays(name string, seen map[string]bool) bool {
	if seen[name] {
		return true
	}
	seen[name] = true
	text := s[name]
	if s.outward(name) || program.HasWord(text, removes) || slices.Contains(removes, name) {
		return false
	}
	for _, word := range strings.FieldsFunc(text, notTarget) {
		if _, ok := s[word]; ok && !s.stays(word, seen) {
			return false
		}
	}
	return true
}

// outward reports whether the name of a script or its own text has such a word.
func (s scripts) outward(name string) bool { return program.IsOutward(name + " " + s[name]) }

func notLetter(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func notTarget(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"$,[]", r) }

// notPackage separates the names of packages in a file.
func notPackage(r rune) bool { return notLetter(r) && !strings.ContainsRune("-_@/", r) }

// scriptName matches names that a rule can hold and a command line needs not
// quote.
var scriptName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9:_.-]*$`)

var target = lazyregexp.New(`(?m)^([A-Za-z0-9][A-Za-z0-9_.-]*)[ \t]*:([^=\n].*)?$((?:\n\t.*)*)`)

// makeTargets returns rules for the targets of the Makefile. They are exact:
// further words are further targets.
func makeTargets(project fs.FS) own {
	all := scripts{}
	for _, m := range target.FindAllSubmatch(projectFile(project, "GNUmakefile", "makefile", "Makefile"), -1) {
		all.add(string(m[1]), string(m[2])+" "+string(m[3]))
	}
	return all.rules("make ", "")
}

var recipe = lazyregexp.New(`(?m)^@?([A-Za-z0-9][A-Za-z0-9_-]*)([^:=\n]*):([^=\n].*)?$((?:\n[ \t]+.*)*)`)

// justRecipes returns rules for the recipes of the justfile, which are exact as
// those of make.
func justRecipes(project fs.FS) own {
	all := scripts{}
	for _, m := range recipe.FindAllSubmatch(projectFile(project, "justfile", "Justfile", ".justfile"), -1) {
		all.add(string(m[1]), string(m[3])+" "+string(m[4]))
	}
	return all.rules("just ", "")
}

// entry matches a key of TOML: fmt = "gofmt -w .".
var entry = lazyregexp.New(`^(?:"([^"\n]+)"|([A-Za-z0-9_-]+))[ \t]*=(.*)`)

// tomlTasks returns the tasks of a file of mise or cargo-make.
func tomlTasks(text string) scripts {
	all := scripts{}
	name, inTasks := "", false
	for line := range strings.Lines(text) {
		if head := strings.TrimSpace(line); strings.HasPrefix(head, "[") && strings.HasSuffix(head, "]") {
			name, inTasks = "", head == "[tasks]"
			if rest, ok := strings.CutPrefix(head, "[tasks."); ok {
				name = strings.Trim(strings.TrimSuffix(rest, "]"), `"'`)
				all.add(name, "")
				continue
			}
		}
		switch m := entry.FindStringSubmatch(line); {
		case name != "":
			all.add(name, line)
		case inTasks && m != nil:
			all.add(m[1]+m[2], m[3])
		}
	}
	return all
}

// miseTasks returns rules for the tasks of mise.toml and those that are files
// (mise.jdx.dev/tasks).
func miseTasks(project fs.FS) own {
	all := tomlTasks(string(projectFile(project, "mise.toml", ".mise.toml")))
	for _, dir := range []string{"mise-tasks", ".mise-tasks", "mise/tasks", ".mise/tasks", ".config/mise/tasks"} {
		names, err := fs.Glob(project, dir+"/*")
		if err != nil {
			continue
		}
		for _, name := range names[:min(len(names), maxManifests)] {
			if text := projectFile(project, name); text != nil {
				all.add(strings.TrimSuffix(path.Base(name), path.Ext(name)), string(text))
			}
		}
	}
	o := all.rules("mise run ", ":*")
	o.allow = append(o.allow, "mise tasks", "mise ls")
	o.ask = append(o.ask, "mise run * ::: *", "mise install:*", "mise use:*") // ::: begins a further task
	return o
}

// cargoTasks returns rules for the tasks of cargo-make, and for the programs and
// examples of the package.
func cargoTasks(project fs.FS) own {
	o := tomlTasks(string(projectFile(project, "Makefile.toml"))).rules("cargo make ", ":*")
	for _, kind := range []struct{ pattern, option string }{{"src/bin/*.rs", "--bin "}, {"examples/*.rs", "--example "}} {
		names, err := fs.Glob(project, kind.pattern)
		if err != nil {
			continue
		}
		for _, name := range names[:min(len(names), maxPackages)] {
			if name = strings.TrimSuffix(path.Base(name), ".rs"); scriptName.MatchString(name) {
				o.allow = append(o.allow, "cargo run "+kind.option+name)
			}
		}
	}
	return o
}

// denoTasks returns rules for the tasks of Deno.
func denoTasks(project fs.FS) own {
	var m struct{ Tasks map[string]any }
	all := scripts{}
	if json.Unmarshal(projectFile(project, "deno.json"), &m) == nil {
		for name, task := range m.Tasks {
			text, err := json.Marshal(task)
			if err == nil {
				all.add(name, string(text))
			}
		}
	}
	return all.rules("deno task ", ":*")
}

// manifest is what is read of a package.json.
type manifest struct {
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]any    `json:"dependencies"`
	DevDependencies map[string]any    `json:"devDependencies"`
	PackageManager  string            `json:"packageManager"`
}

// manifests returns the package.json of the project and of the packages in it.
func manifests(project fs.FS) []manifest {
	var all []manifest
	for _, pattern := range []string{"package.json", "*/package.json", "*/*/package.json"} {
		names, err := fs.Glob(project, pattern)
		if err != nil {
			continue
		}
		for _, name := range names[:min(len(names), maxManifests)] {
			var m manifest
			if path.Dir(name) != "node_modules" && !strings.HasPrefix(name, "node_modules/") && json.Unmarshal(projectFile(project, name), &m) == nil {
				all = append(all, m)
			}
		}
	}
	return all
}

// maxManifests is the maximum number of packages at one depth that are looked at.
const maxManifests = 200

// packageManagers returns the programs to which the project's lock files belong,
// or that which package.json names, by default npm.
func packageManagers(project fs.FS, all []manifest) []string {
	var found []string
	for _, lock := range []struct{ file, program string }{
		{"package-lock.json", "npm"}, {"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"},
	} {
		if exists(project, lock.file) {
			found = append(found, lock.program)
		}
	}
	if len(found) == 0 && len(all) > 0 {
		name, _, _ := strings.Cut(all[0].PackageManager, "@")
		if _, known := managers[name]; known {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return []string{"npm"}
	}
	return once(found)
}

// managers are the package managers: how a program of a package is run, what
// looks at the packages, and what installs.
var managers = map[string]struct {
	exec       []string
	looks, ask []string
}{
	"npm": {exec: []string{"npx "}, looks: []string{"npm audit", "npm -v"}, ask: []string{"npm install:*", "npm ci:*", "npm publish:*"}},
	"pnpm": {
		exec: []string{"npx ", "pnpm "}, looks: []string{"pnpm exec:*", "pnpm ls:*", "pnpm list:*", "pnpm why:*", "pnpm outdated:*", "pnpm audit:*", "pnpm -v"},
		ask: []string{"pnpm install:*", "pnpm add:*", "pnpm up:*", "pnpm publish:*"},
	},
	"yarn": {exec: []string{"npx ", "yarn "}, looks: []string{"yarn exec:*", "yarn why:*", "yarn list:*", "yarn -v"}, ask: []string{"yarn install:*", "yarn add:*", "yarn publish:*"}},
	"bun":  {exec: []string{"bunx ", "bun x "}, looks: []string{"bun test:*", "bun pm ls:*"}, ask: []string{"bun install:*", "bun add:*", "bun publish:*"}},
}

// nodeTools are packages that bring along programs that build, test or check: the
// words behind which anything may stand.
var nodeTools = map[string][]string{
	"typescript": {"tsc"}, "vitest": {"vitest"}, "jest": {"jest"}, "mocha": {"mocha"}, "ava": {"ava"}, "c8": {"c8"}, "nyc": {"nyc"},
	"eslint": {"eslint"}, "prettier": {"prettier"}, "stylelint": {"stylelint"}, "oxlint": {"oxlint"}, "@biomejs/biome": {"biome"}, "knip": {"knip"},
	"markdownlint-cli2": {"markdownlint-cli2"}, "markdownlint-cli": {"markdownlint"}, "vue-tsc": {"vue-tsc"}, "svelte-check": {"svelte-check"},
	"@playwright/test": {"playwright test"}, "cypress": {"cypress run"}, "turbo": {"turbo run"}, "nx": {"nx run", "nx affected", "nx graph"},
	"vite": {"vite"}, "vitepress": {"vitepress"}, "tsup": {"tsup"}, "tsx": {"tsx"}, "ts-node": {"ts-node"}, "esbuild": {"esbuild"}, "rollup": {"rollup"},
	"webpack": {"webpack"}, "next": {"next build", "next lint", "next dev"}, "astro": {"astro check", "astro build"}, "storybook": {"storybook dev"},
	"prisma": {"prisma generate", "prisma validate", "prisma format"}, "drizzle-kit": {"drizzle-kit generate", "drizzle-kit check"},
}

// javaScript returns rules for the scripts of the packages, for files run by node,
// and for the tools that the packages depend on.
func javaScript(project fs.FS) own {
	all, found := scripts{}, manifests(project)
	var o own
	var tools []string
	for _, m := range found {
		for name, text := range m.Scripts {
			all.add(name, text)
		}
		for _, depends := range []map[string]any{m.Dependencies, m.DevDependencies} {
			for name := range depends {
				tools = append(tools, nodeTools[name]...)
				o.hosts = append(o.hosts, nodeDocs[name])
			}
		}
	}
	tools = distinct(tools)
	programs := packageManagers(project, found)
	for _, program := range programs {
		byName := all.rules(program+" run ", ":*")
		o.allow, o.ask = append(o.allow, byName.allow...), slices.Concat(o.ask, byName.ask, managers[program].ask)
	}
	o.allow = append(o.allow, files("node", ".js", ".mjs", ".cjs", ".ts")...)
	o.allow = append(o.allow, "node -v")
	for _, tool := range tools {
		o.allow = append(o.allow, tool+":*")
		for _, program := range programs {
			for _, exec := range managers[program].exec {
				o.allow = append(o.allow, exec+tool+":*")
			}
		}
	}
	for _, program := range programs {
		o.allow = append(o.allow, managers[program].looks...)
	}
	return o
}

// nodeDocs and pythonDocs are the hosts with the documentation of packages.
var (
	nodeDocs = map[string]string{
		"typescript": "www.typescriptlang.org", "vitest": "vitest.dev", "vite": "vite.dev", "react": "react.dev", "next": "nextjs.org", "vue": "vuejs.org", "svelte": "svelte.dev",
		"jest": "jestjs.io", "eslint": "eslint.org", "prettier": "prettier.io", "@playwright/test": "playwright.dev", "prisma": "www.prisma.io", "turbo": "turborepo.com",
		"@tanstack/react-query": "tanstack.com", "express": "expressjs.com", "fastify": "fastify.dev", "vitepress": "vitepress.dev", "tailwindcss": "tailwindcss.com",
	}
	pythonDocs = map[string]string{
		"pytest": "docs.pytest.org", "fastapi": "fastapi.tiangolo.com", "uvicorn": "www.uvicorn.org", "sqlalchemy": "docs.sqlalchemy.org", "alembic": "alembic.sqlalchemy.org",
		"pydantic": "docs.pydantic.dev", "pydantic-settings": "docs.pydantic.dev", "torch": "pytorch.org", "django": "docs.djangoproject.com", "flask": "flask.palletsprojects.com",
		"numpy": "numpy.org", "pandas": "pandas.pydata.org", "ruff": "docs.astral.sh", "mypy": "mypy.readthedocs.io", "httpx": "www.python-httpx.org",
	}
)

// files returns rules for an interpreter with a file of the project, by the
// extensions of its language. A rule for the interpreter alone would cover what it
// reads from its standard input, too.
func files(interpreter string, extensions ...string) []string {
	var rules []string
	for _, ext := range extensions {
		rules = append(rules, interpreter+" *"+ext+" *")
	}
	return rules
}

// pythonTools are programs that test and check a project in Python, whether or not
// it names them; pythonNamed are those of packages that it names.
var (
	pythonTools = []string{"source .venv/bin/activate", "pytest:*", "ruff check:*", "ruff format:*", "mypy:*", "pyright:*", "black:*", "isort:*", "coverage run -m pytest:*", "coverage report:*", "coverage html:*"}
	pythonNamed = map[string][]string{
		"flake8": {"flake8:*"}, "pylint": {"pylint:*"}, "tox": {"tox:*"}, "nox": {"nox:*"}, "bandit": {"bandit:*"}, "ty": {"ty check:*"},
		"uvicorn": {"uvicorn:*"}, "fastapi": {"fastapi dev:*", "uvicorn:*"}, "flask": {"flask run:*", "flask routes"}, "pre-commit": {"pre-commit run:*"},
		"jupyter": {"jupyter nbconvert:*"}, "notebook": {"jupyter nbconvert:*"}, "nbstripout": {"nbstripout:*"}, "mkdocs": {"mkdocs build:*", "mkdocs serve:*"}, "sphinx": {"sphinx-build:*"},
		"alembic": {"alembic current:*", "alembic history:*", "alembic heads:*", "alembic check:*", "alembic revision:*"},
		"django":  {"python manage.py test:*", "python manage.py check:*", "python manage.py runserver:*", "python manage.py makemigrations:*"},
		"mlflow":  {"mlflow ui:*"}, "tensorboard": {"tensorboard:*"},
	}
	pythonAsks = map[string][]string{
		"alembic": {"alembic upgrade:*", "alembic downgrade:*", "alembic stamp:*"}, "django": {"python manage.py migrate:*", "python manage.py flush:*"}, "twine": {"twine upload:*"},
	}
)

// pythonRunners are programs that run others in the project's environment, by
// their lock files. What they run needs a rule of its own.
var pythonRunners = []struct {
	lock, run string
	ask       []string
}{
	{"uv.lock", "uv run:*", []string{"uv add:*", "uv sync:*", "uv run --with:*", "uv publish:*"}},
	{"poetry.lock", "poetry run:*", []string{"poetry add:*", "poetry install:*", "poetry publish:*"}},
	{"pdm.lock", "pdm run:*", []string{"pdm add:*", "pdm install:*", "pdm publish:*"}},
	{"Pipfile.lock", "pipenv run:*", []string{"pipenv install:*"}},
}

// python returns rules for files and modules, for tools, and for the documentation
// of what the project depends on.
func python(project fs.FS) own {
	var o own
	for _, interpreter := range []string{"python", "python3"} {
		o.allow = append(o.allow, files(interpreter, ".py")...)
		for _, module := range []string{"pytest", "unittest", "json.tool"} {
			o.allow = append(o.allow, interpreter+" -m "+module+":*")
		}
		for _, dir := range packages(project) {
			o.allow = append(o.allow, interpreter+" -m "+dir+".*")
		}
		o.ask = append(o.ask, interpreter+" -m pip install:*")
	}
	o.allow, o.ask = append(o.allow, pythonTools...), append(o.ask, "pip install:*")
	for _, r := range pythonRunners {
		if exists(project, r.lock) {
			o.allow, o.ask = append(o.allow, r.run), append(o.ask, r.ask...)
		}
	}
	for _, name := range pythonNames(project) {
		o.allow, o.ask = append(o.allow, pythonNamed[name]...), append(o.ask, pythonAsks[name]...)
		o.hosts = append(o.hosts, pythonDocs[name])
	}
	return o
}

// pythonNames returns the names in the files that say what the project depends on.
func pythonNames(project fs.FS) []string {
	text := string(projectFile(project, "pyproject.toml"))
	for _, pattern := range []string{"requirements*.txt", "setup.cfg", "setup.py", "Pipfile", "*/pyproject.toml"} {
		names, err := fs.Glob(project, pattern)
		if err != nil {
			continue
		}
		for _, name := range names[:min(len(names), maxPackages)] {
			text += "\n" + string(projectFile(project, name))
		}
	}
	names := distinct(strings.FieldsFunc(strings.ToLower(text), notPackage))
	for _, file := range []struct{ mark, name string }{{"alembic.ini", "alembic"}, {"manage.py", "django"}, {"*.ipynb", "jupyter"}, {"*/*.ipynb", "jupyter"}, {"*/*.ipynb", "nbstripout"}} {
		if exists(project, file.mark) {
			names = append(names, file.name)
		}
	}
	return distinct(names)
}

// packages returns the directories at the top of the project that hold files of
// Python, beside its tests, or those that usually do.
func packages(project fs.FS) []string {
	var dirs []string
	for _, pattern := range []string{"*/*.py", "*/*/*.py"} {
		names, err := fs.Glob(project, pattern)
		if err != nil {
			continue
		}
		for _, name := range names {
			if dir, _, _ := strings.Cut(name, "/"); packageName.MatchString(dir) && dir != "tests" {
				dirs = append(dirs, dir)
			}
		}
	}
	if dirs = distinct(dirs); dirs == nil {
		return []string{"src", "app"}
	}
	return dirs[:min(len(dirs), maxPackages)]
}

// maxPackages is the maximum number of packages that a policy names.
const maxPackages = 12

var packageName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ruby returns rules for what the Gemfile names.
func ruby(project fs.FS) own {
	o := own{allow: append(files("ruby", ".rb"), "bundle list", "bundle outdated", "bundle show:*")}
	names := strings.FieldsFunc(string(projectFile(project, "Gemfile"))+" "+string(projectFile(project, "Gemfile.lock")), notPackage)
	tool := func(words string) {
		o.allow = append(o.allow, words+":*", "bundle exec "+words+":*")
	}
	for _, gem := range []struct{ name, words string }{{"rspec", "rspec"}, {"rspec-rails", "rspec"}, {"rubocop", "rubocop"}, {"standard", "standardrb"}, {"sorbet", "srb tc"}, {"brakeman", "brakeman"}} {
		if slices.Contains(names, gem.name) {
			tool(gem.words)
		}
	}
	if exists(project, "Rakefile") {
		tool("rake test")
		tool("rake spec")
	}
	if slices.Contains(names, "rails") {
		o.allow = append(o.allow, "bin/rails test:*", "bin/rails routes:*", "bin/rails server:*", "bin/rails zeitwerk:check")
		o.ask, o.hosts = append(o.ask, "bin/rails db*", "bin/rails credentials*"), append(o.hosts, "guides.rubyonrails.org", "api.rubyonrails.org")
	}
	o.allow = once(o.allow)
	return o
}

// phpTools are the programs of packages that test and check.
var phpTools = []struct{ name, program string }{
	{"phpunit/phpunit", "phpunit"}, {"pestphp/pest", "pest"}, {"phpstan/phpstan", "phpstan analyse"}, {"larastan/larastan", "phpstan analyse"},
	{"laravel/pint", "pint"}, {"friendsofphp/php-cs-fixer", "php-cs-fixer"}, {"vimeo/psalm", "psalm"}, {"squizlabs/php_codesniffer", "phpcs"},
}

// php returns rules for the scripts and the tools of composer.json.
func php(project fs.FS) own {
	var m struct {
		Scripts    map[string]any
		Require    map[string]any
		RequireDev map[string]any `json:"require-dev"`
	}
	all := scripts{}
	if err := json.Unmarshal(projectFile(project, "composer.json"), &m); err != nil {
		m.Scripts = nil
	}
	for name, script := range m.Scripts {
		if text, err := json.Marshal(script); err == nil && !strings.HasPrefix(name, "pre-") && !strings.HasPrefix(name, "post-") {
			all.add(name, string(text))
		}
	}
	o := all.rules("composer run ", ":*")
	o.allow = append(o.allow, files("php", ".php")...)
	o.allow = append(o.allow, "composer validate:*", "composer show:*")
	for _, tool := range phpTools {
		_, used := m.Require[tool.name]
		if _, dev := m.RequireDev[tool.name]; used || dev {
			o.allow = append(o.allow, "vendor/bin/"+tool.program+":*", "./vendor/bin/"+tool.program+":*")
		}
	}
	if exists(project, "artisan") {
		o.allow = append(o.allow, "php artisan test:*", "php artisan route:list:*", "php artisan about", "php artisan serve:*")
		o.ask, o.hosts = append(o.ask, "php artisan migrate*", "php artisan db*"), append(o.hosts, "laravel.com")
	}
	return o
}
