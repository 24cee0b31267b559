package whitelist

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestForbid: the answers of each mode to the reasons.
func TestForbid(t *testing.T) {
	long := "npm test " + strings.Repeat("x", 500)
	dry := `,"policy":{"dry_run_mode":true}}`
	for _, tt := range []struct {
		name, text string
		want       map[string]string // line: behavior and kind
	}{
		{"strict", strictTools, map[string]string{"npm test": "", "npm ci": "deny not_whitelisted", "npm test --x": "deny dangerous_args", "npm test | x": "deny shell_operators", long: "deny too_long", "npm test -g": "deny dangerous_args"}},
		{"permissive", strings.Replace(strictTools, "strict", "permissive", 1), map[string]string{"npm test": "", "npm ci": "ask not_whitelisted", "evil": "ask not_whitelisted", "npm test --x": "ask not_whitelisted", "npm test -g": "deny dangerous_args", "FOO=1 npm test": "deny dangerous_args", "npm test | x": "deny shell_operators", long: "deny too_long"}},
		{"dry", tools + dry, map[string]string{"npm test": "", "npm ci": "0 not_whitelisted", "npm test --x": "0 dangerous_args", "npm test | x": "0 shell_operators", long: "0 too_long"}},
	} {
		var logged []string
		v := &Validator{List: parse(t, tt.text), Log: func(text string) { logged = append(logged, text) }}
		for line, want := range tt.want {
			o := v.Forbid(line, analyze(line))
			got := strings.TrimSpace(map[permission.Behavior]string{permission.Deny: "deny", permission.Ask: "ask", 0: "0"}[o.Behavior] + " " + o.Kind)
			if want == "" {
				want = "0"
			}
			if got != want || (o.Reason == "") != (o.Kind == "") || strings.Contains(o.Reason, "\n") {
				t.Errorf("%s: %q: %s %q, want %s", tt.name, line, got, o.Reason, want)
			}
		}
		var wantLog []string
		if tt.name == "dry" {
			wantLog = []string{"[DRY RUN] Command validated: npm test"}
		}
		if diff := cmp.Diff(wantLog, logged); diff != "" {
			t.Error(tt.name, diff)
		}
	}
	v := &Validator{List: parse(t, tools+dry)}
	if o := v.Forbid("npm test", analyze("npm test")); o != (permission.Refusal{}) {
		t.Error(o)
	}
	want := permission.Refusal{Behavior: permission.Deny, Kind: "not_whitelisted", Reason: "Command not in whitelist. Add to .smartergpt/allowed-commands.json if legitimate. (there is no whitelist)"}
	if diff := cmp.Diff(want, (&Validator{}).Forbid("ls", analyze("ls"))); diff != "" {
		t.Error(diff)
	}
	if text := (&CommandValidationError{Reason: TooLong}).line(); text != "Command exceeds maximum allowed length." {
		t.Error(text)
	}
}

// TestFacts: without facts, or with those of another line, nothing passes.
func TestFacts(t *testing.T) {
	l := parse(t, strictTools)
	for name, facts := range map[string]*shell.Facts{"none": nil, "another line": analyze("npm  test"), "of another shell": shell.Analyze("npm test", shell.Options{Dialect: shell.Foreign})} {
		if e := l.Validate("npm test", facts); e == nil || e.Reason != ShellOperators {
			t.Errorf("%s: %v", name, e)
		}
	}
	// What another shell reads differently counts as an expansion.
	for line, dialect := range map[string]shell.Dialect{"echo =ls": shell.Zsh, "echo $'a\\x41'": shell.Sh} {
		if e := l.Validate(line, shell.Analyze(line, shell.Options{Dialect: dialect, Dir: "/w"})); e == nil || e.Reason != ShellOperators {
			t.Errorf("%q: %v", line, e)
		}
	}
	// An unknown program with an unparsed part.
	unknown := analyze("frob go")
	unknown.Actions = append(unknown.Actions, shell.Action{Kind: shell.Opaque, Parent: 0, Why: shell.Why{Cause: shell.CauseStandardInput}})
	if e := l.Validate("frob go", unknown); e == nil || e.Reason != DangerousArgs {
		t.Error(e)
	}
	// A line that does not parse, whatever the facts say.
	broken := analyze("npm 'test")
	broken.Failed = nil
	if e := l.Validate("npm 'test", broken); e == nil || e.Reason != ShellOperators || !strings.Contains(e.Detail, "parsed") {
		t.Error(e)
	}
	// A syntax tree that contradicts the facts.
	facts := analyze("npm test")
	facts.Actions = append(facts.Actions, facts.Actions[0])
	if e := l.Validate("npm test", facts); e == nil || e.Reason != ShellOperators {
		t.Error(e)
	}
	facts.Actions = facts.Actions[:1:1]
	facts.Actions = append(facts.Actions, shell.Action{Kind: shell.Opaque, Parent: -1})
	if e := l.Validate("npm test", facts); e == nil || e.Reason != ShellOperators {
		t.Error(e)
	}
}

