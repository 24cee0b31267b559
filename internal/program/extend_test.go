package program

import (
	"reflect"
	"strings"
	"testing"
)

type tables = map[string]any

// placeOf formats the position of a key.
func placeOf(table []string, key string) string { return strings.Join(table, ".") + ":" + key }

func extend(t *testing.T, own tables) *Catalog {
	t.Helper()
	c, err := NewCatalog(own, placeOf)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCatalogRefuses(t *testing.T) {
	for _, tt := range []struct {
		own  tables
		want string
	}{
		{tables{"git": tables{"safe": true}}, "git:safe: [git]: git is known: only options and subcommands can be added"},
		{tables{"git": tables{"names": []any{"g"}}}, "git:names: [git]: git is known"},
		{tables{"mine": tables{"names": []any{"git"}}}, "mine:names: [mine]: git is known"},
		{tables{"git": tables{"sub": tables{"log": tables{"workdir": false}}}}, "git.sub.log:workdir: [git.sub.log]: log is known"},
		{tables{"curl": tables{"options": []any{"-x1", "-o="}}}, "curl:options[1]: [curl]: curl is known to have the option -o"},
		{tables{"git": tables{"sub": tables{"log": tables{"options": []any{"--output="}}}}}, "git.sub.log:options[0]: [git.sub.log]: log is known to have the option --output"},
		{tables{"mine": tables{"special": "git"}}, "mine:special: [mine]: a policy's own entries have no special"},
		{tables{"mine": tables{"sub": tables{"x": tables{"special": "git"}}}}, "mine.sub.x:special: [mine.sub.x]: a policy's own entries have no special"},
		{tables{"mine": tables{"risk": "safe"}}, "mine:risk: [mine]: a policy's own entries have no risk"},
		{tables{"git": tables{"risk": "safe"}}, "git:risk: [git]: a policy's own entries have no risk"},
		{tables{"mine": tables{"is": []any{"fetcher"}}}, "mine:is: [mine]: a policy's own entries have no is"},
		{tables{"mine": tables{"secrets": []any{"-p SECRET"}}}, "mine:secrets: [mine]: a policy's own entries have no secrets"},
		{tables{"mine": tables{"like": "git"}}, "mine:like: [mine]:"},
		{tables{"mine": tables{"use": []any{}}}, "mine:use: [mine]: a policy's own entries have no use"},
		{tables{"group": tables{"x": tables{"options": []any{"-a"}}}}, "group:: group is no program"},
		{tables{"a/b": tables{}}, `a/b:: [a/b]: "a/b" is no name of a program`},
		{tables{"a b": tables{}}, `a b:: [a b]: "a b" is no name of a program`},
		{tables{"": tables{}}, `:: []: "" is no name of a program`},
		{tables{"mine": tables{"options": []any{"-a : wipe"}}}, `mine:options[0]: [mine]: option "-a : wipe": unknown effect "wipe"`},
		{tables{"mine": tables{"Safe": true}}, "mine:Safe: [mine]: unknown key Safe"},
		{tables{"mine": tables{"sub": tables{"s": tables{"alike": []any{"t"}}}}}, "mine.sub.s:alike: [mine.sub.s]: a policy's own entries have no alike"},
		{tables{"mine": tables{"alike": []any{"t"}}}, "mine:alike: [mine]: only subcommands are listed together"},
		{tables{"mine": "safe"}, "mine:: [mine]: mine is not a table"},
	} {
		_, err := NewCatalog(tt.own, placeOf)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %s", tt.own, err, tt.want)
		}
	}
}

// TestCatalogIsNotShared checks that an extended catalogue leaves the built-in tables
// unchanged.
func TestCatalogIsNotShared(t *testing.T) {
	before := len(Lookup("git").subs)
	extend(t, tables{"git": tables{"options": []any{"--mine"}, "sub": tables{"aaa": tables{}, "log": tables{"options": []any{"--mine"}}}}})
	git := Lookup("git")
	if len(git.subs) != before || git.Option("--mine") != nil || git.Subcommand("aaa") != nil || git.Subcommand("log").Option("--mine") != nil {
		t.Error("the built-in entry of git was changed")
	}
}

// TestCatalogHasAllKeys checks that each field of Program that a table can set is
// set.
func TestCatalogHasAllKeys(t *testing.T) {
	c := extend(t, tables{"mine": tables{
		"style": "posix", "operands": "reads", "skip": int64(1), "options": []any{"-a"}, "inherit": true, "ends": true, "safe": true,
		"plain": true, "workdir": true, "here": true, "beside": true, "named": true, "apart": true, "plugins": true, "assigns": true,
		"stdin": true, "home": ".x", "also": []any{"git push"}, "abbreviates": true, "sub": tables{"s": tables{"names": []any{"t"}}},
	}})
	p := reflect.ValueOf(*c.Lookup("mine"))
	for i := range p.NumField() {
		switch name := p.Type().Field(i).Name; name {
		case "Shared", "Path", "Same", "Special", "Changes", "Wordless", "Risk", "Facts", "Secrets", "Settings", "Harmless", "Variables", "Ignored", "Equal", "Folds", "Suffix", "Refs", "Kinds", "Obeys", "Aside", "Gets", "Makes", "Prints", "Hosts", "Base", "Inline", "Registry", "Offline", "Updates", "Hosted", "Endings", "Spelling": // see catalogfile.Builtin
		default:
			if p.Field(i).IsZero() {
				t.Errorf("%s is not set", name)
			}
		}
	}
	if sub := c.Lookup("mine").Subcommand("s"); sub == nil || len(sub.Path) != 1 {
		t.Error("the subcommand has no path")
	}
	if sub := c.Lookup("mine").Subcommand("t"); sub == nil || sub.Main() != "s" {
		t.Error("a synonym of the subcommand is another one")
	}
}
