package mask

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON hides the secrets in the strings of a compact JSON text, and values of
// any type whose key is the name of a secret. Everything else is unchanged.
// command, if not nil, masks the strings under the key "command" of the
// outermost object.
func JSON(data []byte, command func(string) (string, int)) ([]byte, int) {
	j := masker{in: data, command: command}
	j.out.Grow(len(data))
	for j.at < len(data) {
		j.next()
	}
	return j.out.Bytes(), j.n
}

// masker walks a JSON text.
type masker struct {
	in      []byte
	at      int
	out     bytes.Buffer
	n       int
	command func(string) (string, int)

	levels []level
}

// level is an open object or array.
type level struct {
	object bool
	value  bool   // in an object: behind the colon
	key    string // of the current value
	secret bool   // everything inside is secret
}

func (j *masker) top() *level {
	if len(j.levels) == 0 {
		return &level{}
	}
	return &j.levels[len(j.levels)-1]
}

// next consumes one token.
func (j *masker) next() {
	top, b := j.top(), j.in[j.at]
	switch b {
	case '{', '[':
		j.levels = append(j.levels, level{object: b == '{', secret: j.hidden()})
	case '}', ']':
		j.levels = j.levels[:max(0, len(j.levels)-1)]
	case ',':
		top.value = false
	case ':':
		top.value = true
	case '"':
		j.text(top)
		return
	default:
		if j.hidden() && (b == '-' || '0' <= b && b <= '9') && !counts(top.key) {
			j.number()
			return
		}
	}
	j.out.WriteByte(b)
	j.at++
}

// hidden reports whether a value at this place has the name of a secret.
func (j *masker) hidden() bool {
	top := j.top()
	return top.secret || top.object && top.value && isSecretName(top.key)
}

// number hides a number.
func (j *masker) number() {
	for j.at < len(j.in) && strings.IndexByte(",]} \t\r\n", j.in[j.at]) < 0 {
		j.at++
	}
	j.out.WriteString(`"` + Mark + `"`)
	j.n++
}

// text masks a string.
func (j *masker) text(top *level) {
	raw := j.in[j.at : j.at+stringEnd(j.in[j.at:])]
	j.at += len(raw)
	var s string
	if json.Unmarshal(raw, &s) != nil {
		j.out.Write(raw)
		return
	}
	masked, n := j.mask(top, s)
	if top.object && !top.value {
		top.key = s
	}
	if n == 0 {
		j.out.Write(raw)
		return
	}
	j.n += n
	e := json.NewEncoder(&j.out)
	e.SetEscapeHTML(false)
	if e.Encode(masked) == nil { // cannot fail for a string
		j.out.Truncate(j.out.Len() - 1) // the line feed
	}
}

// mask masks a string according to its place.
func (j *masker) mask(top *level, s string) (string, int) {
	switch {
	case top.object && !top.value:
		return Text(s)
	case j.command != nil && len(j.levels) == 1 && top.object && top.key == "command":
		return j.command(s)
	case j.hidden() && s != Mark && !keeps(s) && !strings.HasPrefix(s, "$"):
		return Mark, 1
	}
	return Text(s)
}

// stringEnd returns the length of the string that begins at data[0].
func stringEnd(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}
