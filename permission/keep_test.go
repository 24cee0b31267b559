package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// asked returns the request of an evaluator for a tool use.
func asked(t testing.TB, s spec, use ToolUse) (*Evaluator, Request) {
	t.Helper()
	v, _ := evaluator(t, s, nil)
	use.Dir = workspace
	r := v.Request(use)
	if r.Decision.Behavior != Ask {
		t.Fatalf("%s: %s", use.Input, outcome(r.Decision))
	}
	return v, r
}

// An ask lists all that the tool use would do, each with its answer.
func TestParts(t *testing.T) {
	_, r := asked(t, spec{allow: "Bash(ls:*)", ask: "Bash(git:*)"}, using("Bash", `ls "$x"; git push origin > out.txt; ls`))
	type part struct {
		action       string
		behavior     Behavior
		rule, exact  string
		words, holes int
		at           string
	}
	var got []part
	line := `ls "$x"; git push origin > out.txt; ls`
	for _, p := range r.Decision.Parts {
		one := part{p.Action, p.Behavior, p.Rule, p.Exact, len(p.Words), 0, line[p.Pos:p.End]}
		for _, w := range p.Words {
			one.holes += len(w.Holes)
		}
		got = append(got, one)
	}
	want := []part{
		{"run ls …", Allow, "Bash(ls:*)", "", 2, 1, `ls "$x"`},
		{"write " + workspace + "/out.txt", Ask, "", "Edit(/" + workspace + "/out.txt)", 0, 0, "out.txt"},
		{"run git push origin", Ask, "Bash(git:*)", "Bash(git push origin)", 3, 0, "git push origin"},
		{"run ls", Allow, "Bash(ls:*)", "", 1, 0, "ls"},
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("part %d of %+v, want %+v", i, got, want[i])
		}
	}
	if push := r.Decision.Parts[2]; push.Program == nil || push.Program.Name != "git" || push.Layer != LayerAskList || push.Why == "" || push.Kind != patterns.RunCommand {
		t.Errorf("%+v", push)
	}
	if out := r.Decision.Parts[1]; out.Target.Text != workspace+"/out.txt" || out.Kind != patterns.WritePath {
		t.Errorf("%+v", out)
	}
	_, r = asked(t, spec{allow: "Read"}, using("WebFetch", "https://go.dev/x"))
	if p := r.Decision.Parts[0]; p.Host != "go.dev" || p.Target.Text != "https://go.dev/x" {
		t.Errorf("%+v", p)
	}
	if d := (spec{allow: "Bash"}).decideOn(t, using("Bash", "ls")); d.Parts != nil {
		t.Errorf("an allow lists parts: %+v", d.Parts)
	}
}

// Parts outlive the tool use: the next decision does not change them.
func TestPartsAreCopies(t *testing.T) {
	v, r := asked(t, spec{allow: "Read"}, using("Bash", `npm i "$x"`))
	before := []shell.Word{r.Decision.Parts[0].Words[1], r.Decision.Parts[0].Words[2]}
	for range 20 {
		v.Request(using("Bash", `frob aa "b$y"`))
	}
	for i, w := range before {
		if now := r.Decision.Parts[0].Words[i+1]; now.Text != w.Text || len(now.Holes) != i {
			t.Errorf("word %d is %+v, was %+v", i+1, now, w)
		}
	}
}

// TestRequestHasProfile: a question about the options of a command asks the tables that the
// policy uses.
func TestRequestHasProfile(t *testing.T) {
	v, _ := evaluator(t, spec{risk: true}, nil)
	for profile, want := range map[risk.Profile]risk.Class{risk.Default: risk.Forbidden, risk.Terminal: risk.High} {
		v.Policy.Profile = profile
		r := v.Request(here("Bash", "reboot"))
		if got := r.Mildest(&Part{Subject: Subject{Words: []shell.Word{{Text: "reboot"}}}}, 1).Class(); got != want {
			t.Errorf("%v: %v, want %v", profile, got, want)
		}
	}
}

