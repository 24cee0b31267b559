package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// approvedList is the list of rules to which a person answered "always".
const approvedList = "approved"

// listKeys holds the keys of a policy file whose value is a list of rules, with
// the list as which each is parsed.
var listKeys = map[string]patterns.List{
	"allow": patterns.Allow, approvedList: patterns.Allow, "ask": patterns.Ask, "deny": patterns.Deny,
}

// listNames returns the keys of lists in alphabetical order.
func listNames() []string { return slices.Sorted(maps.Keys(listKeys)) }

// listed returns the rules of one of listKeys.
func (s *Spec) listed(key string) *[]Item {
	switch key {
	case "allow":
		return &s.Allow
	case approvedList:
		return &s.Approved
	case "ask":
		return &s.Ask
	}
	return &s.Deny
}

// newFile is the head of a policy file that AddRule creates.
const newFile = "# Permission rules for agent-wrapper.\n# \"Always\" at a question adds lines here; edit them as you like.\n"

// AddRule adds a rule to the allow, ask or deny list of a policy file, and
// returns the place of the rule. The rest of the file stays as it is, byte for
// byte. A rule that the list already has is not added again. A missing file is
// created, accessible to its owner only. A symbolic link is followed.
//
// The file is replaced atomically, under a lock against other writers, and only
// if the new text parses as the old policy with the rule. A file that cannot be
// parsed as a policy is not touched.
func AddRule(path, key, rule string) (patterns.Source, error) {
	list, ok := listKeys[key]
	if !ok {
		return patterns.Source{}, fmt.Errorf("no list of rules is called %q", key)
	}
	own, err := ReadFile(path)
	if err != nil {
		own = &Spec{} // addTo reports the error
	}
	parsed, err := own.usableRule(rule, list)
	if err != nil {
		return patterns.Source{}, err
	}
	target, err := atomicfile.Target(path)
	if err != nil {
		return patterns.Source{}, err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return patterns.Source{}, err
	}
	unlock, err := atomicfile.Lock(filepath.Dir(target))
	if err != nil {
		return patterns.Source{}, err
	}
	defer unlock()
	return addTo(target, path, key, parsed)
}

// usableRule parses a rule that is to be written. A rule that would be rejected
// or never match is an error.
func (s *Spec) usableRule(text string, list patterns.List) (*patterns.Rule, error) {
	rule, warnings, err := s.ParseRule(text, list, patterns.Source{})
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		if w.Kind == patterns.Dead {
			return nil, errors.New(w.String())
		}
	}
	return rule, nil
}

// addTo adds the rule to the file, which is locked. Errors call the file name.
func addTo(file, name, key string, rule *patterns.Rule) (patterns.Source, error) {
	old, err := readPolicy(file)
	if errors.Is(err, fs.ErrNotExist) {
		old, err = []byte(newFile), nil
	}
	if err != nil {
		return patterns.Source{}, err
	}
	next, at, err := withRule(old, name, key, rule)
	if err != nil || bytes.Equal(next, old) {
		return at, err
	}
	return at, atomicfile.Write(file, next, 0o600)
}

// readPolicy reads a regular file.
func readPolicy(path string) ([]byte, error) {
	if err := regular(path); err != nil {
		return nil, err
	}
	return readFile(path)
}

// regular reports a path that does not lead to a regular file: opening a pipe
// would block until it has a writer.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	return err
}

// withRule returns the text of a policy with the rule added, and the place of
// the rule in it.
func withRule(old []byte, name, key string, rule *patterns.Rule) (next []byte, at patterns.Source, err error) {
	var t table
	lines, err := stricttoml.Decode(old, name, &t)
	if err != nil {
		return nil, at, fmt.Errorf("the file was not changed because it cannot be read: %w", err)
	}
	before, err := Parse(old, name)
	if err != nil {
		return nil, at, err
	}
	if item, found := before.find(key, rule); found {
		return old, item.Source, nil
	}
	next = insertRule(old, lines, key, stricttoml.Quote(rule.String()))
	after, err := Parse(next, name)
	if err != nil || !after.is(before, key, rule.String()) {
		return nil, at, fmt.Errorf("%s: cannot add a rule to %s automatically here: add %s by hand", name, key, rule)
	}
	items := *after.listed(key)
	return next, items[len(items)-1].Source, nil
}

