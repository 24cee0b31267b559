package shell

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// npm handles settings that are commands, and scripts written by npm pkg set, which
// npm test runs from then on (npm-config(7), npm-pkg(1)).
func (e *effector) npm() {
	if len(e.scan.Path) == 0 {
		return
	}
	rest := e.operandWords(0)
	switch verb := e.words[e.subcommandAt()].Text; e.scan.Path[0] {
	case "run":
		e.envScript(rest)
		e.scriptWords(e.dashesAt())
	case "config":
		if verb != "set" && verb != "get" && len(rest) > 0 {
			verb, rest = rest[0].Text, rest[1:]
		}
		e.npmSetting(verb, rest)
	case "pkg":
		if len(rest) > 0 && rest[0].Text != "get" {
			e.write(Word{Text: "package.json"}, NeedCover, false, "npm pkg "+show(&rest[0]))
		}
	}
}

// envScript runs env with the words behind it, as npm run env and yarn run env do where
// the package has no script of that name: npm-run-script(1).
func (e *effector) envScript(rest []Word) {
	if len(rest) > 0 && rest[0].Known() && rest[0].Text == "env" {
		e.runList(rest, -1)
	}
}

// dashesAt returns the index of the word "--".
func (e *effector) dashesAt() int {
	for _, a := range e.scan.Args {
		if a.Kind == ArgDashes {
			return a.Word
		}
	}
	return len(e.words)
}

// scriptWords reads the words behind one that go to the program of a script of the package,
// which may run what they name. Those of paths in the workspace are its everyday work.
func (e *effector) scriptWords(at int) {
	option := ""
	for i := at + 1; i < len(e.words); i++ {
		w, before := e.words[i], option
		option = ""
		if strings.HasPrefix(w.Text, "-") {
			name, _, valued := strings.Cut(w.Text, "=")
			if option = name; !valued {
				continue
			}
			w, before, option = cutWord(w, len(name)+1), name, ""
		}
		if !testNames.has(before) && elsewhere(w.Text) {
			e.load(w, "an argument of the script")
		}
	}
}

// testNames are the options of runners of tests whose value is a text in names of tests.
var testNames = set("-t", "-g", "--grep", "--testNamePattern", "--test-name-pattern", "--testPathPattern", "--testPathPatterns")

// elsewhere reports whether a text is a path that does not begin in the directory, or an
// address from which interpreters load modules.
func elsewhere(text string) bool {
	if strings.HasPrefix(text, "./") || strings.HasPrefix(strings.ToLower(text), "http") {
		return strings.Contains(text, "/../")
	}
	return strings.HasPrefix(text, "..") || strings.Contains(text, "/../") || NamesFile(text) && !strings.HasPrefix(text, ".")
}

// npmSetting handles npm config VERB KEY VALUE, or KEY=VALUE.
func (e *effector) npmSetting(verb string, rest []Word) {
	switch verb {
	case "edit":
		e.apartLate(causeNpmEditor)
	case "set":
		e.npmWrite(!e.npmRuns(rest))
	case "delete", "rm", "fix":
		e.npmWrite(true)
	}
}

func (e *effector) npmWrite(harmless bool) {
	e.ownWrite(joinPath(known(e.w.opt.Home), Word{Text: ".npmrc"}), NeedNone, harmless, "settings of npm")
}

// npmRuns reports whether a setting is not known to be harmless.
func (e *effector) npmRuns(rest []Word) bool {
	for i := range rest {
		if (i == 0 || strings.Contains(rest[i].Text, "=")) && !harmlessSetting(e.prog, &rest[i]) {
			return true
		}
	}
	return false
}

// runner handles a name that is not a subcommand of pnpm, yarn or bun: a script of
// the package, a program of its dependencies or, with pnpm NAME and bun run NAME, any
// program on PATH (pnpm.io/pnpm-cli, bun.sh/docs/cli/run). Ask and deny rules see it
// as a program. One that is in the catalogue and is not a tool of such packages needs
// cover of its own.
func (e *effector) runner() {
	e.workspaces()
	if len(e.scan.Path) == 0 || e.scan.Path[0] == "run" {
		e.envScript(e.operandWords(0))
	}
	e.runnerScript()
	run := e.prog.Name == "bun" && len(e.scan.Path) == 1 && e.scan.Path[0] == "run"
	if len(e.operands) == 0 || e.pattern || len(e.scan.Path) > 0 && !run {
		return
	}
	at := e.operands[0]
	name := &e.words[at]
	if e.prog.Name == "pnpm" && e.has("-c") {
		e.runsText(e.words[at:], "option -c of pnpm")
		return
	}
	if !name.Known() {
		return
	}
	base := name.Text[strings.LastIndexByte(name.Text, '/')+1:]
	anyProgram := (run || e.prog.Name == "pnpm") && program.Lookup(base) != nil && !packaged.has(base)
	if anyProgram || strings.HasPrefix(name.Text, "/") {
		e.runWords(at)
		return
	}
	e.part(e.words[at:], at)
}

// runnerScript reads the words behind the name of a script.
func (e *effector) runnerScript() {
	at := e.subcommandAt()
	switch name := e.words[at].Text; {
	case len(e.scan.Path) > 0 && e.scan.Path[0] == "run" && name != "run" && name != "run-script": // test
		e.scriptWords(at)
	case (len(e.scan.Path) == 0 || e.scan.Path[0] == "run") && len(e.operands) > 0:
		e.scriptWords(e.operands[0])
	}
}

// workspaces reads the words behind the name of a workspace, or behind foreach, as
// words of yarn (yarnpkg.com/cli/workspace).
func (e *effector) workspaces() {
	skip := map[string]int{"workspace": 1, "workspaces foreach": 0}
	n, ok := skip[strings.Join(e.scan.Path, " ")]
	if rest := e.operandWords(n); ok && e.prog.Name == "yarn" && len(rest) > 0 {
		e.part(append([]Word{e.words[0]}, e.words[e.operands[n]:]...), -1)
	}
}

// packaged lists programs that packages provide, and names of scripts that are also
// names of programs.
var packaged = set(
	"tsc", "vue-tsc", "tsgo", "eslint", "prettier", "biome", "oxlint", "stylelint", "jest", "vitest", "mocha", "ava", "nyc", "c8",
	"playwright", "cypress", "storybook", "vite", "webpack", "rollup", "esbuild", "swc", "babel", "tsup", "next", "nuxt", "nuxi",
	"astro", "remix", "gatsby", "ng", "nest", "expo", "wrangler", "prisma", "drizzle-kit", "turbo", "nx", "lerna", "changeset",
	"tsx", "ts-node", "nodemon", "concurrently", "npm-run-all", "run-s", "run-p", "rimraf", "knip", "husky", "lint-staged",
	"commitlint", "typedoc", "tailwindcss", "postcss", "sass", "svelte-check", "serve", "http-server", "cdk", "sst", "vercel",
	"test", "watch", "time", "start", "build", "dev", "lint", "format", "fmt", "check", "clean", "deploy", "release", "docs", "sync",
	"generate", "migrate", "preview", "install", "type", "types", "export", "import", "update", "setup", "e2e", "bench", "verify", "init",
)

// deno requires a rule that names the subcommand for a program from another machine.
func (e *effector) deno() {
	if len(e.operands) == 0 {
		return
	}
	name := e.words[e.operands[0]].Text
	for _, scheme := range []string{"http:", "https:", "npm:", "jsr:", "data:", "blob:"} {
		if strings.HasPrefix(strings.ToLower(name), scheme) {
			e.apartLate(causeFetchesProgram, "deno")
		}
	}
}
