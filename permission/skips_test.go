package permission

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestSkips checks that a search which leaves out what a deny rule names is not asked
// about, and that every other one is.
func TestSkips(t *testing.T) {
	dev := spec{risk: true, unlisted: UnlistedRisk, deny: "Read(.env); Read(*.pem)"}
	file := stored{files: []string{"/sub/.env"}}
	both := stored{files: []string{"/sub/.env", "/x.pem"}}
	for _, tt := range []struct {
		in   spec
		fs   Env
		line string
		want Behavior
	}{
		{dev, file, "grep -r x .", Ask},
		{dev, file, "grep -r --exclude=.en x .", Ask},
		{dev, file, "grep -r --exclude=.env x .", Allow},
		{dev, file, "rg --hidden -g '!.env' x", Allow},
		{dev, both, "grep -r --exclude=.env x .", Ask},
		{dev, both, "grep -r --exclude=.env --exclude='*.pem' x .", Allow},
		{dev, stored{files: []string{"/sub/.env/a"}}, "grep -r --exclude=.env x .", Ask}, // it is searched
		{dev, nil, "grep -r --exclude=.env x .", Ask},                                    // it may be one
		{dev, file, "grep -r --exclude=.env x sub/.env", Deny},
		{spec{risk: true, deny: "Read(./sub/**)"}, file, "grep -r --exclude='**' x .", Ask},
		{spec{risk: true, deny: "Read"}, file, "grep -r --exclude=.env x .", Deny},
	} {
		use := using("Bash", tt.line)
		use.Dir = workspace
		if d := Evaluate(tt.in.policy(t), nil, &use, tt.fs, nil); d.Behavior != tt.want {
			t.Errorf("%s: %v, want %v: %s", tt.line, d.Behavior, tt.want, d.Reason)
		}
	}
	p := dev.policy(t)
	p.Place.Fold = true // .ENV is denied as well
	use := using("Bash", "grep -r --exclude=.env x .")
	use.Dir = workspace
	if d := Evaluate(p, nil, &use, file, nil); d.Behavior != Ask {
		t.Errorf("a file system that ignores case: %v", d.Behavior)
	}
	for glob, want := range map[string]Behavior{"": Ask, ".env": Deny, "!.env": Allow, "!.env *": Ask, "!.env,*": Ask, "!{.env,a}": Ask} {
		input, _ := json.Marshal(map[string]string{"pattern": "x", "glob": glob})
		use := ToolUse{Tool: "Grep", Input: input, Dir: workspace}
		if d := Evaluate(dev.policy(t), nil, &use, file, nil); d.Behavior != want {
			t.Errorf("Grep with glob %q: %v, want %v", glob, d.Behavior, want)
		}
	}
}

// TestGrepNamesSecrets checks that patterns by which the agent's tool names files with secrets
// are asked about, and that others are not.
func TestGrepNamesSecrets(t *testing.T) {
	p := spec{risk: true, unlisted: UnlistedRisk}.policy(t)
	p.SensitiveAsks = true
	file := stored{files: []string{"/.env", "/src/a.go"}}
	for glob, want := range map[string]Behavior{
		"": Allow, "*.go": Allow, "**/*.{go,ts}": Allow, "Makefile": Allow, "src/**": Allow, "src/*": Allow, "!.env": Allow, "!*.go": Allow,
		".env": Ask, "**/.env": Ask, "{.env,x}": Ask, "*.go,.env": Ask, "*.go .env": Ask, "src/.env": Ask,
		".e*": Ask, "[.]env": Ask, ".en?": Ask, "*": Ask, "**": Ask, "*v": Ask, ".*": Ask, "!a *": Ask,
	} {
		input, _ := json.Marshal(map[string]string{"pattern": "S", "glob": glob, "output_mode": "content"})
		use := ToolUse{Tool: "Grep", Input: input, Dir: workspace}
		if d := Evaluate(p, nil, &use, file, nil); d.Behavior != want {
			t.Errorf("Grep with glob %q: %v, want %v: %s", glob, d.Behavior, want, d.Reason)
		}
	}
	none := stored{files: []string{"/src/a.go"}}
	use := ToolUse{Tool: "Grep", Input: json.RawMessage(`{"pattern":"S","glob":"*"}`), Dir: workspace}
	if d := Evaluate(p, nil, &use, none, nil); d.Behavior != Allow {
		t.Errorf("Grep without a file with secrets: %v: %s", d.Behavior, d.Reason)
	}
}

// stored is a file system with files, below the workspace.
type stored struct {
	fakeFS
	files []string
}

func (h stored) Below(dir string, rule *patterns.Rule, hidden bool) bool {
	return slices.ContainsFunc(h.files, func(file string) bool {
		return subpath.Within(workspace+file, dir) && (hidden || !strings.Contains(file, "/.")) && rule.Covers(workspace+file)
	})
}

// Files matches every file and directory with a path.
func (h stored) Files(name shell.Word) (found []string, all bool) {
	for _, file := range h.files {
		way := workspace + file + "/"
		for at := len(workspace) + 1; at < len(way); at++ {
			matched, _ := path.Match(name.Filled("*"), way[:at])
			first := name.Holes[0].At
			if way[at] != '/' || !matched || name.Text[first-1] == '/' && way[first] == '.' && name.Holes[0].Kind != shell.Pattern {
				continue
			}
			found = append(found, strings.TrimSuffix(way[:at+1], "/"))
			if at+1 < len(way) {
				found[len(found)-1] += "/"
			}
		}
	}
	return found, true
}

// TestAdviceForSearch checks that a search is advised to leave out what is denied, in
// a way that is then allowed.
func TestAdviceForSearch(t *testing.T) {
	dev := spec{risk: true, unlisted: UnlistedRisk, deny: "Read(.env); Read(secret.key)", ask: "Bash(rg:*)"}
	quiet := dev
	quiet.ask = ""
	fs := stored{files: []string{"/.env"}}
	for _, tt := range []struct {
		in         spec
		fs         Env
		line, want string
	}{
		{dev, fs, "grep -rn x .", "grep: add --exclude=.env"},
		{quiet, fs, "grep -rn x .", "grep: add --exclude=.env, or use rg"},
		{quiet, fs, "grep -Rn x .", "grep: use rg"},
		{dev, fs, "grep -Rn x .", ""},
		{quiet, fs, "rg --hidden x", "rg: add -g '!.env'"},
		{quiet, stored{files: []string{"/.env", "/secret.key"}}, "grep -rn x .", "grep: add --exclude=.env --exclude=secret.key"},
		{quiet, stored{files: []string{"/.env/x"}}, "grep -rn x .", "grep: use rg"},
		{quiet, fs, "zgrep -r x .", ""},
		{quiet, fs, "tar cf a.tar .", ""},
		{quiet, fs, "grep -rn x . > out", ""},
	} {
		use := using("Bash", tt.line)
		use.Dir = workspace
		if got := advisedOf(Evaluate(tt.in.policy(t), nil, &use, tt.fs, nil)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
	for input, want := range map[string]string{`{"pattern":"x"}`: `: set glob to "!.env"`, `{"pattern":"x","glob":"*.go"}`: ""} {
		use := ToolUse{Tool: "Grep", Input: json.RawMessage(input), Dir: workspace}
		if got := advisedOf(Evaluate(quiet.policy(t), nil, &use, fs, nil)); got != want {
			t.Errorf("Grep %s: %q, want %q", input, got, want)
		}
	}
}
