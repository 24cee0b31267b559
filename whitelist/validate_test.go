package whitelist

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/shell"
)

func analyze(line string) *shell.Facts {
	return shell.Analyze(line, shell.Options{Dir: "/w", Home: "/home/u"})
}

// result is the reason, or "allowed".
func (l *List) result(line string) string {
	if e := l.Validate(line, analyze(line)); e != nil {
		return string(e.Reason)
	}
	return "allowed"
}

func parse(t testing.TB, text string) *List {
	t.Helper()
	l, err := Parse([]byte(text), "list.json")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// seedList is the file that the seed ships.
func seedList(t testing.TB) *List {
	t.Helper()
	l, err := Read("testdata/seed-default.json")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type seedRow struct {
	ID, Command string
	Expect      struct{ Result string }
}

func seedRows(t testing.TB) []seedRow {
	t.Helper()
	data, err := os.ReadFile("testdata/seeds.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var rows []seedRow
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var row seedRow
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// deviations are rows that come out otherwise, and why.
var deviations = map[string]struct {
	result, why string
	meant       string // the row as it comes out as the seed says
}{
	"S2-C040": {"shell_operators", "not a line that a shell can read (the row leaves out the quotes)", `node -e "require('child_process').execSync('id')"`},
}

// TestSeedRows: every row of the seed comes out as it says.
func TestSeedRows(t *testing.T) {
	l, rows := seedList(t), seedRows(t)
	if len(rows) != 51 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if d, ok := deviations[row.ID]; ok {
			if got := l.result(row.Command); got != d.result {
				t.Errorf("%s %q: %s, want %s: %s", row.ID, row.Command, got, d.result, d.why)
			}
			row.Command = d.meant
		}
		if got := l.result(row.Command); !slices.Contains(strings.Split(row.Expect.Result, "|"), got) {
			t.Errorf("%s %q: %s, want %s: %v", row.ID, row.Command, got, row.Expect.Result, l.Validate(row.Command, analyze(row.Command)))
		}
	}
}
