// Package shelltext takes the command of a tool use out of the text that the agent CLI
// gives to its shell, and nothing but that text:
//
//	source ~/.claude/shell-snapshots/snapshot-bash-1-a.sh 2>/dev/null || true &&
//	{ shopt -u extglob || … ; } >/dev/null 2>&1 || true &&
//	eval 'ls | wc -l' < /dev/null && pwd -P >| /tmp/claude-1a2b-cwd
//
// (one line). Before the command stand parts of few known forms, in the order in which
// the CLI writes them; behind it the shell writes its directory to a file, by which the
// CLI follows a cd. The forms are those of the versions of the end-to-end tests. A text
// that is not written exactly so is an error: what it would run is not known.
package shelltext

import (
	"fmt"
	"path"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// Text is a text, taken apart.
type Text struct {
	// Command is the command line of the tool use, with the CLI's own changes (Forms).
	Command string
	// Directory is the file to which the shell writes where it is afterwards.
	Directory string
	// Snapshot is the file with the functions and aliases of the user, "" for none.
	Snapshot string

	text        string
	env, envEnd int    // where the environment stands in it; 0 if it does not
	command     int    // where the command begins
	file        string // that of Directory, as the CLI has written it
}

// Changes are what is to be otherwise in a text.
type Changes struct {
	Environment string // in place of that of the file CLAUDE_ENV_FILE; "": as it is
	First       string // a command that must succeed before that of the tool use; "" for none
	Directory   string // the file to which the shell writes where it is afterwards
}

// With returns the text with changes.
func (t *Text) With(c *Changes) string {
	var b strings.Builder
	at := 0
	if c.Environment != "" && t.envEnd > 0 {
		b.WriteString(t.text[:t.env])
		b.WriteString(strings.TrimSpace(c.Environment))
		at = t.envEnd
	}
	b.WriteString(t.text[at:t.command])
	if c.First != "" {
		b.WriteString(c.First + between)
	}
	b.WriteString(strings.TrimSuffix(t.text[t.command:], t.file))
	b.WriteString(Quote(c.Directory))
	return b.String()
}

// Quote returns a word as the CLI quotes it.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", quotation) + "'" }

// The forms of what stands around the command.
const (
	between   = " && "
	command   = "eval "
	noInput   = " < /dev/null"
	directory = " && pwd -P >| "
)

// part is a form of what stands before the command: text, with one word in it if after
// is set.
type part struct {
	before, after string
	word          func(t *Text, word string) bool // takes the word, unless it is not one of these
}

// parts are the forms, in order. Each may be left out. The names of versions are those
// that were seen to write it.
var parts = []part{
	{"source ", " 2>/dev/null || true", isSnapshot},
	{`{ [ -n "${TMPDIR:-}" ] || export TMPDIR=`, "; }", isPath}, // 2.1.330, read
	{before: environment},
	{before: "{ shopt -u extglob || setopt NO_EXTENDED_GLOB NO_BARE_GLOB_QUAL; } >/dev/null 2>&1 || true"},                                                               // 2.1.197, 2.1.268
	{before: `{ \builtin shopt -u extglob || \builtin setopt NO_EXTENDED_GLOB NO_BARE_GLOB_QUAL NO_BRACE_CCL NO_MAGIC_EQUAL_SUBST NO_EQUALS; } >/dev/null 2>&1 || true`}, // 2.1.330
	{before: `{ \builtin unalias -- 'which'; \builtin unset -f -- 'which'; } >/dev/null 2>&1 || true`},                                                                   // 2.1.330
	{before: `{ \builtin unalias -- 'unsetenv'; \builtin unset -f -- 'unsetenv'; } >/dev/null 2>&1 || true`},                                                             // 2.1.268, 2.1.330
	{`{ { \builtin echo 0 >| `, "; } 2>/dev/null || :; }", isGroup},                                                                                                      // 2.1.330, where it may make control groups (read): for the time used
	{`{ { \builtin echo 0 >| `, "; } 2>/dev/null || :; }", isGroup},                                                                                                      // and for the number of processes
}

// environment stands for the text of the file that CLAUDE_ENV_FILE names.
const environment = "\x00"

var (
	snapshotName  = lazyregexp.New(`^snapshot-[a-z]+-[0-9]+-[0-9a-z]+\.sh$`)
	directoryName = lazyregexp.New(`^claude-[0-9a-z]{1,16}-cwd$`)
)

func isSnapshot(t *Text, word string) bool {
	t.Snapshot = word
	return path.IsAbs(word) && snapshotName.MatchString(path.Base(word))
}

func isPath(_ *Text, word string) bool { return path.IsAbs(word) }

func isGroup(_ *Text, word string) bool {
	return word == path.Clean(word) && strings.HasPrefix(word, "/sys/fs/cgroup/") && strings.HasSuffix(word, "/cc-shell/tasks")
}

// Parse takes a text apart. env is the text of the file that CLAUDE_ENV_FILE names, ""
// if there is none.
func Parse(text, env string) (Text, error) {
	t := Text{text: text}
	rest := text
	for i := range parts {
		after, ok := parts[i].cut(&t, rest, env)
		if !ok {
			continue
		}
		if parts[i].before == environment {
			t.env = len(text) - len(rest)
			t.envEnd = t.env + len(strings.TrimSpace(env))
		}
		rest = after
	}
	t.command = len(text) - len(rest)
	end, ok := t.cutCommand(rest)
	if !ok || end != "" || strings.ContainsRune(text, 0) {
		return Text{}, fmt.Errorf("the agent CLI has written its command in a form that is not known here, from %.40q on: update agent-wrapper", rest)
	}
	return t, nil
}

// Words takes apart the text for an MCP server: its program and arguments, quoted as the
// CLI quotes words.
func Words(text string) ([]string, error) {
	var words []string
	for rest := text; ; {
		word, after, ok := cutWord(rest)
		if !ok {
			return nil, fmt.Errorf("%.40q is no list of words", rest)
		}
		words = append(words, word)
		if after == "" {
			return words, nil
		}
		if rest, ok = strings.CutPrefix(after, " "); !ok {
			return nil, fmt.Errorf("%.40q is no list of words", after)
		}
	}
}

// cut cuts the part from the beginning of a text, if it stands there.
func (p *part) cut(t *Text, text, env string) (rest string, ok bool) {
	form := p.before
	if form == environment {
		if env = strings.TrimSpace(env); env == "" {
			return "", false
		}
		form = env + "\n:"
	}
	if rest, ok = strings.CutPrefix(text, form); !ok {
		return "", false
	}
	if p.word != nil {
		var word string
		if word, rest, ok = cutWord(rest); !ok || !p.word(t, word) {
			return "", false
		}
	}
	return strings.CutPrefix(rest, p.after+between)
}

// cutCommand cuts the command, and what stands behind it.
func (t *Text) cutCommand(text string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, command)
	if !ok {
		return "", false
	}
	if t.Command, rest, ok = cutWord(rest); !ok {
		return "", false
	}
	rest, _ = strings.CutPrefix(rest, noInput)
	if rest, ok = strings.CutPrefix(rest, directory); !ok {
		return "", false
	}
	t.file = rest
	t.Directory, rest, ok = cutWord(rest)
	return rest, ok && path.IsAbs(t.Directory) && directoryName.MatchString(path.Base(t.Directory))
}

