package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// Status is how a host stands.
type Status struct {
	Host    string `json:"host"`
	Title   string `json:"title"`
	Found   bool   `json:"found"`
	Program string `json:"program,omitempty"`
	Version string `json:"version,omitempty"` // as far as the path of the program tells
	Hooks   []Hook `json:"hooks"`             // one a file
	// Notes are what a person should know, or do.
	Notes []string `json:"notes"`
	Doors []Door   `json:"doors"` // that stay open
}

// Hook is the hook in a file.
type Hook struct {
	Scope Scope  `json:"scope"`
	File  string `json:"file"`
	State State  `json:"state"`
	// Binary is the program that it starts, "" if there is none.
	Binary  string `json:"binary,omitempty"`
	Program string `json:"binary_is,omitempty"` // this, another, missing or not executable
	Problem string `json:"problem,omitempty"`   // why the file cannot be read
}

// State is how a hook stands.
type State string

// The states of a hook.
const (
	stateInForce    State = "in force"
	stateChanged    State = "changed" // something of ours is there, and not as it should be
	stateMissing    State = "missing"
	stateUnreadable State = "unreadable"
)

// Status returns how a host stands.
func (m *Machine) Status(name string) (*Status, error) {
	h, err := m.host(name, User)
	if err != nil {
		return nil, err
	}
	s := &Status{Host: h.name, Title: h.title, Program: m.program(h.program), Found: m.found(h), Hooks: []Hook{}, Notes: []string{}, Doors: []Door{}}
	s.Version = version(s.Program)
	m.addScope(s, h, User)
	if h.managed {
		m.addScope(s, h, Managed)
	}
	m.addNotes(s, h)
	return s, nil
}

// addScope adds the hooks of a scope. The managed one is shown only if it is there: it
// leaves fewer doors open, so its doors count.
func (m *Machine) addScope(s *Status, h *host, scope Scope) {
	r, known, err := m.record(h, scope)
	if err != nil {
		s.Notes = append(s.Notes, err.Error())
	}
	there := known
	var hooks []Hook
	for _, f := range h.files(m, scope, r.Options) {
		hook := m.hook(&f, scope)
		there = there || hook.State != stateMissing
		hooks = append(hooks, hook)
	}
	if scope == Managed && !there {
		return
	}
	s.Hooks = append(s.Hooks, hooks...)
	if there {
		s.Doors = open(h.name, scope, r.Options)
	}
}

// hook looks at a file.
func (m *Machine) hook(f *file, scope Scope) Hook {
	hook := Hook{Scope: scope, File: f.path, State: stateMissing}
	is, err := read(f.path)
	if err != nil {
		return hook.unreadable(err)
	}
	if !is.existed {
		return hook
	}
	after, _, err := f.add(f.path, is.text)
	if err != nil {
		return hook.unreadable(err)
	}
	binaries, err := f.binaries(f.path, is.text)
	if err != nil {
		return hook.unreadable(err)
	}
	if len(binaries) > 0 {
		hook.State, hook.Binary = stateChanged, binaries[0]
		hook.Program = m.binaryIs(hook.Binary)
	}
	if string(after) == string(is.text) {
		hook.State = stateInForce
	}
	return hook
}

func (h Hook) unreadable(err error) Hook {
	h.State, h.Problem = stateUnreadable, err.Error()
	return h
}

// binaryIs says what the program of a hook is.
func (m *Machine) binaryIs(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "missing"
	case err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0:
		return "not executable"
	}
	if own, err := os.Stat(m.Binary); err == nil && os.SameFile(own, info) {
		return "this"
	}
	return "another"
}

// someOfOurs reports whether something of ours stands in the files of a scope, or is
// recorded to.
func (m *Machine) someOfOurs(h *host, scope Scope) bool {
	r, known, err := m.record(h, scope)
	if known || err != nil {
		return true
	}
	for _, f := range h.files(m, scope, r.Options) {
		is, err := read(f.path)
		if err != nil || !is.existed {
			continue
		}
		if found, err := f.binaries(f.path, is.text); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// addNotes adds what is particular to a host.
func (m *Machine) addNotes(s *Status, h *host) {
	if s.Hooks[0].State == stateMissing {
		return
	}
	switch h.name {
	case "opencode":
		s.Notes = append(s.Notes, openCodeNotes(h.dir(m))...)
	case "codex":
		if s.Hooks[0].State == stateInForce && !m.codexTrusts(h) {
			s.Notes = append(s.Notes, errNotTrusted.Error()+", or run agent-wrapper install codex")
		}
	}
}

// codexTrusts reports whether codex has stored a trust for the hook before a tool use.
// Whether it is for this version of the hook, only codex knows.
func (m *Machine) codexTrusts(h *host) bool {
	path := filepath.Join(h.dir(m), "config.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	config, err := parseTOML(path, text)
	if err != nil {
		return false
	}
	hooks, _ := config.values["hooks"].(map[string]any)
	states, _ := hooks["state"].(map[string]any)
	state, _ := states[m.codexKey(h)].(map[string]any)
	enabled, said := state["enabled"].(bool)
	return state["trusted_hash"] != nil && (enabled || !said)
}

// codexKey returns the name that codex has for the hook before a tool use.
func (m *Machine) codexKey(h *host) string {
	file := h.files(m, User, Options{})[0]
	is, err := read(file.path)
	if err != nil {
		return ""
	}
	d, err := parseDocument(file.path, is.text, dialect{})
	if err != nil {
		return ""
	}
	c, _, err := d.array("hooks", codexEvents[0])
	if err != nil {
		return ""
	}
	j := jsonHooks{host: h.name}
	for i := range c.items {
		group, _ := d.decoded(c.items[i].value).(map[string]any)
		list, _ := group["hooks"].([]any)
		for k := range list {
			if _, ok := j.ours(list[k]); ok {
				return file.path + ":pre_tool_use:" + strconv.Itoa(i) + ":" + strconv.Itoa(k)
			}
		}
	}
	return ""
}

// versionName matches the name of a directory or file that is a version.
var versionName = lazyregexp.New(`^v?[0-9]+\.[0-9]+\.[0-9]+[-+.0-9A-Za-z]*$`)

// version returns the version of a program, if it lies in a directory that is named by
// it, or in a package of npm; no program is started for it.
func version(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if program == "" || err != nil {
		return ""
	}
	for dir, up := real, 0; up < 5; dir, up = filepath.Dir(dir), up+1 {
		if name := filepath.Base(dir); versionName.MatchString(name) {
			return strings.TrimPrefix(name, "v")
		}
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		var pack struct{ Version string }
		if err == nil && json.Unmarshal(data, &pack) == nil && pack.Version != "" {
			return pack.Version
		}
	}
	return ""
}

// String returns a door in one line.
func (d Door) String() string { return fmt.Sprintf("%s: %s", d.What, d.Closes) }
