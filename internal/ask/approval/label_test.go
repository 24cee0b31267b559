package approval

import (
	"encoding/json"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// everyFileLabel is the label of the widest rung for an edit.
const everyFileLabel = "changing any file in this workspace, except protected ones"

// says reports what a label promises, judged from its words alone.
func says(t *testing.T, label string, sub *patterns.Subject) bool {
	t.Helper()
	if label == everyFileLabel {
		return sub.Kind == patterns.WritePath && strings.HasPrefix(clean(sub), place.Workspace+"/")
	}
	from, to := strings.IndexByte(label, '`'), strings.LastIndexByte(label, '`')
	named := label[from+1 : to]
	if tool, name, ok := strings.Cut(named, "` for `"); ok && label[:from+1] == "the tool `" {
		return sub.Kind == patterns.UseTool && (sub.Tool == tool || sub.Tool == "Agent" && tool == "Task") && sub.Name == name
	}
	form, _, _ := strings.Cut(label[:from+1]+label[to:], ", -")
	switch form {
	case "exactly ``":
		return sub.Kind == patterns.RunCommand && sameFiles(sub.Command, texts(sub.Command.Words), split(t, named)) && known(sub.Command.Words)
	case "any `` command":
		if sub.Kind != patterns.RunCommand {
			return false
		}
		want, words := split(t, named), sub.Command.Words
		if runsScript(want) && !(len(words) > 1 && words[1].Text == "run") {
			want = slices.Delete(want, 1, 2) // pnpm dev is a pnpm run dev command
		}
		return len(words) >= len(want) && sameFiles(sub.Command, texts(words[:len(want)]), want) && known(words[:len(want)])
	case "reading ``", "changing ``":
		return doing(form) == sub.Kind && clean(sub) == named
	case "reading anything below ``", "changing anything below ``":
		return doing(form) == sub.Kind && strings.HasPrefix(clean(sub), named+"/")
	case "fetching from ``":
		u, err := url.Parse(sub.URL.String())
		return sub.Kind == patterns.FetchURL && err == nil && strings.EqualFold(u.Hostname(), named)
	case "the tool ``":
		return sub.Kind == patterns.UseTool && sub.Tool == named
	case "any use of the tool ``":
		return sub.Kind == patterns.UseTool && (sub.Tool == named || sub.Tool == "Agent" && named == "Task" || sub.Tool == "Task" && named == "Agent")
	case "any tool of the MCP server ``":
		rest, ok := strings.CutPrefix(sub.Tool, "mcp__"+named+"__")
		return sub.Kind == patterns.UseTool && ok && rest != "" && !strings.Contains(rest, "__")
	}
	t.Fatalf("a label of no known form: %s", label)
	return false
}

// sameFiles reports whether two commands have the same words, where the program and the file
// that an interpreter runs are the same by another path.
func sameFiles(a *shell.Action, words, want []string) bool {
	if len(words) != len(want) {
		return false
	}
	script := -1
	if p := a.Program; p != nil && p.Operands == program.Script && !p.HasSubs() && p.Special != "awk" && len(words) > 1 && !strings.HasPrefix(words[1], "-") {
		script = 1
	}
	file := func(name string) string {
		if path.IsAbs(name) || strings.Contains(name, "..") {
			return name
		}
		return path.Join(place.Workspace, name)
	}
	for i := range words {
		paths := (i == script || i == 0) && strings.Contains(words[i], "/") && strings.Contains(want[i], "/")
		if words[i] != want[i] && !(paths && file(words[i]) == file(want[i]) && !strings.HasPrefix(want[i], "-")) {
			return false
		}
	}
	return true
}

// runsScript reports whether words run a script of package.json that also runs
// without the word run.
func runsScript(words []string) bool {
	if len(words) != 3 || words[1] != "run" {
		return false
	}
	switch words[0] {
	case "npm":
		return slices.Contains([]string{"test", "start", "stop", "restart"}, words[2])
	case "bun":
		return words[2] != "test" && words[2] != "build" // commands of its own
	}
	return words[0] == "pnpm" || words[0] == "yarn"
}

func doing(form string) patterns.Kind {
	if strings.HasPrefix(form, "reading") {
		return patterns.ReadPath
	}
	return patterns.WritePath
}

func clean(sub *patterns.Subject) string { return path.Clean(sub.Path.Forms()[0].Text) }

func texts(words []shell.Word) []string {
	var all []string
	for _, w := range words {
		all = append(all, w.Text)
	}
	return all
}

func known(words []shell.Word) bool {
	return !slices.ContainsFunc(words, func(w shell.Word) bool { return !w.Known() })
}

// split splits words and removes quotes, as a shell does.
func split(t *testing.T, text string) []string {
	t.Helper()
	var words []string
	word, open, quote := "", false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == '\'' && c == '\'', quote == '"' && c == '"':
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case c == '\\' && quote != '\'' && i+1 < len(text) && (quote == 0 || strings.IndexByte("$`\"\\", text[i+1]) >= 0):
			i++
			word, open = word+text[i:i+1], true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if open {
				words = append(words, word)
			}
			word, open = "", false
		default:
			word, open = word+text[i:i+1], true
		}
	}
	if open {
		words = append(words, word)
	}
	return words
}

