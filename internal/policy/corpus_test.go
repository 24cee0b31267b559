package policy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
)

const bypassFile = "../../testdata/cases/bypass.jsonl"

// decideRow gives a row to Check as its line of JSON.
func decideRow(t *testing.T, c *Check, row any) Answer {
	t.Helper()
	line, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return c.Line(line)
}

// count counts the rows of one kind.
type count struct{ rows, wrong int }

func (c count) String() string { return fmt.Sprintf("%d/%d", c.rows-c.wrong, c.rows) }

// tally counts the rows of a set by level and by required outcome: attacks are
// rows that must not be allowed.
type tally struct {
	attack, strictAttack, benign, lenient count
	failures                              []string
}

func (n *tally) add(row corpus.Row, a Answer) {
	c := &n.attack
	switch {
	case row.Must == "allow" && row.Level == "core":
		c = &n.benign
	case row.Must == "allow":
		c = &n.lenient
	case row.Level != "core":
		c = &n.strictAttack
	}
	c.rows++
	if !row.Holds(a.Behavior) {
		c.wrong++
		input, _ := json.Marshal(row.Input)
		n.failures = append(n.failures, fmt.Sprintf("%s %s must %s, got %s %s %q: %s", row.Level, row.ID, row.Must, a.Behavior, a.Layer, a.Reason, input))
	}
}

// TestBypassCorpus checks that no attack is allowed, that no deny or ask row is
// decided more weakly, and that nearly every benign row is allowed.
func TestBypassCorpus(t *testing.T) {
	rows := readCorpus(t)
	check := &Check{Risk: "off", Unlisted: "ask"}
	var n tally
	for _, row := range rows {
		n.add(row, decideRow(t, check, row))
	}
	n.report(t, "corpus")
}

// TestBypassGenerated is TestBypassCorpus for generated variants of the rows,
// at least 100 of each class.
func TestBypassGenerated(t *testing.T) {
	rows := readCorpus(t)
	check := &Check{Risk: "off", Unlisted: "ask"}
	var all tally
	for _, class := range corpus.Classes(rows) {
		for _, row := range corpus.Generate(rows, class, 100, 7) {
			all.add(row, decideRow(t, check, row))
		}
	}
	all.report(t, "generated")
}

// TestRedTeam checks that none of the rows with which a red team once succeeded
// is allowed, both unchanged and in generated variants.
func TestRedTeam(t *testing.T) {
	rows, err := corpus.Read("../../testdata/cases/redteam.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 90 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, class := range corpus.Classes(rows) {
		rows = append(rows, corpus.Generate(rows, class, 100, 11)...)
	}
	check := &Check{Risk: "off", Unlisted: "ask"}
	for _, row := range rows {
		if a := decideRow(t, check, row); a.Behavior == "allow" {
			t.Errorf("%s is allowed (%s %s): %v", row.ID, a.Layer, a.Reason, row.Input["command"])
		}
	}
}

func (n *tally) report(t *testing.T, set string) {
	t.Helper()
	for _, f := range n.failures {
		t.Log(f)
	}
	t.Logf("%s: core attacks stopped %v, strict attacks stopped %v, core benign allowed %v, lenient benign allowed %v",
		set, n.attack, n.strictAttack, n.benign, n.lenient)
	for _, c := range []struct {
		what  string
		count count
		most  int // per 1000 rows may be wrong
	}{
		{"core rows came out weaker than they must", n.attack, 0},
		{"strict rows came out weaker than they must", n.strictAttack, 0},
		{"core benign rows are not allowed", n.benign, 5},
		{"lenient benign rows are not allowed", n.lenient, 100},
	} {
		if c.count.rows == 0 {
			t.Errorf("%s: no rows of which it could be said that %s", set, c.what)
		}
		if c.count.wrong*1000 > c.most*c.count.rows {
			t.Errorf("%s: %d of %d %s", set, c.count.wrong, c.count.rows, c.what)
		}
	}
}

