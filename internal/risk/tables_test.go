package risk

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// catalogue returns the catalogue as a table.
func catalogue() []rated {
	var table []rated
	for _, name := range listed() {
		table = append(table, rated{name, program.RiskOf(name)})
	}
	return table
}

var unixTables = map[string][]rated{"catalogue": catalogue(), "terminal": terminal}

func TestTables(t *testing.T) {
	for name, table := range unixTables {
		checkTable(t, name, table)
	}
}

// checkTable: a name that occurred twice could have two classes.
func checkTable(t *testing.T, name string, table []rated) {
	t.Helper()
	for i, p := range table {
		if i > 0 && table[i-1].name >= p.name {
			t.Errorf("%s: %q does not stand before %q", name, table[i-1].name, p.name)
		}
		if p.name == "" || strings.ContainsAny(p.name, "/ ") {
			t.Errorf("%s: %q is no program name", name, p.name)
		}
		if len(p.rows) == 0 {
			t.Errorf("%s: %s has no row", name, p.name)
			continue
		}
		if last := p.rows[len(p.rows)-1]; last.Subs != "" || last.With != "" {
			t.Errorf("%s: the last row must hold for every use, to answer for what the others do not name", p.name)
		}
		for _, r := range p.rows {
			if r.Class < Safe || r.Class > Forbidden || r.Cause == "" {
				t.Errorf("%s %s %s: class %d, reason %q", p.name, r.Subs, r.With, r.Class, r.Cause)
			}
			checkWants(t, p.name, r.With)
		}
	}
}

func checkWants(t *testing.T, name, with string) {
	t.Helper()
	for want := range strings.FieldsSeq(with) {
		switch {
		case want == "!destroys", want == "+", want[0] == '@' && len(want) > 1, len(want) == 2 && want[0] == '+' && want[1] >= '0' && want[1] <= '9':
		default:
			for spelling := range strings.SplitSeq(want, "|") {
				if spelling == "" || spelling[0] != '-' && spelling[0] != '/' {
					t.Errorf("%s: %q asks for no option, count or form", name, want)
				}
			}
		}
	}
}

// find returns each path of each row for some command, so no row is shadowed by
// another.
func TestEveryRowIsReached(t *testing.T) {
	for name, table := range unixTables {
		for _, p := range table {
			for i := range p.rows {
				for _, path := range paths(&p.rows[i]) {
					words := example(p, path, p.rows[i].With)
					a := shell.Action{Kind: shell.Command, Words: words}
					if slices.Contains(strings.Fields(p.rows[i].With), "+") {
						a.Program = program.Lookup(p.name)
					}
					u := new(room).sortWords(&a, p.name)
					if got := newPlan(p.rows).find(&u); got != &p.rows[i] {
						t.Errorf("%s: %v reaches %+v, not %+v", name, spelling(words), got, p.rows[i])
					}
				}
			}
		}
	}
}

// paths returns the subcommand paths of a row, "" for a row without one.
func paths(r *program.Row) []string {
	if r.Subs == "" {
		return []string{""}
	}
	return strings.Fields(r.Subs)
}

// example returns a command that meets the conditions of a row.
func example(p rated, path, with string) []shell.Word {
	words := []string{p.name}
	if path != "" {
		words = append(words, strings.Split(strings.ReplaceAll(path, "*", "thing"), "/")...)
	}
	var options []string
	if with == "" && path == "" && slices.ContainsFunc(p.rows, func(r program.Row) bool { return r.With == "+0" }) {
		words = append(words, "word")
	}
	for want := range strings.FieldsSeq(with) {
		switch want[0] {
		case '+':
			if want == "+" {
				options = append(options, "+word")
				continue
			}
			for range want[1] - '0' {
				words = append(words, "word")
			}
		case '!':
			options = append(options, "drop table x")
		case '@':
			switch {
			case p.name == "kill":
				options = append(options, "-9")
			case want[1] == '-':
				options = append(options, "--")
			}
			options = append(options, strings.ReplaceAll(want[1:], "*", "x"))
		default:
			first, _, _ := strings.Cut(want, "|")
			options = append(options, first)
		}
	}
	return knownWords(append(words, options...)...)
}