// quoted returns a line of these words.
func quoted(words []string) string {
	var all []string
	for _, w := range words {
		all = append(all, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
	}
	return strings.Join(all, " ")
}

// varied returns command lines similar to one of these words.
func varied(words []string) []string {
	lines := []string{
		quoted(words), quoted(words) + " more", quoted(words) + " -x", quoted(words) + " --", quoted(words) + ` "$x"`, quoted(words) + " *",
		quoted(words) + "; ls", "ls && " + quoted(words), "X=1 " + quoted(words), "PATH=/x " + quoted(words), "LANG=C " + quoted(words),
		"timeout 5 " + quoted(words), "sudo " + quoted(words), "env " + quoted(words), quoted(words) + " > out.txt", "(cd sub; " + quoted(words) + ")",
		"$(" + quoted(words) + ")", quoted([]string{strings.Join(words, " ")}), `"$x" ` + quoted(words),
	}
	for i := range words {
		without := slices.Delete(slices.Clone(words), i, i+1)
		lines = append(lines, quoted(words[:i])+" more "+quoted(words[i:]), quoted(words[:i])+" -x "+quoted(words[i:]))
		if len(without) > 0 {
			lines = append(lines, quoted(without), quoted(words[:i+1]))
		}
		for _, other := range []string{words[i] + "x", "x" + words[i], strings.ToUpper(words[i]), words[i] + " ", "./" + words[i], "/usr/bin/" + words[i], words[i] + "*", ""} {
			changed := slices.Clone(words)
			changed[i] = other
			lines = append(lines, quoted(changed))
		}
	}
	return lines
}

// compared counts how often label and rule agreed.
type compared struct {
	yes, no, unproven int
	rules             map[string]int // how often each was compared with variations
}

// labelled compares a step with a subject: the rule never matches what the
// label does not say, and it matches what the label says if the action is
// proven to be no more than its words.
func (c *compared) labelled(t *testing.T, s step, sub patterns.Subject, about string) {
	t.Helper()
	rule, _, err := patterns.Parse(s.rule, patterns.Allow, patterns.Source{})
	if err != nil {
		t.Fatalf("%s: %v", s.rule, err)
	}
	proven, reach := true, 0
	if a := sub.Command; a != nil {
		reach = a.Reach
		proven = !a.Unproven() && !slices.ContainsFunc(a.Assigns, func(v shell.Assign) bool { return v.Class != shell.Harmless })
		proven = proven && (reach == 0 || !strings.HasPrefix(s.label, "any") || len(split(t, spec(s.rule))) > reach)
	}
	_, m := patterns.NewSet(place, rule).Match(&sub, patterns.Query{Reach: reach})
	switch said := says(t, s.label, &sub); {
	case m == patterns.Yes && !said:
		t.Errorf("%s matches what %q does not say: %s", s.rule, s.label, about)
	case m != patterns.Yes && said && proven:
		t.Errorf("%s does not match what %q says: %s", s.rule, s.label, about)
	case m == patterns.Yes:
		c.yes++
	case said:
		c.unproven++
	default:
		c.no++
	}
}

func (c *compared) command(t *testing.T, s step, line string) {
	t.Helper()
	facts := shell.Analyze(line, shell.Options{Dir: place.Workspace, Home: place.Home, Workspace: place.Workspace})
	for i := range facts.Actions {
		if a := &facts.Actions[i]; a.Kind == shell.Command {
			c.labelled(t, s, patterns.Subject{Kind: patterns.RunCommand, Tool: "Bash", Command: a, Line: line, Simple: facts.Simple}, line)
		}
	}
}

func (c *compared) path(t *testing.T, s step, name string) {
	t.Helper()
	dir := path.Dir(name)
	for _, other := range []string{
		name, name + "x", name + "/x", dir, dir + "/x", dir + "x", dir + "x/y", dir + "/x/y", path.Dir(dir) + "/z", dir + "/../z", dir + "/./" + path.Base(name),
		strings.ToUpper(name), dir + "/.hidden", "/", dir + "//" + path.Base(name),
	} {
		for _, kind := range []patterns.Kind{patterns.ReadPath, patterns.WritePath} {
			for _, tool := range []string{"Read", "Grep", "Edit", "Write", "Bash"} {
				p := patterns.NewPath(shell.Word{Text: other}, place.Workspace, place, func(n string) (string, bool) { return n, true })
				c.labelled(t, s, patterns.Subject{Kind: kind, Tool: tool, Path: p}, other)
			}
		}
	}
}

func (c *compared) host(t *testing.T, s step, host string) {
	t.Helper()
	for _, link := range []string{
		"https://" + host, "http://" + host + "/x?y#z", "https://" + host + ":8443/", "https://sub." + host + "/", "https://x" + host + "/", "https://" + host + ".example/",
		"https://example.com/" + host, "https://" + strings.ToUpper(host) + "/", "https://example.com/?" + host,
	} {
		c.labelled(t, s, patterns.Subject{Kind: patterns.FetchURL, Tool: "WebFetch", URL: patterns.NewURL(shell.Word{Text: link})}, link)
	}
}

func (c *compared) tool(t *testing.T, s step, tool, name string) {
	t.Helper()
	for _, other := range []string{tool, tool + "x", tool + "__x", "x" + tool, "mcp__" + tool, "mcp__gh__other", "mcp__ghx__other", "Agent", "Skill"} {
		for _, what := range []string{name, name + "x", "", "other"} {
			c.labelled(t, s, patterns.Subject{Kind: patterns.UseTool, Tool: other, Name: what}, other+" "+what)
		}
	}
}

// part compares every step for a part with variations of the part.
func (c *compared) part(t *testing.T, r *permission.Request, p *permission.Part) {
	t.Helper()
	steps, _ := climb(r, p)
	for _, s := range steps {
		if c.rules[s.rule]++; c.rules[s.rule] > 1 {
			continue
		}
		switch p.Kind {
		case patterns.RunCommand:
			for _, line := range varied(texts(p.Words)) {
				c.command(t, s, line)
			}
		case patterns.FetchURL:
			c.host(t, s, p.Host)
		case patterns.UseTool:
			c.tool(t, s, p.Tool, p.Name)
		default:
			c.path(t, s, p.Target.Text)
		}
	}
}

// rowOf parses a row of a corpus: a command line, an object with one, or an
// object with a tool and its input.
func rowOf(t *testing.T, line []byte) permission.ToolUse {
	t.Helper()
	var row struct {
		Tool, Command string
		Input         json.RawMessage
	}
	if json.Unmarshal(line, &row.Command) == nil {
		return using("Bash: " + row.Command)
	}
	switch err := json.Unmarshal(line, &row); {
	case err == nil && row.Tool != "":
		return permission.ToolUse{Tool: row.Tool, Input: row.Input, Dir: place.Workspace}
	case err != nil || row.Command == "":
		t.Fatalf("%v in %s", err, line)
	}
	return using("Bash: " + row.Command)
}

// everyUse returns the tool uses of the corpora without duplicates.
func everyUse(t *testing.T) []permission.ToolUse {
	t.Helper()
	var all []permission.ToolUse
	seen := map[string]bool{}
	for _, file := range []string{"../../../testdata/cases/everyday.jsonl", "../../../testdata/cases/bypass.jsonl", "../../policy/testdata/bare-bash.jsonl"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			use := rowOf(t, []byte(line))
			if key := use.Tool + string(use.Input); !seen[key] {
				seen[key] = true
				all = append(all, use)
			}
		}
	}
	for _, use := range []string{
		"Skill: pdf", "Task: reviewer", "WebSearch: go rapid", "mcp__gh__list_issues", "mcp__gh__x__y", "NotebookEdit: x", "TodoRead: x", "Frob: x",
		"Write: a b.md", "Write: src/it's.md", "Read: docs/[1]/x?.md", "Edit: /srv/data/app/x.toml", "WebFetch: https://pkg.go.dev/slices",
	} {
		all = append(all, using(use))
	}
	if len(all) < 1000 {
		t.Fatalf("only %d tool uses", len(all))
	}
	return all
}

