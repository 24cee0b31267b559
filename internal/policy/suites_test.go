package policy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// suiteRow is a row of suites.jsonl: a use from the test suite of another guard, and what
// that guard makes of it.
type suiteRow struct {
	ID    string          `json:"id"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	Cwd   string          `json:"cwd"`
	Home  string          `json:"home"`
	Want  string          `json:"want"`
}

// suitesArgued says why a row that another guard does not allow is allowed here.
var suitesArgued = map[string]string{
	"s00754": "the test has no files: in a project with the link the read is asked about, by the file that the link leads to",
	"s00982": "code in the line counts as a file of the project; the file is the other guard's own, and those of agent-wrapper are held in code, too",
	"s00989": "as s00982",
	"s01202": "the contents stay, and the owner of a file gives the rights back",
	"s01622": "as s01202",
	"s01340": "~ in quotes is a directory of that name in the project; git brings back what is moved there",
	"s02245": "an edit of a project file, which git can undo; a file that git ignores is changed, not replaced",
	"s02296": "it prints a value that stands in the line",
	"s02302": "it prints two texts; the quotes stand in a comment and in a word",
	"s02308": "ls behind a comment",
	"s02311": "ls, a comment and ls",
	"s02312": "ls before a comment",
	"s02314": "it prints a text that stands in the line",
	"s02319": "a new file in the project; one that git ignores and that has contents is asked about, unless it is a log",
	"s02359": "it prints files of the project; where secrets are among them it is asked about",
	"s02372": "awk reads a file of the project",
	"s02373": "awk writes a file of the project; one that git ignores and that has contents is asked about",
	"s02449": "xargs runs echo, which prints",
	"s02450": "as s02449; GNU xargs has no -J and fails",
	"s02476": "it asks the cluster whether something would be permitted, and does not do it",
	"s02828": "the text is no Python and fails; code in the line counts as a file of the project",
	"s02901": "it prints a file of the project that no table has for a secret; Read rules can name it",
	"s02924": "an edit of a project file, which git can undo; protect can name it",
}

// TestSuites checks that the rows that other guards do not allow are not allowed without a
// policy and under those of init, or that it is said why. The list is docs/proof/suites-argued.txt.
func TestSuites(t *testing.T) {
	t.Parallel()
	rows := suiteRows(t)
	var b strings.Builder
	b.WriteString("Rows of testdata/cases/suites.jsonl that another guard does not allow and that are allowed,\n" +
		"and why that is right. go test ./internal/policy -run TestSuites -update\n")
	seen := map[string]bool{}
	for _, under := range []struct {
		name string
		text []byte
	}{{"no policy", nil}, {"init, a project with every tool", Starting(allKits, true)}} {
		spec, err := Parse(under.text, FileName)
		if err != nil {
			t.Fatal(err)
		}
		check, dangerous, allowed := &Check{Policy: spec}, 0, 0
		var list strings.Builder
		for i := range rows {
			if rows[i].Want != "not_allow" {
				continue
			}
			dangerous++
			a := rows[i].decided(t, check)
			if a.Behavior != "allow" {
				continue
			}
			allowed++
			why, argued := suitesArgued[rows[i].ID]
			if seen[rows[i].ID] = true; !argued {
				t.Errorf("%s under %s: %s is allowed: %s", rows[i].ID, under.name, rows[i].Input, a.Reason)
			}
			fmt.Fprintf(&list, "\n%s %s %s\n  allow: %s\n  %s\n", rows[i].ID, rows[i].Tool, rows[i].Input, a.Reason, why)
		}
		fmt.Fprintf(&b, "\n== under %s: %d of %d\n%s", under.name, allowed, dangerous, list.String())
	}
	for _, id := range slices.Sorted(maps.Keys(suitesArgued)) {
		if !seen[id] {
			t.Errorf("%s is argued, and not allowed", id)
		}
	}
	golden.Check(t, "../../docs/proof/suites-argued.txt", b.String())
}

func (r *suiteRow) decided(t *testing.T, check *Check) Answer {
	t.Helper()
	line, err := json.Marshal(map[string]any{"id": r.ID, "tool": r.Tool, "input": r.Input, "cwd": r.Cwd, "home": r.Home})
	if err != nil {
		t.Fatal(err)
	}
	return check.Line(line)
}

func suiteRows(t *testing.T) []suiteRow {
	t.Helper()
	f, err := os.Open("../../testdata/cases/suites.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []suiteRow
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r suiteRow
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) < 800 {
		t.Fatalf("%d rows", len(rows))
	}
	return rows
}
