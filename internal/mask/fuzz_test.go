package mask

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzText: the masked text consists of parts of the original, in order, and
// the count is 0 if nothing was masked. JSON stays valid.
func FuzzText(f *testing.F) {
	for _, row := range rows {
		f.Add(row)
	}
	f.Add("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nZg==\n-----END PRIVATE KEY-----")
	f.Add("PASSWORD=$'a\\'b' \"token=${X:-y}\" 'pw: \\\"z\\\"'")
	f.Fuzz(func(t *testing.T, text string) {
		for name, mask := range map[string]func(string) (string, int){"text": Text, "command": Command, "words": Words} {
			got, n := mask(text)
			if !isLeft(got, text) || n == 0 && got != text {
				t.Fatalf("%s: %d in %q, which became %q", name, n, text, got)
			}
		}
		if data, err := json.Marshal(map[string]string{"a": text}); err == nil && utf8.ValidString(text) {
			if got, _ := JSON(data, Command); !json.Valid(got) {
				t.Fatalf("%s became %s", data, got)
			}
		}
		if json.Valid([]byte(text)) && utf8.ValidString(text) {
			if got, _ := JSON([]byte(text), Command); !json.Valid(got) {
				t.Fatalf("%s became %s", text, got)
			}
		}
	})
}

// isLeft reports whether got is text with parts replaced by Mark.
func isLeft(got, text string) bool {
	for i, part := range strings.Split(got, Mark) {
		at := strings.Index(text, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}
