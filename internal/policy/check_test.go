package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCheckLine(t *testing.T) {
	check := &Check{Risk: "off", Unlisted: "ask"}
	tests := []struct {
		name, row string
		want      Answer // Reason is a part of the actual one
	}{
		{
			"the shape of an answer",
			`{"id":"x","policy":{"allow":["Bash(ls:*)"],"ask":[],"deny":[],"mode":"default","unlisted":"ask","risk":"on","rules":[],"session_allow":[],"session_deny":[]},` +
				`"tool":"Bash","input":{"command":"ls"},"cwd":"/home/dev/proj","home":"/home/dev","symlinks":{"src/link":"/etc/passwd"},"fs":"case-insensitive","shell":"bash"}`,
			Answer{"x", "allow", "default", "Bash(ls:*)", "", 1, "safe", nil},
		},
		{
			"what others add is ignored",
			`{"id":"x","class":"y","must":"deny","verified":true,"policy":{"deny":["Bash(rm:*)"]},"tool":"Bash","input":{"command":"rm x"}}`,
			Answer{"x", "deny", "deny-list", "Bash(rm:*)", "", 0, "", nil},
		},
		{
			"context",
			`{"id":"x","policy":{"allow":["Edit(src/**)"]},"tool":"Edit","input":{"file_path":"src/link"},"context":{"cwd":"/srv","home":"/h","symlinks":{"src/link":"/etc/motd"}}}`,
			Answer{"x", "ask", "allow-list", "", "", 0, "", nil},
		},
		{
			"a link that stays inside",
			`{"id":"x","policy":{"allow":["Edit(src/**)"]},"tool":"Edit","input":{"file_path":"src/cur/a.js"},"context":{"symlinks":{"src/cur":"v2"}}}`,
			Answer{"x", "allow", "default", "Edit(src/**)", "", 0, "", nil},
		},
		{
			"the row goes before the context",
			`{"id":"x","policy":{"allow":["Edit(/a/**)"]},"tool":"Edit","input":{"file_path":"x"},"cwd":"/a","context":{"cwd":"/b"}}`,
			Answer{"x", "allow", "default", "Edit(/a/**)", "", 0, "", nil},
		},
		{
			"a file system that ignores case",
			`{"id":"x","policy":{"allow":["Read"],"deny":["Read(./.env)"]},"tool":"Read","input":{"file_path":".Env"},"context":{"fs":"case-insensitive"}}`,
			Answer{"x", "deny", "deny-list", "Read(./.env)", "", 0, "", nil},
		},
		{
			"session rules",
			`{"id":"x","policy":{"allow":["Bash"],"session_deny":["Bash(ls)"]},"tool":"Bash","input":{"command":"ls"}}`,
			Answer{"x", "deny", "session-deny", "Bash(ls)", "", 0, "", nil},
		},
		{
			"defaults of the flags",
			`{"id":"x","policy":{"allow":["Read"],"mode":"dontAsk"},"tool":"WebFetch","input":{"url":"https://a.example"}}`,
			Answer{"x", "deny", "allow-list", "", "", 0, "", nil},
		},
		{
			"an unknown shell",
			`{"id":"x","policy":{"allow":["Bash(ls)"]},"tool":"Bash","input":{"command":"ls"},"shell":"powershell"}`,
			Answer{"x", "ask", "", "", "", 0, "", nil},
		},
		{"a broken rule", `{"id":"x","policy":{"deny":["bash"]},"tool":"Bash","input":{}}`, Answer{ID: "x", Reason: "did you mean Bash"}},
		{"an unknown key", `{"id":"x","policy":{"denny":[]},"tool":"Bash","input":{}}`, Answer{ID: "x", Reason: "policy:1:2: unknown key denny"}},
		{"a key twice in the policy", `{"id":"x","policy":{"deny":["Bash"],"deny":[]},"tool":"Bash","input":{}}`, Answer{ID: "x", Reason: "key deny appears twice"}},
		{"a key twice in the input", `{"id":"x","policy":{},"tool":"Bash","input":{"command":"ls","command":"rm"}}`, Answer{ID: "x", Reason: "key command appears twice"}},
		{"a twin in the row", `{"id":"x","policy":{},"tool":"Bash","input":{"command":"ls"},"Policy":{"allow":["Bash"]}}`, Answer{ID: "x", Reason: "did you mean policy"}},
		{"a twin in the input", `{"id":"x","policy":{"allow":["Bash"]},"tool":"Bash","input":{"command":"ls","Command":"rm"}}`, Answer{ID: "x", Reason: "did you mean command"}},
		{"policy null", `{"id":"x","policy":null,"tool":"Bash","input":{"command":"ls"}}`, Answer{ID: "x", Reason: "no policy"}},
		{"no policy", `{"id":"x","tool":"Bash","input":{"command":"ls"}}`, Answer{ID: "x", Reason: "no policy"}},
		{"no id", `{"policy":{},"tool":"Bash","input":{"command":"ls"}}`, Answer{Reason: "no id"}},
		{"no tool", `{"id":"x","policy":{},"input":{"command":"ls"}}`, Answer{ID: "x", Reason: "no tool"}},
		{"no input", `{"id":"x","policy":{},"tool":"Bash"}`, Answer{ID: "x", Reason: "no input"}},
		{"input null", `{"id":"x","policy":{},"tool":"Bash","input":null}`, Answer{ID: "x", Reason: "null"}},
		{"an unknown mode", `{"id":"x","policy":{"mode":"auto"},"tool":"Bash","input":{}}`, Answer{ID: "x", Reason: `unknown permission mode "auto"`}},
		{"a relative directory", `{"id":"x","policy":{},"tool":"Bash","input":{},"cwd":"proj"}`, Answer{ID: "x", Reason: "absolute path"}},
		{"an unknown fs", `{"id":"x","policy":{},"tool":"Bash","input":{},"fs":"fat"}`, Answer{ID: "x", Reason: `fs is "fat"`}},
		{"no JSON", `ls`, Answer{Reason: "row: 1:1"}},
		{"empty", ``, Answer{Reason: "row: 1:1"}},
		{"two values", `{"id":"x"} {}`, Answer{Reason: "text after the end"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := check.Line([]byte(tt.row))
			want := tt.want
			if want.Behavior == "" {
				want.Behavior, want.Layer, want.Tier, want.Risk = "deny", "guard", got.Tier, got.Risk
			}
			if want.Risk == "" {
				want.Tier, want.Risk = got.Tier, got.Risk
			}
			if want.Layer == "" {
				want.Layer = got.Layer
			}
			if !strings.Contains(got.Reason, want.Reason) {
				t.Errorf("the reason is %q, want %q", got.Reason, want.Reason)
			}
			want.Reason = got.Reason
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCheckDefaults checks that the flags only replace what a row leaves out.
func TestCheckDefaults(t *testing.T) {
	const ls, npm = `"tool":"Bash","input":{"command":"ls"}}`, `"tool":"Bash","input":{"command":"npm i"}}`
	tests := []struct{ risk, unlisted, row, want string }{
		{"", "", `{"id":"x","policy":{},` + ls, "allow"},
		{"off", "", `{"id":"x","policy":{},` + ls, "ask"},
		{"off", "", `{"id":"x","policy":{"risk":"on"},` + ls, "allow"},
		{"on", "", `{"id":"x","policy":{"risk":"off"},` + ls, "ask"},
		{"", "", `{"id":"x","policy":{"allow":["Read"]},` + npm, "ask"},
		{"", "deny", `{"id":"x","policy":{"allow":["Read"]},` + npm, "deny"},
		{"", "deny", `{"id":"x","policy":{"allow":["Read"],"unlisted":"ask"},` + npm, "ask"},
		{"", "ask", `{"id":"x","policy":{"allow":["Read"],"unlisted":"deny"},` + npm, "deny"},
	}
	for _, tt := range tests {
		check := &Check{Risk: tt.risk, Unlisted: tt.unlisted}
		for range 2 { // the second time from the cache
			if got := check.Line([]byte(tt.row)); got.Behavior != tt.want {
				t.Errorf("risk %q, unlisted %q, %s: %s", tt.risk, tt.unlisted, tt.row, got.Behavior)
			}
		}
	}
}

// TestAnswerKeys checks that an answer has all of its keys, in order.
func TestAnswerKeys(t *testing.T) {
	out, err := json.Marshal((&Check{}).Line([]byte(`{"id":"x"}`)))
	if err != nil {
		t.Fatal(err)
	}
	from := 0
	for _, key := range []string{"id", "behavior", "layer", "rule", "reason", "tier", "risk"} {
		at := strings.Index(string(out), `"`+key+`":`)
		if at < from {
			t.Errorf("key %s is not in its place in %s", key, out)
		}
		from = at
	}
}

// TestCheckForgets checks that the number of cached policies is limited, and
// that an evicted policy is compiled again.
func TestCheckForgets(t *testing.T) {
	check := &Check{}
	for i := range maxCompiled + 10 {
		row := fmt.Sprintf(`{"id":"x","policy":{"deny":["Bash(p%d)"]},"tool":"Bash","input":{"command":"p%d"}}`, i, i)
		if got := check.Line([]byte(row)); got.Layer != "deny-list" {
			t.Fatalf("row %d: %+v", i, got)
		}
	}
	if len(check.compiled) > maxCompiled {
		t.Errorf("%d policies are kept", len(check.compiled))
	}
}

// BenchmarkCheck decides rows like those of a corpus: few policies, many
// command lines.
func BenchmarkCheck(b *testing.B) {
	var rows [][]byte
	for i := range 100 {
		rows = append(rows, fmt.Appendf(nil, `{"id":"r%d","policy":{"allow":["Bash(git:*)","Bash(ls:*)","Read"],"deny":["Bash(rm:*)","Read(./.env)"]},"tool":"Bash","input":{"command":"cd src && git log -%d | head; ls *.go"}}`, i, i))
	}
	check := &Check{}
	start := time.Now()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		check.Line(rows[i%len(rows)])
	}
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "rows/s")
}

func FuzzCheckLine(f *testing.F) {
	f.Add([]byte(`{"id":"x","policy":{"allow":["Bash(ls:*)"]},"tool":"Bash","input":{"command":"ls"},"symlinks":{"a":"b"}}`))
	f.Add([]byte(`{"id":"x","policy":{"rules":[{"tools":["Bash"],"action":"deny"}]},"tool":"Bash","input":{"command":"ls"},"context":{"fs":"case-insensitive"}}`))
	f.Add([]byte(`{"id":1}`))
	f.Fuzz(func(t *testing.T, row []byte) {
		got := (&Check{}).Line(row)
		switch got.Behavior {
		case "allow", "ask", "deny":
		default:
			t.Fatalf("behavior %q", got.Behavior)
		}
		if got.Layer == "" || got.Layer == "invalid" {
			t.Fatalf("layer %q", got.Layer)
		}
		if got.Behavior == "allow" && !json.Valid(row) {
			t.Fatal("a row that is no JSON is allowed")
		}
	})
}
