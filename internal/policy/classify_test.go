package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
)

// TestClassifySeeds checks that the cases with a tier or a risk get the same
// class as in package risk: the stated one, or that of the table of deviations.
func TestClassifySeeds(t *testing.T) {
	rows, err := corpus.ReadSeeds("../../testdata/cases/seeds.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var c Classifier
	asked := 0
	for i := range rows {
		s := &rows[i]
		if s.Asks() != "class" || s.Kind == "upstream-list" {
			continue
		}
		asked++
		profile := map[string]string{"S4": "terminal"}[s.System]
		row, err := json.Marshal(map[string]string{"id": s.ID, "command": s.Command, "shell": s.Shell, "profile": profile})
		if err != nil {
			t.Fatal(err)
		}
		got := c.Line(row)
		d, deviates := corpus.SeedDeviations[s.ID]
		switch {
		case s.Command == "":
			if got.Error == "" {
				t.Errorf("%s: the empty line has a class: %+v", s.ID, got)
			}
		case got.Error != "" || got.ID != s.ID:
			t.Errorf("%s %q: %+v", s.ID, s.Command, got)
		case deviates && got.Risk.String() != d.Got || !deviates && !s.Meets(got.Risk.String(), got.Tier):
			t.Errorf("%s %q: %v, want %s", s.ID, s.Command, got.Risk, s.Wants())
		}
	}
	if asked < 250 {
		t.Errorf("only %d cases", asked)
	}
}

// TestClassifyUnder checks that the overrides of a policy apply, including
// those of a further policy, and that a given profile replaces the policy's for
// one line only.
func TestClassifyUnder(t *testing.T) {
	spec, _ := Merge([]Source{
		sourceOf(t, User, true, "profile = \"terminal\"\n"+overriding("safe touch:*")),
		sourceOf(t, Project, false, overriding("high ls:*", "safe rm:*")),
	})
	p, _, _, err := spec.Compile(mergePlace)
	if err != nil {
		t.Fatal(err)
	}
	c := Classifier{Policy: p, Dir: mergePlace.Workspace, Env: workspace.Fake{Dir: mergePlace.Workspace}}
	for _, tt := range []struct{ line, profile, shell, want string }{
		{"touch x", "", "", "safe"}, {"ls", "", "", "high"}, {"rm x", "", "", "high"},
		{"reboot", "", "", "high"}, {"reboot", "default", "", "forbidden"}, {"reboot", "terminal", "zsh", "high"}, {"reboot", "", "dash", "high"},
		{"dir", "", "cmd", "safe"}, {"del x", "terminal", "cmd", "forbidden"}, {"ri x", "", "powershell", "forbidden"},
	} {
		if got, err := c.Classify(tt.line, tt.profile, tt.shell); err != nil || got.Risk.String() != tt.want {
			t.Errorf("%+v: %+v, %v", tt, got, err)
		}
	}
	for _, line := range []string{"", "\t", "ls \xff", "ls \x00", strings.Repeat("x", shell.MaxLine+1)} {
		if got, err := c.Classify(line, "", ""); err == nil {
			t.Errorf("%q: %+v", line, got)
		}
	}
	if _, err := (&Classifier{Policy: p}).Classify("git status", "", ""); err != nil {
		t.Error(err)
	}
}

// FuzzClassify checks that any row has one answer: with an error it is of tier
// 3, without one it has the class of its line.
func FuzzClassify(f *testing.F) {
	for _, row := range []string{
		`{"id":"x","command":"ls","profile":"terminal","shell":"bash"}`, `{"id":"x","command":"dir","shell":"cmd"}`, `{"id":"x","command":"\u0000"}`,
		`{"id":"x","ID":"y","command":"ls"}`, `{"id":"x","command":"ls","command":"rm"}`, `{"id":null}`, `[]`, `{"id":"x","command":"\ud800"}`, `{"id":"x","command":"ls","x":[{"id":1}]}`,
	} {
		f.Add([]byte(row))
	}
	var c Classifier
	f.Fuzz(func(t *testing.T, data []byte) {
		got := c.Line(data)
		if got.Tier != got.Risk.Tier() || got.Reasons == nil || got.Factors == nil || got.Components == nil {
			t.Fatalf("%+v", got)
		}
		text, err := json.Marshal(got)
		if err != nil || strings.Contains(string(text), "\n") {
			t.Fatalf("%s, %v", text, err)
		}
		if got.Error != "" {
			if got.Tier != 3 || len(got.Components) > 0 {
				t.Fatalf("%+v", got)
			}
			return
		}
		var row classifyRow
		if err := json.Unmarshal(data, &row); err != nil || row.ID != got.ID || row.ID == "" {
			t.Fatalf("%q is answered as %+v: %v", data, got, err)
		}
		if WindowsShell(row.Shell) != 0 {
			return
		}
		profile, _ := risk.ParseProfile(row.Profile)
		facts := shell.Analyze(row.Command, shell.Options{Dir: classifyDir, Home: defaultHome, Workspace: classifyDir, Dialect: dialect(row.Shell)})
		want := risk.Safe
		for _, found := range risk.Each(facts, profile) {
			want = max(want, found.Class)
		}
		if want != got.Risk {
			t.Fatalf("%q is %v, want %v", row.Command, got.Risk, want)
		}
	})
}

// TestClassifyAddsUp checks that a line is as dangerous as its most dangerous
// part.
func TestClassifyAddsUp(t *testing.T) {
	var c Classifier
	lines := everyLine(t)
	slices.Sort(lines)
	for _, use := range slices.Compact(lines) {
		line, ok := strings.CutPrefix(use, "Bash(")
		if !ok {
			continue
		}
		got, err := c.Classify(strings.TrimSuffix(line, ")"), "", "")
		if err != nil {
			continue // too long, or not text
		}
		for _, one := range got.Components {
			if one.Risk > got.Risk {
				t.Errorf("%s: %+v is above the line, which is %v", line, one, got.Risk)
			}
		}
	}
}
