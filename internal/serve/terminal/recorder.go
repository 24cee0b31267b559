package terminal

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/calm"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/recording"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

const (
	// recordedMost is the size of a recording from which no output is added, and
	// recordedMore what markers may add to it.
	recordedMost = 64 << 20
	recordedMore = 1 << 20
	// recordBehind is how much output may wait to be written. Then programs wait.
	recordBehind = 256 << 10
	// escaped is how long a byte can become in a recording (\u0000).
	escaped = 6
)

// recorder writes the recording of a session, from when the server has it, by a goroutine
// of its own. What it records is what viewers get. A nil recorder records nothing.
type recorder struct {
	*Manager
	rec  store.Session
	most int64

	mu    sync.Mutex
	wake  *sync.Cond // the queue has changed
	queue []moment
	size  int    // of the data in it
	id    string // "" before there is anything, and at the end
	over  bool   // nothing will follow
	done  chan struct{}
}

// moment is something to be recorded.
type moment struct {
	at   time.Time
	code recording.Code
	data []byte
}

// newRecorder returns the recorder of a session. Its file is made when there is something
// to record.
func (m *Manager) newRecorder(rec store.Session) *recorder {
	if m.options.Recordings == "" {
		return nil
	}
	r := &recorder{Manager: m, rec: rec, most: recordedMost, done: make(chan struct{})}
	r.wake = sync.NewCond(&r.mu)
	return r
}

// output records what is shown. It does not wait.
func (r *recorder) output(p []byte) { r.add(recording.Output, p) }

// mark records a label, in one line.
func (r *recorder) mark(label string) {
	r.add(recording.Marker, []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(label)))
}

// typed records what a person types.
func (r *recorder) typed(p []byte) { r.add(recording.Input, p) }

// resize records the size of the terminal.
func (r *recorder) resize(to size) {
	to = to.orUsual()
	r.add(recording.Resize, []byte(recording.Size(int(to.columns), int(to.rows))))
}

func (r *recorder) add(code recording.Code, data []byte) {
	if r == nil || len(data) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	now := time.Now()
	if r.id == "" {
		r.id = r.rec.ID + "." + strconv.FormatInt(now.UnixMilli(), 10)
		go r.run(now)
	}
	r.queue = append(r.queue, moment{now, code, slices.Clone(data)})
	r.size += len(data)
	r.wake.Broadcast()
}

// wait waits as long as too much is not written yet.
func (r *recorder) wait() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.size >= recordBehind && !r.over {
		r.wake.Wait()
	}
}

// close records why the session is over, with an exit code if it was closed, and waits
// until all is written and the hash is noted.
func (r *recorder) close(why, exit string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	begun := r.id != ""
	r.mu.Unlock()
	if begun {
		r.mark(inShort(visible.Line(why)))
		r.add(recording.Exit, []byte(exit))
	}
	r.mu.Lock()
	r.over = true
	r.wake.Broadcast()
	r.mu.Unlock()
	if !begun {
		return
	}
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id = ""
}

// now returns the id of the recording, "" if none goes on.
func (r *recorder) now() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// run writes the recording.
func (r *recorder) run(began time.Time) {
	defer close(r.done)
	t := &tape{began: began, most: r.most}
	r.warn(r.unrecorded(t.open(r.path(r.id), r.rec)))
	for over := false; !over; {
		var moments []moment
		r.mu.Lock()
		for len(r.queue) == 0 && !r.over {
			r.wake.Wait()
		}
		moments, over = r.queue, r.over
		r.mu.Unlock()
		r.warn(r.unrecorded(t.play(moments)))
		r.mu.Lock()
		r.queue = slices.Clone(r.queue[len(moments):])
		r.size = 0
		for _, m := range r.queue {
			r.size += len(m.data)
		}
		over = over && len(r.queue) == 0
		r.wake.Broadcast()
		r.mu.Unlock()
	}
	r.warn(r.unrecorded(t.close()))
	if t.file != nil {
		r.noteRecording(r.id, t.sum.Sum(nil), t.size, t.failed)
		r.trimRecordings()
	}
}

func (r *recorder) unrecorded(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("session %s is not recorded any more: %w", r.rec.ID, err)
}

// tape is the file of a recording.
type tape struct {
	began  time.Time
	most   int64
	file   *os.File
	buf    *bufio.Writer
	out    *recording.Writer
	calm   calm.Filter
	last   time.Time
	sum    hash.Hash // of what was written
	size   int64
	lost   int64 // bytes of output that are not recorded
	full   bool
	failed error // of the first write that failed; nothing is written after it
}

