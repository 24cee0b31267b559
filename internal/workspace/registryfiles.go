package workspace

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/frontmatter"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
)

// includes is the key of a setting that names a further file of the same format.
const includes = "\x00include"

// readSettings reads the settings of a file, by a format of catalogfile.Formats. The keys of
// tables are joined by dots, and the items of a list have the key of the list.
func readSettings(format string, text []byte, name string) ([]shell.Setting, error) {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("it is no text")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch format {
	case "ini":
		return readINI(text), nil
	case "cfg":
		return readCfg(text)
	case "toml":
		table := map[string]any{}
		if _, err := stricttoml.Decode(text, name, &table); err != nil {
			return nil, err
		}
		return flatten(nil, "", table), nil
	case "json":
		table := map[string]any{}
		if err := json.Unmarshal(text, &table); err != nil {
			return nil, err
		}
		return flatten(nil, "", table), nil
	case "yaml":
		list, err := frontmatter.Settings(text, name)
		found := make([]shell.Setting, len(list))
		for i, s := range list {
			found[i] = shell.Setting(s)
		}
		return found, err
	case "xml":
		return readXML(text)
	case "yarnrc":
		return readYarnrc(text)
	case "gemfile":
		return readGemfile(text), nil
	case requirements:
		return readRequirements(text), nil
	}
	return nil, fmt.Errorf("the format %q is unknown", format)
}

// flatten appends the settings of a decoded value.
func flatten(found []shell.Setting, key string, value any) []shell.Setting {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return append(found, shell.Setting{Key: key})
		}
		for name, below := range v {
			if key != "" {
				name = key + "." + name
			}
			found = flatten(found, name, below)
		}
	case []map[string]any:
		for _, item := range v {
			found = flatten(found, key, item)
		}
	case []any:
		for _, item := range v {
			found = flatten(found, key, item)
		}
	default:
		found = append(found, shell.Setting{Key: key, Value: fmt.Sprint(v)})
	}
	return found
}

// trim removes what JavaScript takes for blanks.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}

// readINI reads a file of npm (npmjs.com/package/ini). Sections do not count, as a setting
// in one may be obeyed by one program and not by another.
func readINI(text []byte) []shell.Setting {
	var found []shell.Setting
	for line := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = trim(line)
		if line == "" || line[0] == ';' || line[0] == '#' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key = strings.TrimSuffix(unquoteINI(key), "[]")
		found = append(found, shell.Setting{Key: key, Value: unquoteINI(value)})
	}
	return found
}

// unquoteINI returns a key or value without its quotes. What begins with one that is not
// closed stays.
func unquoteINI(text string) string {
	text = trim(text)
	if len(text) < 2 || text[0] != text[len(text)-1] || text[0] != '"' && text[0] != '\'' {
		return text
	}
	var plain string
	if json.Unmarshal([]byte(text), &plain) == nil {
		return plain
	}
	return text[1 : len(text)-1]
}

// readCfg reads a file of pip (docs.python.org/3/library/configparser.html). A line that is
// indented belongs to the value before it.
func readCfg(text []byte) ([]shell.Setting, error) {
	var found []shell.Setting
	last := -1 // the setting to which a line may belong
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\r", "\n")) {
		plain := trim(line)
		if plain == "" || plain[0] == ';' || plain[0] == '#' || plain[0] == '[' && strings.HasSuffix(plain, "]") {
			continue
		}
		at := strings.IndexAny(plain, "=:")
		more := line[0] != plain[0]
		if more && last >= 0 {
			found[last].Value += " " + plain
		} else if at < 1 || plain[0] == '[' {
			return nil, errors.New("a setting without =")
		}
		if at > 0 && (!more || !strings.HasPrefix(plain[at:], "://")) { // perhaps indented as all are
			found = append(found, cfgSetting(plain, at))
			if !more {
				last = len(found) - 1
			}
		}
	}
	return found, nil
}

func cfgSetting(line string, at int) shell.Setting {
	key := strings.ReplaceAll(trim(line[:at]), "_", "-")
	return shell.Setting{Key: strings.TrimLeft(key, "-"), Value: trim(line[at+1:])}
}

// readXML reads a file of NuGet: <add key="K" value="V"/> below an element E is E.K.
func readXML(text []byte) ([]shell.Setting, error) {
	var found []shell.Setting
	var path []string
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF && len(path) == 0 {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			path = append(path, t.Name.Local)
			found = append(found, elementSettings(path, t.Attr)...)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if plain := trim(string(t)); plain != "" {
				found = append(found, shell.Setting{Key: strings.Join(path, "."), Value: plain})
			}
		case xml.Directive:
			return nil, errors.New("it has a directive")
		}
	}
}

