package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
)

// doc is a configuration file of a host.
type doc struct {
	path   string
	shown  string         // the path, for a person
	there  bool           // there is such a file
	values map[string]any // nil if it is not there or cannot be read
	err    error          // why it cannot be read
}

// maxConfig is the largest configuration that is read.
const maxConfig = 8 << 20

// json reads a JSON file, in which hosts take comments.
func (m *Machine) json(path string) doc {
	return m.read(path, func(data []byte) (values map[string]any, err error) {
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		if json.Unmarshal(data, &values) == nil {
			return values, nil
		}
		err = json.Unmarshal(withoutComments(data), &values)
		return values, err
	})
}

// toml reads a TOML file.
func (m *Machine) toml(path string) doc {
	return m.read(path, func(data []byte) (map[string]any, error) {
		values := map[string]any{}
		if _, err := stricttoml.Decode(data, filepath.Base(path), &values); err != nil {
			return nil, err
		}
		err := json.Unmarshal([]byte(encode(values)), &values) // as if it were JSON
		return values, err
	})
}

func (m *Machine) read(path string, decode func([]byte) (map[string]any, error)) doc {
	d := doc{path: path, shown: m.shown(path)}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d
	}
	d.there = true
	switch {
	case err != nil:
		d.err = err
	case !info.Mode().IsRegular() || info.Size() > maxConfig:
		d.err = errors.New("it is no file, or too large")
	default:
		var data []byte
		if data, d.err = os.ReadFile(path); d.err == nil {
			d.values, d.err = decode(data)
		}
	}
	if d.err != nil {
		d.values = nil
	}
	return d
}

// withoutComments blanks the comments of a JSON text.
func withoutComments(data []byte) []byte {
	out := bytes.Clone(data)
	for i := 0; i < len(out); i++ {
		switch rest := out[i:]; {
		case rest[0] == '"':
			i += stringEnd(rest)
		case bytes.HasPrefix(rest, []byte("//")):
			i += blank(rest, bytes.IndexByte(rest, '\n'))
		case bytes.HasPrefix(rest, []byte("/*")):
			i += blank(rest, commentEnd(rest))
		}
	}
	return out
}

// stringEnd returns where the string ends that text begins with.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// commentEnd returns where the comment ends that text begins with, -1 if it does not.
func commentEnd(text []byte) int {
	if i := bytes.Index(text[2:], []byte("*/")); i >= 0 {
		return i + 4
	}
	return -1
}

// blank overwrites the first n bytes, or all if n is less than 2, and returns how many.
func blank(text []byte, n int) int {
	if n < 2 {
		n = len(text)
	}
	for i := range text[:n] {
		text[i] = ' '
	}
	return n - 1
}

// at returns the value below keys, nil if there is none.
func (d doc) at(keys ...string) any {
	var v any = d.values
	for _, key := range keys {
		table, _ := v.(map[string]any)
		v = table[key]
	}
	return v
}

// is reports whether the value below keys is this one.
func (d doc) is(want any, keys ...string) bool { return d.at(keys...) == want }

// text returns the text below keys, "" if there is none.
func (d doc) text(keys ...string) string {
	s, _ := d.at(keys...).(string)
	return s
}

// handler is one hook in a configuration.
type handler struct {
	doc     doc
	matcher string
	fields  map[string]any
	group   map[string]any // that it stands in, nil if it stands alone
	place   [2]int         // of its group, and its own there
}

// entries returns the hooks of an event, in groups or without.
func (d doc) entries(event string) (all []handler) {
	groups, _ := d.at("hooks", event).([]any)
	for i, g := range groups {
		group, _ := g.(map[string]any)
		matcher, _ := group["matcher"].(string)
		list, ok := group["hooks"].([]any)
		if !ok {
			list, group = []any{g}, nil
		}
		for j, h := range list {
			fields, _ := h.(map[string]any)
			all = append(all, handler{d, matcher, fields, group, [2]int{i, j}})
		}
	}
	return all
}

// commandKeys are the fields of a hook that hold what is started.
var commandKeys = [...]string{"command", "bash"}

// program returns what a hook starts: a program, or a command line.
func (e handler) program() string {
	for _, key := range commandKeys {
		if text, ok := e.fields[key].(string); ok {
			return text
		}
	}
	return ""
}

// args returns its arguments.
func (e handler) args() (args []string) {
	list, _ := e.fields["args"].([]any)
	for _, arg := range list {
		args = append(args, fmt.Sprint(arg))
	}
	return args
}

// command returns both in one line.
func (e handler) command() string {
	return strings.Join(append([]string{e.program()}, e.args()...), " ")
}

// ours reports whether a hook is that of agent-wrapper.
func (e handler) ours() bool {
	_, ok := entry.Of(e.program(), e.args())
	return ok
}

// all reports whether a hook is called for every tool.
func (e handler) all() bool {
	return e.matcher == "" || e.matcher == "*" || e.matcher == ".*"
}

// ours returns our hooks for an event in the files.
func ours(event string, docs ...doc) (list []handler) {
	for _, d := range docs {
		for _, e := range d.entries(event) {
			if e.ours() {
				list = append(list, e)
			}
		}
	}
	return list
}
