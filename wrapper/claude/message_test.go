package claude

import (
	"encoding/json"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		`"text"`: "text",
		`[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]`: "a\n[image]\nb",
		`null`: "", `7`: "", ``: "",
	} {
		if got := plain(json.RawMessage(in)); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
