//go:build amd64 || arm64

package inside

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/quick"
)

// TestExact: an order has the bytes of paths, arguments and variables, whatever they are.
func TestExact(t *testing.T) {
	same := func(texts [][]byte) bool {
		var all Exact
		for _, text := range texts {
			all = append(all, string(text))
		}
		data, err := json.Marshal(&Order{Sandbox: Sandbox{Denied: all}, Start: Start{Env: all}})
		var got Order
		return err == nil && json.Unmarshal(data, &got) == nil && slices.Equal(got.Denied, all) && slices.Equal(got.Env, all)
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
	if !same([][]byte{{}, {0xff}, []byte("\xed\xa0\x80/\x80"), []byte("é\n")}) {
		t.Error("other bytes")
	}
}
