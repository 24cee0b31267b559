package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"pgregory.net/rapid"
)

// overriding returns a policy with one override for each line, which has the
// form "class pattern", "class path:glob" or "class pattern in glob".
func overriding(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		class, text, _ := strings.Cut(line, " ")
		pattern, path, both := strings.Cut(text, " in ")
		if p, ok := strings.CutPrefix(text, "path:"); ok {
			pattern, path, both = "", p, true
		}
		b.WriteString("[[risk_overrides]]\n")
		if pattern != "" {
			fmt.Fprintf(&b, "pattern = %q\n", pattern)
		}
		if both {
			fmt.Fprintf(&b, "path = %q\n", path)
		}
		fmt.Fprintf(&b, "risk = %q\n", class)
	}
	return b.String()
}

func TestOverrides(t *testing.T) {
	for _, tt := range []struct {
		top, overrides string // joined by "; "
		uses           map[string]string
	}{
		{"", "forbidden kubectl delete:*", map[string]string{
			"Bash(kubectl delete pod x)": "deny forbidden", "Bash(kubectl -n x delete pod y)": "deny forbidden", "Bash(/usr/bin/kubectl delete x)": "deny forbidden",
			"Bash(sudo kubectl delete x)": "deny forbidden", "Bash(kubectl $X pod y)": "deny forbidden", "Bash(ls; kubectl delete x)": "deny forbidden",
			"Bash(echo $(kubectl delete x))": "deny forbidden", "Bash(kubectl get pods)": "allow safe", "Bash(kubectl apply -f x)": "ask moderate",
			"Bash(python3 -c 'print(1)')": "ask high", "Bash($X delete pod)": "deny forbidden", "Bash(ls)": "allow safe", "Read(kubectl)": "allow safe",
			"Bash(bash -c 'kubectl delete x')": "deny forbidden", "Bash(timeout 5 kubectl delete x)": "deny forbidden", "Bash(make x)": "ask moderate",
		}},
		{`allow = ["Bash"]`, "forbidden kubectl delete:*", map[string]string{
			"Bash(kubectl delete pod x)": "deny forbidden", "Bash(kubectl apply -f x)": "allow moderate",
		}},
		{`allow = ["Bash(kubectl delete:*)"]`, "forbidden kubectl delete:*", map[string]string{"Bash(kubectl delete pod x)": "allow forbidden"}},
		{"allow = [\"Bash(kubectl delete:*)\"]\nask = [\"Bash\"]", "forbidden kubectl delete:*", map[string]string{"Bash(kubectl delete pod x)": "ask forbidden"}},
		{"risk = \"off\"\nallow = [\"Bash\"]", "forbidden kubectl delete:*", map[string]string{"Bash(kubectl delete pod x)": "allow forbidden"}},
		{`mode = "bypassPermissions"`, "forbidden kubectl delete:*", map[string]string{"Bash(kubectl delete pod x)": "deny forbidden"}},

		{"", "safe kubectl apply:*", map[string]string{
			"Bash(kubectl apply -f x)": "allow safe", "Bash(kubectl apply -f $x)": "ask moderate", "Bash(kubectl delete x)": "ask moderate",
			"Bash(kubectl apply -f x > out)": "ask moderate", "Bash(kubectl $x -f y)": "ask moderate", "Bash(./kubectl apply -f x)": "ask moderate",
			"Bash(kubectl apply -f x; rm y)": "ask high", "Bash(sudo kubectl apply -f x)": "ask high", "Bash(kubectl apply -f $(reboot))": "deny forbidden",
		}},
		{"", "safe git fetch:*", map[string]string{"Bash(git fetch)": "allow safe", "Bash(cd $x; git fetch)": "ask moderate"}},
		{"", "safe npm:*", map[string]string{"Bash(npm install x)": "ask moderate"}},
		{"", "safe touch:*", map[string]string{
			"Bash(touch src/x)": "allow safe", "Bash(touch /srv/x)": "ask moderate", "Bash(touch $x)": "ask moderate", "Bash(touch .git/config)": "ask high", "Bash(touch x > y)": "ask moderate",
		}},
		{"", "safe touch:*; high path:src/**", map[string]string{"Bash(touch src/x)": "ask high", "Bash(touch x)": "allow safe"}},
		{"", "safe npm install:*", map[string]string{"Bash(npm install x)": "allow safe"}},
		{`mode = "plan"`, "safe kubectl apply:*", map[string]string{"Bash(kubectl apply -f x)": "deny moderate"}},
		{`mode = "plan"`, "high ls:*", map[string]string{"Bash(ls)": "deny high"}},
		{"allow = [\"Read\"]\nunlisted = \"ask\"", "safe kubectl apply:*", map[string]string{"Bash(kubectl apply -f x)": "ask safe"}},
		{`allow = ["Read"]`, "safe kubectl apply:*", map[string]string{"Bash(kubectl apply -f x)": "allow safe"}},
		{`ask = ["Bash(kubectl:*)"]`, "safe kubectl apply:*", map[string]string{"Bash(kubectl apply -f x)": "ask safe"}},
		{"", "safe sudo kubectl:*", map[string]string{"Bash(sudo kubectl apply -f x)": "ask moderate", "Bash(sudo kubectl get x)": "allow safe"}},
		{"", "safe sudo kubectl apply -f x", map[string]string{"Bash(sudo kubectl apply -f x)": "ask moderate"}},
		{"", "safe timeout 5 reboot", map[string]string{"Bash(timeout 5 reboot)": "deny forbidden"}},
		{"", "safe xargs:*", map[string]string{"Bash(ls | xargs rm)": "ask high"}},
		{"", "safe python3:*", map[string]string{"Bash(python3 -c 'print(1)')": "ask moderate"}},

		{"", "safe reboot", map[string]string{"Bash(reboot)": "allow safe", "Bash(reboot -f)": "deny forbidden"}},
		{"", "safe *", map[string]string{"Bash(reboot)": "deny forbidden", "Bash(kubectl apply -f x)": "allow safe", "Bash(rm -rf /)": "deny forbidden"}},
		{"", "safe rm:*; safe mkfs:*; safe path:/dev/**", map[string]string{
			"Bash(rm -rf /)": "deny forbidden", "Bash(rm -rf ~)": "deny forbidden", "Bash(mkfs.ext4 /dev/sda1)": "deny forbidden", "Bash(mkfs /dev/sda1)": "deny forbidden",
		}},
		{"", "safe kubectl:*; high kubectl delete:*", map[string]string{"Bash(kubectl delete x)": "ask high", "Bash(kubectl apply -f x)": "allow safe"}},
		{"", "safe rm:*; high rm:*", map[string]string{"Bash(rm x)": "ask high"}},
		{"", "safe kubectl delete:*; high kubectl -n prod:*", map[string]string{"Bash(kubectl delete x -n prod)": "ask high", "Bash(kubectl delete x -n y)": "allow safe"}},

		{"", "forbidden path:/srv/**", map[string]string{
			"Bash(cat /srv/x)": "deny forbidden", "Bash(echo x > /srv/y)": "deny forbidden", "Bash(cp a /srv/x)": "deny forbidden", "Bash(cd /srv && cat x)": "deny forbidden",
			"Bash(cat < /srv/x)": "deny forbidden", "Bash(ls /srv/x)": "allow safe", "Bash(cat /srvx)": "ask safe", "Read(/srv/x)": "deny forbidden", "Edit(/srv/x)": "deny forbidden",
			"Read(src/a)": "allow safe", "Bash(cat src/../../../../srv/x)": "deny forbidden", "Bash(nosuch /srv/x)": "deny forbidden",
		}},
		{`allow = ["Bash", "Read"]`, "forbidden path:/srv/**", map[string]string{"Bash(cat /srv/x)": "deny forbidden", "Read(/srv/x)": "deny forbidden", "Bash(cat y)": "allow safe"}},
		{`allow = ["Read(/srv/**)", "Bash(cat:*)"]`, "forbidden path:/srv/**", map[string]string{"Bash(cat /srv/x)": "allow forbidden", "Read(/srv/x)": "allow forbidden"}},
		{"", "high path:secret/**", map[string]string{"Bash(cat secret/x)": "ask high", "Read(secret/x)": "ask high", "Read(other)": "allow safe"}},
		{"risk = \"off\"", "high path:secret/**", map[string]string{"Read(secret/x)": "allow high"}},
		{"", "safe path:/tmp/out/**", map[string]string{
			"Bash(echo x > /tmp/out/a)": "allow safe", "Bash(echo x > /tmp/other)": "ask moderate", "Bash(echo x > /tmp/out/../other)": "ask moderate",
			"Edit(/tmp/out/a)": "allow safe", "Write(/tmp/out/a)": "allow safe", "Bash(echo x > /tmp/out/$x)": "ask moderate", "Bash(rm /tmp/out/a)": "ask high",
		}},
		{"", "safe path:**", map[string]string{"Bash(echo x > .git/config)": "ask high", "Edit(.bashrc)": "ask high", "Edit(agent-wrapper.toml)": "ask moderate"}},
		{"", "moderate rm:* in /tmp/**; safe path:/tmp/**", map[string]string{
			"Bash(rm -rf /tmp/x)": "ask moderate", "Bash(rm -rf /tmp/x src)": "deny forbidden", "Bash(rm -rf $x)": "deny forbidden", "Bash(rm -rf src)": "deny forbidden",
		}},
		{"", "forbidden rm:* in /srv/**", map[string]string{
			"Bash(rm /srv/x)": "deny forbidden", "Bash(rm $x)": "deny forbidden", "Bash(rm y)": "ask high", "Bash(cat /srv/x)": "ask safe",
		}},

		{`sensitive_paths = "ask"`, "", map[string]string{
			"Bash(cat .env)": "ask moderate", "Read(.env)": "ask moderate", "Read(~/.ssh/id_rsa)": "ask moderate", "Bash(cat README.md)": "allow safe", "Bash(cat < .env)": "ask moderate",
			"Bash(ls .env)": "allow safe", "Bash(cat sub/.env)": "ask moderate",
		}},
		{"sensitive_paths = \"ask\"\nallow = [\"Bash(cat:*)\"]", "", map[string]string{"Bash(cat .env)": "ask moderate"}},
		{"sensitive_paths = \"ask\"\nallow = [\"Bash(cat:*)\", \"Read(.env)\"]", "", map[string]string{"Bash(cat .env)": "allow moderate"}},
		{"sensitive_paths = \"ask\"\nrisk = \"off\"", "", map[string]string{"Read(.env)": "allow moderate"}},
		{`sensitive_paths = "ask"`, "safe path:.env", map[string]string{"Bash(cat .env)": "ask moderate"}},
		{`sensitive_paths = "note"`, "", map[string]string{"Bash(cat .env)": "allow safe", "Bash(env)": "allow safe", "Bash(cat /proc/1/environ)": "ask safe"}},
		// A program that prints variables is treated like one that reads a sensitive
		// path, unless a rule names the program, and thereby what it prints.
		{`sensitive_paths = "ask"`, "", map[string]string{
			"Bash(env)": "ask moderate", "Bash(env | grep X)": "ask moderate", "Bash(printenv X)": "ask moderate", "Bash(export -p)": "ask moderate", "Bash(set)": "ask moderate",
			"Bash(ps auxe)": "ask moderate", "Bash(cat /proc/1/environ)": "ask moderate", "Bash(xargs -0 < /proc/self/environ)": "ask moderate", "Read(/proc/1/environ)": "ask moderate",
			"Bash(printenv HOME)": "allow safe", "Bash(env CI=1 ls)": "allow safe", "Bash(compgen -e)": "allow safe", "Bash(set -e)": "allow safe", "Bash(ps aux)": "allow safe",
		}},
		{"sensitive_paths = \"ask\"\nmode = \"plan\"", "", map[string]string{"Bash(env)": "ask moderate", "Bash(cat .env)": "ask moderate", "Bash(rm x)": "deny high"}},
		{"sensitive_paths = \"ask\"\nmode = \"dontAsk\"", "", map[string]string{"Bash(env)": "deny moderate", "Bash(cat .env)": "deny moderate"}},
		{"sensitive_paths = \"ask\"\nallow = [\"Bash\"]", "", map[string]string{"Bash(env)": "ask moderate", "Bash(cat .env)": "ask moderate"}},
		{`allow = ["Bash", "Read", "Edit"]`, "", map[string]string{
			"Bash(cat .env)": "ask moderate", "Read(.env)": "ask moderate", "Bash(cat sub/.env.production)": "ask moderate", "Bash(cat < .env)": "ask moderate", "Bash(head .e*)": "ask moderate",
			"Bash(cat ~/.cache/huggingface/token)": "ask moderate", "Bash(cat ~/.kube/config)": "ask moderate", "Read(~/.bash_history)": "ask moderate", "Read(certs/server.key)": "ask moderate",
			"Bash(echo $NPM_TOKEN | head -c 8)": "ask moderate", "Bash(x=$NPM_TOKEN; echo $x)": "ask moderate", "Bash(printf %s \"${DB_PASSWORD}\")": "ask moderate", "Bash(cat <<< $API_KEY)": "ask moderate",
			"Bash(cat .env.example)": "allow safe", "Read(.env.sample)": "allow safe", "Bash(cat README.md)": "allow safe", "Bash([ -n \"$NPM_TOKEN\" ])": "allow safe",
			"Bash(echo ${NPM_TOKEN:+set})": "allow safe", "Bash(echo ${#NPM_TOKEN})": "allow safe", "Bash(echo $HOME)": "allow safe",
		}},
		{`allow = ["Bash(cat:*)", "Bash(echo:*)", "Read(**)"]`, "", map[string]string{"Bash(cat .env)": "ask moderate", "Bash(echo $NPM_TOKEN)": "ask moderate", "Bash(cat x)": "allow safe"}},
		{`allow = ["Bash(git commit:*)", "Bash(git stash:*)"]`, "", map[string]string{
			"Bash(git commit -m \"$NPM_TOKEN\")": "ask moderate", "Bash(git stash apply -q \"x${NPM_TOKEN}y\")": "ask moderate", "Bash(git commit -m \"$title\")": "allow moderate"}},
		{`allow = ["Bash(git commit -m $NPM_TOKEN)"]`, "", map[string]string{"Bash(git commit -m $NPM_TOKEN)": "allow moderate"}},
		{`allow = ["Bash(cat .env)", "Bash(echo $NPM_TOKEN)", "Read(**/.env*)", "Read(.aws/**)", "Read(*.pem)"]`, "", map[string]string{
			"Bash(cat .env)": "allow moderate", "Bash(echo $NPM_TOKEN)": "allow moderate", "Read(.env.local)": "allow moderate", "Read(.aws/config)": "allow moderate", "Bash(cat a.pem)": "allow moderate",
			"Bash(cat .env .npmrc)": "ask moderate", "Bash(echo $GITHUB_TOKEN)": "ask moderate",
		}},
		{`mode = "bypassPermissions"`, "", map[string]string{"Bash(cat .env)": "allow moderate"}},
		{"[[rules]]\ntools = [\"Read\", \"Bash\"]\naction = \"allow\"", "", map[string]string{"Read(.env)": "ask moderate", "Bash(cat .env)": "ask moderate", "Bash(env)": "ask moderate"}},
		{"[[rules]]\ntools = [\"Read\"]\npaths = [\"**/.env\"]\naction = \"allow\"", "", map[string]string{"Read(.env)": "allow moderate", "Read(x/.env)": "allow moderate", "Read(.npmrc)": "ask moderate"}},
		{"sensitive_paths = \"ask\"\nallow = [\"Bash(env:*)\"]", "", map[string]string{"Bash(env)": "allow moderate", "Bash(timeout 5 printenv)": "ask moderate"}},
		{`sensitive_paths = "ask"`, "safe env", map[string]string{"Bash(env)": "ask moderate"}},

		{`profile = "terminal"`, "", map[string]string{"Bash(reboot)": "ask high", "Bash(systemctl status)": "ask high"}},
		{`profile = "default"`, "", map[string]string{"Bash(reboot)": "deny forbidden", "Bash(systemctl status)": "allow safe"}},
	} {
		var lines []string
		if tt.overrides != "" {
			lines = strings.Split(tt.overrides, "; ")
		}
		spec := sourceOf(t, User, true, tt.top+"\n"+overriding(lines...)).Spec
		for use, want := range tt.uses {
			d := decided(t, spec, use)
			if got := d.Behavior.String() + " " + d.Risk.String(); got != want {
				t.Errorf("%s %s: %s is %s, want %s: %s", tt.top, tt.overrides, use, got, want, d.Reason)
			}
		}
	}
}