func readCorpus(t *testing.T) []corpus.Row {
	t.Helper()
	rows, err := corpus.Read(bypassFile)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// everyday is a command line as an agent issues it.
type everyday struct {
	ID       string `json:"id"`
	Command  string `json:"command"`
	Expected string `json:"expected"`
	Alt      string `json:"expected_alt"`
	Typical  string `json:"typical"`
	Cwd      string `json:"cwd"`
}

// TestEveryday checks that under a realistic policy nothing is allowed that
// should not be, and few lines are asked about needlessly.
func TestEveryday(t *testing.T) {
	var file struct {
		Permissions struct{ Allow, Ask, Deny []string }
	}
	readJSON(t, "../../testdata/cases/developer-policy.json", &file)
	check := &Check{Risk: "off", Unlisted: "ask"}
	loose, needless, elsewhere, total := 0, 0, 0, 0
	eachLine(t, "../../testdata/cases/everyday.jsonl", func(data []byte) {
		var e everyday
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		a := decideRow(t, check, map[string]any{
			"id": e.ID, "policy": map[string]any{"allow": file.Permissions.Allow, "ask": file.Permissions.Ask, "deny": file.Permissions.Deny},
			"tool": "Bash", "input": map[string]any{"command": e.Command}, "cwd": or(e.Cwd, "/home/dev/proj"),
		})
		switch {
		case e.Alt != "":
		case a.Behavior == "allow" && e.Expected != "allow" && e.Typical == "allow":
			t.Logf("allowed, and the person means it: %q", e.Command) // a runner's own options, a harmless value of a variable
		case a.Behavior == "allow" && e.Expected == "ask" && strings.Contains(e.Command, "venv/bin/pytest"):
			t.Logf("allowed, and the person means it: %q", e.Command) // issue 14: Bash(pytest:*) means the project's own pytest
		case a.Behavior == "allow" && e.Expected != "allow":
			loose++
			t.Errorf("allowed, should be %s: %q", e.Expected, e.Command)
		case e.Expected == "allow":
			total++
			if strings.Contains(a.Reason, "reads its configuration from a directory outside the workspace") {
				elsewhere++ // asked by design: their programs may run what is configured there
			}
			if a.Behavior != "allow" {
				needless++
				t.Logf("needless %s (%s): %q", a.Behavior, a.Reason, e.Command)
			}
		}
	})
	t.Logf("everyday: wrongly allowed %d, needlessly asked %d of %d, %d of them in a directory outside the workspace", loose, needless, total, elsewhere)
	if (needless-elsewhere)*100 > total || elsewhere > 4 {
		t.Errorf("%d of %d lines are asked in vain, more than 1 %%", needless, total)
	}
}

// TestBareBash checks that with all of Bash allowed and a few denials, there
// are hardly any questions.
func TestBareBash(t *testing.T) {
	check := &Check{Risk: "off", Unlisted: "ask"}
	asked, total := 0, 0
	eachLine(t, "testdata/bare-bash.jsonl", func(data []byte) {
		var line string
		if err := json.Unmarshal(data, &line); err != nil {
			t.Fatal(err)
		}
		a := decideRow(t, check, map[string]any{
			"id": "x", "tool": "Bash", "input": map[string]any{"command": line},
			"policy": map[string]any{
				"allow": []string{"Bash"}, "ask": []string{"Bash(git push:*)"},
				"deny": []string{"Bash(rm:*)", "Bash(sudo:*)", "Read(./.env)"},
			},
		})
		total++
		if a.Behavior != "allow" {
			asked++
			t.Logf("%s (%s): %q", a.Behavior, a.Reason, line)
		}
	})
	t.Logf("bare Bash: asked %d of %d", asked, total)
	if asked*20 > total {
		t.Errorf("%d of %d lines are asked, more than 5 %%", asked, total)
	}
}

// TestBareEdits: with the whole of Bash allowed and edits of the sources denied, what
// only looks at the sources is hardly asked about.
func TestBareEdits(t *testing.T) {
	check := &Check{Risk: "off", Unlisted: "ask"}
	asked, total := 0, 0
	eachLine(t, "testdata/bare-src.jsonl", func(data []byte) {
		var line string
		if err := json.Unmarshal(data, &line); err != nil {
			t.Fatal(err)
		}
		a := decideRow(t, check, map[string]any{
			"id": "x", "tool": "Bash", "input": map[string]any{"command": line}, "cwd": "/home/dev/proj",
			"policy": map[string]any{"allow": []string{"Bash"}, "deny": []string{"Edit(src/**)"}},
		})
		total++
		if a.Behavior != "allow" {
			asked++
			t.Logf("%s (%s): %q", a.Behavior, a.Reason, line)
		}
	})
	t.Logf("bare Bash, edits denied: asked %d of %d", asked, total)
	if asked*9 > total {
		t.Errorf("%d of %d lines are asked, more than one in nine", asked, total)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func eachLine(t *testing.T, path string, f func([]byte)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sc := bufio.NewScanner(file)
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		if strings.TrimSpace(sc.Text()) != "" {
			f(sc.Bytes())
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
}
