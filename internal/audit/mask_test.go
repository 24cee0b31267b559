package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"pgregory.net/rapid"
)

// bare are simple commands with an unquoted secret, ¤.
var bare = []string{
	"DB_PASSWORD=¤ ./run /srv/data", "export API_KEY=¤", "env GITHUB_TOKEN=¤ gh pr list", "PGPASSWORD=¤ psql -h db.example.com",
	"tool --password=¤ --host=db.example.com", "tool --api-key ¤ /srv/x", "tool --auth-token ¤ -v", "mysql -u root -p¤ shop",
	"sshpass -p ¤ ssh me@host.example.com ls /srv", "docker login -u me -p ¤ registry.example.com", "curl -u me:¤ https://example.com/x",
	"curl --user me:¤ https://example.com/x", "redis-cli -h cache.example.com -a ¤ ping", "openssl rsa -in /srv/k.pem -passin pass:¤",
	"zip -P ¤ out.zip src/a", "kubectl create secret generic db --from-literal=pin=¤", "aws configure set aws_secret_access_key ¤",
	"git clone https://me:¤@git.example.com/a/b.git /srv/b", "curl https://example.com/x?access_token=¤", "gpg --passphrase ¤ -d /srv/x.gpg",
}

// quotedPlaces are simple commands with a secret in single or double quotes.
var quotedPlaces = []string{
	"DB_PASSWORD=Q¤Q ./run /srv/data", "export API_KEY=Q¤Q", "tool --password=Q¤Q -v", "tool --token Q¤Q /srv/x", "mysql -pQ¤Q shop",
	"sshpass -p Q¤Q ssh me@host.example.com", "docker login -u me -p Q¤Q registry.example.com", "redis-cli -a Q¤Q ping", "zip -P Q¤Q out.zip src/a",
}

// headers are simple commands with a secret within a longer quoted word.
var headers = []string{
	`curl -H "Authorization: Bearer ¤" https://api.example.com/v1`, `curl -H 'X-Api-Key: ¤' https://api.example.com/v1 -o /srv/out`,
	`curl -d '{"user":"me","password":"¤"}' https://example.com/login`, `psql "postgres://me:¤@db.example.com:5432/shop?sslmode=require"`,
	`curl "https://example.com/x?page=2&key=¤&n=1"`, `curl -H "Cookie: sid=¤" https://example.com/x`, `echo "token=¤" >> /srv/env`,
}

// others are simple commands without a secret.
var others = []string{
	"ls -la /etc/passwd", "cat ~/.ssh/config", "git push origin main", "rsync -a /srv/a host.example.com:/srv/b", "wget https://files.example.com/x.tgz",
	"echo done", "find . -name '*.go'", "test -f /srv/x", "(cd /srv && make)", "x=$(date)",
}

var operators = []string{" && ", " || ", "; ", " | ", " & ", "\n", " > /srv/out.txt; ", " 2>&1 | "}

// plantedLine draws a command line with one secret, and its masked form.
func plantedLine(t *rapid.T) (line, want, secret string) {
	var place string
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		place = rapid.SampledFrom(bare).Draw(t, "place")
		secret = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9+=_%@!-]{10,40}[A-Z][0-9]`).Draw(t, "secret")
	case 1:
		place = strings.ReplaceAll(rapid.SampledFrom(quotedPlaces).Draw(t, "place"), "Q", "'")
		secret = rapid.StringMatching(`[A-Za-z0-9][ -&(-~]{8,40}[A-Z][0-9]`).Draw(t, "secret")
	default:
		place = rapid.SampledFrom(headers).Draw(t, "place")
		secret = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9+_-]{10,40}[A-Z][0-9]`).Draw(t, "secret")
	}
	if strings.Contains(place, "://") || strings.Contains(place, " -u me:") { // a URL and a user name end at some characters
		secret = strings.NewReplacer("@", "a", "#", "b", "%", "c").Replace(secret)
	}
	line, want = place, place
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		other, op := rapid.SampledFrom(others).Draw(t, "other"), rapid.SampledFrom(operators).Draw(t, "operator")
		if rapid.Bool().Draw(t, "before") {
			line = other + op + line
		} else {
			line += op + other
		}
	}
	want = strings.Replace(line, "¤", mask.Mark, 1)
	return strings.Replace(line, "¤", secret, 1), want, secret
}