// open makes the file.
func (t *tape) open(path string, rec store.Session) error {
	t.sum = sha256.New()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, recordingOpen)
	if err != nil {
		t.failed = err
		return err
	}
	t.file, t.buf = file, bufio.NewWriterSize(file, 64<<10)
	at := size{}.orUsual()
	t.out, err = recording.NewWriter(t, recording.Header{
		Term:      recording.Term{Columns: int(at.columns), Rows: int(at.rows), Type: "xterm-256color"},
		Timestamp: t.began.Unix(), Title: strings.ToValidUTF8(rec.AgentID, "\ufffd"), Tags: []string{rec.ID},
	})
	t.failed = err
	return err
}

// Write writes a line of the recording.
func (t *tape) Write(p []byte) (int, error) {
	t.sum.Write(p)
	t.size += int64(len(p))
	return t.buf.Write(p)
}

// play writes what has happened, to the file system.
func (t *tape) play(moments []moment) error {
	if t.failed != nil {
		return nil
	}
	var err error
	for i := 0; i < len(moments) && err == nil; i++ {
		err = t.moment(&moments[i])
	}
	t.failed = cmp.Or(err, t.buf.Flush())
	return t.failed
}

func (t *tape) moment(m *moment) error {
	t.last = m.at
	text := m.data
	if m.code == recording.Output {
		if text, _ = t.calm.Text(m.data); len(text) == 0 {
			return nil
		}
	}
	large := t.size+int64(escaped*len(text)) > t.most
	switch {
	case !t.full && !large:
		return t.event(m.code, string(text))
	case m.code == recording.Output || m.code == recording.Input:
		t.lost += int64(len(text))
		if t.full {
			return nil
		}
		t.full = true
		return t.event(recording.Marker, fmt.Sprintf("the recording is full (%d MiB): no more output is recorded", t.most>>20))
	case t.size+int64(escaped*len(text)) > t.most+recordedMore:
		return nil
	}
	return t.event(m.code, string(text))
}

func (t *tape) event(code recording.Code, data string) error {
	return t.out.Write(recording.Event{At: t.last.Sub(t.began), Code: code, Data: data})
}

// close writes the end, to the disk.
func (t *tape) close() error {
	if t.file == nil {
		return nil
	}
	var err error
	if t.lost > 0 && t.failed == nil {
		err = cmp.Or(t.event(recording.Marker, fmt.Sprintf("%d bytes of output are not recorded", t.lost)), t.buf.Flush())
	}
	return errors.Join(err, t.file.Sync(), t.file.Close())
}

// maxLabel is how much of a command a label has.
const maxLabel = 200

// inShort returns a text as a part of a label.
func inShort(text string) string {
	text = strings.ReplaceAll(text, "\n", " ⏎ ")
	if len(text) <= maxLabel {
		return text
	}
	return strings.ToValidUTF8(text[:maxLabel], "") + "…"
}

// decided records what was decided about a command that is in a state from now on.
func (s *session) decided(c *command, state store.CommandState) {
	words := inShort(visible.Command(c.rec.Command))
	switch {
	case c.asks > 0:
		s.settled(c)
	case state == store.CommandForbidden:
		s.recorder.mark("forbidden: " + words)
	case state == store.CommandExecuting:
		s.recorder.mark("allowed " + c.rec.Risk + ": " + words)
	}
}

// settled records what became of the question about a command.
func (s *session) settled(c *command) {
	if s.recorder == nil {
		return
	}
	e, err := s.options.Store.Get(context.Background(), c.rec.ApprovalID)
	if err != nil {
		return // the command's own end says enough
	}
	label := outcomes[e.Status]
	if label == "" {
		label = "withdrawn"
	}
	label += " " + c.rec.ApprovalID
	if by := settlers(&e.State); by != "" {
		label += " by " + by
	}
	switch words := e.Message; {
	case e.Status == approval.Superseded:
		label += ": " + inShort(visible.Command(c.rec.Command))
	case words != "":
		label += ": " + inShort(visible.Line(words))
	}
	s.recorder.mark(label)
}

// outcomes are what became of questions, in a label.
var outcomes = map[approval.Status]string{
	approval.Approved: "approved", approval.Consumed: "approved", approval.Denied: "denied", approval.Expired: "expired", approval.Superseded: "edited",
}

// settlers returns who has answered a question.
func settlers(s *approval.State) string {
	var names []string
	for _, v := range s.Votes {
		names = append(names, visible.Line(v.By.Name))
	}
	if len(names) == 0 && s.By.Role == approval.Person {
		names = append(names, visible.Line(s.By.Name))
	}
	return strings.Join(names, ", ")
}

// path returns the path of a recording.
func (m *Manager) path(id string) string {
	return filepath.Join(m.options.Recordings, id+recordingSuffix)
}
