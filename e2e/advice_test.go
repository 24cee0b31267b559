//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestAdvice: the agent is told how to say plainly what would be asked about, and what
// it then says runs unasked; what it says again unchanged does not.
func TestAdvice(t *testing.T) {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		work := strings.TrimPrefix(b.Work, b.Dir+"/")
		b.write(work+"/src/a.js", "secret-of-js\n")
		b.write(work+"/.env", "TOKEN=secret-of-env\n")
		rows := []row{
			{call: bash("search", "grep -rn secret ."), Says: "secret-of"},
			{call: bash("search-plainly", "grep -rn --exclude=.env secret ."), Says: "secret-of-js"},
			{call: bash("search-again", "grep -rn secret ."), Says: "secret-of"},
			{call: bash("show", `cat "$(ls -d src/* | head -1)"`), Says: "secret-of"},
			{call: bash("show-plainly", "cat src/a.js"), Says: "secret-of-js"},
		}
		s := script{}
		for _, x := range rows {
			s["main"] = append(s["main"], turn{x.call})
		}
		m := startModel(t, s)
		before := b.snapshot()
		x := wrapped{release: r, Policy: []string{"--isolated", "--deny", "Read(.env)"}}
		res := x.run(t, b, m, startWeb(t, b))
		v := judge(b, m, rows, before, record(t, b), func(r row) bool { return strings.HasSuffix(r.Name, "-plainly") })
		report(t, v)
		for name, want := range map[string]string{
			"search": "add --exclude=.env", "search-again": "add --exclude=.env", "show": "Instead: ",
		} {
			if got, _ := m.result(name); !strings.Contains(got.Text, want) {
				t.Errorf("%s: the model is told %q, not %q", name, got.Text, want)
			}
		}
		for _, x := range rows {
			if got, _ := m.result(x.Name); strings.Contains(got.Text, "secret-of-env") {
				t.Errorf("%s: the model has seen the file: %s", x.Name, got.Text)
			}
		}
		text, err := os.ReadFile(b.Dir + "/audit.jsonl")
		if n := strings.Count(string(text), `"by":"advice"`); err != nil || n != 2 || res.Code != 0 {
			t.Errorf("%d decisions by advice, exit code %d, %v\n%s", n, res.Code, err, res.Errors)
		}
	})
}
