package claude

import (
	"encoding/json"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
)

// protocolLog writes every line of the protocol: "> " sent to the agent, "< "
// received from it, "! " its standard error. It is safe for concurrent use. Write
// errors are ignored: the audit log is kept elsewhere.
type protocolLog struct {
	mu   sync.Mutex
	w    io.Writer
	mask func([]byte) []byte
}

func (l *protocolLog) line(mark string, line []byte) {
	if l.w == nil {
		return
	}
	masked := l.mask(line)
	out := make([]byte, 0, len(mark)+len(masked)+1)
	out = append(out, mark...)
	out = append(out, masked...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.Write(append(out, '\n'))
}

// maskSecrets replaces what looks like a secret in a line: tokens of known forms,
// credentials in headers and URLs, and values of variables, options and fields
// whose name suggests a secret. A line of JSON remains valid JSON.
func maskSecrets(line []byte) []byte {
	if json.Valid(line) && utf8.Valid(line) {
		masked, _ := mask.JSON(line, nil)
		return masked
	}
	masked, _ := mask.Text(string(line))
	return []byte(masked)
}