func TestBadOverrides(t *testing.T) {
	const head = "[[risk_overrides]]\n"
	for text, want := range map[string]string{
		`profile = "seed"`:                                          `p.toml:1:11: profile is "seed": write default or terminal`,
		`profile = ""`:                                              `p.toml:1:11: profile is "": write default or terminal`,
		`sensitive_paths = "deny"`:                                  `p.toml:1:19: sensitive_paths is "deny": write note or ask`,
		"sensitive_paths = true":                                    "p.toml:1:19: sensitive_paths: must be a string",
		head + `risk = "high"`:                                      "p.toml:1:1: risk_overrides names nothing: give it a pattern, a path or both",
		head + `pattern = "ls"`:                                     `p.toml:1:1: risk is "": write safe, moderate, high or forbidden`,
		head + "pattern = \"ls\"\nrisk = \"Safe\"":                  `p.toml:3:8: risk is "Safe": write safe, moderate, high or forbidden`,
		head + "pattern = \"\"\nrisk = \"high\"":                    "p.toml:2:12: pattern of risk_overrides: ",
		head + "path = \"\"\nrisk = \"high\"":                       "p.toml:2:9: path of risk_overrides: ",
		head + "pattern = \"git:*x\"\nrisk = \"high\"":              "p.toml:2:15: pattern of risk_overrides: ",
		head + "pattern = \"ls; rm\"\nrisk = \"high\"":              `p.toml:2:11: pattern "ls; rm" is not a single command: write one override for each command`,
		head + "pattern = \"ls > x\"\nrisk = \"safe\"":              `p.toml:2:11: pattern "ls > x" is not a single command`,
		head + "pattern = \"* x\"\nrisk = \"safe\"":                 "p.toml:2:12: pattern of risk_overrides: ",
		head + "pattern = \"fi\"\nrisk = \"high\"":                  "p.toml:2:1",
		head + "pattern = \"ls\"\nrisk = \"high\"\nreasn = \"x\"":   "p.toml:4:1: risk_overrides[0]: unknown key",
		head + "pattern = [\"ls\"]\nrisk = \"high\"":                "p.toml:2:11: ",
		"[risk_overrides]\nrisk = \"high\"":                         "p.toml:1:",
		head + "pattern = \"* x\"\nrisk = \"high\"":                 "",
		head + "pattern = \"*\"\nrisk = \"forbidden\"":              "",
		head + "path = \"**\"\nrisk = \"moderate\"\nreason = \"x\"": "",
	} {
		s, err := Parse([]byte(text), "p.toml")
		if err == nil {
			_, _, _, err = s.Compile(mergePlace)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

func TestOverridesSay(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		"", `profile = "default"`, `profile = "terminal"`, `sensitive_paths = "ask"`, overriding("high ls"), overriding("safe ls"), overriding("high path:ls"),
		overriding("high ls in x"), overriding("high ls") + `reason = "x"`, overriding("high ls", "high ls"),
	} {
		s, err := Parse([]byte(text), "p.toml")
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[s.Digest()]; twice {
			t.Errorf("%q and %q have one digest", text, other)
		}
		seen[s.Digest()] = text
	}
	s, err := Parse([]byte("profile = \"terminal\"\nsensitive_paths = \"ask\"\n"+overriding("safe ls in x/**", "high path:y")+"reason = \"why\""), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range s.Show() {
		got = append(got, one.Key+"="+one.Text+"@"+one.Place)
	}
	want := `profile=terminal@p.toml:1:11|sensitive_paths=ask@p.toml:2:19|risk_overrides=safe ls in x/**@p.toml:3:1|risk_overrides=high y reason="why"@p.toml:7:1`
	if text := strings.Join(got, "|"); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	found, err := Lint(s)
	if err != nil || len(found) != 2 || found[0].Rule != `profile = "terminal"` || found[1].Rule != "risk_overrides safe ls in x/**" || found[1].Level != LevelNote {
		t.Errorf("lint: %+v, %v", found, err)
	}
	wide, _ := Parse([]byte(overriding("safe *")), "p.toml")
	if found, err := Lint(wide); err != nil || len(found) != 1 || found[0].Level != LevelDanger {
		t.Errorf("lint: %+v, %v", found, err)
	}
}

// TestOverrideInTrace checks that an explanation names the override and its
// place.
func TestOverrideInTrace(t *testing.T) {
	s := sourceOf(t, User, true, overriding("high ls:*")+`reason = "it is slow"`).Spec
	p, session, _, err := s.Compile(mergePlace)
	if err != nil {
		t.Fatal(err)
	}
	use := permission.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"ls -l"}`), Dir: mergePlace.Workspace}
	var tr permission.Trace
	permission.Evaluate(p, session, &use, workspace.Fake{Dir: mergePlace.Workspace}, &tr)
	a := tr.Actions[0]
	if a.Override != "ls:*" || placed(a.OverrideSource) != "user.toml:1:1" || a.Why != "it is slow (risk_overrides ls:*)" {
		t.Errorf("%+v", a)
	}
	if _, found, err := p.Risks(&use, workspace.Fake{Dir: mergePlace.Workspace}); err != nil || found[0].Class != a.Risk || found[0].Reason != a.Why || !slices.Contains(found[0].Factors, "risk_override") {
		t.Errorf("%+v, %v", found, err)
	}
	use.Tool, use.Input = "Read", json.RawMessage(`{"file_path":"x"}`)
	if _, _, err := p.Risks(&use, nil); err == nil {
		t.Error("a read has the risks of a command line")
	}
	use.Tool, use.Input = "Bash", json.RawMessage(`{"command":""}`)
	if _, _, err := p.Risks(&use, nil); err == nil {
		t.Error("no line has risks")
	}
}

// TestNarrowOverrides checks that an override that only raises lowers nothing,
// but raises what another one lowers.
func TestNarrowOverrides(t *testing.T) {
	for _, tt := range []struct{ trusted, narrow, use, want string }{
		{"", "safe rm:*", "Bash(rm x)", "ask high"},
		{"", "moderate reboot", "Bash(reboot)", "deny forbidden"},
		{"safe rm:*", "moderate rm:*", "Bash(rm x)", "ask moderate"},
		{"safe reboot", "high reboot", "Bash(reboot)", "ask high"},
		{"safe rm:*", "high git:*", "Bash(rm x)", "allow safe"},
	} {
		var trusted []string
		if tt.trusted != "" {
			trusted = []string{tt.trusted}
		}
		spec := sourceOf(t, User, true, overriding(append(trusted, tt.narrow)...)).Spec
		spec.RiskOverrides[len(trusted)].narrow = true
		if d := decided(t, spec, tt.use); d.Behavior.String()+" "+d.Risk.String() != tt.want {
			t.Errorf("%+v: %v %v: %s", tt, d.Behavior, d.Risk, d.Reason)
		}
	}
}

// TestSensitiveThroughLinks checks that a link to a sensitive path is as
// sensitive.
func TestSensitiveThroughLinks(t *testing.T) {
	p, session, _, err := sourceOf(t, User, true, `sensitive_paths = "ask"`).Spec.Compile(mergePlace)
	if err != nil {
		t.Fatal(err)
	}
	env := workspace.Fake{Dir: mergePlace.Workspace, Symlinks: map[string]string{"notes": "/home/dev/.ssh/id_rsa", "other": "src/a"}}
	for line, want := range map[string]string{"cat notes": "ask moderate", "cat other": "allow safe"} {
		use := permission.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"` + line + `"}`), Dir: mergePlace.Workspace}
		d := permission.Evaluate(p, session, &use, env, nil)
		if got := d.Behavior.String() + " " + d.Risk.String(); got != want {
			t.Errorf("%s: %s, want %s: %s", line, got, want, d.Reason)
		}
	}
}

