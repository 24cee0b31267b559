package patterns

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrors(t *testing.T) {
	t.Parallel()
	both := []List{Allow, Deny}
	noAllow, noDeny := []List{Allow}, []List{Ask, Deny}
	for _, test := range []struct {
		rule  string
		lists []List
		col   int
		want  string // a part of the message
	}{
		{"", both, 1, "the rule is empty"},
		{"Bash(rm -rf *)*", both, 15, "write Bash(rm -rf *)"},
		{"Bash(ls:*", both, 5, `"(" is not closed; write Bash(ls:*)`},
		{"Bash)", both, 5, `")" without "("`},
		{"Bash()", both, 6, "the specifier is empty; write Bash"},
		{"Bash( )", both, 7, "the specifier is empty"},
		{"Read()", both, 6, "the specifier is empty"},
		{"bash(ls)", both, 1, "did you mean Bash?"},
		{"Webfetch", both, 1, "did you mean WebFetch?"},
		{"BaBash(cat > task_:*_time.log::*)", both, 1, "did you mean Bash?"},
		{"Fetch(*)", both, 1, "did you mean WebFetch?"},
		{"Create(*)", both, 1, "did you mean Write?"},
		{"Update", both, 1, "did you mean Edit?"},
		{"todo_write", both, 1, "did you mean TodoWrite?"},
		{"Bash:git add.*", both, 5, "did you mean Bash(git add *)?"},
		{`Write:README\.md`, both, 6, "did you mean Write(README.md)?"},
		{"Edit:tests/.*", both, 5, "did you mean Edit(tests/**)?"},
		{"Glob:.*", both, 5, "did you mean Glob?"},
		{"Bash(:* | wc:*)", both, 6, `":*" is only valid at the end`},
		{"Bash(curl localhost:*/health)", both, 20, `":*" is only valid at the end`},
		{"Bash(:*)", both, 6, "name the command"},
		{"mcp__s__:*", both, 9, "write mcp__s__*"},
		{"mcp__", both, 6, "needs a server"},
		{"mcp__s__", both, 9, "needs a server and a tool"},
		{"mcp__a b", both, 7, "in an MCP name"},
		{"mcp__plugin_x_*", noAllow, 15, "name the server: mcp__plugin_x__*"},
		{"mcp__*", noAllow, 6, "name the server"},
		{"*", noAllow, 1, "write the name of a tool"},
		{"*(x)", []List{Deny}, 3, "name the tool"},
		{"Bash(* --version)", noAllow, 6, "the rule would match any program"},
		{"Bash(curl * | bash)", noDeny, 13, "Bash(curl:*) and Bash(bash:*)"},
		{"Bash(> /dev/*)", noDeny, 6, "Edit(/dev/*)"},
		{"Bash(GIT_AUTHOR_EMAIL=* git commit:*)", noDeny, 6, "write Bash(git commit:*)"},
		{"Bash(do rm x)", noDeny, 6, `"do" is a shell keyword`},
		{"Bash(X=1)", noDeny, 6, "only sets a variable"},
		{"Bash(# rm)", noDeny, 6, "begins a comment"},
		{"Bash('rm)", noDeny, 6, "a quote is not closed"},
		{"Bash(rm $X:*)", noDeny, 9, "known only when the line runs"},
		{"Bash(__NEW_LINE_a__ rm x)", noDeny, 6, "write Bash(rm x)"},
		{"Bash(a (b)", both, 6, ""},
		{`Read(c:\x\**)`, noDeny, 6, "Windows paths"},
		{"Read($HOME/x)", noDeny, 6, "variables are not expanded"},
		{"Read(a/../b)", both, 6, `".." in a pattern`},
		{"Read(a[b)", both, 6, `"[" is not closed`},
		{"Read({a,b)", both, 6, `"{" is not closed`},
		{"Read([a-])", both, 6, "is not valid"},
		{`Read(a\)`, both, 6, `a "\" at the end`},
		{"Read(!x)", both, 6, "cannot be negated"},
		{"Read(a\nb)", both, 7, "control character"},
		{"Bash(a\x01b)", both, 7, "control character"},
		{"Bash(a\xffb)", both, 7, "not UTF-8"},
		{"WebFetch(https://x.org/y)", both, 10, "write WebFetch(domain:x.org)"},
		{"WebFetch(domain:x.org:0)", both, 23, "a port is a number from 1 to 65535; write WebFetch(domain:x.org) for every port"},
		{"WebFetch(domain:x.org:65536)", both, 23, "a port is a number from 1 to 65535"},
		{"WebFetch(domain:x.org:http)", both, 23, "a port is a number from 1 to 65535"},
		{"WebFetch(domain:x.org:*)", both, 23, "a port is a number from 1 to 65535"},
		{"WebFetch(x.org:)", both, 16, "a port is a number from 1 to 65535"},
		{"WebFetch(:80)", both, 10, "neither a name nor an address"},
		{"WebFetch(*:80)", both, 10, "may only be the first part"},
		{"WebFetch(::1)", both, 10, "in brackets"},
		{"WebFetch(fe80::1:80)", both, 10, "in brackets"},
		{"WebFetch(domain:)", both, 17, "the host is empty"},
		{"WebFetch(domain:x.*)", both, 19, "may only be the first part"},
		{"WebFetch(a b)", both, 10, "neither a name nor an address"},
		{"Monitor(ls)", noDeny, 9, "write Bash(ls)"},
		{"TodoWrite(x)", noDeny, 11, "write TodoWrite"},
		{"PowerShell(rm *)", noDeny, 12, "not analysed"},
		{"Bash(rm\u200b:*)", noDeny, 8, "U+200B"},
		{"Bash(git\u00a0push:*)", noDeny, 9, "looks like a space"},
		{"Web*", both, 4, "wildcards are not allowed in a name"},
		{"(ls)", both, 1, "names no tool"},
		{strings.Repeat("x", maxRule+1), both, 1, "longer than"},
		{"Bash(" + strings.Repeat("*a", maxStars+1) + ")", []List{Deny}, 6, "wildcards"},
		{"Bash(rm " + strings.Repeat("a", maxPattern) + "*x)", both, 6, "longer than"},
	} {
		for _, list := range test.lists {
			if test.want == "" {
				continue
			}
			_, _, err := Parse(test.rule, list, Source{})
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%v %s: error %v, want one", list, shown(test.rule), err)
				continue
			}
			if e.Col != test.col || !strings.Contains(e.Error(), test.want) {
				t.Errorf("%v %s: column %d, %v; want column %d, %q", list, shown(test.rule), e.Col, err, test.col, test.want)
			}
			if e.Fix == "" {
				t.Errorf("%v %s: no fix in %v", list, shown(test.rule), err)
			}
		}
	}
}

