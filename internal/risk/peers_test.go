package risk

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
)

const peersFile = "../../testdata/cases/peers-classify.jsonl"

// judged is a case of another engine with our answer.
type judged struct {
	corpus.Peer
	facts   *shell.Facts
	got     Finding
	known   bool // the tables list every program of the line
	settled string
}

// TestPeers: what another engine considers dangerous never runs without an ask,
// and nearly everything that one considers safe does. The page lists the
// exceptions with reasons.
func TestPeers(t *testing.T) {
	rows, err := corpus.ReadPeers(peersFile)
	if err != nil {
		t.Fatal(err)
	}
	counts, rest := map[string]map[string]int{}, ""
	safe, asked, settled, dangerous := 0, 0, 0, 0
	for _, row := range rows {
		j := judge(row)
		if counts[row.Expected] == nil {
			counts[row.Expected] = map[string]int{}
		}
		counts[row.Expected][fmt.Sprint("tier ", j.got.Class.Tier())]++
		switch {
		case row.Expected == "dangerous":
			dangerous++
			if j.got.Class == Safe {
				t.Errorf("%s (%s) is dangerous there and safe here: %q", row.ID, row.Source, row.Input)
			}
		case row.Expected != "safe" || !j.known:
		case j.got.Class == Safe:
			safe++
		default:
			rest += j.line()
			asked++
			if j.settled != "" {
				settled++
			}
		}
	}
	if share := float64(safe) / float64(safe+asked-settled); share < 0.9 {
		t.Errorf("%d of %d cases that are safe elsewhere are tier 1: %.1f %%", safe, safe+asked-settled, 100*share)
	}
	if dangerous < 200 || safe < 450 {
		t.Errorf("only %d dangerous and %d safe cases", dangerous, safe)
	}
	text := peersTable(counts) + fmt.Sprintf(`
Of %d cases that another engine holds for safe, with programs that the tables have,
%d are tier 1. Of the other %d, %d are what a seed settles otherwise (%s); without
these, %.1f %% are tier 1.

| case | engine | command line | here | reason |
|---|---|---|---|---|
%s`, safe+asked, safe, asked, settled, strings.Join(slices.Sorted(maps.Keys(reasonsOf(settlements))), "; "),
		100*float64(safe)/float64(safe+asked-settled), rest)
	checkSection(t, "peers", text)
}

func reasonsOf(m map[string]string) map[string]bool {
	set := map[string]bool{}
	for _, why := range m {
		set[why] = true
	}
	return set
}

// settlements are the programs and factors that seed 1 puts at tier 2, whatever
// other engines say.
var settlements = map[string]string{
	"curl": "seed 1 has `curl` and `wget` at tier 2", "wget": "seed 1 has `curl` and `wget` at tier 2",
	"sleep":            "seed 1 has `sleep` at tier 2",
	FactorSubstitution: "S1-09: a substitution lifts to tier 2",
}

func judge(row corpus.Peer) *judged {
	j := &judged{Peer: row, facts: analyze(row.Input), known: true}
	j.got = Facts(j.facts, Default)
	for i := range j.facts.Actions {
		a := &j.facts.Actions[i]
		if a.Kind != shell.Command {
			continue
		}
		name := programName(a)
		j.known = j.known && lookup(name, Default) != nil
		j.settled += settlements[name]
	}
	for _, factor := range j.got.Factors {
		j.settled += settlements[factor]
	}
	return j
}

func (j *judged) line() string {
	engine, _, _ := strings.Cut(j.Source, ":")
	reason := strings.ReplaceAll(j.got.Reason, "|", `\|`)
	if j.settled != "" {
		reason += " (seed 1)"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", j.ID, engine, inCode(j.Input), j.got.Class, reason)
}

func peersTable(counts map[string]map[string]int) string {
	text := "| there | cases | tier 1 here | tier 2 | tier 3 |\n|---|---|---|---|---|\n"
	for _, name := range []string{"safe", "ask", "dangerous", "unknown"} {
		n := counts[name]
		text += fmt.Sprintf("| %s | %d | %d | %d | %d |\n", name, n["tier 1"]+n["tier 2"]+n["tier 3"], n["tier 1"], n["tier 2"], n["tier 3"])
	}
	return text
}
