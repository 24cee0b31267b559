package policy

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// decideUnder decides a command line under merged sources.
func decideUnder(t testing.TB, line string, force bool, sources ...Source) (permission.Decision, []Ignored) {
	t.Helper()
	merged, ignored := Merge(sources)
	p, session, _, err := merged.Compile(place)
	if err != nil {
		t.Fatal(err)
	}
	use := permission.ToolUse{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, line), Dir: place.Workspace, ForceAsk: force}
	return permission.Evaluate(p, session, &use, workspace.Fake{Dir: place.Workspace}, nil), ignored
}

func roleSource(t testing.TB, kind Kind, trusted bool, text string) Source {
	t.Helper()
	s, err := Parse([]byte(text), kind.String())
	if err != nil {
		t.Fatal(err)
	}
	return Source{Kind: kind, Name: kind.String(), Spec: s, Trusted: trusted}
}

// TestRolesRejected: what is no answer, and a role that is none, does not load.
func TestRolesRejected(t *testing.T) {
	for _, tt := range []struct{ text, at, why string }{
		{`role = "root"`, "p.toml:1:8", "write admin, automation, chat or system"}, {`role = ""`, "p.toml:1:8", "write"}, {`role = "Chat"`, "p.toml:1:8", "write"},
		{"role = 1", "", ""}, {"[risks]\nhigh = \"allow\"", "p.toml:2:8", "write ask or deny"}, {"[risks]\nsafe = \"deny\"", "p.toml:2:8", "write allow or ask"},
		{"[risks]\nmoderate = \"\"", "p.toml:2:12", "write allow, ask or deny"}, {"[risks]\nforbidden = \"ask\"", "p.toml:2:1", "forbidden"}, {"[risks]\ncritical = \"ask\"", "p.toml:2:1", "critical"},
		{"[roles.chat]\nhigh = \"allow\"", "p.toml:2:8", "write ask or deny"}, {"[roles.chat]\nforbidden = \"ask\"", "p.toml:2:1", "forbidden"}, {"[roles]\nchat = \"x\"", "", ""},
		{"[roles.\"\"]\nhigh = \"deny\"", "", "no name"},
		{"risk = \"off\"\nrole = \"chat\"", "p.toml:1:8", "remove one of them"}, {"risk = \"off\"\n[risks]\nhigh = \"deny\"", "p.toml:1:8", "remove one of them"},
	} {
		found := Validate([]byte(tt.text), "p.toml")
		if len(found) == 0 || found[0].Warning || !strings.HasPrefix(found[0].String(), tt.at) || !strings.Contains(found[0].String(), tt.why) {
			t.Errorf("%s: %v", tt.text, found)
		}
	}
}

// TestRoleIsNotTaken: a workspace's policy neither chooses a role nor says what one may
// do, trusted or not, and an untrusted one answers by risk only more strictly.
func TestRoleIsNotTaken(t *testing.T) {
	const loose = "role = \"admin\"\n[roles.chat]\nmoderate = \"allow\"\n[risks]\nmoderate = \"allow\"\n"
	for _, tt := range []struct {
		kind    Kind
		trusted bool
		want    permission.Behavior
		ignored int
	}{
		{Project, false, permission.Ask, 3}, {Local, false, permission.Ask, 3}, {Project, true, permission.Ask, 2}, {Local, true, permission.Ask, 2},
	} {
		chat := roleSource(t, Flags, true, `role = "chat"`)
		if d, ignored := decideUnder(t, "git push", false, roleSource(t, tt.kind, tt.trusted, loose), chat); d.Behavior != tt.want || len(ignored) != tt.ignored {
			t.Errorf("%v, trusted %v: %v (%s), %v", tt.kind, tt.trusted, d.Behavior, d.Reason, ignored)
		}
	}
	strict := roleSource(t, Project, false, "[risks]\nhigh = \"deny\"\nmoderate = \"deny\"\nsafe = \"ask\"")
	for _, line := range []string{"sudo ls", "git push", "ls"} {
		d, ignored := decideUnder(t, line, false, roleSource(t, User, true, `role = "admin"`), strict)
		if before, _ := decideUnder(t, line, false, roleSource(t, User, true, `role = "admin"`)); d.Behavior <= before.Behavior || len(ignored) != 0 {
			t.Errorf("%s: %v, %v", line, d.Behavior, ignored)
		}
	}
	asks := roleSource(t, Project, false, "[risks]\nmoderate = \"ask\"")
	for _, trusted := range []string{`role = "admin"`, "[risks]\nmoderate = \"allow\"", "role = \"strict\"\n[roles.strict]\nmoderate = \"allow\""} {
		if d, ignored := decideUnder(t, "git push", false, roleSource(t, User, true, trusted), asks); d.Behavior != permission.Ask || len(ignored) != 0 {
			t.Errorf("%s is not narrowed: %v (%s), %v", trusted, d.Behavior, d.Reason, ignored)
		}
	}
	held := roleSource(t, Managed, true, `role = "chat"`)
	if d, ignored := decideUnder(t, "git push", false, held, roleSource(t, Flags, true, `role = "admin"`)); d.Behavior != permission.Ask || len(ignored) != 1 {
		t.Errorf("a managed role is replaced: %v, %v", d.Behavior, ignored)
	}
	off, ignored := decideUnder(t, "ls", false, roleSource(t, User, true, `risk = "off"`), strict)
	if off.Behavior != permission.Ask || len(ignored) != 3 {
		t.Errorf("without tiers: %v, %v", off.Behavior, ignored)
	}
}