func TestErrorPlace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		src  Source
		want string
	}{
		{Source{}, `rule bash(é): there is no tool bash; did you mean Bash?`},
		{Source{Name: "--deny"}, `--deny:1: rule bash(é): there is no tool bash; did you mean Bash?`},
		{Source{Name: "agent-wrapper.toml", Line: 3}, `agent-wrapper.toml:3:1: rule bash(é): there is no tool bash; did you mean Bash?`},
		{Source{Name: "agent-wrapper.toml", Line: 3, Col: 9}, `agent-wrapper.toml:3:9: rule bash(é): there is no tool bash; did you mean Bash?`},
	} {
		_, _, err := Parse("bash(é)", Deny, test.src)
		if err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	_, _, err := Parse("Read(é[)", Deny, Source{Name: "f", Line: 2, Col: 10})
	if want := "f:2:15: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want it to begin with %s", err, want)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule string
		list List
		kind WarningKind
		want string
	}{
		{"Bash", Allow, Danger, "every command line"},
		{"Bash(*)", Allow, Danger, "every command line"},
		{"Bash(ls*)", Allow, Note, `write "ls *" for one program`},
		{"Bash(chmod :*)", Deny, Note, `spaces before ":*"`},
		{"Bash(done)", Allow, Dead, "keyword"},
		{"Bash(for f in a b)", Allow, Dead, "keyword"},
		{"Bash(__NEW_LINE_a__ ls)", Allow, Dead, "write Bash(ls)"},
		{"Bash(# x)", Allow, Dead, "comment"},
		{"Bash(A=1)", Allow, Dead, "only sets a variable"},
		{"Bash(A=1 x:*)", Allow, Dead, "write Bash(x:*)"},
		{"Bash(/tmp/x.md <<'EOF'\na\nEOF)", Allow, Dead, "here-document"},
		{"Bash(cd x && y:*)", Allow, Dead, "Bash(cd:*) and Bash(y:*)"},
		{"Bash(rm *.o && make)", Allow, Note, "only this exact line"},
		{"Bash(a && b)", Deny, Note, "only this exact line"},
		{"Bash(python3 -c ' *)", Allow, Danger, "any argument"},
		{"Bash(node:*)", Allow, Danger, "runs whatever"},
		{"Bash(/usr/bin/python3 -c:*)", Allow, Danger, "runs whatever"},
		{"Bash(python*)", Allow, Note, "every program whose name"},
		{"Bash(rm:*)", Allow, Danger, "removes whatever"},
		{"Bash(sudo ls:*)", Allow, Danger, "runs whatever"},
		{"Bash(curl -s http://localhost:*)", Allow, Note, "not a port"},
		{"Read(/etc/**)", Allow, Note, "absolute path"},
		{`Read(c:\x\**)`, Allow, Dead, "Windows"},
		{"PowerShell(a *)", Allow, Dead, "never matches"},
		{"MyTool(x)", Allow, Dead, "is unknown"},
		{"WebFetch(*.com)", Allow, Danger, "every host"},
		{"Edit(//**)", Allow, Danger, "every file"},
	} {
		_, warnings, err := Parse(test.rule, test.list, Source{Name: "f", Line: 1})
		if err != nil || len(warnings) == 0 {
			t.Errorf("%v %s: %v, error %v", test.list, test.rule, warnings, err)
			continue
		}
		w := warnings[0]
		if w.Kind != test.kind || !strings.Contains(w.String(), test.want) || !strings.HasPrefix(w.String(), "f:1:") {
			t.Errorf("%v %s: kind %d, %v; want kind %d, %q", test.list, test.rule, w.Kind, w, test.kind, test.want)
		}
	}
	for _, text := range []string{"Bash(git push:*)", "Bash(git log *)", "Read(./.env)", "mcp__s", "Skill(x)", "Bash(xargs grep:*)", "Bash(node x.js:*)", "Bash([ *)", "Bash(npm test)"} {
		for _, list := range []List{Allow, Ask, Deny} {
			if _, warnings, err := Parse(text, list, Source{}); err != nil || len(warnings) > 0 {
				t.Errorf("%v %s: %v, error %v", list, text, warnings, err)
			}
		}
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" Bash ": "Bash", "Bash(*)": "Bash(*)", "Bash( ls )": "Bash(ls)", "Bash(git push  :*)": "Bash(git push:*)",
		"Read( ./x )": "Read(./x)", "Bash(echo (a))": "Bash(echo (a))", "WebFetch( domain: x.org )": "WebFetch(domain: x.org)",
	} {
		r, _, err := Parse(text, Allow, Source{Name: "f", Line: 7})
		if err != nil {
			if text != "Bash(echo (a))" {
				t.Error(err)
			}
			continue
		}
		if r.String() != want {
			t.Errorf("%q prints as %q, want %q", text, r, want)
		}
		if r.Source() != (Source{Name: "f", Line: 7}) || r.List() != Allow {
			t.Errorf("%s: source %v, list %v", r, r.Source(), r.List())
		}
	}
}

func TestSplitList(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want []string
		err  string
	}{
		{"", nil, ""},
		{"Read", []string{"Read"}, ""},
		{"Bash(git push:*),Read, Edit(a,b) ,", []string{"Bash(git push:*)", "Read", "Edit(a,b)"}, ""},
		{"Bash(f(a,b),c),X", []string{"Bash(f(a,b),c)", "X"}, ""},
		{`Bash(grep \(,x),Y`, []string{`Bash(grep \(,x)`, "Y"}, ""},
		{"Bash(ls,Read", nil, `rule Bash(ls,Read: "(" is not closed`},
		{"Bash),x", nil, `")" without "("`},
	} {
		got, err := SplitList(test.text)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: error %v, want %q", test.text, err, test.err)
		}
	}
}
