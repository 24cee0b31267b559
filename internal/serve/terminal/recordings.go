package terminal

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/recording"
)

const (
	recordingSuffix = ".cast"
	// recordingOpen is the mode of a recording whose hash is not noted yet, and
	// recordingDone that of one whose hash is.
	recordingOpen = 0o600
	recordingDone = 0o400
	// Recordings that are over go, the oldest first, beyond so many bytes in all, and
	// after so long.
	recordingsMost = 1 << 30
	recordingsLast = 30 * 24 * time.Hour
)

// Recording is a recording of a session, or of a part of one: each server that has held
// it has made another one.
type Recording struct {
	ID, Session string
	Begin, End  time.Time // End is when it was last written
	Bytes       int64
	Open        bool // it goes on
	noted       bool
}

// Recordings returns the recordings of a session, "" for all, the one that began last
// first.
func (m *Manager) Recordings(session string) ([]Recording, error) {
	if m.options.Recordings == "" {
		return nil, nil
	}
	files, err := os.ReadDir(m.options.Recordings)
	if err != nil {
		return nil, err
	}
	open := map[string]bool{}
	for _, s := range m.all() {
		open[s.recorder.now()] = true
	}
	var all []Recording
	for _, f := range files {
		r, ok := recordingOf(f.Name())
		info, err := f.Info()
		if !ok || err != nil || !info.Mode().IsRegular() || session != "" && r.Session != session {
			continue
		}
		r.End, r.Bytes, r.Open, r.noted = info.ModTime(), info.Size(), open[r.ID], info.Mode().Perm() == recordingDone
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Recording) int { return cmp.Or(b.Begin.Compare(a.Begin), strings.Compare(a.ID, b.ID)) })
	return all, nil
}

// recordingOf returns the recording that a file is, by its name.
func recordingOf(file string) (r Recording, ok bool) {
	id, ok := strings.CutSuffix(file, recordingSuffix)
	session, at, dot := strings.Cut(id, ".")
	ms, err := strconv.ParseInt(at, 10, 64)
	return Recording{ID: id, Session: session, Begin: time.UnixMilli(ms)}, ok && dot && err == nil
}

// OpenRecording opens a recording. The caller must close it. One that is not there is an
// *Error of kind NotFound.
func (m *Manager) OpenRecording(id string) (*os.File, error) {
	all, err := m.Recordings("")
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(r Recording) bool { return r.ID == id }) {
		return nil, failure(NotFound, errors.New("no such recording exists"))
	}
	return os.Open(m.path(id))
}

// RecordedAgent returns the agent of a recording, "" if it cannot be read.
func RecordedAgent(in io.Reader) string {
	r, err := recording.NewReader(in)
	if err != nil {
		return ""
	}
	return r.Header.Title
}

// The names of the notes about recordings, in the audit log.
const (
	noteRecording = "recording"
	noteDeleted   = "recording deleted"
)

// RecordedSum returns the id of the recording that a note in the record is about, and its
// SHA-256 in hexadecimal digits; "" for another note.
func RecordedSum(name, words string) (id, sum string) {
	fields := strings.Fields(words)
	if name != noteRecording || len(fields) < 2 {
		return "", ""
	}
	sum, ok := strings.CutPrefix(fields[1], "sha256:")
	if !ok {
		return "", ""
	}
	return strings.TrimSuffix(fields[0], recordingSuffix), sum
}

// noteRecording notes the hash of a recording that is over. Its file is not written any
// more.
func (m *Manager) noteRecording(id string, sum []byte, size int64, failed error) {
	r, _ := recordingOf(id + recordingSuffix)
	words := fmt.Sprintf("%s%s sha256:%x %d bytes", id, recordingSuffix, sum, size)
	if failed != nil {
		words += ", and not to its end: " + failed.Error()
	}
	err := m.options.Note(r.Session, noteRecording, words)
	if err == nil {
		err = os.Chmod(m.path(id), recordingDone)
	}
	m.warn(err)
}

// settleRecordings notes the hashes of recordings that a server has left that was killed,
// and deletes old ones. No session is open yet.
func (m *Manager) settleRecordings() error {
	if m.options.Recordings == "" {
		return nil
	}
	if err := os.MkdirAll(m.options.Recordings, 0o700); err != nil {
		return fmt.Errorf("sessions cannot be recorded: %w", err)
	}
	all, err := m.Recordings("")
	if err != nil {
		return fmt.Errorf("sessions cannot be recorded: %w", err)
	}
	for _, r := range all {
		if r.noted {
			continue
		}
		sum, n, err := m.sumOf(r.ID)
		if err != nil {
			m.warn(err)
			continue
		}
		m.noteRecording(r.ID, sum, n, errors.New("the server was killed, and it is as it was found"))
	}
	m.trimRecordings()
	return nil
}

func (m *Manager) sumOf(id string) ([]byte, int64, error) {
	file, err := os.Open(m.path(id))
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	return sum.Sum(nil), n, err
}

// trimRecordings deletes recordings that are over and too old, or too many.
func (m *Manager) trimRecordings() {
	m.trimming.Lock()
	defer m.trimming.Unlock()
	all, err := m.Recordings("")
	m.warn(err)
	var size int64
	for _, r := range all {
		size += r.Bytes
		old := time.Since(r.End) > recordingsLast
		if r.Open || !r.noted || !old && size <= m.recordingsMost {
			continue
		}
		if err := os.Remove(m.path(r.ID)); err != nil {
			m.warn(err)
			continue
		}
		size -= r.Bytes
		why := fmt.Sprintf("beyond %d MiB of recordings", m.recordingsMost>>20)
		if old {
			why = fmt.Sprintf("older than %d days", recordingsLast/(24*time.Hour))
		}
		m.warn(m.options.Note(r.Session, noteDeleted, fmt.Sprintf("%s%s %d bytes: %s", r.ID, recordingSuffix, r.Bytes, why)))
	}
}

// Transcript writes the text of a recording: what the terminal showed, without escape
// sequences and with secrets masked. The error of a recording that is cut or none is that
// of a recording.Reader.
func Transcript(w io.Writer, in io.Reader) error {
	r, err := recording.NewReader(in)
	if err != nil {
		return err
	}
	var p plain
	var text []byte
	for {
		e, err := r.Next()
		if e.Code == recording.Output {
			text = p.append(text, []byte(e.Data))
		}
		if len(text) < chatMost && err == nil {
			continue
		}
		n := len(text)
		if err == nil {
			n = cut(text)
		}
		for _, piece := range pieces(text[:n]) {
			masked, _ := mask.Text(piece)
			if _, err := io.WriteString(w, masked); err != nil {
				return err
			}
		}
		text = append(text[:0], text[n:]...)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
