package permission

import (
	"os"
	"strings"
	"testing"
)

// TestInnerPrograms checks that a program run by the words of another is not
// covered by a rule for the outer program alone. A deny for the inner program
// must match it even under bare Bash, or it must be in an opaque spot, in each
// spelling of the command.
func TestInnerPrograms(t *testing.T) {
	data, err := os.ReadFile("../internal/shell/testdata/inner.txt")
	if err != nil {
		t.Fatal(err)
	}
	program, lines := "", 0
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(strings.TrimPrefix(line, "~"), "{p}"):
			program = line
		default:
			for _, spelled := range innerSpellings(program, strings.TrimPrefix(line, "~")) {
				lines++
				if d := (spec{allow: "Bash(" + program + ":*)"}).decideOn(t, using("Bash", spelled)); line[0] != '~' && d.Behavior == Allow {
					t.Errorf("line %d: %s is allowed by a rule for %s", i+1, spelled, program)
				}
				named := strings.Contains(spelled, "zapper")
				if d := (spec{allow: "Bash", deny: "Bash(zapper:*)"}).decideOn(t, using("Bash", spelled)); named && d.Behavior == Allow {
					t.Errorf("line %d: %s is allowed by Bash under a deny for zapper", i+1, spelled)
				}
			}
		}
	}
	if lines < 2000 {
		t.Errorf("only %d lines", lines)
	}
}

// innerSpellings returns the lines for a template.
func innerSpellings(program, template string) []string {
	var out []string
	for _, command := range []string{"zapper x", "/usr/bin/zapper -rf x", "zap'per' x", "nice zapper x", "zapper"} {
		words := strings.ReplaceAll(command, "'", "")
		inner := words
		if !strings.Contains(template, "'") {
			inner = command
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(words, "nice "), " ")
		line := strings.NewReplacer("{p}", program, "{}", "'"+words+"'", "{w}", inner, "{x}", name).Replace(template)
		out = append(out, line, strings.Replace(line, "'"+words+"'", `"`+words+`"`, 1))
	}
	return out
}
