package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Seed is a case from the documents on which the project is based: what these
// documents, the tests and tables of the programs that they discuss, and
// attacks on these programs expect of a command line.
type Seed struct {
	ID      string `json:"id"`
	System  string `json:"system"` // S1: three tiers, S2: whitelist, S4: terminal
	Kind    string `json:"kind"`   // seed, adversarial, upstream-test, upstream-doc, upstream-list (a bare name)
	Command string `json:"command"`
	Shell   string `json:"shell"` // cmd or powershell; "" for a Unix shell
	Source  string `json:"source"`
	Expect  struct {
		Tier            int     `json:"tier"`
		Risk            string  `json:"risk"` // alternatives are separated by |
		Decision        string  `json:"decision"`
		RememberPattern *string `json:"remember_pattern"`
		RuleMatch       *bool   `json:"rule_match"`
		RuleResult      string  `json:"rule_result"`
		Result          string  `json:"result"` // of a whitelist; alternatives are separated by |
	} `json:"expect"`
	Input struct {
		Role    string   `json:"agent_role"`
		Risk    string   `json:"risk"` // of a command that the role runs
		Tool    string   `json:"tool"`
		Pattern string   `json:"pattern"`
		Rules   []string `json:"rules"`
		Force   bool     `json:"force_approval"`
	} `json:"input"`
}

// ReadSeeds reads a file of seeds.
func ReadSeeds(path string) ([]Seed, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []Seed
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		var s Seed
		if err := json.Unmarshal(sc.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		rows = append(rows, s)
	}
	return rows, sc.Err()
}

// Asks returns what the case tests: "class" (a tier or a risk), "whitelist",
// "roles", "force", "ladder", "match" or "rules". Each is tested in the package
// that implements it.
func (s *Seed) Asks() string {
	switch {
	case s.System == "S2":
		return "whitelist"
	case s.Input.Role != "":
		return "roles"
	case s.Input.Force:
		return "force"
	case s.Expect.RememberPattern != nil:
		return "ladder"
	case s.Expect.RuleMatch != nil:
		return "match"
	case s.Expect.RuleResult != "":
		return "rules"
	}
	return "class"
}

// Wants returns a description of what the case expects.
func (s *Seed) Wants() string {
	switch {
	case s.Asks() == "whitelist":
		return s.Expect.Result
	case s.Asks() == "roles":
		return s.Expect.Decision
	case s.Asks() == "ladder":
		return "to keep `" + *s.Expect.RememberPattern + "`"
	case s.Asks() == "match":
		return fmt.Sprintf("`%s` matches: %v", s.Input.Pattern, *s.Expect.RuleMatch)
	case s.Expect.Risk != "":
		return s.Expect.Risk
	case s.Expect.Tier == 0:
		return "an error"
	}
	return fmt.Sprint("tier ", s.Expect.Tier)
}

// Meets reports whether the case expects this risk and its tier.
func (s *Seed) Meets(risk string, tier int) bool {
	if s.Expect.Risk == "" {
		return s.Expect.Tier == tier
	}
	for want := range strings.SplitSeq(s.Expect.Risk, "|") {
		if want == risk {
			return true
		}
	}
	return false
}

// SeedDeviation is a case that is not met as written.
type SeedDeviation struct {
	Got string // the actual result
	Why string
}

// SeedDeviations holds the cases, by their ids, that are not met as written. A
// result is weaker than its case only where two documents disagree.
var SeedDeviations = map[string]SeedDeviation{
	"S1-C114": {"moderate", "`kill -9` of one process: seed 4 has kill moderate, and that holds; only process 1 and all processes are forbidden"},
	"S1-C115": {"moderate", "`kill` of one process, as above"},
	"S1-C116": {"moderate", "`pkill`, as kill"},
	"S1-C117": {"moderate", "`pkill`, as kill"},
	"S1-C474": {"moderate", "a program of Windows: known only where its shell is named, and there forbidden"},
	"S1-C487": {"high", "plain rm is high; recursive and forced it is forbidden"},
	"S1-C489": {"safe", "the empty line does nothing; whoever takes a command line refuses an empty one before it is classified"},
	"S2-C040": {"shell_operators", "no shell can read the line as it is written, without quotes; with them it is allowed, as the case says"},
	"S1-C491": {"moderate", "a program of Windows, as wevtutil"},
	"S4-C018": {"forbidden", "`kill 1`: process 1 is forbidden. Stricter than the case"},
	"S4-C033": {"high", "seed 4 itself has shutdown high; the tests of the original that forbid it are older"},
	"S4-C036": {"safe", "reading /etc/passwd is safe with the factor sensitive_path, which one setting lifts to ask"},
	"S4-C037": {"safe", "the empty line, as above"},
	"S4-C180": {"not offered", "`npm run *` is every script: kept is `npm run build` with whatever follows"},
	"S4-C182": {"not offered", "`docker run *` is any program with the daemon's rights: kept is the line itself"},
	"S4-C203": {"approve", "seed 4 itself has high approved, with a warning, for this very role (S4-03, its test 3), and that holds; `[roles.chat] high = \"deny\"` is what the later document has"},
	"S4-C219": {"blocked", "there is no risk `critical`: what lies between high and forbidden is of tier 3 here, and no role lifts that. Who administers has it asked by a rule that names it (`ask = [\"Bash(reboot)\"]`)"},
	"S4-C193": {"false", "`?` is an ordinary character: in a rule only `*` is special"},
}
