package whitelist

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

var (
	programs = []string{"npm", "git", "node", "make", "tar", "prog", "ls", "npx", "evil", "eslint"}
	operand  = []string{"test", "run", "build", "status", "push", "x", "tf", "ls", "publish", "abc", "json"}
	options  = []string{"--silent", "-w", "--workspace", "--workspace=a", "--ignore-scripts", "-g", "-wg", "--oneline", "-j4", "--conf", "-z", "--", "-", "--fix", "--format", "-e", "--experimental-x"}
)

// words draws the words of a command.
func words(t *rapid.T) []string {
	rest := rapid.SliceOfN(rapid.SampledFrom(slices.Concat(operand, options)), 0, 5).Draw(t, "words")
	return append([]string{rapid.SampledFrom(programs).Draw(t, "program")}, rest...)
}

// spelled draws one of the spellings of a word.
func spelled(t *rapid.T, w string) string {
	cut := rapid.IntRange(0, len(w)).Draw(t, "cut")
	switch rapid.IntRange(0, 5).Draw(t, "spelling") {
	case 0:
		return "'" + w + "'"
	case 1:
		return `"` + w + `"`
	case 2:
		return w[:cut] + "''" + w[cut:]
	case 3:
		return w[:cut] + `"` + w[cut:] + `"`
	case 4:
		if cut < len(w) {
			return w[:cut] + `\` + w[cut:]
		}
	}
	return w
}

// TestQuoting: the spelling of a word changes nothing.
func TestQuoting(t *testing.T) {
	l := parse(t, strictTools)
	rapid.Check(t, func(t *rapid.T) {
		plain := words(t)
		var written []string
		for _, w := range plain {
			written = append(written, spelled(t, w))
		}
		a, b := strings.Join(plain, " "), strings.Join(written, strings.Repeat(" ", rapid.IntRange(1, 3).Draw(t, "blanks")))
		if got, want := l.result(b), l.result(a); got != want {
			t.Fatalf("%q: %s, but %q: %s", b, got, a, want)
		}
	})
}

// drawn returns a list with one entry per program and drawn arguments.
func drawn(t testing.TB, phrases, allow, deny []string, mode string) *List {
	entries := map[string]any{}
	for _, p := range programs {
		entries[p] = map[string]any{"commands": phrases, "allow_args": allow, "deny_args": deny, "allow_positionals": len(phrases)%2 == 0}
	}
	text, err := json.Marshal(map[string]any{"version": "1.0.0", "mode": mode, "defaults": entries})
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

// TestMonotone: an additional entry in deny_args allows nothing more; one in
// allow_args, or an additional command, refuses nothing more.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entries := rapid.SliceOfN(rapid.SampledFrom(slices.Concat(operand, options, []string{"--w*", "-w *", "--workspace *", "*s*", "a*"})), 0, 4)
		phrases := rapid.SliceOfNDistinct(rapid.SampledFrom(append(slices.Clone(operand), "run build", "-e")), 1, 4, rapid.ID[string]).Draw(rt, "phrases")
		allow, deny := entries.Draw(rt, "allow"), entries.Draw(rt, "deny")
		more := rapid.SampledFrom([]string{"x", "--silent", "--ignore*", "-g", "publish", "-w *", "--work", "--workspace a", "s*"}).Draw(rt, "more")
		mode := rapid.SampledFrom([]string{strict, permissive}).Draw(rt, "mode")
		line := strings.Join(words(rt), " ")
		before := drawn(t, phrases, allow, deny, mode).result(line)
		if after := drawn(t, phrases, allow, append(slices.Clone(deny), more), mode).result(line); before != "allowed" && after == "allowed" {
			rt.Fatalf("%q: %s, and allowed with the denied %q", line, before, more)
		}
		if after := drawn(t, phrases, append(slices.Clone(allow), more), deny, mode).result(line); before == "allowed" && after != "allowed" {
			rt.Fatalf("%q: allowed, and %s with the allowed %q", line, after, more)
		}
	})
}

// TestArgv: Command returns the words that bash makes of the line.
func TestArgv(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	l := parse(t, strings.Replace(strictTools, `"prog":{`, `"free":{"binary":"free","allow_positionals":true},"prog":{`, 1))
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"CI=1", "NODE_ENV='a b'", `CI="x"y`, "CI="}), 0, 2).Draw(t, "vars")
		parts = append(parts, "free")
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			text := rapid.StringMatching(`[ab '"\\$*~{},;|&#!=-]{0,6}`).Draw(t, "text")
			parts = append(parts, quoteWord(text), text)
		}
		line := strings.Join(parts, " ")
		argv, env, ok := l.Command(line, analyze(line))
		if !ok {
			return
		}
		// Lines that pass hold neither operators nor expansions, so this only
		// prints words.
		out, err := exec.Command(bash, "--norc", "-c", "printf '%s\\0' "+line).Output()
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if diff := cmp.Diff(want, slices.Concat(env, argv)); diff != "" {
			t.Fatalf("%q: %s", line, diff)
		}
	})
}

// FuzzParse: no file makes Parse panic, and every list that it returns can be
// used.
func FuzzParse(f *testing.F) {
	seed, err := os.ReadFile("testdata/seed-default.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{string(seed), string(Default), builtIn, strictTools, head + `,"policy":{"max_command_length":1}}`, `{"$comment":{"$comment":1,"a":[{"$schema":2}]},"version":"1.0.0","mode":"strict"}`} {
		f.Add([]byte(text), "npm test --x")
	}
	f.Fuzz(func(t *testing.T, data []byte, line string) {
		l, err := Parse(data, "l.json")
		if (l == nil) == (err == nil) {
			t.Fatal(l, err)
		}
		if err != nil {
			return
		}
		l.Warnings()
		facts := analyze(line)
		if e := l.Validate(line, facts); e != nil {
			_ = e.Error()
		}
		l.Command(line, facts)
	})
}

// FuzzValidate: a line that passes is one command whose words are known and
// whose program is listed.
func FuzzValidate(f *testing.F) {
	for _, row := range seedRows(f) {
		f.Add(row.Command)
	}
	for _, line := range []string{"CI=1 npm test", "npm run 'build'", "eslint --format=json", "npx ls -l", "bash -c ls", "env CI=1 ls", "less +x", "make -j4 V=1", "npm test <<E\nx\nE"} {
		f.Add(line)
	}
	l := parse(f, strictTools)
	f.Fuzz(func(t *testing.T, line string) {
		for _, d := range []shell.Dialect{shell.Bash, shell.Sh, shell.Zsh} {
			facts := shell.Analyze(line, shell.Options{Dir: "/w", Home: "/h", Dialect: d})
			argv, _, ok := l.Command(line, facts)
			if e := l.Validate(line, facts); (e == nil) != ok {
				t.Fatalf("%q: %v, but a command: %v", line, e, ok)
			}
			if !ok {
				continue
			}
			if l.items[argv[0]] == nil && l.binaries[argv[0]] == nil {
				t.Fatalf("%q: runs %q", line, argv[0])
			}
			top := 0
			for _, a := range facts.Actions {
				if a.Kind == shell.Command && a.Parent < 0 {
					top++
				}
			}
			if top != 1 {
				t.Fatalf("%q: %d commands pass as one", line, top)
			}
			if ops, err := shell.Operators(line); err != nil || len(ops) > 0 {
				t.Fatalf("%q: passes with %v %v", line, ops, err)
			}
		}
	})
}

// FuzzLines: no file makes init panic, and the lines that it takes pass the
// list made from them.
func FuzzLines(f *testing.F) {
	f.Add("ci.yml", []byte("a:\n  run: npm test\n  script: [x, y]\n"))
	f.Add("package.json", []byte(`{"scripts":{"test":"x && y -z 'a b'"}}`))
	f.Add("Makefile", []byte("a:\n\tgo test ./... | cat\n"))
	f.Add("x.txt", []byte("npx --package a -c b\nbash -c 'ls -l'\nmake -f x a\nfind . -exec a {} +\n"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		lines, err := Lines(name, data)
		if err != nil {
			return
		}
		start, err := Starting(lines, false)
		if err != nil {
			return
		}
		if _, err := Parse(start.Text, "l"); err != nil {
			t.Fatal(err)
		}
	})
}
