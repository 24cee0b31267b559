package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// userPages returns the pages for readers by their names: README.md and those below
// docs, without the makers' own and what is made from the code.
func userPages(t *testing.T) map[string]string {
	t.Helper()
	pages := sources(t, func(name string) bool {
		return isPage(name) && name != "CHANGELOG.md" && name != "docs/reference/commands.md" &&
			!strings.HasPrefix(name, "docs/adr/") && !strings.HasPrefix(name, "docs/project/")
	})
	if len(pages) < 20 {
		t.Fatalf("%d pages found", len(pages))
	}
	return pages
}

var exampleLine = regexp.MustCompile(`(?m)^(?:    |\t)?(?:\$ )?((?:[A-Z_]+=\S+ )*agent-wrapper(?: (?:.*\\\n)*.*)?)$`)

// TestExamplesParse: the command, flags and arguments of each example of a command line
// in a page are there.
func TestExamplesParse(t *testing.T) {
	found := 0
	for name, text := range userPages(t) {
		for _, block := range codeBlocks(text) {
			for _, m := range exampleLine.FindAllStringSubmatch(block, -1) {
				found++
				if err := parses(words(m[1])); err != nil {
					t.Errorf("%s: %s\n\t%v", name, m[1], err)
				}
			}
		}
	}
	if found < 90 {
		t.Errorf("%d examples found", found)
	}
}

// codeBlocks returns the blocks of a page that may have command lines: those that are
// indented, and fences for a shell.
func codeBlocks(text string) []string {
	blocks := []string{""}
	fence, inside := "", false
	for line := range strings.Lines(text) {
		tag, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence:
			inside = !inside
			fence = tag
			blocks = append(blocks, "")
		case inside && (fence == "" || fence == "sh" || fence == "console"),
			!inside && strings.HasPrefix(line, "    "):
			blocks[len(blocks)-1] += line
		case !inside:
			blocks = append(blocks, "")
		}
	}
	return slices.DeleteFunc(blocks, func(b string) bool { return b == "" })
}

// words splits an example as a shell would, up to a comment, a pipe or a redirection.
// Assignments before the command are left out.
func words(line string) []string {
	var all []string
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			all = append(all, word.String())
		}
		word.Reset()
		begun = false
	}
scan:
	for i, r := range strings.ReplaceAll(line, "\\\n", " ") {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			end()
		case strings.ContainsRune("|<>&", r), r == '#' && !begun && i > 0:
			break scan
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	end()
	return slices.DeleteFunc(all, func(w string) bool { return assigned.MatchString(w) })
}

var assigned = regexp.MustCompile(`^[A-Z_]+=`)

