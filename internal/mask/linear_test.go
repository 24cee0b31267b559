package mask

import (
	"strings"
	"testing"
)

// BenchmarkHostile: texts that look like the beginning of a secret throughout
// take linear time.
func BenchmarkHostile(b *testing.B) {
	parts := []string{
		"password=", "a://", "a://b:c/", "-----BEGIN PRIVATE KEY-----\n", "mysql ", "curl/", "curl -u ", "'", `"`, `\"`, "token='",
		`token="`, `token=\"`, `"token":"`, "<token>", "sk-", "eyJ.", "$(", "cookie: a=", "password=./", "password ", "bearer ", "token=$'",
	}
	for _, part := range parts {
		for _, size := range []int{64 << 10, 1 << 20} {
			text := strings.Repeat(part, size/len(part))
			b.Run(strings.TrimSpace(part)+"/"+map[bool]string{true: "64K", false: "1M"}[size < 1<<20], func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					Text(text)
					Command(text)
					Words(text)
				}
			})
		}
	}
}

func BenchmarkCommand(b *testing.B) {
	for name, line := range map[string]string{
		"plain":  "go test ./... 2>&1 | grep -E 'ok|FAIL' | head -20",
		"secret": `curl -H "Authorization: Bearer abcdefgh12345678" https://example.com/x`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Command(line)
			}
		})
	}
}
