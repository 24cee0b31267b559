package decide_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/decide"
)

// FuzzServe: whatever a client sends, the server ends with its input, writes only lines
// of the schema, answers each id that it can tell once, and allows nothing but what the
// policy does.
func FuzzServe(f *testing.F) {
	use := `{"jsonrpc":"2.0","id":1,"method":"canUseTool","params":{"tool":"Bash","input":{"command":"`
	for _, seed := range []string{
		use + `ls"}}}`, use + `npm install a"}}}` + "\n" + `{"jsonrpc":"2.0","id":"q1.1","result":{"choice":"once"}}`,
		use + `ls"}}}` + "\n" + use + `curl x"}}}`, `{"jsonrpc":"2.0","method":"cancel","params":{"id":1}}`,
		`{"jsonrpc":"2.0","id":"a","method":"answer","params":{"id":"q1.1","digest":"1:0","choice":"once"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session","params":{"action":"close"}}` + "\n" + use + `ls"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session","params":{"action":"pause","session":"s"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"explain","params":{"tool":"Read","input":{"file_path":"a"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"policy"}`, `{"jsonrpc":"2.0","id":2,"method":"outcome","params":{"toolUseID":"x"}}`,
		"[]", "{}", "x", "\xff", "{\"id\":1,\"id\":2}", "\r\n\r\n", `{"jsonrpc":"2.0","id":"q1.1","error":{}}`,
	} {
		f.Add([]byte(seed))
	}
	spec, err := policy.Parse([]byte(`allow = ["Bash(ls)"]`+"\nask = [\"Bash(npm install:*)\"]\nunlisted = \"deny\""), "rules")
	if err != nil {
		f.Fatal(err)
	}
	dir := f.TempDir()
	s, err := schema()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		err := decide.Serve(t.Context(), bytes.NewReader(in), &out, decide.Options{Ask: true, Open: func(warn func(string)) (*engine.Engine, error) {
			return engine.Open(engine.Options{Dir: dir, Dirs: &engine.Dirs{}, Settings: spec, Isolated: true, NoRecord: true, Warn: warn})
		}})
		if err != nil {
			t.Errorf("%q: %v", in, err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if err := s.Check("decideServer", line); err != nil {
				t.Errorf("%q: %s: %v", in, line, err)
			}
			var l struct {
				Result struct {
					Behavior     string
					UpdatedInput json.RawMessage
				}
			}
			_ = json.Unmarshal(line, &l)
			if l.Result.Behavior == "allow" && !bytes.Contains(l.Result.UpdatedInput, []byte(`ls`)) && !bytes.Contains(in, []byte("choice")) {
				t.Errorf("%q: %s", in, line)
			}
		}
	})
}
