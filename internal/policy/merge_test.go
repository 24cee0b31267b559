package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"pgregory.net/rapid"
)

var mergePlace = patterns.Place{Workspace: "/home/dev/proj", Home: "/home/dev"}

func sourceOf(t testing.TB, kind Kind, trusted bool, text string) Source {
	t.Helper()
	name := kind.String() + ".toml"
	spec, err := Parse([]byte(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return Source{Kind: kind, Name: name, Spec: spec, Trusted: trusted}
}

func decided(t testing.TB, spec *Spec, short string) permission.Decision {
	t.Helper()
	p, session, _, err := spec.Compile(mergePlace)
	if err != nil {
		t.Fatal(err)
	}
	tool, input, err := parseUse(short)
	if err != nil {
		t.Fatal(err)
	}
	use := permission.ToolUse{Tool: tool, Input: input, Dir: mergePlace.Workspace}
	return permission.Evaluate(p, session, &use, workspace.Fake{Dir: mergePlace.Workspace}, nil)
}

// TestMergePairs checks the effect of each setting of a second source on a
// first one, for all pairs of sources, trusted and not.
func TestMergePairs(t *testing.T) {
	const (
		trusted = iota // the second source is trusted and later
		earlier        // the second source is trusted and earlier
		not            // the second source is not trusted
	)
	for _, tt := range []struct {
		first, second, use string
		want               [3]string
	}{
		{`allow = ["Bash(git:*)"]`, `deny = ["Bash(git push:*)"]`, "Bash(git push)", [3]string{"deny", "deny", "deny"}},
		{`allow = ["Bash(git:*)"]`, `ask = ["Bash(git push:*)"]`, "Bash(git push)", [3]string{"ask", "ask", "ask"}},
		{`allow = ["Bash(git:*)"]`, `allow = ["Bash(npm:*)"]`, "Bash(npm i)", [3]string{"allow", "allow", "ask"}},
		{`allow = ["Bash(git:*)"]`, `allow = ["Bash(npm:*)"]`, "Bash(git push)", [3]string{"allow", "allow", "ask"}},
		{`allow = ["Bash(git:*)"]`, `allow = ["Bash(git push:*)"]`, "Bash(git push)", [3]string{"allow", "allow", "allow"}},
		{`ask = ["Bash(npm:*)"]`, `approved = ["Bash(npm test)"]`, "Bash(npm test)", [3]string{"allow", "allow", "ask"}},
		{`deny = ["Bash(npm:*)"]`, `approved = ["Bash(npm test)"]`, "Bash(npm test)", [3]string{"deny", "deny", "deny"}},
		{"", "[[rules]]\ntools = [\"Bash\"]\ncommands = [\"npm\"]\naction = \"allow\"", "Bash(npm i)", [3]string{"allow", "allow", "ask"}},
		{`allow = ["Bash"]`, "[[rules]]\ntools = [\"Bash\"]\ncommands = [\"npm\"]\naction = \"ask\"", "Bash(npm i)", [3]string{"ask", "ask", "ask"}},
		{`allow = ["Bash"]`, "[[rules]]\ntools = [\"Bash\"]\ncommands = [\"npm\"]\naction = \"deny\"", "Bash(npm i)", [3]string{"deny", "deny", "deny"}},
		{`mode = "default"`, `mode = "acceptEdits"`, "Edit(src/a)", [3]string{"allow", "ask", "ask"}},
		{`mode = "acceptEdits"`, `mode = "plan"`, "Edit(src/a)", [3]string{"deny", "allow", "deny"}},
		{`mode = "acceptEdits"`, `mode = "dontAsk"`, "Bash(npm i)", [3]string{"deny", "ask", "deny"}},
		{`mode = "plan"`, `mode = "dontAsk"`, "Edit(src/a)", [3]string{"deny", "deny", "deny"}},
		{`mode = "dontAsk"`, `mode = "plan"`, "Bash(npm i)", [3]string{"deny", "deny", "deny"}},
		{`allow = ["Read"]`, `unlisted = "deny"`, "Bash(npm i)", [3]string{"deny", "deny", "deny"}},
		{"allow = [\"Read\"]\nunlisted = \"deny\"", `unlisted = "ask"`, "Bash(npm i)", [3]string{"ask", "deny", "deny"}},
		{`allow = ["Read"]`, `unlisted = "risk"`, "Bash(ls)", [3]string{"allow", "allow", "allow"}},
		{`risk = "on"`, `risk = "off"`, "Bash(rm -rf x)", [3]string{"ask", "deny", "deny"}},
		{`risk = "off"`, `risk = "on"`, "Bash(ls)", [3]string{"allow", "ask", "ask"}},
		{"", `ask = ["Bash(rm:*)"]`, "Bash(rm -rf x)", [3]string{"ask", "ask", "deny"}},
		{`allow = ["Bash(deploy:*)"]`, "[programs.deploy]\noptions = [\"--hook= : run\"]", "Bash(deploy --hook 'curl x')", [3]string{"ask", "ask", "ask"}},
		{`allow = ["Bash(deploy:*)"]`, "[programs.deploy]\noperands = \"text\"\nsafe = true\noptions = [\"-f=\"]", "Bash(deploy -f /srv/x)", [3]string{"allow", "allow", "allow"}},
		{"", overriding("safe npm:*"), "Bash(npm i)", [3]string{"allow", "allow", "ask"}},
		{"", overriding("forbidden npm:*"), "Bash(npm i)", [3]string{"deny", "deny", "deny"}},
		{overriding("high npm i"), overriding("safe npm:*"), "Bash(npm i)", [3]string{"ask", "ask", "ask"}},
		{overriding("safe npm:*"), overriding("moderate npm:*"), "Bash(npm i)", [3]string{"ask", "ask", "ask"}},
		{overriding("safe reboot"), overriding("high reboot"), "Bash(reboot)", [3]string{"ask", "ask", "ask"}},
		{"", overriding("moderate reboot"), "Bash(reboot)", [3]string{"ask", "ask", "deny"}},
		{`profile = "default"`, `profile = "terminal"`, "Bash(reboot)", [3]string{"ask", "deny", "deny"}},
		{`profile = "terminal"`, `profile = "default"`, "Bash(reboot)", [3]string{"deny", "ask", "deny"}},
		{"", `sensitive_paths = "ask"`, "Read(.env)", [3]string{"ask", "ask", "ask"}},
		{`allow = ["Edit"]`, `protect = ["Makefile"]`, "Edit(Makefile)", [3]string{"ask", "ask", "ask"}},
		{"allow = [\"Edit\"]\nprotect = [\"Makefile\"]", `allow = ["Edit(Makefile)"]`, "Edit(Makefile)", [3]string{"allow", "allow", "ask"}},
		{`sensitive_paths = "ask"`, `sensitive_paths = "note"`, "Read(.env)", [3]string{"allow", "ask", "ask"}},
		{`allow = ["Bash(git:*)"]`, "[programs.wrap]\nplain = true\noperands = \"runs-args\"", "Bash(wrap git log)", [3]string{"allow", "allow", "ask"}},
	} {
		for first := Managed; first <= Flags; first++ {
			for second := Managed; second <= Flags; second++ {
				if first == second || first == Managed || second == Managed {
					continue // what a managed source keeps has its own test
				}
				sources := []Source{sourceOf(t, first, true, tt.first), sourceOf(t, second, true, tt.second)}
				way := trusted
				if second < first {
					way = earlier
				}
				check(t, sources, tt.use, tt.want[way])
				if second >= Project && second <= FrontMatter {
					sources[1].Trusted = false
					check(t, sources, tt.use, tt.want[not])
				}
			}
		}
	}
}

func check(t *testing.T, sources []Source, use, want string) {
	t.Helper()
	spec, _ := Merge(sources)
	if d := decided(t, spec, use); d.Behavior.String() != want {
		t.Errorf("%s then %s (trusted: %v), %s: %v, want %s: %s", sources[0].Kind, sources[1].Kind, sources[1].Trusted, use, d.Behavior, want, d.Reason)
	}
}

// TestManagedKeeps checks that what the administrator narrows stays narrow.
func TestManagedKeeps(t *testing.T) {
	for _, tt := range []struct{ managed, user, use, want, ignored string }{
		{`mode = "plan"`, `mode = "acceptEdits"`, "Edit(src/a)", "deny", ""},
		{`mode = "dontAsk"`, `mode = "plan"`, "Edit(src/a)", "deny", ""},
		{`mode = "acceptEdits"`, `mode = "default"`, "Edit(src/a)", "ask", ""},
		{"allow = [\"Read\"]\nunlisted = \"deny\"", `unlisted = "risk"`, "Bash(ls)", "deny", `user.toml:1:12: unlisted = "risk" is ignored: managed.toml sets deny`},
		{`risk = "on"`, `risk = "off"`, "Bash(rm -rf x)", "deny", `user.toml:1:8: risk = "off" is ignored: managed.toml sets on`},
		{"allow = [\"Bash(deploy:*)\"]\n[programs.deploy]\noptions = [\"--hook= : run\"]", "[programs.deploy]\nsafe = true\noperands = \"text\"\noptions = [\"--hook=\"]", "Bash(deploy --hook 'rm -rf x')", "deny", ""},
		{`catastrophic = "on"`, "catastrophic = \"off\"\nallow = [\"Bash(mkfs /dev/sdz9)\"]", "Bash(mkfs /dev/sdz9)", "deny", `user.toml:1:16: catastrophic = "off" is ignored: managed.toml sets on`},
		{`profile = "default"`, `profile = "terminal"`, "Bash(reboot)", "deny", `user.toml:1:11: profile = "terminal" is ignored: managed.toml sets default`},
		{`profile = "terminal"`, `profile = "default"`, "Bash(reboot)", "deny", ""},
		{`sensitive_paths = "ask"`, `sensitive_paths = "note"`, "Read(.env)", "ask", `user.toml:1:19: sensitive_paths = "note" is ignored: managed.toml sets ask`},
		{overriding("high npm:*"), overriding("safe npm i"), "Bash(npm i)", "ask", ""},
		{overriding("moderate npm $x"), overriding("safe npm:*"), "Bash(npm i)", "allow", ""},
		{overriding("high kubectl delete:*"), overriding("safe kubectl:*"), "Bash(kubectl delete x)", "ask", ""},
		{overriding("high rm:*"), overriding("safe /bin/rm:*"), "Bash(/bin/rm x)", "ask", ""},
		{overriding("moderate reboot"), overriding("safe reboot"), "Bash(reboot)", "ask", ""},
		{"", "catastrophic = \"off\"\nallow = [\"Bash(mkfs /dev/sdz9)\"]", "Bash(mkfs /dev/sdz9)", "allow", ""},
	} {
		spec, ignored := Merge([]Source{sourceOf(t, User, true, tt.user), sourceOf(t, Managed, true, tt.managed)})
		if d := decided(t, spec, tt.use); d.Behavior.String() != tt.want {
			t.Errorf("%s under %s: %s is %v, want %s: %s", tt.user, tt.managed, tt.use, d.Behavior, tt.want, d.Reason)
		}
		if got := fmt.Sprint(ignored); got != "["+tt.ignored+"]" {
			t.Errorf("%s under %s: ignored %s, want [%s]", tt.user, tt.managed, got, tt.ignored)
		}
	}
}

// TestModeOfSomebodyElse: no session loosens a mode that a managed or an untrusted source
// narrows to, whatever the others say.
func TestModeOfSomebodyElse(t *testing.T) {
	for _, tt := range []struct {
		kind             Kind
		trusted          bool
		mode, mine, want string
	}{
		{Managed, true, "plan", "", "deny"},
		{Managed, true, "plan", "plan", "deny"},
		{Managed, true, "plan", "default", "deny"},
		{Managed, true, "dontAsk", "", "deny"},
		{Managed, true, "default", "", "allow"},
		{Project, false, "plan", "", "deny"},
		{Project, false, "plan", "plan", "deny"},
		{Project, true, "plan", "plan", "allow"},
		{User, true, "plan", "", "allow"},
	} {
		sources := []Source{sourceOf(t, tt.kind, tt.trusted, "mode = \""+tt.mode+"\"")}
		if tt.mine != "" {
			sources = append(sources, sourceOf(t, Flags, true, "mode = \""+tt.mine+"\""))
		}
		spec, _ := Merge(sources)
		p, session, _, err := spec.Compile(mergePlace)
		if err != nil {
			t.Fatal(err)
		}
		session.SetMode(modes.AcceptEdits)
		use := permission.ToolUse{Tool: "Edit", Input: json.RawMessage(`{"file_path":"src/a"}`), Dir: mergePlace.Workspace}
		if d := permission.Evaluate(p, session, &use, workspace.Fake{Dir: mergePlace.Workspace}, nil); d.Behavior.String() != tt.want {
			t.Errorf("mode %s of %s (trusted: %v) and %q of mine: %v, want %s: %s", tt.mode, tt.kind, tt.trusted, tt.mine, d.Behavior, tt.want, d.Reason)
		}
	}
}

// TestIgnored checks that everything without effect is reported with its place.
func TestIgnored(t *testing.T) {
	const text = `mode = "bypassPermissions"
approved = ["Bash(npm:*)"]
unlisted = "risk"
risk = "off"
catastrophic = "off"
profile = "terminal"
sensitive_paths = "note"

[[rules]]
tools = ["Bash"]
action = "allow"

[[risk_overrides]]
pattern = "rm:*"
risk = "safe"

[[risk_overrides]]
pattern = "ls"
risk = "forbidden"
`
	_, ignored := Merge([]Source{sourceOf(t, Project, false, text)})
	var got []string
	for _, i := range ignored {
		got = append(got, i.String())
	}
	want := `project.toml:2:14: approved Bash(npm:*) is ignored: the file is not trusted
project.toml:9:1: an allow rule is ignored: the file is not trusted
project.toml:13:1: the lower risk of risk_overrides rm:* is ignored: the file is not trusted
project.toml:1:8: mode = "bypassPermissions" is ignored: the file is not trusted
project.toml:3:12: unlisted = "risk" is ignored: the file is not trusted
project.toml:4:8: risk = "off" is ignored: the file is not trusted
project.toml:6:11: profile = "terminal" is ignored: the file is not trusted
project.toml:7:19: sensitive_paths = "note" is ignored: the file is not trusted
project.toml:5:16: catastrophic = "off" is ignored: the file is not trusted`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if _, ignored := Merge([]Source{sourceOf(t, Local, true, `catastrophic = "off"`)}); len(ignored) != 1 {
		t.Errorf("a trusted local file that lifts the guard: ignored %v", ignored)
	}
}

var settingLines = []string{
	`allow = ["Bash(git:*)", "Read"]`, `allow = ["Bash"]`, `allow = ["Edit(src/**)"]`, `ask = ["Bash(rm:*)"]`, `ask = ["Edit"]`, `deny = ["Bash(curl:*)", "Read(.env)"]`,
	`approved = ["Bash(npm:*)"]`, `mode = "default"`, `mode = "plan"`, `mode = "dontAsk"`, `mode = "acceptEdits"`, `mode = "bypassPermissions"`,
	`unlisted = "ask"`, `unlisted = "deny"`, `unlisted = "risk"`, `risk = "off"`, `risk = "on"`, `catastrophic = "off"`, `catastrophic = "on"`,
	`profile = "terminal"`, `profile = "default"`, `sensitive_paths = "ask"`, `sensitive_paths = "note"`, `protect = ["src"]`, `protect = ["/tmp/x", "~/a"]`,
}

var settingTables = []string{
	"[[rules]]\ntools = [\"Bash\"]\ncommands = [\"npm\"]\naction = \"allow\"\n", "[[rules]]\ntools = [\"Bash\"]\ncommands = [\"rm\"]\naction = \"ask\"\n",
	"[[rules]]\ntools = [\"Edit\"]\npaths = [\"src/**\"]\naction = \"deny\"\n", "[programs.deploy]\nsafe = true\nplain = true\noperands = \"runs-args\"\n",
	"[programs.git.sub.mine]\noperands = \"text\"\n", "[programs.npx]\noptions = [\"--mine= : run\"]\n",
	overriding("safe rm:*"), overriding("safe git:*"), overriding("high git push:*"), overriding("forbidden curl:*"), overriding("moderate rm -rf:*"), overriding("safe *"),
	overriding("safe path:**"), overriding("forbidden path:.env"), overriding("high path:src/**"), overriding("moderate rm:* in src/**"),
}

func drawText(t *rapid.T, label string) string {
	lines := rapid.SliceOfNDistinct(rapid.SampledFrom(settingLines), 0, 4, func(l string) string { return l[:strings.Index(l, " ")] }).Draw(t, label)
	tables := rapid.SliceOfNDistinct(rapid.SampledFrom(settingTables), 0, 2, rapid.ID).Draw(t, label+" tables")
	return strings.Join(lines, "\n") + "\n" + strings.Join(tables, "")
}

// TestUntrustedNeverLoosens checks that an untrusted source makes no decision
// looser, whatever it says and whatever the others say.
func TestUntrustedNeverLoosens(t *testing.T) {
	lines := everyLine(t)
	rapid.Check(t, func(rt *rapid.T) {
		sources := []Source{sourceOf(t, User, true, drawText(rt, "user"))}
		if rapid.Bool().Draw(rt, "local") {
			sources = append(sources, sourceOf(t, Local, rapid.Bool().Draw(rt, "local is trusted"), drawText(rt, "local")))
		}
		before, _ := Merge(sources)
		after, _ := Merge(append(sources, sourceOf(t, Project, false, drawText(rt, "project"))))
		for range 8 {
			use := rapid.SampledFrom(lines).Draw(rt, "use")
			if was, is := decided(t, before, use), decided(t, after, use); is.Risk < was.Risk || is.Behavior < was.Behavior || was.Held && was.Behavior == is.Behavior && !is.Held {
				rt.Fatalf("%s: %v %v (%s), before %v %v (%s)", use, is.Behavior, is.Risk, is.Reason, was.Behavior, was.Risk, was.Reason)
			}
		}
	})
}

// everyLine returns tool uses of all kinds in the short form.
func everyLine(t *testing.T) []string {
	list := []string{"Read(src/a)", "Read(.env)", "Edit(src/a)", "Edit(.git/config)", "Write(/tmp/x)", "WebFetch(https://a.example)", "deploy",
		"Bash(deploy rm x)", "Bash(git mine --x)", "Bash(npx --mine 'rm x')", "Bash(mkfs /dev/sdz9)", "Bash(ls)"}
	for _, row := range readCorpus(t) {
		if line, ok := row.Input["command"].(string); ok && row.Tool == "Bash" && strings.TrimSpace(line) != "" {
			list = append(list, "Bash("+line+")")
		}
	}
	if len(list) < 500 {
		t.Fatalf("only %d tool uses", len(list))
	}
	return list
}

// TestWhitelistBypass checks that only a managed policy determines whether a
// run may lift a whitelist.
func TestWhitelistBypass(t *testing.T) {
	off := func(kind Kind, trusted bool) Source { return sourceOf(t, kind, trusted, `whitelist_bypass = "off"`) }
	on := func(kind Kind) Source { return sourceOf(t, kind, true, `whitelist_bypass = "on"`) }
	for _, tt := range []struct {
		sources       []Source
		want, ignored string
	}{
		{nil, "", ""},
		{[]Source{off(Managed, true)}, "off", ""},
		{[]Source{on(Managed)}, "on", ""},
		{[]Source{off(Managed, true), on(User)}, "off", `user.toml:1:20: whitelist_bypass = "on" is ignored: only a managed policy may set this`},
		{[]Source{on(Flags), off(Managed, true)}, "off", `flags.toml:1:20: whitelist_bypass = "on" is ignored: only a managed policy may set this`},
		{[]Source{off(Project, true)}, "", `project.toml:1:20: whitelist_bypass = "off" is ignored: only a managed policy may set this`},
		{[]Source{off(Project, false)}, "", `project.toml:1:20: whitelist_bypass = "off" is ignored: only a managed policy may set this`},
	} {
		spec, ignored := Merge(tt.sources)
		if spec.WhitelistBypass != tt.want || fmt.Sprint(ignored) != "["+tt.ignored+"]" {
			t.Errorf("got %q, ignored %v; want %q, [%s]", spec.WhitelistBypass, ignored, tt.want, tt.ignored)
		}
	}
	bad := sourceOf(t, Managed, true, `whitelist_bypass = "never"`).Spec
	if _, _, _, err := bad.Compile(mergePlace); err == nil || err.Error() != `managed.toml:1:20: whitelist_bypass is "never": write on or off` {
		t.Error(err)
	}
}
