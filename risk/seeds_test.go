package risk

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/shell"
)

// seedRow is one line of testdata/seeds.jsonl: what the documents that the
// project was created from, their originals' tests, and attacks on these
// originals expect of a command line.
type seedRow struct {
	ID, System, Kind, Command string
	Tier                      *int
	Risk                      string
}

// deviations are the rows that are not met as written, each with what holds
// here and why.
var deviations = map[string]struct {
	class Class
	why   string
}{
	"S1-C114": {Moderate, "kill -9 1234: seed 4 has kill moderate; only pid 1 and -1 are forbidden"},
	"S1-C115": {Moderate, "kill 1234: as above"},
	"S1-C116": {Moderate, "pkill -9 nginx: as kill"},
	"S1-C117": {Moderate, "pkill nginx: as kill"},
	"S4-C018": {Forbidden, "kill 1: pid 1 is forbidden; stricter than seed 4"},
	"S4-C033": {High, "shutdown now: seed 4 itself has shutdown high, its original's tests forbid it"},
	"S4-C036": {Safe, "cat /etc/passwd: safe with the factor sensitive_path, which one setting lifts"},
	"S4-C037": {Safe, "the empty line does nothing; whoever takes a command refuses it before"},
	"S1-C487": {High, "rm y: plain rm is high, only recursive and forced is forbidden"},
	"S1-C489": {Safe, "the empty line, as above"},
	"S1-C474": {Moderate, "wevtutil is a Windows program: known only under that shell"},
	"S1-C491": {Moderate, "cipher is a Windows program, as above"},
}

func TestSeeds(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range seedRows(t) {
		p := Default
		if r.System == "S4" {
			p = Terminal
		}
		got := Facts(analyze(r.Command), p)
		if d, ok := deviations[r.ID]; ok {
			seen[r.ID] = true
			if got.Class != d.class {
				t.Errorf("%s %q: %v, the deviation says %v (%s)", r.ID, r.Command, got, d.class, d.why)
			}
			if r.meets(got.Class) {
				t.Errorf("%s %q meets its row: take it out of the deviations", r.ID, r.Command)
			}
			continue
		}
		if !r.meets(got.Class) {
			t.Errorf("%s %q: %v, want tier %v risk %q", r.ID, r.Command, got, r.tier(), r.Risk)
		}
	}
	if len(seen) != len(deviations) {
		t.Errorf("%d deviations, %d of them are rows", len(deviations), len(seen))
	}
}

func (r *seedRow) tier() int {
	if r.Tier == nil {
		return 0
	}
	return *r.Tier
}

func (r *seedRow) meets(c Class) bool {
	if r.Risk == "" {
		return c.Tier() == r.tier()
	}
	for want := range strings.SplitSeq(r.Risk, "|") {
		if c.String() == want {
			return true
		}
	}
	return false
}

func seedRows(t *testing.T) []seedRow {
	t.Helper()
	file, err := os.Open("testdata/seeds.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var rows []seedRow
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r seedRow
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) < 150 {
		t.Fatalf("only %d rows", len(rows))
	}
	return rows
}

const (
	testHome      = "/home/dev"
	testWorkspace = "/home/dev/proj"
)

// analyze reads a line as an agent's shell in the workspace would.
func analyze(line string) *shell.Facts {
	return shell.Analyze(line, shell.Options{Dir: testWorkspace, Home: testHome})
}
