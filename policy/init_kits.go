package policy

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
)

// outward are words in the name or in the text of a script or target that does
// more than a starting policy lets run: what others get to see, what changes a
// database or another machine, what installs, and what removes.
var outward = []string{
	"publish", "deploy", "release", "push", "upload", "ship", "sync", "changeset", "twine", "semantic",
	"migrate", "migration", "migrations", "upgrade", "downgrade", "seed", "reset", "drop", "destroy", "apply", "prod", "production",
	"ssh", "scp", "rsync", "kubectl", "helm", "terraform", "pulumi", "aws", "gcloud", "az", "docker", "podman", "vercel", "netlify", "fly", "wrangler", "firebase", "heroku", "eas",
	"install", "uninstall", "setup", "bootstrap", "login", "sudo", "curl", "wget", "npx", "dlx", "uvx", "bunx",
	"rm", "rimraf", "del", "clean", "prune", "kill", "pkill",
}

// scripts are the scripts or targets of a project by their names: the text that it runs, in which the
// targets that it depends on stand too.
type scripts map[string]string

// plain returns the names, sorted, of those scripts of which neither the name nor
// the text has a word that is outward, nor those that it runs.
func (s scripts) plain() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if s.stays(name, map[string]bool{}) {
			names = append(names, name)
		}
	}
	return names
}

func (s scripts) stays(name string, seen map[string]bool) bool {
	if seen[name] {
		return true
	}
	seen[name] = true
	text := s[name]
	for _, word := range strings.FieldsFunc(name+" "+text, notLetter) {
		if slices.Contains(outward, strings.ToLower(word)) {
			return false
		}
	}
	for _, word := range strings.FieldsFunc(text, notTarget) {
		if _, ok := s[word]; ok && !s.stays(word, seen) {
			return false
		}
	}
	return true
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func notTarget(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"$", r) }

