package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestApprovalsRejected: what nobody could meet does not load, and says where.
func TestApprovalsRejected(t *testing.T) {
	for _, tt := range []struct{ text, at, why string }{
		{"timeout_seconds = 0", "2:19", "write 1 to"}, {"timeout_seconds = -1", "2:19", "write 1 to"}, {"timeout_seconds = 7776001", "2:19", "write 1 to"},
		{`timeout_seconds = "60"`, "", ""}, {"timeout_seconds = 1.5", "", ""}, {"timeout = 60", "2:1", "timeout"},
		{"people = []", "2:10", "approvals.people is empty"}, {`people = [""]`, "2:10", "unique names"}, {`people = ["a", "a"]`, "2:10", "unique names"}, {`people = [" a"]`, "2:10", "unique names"},
		{"people = \"a\"", "2:", ""}, {"quorum = 2", "2:", ""}, {"quorum.high = 0", "2:15", "write 1 or more"}, {"quorum.high = -3", "2:15", "write 1 or more"},
		{"quorum.safe = 2", "2:", "safe"}, {"quorum.critical = 2", "2:", "critical"},
		{"people = [\"a\", \"b\"]\nquorum.forbidden = 3", "3:20", "people lists only 2: nothing could be approved"},
	} {
		found := Validate([]byte("[approvals]\n"+tt.text), "p.toml")
		if len(found) == 0 || found[0].Warning || !strings.HasPrefix(found[0].String(), "p.toml:"+tt.at) || !strings.Contains(found[0].String(), tt.why) {
			t.Errorf("%s: %v", tt.text, found)
		}
	}
}

func demands(t *testing.T, s *Spec) string {
	t.Helper()
	if _, _, _, err := s.Compile(patterns.Place{Workspace: "/w"}); err != nil {
		return err.Error()
	}
	var shown []string
	for _, one := range s.Show() {
		shown = append(shown, strings.TrimPrefix(one.Key, "approvals.")+" "+one.Text+" "+one.Place)
	}
	return strings.Join(shown, "; ")
}

const strictApprovals = "[approvals]\ntimeout_seconds = 60\npeople = [\"anna\", \"ben\", \"cy\"]\n[approvals.quorum]\nhigh = 2\n"

func TestApprovals(t *testing.T) {
	s := limitsOf(t, strictApprovals, "p.toml")
	if got, want := demands(t, s), "timeout_seconds 60 p.toml:2:19; people anna, ben, cy p.toml:3:10; quorum.high 2 p.toml:5:8"; got != want {
		t.Error(got)
	}
	if s.Digest() == new(Spec).Digest() || s.Digest() == limitsOf(t, "[approvals]\ntimeout_seconds = 60", "p.toml").Digest() {
		t.Error("the demands are not part of the digest")
	}
	if s.Approvals.Timeout().String() != "1m0s" || fmt.Sprint(s.Approvals.Needed()) != "map[high:2]" || new(ApprovalsSpec).Needed() != nil {
		t.Error(s.Approvals.Timeout(), s.Approvals.Needed())
	}
}

// TestApprovalsAreMerged: the strictest counts, whichever source it is from; an
// untrusted one says nothing of who may answer.
func TestApprovalsAreMerged(t *testing.T) {
	other := "[approvals]\ntimeout_seconds = 90\npeople = [\"ben\", \"cy\", \"mallory\"]\n[approvals.quorum]\nmoderate = 2\nhigh = 1\n"
	for _, kinds := range [][2]Kind{{User, Project}, {Project, User}, {Managed, Flags}, {Flags, Managed}} {
		for trusted, want := range map[bool]string{
			true:  "timeout_seconds 60 s.toml:2:19; people ben, cy .*; quorum.moderate 2 o.toml:5:12; quorum.high 2 s.toml:5:8",
			false: "timeout_seconds 60 s.toml:2:19; people anna, ben, cy s.toml:3:10; quorum.moderate 2 o.toml:5:12; quorum.high 2 s.toml:5:8",
		} {
			merged, ignored := Merge([]Source{
				{Kind: kinds[0], Name: "s.toml", Spec: limitsOf(t, strictApprovals, "s.toml"), Trusted: true},
				{Kind: kinds[1], Name: "o.toml", Spec: limitsOf(t, other, "o.toml"), Trusted: trusted},
			})
			got := demands(t, merged)
			before, after, _ := strings.Cut(want, ".*")
			if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
				t.Errorf("%v, trusted %v: %s", kinds, trusted, got)
			}
			if told := fmt.Sprint(ignored); !trusted && (!strings.Contains(told, `approvals.people = ["ben" "cy" "mallory"] is ignored`) ||
				!strings.Contains(told, "o.toml:2:19: approvals.timeout_seconds = 90 is ignored") || !strings.Contains(told, "quorum.high = 1 is ignored")) {
				t.Error(told)
			}
		}
	}
	for _, bad := range []string{"people = [\"dora\"]", "timeout_seconds = 0", "quorum.high = 0", "people = [\"anna\"]"} {
		merged, _ := Merge([]Source{
			{Kind: User, Name: "s.toml", Spec: limitsOf(t, strictApprovals, "s.toml"), Trusted: true},
			{Kind: Flags, Name: "bad", Spec: limitsOf(t, "[approvals]\n"+bad, "bad"), Trusted: true},
		})
		if _, _, _, err := merged.Compile(patterns.Place{Workspace: "/w"}); err == nil {
			t.Error(bad, "leaves what can be approved")
		}
	}
}

func TestLintApprovals(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{strictApprovals, "[]"},
		{"[approvals.quorum]\nmoderate = 3\nhigh = 2", "[3: approvals.quorum.high = 2: a lower risk needs 3, and a higher risk must need at least as many]"},
		{"mode = \"dontAsk\"\n[approvals]\ntimeout_seconds = 5", "[3: approvals.timeout_seconds = 5: mode dontAsk never asks]"},
	} {
		findings, err := Lint(limitsOf(t, c.text, "p.toml"))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, f := range findings {
			got = append(got, fmt.Sprintf("%d: %s: %s", f.Source.Line, f.Rule, f.Why))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v", c.text, got)
		}
	}
}