var policies = []lists{
	{}, {allow: "Read(docs/**)"}, {ask: "Bash; Read; Edit; WebFetch; mcp__*; Skill", allow: "Bash; Read; Edit; WebFetch"}, {riskOff: true},
}

// The label of every rung says exactly what its rules match.
func TestLabels(t *testing.T) {
	slow.Test(t)
	c := compared{rules: map[string]int{}}
	rungs := 0
	for _, use := range everyUse(t) {
		r := evaluator(t, policies[2]).Request(use)
		if r.Decision.Behavior != permission.Ask {
			continue
		}
		parts := r.Decision.Unapproved()
		for i := range parts[:min(len(parts), maxParts)] {
			c.part(t, &r, &parts[i])
		}
		all, _ := Ladder(&r)
		rungs += len(all)
		for _, rung := range all {
			if n := strings.Count(rung.Label, "; ") + 1; n != len(rung.Rules) && !strings.Contains(strings.Join(rung.Rules, ""), "; ") {
				t.Errorf("%q for the rules %q", rung.Label, rung.Rules)
			}
		}
	}
	t.Logf("%d rungs; %d subjects matched, %d did not, %d match the words and are not proven", rungs, c.yes, c.no, c.unproven)
	if rungs < 500 || c.yes < 1000 || c.no < 1000 {
		t.Error("too few to mean anything")
	}
}

