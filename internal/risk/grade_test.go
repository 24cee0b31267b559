package risk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestGrade checks which commands are no more than the tables say, and which of them
// destroy something.
func TestGrade(t *testing.T) {
	for line, want := range map[string]string{
		"git push": "moderate", "git push origin main": "moderate", "git push -u origin main": "moderate", "git push --tags": "moderate",
		"git push -f": "moderate+destructive", "git push origin main --force": "moderate+destructive", "git push -qf": "moderate+destructive",
		"git push --force-with-lease origin x": "moderate+destructive", "git push --mirror": "moderate+destructive", "git push --mirr": "moderate+destructive",
		"git push origin +main": "moderate+destructive", "git push origin :x": "moderate+destructive", "git push --delete origin x": "moderate+destructive",
		"git push -d origin x": "moderate+destructive", "git push --prune": "moderate+destructive", "git push origin '+a:b'": "moderate+destructive",
		"git push $x": "?", "git push origin *": "?", "git push --frob": "?", "git push --forc": "?", "git push -- origin +x": "?", "git push -Z": "?",
		"docker run x": "moderate", "docker run --privileged x": "?", "docker run --privil x": "?",
		"git reset --hard": "high+destructive", "git reset": "moderate", "frob x": "?", "rm x": "high+destructive",
	} {
		a := action1(t, line)
		got := "?"
		if f := Action(a, Default, Place{}); f.Certain {
			text, _ := GradeOf(f.Class, f.Destroys).MarshalText()
			got = string(text)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func action1(t *testing.T, line string) *shell.Action {
	t.Helper()
	facts := shell.Analyze(line, shell.Options{Dir: "/w", Home: "/h", Workspace: "/w"})
	i := slices.IndexFunc(facts.Actions, func(a shell.Action) bool { return a.Kind == shell.Command })
	if i < 0 {
		t.Fatal(line)
	}
	return &facts.Actions[i]
}

// TestGraver checks the options that are named, by the mildest use.
func TestGraver(t *testing.T) {
	for line, want := range map[string]string{
		"git push": "[--force --mirror --delete --prune] false true", "git reset": "[--hard --merge --keep] false true", "npm publish": "[] false true", "rm": "[] false false",
		"docker run": "[--privileged] false true", "frob": "[] false true", "git clean": "[] false false", "kill": "[] false false", "git branch": "[] false false",
	} {
		a := action1(t, line)
		options, more, ok := Graver(a, Mildest(a, Default), Default)
		if got := fmt.Sprint(options, more, ok); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestGradeNames checks that a name stands for one grade, and nothing else for any.
func TestGradeNames(t *testing.T) {
	for c := Safe; c <= Forbidden; c++ {
		for _, destroys := range []bool{false, true} {
			g, back := GradeOf(c, destroys), Grade(0)
			text, err := g.MarshalText()
			if err != nil || back.UnmarshalText(text) != nil || back != g || g.Class() != c || g.Destroys() != destroys {
				t.Errorf("%d: %s %v %d", g, text, err, back)
			}
		}
	}
	for _, text := range []string{"modest", "+destructive", "moderate+", "destructive", "Moderate", "moderate+destructive+destructive"} {
		if g := Grade(0); g.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is %d", text, g)
		}
	}
	for _, g := range []Grade{1, 10, 255} {
		if text, err := g.MarshalText(); err == nil {
			t.Errorf("%d is %s", g, text)
		}
	}
	if !strings.HasPrefix(string(must(GradeOf(Moderate, true).MarshalText())), "moderate") || GradeOf(Moderate, true) >= GradeOf(High, false) {
		t.Error("grades are not in the order of classes")
	}
}

func must(text []byte, _ error) []byte { return text }