// TestRoleIsSaid: the decision says which role answered, and where it is written.
func TestRoleIsSaid(t *testing.T) {
	for _, tt := range []struct{ text, line, want, at string }{
		{`role = "automation_agent"`, "git push", "allow moderate", "role automation"},
		{`role = "chat"`, "git push", "ask tier 2", "role chat"},
		{"role = \"ops\"\n[roles.ops]\nhigh = \"deny\"", "sudo ls", "deny role ops denies high risk", "flags:3:8"},
		{"role = \"chat\"\n[roles.chat]\nhigh = \"deny\"", "sudo ls", "deny role chat denies high risk", "flags:3:8"},
		{"role = \"chat\"\n[roles.chat]\nhigh = \"deny\"", "git push", "ask tier 2", "role chat"},
		{"role = \"automation\"\n[risks]\nmoderate = \"ask\"", "git push", "ask tier 2", "flags:3:12"},
		{"[risks]\nmoderate = \"allow\"", "git push", "allow moderate", "flags:2:12"},
	} {
		d, _ := decideUnder(t, tt.line, false, roleSource(t, Flags, true, tt.text))
		if got := d.Behavior.String() + " " + d.Reason; !strings.HasPrefix(got, tt.want) || d.RuleSource.String() != tt.at {
			t.Errorf("%s: %s: %s [%s]", tt.text, tt.line, got, d.RuleSource)
		}
	}
	d, _ := decideUnder(t, "git push", false, roleSource(t, Flags, true, "role = \"automation\"\n[risks]\nmoderate = \"ask\""))
	if !strings.Contains(d.Reason, "(risks.moderate)") {
		t.Error(d.Reason)
	}
}

// TestRolesAreShown: all of it is listed, and part of the version.
func TestRolesAreShown(t *testing.T) {
	s := limitsOf(t, "role = \"ops\"\n[risks]\nsafe = \"ask\"\n[roles.ops]\nmoderate = \"deny\"", "p.toml")
	var shown []string
	for _, one := range s.Show() {
		shown = append(shown, one.Key+" "+one.Text+" "+one.Place)
	}
	if want := "[role ops p.toml:1:8 risks.safe ask p.toml:3:8 roles.ops.moderate deny p.toml:5:12]"; fmt.Sprint(shown) != want {
		t.Error(shown)
	}
	for _, other := range []string{"", "role = \"ops\"", "role = \"ops\"\n[risks]\nsafe = \"ask\"\n[roles.ops]\nmoderate = \"ask\""} {
		if limitsOf(t, other, "p.toml").Digest() == s.Digest() {
			t.Errorf("%q has the same digest", other)
		}
	}
}

