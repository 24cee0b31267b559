package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/recording"
)

// recordedServer is a server whose recordings and record are at known places.
func recordedServer(t *testing.T) (p *parties, o Options) {
	t.Helper()
	dir, state := workspace(t), t.TempDir()
	o = Options{Workspace: dir, Record: filepath.Join(state, "audit.jsonl"), Recordings: filepath.Join(state, "recordings")}
	o.Open = func(agent, role string, warn func(string)) (*engine.Engine, error) {
		return engine.Open(engine.Options{Dir: dir, Dirs: &engine.Dirs{State: state}, Isolated: true, Settings: terminalProfile(t, ""), NoAdvice: true, Record: o.Record, Warn: warn})
	}
	return meet(t, o), o
}

// events returns the data of the events of a code in a recording.
func events(t *testing.T, cast string, code recording.Code) (all []string) {
	t.Helper()
	r, err := recording.NewReader(strings.NewReader(cast))
	for err == nil {
		var e recording.Event
		if e, err = r.Next(); err == nil && e.Code == code {
			all = append(all, e.Data)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	return all
}

// recordingsOf lists the recordings of a session.
func (p *parties) recordingsOf(session string) (all []map[string]any) {
	p.t.Helper()
	id := strings.TrimPrefix(session, sessionsPath+"/")
	for _, r := range p.get("/api/recordings?session="+id, p.ann)["recordings"].([]any) {
		all = append(all, r.(map[string]any))
	}
	return all
}

// cast returns a recording.
func (p *parties) cast(of map[string]any) string {
	p.t.Helper()
	r := p.do("GET", "/api/recordings/"+of["id"].(string), p.ben, "")
	if r.status != 200 || r.header.Get("Content-Type") != "application/x-asciicast" {
		p.t.Fatalf("%d %v", r.status, r.header)
	}
	return r.body
}

// What a recording has as output is, byte for byte, what somebody got who watched:
// colours, characters that come in pieces, bytes that are no text, sequences that reach
// beyond the terminal, a megabyte of anything, and what a person typed who took over.
func TestRecordingIsWhatIsShown(t *testing.T) {
	p, _ := recordedServer(t)
	session := p.begin()
	v := p.watch(session, p.ann, "")
	run := func(command, end string) {
		c := p.execute(session, command)
		if c["status"] == "approval_required" {
			c = p.post(session+"/approve", p.ann, `{"approved":true,"approval_id":`+quote(c["approval_id"].(string))+`}`, 200)
		}
		v.until(end)
		p.finished(c)
	}
	run(`printf '\033[1;31mr\303\266t \342'; sleep 0.05; printf '\202\254\033['; sleep 0.05; printf '0m \360\237\230'; sleep 0.05; printf '\200 \377\376 \342\202x en''d1\n'`, "end1\r\n")
	run(`printf 'a\033]0;ti'; sleep 0.05; printf 'tle\007b\033]52;c;cm0=\007c\033[21td \302\235x\302\234 <b>&\342\200\250 en''d2\n'`, "end2\r\n")
	run("head -c 1000000 /dev/urandom; echo; printf '\\033\\\\en''d3\\n'", "end3\r\n")
	p.post(session+"/interrupt", p.ann, `{}`, 200)
	v.say(`{"type":"resize","cols":100,"rows":40}`)
	v.say(`{"type":"input","content":"echo ty''ped; stty size\n"}`)
	v.until("40 100\r\n")
	p.post(session+"/release", p.ann, `{"signal":true}`, 200)
	run(`printf 'half a character: \342\202'`, "character: ")
	if got := p.do("DELETE", session, p.ann, ""); got.status != 200 {
		t.Fatal(got.body)
	}
	v.read("terminal_closed")
	all := p.recordingsOf(session)
	if len(all) != 1 {
		t.Fatalf("%v", all)
	}
	same(t, all[0], "verified", "true", "agent_id", "bot", "session_id", strings.TrimPrefix(session, sessionsPath+"/"))
	cast := p.cast(all[0])
	if got := strings.Join(events(t, cast, recording.Output), ""); got != v.text || len(got) < 1000000 {
		i := 0
		for i < min(len(got), len(v.text)) && got[i] == v.text[i] {
			i++
		}
		t.Errorf("%d bytes, %d were shown; at %d: %.80q, shown %.80q", len(got), len(v.text), i, got[i:], v.text[i:])
	}
	if got := events(t, cast, recording.Resize); len(got) != 1 || got[0] != "100x40" {
		t.Errorf("%q", got)
	}
	if got := strings.Join(events(t, cast, recording.Marker), "\n"); !regexp.MustCompile(`(?s)asked \S+ \w+: printf [^\n]*\napproved \S+ by ann\n.*taken over by ann\nreleased by ann\n`).MatchString(got) {
		t.Error(got)
	}
	if strings.Contains(cast, `"i"`) {
		t.Error("what was typed is recorded")
	}
}

// A recording is what its note in the audit log says, or it is told that it is
// not.
func TestRecordingVerified(t *testing.T) {
	p, o := recordedServer(t)
	if got := p.get("/api/recordings", p.ann)["recordings"].([]any); len(got) != 0 {
		t.Errorf("%v", got)
	}
	var ids []string
	for range 3 {
		session := p.begin()
		p.finished(p.execute(session, "echo to''ken=hunter2hunter2"))
		open := p.recordingsOf(session)[0]
		same(t, open, "verified", "open", "sha256", nil, "end", nil)
		if cast := p.cast(open); !strings.Contains(cast, "allowed safe: echo") {
			t.Error(cast)
		}
		p.do("DELETE", session, p.ann, "")
		ids = append(ids, p.recordingsOf(session)[0]["id"].(string))
	}
	file := func(i int) string { return filepath.Join(o.Recordings, ids[i]+".cast") }
	text, err := os.ReadFile(file(1))
	if err == nil {
		err = os.Chmod(file(1), 0o600)
	}
	if err == nil {
		err = os.WriteFile(file(1), []byte(strings.Replace(string(text), "allowed", "forged ", 1)), 0o600)
	}
	if err == nil { // one that the record does not have
		err = os.WriteFile(filepath.Join(o.Recordings, "session-x.1500000000000.cast"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := p.get("/api/recordings", p.ann)["recordings"].([]any)
	for i, want := range []string{"true", "false", "true", "unknown"} {
		same(t, all[i].(map[string]any), "verified", want)
	}
	last := all[0].(map[string]any)
	lines := p.get(fmt.Sprintf("/api/audit?kind=note&session=%s&after=%.0f", last["session_id"], last["seq"].(float64)-1), p.ann)["lines"].([]any)
	same(t, lines[0].(map[string]any), "note", "recording", "reason", fmt.Sprintf("%s.cast sha256:%s %.0f bytes", last["id"], last["sha256"], last["bytes"]))
	if rest := p.get("/api/recordings?limit=1&after="+ids[1], p.ann)["recordings"].([]any); len(rest) != 1 || rest[0].(map[string]any)["id"] != ids[0] {
		t.Errorf("%v", rest)
	}
	if r := p.do("GET", "/api/recordings/"+ids[2]+"?as=text", p.ann, ""); r.status != 200 || r.body != "$ echo to''ken=hunter2hunter2\ntoken=REDACTED\n" || !strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") {
		t.Errorf("%d %q", r.status, r.body)
	}
	p.want(p.do("GET", "/api/recordings/"+ids[2]+"?as=html", p.ann, ""), 400, "bad_request")
	p.want(p.do("GET", "/api/recordings/..%2Faudit", p.ann, ""), 404, "not_found")
	p.want(p.do("GET", "/api/recordings?limit=101", p.ann, ""), 400, "bad_request")
	p.want(p.do("GET", "/api/recordings/"+ids[2], p.agent, ""), 403, "insufficient_permissions")
}

// What is typed is recorded if that is wanted, but nothing that is said to be a password.
func TestRecordingOfPasswords(t *testing.T) {
	p := meet(t, Options{RecordInput: true})
	session := p.begin()
	c := p.execute(session, "echo rea''dy; read a; read b; echo do''ne")
	v := p.watch(session, p.ann, "")
	v.until("ready")
	v.say(`{"type":"workflow_control","action":"pause"}`)
	v.read("workflow_control_ack")
	v.say(`{"type":"input","content":"open\n"}`)
	v.say(`{"type":"terminal_stdin","content":"secret\n","is_password":true}`)
	v.until("done\r\n")
	p.finished(c)
	p.do("DELETE", session, p.ann, "")
	if got := events(t, p.cast(p.recordingsOf(session)[0]), recording.Input); len(got) != 1 || got[0] != "open\n" {
		t.Errorf("%q", got)
	}
}

// Recordings are listed also when the audit log was cut or replaced: their hashes
// are those that it has now.
func TestRecordingsOfAnotherRecord(t *testing.T) {
	p, o := recordedServer(t)
	session := p.begin()
	p.finished(p.execute(session, "echo one"))
	p.do("DELETE", session, p.ann, "")
	same(t, p.recordingsOf(session)[0], "verified", "true")
	text, err := os.ReadFile(o.Record)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		change func() error
		want   string
	}{
		{func() error { return os.Truncate(o.Record, 0) }, "unknown"},
		{func() error { return os.WriteFile(o.Record, text, 0o600) }, "true"},
		{func() error {
			return errors.Join(os.Rename(o.Record, o.Record+".1"), os.WriteFile(o.Record, nil, 0o600))
		}, "unknown"},
		{func() error { return os.Rename(o.Record+".1", o.Record) }, "true"},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		same(t, p.recordingsOf(session)[0], "verified", step.want)
	}
}