// parses reports what is wrong with a command line, without running it.
func parses(args []string) error {
	cmd, rest, err := (&app{}).commands().Find(args[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if err := cmd.ValidateFlagGroups(); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

var (
	console = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")
	setUp   = regexp.MustCompile("(?ms)^```[a-z]+ ([\\w./-]+)\n(.*?)^```$")
)

// TestExamplesRun: what a page shows of a command in a block of the language console is
// what it prints, in a workspace with the files that the page has set up before: blocks
// whose language is followed by a file's name. Policies are trusted, and check answers as
// at a terminal. -update writes what comes out. A line … in
// an output stands for any lines.
func TestExamplesRun(t *testing.T) {
	found := 0
	pages := userPages(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		t.Run(name, func(t *testing.T) {
			text := pages[name]
			blocks := console.FindAllStringSubmatchIndex(text, -1)
			if blocks == nil {
				return
			}
			dir := readersHome(t)
			var out strings.Builder
			last := 0
			for _, b := range blocks {
				found++
				for _, m := range setUp.FindAllStringSubmatch(text[last:b[0]], -1) {
					write(t, filepath.Join(dir, m[1]), m[2])
					if policies := []string{policy.FileName, policy.LocalName}; slices.Contains(policies, m[1]) {
						shown(t, dir, "$ agent-wrapper trust --yes "+m[1]+"\n")
					}
				}
				out.WriteString(text[last:b[2]] + shown(t, dir, text[b[2]:b[3]]))
				last = b[3]
			}
			out.WriteString(text[last:])
			golden.Check(t, root+name, out.String())
		})
	}
	if found < 5 {
		t.Errorf("%d blocks found", found)
	}
}

// readersHome makes a home and a workspace in it, without policies, and goes there.
func readersHome(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "proj")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "AGENT_WRAPPER_RUN", "AGENT_WRAPPER_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("COLUMNS", "88")
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shown returns a block of commands, each with what it prints in a directory.
func shown(t *testing.T, dir, block string) string {
	t.Helper()
	was, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(dir); err != nil {
		t.Fatal(err)
	}
	defer os.Chdir(was)
	var out strings.Builder
	for _, step := range regexp.MustCompile(`(?m)^\$ `).Split(block, -1)[1:] {
		line, want, _ := strings.Cut(strings.ReplaceAll(step, "\\\n", "\\\x00"), "\n")
		line = strings.ReplaceAll(line, "\x00", "\n")
		var printed strings.Builder
		a := &app{in: strings.NewReader(""), out: &printed, err: &printed}
		args := words(line)[1:]
		if args[0] == "check" {
			args = append(args, "--output", "text")
		}
		a.run(t.Context(), args)
		got := strings.ReplaceAll(printed.String(), dir, "~/proj")
		if like(want, got) {
			got = want
		}
		out.WriteString("$ " + line + "\n" + got)
	}
	return out.String()
}

// like reports whether an output is the one that is shown, in which a line … stands for
// any lines.
func like(shown, output string) bool {
	if !strings.Contains(shown, "…\n") {
		return false
	}
	parts := strings.Split("\n"+shown, "\n…\n")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, `\n(?:.*\n)?`) + `\z`).MatchString("\n" + output)
}

var tomlBlock = regexp.MustCompile("(?ms)^```toml(?: [\\w./-]+)?\n(.*?)^```$")

// TestExamplesTOML: the policies and cases in the pages load, and the linter finds no
// danger in them, nor a rule that does nothing.
func TestExamplesTOML(t *testing.T) {
	found := 0
	for name, text := range userPages(t) {
		for _, block := range tomlBlock.FindAllStringSubmatch(text, -1) {
			found++
			if strings.Contains(block[1], "[[case]]") {
				if _, err := policy.ParseCases([]byte(block[1]), name); err != nil {
					t.Errorf("%s: %v\n%s", name, err, block[1])
				}
				continue
			}
			spec, err := policy.Parse([]byte(block[1]), name)
			if err == nil {
				_, _, _, err = spec.Compile(patterns.Place{Workspace: "/w", Home: "/home/x"})
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, block[1])
				continue
			}
			findings, err := policy.Lint(spec)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, f := range findings {
				if f.Level != "note" {
					t.Errorf("%s: %s: %s: %s [%s]\n%s", name, f.Level, f.Rule, f.Why, f.Check, block[1])
				}
			}
		}
	}
	if found < 8 {
		t.Errorf("%d blocks of TOML found", found)
	}
}

var alsoStops = regexp.MustCompile("(?m)^\\| `(Bash\\([^`]+\\))` \\| (`.*`) \\|$")

// TestRulesAlsoStop: docs/rules.md says of deny rules what else they stop, and they do.
func TestRulesAlsoStop(t *testing.T) {
	readersHome(t)
	_, table, _ := strings.Cut(page(t, "docs/rules.md"), "| deny | also stops |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := alsoStops.FindAllStringSubmatch(table, -1)
	if len(rows) < 8 {
		t.Errorf("%d rows found", len(rows))
	}
	for _, row := range rows {
		for _, line := range strings.Split(strings.Trim(row[2], "`"), "`, `") {
			var out strings.Builder
			a := &app{in: strings.NewReader(""), out: &out, err: &out}
			if code := a.run(t.Context(), []string{"check", "Bash", line, "--isolated", "--exit-code", "--deny", row[1]}); code != codeDeny || !strings.Contains(out.String(), "denied by rule "+row[1]) {
				t.Errorf("%s under %s: %s", line, row[1], out.String())
			}
		}
	}
}

var makersWord = regexp.MustCompile(`(?i)\bseeds?\b|\bfirst documents?\b|\bS[1-4]-[0-9x]`)

// TestPlainWords: no page for readers has a word that only the makers understand.
func TestPlainWords(t *testing.T) {
	for name, text := range userPages(t) {
		text = strings.ReplaceAll(text, "project/seeds.md", "")
		if found := makersWord.FindAllString(text, -1); found != nil {
			t.Errorf("%s has %q", name, found)
		}
	}
}

var protocolLine = regexp.MustCompile("(?m)(?:^\\| `|^    (?:<-|->) )(\\{\"type\".*?\\})(?:` \\||$)")

// TestExamplesLines: the lines of docs/reference/protocol.md are valid by the schema of
// the protocols, but for those that leave something out.
func TestExamplesLines(t *testing.T) {
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(page(t, "schemas/protocol.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range protocolLine.FindAllStringSubmatch(page(t, "docs/reference/protocol.md"), -1) {
		if strings.HasSuffix(m[1], "…}") {
			continue
		}
		found++
		var value any
		if err := json.Unmarshal([]byte(m[1]), &value); err != nil {
			t.Errorf("%s: %v", m[1], err)
		} else if err := resolved.Validate(value); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
	if found < 11 {
		t.Errorf("%d lines found", found)
	}
}
