package entry

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
)

// Guard returns a command line of bash that runs "BINARY hook HOST". It ends with exit
// code 0 only if that did, and otherwise with 2, which denies in every host that it is
// for, with words on standard error: a hook that is missing, not executable, killed, or
// that takes longer than the limit lets nothing run. Input and output of the
// hook pass unchanged.
//
// GNU timeout is not on every system. The other way starts the hook and a clock, each
// with a process group of its own (set -m), so that the clock ends what the hook has
// started too. With set +m bash does not report the end of a job on standard error. A
// command in the background reads /dev/null, hence descriptor 3.
func Guard(binary, host string, limit time.Duration) string {
	return fmt.Sprintf(`%s%s; if command -v timeout >/dev/null 2>&1; then `+
		`timeout -k 1 %[3]s "$aw" hook %[4]s; r=$?; else `+
		`set -m; exec 3<&0; "$aw" hook %[4]s <&3 3<&- & p=$!; `+
		`(sleep %[3]s; kill -9 -- "-$p") </dev/null >/dev/null 2>&1 3<&- & w=$!; set +m; `+
		`wait "$p"; r=$?; kill -9 -- "-$w" 2>/dev/null; fi; %[5]s`,
		guardHead, shellword.Single(binary), seconds(limit), host, guardEnd)
}

// guardHead begins every guarded line; a line that begins so is ours.
const guardHead = "aw="

// guardEnd ends a guarded line: 0 and 2 pass, all else is 2, with words.
const guardEnd = `[ $r -eq 0 ] && exit 0; [ $r -eq 2 ] || echo 'agent-wrapper hook failed; nothing was run' >&2; exit 2`

// GuardInBash is Guard for a host that has a shell of its own, without job control: bash
// runs the guarded line, and the outer line denies if there is no bash.
func GuardInBash(binary, host string, limit time.Duration) string {
	return fmt.Sprintf("bash -c %s; r=$?; %s", shellword.Single(Guard(binary, host, limit)), guardEnd)
}

// guard is a guarded line in its parts.
type guard struct {
	binary, host string
	rest         string // of the line, behind the name of the binary
	outer        string // of the line around it, "" if there is none
}

// String returns the line.
func (g guard) String() string {
	line := guardHead + shellword.Single(g.binary) + g.rest
	if g.outer != "" {
		return inBash + shellword.Single(line) + g.outer
	}
	return line
}

// inBash begins a line that has bash run a guarded line.
const inBash = "bash -c "

// guardedHost finds the host in a guarded line.
var guardedHost = lazyregexp.New(`"\$aw" hook ([a-z]+)`)

// readGuard reads a guarded line, false if it is none.
func readGuard(line string) (g guard, ok bool) {
	if inner, found := strings.CutPrefix(line, inBash); found {
		if line, g.outer, ok = unquote(inner); !ok {
			return g, false
		}
	}
	word, found := strings.CutPrefix(line, guardHead)
	if !found {
		return g, false
	}
	if g.binary, g.rest, ok = unquote(word); !ok {
		return g, false
	}
	at := guardedHost.FindStringSubmatch(g.rest)
	if at == nil {
		return g, false
	}
	g.host = at[1]
	return g, true
}

// Denies reports whether a line ends with a denial whatever becomes of the program in it.
func Denies(line string) bool { return strings.Contains(line, "exit 2") }

// seconds returns a limit as programs take it.
func seconds(d time.Duration) string { return fmt.Sprintf("%g", d.Seconds()) }

// unquote returns a word in single quotes at the beginning of a line.
func unquote(line string) (word, rest string, ok bool) {
	var b strings.Builder
	for {
		line, ok = strings.CutPrefix(line, "'")
		part, after, closed := strings.Cut(line, "'")
		if !ok || !closed {
			return "", "", false
		}
		b.WriteString(part)
		if line, ok = strings.CutPrefix(after, `\'`); !ok {
			return b.String(), after, true
		}
		b.WriteByte('\'')
	}
}