// TestCustomNames: the name of a custom entry passes as its binary does, also
// where a shell runs the line; a program of the same name elsewhere does not.
func TestCustomNames(t *testing.T) {
	l := parse(t, strictTools)
	for line, want := range map[string]bool{
		"eslint --fix": true, "node_modules/.bin/eslint --fix": true, "npx eslint": true, "npx node_modules/.bin/eslint": true,
		"eslint src": false, "./eslint": false, "bin/eslint --fix": false, "eslint2": false, "npx eslint src": false,
	} {
		if got := (&Validator{List: l}).Validate(line, analyze(line)); (got == nil) != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	l := parse(t, strictTools)
	for line, want := range map[string][]string{
		"npm test": {"npm", "test"}, `CI=1 NODE_ENV='a b' "npm" te\st --workspace=x # y`: {"CI=1", "NODE_ENV=a b", "|", "npm", "test", "--workspace=x"}, "eslint --fix": {"node_modules/.bin/eslint", "--fix"},
		"node_modules/.bin/eslint": {"node_modules/.bin/eslint"}, "npx ls -l": {"npx", "ls", "-l"}, "ls ''": {"ls", ""}, "npm test | cat": nil, "npm ci": nil, "": nil,
	} {
		argv, env, ok := l.Command(line, analyze(line))
		got := argv
		if len(env) > 0 {
			got = slices.Concat(env, []string{"|"}, argv)
		}
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%q: %v %s", line, ok, diff)
		}
	}
	if _, _, ok := (*List)(nil).Command("ls", analyze("ls")); ok {
		t.Error("a nil list lets a command pass")
	}
}

// TestAllowedOperators: with allow_shell_operators each command has to be
// listed, and a line that passes needs a shell.
func TestAllowedOperators(t *testing.T) {
	l := parse(t, tools+`,"policy":{"allow_shell_operators":true}}`)
	for want, lines := range map[string][]string{
		"allowed":         {"npm test", "npm test && ls", "npm test | less", "npm test; ls; git status", "(npm test; ls)", "{ npm test; }", "! npm test", "npm test &", "npm test\nls", "npm test || ls -l", "npm test 2>&1 | less", "npm test > /dev/null", "npm test 2>/dev/null", "npm test >&2", "npm test < in", "npm test <<< x", "npm test <<'E'\n$x\nE", "eslint", "eslint && ls", "ls && eslint", "CI=1 npm test && ls", "node_modules/.bin/eslint && ls"},
		"shell_operators": {"npm test > x", "npm test >> x", "npm test &> x", "npm test >| x", "npm test <> x", "npm test $x", "npm test `ls`", "npm test *", "npm test ~", "X=1; ls", "CI=1; ls", "if ls; then ls; fi", "for x in a; do ls; done", "f() { ls; }", "[[ x ]]", "ls > /dev/tcp/a/1", "ls < /dev/tcp/a/1", "npm test <<E\n$x\nE", "npm test <<< $x", "export X=1", "npm test '", "ls <(ls)"},
		"not_whitelisted": {"npm test && evil", "evil; npm test", "npm test | evil", "(evil)", "npm test & evil", "npm test\nevil", "npx evil && ls", "! evil"},
		"dangerous_args":  {"npm test && npm test -g", "ls; npm test --x", "FOO=1 npm test && ls", "ls | less +x"},
		"too_long":        {"npm test && " + strings.Repeat("x", 500)},
	} {
		for _, line := range lines {
			if got := l.result(line); got != want {
				t.Errorf("%q: %s, want %s: %v", line, got, want, l.Validate(line, analyze(line)))
			}
		}
	}
	if _, _, ok := l.Command("npm test && ls", analyze("npm test && ls")); ok {
		t.Error("a line with operators has no argv")
	}
	if argv, _, ok := l.Command("eslint", analyze("eslint")); !ok || argv[0] != "node_modules/.bin/eslint" {
		t.Error(argv, ok)
	}
}

// TestTyped: errors.As finds the error in a joined one.
func TestTyped(t *testing.T) {
	err := errors.Join(errors.New("gate failed"), parse(t, strictTools).Validate("evil", analyze("evil")))
	var denied *CommandValidationError
	if !errors.As(err, &denied) || denied.Reason != NotWhitelisted || denied.Command != "evil" {
		t.Error(denied)
	}
	if got := (&CommandValidationError{Command: "a\nb\x1b", Reason: TooLong, Detail: "c\nd"}).Error(); strings.Count(got, "\n") != 2 || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