// drawOverrides draws overrides of the classes.
func drawOverrides(t *rapid.T, classes ...string) []string {
	var lines []string
	for range rapid.IntRange(0, 3).Draw(t, "overrides") {
		lines = append(lines, rapid.SampledFrom(classes).Draw(t, "class")+" "+rapid.SampledFrom([]string{
			"*", "ls:*", "git:*", "rm:*", "rm -rf:*", "cat:*", "npm:*", "reboot", "sudo:*", "find:*", "curl:*", "git push", "echo:*", "python3:*", "kubectl:*",
			"path:**", "path:/etc/**", "path:.env", "path:src/**", "path:/tmp/**", "rm:* in src/**", "* in /etc/**", "cat:* in **",
		}).Draw(t, "of"))
	}
	return lines
}

// TestRaisingNeverLoosens checks that overrides that only raise, by declaration
// or because their source is untrusted, lower no class and loosen no decision,
// alone or in combination with others.
func TestRaisingNeverLoosens(t *testing.T) {
	lines := everyLine(t)
	rapid.Check(t, func(rt *rapid.T) {
		text, more := drawText(rt, "policy"), drawOverrides(rt, "safe", "moderate", "high", "forbidden")
		base := []Source{sourceOf(t, User, true, text)}
		before, _ := Merge(base)
		after := *before
		after.RiskOverrides = slices.Clone(before.RiskOverrides)
		raising := rapid.Bool().Draw(rt, "all forbidden")
		for _, o := range sourceOf(t, User, true, overriding(more...)).Spec.RiskOverrides {
			if o.narrow = !raising; raising {
				o.Risk = "forbidden"
			}
			after.RiskOverrides = append(after.RiskOverrides, o)
		}
		if rapid.Bool().Draw(rt, "sensitive") {
			after.SensitivePaths = "ask"
		}
		for range 8 {
			noLooser(t, rt, before, &after, rapid.SampledFrom(lines).Draw(rt, "use"))
		}
	})
}

