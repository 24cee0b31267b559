package risk

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
)

// lines returns command lines of people: from the seeds' cases, other engines
// and daily work.
func lines(t testing.TB) []string {
	t.Helper()
	var out []string
	peers, err := corpus.ReadPeers(peersFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range peers {
		out = append(out, p.Input)
	}
	seeds, err := corpus.ReadSeeds(seedsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range seeds {
		if s.Shell == "" {
			out = append(out, s.Command)
		}
	}
	rows, err := corpus.Read("../../testdata/cases/bypass.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if line, ok := r.Input["command"].(string); ok && r.Tool == "Bash" && r.Shell == "" {
			out = append(out, line)
		}
	}
	out = append(out, everyday(t)...)
	if len(out) < 2500 {
		t.Fatalf("only %d lines", len(out))
	}
	return out
}

func everyday(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("../../testdata/cases/everyday.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, text := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var row struct{ Command string }
		if err := json.Unmarshal(text, &row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row.Command)
	}
	return out
}

// plainLine matches lines whose words mean the same in quotes.
var plainLine = regexp.MustCompile(`^[A-Za-z0-9_./:,@%+-]+( [A-Za-z0-9_./:,@%+-]+)*$`)

// reserved are words that lose their meaning in quotes.
var reserved = []string{"case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then", "time", "until", "while"}

func plainLines(t testing.TB) []string {
	return slices.DeleteFunc(lines(t), func(line string) bool {
		return !plainLine.MatchString(line) || slices.Contains(reserved, strings.Fields(line)[0])
	})
}

// Quotes around a word, or before one of its letters, change no class.
func TestQuotingLaw(t *testing.T) {
	all := plainLines(t)
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(all).Draw(t, "line")
		words := strings.Fields(line)
		for i, word := range words {
			at := rapid.IntRange(0, len(word)-1).Draw(t, "at")
			switch rapid.IntRange(0, 5).Draw(t, "quotes") {
			case 0:
				words[i] = "'" + word + "'"
			case 1:
				words[i] = `"` + word + `"`
			case 2:
				words[i] = word[:at] + `\` + word[at:]
			case 3:
				words[i] = word[:at] + `""` + word[at:]
			case 4:
				words[i] = "$'" + word + "'"
			}
		}
		quoted := strings.Join(words, " ")
		if want, got := Facts(analyze(line), Default), Facts(analyze(quoted), Default); got.Class != want.Class {
			t.Fatalf("%s is %v, %s is %v", line, want, quoted, got)
		}
	})
}

// around is a context for a command.
type around struct{ before, after string }

var (
	// programs run the command given by their words, which must be simple.
	programs = []string{
		"sudo", "env", "nohup", "timeout 5", "nice -n 3", "command", "exec", "xargs", "stdbuf -oL", "setsid", "ionice -c 3", "busybox", "env A=1 nice",
	}
	// inTexts take any command line as text, and are simple commands.
	inTexts = []around{{"bash -c '", "'"}, {`sh -c "`, `"`}, {"echo $( ", ")"}, {"cat <( ", ")"}}
	// constructs take any command line.
	constructs = []around{{"true && ! ", ""}, {"true && ", ""}, {"( ", ")"}, {"{ ", "; }"}, {"if ", "; then :; fi"}, {"while ", "; do :; done"}, {"f() { ", "; }; f"}, {"", " & wait"}}
)

// No context makes a command line safer.
func TestWrappingLaw(t *testing.T) {
	all := plainLines(t)
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(all).Draw(t, "line")
		wrapped, simple := line, true
		for range rapid.IntRange(1, 4).Draw(t, "depth") {
			switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
			case kind == 0 && simple:
				wrapped = rapid.SampledFrom(programs).Draw(t, "program") + " " + wrapped
			case kind == 1 && !strings.ContainsAny(wrapped, `'"$`):
				w := rapid.SampledFrom(inTexts).Draw(t, "text")
				wrapped, simple = w.before+wrapped+w.after, true
			case kind == 2:
				w := rapid.SampledFrom(constructs).Draw(t, "construct")
				wrapped, simple = w.before+wrapped+w.after, false
			}
		}
		want, got := Facts(analyze(line), Default), Facts(analyze(wrapped), Default)
		if strings.Contains(wrapped, "xargs") && (slices.Contains(got.Factors, FactorDynamic) || slices.Contains(want.Factors, FactorInterpreter)) {
			want.Class = min(want.Class, Moderate) // xargs appends words, which may make it another command, or name the program that an interpreter runs
		}
		if got.Class < want.Class {
			t.Fatalf("%s is %v, but %s is %v", line, want, wrapped, got)
		}
	})
}

// Lines above a line with an error run, hence count, as does a doubly negated
// command.
func TestErrorLaw(t *testing.T) {
	for _, line := range lines(t) {
		f := analyze(line)
		if f.Failed != nil || strings.HasSuffix(line, `\`) {
			continue
		}
		want := Facts(f, Default)
		spoiled := []string{line + "\nls )", line + "\nif :; then\n:\n:\n:\n:\n)"}
		if plainLine.MatchString(line) && !slices.Contains(reserved, strings.Fields(line)[0]) {
			spoiled = append(spoiled, "! ! "+line, "bash -c '"+line+"\nls )'")
		}
		for _, text := range spoiled {
			if got := Facts(analyze(text), Default); got.Class < want.Class || got.Class == Safe {
				t.Errorf("%q is %v, %q is %v", line, want, text, got)
			}
		}
	}
}

// A chain is no safer than any of its parts, and forbidden if one is.
func TestChainLaw(t *testing.T) {
	all := plainLines(t)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(all), 1, 4).Draw(t, "parts")
		chain, want := parts[0], Facts(analyze(parts[0]), Default).Class
		for _, part := range parts[1:] {
			chain += rapid.SampledFrom([]string{"; ", " && ", " || ", " | ", " & ", "\n"}).Draw(t, "operator") + part
			want = max(want, Facts(analyze(part), Default).Class)
		}
		if got := Facts(analyze(chain), Default); got.Class < want {
			t.Fatalf("%q is %v, a part of it is %v", chain, got, want)
		}
	})
}

// The report on a line agrees with its findings, for every line that people
// write, whichever function computes it.
func TestReportLaw(t *testing.T) {
	for _, line := range lines(t) {
		f := analyze(line)
		for _, p := range []Profile{Default, Terminal} {
			all, r := Facts(f, p), Summary(f, Each(f, p))
			if r.Class != all.Class || r.Tier != all.Class.Tier() || len(r.Reasons) == 0 {
				t.Errorf("%q: %+v, the findings say %+v", line, r, all)
			}
			for _, factor := range all.Factors {
				if !slices.Contains(r.Factors, factor) {
					t.Errorf("%q: the report lacks %s", line, factor)
				}
			}
		}
	}
}