// Every rung, once kept, makes the evaluator allow what caused the ask, and no
// rung holds a rule that must not be kept.
func TestRungsAnswer(t *testing.T) {
	slow.Test(t)
	rungs := 0
	for i, use := range everyUse(t) {
		for _, l := range []lists{policies[i%4], policies[(i+1)%4]} {
			r := evaluator(t, l).Request(use)
			all, _ := Ladder(&r)
			for _, rung := range all {
				rungs++
				v := evaluator(t, l)
				for _, rule := range rung.Rules {
					if err := r.CanKeep(patterns.Allow, rule); err != nil {
						t.Errorf("%s: %s: %v", use.Input, rule, err)
					}
					if err := v.Session.Allow(rule); err != nil {
						t.Fatal(err)
					}
				}
				if d := v.Request(use).Decision; d.Behavior != permission.Allow || d.Layer != permission.LayerSessionAllow && d.Layer != permission.LayerDefault && d.Layer != permission.LayerRules {
					t.Errorf("%s under %+v with %q: %s by %s: %s", use.Input, l, rung.Rules, d.Behavior, d.Layer, d.Reason)
				}
				for i := range rung.Rules {
					fewer := slices.Delete(slices.Clone(rung.Rules), i, i+1)
					if len(fewer) > 0 && r.Answers(fewer...) {
						t.Errorf("%s: %s is not needed in %q", use.Input, rung.Rules[i], rung.Rules)
					}
				}
			}
		}
	}
	if rungs < 2000 {
		t.Errorf("only %d rungs", rungs)
	}
	t.Logf("%d rungs", rungs)
}