// find returns the item of a list that is the same rule, in any spelling.
func (s *Spec) find(key string, rule *patterns.Rule) (Item, bool) {
	for _, item := range *s.listed(key) {
		if same, _, err := s.ParseRule(item.Text, listKeys[key], item.Source); err == nil && same.String() == rule.String() {
			return item, true
		}
	}
	return Item{}, false
}

// is reports whether s equals old with one rule added at the end of a list,
// except for places.
func (s *Spec) is(old *Spec, key, rule string) bool {
	want, got := old.unplaced(), s.unplaced()
	list := want.listed(key)
	*list = append(*list, Item{Text: rule})
	return reflect.DeepEqual(want, got)
}

// unplaced returns a copy of s without places.
func (s *Spec) unplaced() *Spec {
	c := *s
	c.places = nil
	for key := range listKeys {
		list := c.listed(key)
		*list = unplacedItems(*list)
	}
	c.Protect, c.Reads, c.Whitelists = unplacedItems(c.Protect), unplacedItems(c.Reads), unplacedItems(c.Whitelists)
	c.Escalation.Source = patterns.Source{}
	c.RiskOverrides = nil
	for _, o := range s.RiskOverrides {
		o.Source, o.places = patterns.Source{}, nil
		c.RiskOverrides = append(c.RiskOverrides, o)
	}
	c.Rules = nil
	for _, r := range s.Rules {
		r.Source, r.Match, r.NotMatch = patterns.Source{}, unplacedItems(r.Match), unplacedItems(r.NotMatch)
		c.Rules = append(c.Rules, r)
	}
	c.Programs, c.Tools = unplacedTables(s.Programs), unplacedTables(s.Tools)
	return &c
}

func unplacedTables(tables []TableSpec) []TableSpec {
	var list []TableSpec
	for _, t := range tables {
		list = append(list, TableSpec{Name: t.Name, section: t.section, table: t.table})
	}
	return list
}

func unplacedItems(items []Item) []Item {
	var list []Item
	for _, item := range items {
		list = append(list, Item{Text: item.Text})
	}
	return list
}

// insertRule inserts a quoted rule at the end of a list.
func insertRule(old []byte, lines stricttoml.Lines, key, rule string) []byte {
	array, ok := lines[key]
	if !ok {
		return insertKey(old, lines, key, rule)
	}
	n := 0
	for ; lines[fmt.Sprintf("%s[%d]", key, n)].End > 0; n++ {
	}
	a := arrayText{text: old, start: array.Start, end: array.End - 1}
	if n > 0 {
		last := lines[fmt.Sprintf("%s[%d]", key, n-1)]
		a.last, a.comma = &last, comma(old, last.End)
	}
	return a.insert(rule)
}

// arrayText is an array in the text of a file.
type arrayText struct {
	text       []byte
	start, end int               // of its brackets
	last       *stricttoml.Place // its last element, nil if it is empty
	comma      int               // after the comma of the last element, 0 if it has none
}

// comma returns the end of the comma after an element, 0 if there is none.
func comma(text []byte, at int) int {
	for ; at < len(text); at++ {
		switch text[at] {
		case ' ', '\t', '\r', '\n':
		case '#':
			if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
				at += end
			}
		case ',':
			return at + 1
		default:
			return 0
		}
	}
	return 0
}

// insert inserts an element after the last one. If the closing bracket has its
// own line, so does the new element. A comma follows the new element if one
// followed the last.
func (a *arrayText) insert(element string) []byte {
	closing := lineStart(a.text, a.end)
	ownLine := closing > a.start && blank(a.text[closing:a.end])
	switch {
	case a.last == nil && ownLine:
		return splice(a.text, closing, a.indent(closing)+element+","+eol(a.text, a.start))
	case a.last == nil:
		return splice(a.text, a.end, element+string(a.text[a.start+1:a.end]))
	case ownLine && a.comma > 0:
		return splice(a.text, closing, a.indent(closing)+element+","+eol(a.text, a.start))
	case ownLine:
		next := splice(a.text, closing, a.indent(closing)+element+eol(a.text, a.start))
		return splice(next, a.last.End, ",")
	case a.comma > 0:
		return splice(a.text, a.comma, a.gap(element)+element+",")
	}
	return splice(a.text, a.last.End, ","+a.gap(element)+element)
}