func TestCanKeep(t *testing.T) {
	gated := spec{allow: "Read"}
	tests := []struct {
		s          spec
		line, rule string
		list       patterns.List
		want       string // part of the refusal, "" for none
	}{
		{gated, "npm i", "Bash(npm i)", patterns.Allow, ""},
		{gated, "npm i", "Bash(npm:*)", patterns.Allow, ""},
		{gated, "npm i && npm test", "Bash(npm test)", patterns.Allow, ""},
		{gated, "npm i", "Bash(npm test)", patterns.Allow, "covers nothing that is asked"},
		{gated, "npm i", "Bash", patterns.Allow, "it allows too much"},
		{gated, "npm i", "Bash(*)", patterns.Allow, "it allows too much"},
		{gated, "npm i", "Bash(npm", patterns.Allow, "not closed"},
		{gated, "npm i", "Bash(npm i)", patterns.Ask, "only allow and deny"},
		{gated, "npm i", "Bash(npm i)", 0, "only allow and deny"},
		{gated, "cat x; npm i", "Read(x)", patterns.Allow, "covers nothing that is asked"},
		{spec{ask: "Bash(rm:*)", risk: true}, "rm -rf x", "Bash(rm -rf x)", patterns.Allow, "tier 3"},
		{spec{ask: "Bash(rm:*); Bash(npm:*)", risk: true}, "npm i; rm -rf x", "Bash(rm -rf:*)", patterns.Allow, "it allows too much"},
		{spec{ask: "Bash(rm:*); Bash(npm:*)", risk: true}, "npm i; rm -rf x", "Bash(npm i)", patterns.Allow, ""},
		{gated, "python3 -c x", "Bash(python3 -c x)", patterns.Allow, "cannot be analysed"},
		{spec{allow: "Bash", deny: "Bash(rm:*)"}, "$x", "Bash(ls)", patterns.Allow, "can only be approved once"},
		{gated, "npm i --password hunter2secret", "Bash(npm i --password hunter2secret)", patterns.Allow, "secret"},
		{gated, "npm i --password hunter2secret", "Bash(npm i --password hunter2secret)", patterns.Deny, "secret"},
		{gated, "npm i --password hunter2secret", "Bash(npm * hunter2secret)", patterns.Allow, "secret"},
		{gated, "npm i --password hunter2secret", "Bash(npm i:*)", patterns.Allow, ""},
		{gated, "npm i", "Bash(npm i)", patterns.Deny, ""},
		{gated, "npm i", "Bash(npm:*)", patterns.Deny, ""},
		{gated, "npm i", "Bash(npm test)", patterns.Deny, "would not reliably deny"},
		{gated, "$x", "Bash(rm:*)", patterns.Deny, "would not reliably deny"},
		{spec{ask: "Bash(rm:*)", risk: true}, "rm -rf x", "Bash(rm -rf:*)", patterns.Deny, ""},
	}
	for _, tt := range tests {
		v, r := asked(t, tt.s, using("Bash", tt.line))
		err := r.CanKeep(tt.list, tt.rule)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s: %v, want %q", tt.rule, tt.line, err, tt.want)
		}
		if s := v.Session.standing(); s.allow.Len()+s.deny.Len() != 0 {
			t.Errorf("%s is kept by asking whether it may", tt.rule)
		}
	}
	_, held := asked(t, spec{allow: "Bash", deny: "Bash(rm:*)"}, using("Bash", "$x; npm i"))
	if err := held.CanKeep(patterns.Allow, "Bash(npm i)"); err == nil || err.Error() != heldPart {
		t.Errorf("for a held ask: %v", err)
	}
	forged := Request{Decision: Decision{Behavior: Ask, Parts: []Part{{Behavior: Ask}}}}
	if err := forged.CanKeep(patterns.Allow, "Bash(ls)"); err == nil || forged.Answers("Bash(ls)") || !forged.Reaches("ls") || !forged.ReachesBelow("/") {
		t.Errorf("a request of nobody keeps rules: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	_, r := asked(t, spec{allow: "Read", ask: "Bash(cat:*)"}, using("Bash", "npm i; npm test"))
	for rules, want := range map[string]bool{
		"Bash(npm i);Bash(npm test)": true, "Bash(npm:*)": true, "Bash(npm i)": false, "": false, "Bash(x": false,
	} {
		var list []string
		if rules != "" {
			list = strings.Split(rules, ";")
		}
		if got := r.Answers(list...); got != want {
			t.Errorf("%q: %v", rules, got)
		}
	}
}

func TestReaches(t *testing.T) {
	tests := []struct {
		line string
		want bool
	}{
		{"rm -rf x", true}, {"rm $x", true}, {"rm x", true}, {"kill $x", true}, {"ls; halt", true}, {"$(halt)", true}, {"sudo rm -rf $x", true},
		{"systemctl $x", true}, {"systemctl poweroff", true}, {"systemctl restart $x", false}, {"cryptsetup open $x", false}, {"cryptsetup luksErase $x", true},
		{"ls $x", false}, {"git push $x", false}, {"unheard-of $x", false}, {"npm $x", false}, {"$x", false},
		{"cp $x", false}, // catastrophic for a device, and denied whatever is kept
		{"ls 'open", false}, {"", true},
	}
	for _, s := range []spec{{risk: true}, {}} {
		_, r := asked(t, s, using("Bash", "frob x"))
		for _, tt := range tests {
			if got := r.Reaches(tt.line); got != tt.want {
				t.Errorf("%q: %v, with tiers %v", tt.line, got, s.risk)
			}
		}
	}
}

// riskSays returns overrides that put commands and paths into tier 3 and take
// some out of it.
func riskSays(t testing.TB) []Override {
	matched := func(tools ...string) (m Matched) {
		m.Possible = set(t, patterns.Deny, strings.Join(tools, "; "), "risk_overrides")
		m.Proven = set(t, patterns.Allow, strings.Join(tools, "; "), "risk_overrides")
		return m
	}
	return []Override{
		{Commands: matched("Bash(npm publish:*)"), Class: risk.Forbidden, Text: "npm publish"},
		{Paths: matched("Edit(/srv/prod/**)", "Read(/srv/prod/**)"), Class: risk.Forbidden, Text: "/srv/prod/**"},
		{Commands: matched("Bash(halt)"), Class: risk.Moderate, Text: "halt"},
	}
}

// Reaches includes what a policy, or a further one, puts into tier 3.
func TestReachesOverrides(t *testing.T) {
	v, _ := evaluator(t, spec{risk: true}, nil)
	more := *v.Policy
	more.Overrides = riskSays(t)
	for name, p := range map[string]*Policy{"its own": &more, "of a further one": {Mode: v.Policy.Mode, Place: place, Further: []*Policy{&more}}} {
		v.Policy = p
		r := v.Request(using("Bash", "frob x"))
		for line, want := range map[string]bool{
			"npm $x": true, "npm publish $x": true, "npm test $x": false, "nom $x": false, "cat /srv/prod/$x": true, "cat /srv/$x/y": true,
		} {
			if got := r.Reaches(line); got != want {
				t.Errorf("%s: %s: %v", name, line, got)
			}
		}
		for dir, want := range map[string]bool{
			"/srv": true, "/srv/prod": true, "/srv/prod/x": true, "/": true, "/srv/product": false, workspace: false, workspace + "/src": false,
		} {
			if got := r.ReachesBelow(dir); got != want {
				t.Errorf("%s: %s: %v", name, dir, got)
			}
		}
	}
	v.Policy, v.Env = &more, badFS{}
	if r := v.Request(using("Bash", "frob x")); !r.ReachesBelow("/srv/product") {
		t.Error("what fails reaches nothing")
	}
}

// "deny for this session": the rules of a deny are kept too, and not asked
// about again.
func TestDeniedForTheSession(t *testing.T) {
	p := &person{answers: []Answer{{Behavior: Deny, Scope: ScopeSession, Rules: []string{"Bash(npm:*)", "Bash(ls)"}, Message: "no"}}}
	v, _ := evaluator(t, spec{allow: "Read"}, p)
	if res := can(t, v, using("Bash", "npm i")); res.Message != "no" || !strings.Contains(res.Reason, "denied once, rule Bash(ls) was not kept") {
		t.Errorf("%+v", res)
	}
	for _, line := range []string{"npm i", "npm test"} {
		if res := can(t, v, using("Bash", line)); res.Behavior != Deny || res.Layer != LayerSessionDeny || len(p.asked) != 1 {
			t.Errorf("%s: %s, asked %d times", line, outcome(res.Decision), len(p.asked))
		}
	}
	if res := can(t, v, using("Bash", "ls")); res.Layer == LayerSessionDeny {
		t.Errorf("ls: %s", outcome(res.Decision))
	}
}

// An invalid scope keeps nothing.
func TestOddScope(t *testing.T) {
	p := &person{answers: []Answer{{Behavior: Allow, Scope: 7, Rules: []string{"Bash(npm i)"}}}}
	v, _ := evaluator(t, spec{}, p)
	if res := can(t, v, using("Bash", "npm i")); !strings.Contains(res.Reason, "not for the session") || v.Session.standing().allow.Len() != 0 {
		t.Errorf("%+v", res)
	}
}

// A request that does not come from an evaluator keeps nothing either.
func TestOddSuppositions(t *testing.T) {
	v, r := asked(t, spec{}, using("Bash", "npm i"))
	for _, then := range []Decision{{}, {Behavior: Deny, Reason: "why"}, {Behavior: Ask}, {Behavior: 7, Parts: r.Decision.Parts}} {
		if err := r.proves(then); err == nil || !strings.Contains(err.Error(), "would still be asked") {
			t.Errorf("%v: %v", then.Behavior, err)
		}
	}
	ask, _, err := patterns.Parse("Bash(ls)", patterns.Ask, patterns.Source{})
	if err != nil {
		t.Fatal(err)
	}
	if d := r.suppose([]*patterns.Rule{ask}); d.Behavior != Deny {
		t.Errorf("%+v", d)
	}
	v.Session = nil
	r = v.Request(r.Use)
	if err := r.CanKeep(patterns.Allow, "Bash(npm i)"); err != nil {
		t.Error(err)
	}
	v.Policy = nil
	if r = v.Request(r.Use); r.Decision.Behavior != Deny || r.CanKeep(patterns.Deny, "Bash(npm i)") == nil {
		t.Errorf("%+v", r.Decision)
	}
}

// Two decisions are compared part by part only if they have the same actions,
// since a further policy may have others.
func TestPartsOfAnotherOrder(t *testing.T) {
	_, r := asked(t, spec{allow: "Read"}, using("Bash", "npm i; npm test"))
	i, test := r.Decision.Parts[0], r.Decision.Parts[1]
	allowed := func(p Part) Part { p.Behavior = Allow; return p }
	moved, renamed := allowed(test), allowed(test)
	moved.Pos++
	renamed.Action = "run npm publish"
	for name, then := range map[string][]Part{
		"turned round":     {allowed(test), i},
		"another action":   {i, renamed},
		"another place":    {i, moved},
		"another kind":     {i, {Subject: Subject{Kind: patterns.ReadPath}, Action: test.Action, Pos: test.Pos, End: test.End, Behavior: Allow}},
		"one action fewer": {allowed(i)},
	} {
		if err := r.proves(Decision{Behavior: Ask, Parts: then}); err == nil || !strings.Contains(err.Error(), "would still be asked") {
			t.Errorf("%s: %v", name, err)
		}
		for at := range then {
			then[at].Behavior = Allow
		}
		r.suppose = func([]*patterns.Rule) Decision { return Decision{Behavior: Ask, Parts: then} }
		if r.Answers("Bash(npm test)") {
			t.Errorf("%s: what was asked about counts as answered", name)
		}
	}
	r.suppose = func([]*patterns.Rule) Decision {
		return Decision{Behavior: Ask, Parts: []Part{allowed(i), allowed(test)}}
	}
	if err := r.proves(Decision{Behavior: Ask, Parts: []Part{i, allowed(test)}}); err != nil || !r.Answers("Bash(npm:*)") {
		t.Errorf("the same actions: %v", err)
	}
}
