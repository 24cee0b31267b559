package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestReadLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	cases := []struct {
		name, in string
		want     []string
	}{
		{"none", "", nil},
		{"plain", "a\nb\n", []string{"a", "b"}},
		{"no end", "a\nb", []string{"a", "b"}},
		{"blank lines", "\n\na\r\n\n", []string{"a"}},
		{"long", long + "\nb\n", []string{long, "b"}},
	}
	for _, c := range cases {
		for how, r := range map[string]io.Reader{
			"at once": strings.NewReader(c.in), "in pieces": iotest.HalfReader(strings.NewReader(c.in)),
		} {
			var got []string
			err := readLines(r, 1<<20, func(line []byte) bool {
				got = append(got, string(line))
				return true
			})
			if err != nil || !cmp.Equal(c.want, got) {
				t.Errorf("%s %s: %d lines, %v", c.name, how, len(got), err)
			}
		}
	}
}

func TestReadLinesBound(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("a\n"), zeros{})
	var got []string
	err := readLines(endless, 1<<20, func(line []byte) bool {
		got = append(got, string(line))
		return true
	})
	if !errors.Is(err, errLongLine) || !cmp.Equal(got, []string{"a"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if err := readLines(iotest.ErrReader(errors.New("broken")), 10, nil); err == nil {
		t.Error("an error counts as the end")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestReadLinesStops(t *testing.T) {
	n := 0
	readLines(strings.NewReader("a\nb\nc\n"), 10, func([]byte) bool { n++; return n < 2 })
	if n != 2 {
		t.Errorf("%d lines were taken", n)
	}
}

func TestWhole(t *testing.T) {
	for in, want := range map[string]string{
		`"a"`:                  `"a"`,
		`"\ud83d\ude00"`:       `"\ud83d\ude00"`,
		`"\uD83D\uDE00x"`:      `"\uD83D\uDE00x"`,
		`"\ud83d"`:             `"\ufffd"`,
		`"\ud83dx"`:            `"\ufffdx"`,
		`"\ude00\ud83d"`:       `"\ufffd\ufffd"`,
		`"\ud83d\ud83d\ude00"`: `"\ufffd\ud83d\ude00"`,
		`"\\ud83d"`:            `"\\ud83d"`,
		`"\\\ud83d"`:           `"\\\ufffd"`,
		`"\ud7ff"`:             `"\ud7ff"`,
		`"\ud8"`:               `"\ud8"`,
		`\ud`:                  `\ud`,
	} {
		got, broken := whole([]byte(in))
		if string(got) != want || broken != (in != want) {
			t.Errorf("%s: got %s, %v, want %s", in, got, broken, want)
		}
	}
}

// TestDecodeKeepsInput: decoding keeps a tool input byte for byte.
func TestDecodeKeepsInput(t *testing.T) {
	input := `{"n":12345678901234567890.10,"s":"<&>  é","k":{"a":[1,2,{}]}}`
	m, err := decode([]byte(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"T","tool_use_id":"u","input":` + input + `}}`))
	if err != nil || string(m.request.can.Input) != input {
		t.Errorf("got %v, %s", err, m.request.can.Input)
	}
}

func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"x"},"tool_use_id":"u"}}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback","callback_id":"decide","input":{"hook_event_name":"PreToolUse"}}}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{}}}`,
		`{"type":"control_cancel_request","request_id":"r"}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"u","content":"\ud83d"}]},"tool_result_meta":[]}`,
		`{"type":"system","subtype":"init","session_id":"s"}`,
		`{"type":"result","subtype":"success"}`, "text", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := decode(bytes.Clone(line))
		if err == nil && !json.Valid(line) {
			t.Errorf("%q was taken, but is no JSON", line)
		}
		if err != nil {
			return
		}
		if r := m.request; r != nil && r.can != nil && r.Broken == "" && !bytes.Contains(line, r.can.Input) {
			t.Errorf("the input %q is not in the line %q", r.can.Input, line)
		}
	})
}

func FuzzMask(f *testing.F) {
	for _, seed := range []string{
		`{"a":"TOKEN=abcdef x","b":["https://u:p@h/"],"password":"x y","max_tokens":100}`,
		`{"k":"-----BEGIN PRIVATE KEY-----","b":"x-y"}`,
		`{"c":"curl -H \"Authorization: Bearer abcdefghijk\" --password 'a b'"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if !json.Valid(line) || !utf8.Valid(line) {
			return
		}
		if masked := maskSecrets(line); !json.Valid(masked) {
			t.Errorf("%q became %q", line, masked)
		}
	})
}

func TestMaskSecrets(t *testing.T) {
	for in, want := range map[string]string{
		`echo sk-ant-api03-abcdefghijk`:                               `echo REDACTED`,
		`git push https://me:hunter22@github.com/x`:                   `git push https://me:REDACTED@github.com/x`,
		`curl -H \"Authorization: Bearer abc.def-123456\" u`:          `curl -H \"Authorization: Bearer REDACTED\" u`,
		`mysql --password hunter2 db`:                                 `mysql --password REDACTED db`,
		`{"c":"curl -H \"Authorization: Bearer abc.def-123456\" u"}`:  `{"c":"curl -H \"Authorization: Bearer REDACTED\" u"}`,
		`{"c":"DB_PASSWORD='s3cret' make > out"}`:                     `{"c":"DB_PASSWORD='REDACTED' make > out"}`,
		`{"api_key":"abc def"}`:                                       `{"api_key":"REDACTED"}`,
		`{"input_tokens":100,"max_tokens":2}`:                         `{"input_tokens":100,"max_tokens":2}`,
		`{"c":"ls -la /home/dev/tokens/x | grep y > z; cat secrets"}`: `{"c":"ls -la /home/dev/tokens/x | grep y > z; cat secrets"}`,
		`see https://example.org/a:b@c`:                               `see https://example.org/a:b@c`,
	} {
		if got := string(maskSecrets([]byte(in))); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}
