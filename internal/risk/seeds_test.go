package risk

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
)

const (
	seedsFile = "../../testdata/cases/seeds.jsonl"
	page      = "../../docs/project/risk-cases.md"
)

// TestSeeds: every case with a tier or a risk has that class, or is a deviation
// with a reason. Bare names of the originals' lists are only counted. The page
// includes the deviations of cases that other packages answer.
func TestSeeds(t *testing.T) {
	met, known := map[string][2]int{}, 0
	table := "\n| case | command line | expected | here | why |\n|---|---|---|---|---|\n"
	for _, s := range seeds(t) {
		d, deviates := corpus.SeedDeviations[s.ID]
		if deviates {
			known++
			table += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", s.ID, subject(&s), s.Wants(), d.Got, d.Why)
		}
		if s.Asks() != "class" {
			continue
		}
		got := classOf(&s)
		meets := s.Meets(got.String(), got.Tier())
		count := met[s.System+", "+s.Kind]
		count[1]++
		if meets {
			count[0]++
		}
		met[s.System+", "+s.Kind] = count
		switch {
		case deviates && (meets || got.String() != d.Got):
			t.Errorf("%s %q: %v, the deviation says %s for %s (%s)", s.ID, s.Command, got, d.Got, s.Wants(), d.Why)
		case !deviates && !meets && s.Kind != "upstream-list":
			t.Errorf("%s %q: %v, want %s", s.ID, s.Command, got, s.Wants())
		}
	}
	if known != len(corpus.SeedDeviations) {
		t.Errorf("%d deviations, %d of them are cases", len(corpus.SeedDeviations), known)
	}
	checkSection(t, "seeds", seedsTable(met)+table)
}

// subject returns what a case is about: a command line, or a role.
func subject(s *corpus.Seed) string {
	if s.Asks() == "roles" {
		return s.Input.Role + ", what is " + s.Input.Risk
	}
	return inCode(s.Command)
}

func seedsTable(met map[string][2]int) string {
	var b strings.Builder
	b.WriteString("| cases | of a tier or risk | met |\n|---|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(met)) {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", kind, met[kind][1], met[kind][0])
	}
	return b.String()
}

// What any document or list puts at tier 3 never runs without an ask, in any
// shell and profile.
func TestTier3NeverRunsUnasked(t *testing.T) {
	for _, s := range seeds(t) {
		forbidden := s.Expect.Tier == 3 || strings.HasSuffix(s.Expect.Risk, "forbidden")
		if _, deviates := corpus.SeedDeviations[s.ID]; !forbidden || deviates {
			continue
		}
		classes := map[string]Class{"its own": classOf(&s)}
		if s.Shell == "" {
			classes["default"] = Facts(analyze(s.Command), Default).Class
			classes["terminal"] = Facts(analyze(s.Command), Terminal).Class
		}
		for name, got := range classes {
			if got.Tier() == 1 {
				t.Errorf("%s %q is tier 1 in %s", s.ID, s.Command, name)
			}
		}
	}
}

// classOf returns the class of a case under the profile or shell that it
// belongs to.
func classOf(s *corpus.Seed) Class {
	switch {
	case s.Shell == "cmd":
		return Windows(s.Command, Cmd).Class
	case s.Shell == "powershell":
		return Windows(s.Command, PowerShell).Class
	case s.System == "S4":
		return Facts(analyze(s.Command), Terminal).Class
	}
	return Facts(analyze(s.Command), Default).Class
}

func seeds(t *testing.T) []corpus.Seed {
	t.Helper()
	rows, err := corpus.ReadSeeds(seedsFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 765 {
		t.Fatalf("%d rows, want 765", len(rows))
	}
	return rows
}

// checkSection compares the section of the page between the marks of a name
// with the generated text, or replaces it with -update.
func checkSection(t *testing.T, name, text string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- begin "+name+": go test ./internal/risk -update -->\n", "<!-- end "+name+" -->"
	before, rest, found := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no part %q", page, begin+end)
	}
	golden.Check(t, page, before+begin+text+end+after)
}

func inCode(text string) string {
	text = strings.NewReplacer("|", `\|`, "\n", "⏎").Replace(text)
	if text == "" {
		return "(empty)"
	}
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

const (
	testHome      = "/home/dev"
	testWorkspace = "/home/dev/proj"
)

// analyze analyzes a line as run by an agent's shell in the workspace.
// Facts returns the finding of a whole command line: that of the gravest of its actions,
// with the factors of all.
func Facts(f *shell.Facts, p Profile) Finding {
	all := Finding{Class: Safe, Reason: nothing}
	for _, one := range Each(f, p) {
		all.join(one)
	}
	return all
}

func analyze(line string) *shell.Facts {
	return shell.Analyze(line, shell.Options{Dir: testWorkspace, Home: testHome})
}