// quotation is how the CLI writes a quotation mark within a quoted word.
const quotation = `'"'"'`

// plain are the characters of a word that is not quoted, beside letters and digits.
const plain = "_./:=@+,-"

// cutWord cuts a word from the beginning of a text, and returns it without its quotes.
func cutWord(text string) (word, rest string, ok bool) {
	if end := strings.IndexFunc(text, func(r rune) bool { return !isPlain(r) }); end != 0 {
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], end > 0
	}
	var b strings.Builder
	for rest = text[1:]; text[0] == '\''; {
		inner, after, closed := strings.Cut(rest, "'")
		b.WriteString(inner)
		if !closed {
			break
		}
		if rest, ok = strings.CutPrefix(after, quotation[1:]); !ok {
			return b.String(), after, true
		}
		b.WriteByte('\'')
	}
	return "", "", false
}

func isPlain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r < 0x80 && strings.ContainsRune(plain, r)
}

// nowhere matches what the CLI takes for a redirection to the null device of Windows.
var nowhere = lazyregexp.New(`([0-9]?&?>+[ \t]*)[Nn][Uu][Ll](\s|$|[|&;)])`)

// Forms returns a command line as the CLI may write it: as it is, or with /dev/null in
// place of nul.
func Forms(command string) []string {
	forms := []string{command}
	changed := nowhere.ReplaceAllString(command, "${1}/dev/null${2}")
	if changed != command {
		forms = append(forms, changed)
	}
	return forms
}