// scriptName matches names that a rule can hold and a command line needs not
// quote.
var scriptName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9:_.-]*$`)

var target = lazyregexp.New(`(?m)^([A-Za-z0-9][A-Za-z0-9_.-]*)[ \t]*:([^=\n].*)?$((?:\n\t.*)*)`)

// targets returns rules for the targets of the Makefile.
func targets(project fs.FS) []string {
	all := scripts{}
	for _, m := range target.FindAllSubmatch(projectFile(project, "GNUmakefile", "makefile", "Makefile"), -1) {
		all[string(m[1])] += string(m[2]) + " " + string(m[3])
	}
	var rules []string
	for _, name := range all.plain() {
		rules = append(rules, "make "+name)
	}
	return bash(rules)
}

// manifest is what is read of a package.json.
type manifest struct {
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]any    `json:"dependencies"`
	DevDependencies map[string]any    `json:"devDependencies"`
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

// packageManager returns the program to which the project's lock file belongs.
func packageManager(project fs.FS) string {
	program := "npm"
	for _, lock := range []struct{ file, program string }{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}} {
		if _, err := fs.Stat(project, lock.file); err == nil {
			program = lock.program
		}
	}
	return program
}

// nodeTools are packages that bring along programs that build, test or check: the
// words behind which anything may stand.
var nodeTools = map[string][]string{
	"typescript": {"tsc"}, "vitest": {"vitest"}, "jest": {"jest"}, "mocha": {"mocha"}, "ava": {"ava"}, "c8": {"c8"}, "nyc": {"nyc"},
	"eslint": {"eslint"}, "prettier": {"prettier"}, "stylelint": {"stylelint"}, "oxlint": {"oxlint"}, "@biomejs/biome": {"biome"}, "knip": {"knip"},
	"markdownlint-cli2": {"markdownlint-cli2"}, "markdownlint-cli": {"markdownlint"}, "vue-tsc": {"vue-tsc"}, "svelte-check": {"svelte-check"},
	"@playwright/test": {"playwright test"}, "cypress": {"cypress run"}, "turbo": {"turbo run"}, "vite": {"vite"}, "vitepress": {"vitepress"}, "tsup": {"tsup"},
	"tsx": {"tsx"}, "ts-node": {"ts-node"}, "esbuild": {"esbuild"}, "rollup": {"rollup"}, "webpack": {"webpack"}, "next": {"next build", "next lint", "next dev"},
	"astro": {"astro check", "astro build"}, "prisma": {"prisma generate", "prisma validate", "prisma format"},
}

// javaScript returns rules for the scripts of the packages, for files run by node,
// and for the tools that the packages depend on.
func javaScript(project fs.FS) []string {
	all, manager := scripts{}, packageManager(project)
	var tools, docs []string
	for _, m := range manifests(project) {
		for name, text := range m.Scripts {
			all[name] += " " + text
		}
		for _, depends := range []map[string]any{m.Dependencies, m.DevDependencies} {
			for name := range depends {
				tools = append(tools, nodeTools[name]...)
				docs = append(docs, nodeDocs[name])
			}
		}
	}
	rules := files("node", ".js", ".mjs", ".cjs", ".ts")
	for _, name := range all.plain() {
		if !scriptName.MatchString(name) {
			continue
		}
		rules = append(rules, fmt.Sprintf("%s run %s:*", manager, name))
	}
	if manager == "bun" {
		rules = append(rules, "bun test:*")
	}
	for _, tool := range distinct(tools) {
		rules = append(rules, tool+":*", "npx "+tool+":*")
		if manager != "npm" {
			rules = append(rules, manager+" "+tool+":*")
		}
	}
	rules = append(rules, runsLocal[manager]...)
	return append(bash(rules), fetches(append(docs, "developer.mozilla.org", "nodejs.org"))...)
}

// runsLocal are the commands of package managers that run a program of a package;
// the program needs a rule of its own.
var runsLocal = map[string][]string{
	"npm":  {"npm ls:*", "npm view:*", "npm outdated:*"},
	"pnpm": {"pnpm exec:*", "pnpm ls:*", "pnpm list:*", "pnpm why:*", "pnpm outdated:*", "pnpm audit"},
	"yarn": {"yarn exec:*", "yarn why:*", "yarn list:*"},
	"bun":  {"bun pm ls:*"},
}

// distinct returns the texts sorted, without empty ones and repetitions.
func distinct(texts []string) []string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" })
	slices.Sort(texts)
	return slices.Compact(texts)
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

// fetches returns rules for hosts.
func fetches(hosts []string) []string {
	var rules []string
	for _, host := range distinct(hosts) {
		rules = append(rules, "WebFetch("+host+")")
	}
	return rules
}

func goDocs(fs.FS) []string { return fetches([]string{"pkg.go.dev", "go.dev"}) }

// files returns rules for an interpreter with a file of the project, by the
// extensions of its language. A rule for the interpreter alone would cover what it
// reads from its standard input, too.
func files(interpreter string, extensions ...string) []string {
	var rules []string
	for _, ext := range extensions {
		rules = append(rules, interpreter+" *"+ext, interpreter+" *"+ext+" *")
	}
	return rules
}

// pythonTools are programs that run, test or check a project in Python. Of alembic
// and pip the rules name what only looks.
var pythonTools = []string{
	"pytest:*", "ruff check:*", "ruff format:*", "ruff --version", "mypy:*", "pyright:*", "black:*", "isort:*", "flake8:*", "pylint:*", "tox:*",
	"coverage run -m pytest:*", "coverage report:*", "coverage html:*", "coverage xml:*", "uvicorn:*", "fastapi dev:*", "flask run:*", "jupyter nbconvert:*", "nbstripout:*",
	"alembic current:*", "alembic history:*", "alembic heads:*", "alembic check:*", "pip list:*", "pip show:*", "pip freeze:*",
}

// python returns rules for files and modules, for tools, and for the documentation
// of what the project depends on.
func python(project fs.FS) []string {
	var rules []string
	for _, interpreter := range []string{"python", "python3"} {
		rules = append(rules, files(interpreter, ".py")...)
		for _, module := range []string{"pytest", "unittest", "json.tool", "mypy"} {
			rules = append(rules, interpreter+" -m "+module+":*")
		}
		for _, dir := range packages(project) {
			rules = append(rules, interpreter+" -m "+dir+".*")
		}
	}
	rules = append(rules, pythonTools...)
	for _, runner := range []struct{ file, rule string }{{"uv.lock", "uv run:*"}, {"poetry.lock", "poetry run:*"}, {"pdm.lock", "pdm run:*"}, {"Pipfile.lock", "pipenv run:*"}} {
		if _, err := fs.Stat(project, runner.file); err == nil {
			rules = append(rules, runner.rule)
		}
	}
	var hosts []string
	for _, name := range strings.FieldsFunc(string(projectFile(project, "pyproject.toml"))+" "+string(projectFile(project, "requirements.txt")), notName) {
		hosts = append(hosts, pythonDocs[strings.ToLower(name)])
	}
	return append(bash(rules), fetches(append(hosts, "docs.python.org", "packaging.python.org"))...)
}

// packages returns the directories at the top of the project that hold files of
// Python, and those that usually do.
func packages(project fs.FS) []string {
	dirs := []string{"src", "app"}
	for _, pattern := range []string{"*/*.py", "*/*/*.py"} {
		names, err := fs.Glob(project, pattern)
		if err != nil {
			continue
		}
		for _, name := range names {
			if dir, _, _ := strings.Cut(name, "/"); packageName.MatchString(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	dirs = distinct(dirs)
	return dirs[:min(len(dirs), maxPackages)]
}

// maxPackages is the maximum number of packages that a policy names.
const maxPackages = 12

var packageName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
