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
