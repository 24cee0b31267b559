package approval

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// answering answers the first question, and denies and counts all others.
type answering struct {
	answer permission.Answer
	asked  int
}

func (a *answering) Approve(context.Context, permission.Request) (permission.Answer, error) {
	if a.asked++; a.asked == 1 {
		return a.answer, nil
	}
	return permission.Answer{Behavior: permission.Deny}, nil
}

type unrecorded struct{}

func (unrecorded) Record(context.Context, permission.Record) error { return nil }

// kept returns an evaluator whose person has answered a tool use by its bounded rung, and
// the rung.
func kept(t *testing.T, l lists, use string) (*permission.Evaluator, Rung) {
	t.Helper()
	v := evaluator(t, l)
	r := v.Request(using(use))
	rung, err := Bounded(&r)
	if err != nil {
		t.Fatalf("%s: %v", use, err)
	}
	v.Recorder = unrecorded{}
	v.Approver = &answering{answer: permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeSession, Rules: rung.Rules, UpTo: rung.UpTo}}
	res, err := v.CanUseTool(t.Context(), using(use))
	if err != nil || res.Behavior != permission.Allow || len(v.Session.Grants()) != 1 {
		t.Fatalf("%s: %v %s %+v", use, err, res.Reason, v.Session.Grants())
	}
	return v, rung
}

// TestBounded checks that the rung without --force answers for pushes, and for none that
// overwrites or removes what is there, however it is written.
func TestBounded(t *testing.T) {
	for _, l := range []lists{{ask: "Bash(git push:*)", allow: "Bash"}, {}, {allow: "Read"}, {ask: "Bash"}} {
		v, rung := kept(t, l, "Bash: git push origin main")
		if rung.Label != "any `git push` without --force, --mirror or the like" || !slices.Equal(rung.Rules, []string{"Bash(git push:*)"}) {
			t.Errorf("%+v", rung)
		}
		for _, line := range []string{"git push", "git push origin dev", "git push -u origin main", "git push --tags origin", "git push origin a:b"} {
			if d := v.Request(using("Bash: " + line)).Decision; d.Behavior != permission.Allow || d.Layer != permission.LayerSessionAllow {
				t.Errorf("%+v: %s: %s by %s: %s", l, line, d.Behavior, d.Layer, d.Reason)
			}
		}
		for _, line := range []string{
			"git push --force", "git push -f", "git push origin +main", "git push origin :x", "git push --mirror", "cd x && git push -f", "git push -uf origin x",
			"git push --force-with-lease", "git push origin main --forc", "git push --mirr", "git push --del origin x", "git push -d origin x", "git push --prune",
			"git push -- origin +x", "git push origin $x", "git push $x", "git push --unknown", "git push -Z", "git push 'origin' '+a:b'", "git push --fo\\rce",
			"git push origin {+a,b}", "git push *", "env git push -f", "git -C /y push -f", "git push origin main; git push -f", "git -c push.default=x push",
			"(git push --force)", "git push origin main --force || true", "f=--force; git push $f", "git push \"$(echo -f)\"", "/usr/bin/git push -f", "git push origin main -f",
		} {
			if d := v.Request(using("Bash: " + line)).Decision; d.Behavior == permission.Allow {
				t.Errorf("%+v: %s: %s by %s: %s", l, line, d.Behavior, d.Layer, d.Reason)
			}
		}
	}
}

// TestBoundedAsks checks what rungs of other subcommands of git do not answer for: an
// operand of git checkout may be a path, whose changes are discarded; a branch is moved
// away from its commits; a reference is removed; a URL in a value runs a command.
func TestBoundedAsks(t *testing.T) {
	for use, lines := range map[string]string{
		"git push origin main": "git push --repo='ext::sh -c x'|git push --rep=ext::x|git push --repo='fd::3'|git push --repo 'ext::sh -c x'",
		"git checkout -b x": "git checkout src/|git checkout README.md|git checkout main src|git checkout HEAD README.md|git checkout ./x|git checkout ':(top)x'|git checkout '*.go'|" +
			"git checkout --ours x|git checkout -q x|git checkout -b x y|git checkout --pathspec-from-file=x|git checkout --pathspec-f=x|git checkout -p|git checkout --patch|git checkout -B main|git checkout -Bmain|git checkout -qB main",
		"git switch x":          "git switch -C x|git switch -Cx|git switch --force-create x|git switch --force-c x|git switch -qC x|git switch -f x",
		"git update-ref x y":    "git update-ref refs/heads/main 0000000000000000000000000000000000000000|git update-ref -d x|git update-ref --stdin",
		"docker compose down":   "docker compose down -v|docker compose down --vol|docker compose down -t 1 -v|docker compose down --volumes=true",
		"git worktree remove x": "git worktree remove -f x|git worktree remove --for x|git worktree remove x -ff",
		"git gc":                "git gc --prune=now|git gc --pru=now",
		"gh api x":              "gh api -X DELETE x|gh api -XDELETE x|gh api --meth=DELETE x|gh api x -f a=b|gh api -iX DELETE x|gh api --input f x",
	} {
		v, rung := kept(t, lists{ask: "Bash"}, "Bash: "+use)
		for line := range strings.SplitSeq(lines, "|") {
			if d := v.Request(using("Bash: " + line)).Decision; d.Behavior == permission.Allow {
				t.Errorf("%s: %s: %s", rung.Label, line, d.Reason)
			}
		}
	}
}

