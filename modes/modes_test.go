package modes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rows of section 5 of the design, one by one.
func TestTable(t *testing.T) {
	want := map[string]Traits{
		"default":           {},
		"acceptEdits":       {AllowsEdits: true},
		"plan":              {ReadOnly: true},
		"dontAsk":           {NeverAsks: true, DeniesUnlisted: true},
		"bypassPermissions": {AllowsAll: true},
	}
	got := map[string]Traits{}
	for _, name := range Names() {
		m, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.String() != name {
			t.Errorf("Parse(%q).String() = %q", name, m)
		}
		got[name] = m.Traits()
		if m.Narrows() != (name == "plan" || name == "dontAsk") {
			t.Errorf("%s narrows: %v", name, m.Narrows())
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ in, says string }{
		{"", "use default, acceptEdits, plan, dontAsk, bypassPermissions"},
		{"auto", "use default"},
		{"invalid", "use default"},
		{" plan", "use default"},
		{"acceptedits", "did you mean acceptEdits?"},
		{"BYPASSPERMISSIONS", "did you mean bypassPermissions?"},
	}
	for _, tt := range tests {
		m, err := Parse(tt.in)
		if m.Valid() || err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Parse(%q) = %v, %v; want an error that says %q", tt.in, m, err, tt.says)
		}
	}
}

// "Zero values of Behavior and Mode are invalid, never allow."
func TestInvalidAllowsNothing(t *testing.T) {
	for _, m := range []Mode{0, BypassPermissions + 1, 255} {
		if m.Valid() || m.String() != "invalid" || m.Traits() != (Traits{}) {
			t.Errorf("Mode(%d): %v %q %+v", uint8(m), m.Valid(), m, m.Traits())
		}
	}
}

func TestNarrowest(t *testing.T) {
	for _, tt := range []struct{ all, want []Mode }{
		{[]Mode{BypassPermissions, AcceptEdits, Default, AcceptEdits}, []Mode{Default}},
		{[]Mode{AcceptEdits, BypassPermissions}, []Mode{AcceptEdits}},
		{[]Mode{DontAsk, Default, Plan, DontAsk}, []Mode{DontAsk, Plan}},
		{[]Mode{Plan, 0}, []Mode{0}}, // under which nothing is allowed
	} {
		if d := cmp.Diff(tt.want, Narrowest(tt.all)); d != "" {
			t.Errorf("%v: %s", tt.all, d)
		}
	}
}
