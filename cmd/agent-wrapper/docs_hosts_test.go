package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/doctor"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/install"
)

// The words around the part of docs/hosts.md that is made from a proof.
const (
	provenBegin = "<!-- made from docs/proof/hosts.json: go test ./cmd/agent-wrapper -run TestHostsPage -update -->\n"
	provenEnd   = "<!-- end -->\n"
)

// TestHostsPage: what docs/hosts.md says of each host is what doctor --prove --json has
// said, and what install leaves open.
func TestHostsPage(t *testing.T) {
	const page = "../../docs/hosts.md"
	data, err := os.ReadFile("../../docs/proof/hosts.json")
	if err != nil {
		t.Fatal(err)
	}
	var d diagnosis
	if err := json.Unmarshal(data, &d); err != nil || d.Proof == nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), provenBegin)
	_, after, ended := strings.Cut(rest, provenEnd)
	if !begun || !ended {
		t.Fatalf("%s has no part that is made from the proof", page)
	}
	golden.Check(t, page, before+provenBegin+provenTable(t, &d)+provenEnd+after)
}

// provenTable returns a table of what was proven, and what stays open in each host.
func provenTable(t *testing.T, d *diagnosis) string {
	t.Helper()
	var table, open strings.Builder
	table.WriteString("| host | proven on | canaries | stopped with a hook that | ran with a hook that | sandbox works in |\n|---|---|---|---|---|---|\n")
	for _, name := range doctor.Names() {
		s := installed(t, name)
		inside := "no"
		if version := hosts.Named(name).Rewrites; version != "" {
			inside = version
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", s.Title, proven(t, d, name), inside)
		fmt.Fprintf(&open, "\n%s:\n\n", s.Title)
		for _, door := range s.Doors {
			fmt.Fprintf(&open, "- %s. Closed by: %s.\n", asMarkdown(door.What), asMarkdown(door.Closes))
		}
	}
	return table.String() + "\nWhat stays open after `agent-wrapper install HOST`, in the person's own configuration\n(`--scope managed` leaves less open; `agent-wrapper status` lists both):\n" + open.String()
}

// proven returns the version and the outcomes of a host.
func proven(t *testing.T, d *diagnosis, name string) string {
	t.Helper()
	var canaries, stopped, ran []string
	for _, r := range d.Proof.Results {
		if r.Host != name {
			continue
		}
		if !slices.Contains(canaries, r.Canary) {
			canaries = append(canaries, r.Canary)
		}
		switch r.Outcome {
		case doctor.Through:
		case doctor.Stopped:
			stopped = append(stopped, r.Hook)
		case doctor.Ran:
			ran = append(ran, r.Hook)
		default:
			t.Errorf("%s, %s with a hook that %s: %s: this is no proof", name, r.Canary, r.Hook, r.Outcome)
		}
	}
	i := slices.IndexFunc(d.Hosts, func(h doctor.Host) bool { return h.Name == name })
	if i < 0 {
		return "not proven | – | – | –"
	}
	of := func(hooks []string) string {
		var out []string
		for _, hook := range hooks {
			n := 0
			for _, other := range hooks {
				if other == hook {
					n++
				}
			}
			if n < len(canaries) {
				hook = fmt.Sprintf("%s (%d of %d)", hook, n, len(canaries))
			}
			if !slices.Contains(out, hook) {
				out = append(out, hook)
			}
		}
		if len(out) == 0 {
			return "–"
		}
		return strings.Join(out, ", ")
	}
	version := strings.TrimSuffix(strings.Fields(strings.TrimPrefix(d.Hosts[i].Version, "GitHub Copilot CLI "))[0], ".")
	if name == "codex" {
		version = strings.Fields(d.Hosts[i].Version)[1]
	}
	return strings.Join([]string{version, strings.Join(canaries, ", "), of(stopped), of(ran)}, " | ")
}

// installed returns how a host stands once the hook is installed for a person.
func installed(t *testing.T, name string) *install.Status {
	t.Helper()
	dir := t.TempDir()
	m := &install.Machine{
		Home: dir, State: dir, Binary: dir + "/agent-wrapper",
		Getenv: func(string) string { return "" }, LookPath: func(name string) (string, error) { return "/usr/bin/" + name, nil },
	}
	p, err := m.Install(name, install.User, install.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	s, err := m.Status(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asMarkdown keeps what a page would take for something else.
func asMarkdown(text string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "|", `\|`).Replace(text)
}
