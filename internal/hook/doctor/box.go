package doctor

import (
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
)

// box is the throw-away place of one trial: a home, a workspace and a hook.
type box struct {
	person   *Machine
	state    state
	patience time.Duration // how long a hook that hangs may take

	dir  string // holds all of it
	home string
	work string
	hook string // the program that stands for agent-wrapper in the hook

	// id is part of all tokens. outer stands in the call that starts a subagent; key and
	// subKey begin the conversations. words is the message of the policy, which nothing
	// else has.
	id, outer, key, subKey, words string

	url     string // of the model
	program string // of ours, in the person's hook; "" if there is none
}

// newBox makes a box. The caller removes its directory.
func newBox(m *Machine, s state, patience time.Duration) (*box, error) {
	dir, err := os.MkdirTemp("", "agent-wrapper-doctor-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	id := rand.Text()
	b := &box{
		person: m, state: s, patience: patience, dir: dir,
		home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work"), hook: filepath.Join(dir, "bin", own),
		id: id, outer: "outer-" + id, key: "main-" + id, subKey: "sub-" + id, words: "stopped-" + rand.Text(),
	}
	for _, d := range []string{b.home, b.work, filepath.Dir(b.hook)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return b, err
		}
	}
	return b, nil
}

// token returns the token of a canary, which names its file.
func (b *box) token(name string) string { return "canary-" + name + "-" + b.id }

// marker returns the file that a canary leaves.
func (b *box) marker(name string) string { return filepath.Join(b.work, b.token(name)) }

// touch is the command that leaves it.
func (b *box) touch(name string) string { return "touch " + b.marker(name) }

// write writes a file below the box.
func (b *box) write(path, text string, perm os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), perm)
}

// writeJSON writes a file below the home, unless there is nothing to say.
func (b *box) writeJSON(values object, path ...string) error {
	if len(values) == 0 {
		return nil
	}
	return b.write(filepath.Join(path...), encode(values), 0o600)
}

// denied are the tools that the policy of a proof is about. That of the MCP server has
// several names: some hosts do not tell which server a tool is of.
const denied = `"Bash", "Write", "Edit", "mcp__canary__mark", "canary_mark", "mcp_canary_mark"`

// policy returns the policy of the trial: it allows the tools of the canaries, and
// denies them in words of its own, unless the hook is to allow them.
func (b *box) policy() string {
	text := "allow = [" + denied + ", \"Agent\"]\n"
	if b.state == allowing {
		return text
	}
	return text + "\n[[rules]]\ntools = [" + denied + "]\naction = \"deny\"\nmessage = \"" + b.words + "\"\n"
}

// settle lays the policy and the hook, once the configuration of the host is there.
func (b *box) settle() error {
	if err := b.write(filepath.Join(b.home, ".config", own, own+".toml"), b.policy(), 0o600); err != nil {
		return err
	}
	if text := b.stand(); text != "" {
		return b.write(b.hook, "#!/bin/sh\n"+text+"\n", 0o700)
	}
	return nil
}

// stand returns the script that stands for agent-wrapper, "" for none.
func (b *box) stand() string {
	switch b.state {
	case killed:
		return "kill -9 $$"
	case hanging:
		return fmt.Sprintf("exec sleep %g", 10*b.patience.Seconds())
	case missing:
		return ""
	case failing:
		return "echo 'this is no answer'; echo 'it failed' >&2; exit 1"
	case garbage:
		return "echo 'this is no answer'"
	}
	program := b.program
	if !strings.Contains(program, "/") {
		program = b.person.find(program)
	}
	return "exec " + shellword.Single(program) + ` "$@"`
}

// moved returns the hooks of ours in a file, with the program of the box in place of
// the person's.
func (b *box) moved(d doc, second float64) object {
	events, _ := d.at("hooks").(map[string]any)
	kept := object{}
	for name := range events {
		var groups []any
		for _, e := range d.entries(name) {
			if e.ours() {
				groups = append(groups, b.movedEntry(e, second))
			}
		}
		if len(groups) > 0 {
			kept[name] = groups
		}
	}
	return kept
}

// movedEntry returns a hook of ours with its group. second is how the host counts
// seconds.
func (b *box) movedEntry(e handler, second float64) object {
	fields := maps.Clone(e.fields)
	is, _ := entry.Of(e.program(), e.args())
	b.program = is.Binary
	command, args := entry.Moved(e.program(), e.args(), b.hook, b.limit())
	for _, key := range commandKeys {
		if _, ok := fields[key].(string); ok {
			fields[key] = command
		}
	}
	if len(args) > 0 {
		fields["args"] = args
	}
	for _, key := range []string{"timeout", "timeoutSec"} {
		if _, ok := fields[key]; ok && b.state == hanging {
			fields[key] = 2 * b.patience.Seconds() * second
		}
	}
	if e.group == nil {
		return fields
	}
	group := maps.Clone(e.group)
	group["hooks"] = []any{fields}
	return group
}

// limit returns how long the hook may take by itself, 0 for as long as the person's.
func (b *box) limit() time.Duration {
	if b.state == hanging {
		return b.patience
	}
	return 0
}

// server lays a program that serves one MCP tool, mark, and returns its command line.
func (b *box) server() ([]string, error) {
	path := filepath.Join(filepath.Dir(b.hook), "canary-server")
	return []string{path, b.marker(byMCP)}, b.write(path, canaryServer, 0o700)
}

// canaryServer is an MCP server in a shell: what it reads is what hosts send.
const canaryServer = `#!/bin/sh
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  [ -n "$id" ] || continue
  case $line in
  *'"initialize"'*) say '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"canary","version":"1"}}' ;;
  *'"tools/list"'*) say '{"tools":[{"name":"mark","description":"Leaves an empty file.","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}}}]}' ;;
  *'"tools/call"'*) : >"$1"; say '{"content":[{"type":"text","text":"marked"}]}' ;;
  *) say '{}' ;;
  esac
done
`