// TestBoundedFails checks that a bound that cannot be kept keeps nothing.
func TestBoundedFails(t *testing.T) {
	line := using("Bash: git push origin main")
	moderate := risk.GradeOf(risk.Moderate, false)
	for name, answer := range map[string]permission.Answer{
		"always":            {Scope: permission.ScopeAlways, UpTo: moderate},
		"exactly this":      {Scope: permission.ScopeUse, UpTo: moderate},
		"too low":           {Scope: permission.ScopeSession, UpTo: risk.GradeOf(risk.Safe, true)},
		"no grade":          {Scope: permission.ScopeSession, UpTo: 1},
		"of tier 3":         {Scope: permission.ScopeSession, UpTo: risk.GradeOf(risk.Forbidden, true)},
		"more than a grade": {Scope: permission.ScopeSession, UpTo: 255},
	} {
		v := evaluator(t, lists{ask: "Bash(git push:*)", allow: "Bash"})
		answer.Behavior = permission.Allow
		if answer.Scope != permission.ScopeUse {
			answer.Rules = []string{"Bash(git push:*)"}
		}
		v.Recorder, v.Approver = unrecorded{}, &answering{answer: answer}
		if res, err := v.CanUseTool(t.Context(), line); err != nil || res.Behavior != permission.Allow || len(v.Session.Grants()) != 0 || !strings.Contains(res.Reason, "once") {
			t.Errorf("%s: %v, %s, %+v", name, err, res.Reason, v.Session.Grants())
		}
		if d := v.Request(line).Decision; d.Behavior != permission.Ask {
			t.Errorf("%s: afterwards %s", name, d.Reason)
		}
	}
}

// TestNoBound checks where no such rung is offered.
func TestNoBound(t *testing.T) {
	for use, l := range map[string]lists{
		"Bash: git push $x":                     {ask: "Bash"},        // not certain
		"Bash: git push --frob":                 {ask: "Bash"},        // not certain
		"Bash: git push --force":                {ask: "Bash"},        // nothing is graver
		"Bash: npm publish":                     {ask: "Bash"},        // nothing is graver
		"Bash: rm notes.txt":                    {ask: "Bash"},        // two options together make it graver
		"Bash: kill 12":                         {ask: "Bash"},        // so does an operand
		"Bash: frob up":                         {ask: "Bash"},        // its options are not known
		"Bash: git status && git push":          {ask: "Bash"},        // two parts
		"Bash: bash build.sh":                   {ask: "Bash"},        // it runs what it is given
		"Bash: git checkout x":                  {ask: "Bash"},        // x may be a path
		"Bash: rm -rf build":                    {ask: "Bash(rm:*)"},  // of tier 3
		"Bash: git push; cat \"$x\"":            {deny: "Read(.env)"}, // held
		"Edit: src/a.go":                        {ask: "Edit"},        // no command
		"Bash: echo $x > /srv/x/y":              {},                   // no command
		"Bash: git push https://a:b@github.com": {ask: "Bash"},        // may be offered: the rule has no secret
	} {
		r := evaluator(t, l).Request(using(use))
		rung, err := Bounded(&r)
		if err == nil && use != "Bash: git push https://a:b@github.com" {
			t.Errorf("%s: %+v", use, rung)
		}
	}
}

// TestBoundedAnswers checks over the corpora that a bounded rung answers for what it was
// kept for, that its label names options, and that with any of them a person is asked.
func TestBoundedAnswers(t *testing.T) {
	rungs := map[string]int{}
	for _, use := range everyUse(t) {
		l := policies[2]
		r := evaluator(t, l).Request(use)
		rung, err := Bounded(&r)
		if err != nil {
			continue
		}
		if rungs[rung.Label]++; rungs[rung.Label] > 2 {
			continue
		}
		v := evaluator(t, l)
		g := permission.Grant{ID: 1, Behavior: permission.Allow, Rule: rung.Rules[0], UpTo: rung.UpTo}
		if err := v.Session.Restore([]permission.Grant{g}, 1); err != nil {
			t.Fatal(err)
		}
		if d := v.Request(use).Decision; d.Behavior != permission.Allow {
			t.Errorf("%s with %+v: %s", use.Input, rung, d.Reason)
		}
		_, names, _ := strings.Cut(rung.Label, "` without ")
		names = strings.TrimSuffix(names, " or the like")
		for name := range strings.SplitSeq(names, ", ") {
			line := spec(rung.Rules[0]) + " " + name + " x"
			if d := v.Request(using("Bash: " + line)).Decision; !strings.HasPrefix(name, "-") || d.Behavior == permission.Allow {
				t.Errorf("%q: %s: %s", rung.Label, line, d.Reason)
			}
		}
	}
	if len(rungs) == 0 {
		t.Error("no rung at all")
	}
	t.Log(rungs)
}