func noLooser(t *testing.T, rt *rapid.T, before, after *Spec, use string) {
	was, is := decided(t, before, use), decided(t, after, use)
	if is.Risk < was.Risk || is.Behavior < was.Behavior || was.Held && was.Behavior == is.Behavior && !is.Held {
		rt.Fatalf("%s: %v %v (%s), before %v %v (%s)", use, is.Behavior, is.Risk, is.Reason, was.Behavior, was.Risk, was.Reason)
	}
}

// TestManagedOverridesHold checks that nothing lowers a risk set by a managed
// policy.
func TestManagedOverridesHold(t *testing.T) {
	lines := everyLine(t)
	rapid.Check(t, func(rt *rapid.T) {
		managed := sourceOf(t, Managed, true, overriding(drawOverrides(rt, "moderate", "high", "forbidden")...))
		user := sourceOf(t, User, true, drawText(rt, "user"))
		loose := sourceOf(t, Flags, true, overriding(drawOverrides(rt, "safe", "moderate")...))
		raised, _ := Merge([]Source{managed, user})
		merged, _ := Merge([]Source{managed, user, loose})
		bare := &Spec{RiskOverrides: managed.Spec.RiskOverrides}
		for range 8 {
			use := rapid.SampledFrom(lines).Draw(rt, "use")
			alone, untouched := decided(t, bare, use), decided(t, new(Spec), use)
			if alone.Risk <= untouched.Risk {
				continue // the managed policy raises nothing here
			}
			was, is := decided(t, raised, use), decided(t, merged, use)
			if is.Risk < was.Risk && is.Risk < alone.Risk {
				rt.Fatalf("%s: %v, before %v, alone %v", use, is.Risk, was.Risk, alone.Risk)
			}
		}
	})
}
