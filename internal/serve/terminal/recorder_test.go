package terminal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/recording"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// recorded has the sessions recorded.
func recorded(t *testing.T) func(*Options) {
	dir := filepath.Join(t.TempDir(), "new")
	return func(o *Options) { o.Recordings = dir }
}

// cast returns the only recording of a session: its file, and its events of a code.
func (b *bench) cast(id string, code recording.Code) (path string, all []string) {
	b.t.Helper()
	list, err := b.Recordings(id)
	if err != nil || len(list) != 1 {
		b.t.Fatalf("%d recordings, %v", len(list), err)
	}
	path = b.path(list[0].ID)
	return path, castOf(b.t, path, code)
}

func castOf(t *testing.T, path string, code recording.Code) (all []string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := recording.NewReader(file)
	for err == nil {
		var e recording.Event
		if e, err = r.Next(); err == nil && e.Code == code {
			all = append(all, e.Data)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("%s: %v", path, err)
	}
	return all
}

// noted returns the notes about recordings.
func (b *bench) noted() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.notes {
		if strings.HasPrefix(n, "recording") {
			all = append(all, n)
		}
	}
	return all
}

// matches compares labels with patterns.
func matches(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i, pattern := range want {
		if i >= len(got) || !regexp.MustCompile("^(?:"+pattern+")$").MatchString(got[i]) {
			t.Errorf("%d: want %s of %q", i, pattern, got)
			return
		}
	}
	if len(got) > len(want) {
		t.Errorf("and %q", got[len(want):])
	}
}

