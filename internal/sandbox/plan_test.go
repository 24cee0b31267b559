package sandbox

import (
	"encoding/json"
	"testing"
	"testing/quick"
)

// TestPathJSON: a path is read back as it was written, whatever its bytes are.
func TestPathJSON(t *testing.T) {
	same := func(path []byte) bool {
		data, err := json.Marshal([]Path{{Path: string(path), Why: "w"}})
		var got []Path
		return err == nil && json.Unmarshal(data, &got) == nil && got[0] == Path{Path: string(path), Why: "w"}
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"", "/a", "/\xff.key", "/caf\xe9/é"} {
		if !same([]byte(path)) {
			t.Errorf("%q becomes another path", path)
		}
	}
}
