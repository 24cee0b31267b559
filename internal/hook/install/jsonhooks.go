package install

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
)

// jsonHooks is the editor of a JSON file with hooks of several people: hooks.EVENT is an
// array of groups, which hold handlers in an array hooks, or of the handlers themselves.
type jsonHooks struct {
	dialect
	host   string
	events []event
	// settings are members that must have a value for the hook to run.
	settings []wanted
}

// event is a hook that is wanted for an event.
type event struct {
	name  string
	entry any // a group, or a handler
}

// wanted is a member that must have a value, in JSON.
type wanted struct {
	path  []string
	value string
	// present says that it is only changed if it is there with another value: the
	// host's default is the same.
	present bool
}

func (j *jsonHooks) add(name string, text []byte) ([]byte, notes, error) {
	d, err := parseDocument(name, text, j.dialect)
	if err != nil {
		return nil, notes{}, err
	}
	var n notes
	if err := j.inForce(d, &n); err != nil {
		return nil, n, err
	}
	if len(n.Made)+len(n.Were) == 0 && string(d.text) == string(text) {
		return text, n, nil
	}
	return d.text, n, nil
}

// inForce edits a document so that the hook is in force.
func (j *jsonHooks) inForce(d *document, n *notes) error {
	for _, w := range j.settings {
		if err := w.apply(d, n); err != nil {
			return err
		}
	}
	if err := j.stripOthers(d); err != nil {
		return err
	}
	for _, e := range j.events {
		if err := j.addEvent(d, e, n); err != nil {
			return err
		}
	}
	return nil
}

// apply gives a member its value.
func (w *wanted) apply(d *document, n *notes) error {
	is, err := d.literal(w.path...)
	if err != nil || is == w.value || is == "" && w.present {
		return err
	}
	was, made, err := d.set(w.value, w.path...)
	n.Made = append(n.Made, made...)
	n.Were = append(n.Were, setting{Path: w.path, Was: was, Set: w.value})
	return err
}

// addEvent adds the entry of an event, unless it is there once and as it should be.
func (j *jsonHooks) addEvent(d *document, e event, n *notes) error {
	if there, err := j.there(d, e); there || err != nil {
		return err
	}
	if err := j.stripEvent(d, e.name); err != nil {
		return err
	}
	made, err := d.ensure('[', "hooks", e.name)
	n.Made = append(n.Made, made...)
	if err != nil {
		return err
	}
	if _, _, err := d.array("hooks", e.name); err != nil {
		return err
	}
	into, err := d.at("hooks", e.name)
	if err != nil {
		return err
	}
	return d.insert(into, "", spaced(encode(e.entry)))
}

// there reports whether an event has its entry, and no other of ours.
func (j *jsonHooks) there(d *document, e event) (bool, error) {
	c, _, err := d.array("hooks", e.name)
	if err != nil {
		return false, err
	}
	same, ours := 0, 0
	for i := range c.items {
		is := d.decoded(c.items[i].value)
		ours += j.oursIn(is)
		if reflect.DeepEqual(unnamed(is), unnamed(plain(e.entry))) {
			same++
		}
	}
	return same == 1 && ours == 1, nil
}

// plain returns a value as package encoding/json reads it.
func plain(v any) (out any) {
	if err := json.Unmarshal(encode(v), &out); err != nil {
		return nil // it is JSON
	}
	return out
}

// oursIn returns the binary of a line that install writes for a host, false if it is none.
func oursIn(line, host string) (binary string, ok bool) {
	is, ok := entry.Of(line, nil)
	return is.Binary, ok && is.Host == host && is.Form == entry.Line
}

// hookName begins the name of our hook in hosts whose hooks have names. What follows is
// made up at the installation: a repository could switch off a hook whose name it knows.
const hookName = entry.Program + "-"

// unnamed replaces our names in a decoded value by one.
func unnamed(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for key, value := range x {
			x[key] = unnamed(value)
			if name, ok := value.(string); ok && key == "name" && strings.HasPrefix(name, hookName) {
				x[key] = hookName
			}
		}
	case []any:
		for i := range x {
			x[i] = unnamed(x[i])
		}
	}
	return v
}

// oursIn returns how many handlers of a group, or of the handler itself, are ours.
func (j *jsonHooks) oursIn(v any) (n int) {
	if _, ok := j.ours(v); ok {
		return 1
	}
	group, _ := v.(map[string]any)
	handlers, _ := group["hooks"].([]any)
	for _, h := range handlers {
		if _, ok := j.ours(h); ok {
			n++
		}
	}
	return n
}

// ours reports whether a handler is ours, and the binary that it starts.
func (j *jsonHooks) ours(v any) (binary string, ok bool) {
	h, _ := v.(map[string]any)
	command, _ := h["command"].(string)
	if bash, found := h["bash"].(string); found {
		command = bash
	}
	list, _ := h["args"].([]any)
	args := make([]string, len(list))
	for i := range list {
		args[i], _ = list[i].(string)
	}
	is, ok := entry.Of(command, args)
	return is.Binary, ok && is.Host == j.host && is.Form != entry.ByHand
}