// A recording has a label at each decision, with who answered, and at each handover; its
// hash is noted, and it is not written any more.
func TestRecordingMarks(t *testing.T) {
	b := newBench(t, recorded(t))
	id := b.begin()
	ctx := t.Context()
	b.store.ends(t, b.execute(id, "echo allo''wed").CommandID, store.CommandCompleted)
	b.execute(id, ": deny")
	yes := b.execute(id, ": ask; echo\tye\u202es")
	e := answerOf(approval.Approve)
	e.ID = yes.ApprovalID
	if _, err := b.Approve(ctx, id, e, nil); err != nil {
		t.Fatal(err)
	}
	b.store.ends(t, yes.CommandID, store.CommandCompleted)
	no := b.execute(id, ": ask no")
	e = answerOf(approval.Deny)
	e.ID, e.Message = no.ApprovalID, "not\nnow"
	if _, err := b.Approve(ctx, id, e, nil); err != nil {
		t.Fatal(err)
	}
	waits := b.execute(id, ": ask and wait")
	if _, err := b.Interrupt(ctx, id, "anna", false); err != nil {
		t.Fatal(err)
	}
	if err := b.Resize(id, "anna", 100, 40); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Release(ctx, id, "anna", true); err != nil {
		t.Fatal(err)
	}
	if all, err := b.Recordings(id); err != nil || len(all) != 1 || !all[0].Open || len(b.noted()) != 0 {
		t.Errorf("%+v, %v; %q", all, err, b.noted())
	}
	if err := b.CloseSession(ctx, id, "by anna"); err != nil {
		t.Fatal(err)
	}
	path, marks := b.cast(id, recording.Marker)
	matches(t, marks,
		"allowed safe: echo allo''wed",
		"forbidden: : deny",
		"asked "+yes.ApprovalID+" high: : ask; echo⇥   ye<U\\+202E>s", "approved "+yes.ApprovalID+" by anna",
		"asked "+no.ApprovalID+" high: : ask no", "denied "+no.ApprovalID+" by anna: not<U\\+000A>now",
		"asked "+waits.ApprovalID+" high: : ask and wait", "taken over by anna", "withdrawn "+waits.ApprovalID,
		"released by anna", "closed: by anna",
	)
	matches(t, castOf(t, path, recording.Resize), "100x40")
	matches(t, castOf(t, path, recording.Exit), "0")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(path)
	matches(t, b.noted(), fmt.Sprintf("recording: %s sha256:%x %d bytes", name, sha256.Sum256(data), len(data)))
	if got, sum := RecordedSum(strings.SplitN(b.noted()[0], ": ", 2)[0], strings.SplitN(b.noted()[0], ": ", 2)[1]); got+".cast" != name || sum != fmt.Sprintf("%x", sha256.Sum256(data)) {
		t.Errorf("%s %s", got, sum)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if all, err := b.Recordings(""); err != nil || all[0].Open || all[0].Session != id || all[0].Bytes != int64(len(data)) {
		t.Errorf("%+v, %v", all, err)
	}
}

// A session that outlasts a server has a recording for each. That of a server that was
// killed is noted as it was found.
func TestRecordingParts(t *testing.T) {
	b := newBench(t, recorded(t))
	id := b.begin()
	first := b.execute(id, "echo one")
	b.store.ends(t, first.CommandID, store.CommandCompleted)
	b.Close()
	matches(t, b.noted(), "recording: "+id+`\.[0-9]+\.cast sha256:[0-9a-f]{64} [0-9]+ bytes`)
	one, _ := b.Recordings(id)
	matches(t, castOf(t, b.path(one[0].ID), recording.Marker), "allowed safe: echo one", "the server was stopped")
	matches(t, castOf(t, b.path(one[0].ID), recording.Exit))

	killed := filepath.Join(b.options.Recordings, id+".1500000000000.cast")
	text := "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n[0.1,\"o\",\"x\"]\n[0.1,\"o\",\"cu"
	if err := os.WriteFile(killed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(b.options.Recordings, "notes.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(other, time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	b.open()
	if got := b.noted(); len(got) != 2 || !strings.Contains(got[1], fmt.Sprintf("sha256:%x %d bytes, and not to its end: the server was killed", sha256.Sum256([]byte(text)), len(text))) {
		t.Errorf("%q", got)
	}
	second := b.execute(id, "echo two")
	b.store.ends(t, second.CommandID, store.CommandCompleted)
	all, err := b.Recordings(id)
	if err != nil || len(all) != 3 || !all[0].Open || all[1].Open || all[2].ID != id+".1500000000000" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if _, err := b.OpenRecording("../" + id); kindOf(err) != NotFound {
		t.Error(err)
	}
}

// Nothing that is typed is recorded unless that is wanted, and then nothing that the
// terminal does not show, or that is said to be secret.
func TestRecordingInput(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		b := newBench(t, recorded(t), func(o *Options) { o.RecordInput = wanted })
		id := b.begin()
		c := b.execute(id, "echo rea''dy; read a; read -s b; echo si''lent; stty -echo; read c; stty echo; read d; echo $((a+b+c+d))")
		b.shows(id, "ready\r\n")
		if _, err := b.Interrupt(t.Context(), id, "anna", false); err != nil {
			t.Fatal(err)
		}
		say := func(text string, secret bool) {
			if err := b.Input(t.Context(), id, "anna", []byte(text), secret); err != nil {
				t.Fatal(err)
			}
		}
		say("1", false)
		say("1\n", true)
		b.echo(id, false)
		say("200\n", false)
		b.shows(id, "silent\r\n")
		b.echo(id, false)
		say("3000\n", false)
		b.echo(id, true)
		say("40000\n", false)
		b.store.ends(t, c.CommandID, store.CommandCompleted)
		b.shows(id, "43211\r\n")
		if err := b.CloseSession(t.Context(), id, "done"); err != nil {
			t.Fatal(err)
		}
		path, typed := b.cast(id, recording.Input)
		if !wanted {
			matches(t, typed)
		} else {
			matches(t, typed, "1", "40000\n")
		}
		if text := strings.Join(castOf(t, path, recording.Output), ""); strings.Contains(text, "\n200\r\n") || strings.Contains(text, "\n3000\r\n") {
			t.Errorf("%q", text)
		}
	}
}

// echo waits until the terminal of a command shows what is typed, or does not.
func (b *bench) echo(id string, want bool) {
	b.t.Helper()
	s, err := b.session(id)
	if err != nil {
		b.t.Fatal(err)
	}
	s.mu.Lock()
	c := s.at
	s.mu.Unlock()
	for late := time.After(20 * time.Second); echoes(c.console.master) != want; {
		select {
		case <-late:
			b.t.Fatalf("echo is never %v", want)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestRecorderWaits: output that is not written is bounded, and the program waits.
func TestRecorderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Manager{options: Options{Recordings: t.TempDir()}.withDefaults()}
		r := m.newRecorder(store.Session{ID: "session-1"})
		r.id = "stuck" // nobody writes
		r.output(make([]byte, recordBehind-1))
		r.wait()
		r.output([]byte("x"))
		goes := false
		go func() {
			r.wait()
			goes = true
		}()
		synctest.Wait()
		if goes {
			t.Error("it does not wait")
		}
		r.mu.Lock()
		r.queue, r.size = nil, 0
		r.wake.Broadcast()
		r.mu.Unlock()
		synctest.Wait()
		if !goes {
			t.Error("it waits on")
		}
	})
}

// A recording that is full says so, and still has what was decided.
func TestRecordingFull(t *testing.T) {
	b := newBench(t, recorded(t))
	id := b.begin()
	s, err := b.session(id)
	if err != nil {
		t.Fatal(err)
	}
	s.recorder.most = 1 << 20
	c := b.execute(id, "head -c 2000000 /dev/zero | tr '\\0' x")
	b.store.ends(t, c.CommandID, store.CommandCompleted)
	b.store.ends(t, b.execute(id, "echo after").CommandID, store.CommandCompleted)
	if err := b.CloseSession(t.Context(), id, "done"); err != nil {
		t.Fatal(err)
	}
	path, marks := b.cast(id, recording.Marker)
	matches(t, marks, "allowed safe: head.*", `the recording is full \(1 MiB\): no more output is recorded`, "allowed safe: echo after", "closed: done", "[0-9]+ bytes of output are not recorded")
	text, lost := strings.Join(castOf(t, path, recording.Output), ""), 0
	fmt.Sscan(marks[len(marks)-1], &lost)
	whole := len("$ head -c 2000000 /dev/zero | tr '\\0' x\r\n") + 2000000 + len("$ echo after\r\nafter\r\n")
	if info, err := os.Stat(path); err != nil || info.Size() > 1<<20+1000 || len(text)+lost != whole {
		t.Errorf("%d bytes, %d and %d of %d; %v", info.Size(), len(text), lost, whole, err)
	}
}

// What cannot be recorded is told, once; the session goes on, and nobody waits.
func TestRecordingFails(t *testing.T) {
	b := newBench(t, recorded(t))
	id := b.begin()
	if err := os.RemoveAll(b.options.Recordings); err != nil {
		t.Fatal(err)
	}
	c := b.execute(id, "head -c 1000000 /dev/zero")
	b.store.ends(t, c.CommandID, store.CommandCompleted)
	if err := b.CloseSession(t.Context(), id, "done"); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if all := strings.Join(b.said, "\n"); strings.Count(all, "is not recorded any more") != 1 || len(b.notes) != 0 {
		t.Errorf("%s; %q", all, b.notes)
	}
}

// The oldest recordings go when there is too much of them, and those that are old.
func TestRecordingsGo(t *testing.T) {
	b := newBench(t, recorded(t))
	for i, age := range []time.Duration{time.Minute, time.Hour, 2 * time.Hour, recordingsLast + time.Hour} {
		at := time.Now().Add(-age)
		path := b.path(fmt.Sprintf("session-%d.%d", i, at.UnixMilli()))
		if err := os.WriteFile(path, make([]byte, 900), 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	live := b.begin()
	b.store.ends(t, b.execute(live, "echo kept").CommandID, store.CommandCompleted)
	path := b.path("session-left.1500000000000") // its hash is not noted
	if err := os.WriteFile(path, make([]byte, 600), 0o600); err != nil {
		t.Fatal(err)
	}
	b.recordingsMost = 2500
	b.trimRecordings()
	var left []string
	all, err := b.Recordings("")
	for _, r := range all {
		left = append(left, r.Session)
	}
	if d := cmp.Diff([]string{live, "session-0", "session-1", "session-left"}, left); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	matches(t, b.noted(),
		`recording deleted: session-2\.[0-9]+\.cast 900 bytes: beyond 0 MiB of recordings`,
		`recording deleted: session-3\.[0-9]+\.cast 900 bytes: older than 30 days`)
}

// TestTranscript: the text of a recording is without escape sequences and secrets.
func TestTranscript(t *testing.T) {
	var in, out bytes.Buffer
	w, err := recording.NewWriter(&in, recording.Header{Term: recording.Term{Columns: 80, Rows: 24}})
	line := strings.Repeat("x", 99) + "\r\n"
	for _, text := range append([]string{"\x1b[32mgr", "een\x1b[0", "m\r\ntoken=hunter2hunter2\r\n"}, strings.Repeat(line, 3000)) {
		if err == nil {
			err = w.Write(recording.Event{Code: recording.Output, Data: text})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	whole := in.String()
	if err := Transcript(&out, &in); err != nil || out.String() != "green\ntoken=REDACTED\n"+strings.ReplaceAll(strings.Repeat(line, 3000), "\r", "") {
		t.Errorf("%.100q, %v", out.String(), err)
	}
	out.Reset()
	if err := Transcript(&out, strings.NewReader(whole[:len(whole)-5])); !errors.Is(err, io.ErrUnexpectedEOF) || out.String() != "green\ntoken=REDACTED\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
