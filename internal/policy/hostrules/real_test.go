package hostrules

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// realRule is a rule of a real settings file.
type realRule struct {
	Rule, List, Host string
	Count            int
}

func realRules(t *testing.T) []realRule {
	t.Helper()
	f, err := os.Open("../../../patterns/testdata/real-rules.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []realRule
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var r realRule
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

var openCodeRow = regexp.MustCompile(`^(?:agent\.([^.]+)\.)?([^\[]+)(?:\[(.*)\])?$`)

// file returns a file of the rule's host that has only this rule.
func (r *realRule) file() File {
	object := func(v any) []byte {
		text, _ := json.Marshal(v)
		return text
	}
	switch r.Host {
	case "claude":
		return File{Name: lawDir + "/.claude/settings.json", Text: object(map[string]any{"permissions": map[string][]string{r.List: {r.Rule}}})}
	case "codex-rules":
		return File{Name: "default.rules", Text: []byte(r.Rule)}
	case "gemini-policy":
		text := r.Rule
		for _, key := range geminiKeys {
			text = strings.ReplaceAll(text, "; "+key+" =", "\n"+key+" =")
		}
		return File{Name: "p.toml", Text: []byte("[[rule]]\n" + text)}
	case "opencode":
		m := openCodeRow.FindStringSubmatch(r.Rule)
		var value any = r.List
		if m[3] != "" {
			value = map[string]string{m[3]: r.List}
		}
		permission := map[string]any{"permission": map[string]any{m[2]: value}}
		if m[1] != "" {
			permission = map[string]any{"agent": map[string]any{m[1]: permission}}
		}
		return File{Name: "opencode.json", Text: object(permission)}
	}
	return File{Name: ".vscode/settings.json", Text: object(map[string]any{vscodeTerminal: map[string]bool{r.Rule: r.List == "allow"}})}
}

// TestRealRules imports rules of real settings, each as a file of its own, and compares what
// becomes of them with a golden file.
func TestRealRules(t *testing.T) {
	rules := realRules(t)
	hosts := map[string]string{"claude": "claude", "codex-rules": "codex", "gemini-policy": "gemini", "opencode": "opencode", "vscode-autoapprove": "vscode"}
	outcomes, why := map[string]int{}, map[string]int{}
	var odd []string
	for _, r := range rules {
		f := r.file()
		made, err := Read([]File{f}, Options{Host: hosts[r.Host], Home: lawHome})
		if err != nil {
			outcomes[fmt.Sprintf("%-9s %-5s refused", hosts[r.Host], r.List)]++
			odd = append(odd, fmt.Sprintf("%-9s %-5s refused   %.100q: %v", hosts[r.Host], r.List, r.Rule, err))
			continue
		}
		if _, err := made.Draft.Text(); err != nil {
			t.Errorf("%s: %v", r.Rule, err)
		}
		if len(made.Rules) != 1 {
			t.Errorf("%s is %d rules", r.Rule, len(made.Rules))
			continue
		}
		got := &made.Rules[0]
		outcomes[fmt.Sprintf("%-9s %-5s %s", hosts[r.Host], r.List, got.Outcome)]++
		why[fmt.Sprintf("%-9s %s", got.Outcome, got.Reason)]++
		if got.Outcome != Taken {
			odd = append(odd, fmt.Sprintf("%-9s %-5s %-9s %.100q: %s; %.120s > %s", hosts[r.Host], r.List, got.Outcome, r.Rule, got.Reason, got.Note, strings.Join(got.Became, ", ")))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d rules\n\n", len(rules))
	for _, counts := range []map[string]int{outcomes, why} {
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, "%5d  %s\n", counts[key], key)
		}
		b.WriteString("\n")
	}
	slices.Sort(odd)
	b.WriteString(strings.Join(odd, "\n") + "\n")
	golden.Check(t, "testdata/real-rules.golden", b.String())
}
