package claude

import (
	"io"
	"regexp"
	"sync"
)

// protocolLog keeps every line of the protocol: "> " said to the agent, "< "
// said by it, "! " its complaints. It is safe for concurrent use. A line that
// cannot be written is lost; the record of decisions is kept elsewhere.
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

// named is the name of a variable, field or option that holds a secret.
const named = `[\w-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?`

// secrets are the shapes of secrets. The first group stays, the last is put
// back behind the mask.
var secrets = []*regexp.Regexp{
	// by their own look
	regexp.MustCompile(`()\b(?:sk-[A-Za-z0-9_-]{8,}|gh[opusr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{8,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)()`),
	regexp.MustCompile(`(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:[A-Za-z0-9+/= ]|\\[nr])+()`),
	// by where they stand: header, URL, JSON field, variable, option
	regexp.MustCompile(`(?i)(\b(?:bearer|basic|token|x-api-key:|authorization:) +)[A-Za-z0-9._~+/=-]{8,}()`),
	regexp.MustCompile(`(://[^/\s:@"'\\]*:)[^/\s@"'\\]+(@)`),
	regexp.MustCompile(`(?i)("` + named + `" *: *")[^"\\]+()`),
	regexp.MustCompile(`(?i)(\b` + named + `(?:=| *:) *(?:\\*["'])?)[^\s"'\\,;&|<>(){}\[\]$]+()`),
	regexp.MustCompile(`(?i)(--` + named + ` +(?:\\*["'])?)[^\s"'\\,;&|<>(){}\[\]$-][^\s"'\\,;&|<>(){}\[\]$]*()`),
}

// MaskSecrets hides what looks like a secret in a line: tokens of known forms,
// credentials in headers and URLs, values of variables and fields that are
// named like secrets. It leaves the JSON around them whole.
func MaskSecrets(line []byte) []byte {
	for _, shape := range secrets {
		line = shape.ReplaceAll(line, []byte("${1}***${2}"))
	}
	return line
}
