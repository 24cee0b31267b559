package decide_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
)

// write writes a file of the workspace.
func (c *client) write(name, text string) {
	c.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

// settle answers a question, and returns the answer to the tool use.
func (c *client) settle(id, result string) string {
	c.Helper()
	c.respond(c.question().ID, result)
	return c.response(`"` + id + `"`).answer(c).Behavior
}

// TestQuestions asks about what shows all that a question can have, and gives all
// answers.
func TestQuestions(t *testing.T) {
	c := start(t, options{rules: rules + "\nprotect = [\"held.txt\"]\n"})
	c.write("a.txt", strings.Repeat("line\n", 2000)+"old\n"+strings.Repeat("line\n", 2000))
	use := func(id, tool, input string) {
		c.request(`"`+id+`"`, "canUseTool", fmt.Sprintf(`{"tool":%q,"input":%s,"toolUseID":%q,"session":"s","agent":"sub"}`, tool, input, id))
	}
	var many strings.Builder
	for i := range 20 {
		fmt.Fprintf(&many, "npm install a%d; ", i)
	}
	for i, test := range []struct{ tool, input, result, want string }{
		{"Edit", `{"file_path":"a.txt","old_string":"old","new_string":"new"}`, `{"choice":"once","by":"editor"}`, "allow"},
		{"Edit", `{"file_path":"a.txt","old_string":"none","new_string":"new"}`, `{"choice":"deny"}`, "deny"},
		{"Write", `{"file_path":"held.txt","content":"x"}`, `{"choice":"once"}`, "allow"},
		{"Bash", `{"command":"npm install a > held.txt; cat /etc/shadow"}`, `{"choice":"words","message":"no"}`, "deny"},
		{"Bash", `{"command":"npm install b"}`, `{"choice":"while","for":60,"times":3}`, "allow"},
		{"Bash", `{"command":"git push ` + "`git log -1`" + `"}`, `{"choice":"session"}`, "allow"},
		{"Bash", `{"command":"npm install c"}`, `{"choice":"session","rules":["Bash(npm install c)"],"up_to":"moderate"}`, "allow"},
		{"Bash", `{"command":"npm install d"}`, `{"choice":"never","rung":0}`, "deny"},
		{"AskUserQuestion", `{"questions":[{"question":"Which?"}]}`, `{"choice":"answers","answers":{"Which?":"a"}}`, "allow"},
		{"Bash", `{"command":"` + many.String() + `","description":"` + strings.Repeat(`line\n`, 60<<10) + `"}`, `{"choice":"deny","message":"no"}`, "deny"},
	} {
		id := fmt.Sprint(i)
		use(id, test.tool, test.input)
		if got := c.settle(id, test.result); got != test.want {
			t.Errorf("%s %.100s, %s: %s, want %s", test.tool, test.input, test.result, got, test.want)
		}
	}
	grants := c.ok("session", `{"action":"rules","session":"s"}`)
	for _, want := range []string{`"until":"`, `"left":2`, `"use":"`} {
		if !strings.Contains(grants, want) {
			t.Errorf("no %s in %s", want, grants)
		}
	}
	// The same by requests of the client.
	for i, test := range []struct{ tool, input, more string }{
		{"Bash", `{"command":"npm install e"}`, `"choice":"while","for":60,"times":3`},
		{"Bash", `{"command":"npm install f"}`, `"choice":"session","rules":["Bash(npm install f)"],"up_to":"moderate"`},
		{"Bash", `{"command":"npm install g"}`, `"choice":"words","message":"no"`},
		{"Bash", `{"command":"npm install h"}`, `"choice":"edit","input":{"command":"ls"}`},
		{"AskUserQuestion", `{"questions":[{"question":"Which?"}]}`, `"choice":"answers","answers":{"Which?":"a"}`},
	} {
		id := fmt.Sprint("a", i)
		use(id, test.tool, test.input)
		q := c.question()
		c.respond(q.ID, `{"handedOn":true}`)
		c.request(`"answer"`, "answer", fmt.Sprintf(`{"id":%q,"digest":%q,%s}`, q.Params.ID, q.Params.Digest, test.more))
		if l := c.responses(`"answer"`, `"`+id+`"`)[`"answer"`]; l.Error != nil {
			t.Errorf("%s: %s", test.more, l.text)
		}
	}
	c.end()
}

// TestInForce: explain and policy say all that they can say, and advice comes before a
// question.
func TestInForce(t *testing.T) {
	root := t.TempDir()
	c := start(t, options{
		rules: `
allow = ["Bash", "Read(src/**)"]
deny = ["Read(.env)"]
ask = ["Bash(git push:*)"]
unlisted = "ask"
`,
		open: func(o engine.Options) (*engine.Engine, error) {
			o.Roots, o.NoAdvice = []string{o.Dir, root}, false
			list := filepath.Join(o.Dir, whitelist.FileName)
			if err := os.MkdirAll(filepath.Dir(list), 0o700); err != nil {
				return nil, err
			}
			text := `{"version":"1.0.0","mode":"strict","defaults":{"npm":{"commands":["install"]}},"policy":{"dry_run_mode":true}}`
			if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
				return nil, err
			}
			return engine.Open(o)
		},
	})
	if got := c.ok("policy", `{"session":"s"}`); !strings.Contains(got, `"dry_run":true`) || !strings.Contains(got, root) {
		t.Error(got)
	}
	explains := func(params string) string {
		c.Helper()
		return c.ok("explain", `{"session":"s","agent":"sub","toolUseID":"u","cwd":"`+root+`",`+params+`}`)
	}
	for params, want := range map[string]string{
		`"tool":"Bash","input":{"command":"cd web && echo x > agent-wrapper.toml"}`: `"held":true`,
		`"tool":"Bash","input":{"command":"cat a.txt"}`:                             `"free":true`,
		`"tool":"Bash","input":{"command":"git push"}`:                              `"layer":"ask-list","behavior":"ask"`,
		`"tool":"Read","input":{"file_path":"lib/a"}`:                               `"nearMiss":{`,
	} {
		if got := explains(params); !strings.Contains(got, want) {
			t.Errorf("%s: no %s in %s", params, want, got)
		}
	}
	c.ok("session", `{"action":"pause","session":"p"}`)
	if got := c.ok("explain", `{"session":"p","tool":"Bash","input":{"command":"ls"}}`); !strings.Contains(got, `"whole":{"layer":"`) {
		t.Error(got)
	}
	c.inSession("s", "1", `cat "$x"`)
	var a struct{ Decision struct{ Advice []any } }
	if l := c.response(`"1"`); json.Unmarshal(l.Result, &a) != nil || len(a.Decision.Advice) == 0 {
		t.Error(l.text)
	}
	c.end()
}
