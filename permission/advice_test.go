package permission

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// advised returns the advice of a decision in one line.
func advisedOf(d Decision) string {
	var all []string
	for _, a := range d.Advice {
		all = append(all, a.Program+": "+a.Text)
	}
	return strings.Join(all, "; ")
}

const (
	nameThem  = "write the names out: list them with a separate command first"
	apart     = "run the command in $(..) or <(..) separately first, and write out what it prints"
	nameFile  = "name the file"
	nameWords = "write the words out"
)

func TestAdvice(t *testing.T) {
	dev := spec{risk: true, unlisted: UnlistedRisk, allow: "Bash(go test:*); Bash(tool:*)", ask: "Bash(git push:*)", deny: "Read(.env); Bash(rm:*)", noCatastrophic: true}
	edits := dev
	edits.mode = "acceptEdits"
	silent := dev
	silent.mode = "dontAsk"
	for _, tt := range []struct {
		name  string
		in    spec
		uses  []string
		wants string
	}{
		{"what is not asked about has none", dev, []string{"ls", "cat a.go", "go test ./...", "rm x", "rm $(ls)", "cat .env"}, ""},
		{"a rule that meets it for certain", dev, []string{"git push", "git push origin $(cat branch)"}, ""},
		{"what is asked about however it is said", dev, []string{"touch x", "touch $(cat names)", "npm install $X", `git push "$x"`, "python3 -c 'print(1)'", "make", "$(cat run)"}, ""},
		{"code that a file would hide", dev, []string{"python3 -c 'open(f)'", "source env.sh", "bash -c \"$X\"", `eval "$X"`, "echo ls > r.sh; bash r.sh", "git -c core.pager=x log"}, ""},
		{"one part without advice", dev, []string{`cat "$f"; touch y`, `make; cat "$f"`, `cat "$f" | tee log`}, ""},
		{"a place outside", dev, []string{"cat $(find /etc -name x)", `cat /srv/"$f"`, `cat ~/"$f"`, `sort < /srv/"$f"`, `cd /srv && cat "$f"`}, ""},
		{"a dangerous variable, or one that is obeyed", dev, []string{"PATH=. ls", `FOO=1 go test "$x"`, "LD_PRELOAD=x ls"}, ""},
		{"names that are found", dev, []string{"tool $(ls src)", "ls src | xargs tool", "f=$(ls src); tool $f"}, "tool: " + nameThem},
		{"a file", dev, []string{`cat "$f"`, `while read f; do cat "$f"; done`}, "cat: " + nameFile},
		{"a redirection", dev, []string{`sort < "$f"`}, ": " + nameFile},
		{"a redirection that writes", edits, []string{`echo hi > "$f"`}, ": " + nameFile},
		{"a write that would be asked about", dev, []string{`echo hi > "$f"`}, ""},
		{"a substitution", dev, []string{"comm -23 <(sort a) <(sort b)", `wc -l "$(ls src)"`}, ""},
		{"how the shell reads it", dev, []string{"[ $n -lt 5 ]"}, "[: put it in double quotes"},
		{"too much", dev, []string{`cat "$f"; head "$f"; tail "$f"; uniq "$f"; nl "$f"`}, ""},
		{"several", dev, []string{`cat "$f"; head "$g"; cat "$h"`}, "cat: name the file; head: name the file"},
		{"nobody may be asked", silent, []string{`cat "$f"`}, "cat: " + nameFile},
		{"nobody may be asked about a change", silent, []string{`touch "$f"`, "touch x"}, ""},
	} {
		for _, line := range tt.uses {
			if tt.name == "a substitution" {
				continue
			}
			d := tt.in.decideOn(t, using("Bash", line))
			if got := advisedOf(d); got != tt.wants {
				t.Errorf("%s: %q: advice %q, want %q (%s)", tt.name, line, got, tt.wants, d.Reason)
			}
		}
	}
	for line, want := range map[string]string{
		"comm -23 <(sort a) <(sort b)": "", // it runs
		`wc -l "$(ls src)"`:            "wc: " + apart,
	} {
		if got := advisedOf(dev.decideOn(t, using("Bash", line))); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := advisedOf(dev.decideOn(t, using("WebFetch", "https://example.org/"))); got != "" {
		t.Errorf("a tool without a command: %q", got)
	}
}

// TestAdviceForTemporary: who writes over a temporary file of others is told of the
// session's own directory.
func TestAdviceForTemporary(t *testing.T) {
	dev := spec{risk: true, unlisted: UnlistedRisk, allow: "Bash(go build:*)", deny: "Read(.env)"}
	for text, want := range map[string]string{
		"ls > /tmp/old/file":              ": write to $TMPDIR",
		"go build -o /tmp/old/file ./x":   "go: write to $TMPDIR",
		"Write /tmp/old/file":             ": write to $TMPDIR",
		"ls > /tmp/theirs/x 2> /tmp/link": "",
		"rm /tmp/old/file":                "",
		"mv a.go /tmp/old/file":           "",
		"ls > ~/old":                      "",
		"ls > /tmp/new":                   "",
	} {
		if got := advisedOf(inScratch(t, dev, said(text))); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	session := dev.session(t)
	session.Scratch(private, "/tmp", "/home")
	for text, want := range map[string]string{"Write a.go": "", "Write " + workspace + "/sub/a.go": ""} {
		use := said(text)
		use.Dir = workspace
		if got := advisedOf(Evaluate(dev.policy(t), session, &use, scratchEnv, nil)); got != want {
			t.Errorf("a workspace among temporary files, %s: %q, want %q", text, got, want)
		}
	}
	if got := advisedOf(dev.decideOn(t, said("ls > /tmp/old/file"))); got != "" {
		t.Errorf("without a directory of the session: %q", got)
	}
}

// TestAdviceOfFurther checks that each policy that asks must have advice.
func TestAdviceOfFurther(t *testing.T) {
	p := spec{risk: true, deny: "Read(.env)"}.policy(t)
	for ask, want := range map[string]string{"Bash(npm:*)": "cat: " + nameFile, "Bash(cat:*)": ""} {
		further := spec{risk: true, deny: "Read(.env)", ask: ask}.policy(t)
		p.Further = []*Policy{further}
		use := using("Bash", `cat "$f"`)
		use.Dir = workspace
		if got := advisedOf(Evaluate(p, nil, &use, fakeFS{}, nil)); got != want {
			t.Errorf("a further policy that asks for %s: %q, want %q", ask, got, want)
		}
	}
}

// adviser tells, or does not, and counts how often it is asked.
type adviser struct {
	tells bool
	asked int
}

func (a *adviser) Advise(ToolUse, []Advice) bool {
	a.asked++
	return a.tells
}

// TestAdviceInPlaceOfQuestion: the agent is told first, then the person is asked; a
// denial without a person has the words every time.
func TestAdviceInPlaceOfQuestion(t *testing.T) {
	dev := spec{risk: true, deny: "Read(.env)"}
	silent := dev
	silent.mode = "dontAsk"
	use := using("Bash", `cat "$f"`)
	for _, tt := range []struct {
		name        string
		in          spec
		adviser     *adviser
		person      *person
		behavior    Behavior
		by, message string
		asked       int
	}{
		{"told", dev, &adviser{tells: true}, &person{}, Deny, ByAdvice, "Instead: name the file", 0},
		{"told before", dev, &adviser{}, &person{answers: []Answer{{Behavior: Allow}}}, Allow, byPerson, "", 1},
		{"nobody to ask, told", dev, &adviser{tells: true}, nil, Deny, ByAdvice, "Instead: name the file", 0},
		{"nobody to ask, told before", dev, &adviser{}, nil, Deny, byRule, "Instead: name the file", 0},
		{"never asks, told", silent, &adviser{tells: true}, &person{}, Deny, ByAdvice, "Instead: name the file", 0},
		{"never asks, told before", silent, &adviser{}, &person{}, Deny, byRule, "Instead: name the file", 0},
	} {
		var p Approver
		if tt.person != nil {
			p = tt.person
		}
		v, b := evaluator(t, tt.in, p)
		v.Adviser = tt.adviser
		res := can(t, v, use)
		if res.Behavior != tt.behavior || res.By != tt.by || !strings.Contains(res.Message, tt.message) {
			t.Errorf("%s: %v by %s: %s", tt.name, res.Behavior, res.By, res.Message)
		}
		if tt.person != nil && len(tt.person.asked) != tt.asked {
			t.Errorf("%s: asked %d times", tt.name, len(tt.person.asked))
		}
		if len(b.records) != 1 || b.records[0].Result.By != tt.by || tt.adviser.asked != 1 {
			t.Errorf("%s: records %+v, %d questions for advice", tt.name, b.records, tt.adviser.asked)
		}
	}
	v, _ := evaluator(t, dev, nil)
	if res := can(t, v, use); res.By != byRule || strings.Contains(res.Message, "Instead") {
		t.Errorf("without an adviser: %+v", res)
	}
}

// TestAdviceNotForPerson: what a person has edited is not sent back to the agent.
func TestAdviceNotForPerson(t *testing.T) {
	p := &person{answers: []Answer{
		{Behavior: Allow, Input: using("Bash", `cat "$f"`).Input}, {Behavior: Allow},
	}}
	v, _ := evaluator(t, spec{risk: true, ask: "Bash(touch:*)", deny: "Read(.env)"}, p)
	a := &adviser{tells: true}
	v.Adviser = a
	if res := can(t, v, using("Bash", "touch x")); res.Behavior != Allow || a.asked != 0 || len(p.asked) != 2 {
		t.Errorf("%+v, %d times advised, %d asked", res, a.asked, len(p.asked))
	}
}

// TestLawAdvice: advice goes with a question, or the denial that stands for one, and
// never makes an allow; without it everything is as it was.
func TestLawAdvice(t *testing.T) {
	fs := fakeFS{files: []string{workspace + "/.env"}}
	rapid.Check(t, func(rt *rapid.T) {
		s, use := drawSpec(rt), drawUse(rt)
		use.Dir = workspace
		d := Evaluate(s.policy(t), s.session(t), &use, fs, nil)
		if len(d.Advice) > 0 && d.Behavior != Ask && (d.Behavior != Deny || s.mode != "dontAsk") {
			rt.Fatalf("%s: advice %+v on %v", use.Input, d.Advice, d.Behavior)
		}
		results := map[bool]Result{}
		for _, tells := range []bool{true, false} {
			v, _ := evaluator(t, s, &person{answers: []Answer{{Behavior: Allow}}})
			v.Env, v.Adviser = fs, &adviser{tells: tells}
			results[tells] = can(t, v, use)
		}
		v, _ := evaluator(t, s, &person{answers: []Answer{{Behavior: Allow}}})
		v.Env = fs
		off := can(t, v, use)
		if len(d.Advice) == 0 || d.Behavior == Ask {
			if !reflect.DeepEqual(results[false], off) {
				rt.Fatalf("%s: %+v without advice, %+v with advice that was told before", use.Input, off, results[false])
			}
		}
		on := results[true]
		if on.Behavior == Allow && !reflect.DeepEqual(on, off) || (on.By == ByAdvice) != (len(d.Advice) > 0) {
			rt.Fatalf("%s: %+v with advice, %+v without", use.Input, on, off)
		}
	})
}

// TestAdviceIsNotForRules: no rule that names the plainer form for certain is passed
// by, however the unclear one is met.
func TestAdviceIsNotForRules(t *testing.T) {
	for _, rules := range []spec{
		{risk: true, deny: "Read(x); Read(.env)"},
		{risk: true, deny: "Read(.env)", ask: "Bash(cat:*)"},
		{risk: true, deny: "Read(.env)", rules: []patterns.GranularSpec{{Tools: []string{"Bash"}, Commands: []string{"cat"}, Action: patterns.Ask}}},
		{risk: true, deny: "Read(.env); Bash(cat:*)"},
	} {
		if d := rules.decideOn(t, using("Bash", `cat "$f"`)); len(d.Advice) > 0 {
			t.Errorf("%+v: %+v", rules, d.Advice)
		}
	}
}
