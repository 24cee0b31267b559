package risk

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

func summary(line string) Report {
	f := analyze(line)
	return Summary(f, Each(f, Default))
}

func TestSummary(t *testing.T) {
	for line, want := range map[string]Report{
		"": {Safe, 1, []string{nothing}, []string{}, []Component{}},
		"kubectl get pods -n x | grep y": {Safe, 1, []string{"read-only"}, []string{}, []Component{
			{"kubectl", "get", []string{"pods", "-n", "x"}, Safe, "read-only"},
			{"grep", "", []string{"y"}, Safe, "read-only"},
		}},
		"kubectl -n x rollout status deploy/y": {Safe, 1, []string{"read-only"}, []string{}, []Component{
			{"kubectl", "rollout status", []string{"-n", "x", "deploy/y"}, Safe, "read-only"},
		}},
		"ls && kubectl delete pod $(cat f)": {Moderate, 2, []string{"mutating operation: deletes objects", substituted}, []string{FactorSubstitution}, []Component{
			{"ls", "", []string{}, Safe, "read-only"},
			{"kubectl", "delete", []string{"pod", "$(cat f)"}, Moderate, "mutating operation: deletes objects, " + substituted},
			{"cat", "", []string{"f"}, Safe, "read-only"},
		}},
		"sudo /bin/rm -rf d > log": {Forbidden, 3, []string{"destructive operation", "needs root", "mutating operation: writes /home/dev/proj/log",
			"mutating operation: writes /home/dev/proj/d"}, []string{}, []Component{
			{"sudo", "", []string{"/bin/rm", "-rf", "d"}, High, "needs root"},
			{"/bin/rm", "", []string{"-rf", "d"}, Forbidden, "destructive operation"},
		}},
		"$X y": {Moderate, 2, []string{"the command name is known only when it runs"}, []string{FactorDynamic}, []Component{
			{"$X", "", []string{"y"}, Moderate, "the command name is known only when it runs"},
		}},
		"nonesuch a b": {Moderate, 2, []string{"unknown command: nonesuch"}, []string{FactorUnknown}, []Component{
			{"nonesuch", "", []string{"a", "b"}, Moderate, "unknown command: nonesuch"},
		}},
		"aws ec2 describe-instances": {Safe, 1, []string{"read-only: asks another host"}, []string{}, []Component{
			{"aws", "ec2 describe-instances", []string{}, Safe, "read-only: asks another host"},
		}},
	} {
		if diff := cmp.Diff(want, summary(line)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func TestSummaryOfABomb(t *testing.T) {
	got := summary(":(){:|:&};:")
	if got.Tier != 3 || got.Reasons[0] != forkBomb || got.Factors[len(got.Factors)-1] != FactorCatastrophic {
		t.Errorf("%+v", got)
	}
}

// The class of the report is that of the given findings, which may have changed
// since Each.
func TestSummaryTakesChangedFindings(t *testing.T) {
	f := analyze("ls; pwd")
	found := Each(f, Default)
	found[1].raise(High, "by order", FactorSensitive)
	got := Summary(f, found)
	if got.Tier != 2 || got.Components[1].Risk != High || got.Reasons[0] != "by order" || len(got.Reasons) != 1 {
		t.Errorf("%+v", got)
	}
	if got := Summary(&shell.Facts{Actions: []shell.Action{{Kind: shell.Command}}}, make([]Finding, 1)); got.Components[0].Command != "" {
		t.Errorf("a command without words: %+v", got)
	}
}

func TestReportsJSON(t *testing.T) {
	data, err := json.Marshal(summary("kubectl get pods"))
	const want = `{"risk":"safe","tier":1,"reasons":["read-only"],"factors":[],` +
		`"components":[{"command":"kubectl","subcommand":"get","args":["pods"],"risk":"safe","reason":"read-only"}]}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v, want %s", data, err, want)
	}
}

// Each rule is a row of the tables, and every row has one.
func TestRules(t *testing.T) {
	for _, p := range []Profile{Default, Terminal} {
		rules, lines := Rules(p), 0
		for _, name := range listed() {
			for _, r := range lookup(name, p).rows {
				lines += max(1, len(strings.Fields(r.Subs)))
			}
		}
		for i := range spots {
			lines += len(strings.Fields(spots[i].paths))
		}
		if lines += len(devices) + len(system); lines != len(rules) {
			t.Errorf("profile %d: %d rules for %d lines", p, len(rules), lines)
		}
		for _, r := range rules {
			if r.Tier != r.Risk.Tier() || r.Reason == "" || (r.Program == "") == (r.Path == "") || r.Program != "" != (r.Kind == "command") {
				t.Errorf("profile %d: %+v", p, r)
			}
		}
	}
	for _, one := range terminal {
		if ofCatalog(one.name) == nil {
			t.Errorf("%s is in terminal only: the rules leave it out", one.name)
		}
	}
}

// The rule of a path or device agrees with the class of a write to it.
func TestRulesOfPaths(t *testing.T) {
	for _, p := range []Profile{Default, Terminal} {
		for _, r := range Rules(p) {
			a := shell.Action{Kind: shell.Write, Path: shell.Word{Text: strings.Replace(r.Path, "**", "/home/dev", 1)}}
			switch r.Kind {
			case "device":
				a.Path.Text += "x1"
			case "path":
			default:
				continue
			}
			if got := Action(&a, p, Place{}); got.Class != r.Risk || got.Reason != r.Reason {
				t.Errorf("profile %d: a write to %s is %+v, the rule says %+v", p, a.Path.Text, got, r)
			}
		}
	}
}