// lineWidth is the length beyond which a line of elements is not continued.
const lineWidth = 80

// gap returns what separates an element from the one before on the same line:
// what precedes the last element, or a space, or the start of a new line where this
// one would get too long.
func (a *arrayText) gap(element string) string {
	at := lineStart(a.text, a.last.Start)
	if at > a.start && blank(a.text[at:a.last.Start]) {
		return eol(a.text, a.start) + string(a.text[at:a.last.Start])
	}
	if a.last.End-at+len(element)+len(", ,") > lineWidth {
		return eol(a.text, a.start) + "  "
	}
	return " "
}

// indent returns the indentation of an element on its own line; closing is the
// start of the line of the closing bracket.
func (a *arrayText) indent(closing int) string {
	if a.last != nil {
		at := lineStart(a.text, a.last.Start)
		if at > a.start && blank(a.text[at:a.last.Start]) {
			return string(a.text[at:a.last.Start])
		}
	}
	return string(a.text[closing:a.end]) + "  "
}

// insertKey adds a list that the file lacks after the last key outside all
// tables, since a key after the header of a table belongs to the table.
func insertKey(old []byte, lines stricttoml.Lines, key, rule string) []byte {
	end := eol(old, 0)
	text := key + " = [" + end + "  " + rule + "," + end + "]" + end
	at := newKeyAt(old, lines)
	switch before := bytes.TrimPrefix(old[:at], []byte(mark)); {
	case len(before) == 0:
	case !bytes.HasSuffix(before, []byte("\n")):
		text = end + end + text
	case !blank(before[lineStart(before, len(before)-1):]):
		text = end + text
	}
	if after := old[at:]; len(after) > 0 && !blank(after[:lineEnd(after, 0)]) {
		text += end
	}
	return splice(old, at, text)
}

// newKeyAt returns where a new key outside all tables may be inserted: at the
// beginning of a line or at the end of the file.
func newKeyAt(text []byte, lines stricttoml.Lines) int {
	if last := lines[""].End; last > 0 {
		return lineEnd(text, last)
	}
	first := len(text)
	for path, at := range lines {
		if path != "" {
			first = min(first, at.Start)
		}
	}
	if first == len(text) {
		return first
	}
	return aboveComment(text, lineStart(text, first))
}

// aboveComment returns the start of the comment directly above a line. It
// returns the line itself if there is none, or if the comment begins the text
// and therefore describes the whole file.
func aboveComment(text []byte, line int) int {
	at := line
	for at > 0 {
		above := lineStart(text, at-1)
		if !bytes.HasPrefix(bytes.TrimSpace(text[above:at]), []byte("#")) {
			return at
		}
		at = above
	}
	if bytes.HasPrefix(text, []byte(mark)) && line == 0 {
		return len(mark)
	}
	return line
}

// mark is the byte order mark, which is only valid at the beginning.
const mark = "\ufeff"

// lineStart returns the start of the line of a byte.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns the end of the line of a byte, including its line ending.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// eol returns the line ending that is used after a position of the text, or
// else before it.
func eol(text []byte, at int) string {
	end := lineEnd(text, at)
	if end == at || text[end-1] != '\n' {
		end = lineEnd(text, 0)
	}
	if strings.HasSuffix(string(text[:end]), "\r\n") {
		return "\r\n"
	}
	return "\n"
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// splice inserts text into another.
func splice(text []byte, at int, insert string) []byte {
	out := make([]byte, 0, len(text)+len(insert))
	out = append(out, text[:at]...)
	out = append(out, insert...)
	return append(out, text[at:]...)
}
