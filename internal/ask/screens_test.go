package ask

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// projectPolicy is that of a web project: what is usual is allowed, what leaves the
// machine or removes something is asked about.
const projectPolicy = `
allow = ["Read", "Grep", "Glob", "Bash(git status:*)", "Bash(git diff:*)", "Bash(git add:*)", "Bash(git commit:*)",
  "Bash(npm test:*)", "Bash(npm run:*)", "Bash(cd:*)", "Bash(echo:*)", "Bash(ls:*)", "Bash(tee:*)", "Bash(tail:*)", "Bash(mkdir:*)",
  "Bash(grep:*)", "Bash(sort:*)", "Bash(jq:*)", "Bash(gofmt:*)", "Bash(test:*)", "Bash(wc:*)", "Bash(head:*)"]
ask = ["Bash(git push:*)", "Bash(rm -rf build)", "Bash(docker compose:*)"]
deny = ["Read(.env)", "Bash(sudo:*)"]
unlisted = "ask"
`

// handler is a file that the agent edits.
var handler = "package web\n\nimport (\n\t\"net/http\"\n)\n\n" + strings.Repeat("// serve answers one request.\n", 20) + `func serve(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	greet(w, name)
}
`

// longDiff replaces the function of handler, in thirty lines.
func longDiff() string {
	var out strings.Builder
	out.WriteString("func serve(w http.ResponseWriter, r *http.Request) {\n")
	for i := range 14 {
		fmt.Fprintf(&out, "\tcase%02d := r.URL.Path == \"/%d\"\n\tgreet(w, case%02d)\n", i, i, i)
	}
	out.WriteString("}\n")
	return out.String()
}

// script is a script of sixty lines, one of which asks.
func script() string {
	var out strings.Builder
	out.WriteString("cd web\nnpm run build\nmkdir -p dist\n")
	for i := range 40 {
		fmt.Fprintf(&out, "echo \"part %d\"\n", i+1)
	}
	out.WriteString("git add dist\ngit commit -m \"Build the pages\"\ngit push origin gh-pages\n")
	for i := range 14 {
		fmt.Fprintf(&out, "echo \"done %d\"\n", i+1)
	}
	return out.String()
}

// everyday are tool uses of real sessions, and the most rows that their question takes
// at 80 columns and 24 rows.
var everyday = []struct {
	name  string
	tool  string
	input map[string]any
	file  *display.File
	most  int
}{
	{"git-push", "Bash", map[string]any{"command": "cd web && git push origin main", "description": "Push the branch"}, nil, 14},
	{"npm-install", "Bash", map[string]any{"command": "cd web && npm install left-pad 2>&1 | tail -20", "description": "Install left-pad"}, nil, 14},
	{"python-heredoc", "Bash", map[string]any{"command": "python3 - <<'EOF'\nimport json\nwith open('package.json') as f:\n    print(json.load(f)['scripts'])\nEOF"}, nil, 14},
	{"rm-build", "Bash", map[string]any{"command": "rm -rf build && npm run build", "description": "Build from scratch"}, nil, 14},
	{"curl-jq", "Bash", map[string]any{"command": `curl -s https://api.github.com/repos/golang/go/releases/latest | jq -r '.tag_name'`, "description": "Look up the latest release"}, nil, 14},
	{"docker-compose", "Bash", map[string]any{"command": "docker compose -f docker-compose.dev.yml up -d --build db cache", "timeout": 300000}, nil, 14},
	{"for-loop", "Bash", map[string]any{"command": `for f in $(git diff --name-only main); do test -f "$f" && gofmt -l "$f"; eval "$CHECK $f"; done`, "description": "Check the changed files"}, nil, 14},
	{"script", "Bash", map[string]any{"command": script()}, nil, 14},
	{"web-fetch", "WebFetch", map[string]any{"url": "https://pkg.go.dev/golang.org/x/text/width", "prompt": "Which function returns the width of a character? Quote its documentation."}, nil, 14},
	{"mcp", "mcp__github__create_issue", map[string]any{"owner": "acme", "repo": "kettle", "title": "The water never boils", "body": "It stays at 99 degrees.\nFill it, and wait."}, nil, 14},
	{"write-new", "Write", map[string]any{"file_path": "/proj/docs/notes.md", "content": "# Notes\nThe kettle listens on port 8080.\n"}, &display.File{}, 14},
	{"edit-long", "Edit", map[string]any{"file_path": "/proj/web/handler.go", "old_string": handler[strings.Index(handler, "func serve"):], "new_string": longDiff()}, &display.File{Exists: true, Text: handler}, 24},
}

// asksPerson shows a tool use to a person at a terminal of a size.
func asksPerson(t *testing.T, i int, columns, rows int) string {
	t.Helper()
	tt := &everyday[i]
	spec, err := policy.Parse([]byte(projectPolicy), "agent-wrapper.toml")
	if err != nil {
		t.Fatal(err)
	}
	pol, session, _, err := spec.Compile(patterns.Place{Workspace: "/proj", Home: "/home/dev"})
	if err != nil {
		t.Fatal(err)
	}
	v := &permission.Evaluator{Policy: pol, Session: session, Env: workspace.Fake{}}
	input, err := json.Marshal(tt.input)
	if err != nil {
		t.Fatal(err)
	}
	request := v.Request(permission.ToolUse{Tool: tt.tool, Dir: "/proj", Input: input})
	if request.Decision.Behavior != permission.Ask {
		t.Fatalf("it is %s: %s", request.Decision.Behavior, request.Decision.Reason)
	}
	var screen string
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{
			Explain: func(permission.ToolUse) string { return "" }, Session: session, Editor: &Editor{},
			Keep: func(string) (patterns.Source, error) { return patterns.Source{}, nil },
			Into: func(string) string { return "agent-wrapper.local.toml" },
			File: func(*permission.ToolUse) *display.File { return tt.file },
		})
		p.board.columns, p.board.rows = columns, rows
		p.approve(t.Context(), request)
		time.Sleep(grace)
		screen = strings.ReplaceAll(p.sees(), "\r", "")
		close(p.board.keys)
	})
	return screen + "\n"
}

// What a person sees of everyday questions, read in the goldens. A question has to be
// taken in at a glance: it is small.
func TestScreens(t *testing.T) {
	for i, tt := range everyday {
		for _, size := range []struct{ columns, rows int }{{80, 24}, {40, 12}, {20, 24}} {
			t.Run(fmt.Sprintf("%s-%dx%d", tt.name, size.columns, size.rows), func(t *testing.T) {
				screen := asksPerson(t, i, size.columns, size.rows)
				golden.Check(t, fmt.Sprintf("testdata/screens/%s-%dx%d.txt", tt.name, size.columns, size.rows), screen)
				if n := strings.Count(screen, "\n"); size.columns == 80 && n > tt.most {
					t.Errorf("it takes %d rows:\n%s", n, screen)
				}
				for line := range strings.Lines(screen) {
					if n := len([]rune(strings.TrimRight(line, " \n"))); n > size.columns {
						t.Errorf("a line of %d characters: %s", n, line)
					}
				}
			})
		}
	}
}
