package install

import (
	"fmt"
	"strings"
)

// The limits of a hook, in seconds: the guard ends a hook before its host would let the
// tool run.
const (
	hostLimit  = 600
	guardLimit = 590
)

// guard returns a command line of bash that runs "BINARY hook HOST". It ends with exit
// code 0 only if that did, and otherwise with 2, which denies in every host that it is
// for, with words on standard error: a hook that is missing, not executable, killed, or
// that takes longer than the limit in seconds lets nothing run. Input and output of the
// hook pass unchanged.
//
// GNU timeout is not on every system. The other way starts the hook and a clock, each
// with a process group of its own (set -m), so that the clock ends what the hook has
// started too. With set +m bash does not report the end of a job on standard error. A
// command in the background reads /dev/null, hence descriptor 3.
func guard(binary, host string, limit int) string {
	return fmt.Sprintf(`%s%s; if command -v timeout >/dev/null 2>&1; then `+
		`timeout -k 1 %[3]d "$aw" hook %[4]s; r=$?; else `+
		`set -m; exec 3<&0; "$aw" hook %[4]s <&3 3<&- & p=$!; `+
		`(sleep %[3]d; kill -9 -- "-$p") </dev/null >/dev/null 2>&1 3<&- & w=$!; set +m; `+
		`wait "$p"; r=$?; kill -9 -- "-$w" 2>/dev/null; fi; %[5]s`,
		guardHead, quote(binary), limit, host, guardEnd)
}

// guardHead begins every guarded line; a line that begins so is ours.
const guardHead = "aw="

// guardEnd ends a guarded line: 0 and 2 pass, all else is 2, with words.
const guardEnd = `[ $r -eq 0 ] && exit 0; [ $r -eq 2 ] || echo 'agent-wrapper hook failed; nothing was run' >&2; exit 2`

// guardInBash is guard for a host that has a shell of its own, without job control: bash
// runs the guarded line, and the outer line denies if there is no bash.
func guardInBash(binary, host string, limit int) string {
	return fmt.Sprintf("bash -c %s; r=$?; %s", quote(guard(binary, host, limit)), guardEnd)
}

// quote returns a word of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// guarded returns the binary of a guarded line for a host, false if the line is none.
func guarded(line, host string) (binary string, ok bool) {
	if inner, found := strings.CutPrefix(line, "bash -c "); found {
		if line, _, ok = unquote(inner); !ok {
			return "", false
		}
	}
	word, found := strings.CutPrefix(line, guardHead)
	if !found {
		return "", false
	}
	binary, rest, ok := unquote(word)
	return binary, ok && strings.Contains(rest, `"$aw" hook `+host)
}

// unquote returns the word that quote has quoted at the beginning of a line.
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