// TestPlanted: only the secret of a line is masked, no operator, path or host,
// and package shell reads the same in the masked line.
func TestPlanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line, want, secret := plantedLine(t)
		got, n, _ := maskLine(line, shell.Bash)
		if got != want || n != 1 {
			t.Fatalf("%d in %q\n got %q\nwant %q", n, line, got, want)
		}
		if a, b := skeleton(line), skeleton(got); a != b {
			t.Fatalf("%q\n was %s\n now %s", line, a, b)
		}
		if text, _ := mask.Text(line); strings.Contains(text, secret) {
			t.Fatalf("as text: %q", text)
		}
		if words, _ := mask.Words(line); !strings.ContainsAny(secret, " !\"#$%&()*;<>?@[\\]^`{|}~=") && strings.Contains(words, secret) {
			t.Fatalf("as words: %q", words)
		}
		e := decision(asRead(permission.Record{Use: permission.ToolUse{Tool: "Bash", Input: bashInput(line), Dir: "/w"}}))
		if text, _ := e.line(); strings.Contains(string(text), secret) || strings.Contains(string(text), jsonText(secret)) {
			t.Fatalf("the record has it: %s", text)
		}
	})
}

func bashInput(line string) json.RawMessage {
	text, _ := json.Marshal(map[string]string{"command": line})
	return text
}

func jsonText(s string) string { return strings.Trim(string(asText(s)), `"`) }

// skeleton returns what package shell reads in a line without the text of
// arguments: programs, paths and hosts.
func skeleton(line string) string {
	var out strings.Builder
	facts := shell.Analyze(line, shell.Options{Dir: "/w"})
	fmt.Fprintln(&out, facts.Failed)
	for i := range facts.Actions {
		a := &facts.Actions[i]
		fmt.Fprint(&out, a.Kind, len(a.Words), len(a.Assigns), a.Parent, a.Redirect, a.May, " ")
		switch a.Kind {
		case shell.Command:
			if len(a.Words) > 0 {
				fmt.Fprintln(&out, a.Words[0].Filled("…"))
			}
		case shell.Fetch:
			u, err := url.Parse(a.Path.Filled("…"))
			if err == nil {
				fmt.Fprintln(&out, u.Host)
			}
		default:
			if a.Parent < 0 || facts.Actions[a.Parent].Program != nil { // otherwise any word may be a path
				fmt.Fprintln(&out, a.Path.Filled("…"))
			}
		}
	}
	return out.String()
}

// FuzzMaskLine: masking does not change what a line would do, unless the secret
// itself is run, read or written; then the actions name it.
func FuzzMaskLine(f *testing.F) {
	for _, list := range [][]string{bare, quotedPlaces, headers, others} {
		for _, line := range list {
			f.Add(strings.NewReplacer("¤", "hunter2Z9", "Q", `"`).Replace(line))
		}
	}
	f.Add("echo 'password='; ls /srv; echo ''")
	f.Add("cat <<E\nit's\nE\necho 'password='; ls -l; echo ''")
	f.Add(`token="$(ls /srv)"x; alias pass=ls; pass /x`)
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 2000 || !utf8.ValidString(line) {
			return
		}
		masked, n, _ := maskLine(line, shell.Bash)
		if n == 0 && masked != line {
			t.Fatalf("%q became %q, and nothing is said to be masked", line, masked)
		}
		use := permission.ToolUse{Tool: "Bash", Input: bashInput(line), Dir: "/w"}
		e := decision(asRead(permission.Record{Use: use}))
		facts := shell.Analyze(line, shell.Options{Dir: "/w"})
		if len(e.Actions)+e.More != len(facts.Actions) {
			t.Fatalf("%q has %d actions, and the record has %d", line, len(facts.Actions), len(e.Actions)+e.More)
		}
		for i, name := range e.Actions {
			a := &facts.Actions[i]
			if a.Kind == shell.Command && len(a.Words) > 0 {
				program, _ := mask.Text("run " + quoted(a.Words[0].Filled("…")))
				if !strings.HasPrefix(name, program[:min(len(program), 100)]) {
					t.Fatalf("%q: action %d is %q, and runs %q", line, i, name, program)
				}
			}
		}
		if line, err := e.line(); err != nil || !json.Valid(line) {
			t.Fatalf("%s %v", line, err)
		}
	})
}

