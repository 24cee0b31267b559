package policy

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawSources draws trusted and untrusted policies of any kind with any
// settings.
func drawSources(t *testing.T, rt *rapid.T) []Source {
	var sources []Source
	for kind := Managed; kind <= Flags; kind++ {
		if !rapid.Bool().Draw(rt, kind.String()+" is there") {
			continue
		}
		trusted := kind < Project || kind == Flags || rapid.Bool().Draw(rt, kind.String()+" is trusted")
		sources = append(sources, sourceOf(t, kind, trusted, drawText(rt, kind.String())))
	}
	return sources
}

// TestUntrustedAmongAll checks that adding an untrusted source to any sources
// makes no decision looser.
func TestUntrustedAmongAll(t *testing.T) {
	lines := everyLine(t)
	rapid.Check(t, func(rt *rapid.T) {
		sources := drawSources(t, rt)
		kind := rapid.SampledFrom([]Kind{Project, Local, FrontMatter}).Draw(rt, "kind")
		more := sourceOf(t, kind, false, drawText(rt, "the source more"))
		before, _ := Merge(sources)
		after, _ := Merge(append([]Source{more}, sources...))
		for range 6 {
			use := rapid.SampledFrom(lines).Draw(rt, "use")
			was, is := decided(t, before, use), decided(t, after, use)
			if is.Behavior < was.Behavior || was.Held && was.Behavior == is.Behavior && !is.Held {
				rt.Fatalf("%s: %v (%s), before %v (%s)", use, is.Behavior, is.Reason, was.Behavior, was.Reason)
			}
		}
	})
}

// TestUntrustedAllowIsAGate checks that nothing else allows what an untrusted
// allow list omits, unless it is harmless, and that what it names is allowed only
// if it was before.
func TestUntrustedAllowIsAGate(t *testing.T) {
	lines := everyLine(t)
	gate := sourceOf(t, Project, false, `allow = ["Bash(git:*)"]`)
	rapid.Check(t, func(rt *rapid.T) {
		sources := []Source{sourceOf(t, User, true, gated(drawText(rt, "user")))}
		before, _ := Merge(sources)
		after, _ := Merge(append(sources, gate))
		use := rapid.SampledFrom(lines).Draw(rt, "use")
		is := decided(t, after, use)
		if is.Behavior.String() != "allow" {
			return
		}
		bare := *before // what the person calls harmless is
		bare.Allow, bare.Approved, bare.Rules = nil, nil, nil
		harmless := is.Tier == 1 || decided(t, &Spec{}, use).Behavior.String() == "allow" || decided(t, &bare, use).Behavior.String() == "allow"
		if !harmless && is.Rule != "" && (!strings.HasPrefix(use, "Bash(") || !strings.Contains(use, "git")) {
			rt.Fatalf("%s is allowed though the gate does not name it: %s", use, is.Reason)
		}
		if was := decided(t, before, use); was.Behavior.String() != "allow" {
			rt.Fatalf("%s is allowed by the gate: %s; before %v", use, is.Reason, was.Behavior)
		}
	})
}

// gated drops the settings that decide before an allow list, or decide what it
// omits.
func gated(text string) string {
	var left []string
	for line := range strings.Lines(text) {
		if key, _, _ := strings.Cut(line, " "); key != "approved" && key != "mode" && key != "unlisted" {
			left = append(left, line)
		}
	}
	return strings.Join(left, "")
}

// TestIgnoredOfFlags checks that a setting without a line is reported with its
// source, and that what is ignored has a fixed order.
func TestIgnoredOfFlags(t *testing.T) {
	managed := sourceOf(t, Managed, true, "allow = [\"Read\"]\nunlisted = \"deny\"\nrisk = \"on\"\ncatastrophic = \"on\"")
	flags := Source{Kind: Flags, Name: "flags", Trusted: true, Spec: &Spec{Unlisted: "ask", Risk: "off", Catastrophic: "off"}}
	want := `flags: catastrophic = "off" is ignored: only a managed or user policy, or one given with --policy, may set this
flags: unlisted = "ask" is ignored: managed.toml sets deny
flags: risk = "off" is ignored: managed.toml sets on`
	for range 20 {
		var got []string
		spec, ignored := Merge([]Source{flags, managed})
		for _, i := range ignored {
			got = append(got, i.String())
		}
		if strings.Join(got, "\n") != want {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
		}
		for _, item := range spec.Show() {
			if item.Place == "" {
				t.Errorf("%s has no source", item.Key)
			}
		}
	}
}

// TestCutShort checks that a rule that YAML cuts off at a comma or a # is an
// error in its place, and not taken for another rule.
func TestCutShort(t *testing.T) {
	for text, want := range map[string]string{
		"permissions_deny: [Bash(cut -d, -f1)]": ":2:24: ",
		"permissions_deny:\n  - Bash(echo #x)":  ":3:9: ",
		"permissions_deny: ['']":                ":2:21: ",
		"permission_mode: ''":                   ":2:19: ",
	} {
		chat := written(t, filepath.Join(t.TempDir(), "chat.md"), "---\n"+text+"\n---\n")
		if src, err := (File{Kind: FrontMatter, Path: chat}).Read(nil, mergePlace); err == nil || !strings.HasPrefix(err.Error(), chat+want) {
			t.Errorf("%s: %v, want an error at %s: %v", text, src.Spec, want, err)
		}
	}
}
