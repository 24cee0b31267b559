// Package entry is what a hook of agent-wrapper looks like in the configuration of a
// host: what agent-wrapper install writes there, and how it is known again, by install,
// by doctor, and by the hook itself when an agent changes the settings.
//
// There are three forms. A host that starts programs without a shell gets the program
// and its arguments. One that runs a command line gets a guarded line, which denies
// whatever becomes of the program. One that runs no programs, OpenCode, gets a plugin
// that does the same. A person may have written a hook by hand: such a line is one of
// ours too, but none that install would take out.
package entry

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
)

// The limits of a hook: the guard ends it before its host would let the tool run.
const (
	Limit   = 600 * time.Second // of the host, by the configuration that is written
	Guarded = Limit - 10*time.Second
)

// Program begins the name of our program, whatever version or system follows.
const Program = "agent-wrapper"

// quick is the program that answers what comes with every tool use, and leaves the rest to
// the other one.
const quick = Program + "-hook"

// Programs returns the programs that may be the hook of hosts, the one that answers sooner
// first, for agent-wrapper at a path. Either may be missing.
func Programs(self string) [2]string {
	return [2]string{filepath.Join(filepath.Dir(self), quick+filepath.Ext(self)), self}
}

// Args returns the arguments with which the program is the hook of a host.
func Args(host string) []string { return []string{"hook", host} }

// InPlugin is the flag that tells the hook of Claude Code that it stands in a plugin, so
// that no settings file has to name it.
const InPlugin = "plugin"

// Starts reports whether arguments, with any behind them, make the program the hook of a
// host.
func Starts(args []string, host string) bool {
	return len(args) >= 2 && slices.Equal(args[:2], Args(host))
}

// Form is how a hook is written.
type Form uint8

// The forms.
const (
	Spawned Form = iota + 1 // a program and exactly its arguments, without a shell
	Line                    // a guarded line of shell
	ByHand                  // anything else that starts our hook
)

// Hook is a hook of ours in a configuration.
type Hook struct {
	Host   string
	Binary string // that it starts, as it is written
	Form   Form
}

// Of returns the hook that a command with arguments is, false if it is none of ours.
func Of(command string, args []string) (Hook, bool) {
	if len(args) >= 2 && Starts(args, args[1]) && strings.HasPrefix(path.Base(strings.ReplaceAll(command, `\`, "/")), Program) {
		h := Hook{Host: args[1], Binary: command, Form: Spawned}
		if len(args) > 2 {
			h.Form = ByHand
		}
		return h, true
	}
	if g, ok := readGuard(command); ok {
		return Hook{Host: g.host, Binary: g.binary, Form: Line}, true
	}
	if at := byHand.FindStringSubmatch(strings.Join(append([]string{command}, args...), " ")); at != nil {
		return Hook{Host: at[3], Binary: strings.Trim(at[1], `'"`), Form: ByHand}, true
	}
	return Hook{}, false
}

// byHand finds our program in a command line, before its words.
var byHand = lazyregexp.New(`('[^']*agent-wrapper[^'/]*'|"[^"]*agent-wrapper[^"/]*"|[^\s'";|&()]*agent-wrapper[^\s'";|&()/]*)(\s+hook\s+)([a-z]+)`)

// limited finds how long a line lets a program run.
var limited = lazyregexp.New(`\b(timeout(?:\s+-k\s+\d+)?|sleep)\s+\d+`)

// Moved returns the command and arguments of a hook of ours with another program in
// place of ours, for a proof, and with another limit if it is not 0.
func Moved(command string, args []string, binary string, limit time.Duration) (string, []string) {
	h, ok := Of(command, args)
	switch {
	case !ok:
		return command, args
	case h.Form == Spawned, h.Form == ByHand && h.Binary == command:
		return binary, args
	case h.Form == Line:
		g, _ := readGuard(command)
		g.binary, g.rest = binary, withLimit(g.rest, limit)
		return g.String(), args
	}
	with := strings.ReplaceAll(shellword.Single(binary), "$", "$$") + "${2}${3}"
	move := func(text string) string { return byHand.ReplaceAllString(withLimit(text, limit), with) }
	args = slices.Clone(args)
	for i := range args {
		args[i] = move(args[i])
	}
	return move(command), args
}

// withLimit returns a line with another limit, if it is not 0.
func withLimit(line string, limit time.Duration) string {
	if limit == 0 {
		return line
	}
	return limited.ReplaceAllString(line, "${1} "+seconds(limit))
}