func (j *jsonHooks) strip(name string, text []byte, n notes) ([]byte, error) {
	d, err := parseDocument(name, text, j.dialect)
	if err != nil {
		return nil, err
	}
	before := string(d.text)
	if err := j.stripAll(d); err != nil {
		return nil, err
	}
	for i := len(n.Were) - 1; i >= 0; i-- {
		if err := n.Were[i].undo(d); err != nil {
			return nil, err
		}
	}
	for i := len(n.Made) - 1; i >= 0; i-- {
		if err := d.prune(strings.Split(n.Made[i], "/")); err != nil {
			return nil, err
		}
	}
	if string(d.text) == before {
		return text, nil
	}
	return d.text, nil
}

// undo gives a member the value that it had, if it still has the one that we gave it.
func (s *setting) undo(d *document) error {
	is, err := d.literal(s.Path...)
	if err != nil || is != s.Set {
		return err
	}
	if s.Was != "" {
		_, _, err := d.set(s.Was, s.Path...)
		return err
	}
	return d.drop(s.Path)
}

// prune takes out an object or array that is empty.
func (d *document) prune(path []string) error {
	v, err := d.at(path...)
	if v == nil || err != nil {
		return err
	}
	if c, ok := contents(v); !ok || len(c.items) > 0 || trimmed(c.after) > 0 {
		return nil
	}
	return d.drop(path)
}

// drop takes out the member below a path.
func (d *document) drop(path []string) error {
	last := len(path) - 1
	parent, err := d.at(path[:last]...)
	if parent == nil || err != nil {
		return err
	}
	c, ok := contents(parent)
	for i := range c.items {
		if ok && c.items[i].name != nil && c.items[i].text() == path[last] {
			return d.remove(parent, i)
		}
	}
	return nil
}

// stripOthers takes our entries out of the events that do not want them.
func (j *jsonHooks) stripOthers(d *document) error {
	return j.eachEvent(d, func(name string) error {
		for _, e := range j.events {
			if e.name == name {
				return nil
			}
		}
		return j.stripEvent(d, name)
	})
}

// stripAll takes out all of our entries.
func (j *jsonHooks) stripAll(d *document) error {
	return j.eachEvent(d, func(name string) error { return j.stripEvent(d, name) })
}

// eachEvent calls f for the events that have hooks.
func (j *jsonHooks) eachEvent(d *document, f func(name string) error) error {
	hooks, err := d.at("hooks")
	if hooks == nil || err != nil {
		return err
	}
	if hooks.Value.Kind() != '{' {
		return d.fail(hooks.StartOffset, "hooks must be an object")
	}
	c, _ := contents(hooks)
	var names []string
	for i := range c.items {
		if c.items[i].value.Value.Kind() == '[' {
			names = append(names, c.items[i].text())
		}
	}
	for _, name := range names {
		if err := f(name); err != nil {
			return err
		}
	}
	return nil
}

// stripEvent takes our entries out of an event.
func (j *jsonHooks) stripEvent(d *document, name string) error {
	for {
		list, c, err := j.list(d, name)
		if list == nil || err != nil {
			return err
		}
		found, err := j.stripOne(d, list, &c)
		if !found || err != nil {
			return err
		}
	}
}

// list returns the array of an event, nil if there is none.
func (j *jsonHooks) list(d *document, name string) (*hujson.Value, container, error) {
	c, ok, err := d.array("hooks", name)
	if !ok || err != nil {
		return nil, c, err
	}
	list, err := d.at("hooks", name)
	return list, c, err
}

// stripOne takes out the first entry of ours: the whole group if nothing else is in it.
func (j *jsonHooks) stripOne(d *document, list *hujson.Value, c *container) (found bool, err error) {
	for i := range c.items {
		is := d.decoded(c.items[i].value)
		n := j.oursIn(is)
		if n == 0 {
			continue
		}
		if group, _ := is.(map[string]any); n == 1 && handlers(group) <= 1 {
			return true, d.remove(list, i)
		}
		return true, j.stripHandler(d, c.items[i].value)
	}
	return false, nil
}

// handlers returns how many handlers a group has.
func handlers(group map[string]any) int {
	list, _ := group["hooks"].([]any)
	return len(list)
}

// stripHandler takes the first handler of ours out of a group that has others.
func (j *jsonHooks) stripHandler(d *document, group *hujson.Value) error {
	c, _ := contents(group)
	for i := range c.items {
		if c.items[i].text() != "hooks" {
			continue
		}
		list, _ := contents(c.items[i].value)
		for k := range list.items {
			if _, ok := j.ours(d.decoded(list.items[k].value)); ok {
				return d.remove(c.items[i].value, k)
			}
		}
	}
	return d.fail(group.StartOffset, "our hook stands here, and cannot be taken out: take it out by hand")
}

func (j *jsonHooks) binaries(name string, text []byte) (found []string, err error) {
	d, err := parseDocument(name, text, j.dialect)
	if err != nil {
		return nil, err
	}
	err = j.eachEvent(d, func(event string) error {
		c, _, err := d.array("hooks", event)
		for i := range c.items {
			found = append(found, j.binariesIn(d.decoded(c.items[i].value))...)
		}
		return err
	})
	return found, err
}

// binariesIn returns the programs that the handlers of ours in a group start.
func (j *jsonHooks) binariesIn(v any) (found []string) {
	if binary, ok := j.ours(v); ok {
		return []string{binary}
	}
	group, _ := v.(map[string]any)
	list, _ := group["hooks"].([]any)
	for _, h := range list {
		if binary, ok := j.ours(h); ok {
			found = append(found, binary)
		}
	}
	return found
}