func elementSettings(path []string, attributes []xml.Attr) []shell.Setting {
	var found []shell.Setting
	key := strings.Join(path[:len(path)-1], ".")
	for _, a := range attributes {
		if strings.EqualFold(a.Name.Local, "key") {
			key += "." + a.Value
		}
	}
	for _, a := range attributes {
		switch name := strings.ToLower(a.Name.Local); name {
		case "key":
		case "value":
			found = append(found, shell.Setting{Key: key, Value: a.Value})
		default:
			found = append(found, shell.Setting{Key: key + "." + name, Value: a.Value})
		}
	}
	return found
}

// yarnLine matches a line of .yarnrc: a key, a colon if there is one, and a value.
var yarnLine = lazyregexp.New(`^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"':]+(?::[^\s"':]+)*):?\s+(\S.*)$`)

// readYarnrc reads a file of yarn 1.
func readYarnrc(text []byte) ([]shell.Setting, error) {
	var found []shell.Setting
	for line := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = trim(line)
		if line == "" || line[0] == '#' {
			continue
		}
		parts := yarnLine.FindStringSubmatch(line)
		if parts == nil {
			return nil, errors.New("a line that is no setting")
		}
		found = append(found, shell.Setting{Key: unquoteINI(parts[1]), Value: unquoteINI(parts[2])})
	}
	return found, nil
}

// gemSource finds what names a source in a Gemfile, and what follows it.
var gemSource = lazyregexp.New(`(?:^|[^A-Za-z0-9_])(source|eval_gemfile|mirror)\b["']?\s*(?:=>|:|\(|=)?\s*(.*)$`)

// readGemfile reads the sources of a Gemfile. It is a program: a source that is not a plain
// text may be any.
func readGemfile(text []byte) []shell.Setting {
	var found []shell.Setting
	for line := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = trim(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := gemSource.FindStringSubmatch(line)
		if parts == nil || strings.HasPrefix(parts[2], ":rubygems") {
			continue
		}
		found = append(found, shell.Setting{Key: parts[1], Value: rubyText(parts[2])})
	}
	return found
}

// rubyEnd matches what may follow a text that stands alone: "a" "b" is "ab".
var rubyEnd = lazyregexp.New(`^\s*(?:$|[,)#;}]|do\b)`)

// rubyText returns the text with which Ruby code begins, a variable if it begins otherwise.
func rubyText(code string) string {
	for _, quote := range []string{`"`, `'`} {
		if rest, ok := strings.CutPrefix(code, quote); ok {
			plain, behind, closed := strings.Cut(rest, quote)
			if closed && !strings.ContainsAny(plain, `\#`) && rubyEnd.MatchString(behind) {
				return plain
			}
		}
	}
	return "${" + strings.TrimRight(strings.SplitN(code, " ", 2)[0], ")") + "}"
}

// readRequirements reads a file of requirements (pip.pypa.io, "Requirements File Format"):
// the options, the files that it includes, and requirements with a variable.
func readRequirements(text []byte) []shell.Setting {
	var found []shell.Setting
	joined := strings.NewReplacer("\\\r\n", "", "\\\n", "").Replace(string(text))
	for line := range strings.FieldsFuncSeq(joined, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if at := strings.Index(" "+line, " #"); at >= 0 {
			line = line[:at]
		}
		line = trim(line)
		if !strings.HasPrefix(line, "-") {
			if strings.Contains(line, "${") {
				found = append(found, shell.Setting{Key: "requirement", Value: line})
			}
			continue
		}
		found = append(found, requirementOption(line))
	}
	return found
}

// requirementOption returns the option of a line. A long name may be abbreviated.
func requirementOption(line string) shell.Setting {
	name, value := line, ""
	if at := strings.IndexAny(line, " \t="); at > 0 {
		name, value = line[:at], line[at+1:]
	}
	if !strings.HasPrefix(name, "--") && len(name) > 2 {
		name, value = line[:2], line[2:]
	}
	value = unquoteINI(strings.TrimPrefix(trim(value), "="))
	long := strings.TrimPrefix(name, "--")
	isLong := long != name && long != ""
	switch {
	case name == "-r", name == "-c", isLong && strings.HasPrefix(long, "r") && strings.HasPrefix("requirement", long), isLong && strings.HasPrefix(long, "c") && strings.HasPrefix("constraint", long):
		if !strings.Contains(value, "://") && !strings.Contains(value, "${") {
			return shell.Setting{Key: includes, Value: value}
		}
		return shell.Setting{Key: "index-url", Value: value}
	case isLong && long[0] == 'i' && strings.HasPrefix("index-url", long):
		long = "index-url"
	}
	return shell.Setting{Key: strings.TrimLeft(long, "-"), Value: value}
}