func knownWords(texts ...string) []shell.Word {
	var out []shell.Word
	for _, text := range texts {
		out = append(out, shell.Word{Text: text})
	}
	return out
}

func spelling(words []shell.Word) string {
	var out []string
	for i := range words {
		out = append(out, words[i].Text)
	}
	return strings.Join(out, " ")
}

func TestEverySpotIsReached(t *testing.T) {
	for i := range spots {
		for one := range strings.FieldsSeq(spots[i].paths) {
			p := strings.Replace(one, "**", "/home/dev", 1)
			below := []string{p, p + "/x", p + "/../" + p[strings.LastIndexByte(p, '/')+1:]}
			if p == "/" {
				below = []string{"/", "//", "/.."} // / alone: everything lies below it
			}
			for _, at := range below {
				if got := new(Place).known(&shell.Word{Text: at}); got != &spots[i] {
					t.Errorf("%s reaches %+v, not %+v", at, got, spots[i])
				}
			}
		}
	}
}

// Terminal is less strict than Default only where a person at the terminal may
// stop the machine.
func TestTerminalIsLaxerOnlyForPower(t *testing.T) {
	for _, p := range terminal {
		known := ofCatalog(p.name)
		if known == nil {
			continue
		}
		for _, r := range known.rows {
			if p.rows[0].Class < r.Class && r.Cause != power {
				t.Errorf("%s: %v in Default (%s), %v in Terminal", p.name, r.Class, r.Cause, p.rows[0].Class)
			}
		}
	}
}

func TestClassNamesAndTiers(t *testing.T) {
	for c, want := range map[Class]struct {
		name string
		tier int
	}{Safe: {"safe", 1}, Moderate: {"moderate", 2}, High: {"high", 2}, Forbidden: {"forbidden", 3}, 0: {"forbidden", 3}, 99: {"forbidden", 3}} {
		if c.String() != want.name || c.Tier() != want.tier {
			t.Errorf("class %d: %s, tier %d, want %v", c, c, c.Tier(), want)
		}
	}
}

// TestPathsBlanks: paths are separated by single blanks.
func TestPathsBlanks(t *testing.T) {
	for _, table := range [][]rated{catalogue(), terminal, windowsPrograms(), cmdBuiltins(), cmdlets()} {
		for _, p := range table {
			for _, r := range p.rows {
				if strings.ContainsAny(r.Subs, "\t\n\r\v\f") {
					t.Errorf("%s: %q holds another blank than a space", p.name, r.Subs)
				}
			}
		}
	}
}

// TestCausesOfSafeRows: the rules that raise a safe command compare these
// causes, so the catalogue must spell them alike.
func TestCausesOfSafeRows(t *testing.T) {
	for _, p := range catalogue() {
		for _, r := range p.rows {
			if r.Class == Safe && r.Cause != readOnly && r.Cause != ownShell && r.Cause != wrapper && r.Cause != asks {
				t.Errorf("%s: a safe row for the cause %q", p.name, r.Cause)
			}
		}
	}
}

// TestSecretPaths: what programs need for their own work is not withheld from them.
func TestSecretPaths(t *testing.T) {
	anywhere, absolute := SecretPaths()
	for _, name := range []string{".gitconfig", ".git/config", ".bashrc", ".profile"} {
		if slices.Contains(anywhere, name) {
			t.Errorf("%s is withheld", name)
		}
	}
	for _, name := range []string{"/etc/passwd", "/etc/group", "/etc/ssh", "/root"} {
		if slices.Contains(absolute, name) {
			t.Errorf("%s is withheld", name)
		}
	}
	for _, name := range []string{".ssh", ".gnupg", ".aws", ".npmrc", ".env", ".netrc", ".bash_history"} {
		if !slices.Contains(anywhere, name) {
			t.Errorf("%s is not withheld", name)
		}
	}
	for _, name := range []string{"/etc/shadow", "/etc/ssl/private"} {
		if !slices.Contains(absolute, name) {
			t.Errorf("%s is not withheld", name)
		}
	}
}
