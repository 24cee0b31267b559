package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/terminal"
)

// recordingRoutes are the routes of recordings of terminal sessions.
func recordingRoutes() []route {
	return []route{
		{method: "GET", path: "/api/recordings", access: people, about: "list recordings of this server's sessions, newest first, and whether each matches the audit log",
			query:  []param{{"session", "of this session"}, {"after", "only those that follow the one with this id"}, {"limit", "the largest number to return (default and maximum 100)"}},
			action: to((*Server).recordings)},
		{method: "GET", path: "/api/recordings/{id}", access: people, about: "get a recording in asciicast v3 format", query: []param{{"as", "text: the output without colours, with secrets masked"}},
			stream: (*Server).recording, answer: "the recording", errors: []int{400, 404}},
	}
}

// recordingInfo is a recording in a list.
type recordingInfo struct {
	ID        string     `json:"id"`
	SessionID string     `json:"session_id"`
	AgentID   string     `json:"agent_id"`
	Begin     time.Time  `json:"begin"`
	End       *time.Time `json:"end,omitempty"`
	Bytes     int64      `json:"bytes"`
	SHA256    string     `json:"sha256,omitempty"` // as it is in the audit log
	Seq       uint64     `json:"seq,omitempty"`    // of that line
	// Verified is true if the file has this hash, false if it does not, open if the
	// session goes on, and unknown if the record has no hash of it.
	Verified string `json:"verified"`
}

// recordingList is a list of recordings.
type recordingList struct {
	Recordings []recordingInfo `json:"recordings"`
}

// maxRecordings is the most that is listed at once: each is read as a whole.
const maxRecordings = 100

// recordings lists recordings.
func (s *Server) recordings(c *call, _ *none) (recordingList, error) {
	out := recordingList{Recordings: []recordingInfo{}}
	limit, err := number(c, "limit", 1, maxRecordings, maxRecordings)
	if err != nil {
		return out, err
	}
	q := c.URL.Query()
	all, err := s.terminals.Recordings(q.Get("session"))
	if err != nil {
		return out, err
	}
	if after := q.Get("after"); after != "" {
		i := slices.IndexFunc(all, func(r terminal.Recording) bool { return r.ID == after })
		all = all[i+1:]
	}
	sums, err := s.hashes.look(s.options.Record)
	if err != nil {
		return out, err
	}
	for _, r := range all[:min(int(limit), len(all))] {
		if err := c.Context().Err(); err != nil {
			return out, err
		}
		if info, err := s.recordingInfo(&r, sums); !errors.Is(err, fs.ErrNotExist) { // it was deleted meanwhile
			out.Recordings = append(out.Recordings, info)
		}
	}
	return out, nil
}

// recordingInfo reads a recording.
func (s *Server) recordingInfo(r *terminal.Recording, sums map[string]noted) (recordingInfo, error) {
	note, known := sums[r.ID]
	info := recordingInfo{
		ID: r.ID, SessionID: r.Session, Begin: r.Begin.UTC(), End: when(r.End), Bytes: r.Bytes, SHA256: note.sum, Seq: note.seq, Verified: "open",
	}
	file, err := s.terminals.OpenRecording(r.ID)
	if err != nil {
		return info, err
	}
	defer file.Close()
	info.AgentID = terminal.RecordedAgent(file)
	switch {
	case r.Open:
		info.End = nil
		return info, nil
	case !known:
		info.Verified = "unknown"
		return info, nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return info, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return info, err
	}
	info.Verified = fmt.Sprint(hex.EncodeToString(sum.Sum(nil)) == note.sum)
	return info, nil
}

// recording sends a recording.
func (s *Server) recording(w http.ResponseWriter, c *call) {
	as := c.URL.Query().Get("as")
	if as != "" && as != "text" {
		s.refuse(w, c.Request, fail(http.StatusBadRequest, "bad_request", "the query: as: use text, or omit it"))
		return
	}
	file, err := s.terminals.OpenRecording(c.PathValue("id"))
	if kind := new(terminal.Error); errors.As(err, &kind) || errors.Is(err, fs.ErrNotExist) {
		err = fail(http.StatusNotFound, "not_found", "no such recording exists")
	}
	if err != nil {
		s.refuse(w, c.Request, err)
		return
	}
	defer file.Close()
	if as == "text" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := terminal.Transcript(w, file); err != nil {
			_, _ = fmt.Fprintf(w, "\n[the recording: %v]\n", err) // an error ends the connection
		}
		return
	}
	w.Header().Set("Content-Type", "application/x-asciicast")
	_, _ = io.Copy(w, file) // see above
}

// notes is an engine for what is recorded beside decisions.
type notes struct {
	mu     sync.Mutex
	engine *engine.Engine
}

// note adds a note to the audit log.
func (s *Server) note(session, name, words string) error {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	if s.notes.engine == nil {
		e, err := s.options.Open("server", "", func(text string) { s.log.Warn("from the policy", "warning", text) })
		if err != nil {
			return err
		}
		s.notes.engine = e
	}
	return s.notes.engine.Note(session, name, words)
}

func (n *notes) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.engine == nil {
		return nil
	}
	return n.engine.Close()
}

// hashes are the hashes of recordings in the audit log. The audit log is read
// once, and then what was added; one that has taken its place, or was cut, is read anew.
type hashes struct {
	mu   sync.Mutex
	file *os.File
	read os.FileInfo // of the record when it was last read; nil: it has to be read anew
	tail *audit.Tail
	sums map[string]noted
}

// noted is the hash of a recording as the record has it, and where.
type noted struct {
	sum string
	seq uint64
}

// look returns the hashes by the ids of the recordings. The first that was noted counts.
func (r *hashes) look(record string) (map[string]noted, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing is recorded yet
	}
	if err != nil {
		return nil, err
	}
	if r.read == nil || !os.SameFile(r.read, info) || info.Size() < r.read.Size() {
		if err := r.begin(record); err != nil {
			return nil, err
		}
	}
	r.read = info
	err = r.tail.Next(func(e *audit.Entry, _ []byte) error {
		if id, sum := terminal.RecordedSum(e.Note, e.Reason); id != "" && r.sums[id].sum == "" {
			r.sums[id] = noted{sum, e.Seq}
		}
		return nil
	})
	if err != nil {
		r.read = nil
		return nil, err
	}
	return maps.Clone(r.sums), nil
}

// begin opens the record, to be read from its first line.
func (r *hashes) begin(record string) error {
	file, err := os.Open(record)
	if err != nil {
		return err
	}
	tail, err := audit.NewTail(file, math.MaxInt)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if r.file != nil {
		_ = r.file.Close() // it was only read
	}
	r.file, r.tail, r.sums = file, tail, map[string]noted{}
	return nil
}

func (r *hashes) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