// TestMaskedRecord: every text of a record is masked, and the digest is that of
// the masked text, so different secrets have the same digest.
func TestMaskedRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	for _, secret := range []string{"hunter2Z9abcdef", "correcthorse77Z"} {
		r := record(`{"command":"API_TOKEN=`+secret+` ./run > /srv/x"}`, `{"command":"API_TOKEN=`+secret+` ./other"}`)
		r.Result.Reason, r.Result.Message = "denied: password="+secret, "token: "+secret
		r.Result.Rule = "Bash(x --token " + secret + ")"
		if err := l.Record(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	lines := logLines(t, path)
	for _, line := range lines[1:] {
		if strings.Contains(line, "hunter2") || strings.Contains(line, "horse") {
			t.Error(line)
		}
		contains(t, line, `{"masked":5,"input":{"command":"API_TOKEN=REDACTED ./run > /srv/x"}}`)
	}
	var a, b Entry
	json.Unmarshal([]byte(lines[1]), &a)
	json.Unmarshal([]byte(lines[2]), &b)
	if a.Digest != b.Digest || a.Digest == "" {
		t.Errorf("%s and %s: a guess at the secret could be tested", a.Digest, b.Digest)
	}
}

// TestLong: the beginning of a long input or text is kept, and the digest is
// that of the whole.
func TestLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	for _, end := range []string{"a", "b"} {
		r := record(`{"content":"`+strings.Repeat("é", maxInput)+end+`"}`, "")
		r.Result.Reason = strings.Repeat("é", maxText)
		if err := l.Record(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	lines := logLines(t, path)
	var a, b Entry
	for i, e := range []*Entry{&a, &b} {
		if err := json.Unmarshal([]byte(lines[i+1]), e); err != nil || len(lines[i+1]) > 20_000 {
			t.Error(err, len(lines[i+1]))
		}
	}
	if a.Cut != 2*maxInput+15 || a.Digest == b.Digest || string(a.Input) != string(b.Input) || !strings.HasSuffix(a.Reason, "…") {
		t.Errorf("%d %.100s %.100s", a.Cut, a.Input, a.Digest)
	}
}

// TestNamedDeed checks that text in the place of a secret is named by the
// actions if it is itself run, read or written, and that a quote that only
// seems to open a value hides no command.
func TestNamedDeed(t *testing.T) {
	for line, want := range map[string]string{
		"TOKEN=etc/x9; cat $TOKEN":                                  "read /w/etc/x9",
		"alias pass=lsof; PASSWORD=wc; $PASSWORD -l a":              "run wc -l a",
		"cat <<E\nit's\nE\necho 'password='; touch /srv/a; echo ''": "write /srv/a",
		"mysql -psecretZ9 shop > /srv/dump":                         "write /srv/dump",
	} {
		e := decision(asRead(permission.Record{Use: permission.ToolUse{Tool: "Bash", Input: bashInput(line), Dir: "/w"}}))
		if !slices.Contains(e.Actions, want) {
			t.Errorf("%q: %q, want %q", line, e.Actions, want)
		}
	}
}

// TestLineIsPlain checks that characters that a terminal would interpret, hide
// or reorder are escaped in a line of the record, and decode unchanged.
func TestLineIsPlain(t *testing.T) {
	odd := "a\u009b2J\u007f\u202e\u200b\u2028\ufeff\U000e0041é日\u0301"
	input, err := json.Marshal(map[string]string{"command": "echo '" + odd + "'", odd: "x"})
	if err != nil {
		t.Fatal(err)
	}
	r := permission.Record{Use: permission.ToolUse{Tool: "Bash" + odd, Input: input, Dir: "/" + odd, Session: odd, ID: odd}}
	r.Result.Reason, r.Result.UpdatedInput = odd, input
	e := decision(r)
	line, err := e.line()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range string(line[:len(line)-1]) {
		if !unicode.IsPrint(c) {
			t.Errorf("%U stands in %s", c, line)
		}
	}
	if !strings.Contains(string(line), "é日\u0301") {
		t.Errorf("letters are escaped: %s", line)
	}
	back, err := readEntry(line)
	if err != nil || back.Reason != odd || back.Session != odd || inputText("Bash", back.Input) != "echo '"+odd+"'" {
		t.Errorf("%v: %+v", err, back)
	}
	if sum := sha256.Sum256(back.Input); back.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Error("the digest is not that of the input as it stands there")
	}
	var table strings.Builder
	c, err := NewCSV(&table)
	if err == nil {
		err = errors.Join(c.Write(back), c.Flush())
	}
	for _, c := range table.String() {
		if !unicode.IsPrint(c) && c != '\n' && c != '\t' {
			t.Errorf("%U stands in the table, %v", c, err)
		}
	}
}

// Names are chosen by the agent too: a long one is truncated, and a token in
// one is hidden.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	r := permission.Record{Use: permission.ToolUse{Tool: long, ID: long, Session: long, Agent: long}}
	e := decision(r)
	line, err := e.line()
	if err != nil || len(line) > 64<<10 || e.Cut != len(long) || !strings.HasPrefix(e.Use, "xxx") {
		t.Errorf("%d bytes, cut %d, %v", len(line), e.Cut, err)
	}
	r.Use.Tool = "mcp__ghp_" + strings.Repeat("a1B2", 9) + "__x"
	if e = decision(r); strings.Contains(e.Tool, "a1B2") {
		t.Errorf("the tool is %s", e.Tool)
	}
	path := filepath.Join(t.TempDir(), "a.jsonl")
	l := open(t, path)
	r.Use.ID, r.Result.UpdatedInput = long, []byte("{}")
	if err := l.Record(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := l.Outcome(Outcome{Session: long, Use: long, Tool: long}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 256<<10 {
		t.Errorf("the record has %d bytes, %v", info.Size(), err)
	}
	if lines := logLines(t, path); !strings.Contains(lines[2], `"of":2`) {
		t.Errorf("the outcome does not name its decision: %.200s", lines[2])
	}
}