// lineOfRisk is a command line of a risk under profile terminal. What the later document
// calls critical is of tier 3 here, and what it forbids is catastrophic.
var lineOfRisk = map[string]string{
	"safe": "ls -la", "moderate": "chmod 755 file", "high": "sudo apt install nginx", "critical": "rm -rf build", "forbidden": "rm -rf /",
}

// TestSeedRoles: the matrix of roles and risks (S4-x2), and what forces an approval.
func TestSeedRoles(t *testing.T) {
	rows, err := corpus.ReadSeeds(seedsFile)
	if err != nil {
		t.Fatal(err)
	}
	words := map[permission.Behavior]string{permission.Allow: "auto", permission.Ask: "approve", permission.Deny: "blocked"}
	asked := 0
	for _, s := range rows {
		line, role, want := s.Command, "chat", s.Expect.Decision
		switch s.Asks() {
		case "roles":
			line, role = lineOfRisk[s.Input.Risk], s.Input.Role
		case "force":
			want = strings.Replace(want, "approval_required", "approve", 1)
		default:
			continue
		}
		asked++
		d, _ := decideUnder(t, line, s.Input.Force, roleSource(t, Flags, true, fmt.Sprintf("profile = \"terminal\"\nrole = %q", role)))
		got := words[d.Behavior]
		deviation, deviates := corpus.SeedDeviations[s.ID]
		if want == got == deviates || deviates && got != deviation.Got {
			t.Errorf("%s %s %s: %s (%s), want %s", s.ID, role, line, got, d.Reason, want)
		}
	}
	if asked != 21 {
		t.Errorf("%d cases, want 21", asked)
	}
}

// TestSeedTerminal: every S4 case with a decision comes out so for a chat agent.
func TestSeedTerminal(t *testing.T) {
	rows, err := corpus.ReadSeeds(seedsFile)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, s := range rows {
		want := map[string]permission.Behavior{
			"execute": permission.Allow, "approval_required": permission.Ask, "approval_required+warning": permission.Ask, "forbidden": permission.Deny,
		}[s.Expect.Decision]
		if s.System != "S4" || s.Asks() != "class" || want == 0 {
			continue
		}
		if _, deviates := corpus.SeedDeviations[s.ID]; deviates {
			continue
		}
		asked++
		d, _ := decideUnder(t, s.Command, false, roleSource(t, Flags, true, "profile = \"terminal\"\nrole = \"chat\""))
		warned := d.Risk.String() == "high"
		if d.Behavior != want || want == permission.Ask && warned != strings.HasSuffix(s.Expect.Decision, "warning") {
			t.Errorf("%s %s: %v, %v (%s), want %s", s.ID, s.Command, d.Behavior, d.Risk, d.Reason, s.Expect.Decision)
		}
	}
	if asked < 15 {
		t.Errorf("%d cases", asked)
	}
}

// A source that is not trusted loosens nothing, whatever it says of roles and risks.
func TestLawUntrustedRisks(t *testing.T) {
	lines := []string{"ls", "git push", "sudo ls", "rm -rf x", "chmod 755 x", "unheard-of", "cat .env"}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, from ...string) string {
			return rapid.SampledFrom(append([]string{""}, from...)).Draw(rt, name)
		}
		text := func(role bool) string {
			out := ""
			if r := draw("role", "chat", "automation", "admin"); role && r != "" {
				out = fmt.Sprintf("role = %q\n", r)
			}
			for _, table := range []string{"risks", "roles.chat", "roles.admin"} {
				out += "[" + table + "]\n"
				for _, k := range riskKeys {
					if answer := draw(table+k.name, k.answers...); answer != "" {
						out += fmt.Sprintf("%s = %q\n", k.name, answer)
					}
				}
			}
			return out
		}
		trusted := roleSource(t, User, true, text(true))
		line := rapid.SampledFrom(lines).Draw(rt, "line")
		before, _ := decideUnder(t, line, false, trusted)
		for _, kind := range []Kind{Project, Local} {
			other := roleSource(t, kind, false, text(true))
			if after, _ := decideUnder(t, line, false, trusted, other); after.Behavior < before.Behavior {
				rt.Fatalf("%s: %v becomes %v (%s)", line, before.Behavior, after.Behavior, after.Reason)
			}
		}
	})
}
