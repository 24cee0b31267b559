package decide_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// TestConversation: 50 turns with 500 tool uses, of which 100 are asked about and
// answered in another order, lose nothing, and memory is steady.
func TestConversation(t *testing.T) {
	slow.Test(t)
	c := start(t, options{})
	var early, late uint64
	allowed, denied := 0, 0
	for turn := range 50 {
		for i := range 10 {
			command := fmt.Sprintf("ls a%d.%d", turn, i)
			if i < 2 {
				command = fmt.Sprintf("npm install a%d.%d", turn, i)
			}
			c.inSession("s", fmt.Sprintf("u%d.%d", turn, i), command)
		}
		var asked []*line
		for ended := 0; ended < 8 || len(asked) < 2; {
			if l := c.next(); l.Method == "approve" {
				asked = append(asked, l)
			} else if l.Method == "" {
				ended++
				if a := l.answer(t); a.Behavior != "allow" || a.Decision.By != "rule" {
					t.Fatalf("%s", l.text)
				}
			}
		}
		for i := range asked { // the last first, one allowed and one denied
			q := asked[len(asked)-1-i]
			c.respond(q.ID, []string{`{"choice":"once"}`, `{"choice":"words","message":"no"}`}[i])
			switch a := c.response(`"` + q.Params.ToolUseID + `"`).answer(t); a.Behavior {
			case "allow":
				allowed++
			default:
				denied++
			}
		}
		switch turn {
		case 9:
			early = heap()
		case 49:
			late = heap()
		}
	}
	if allowed != 50 || denied != 50 {
		t.Errorf("%d allowed, %d denied", allowed, denied)
	}
	if late > early+early/2 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
	if report := c.verify(); report.Records != 501 {
		t.Errorf("%d records", report.Records)
	}
	c.end()
}

// heap returns the size of what is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSlowReader: a client that reads nothing until it has written much gets all of it.
func TestSlowReader(t *testing.T) {
	slow.Test(t)
	c := start(t, options{rules: "allow = [\"Bash\", \"Write\"]"})
	const n, size = 16, 256 << 10
	for i := range n { // much more than a pipe holds
		c.plain(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"canUseTool","params":{"tool":"Write","input":{"file_path":"a","content":"%s"}}}`, i, strings.Repeat("x", size)))
	}
	seen := map[string]bool{}
	for range n {
		l := c.next()
		if a := l.answer(t); a.Behavior != "allow" || len(a.UpdatedInput) < size || seen[string(l.ID)] {
			t.Fatalf("%.200s", l.text)
		}
		seen[string(l.ID)] = true
	}
	c.end()
}
