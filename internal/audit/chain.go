package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"
)

// version is the version of the format.
const version = 2

// sum is a SHA-256 hash. Its text is "sha256:" and hexadecimal digits.
type sum [sha256.Size]byte

const sumPrefix = "sha256:"

// String returns the text of the hash.
func (s sum) String() string { return sumPrefix + hex.EncodeToString(s[:]) }

// MarshalText returns the text of the hash.
func (s sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the text of a hash.
func (s *sum) UnmarshalText(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), sumPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(s)) || strings.ToLower(digits) != digits {
		return fmt.Errorf("%.80q is not a hash: it must be sha256: and %d digits of 0-9a-f", text, hex.EncodedLen(len(s)))
	}
	_, err := hex.Decode(s[:], []byte(digits))
	return err
}

// position is a place in a record: behind the line of record Seq, which extends
// from byte Start to byte End including its line feed.
type position struct {
	Seq   uint64 `json:"seq"`
	Hash  sum    `json:"hash"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
}

// holds checks that the record still has the line of the position.
func (p position) holds(f io.ReaderAt, size int64) error {
	if size < p.End {
		return fmt.Errorf("it has %d bytes, but %d were written: it was cut at entry %d or earlier", size, p.End, p.Seq)
	}
	line := io.NewSectionReader(f, p.Start, p.End-p.Start-1)
	h := sha256.New()
	n, err := io.Copy(h, line)
	if err != nil {
		return err
	}
	end := make([]byte, 1)
	if _, err := f.ReadAt(end, p.Start+n); err != nil {
		return err
	}
	if end[0] != '\n' || sum(h.Sum(nil)) != p.Hash {
		return fmt.Errorf("entry %d, at byte %d, is not the line that was written", p.Seq, p.Start)
	}
	return nil
}

// Damage is the error for a record that is not the one that was written.
type Damage struct {
	Log, Head string // paths
	Err       error
}

func (d *Damage) Error() string {
	return fmt.Sprintf("the audit log %s was changed since it was last written: %v; inspect it with agent-wrapper audit verify; "+
		"to start a new one, move it away together with %s", d.Log, d.Err, d.Head)
}

func (d *Damage) Unwrap() error { return d.Err }

// fragment describes bytes between two records that are not a record.
type fragment struct {
	Bytes int64 `json:"bytes"`
	Hash  sum   `json:"hash"`
}

// walker reads a record line by line and verifies the chain.
type walker struct {
	at    position
	lines int // of version 1, before the first record
	// loose hashes everything between at and offset, the end of the last line
	// read.
	loose  hash.Hash
	offset int64
}

func newWalker() walker {
	w := walker{loose: sha256.New()}
	w.at.Hash = sum(w.loose.Sum(nil)) // the hash of nothing, before the first line
	return w
}

// torn reports whether the last record is followed by something that is not
// one.
func (w *walker) torn() bool { return w.offset > w.at.End }

// link is the part of a line that the chain needs.
type link struct {
	V    int
	Seq  uint64
	Prev sum
	Kind string
	Note string
	Torn *fragment
}

// parse parses a whole line without its line feed. ok is false if it is not a
// record.
func parse(line []byte) (l link, ok bool) {
	err := json.Unmarshal(line, &l)
	return l, err == nil && l.V == version && l.Seq > 0
}

// opening is how the lines of every version begin.
const opening = `{"v":`

// errLoose is the error for a line that is not a record and has none before it.
var errLoose = errors.New("is not an entry")

// line processes the next line, with its line feed.
func (w *walker) line(line []byte) error {
	start := w.offset
	w.offset += int64(len(line))
	text := bytes.TrimSuffix(line, []byte("\n"))
	l, ok := parse(text)
	if !ok {
		w.loose.Write(line)
		if w.at.Seq > 0 {
			return nil // torn, if the next record says so
		}
		if n := min(len(text), len(opening)); string(text[:n]) != opening[:n] {
			return errLoose
		}
		w.lines++
		return nil
	}
	if err := w.fits(l, start); err != nil {
		return err
	}
	w.move(l.Seq, text, start)
	return nil
}

// move advances behind a record.
func (w *walker) move(seq uint64, text []byte, start int64) {
	w.at = position{Seq: seq, Hash: sha256.Sum256(text), Start: start, End: start + int64(len(text)) + 1}
	w.offset = w.at.End
	w.loose.Reset()
}

// before returns the prev that the next record must have.
func (w *walker) before() sum {
	if w.at.Seq == 0 {
		return sum(w.loose.Sum(nil))
	}
	return w.at.Hash
}

// fits checks that a record is the next one.
func (w *walker) fits(l link, start int64) error {
	switch {
	case l.Seq != w.at.Seq+1:
		return &gap{want: w.at.Seq + 1, got: l.Seq}
	case l.Prev != w.before():
		return errPrev
	case (l.Seq == 1) != (l.Kind == kindBegin):
		return fmt.Errorf("entry %d is of kind %s", l.Seq, l.Kind)
	case l.Seq == 1:
		return nil
	case start > w.at.End && l.Torn == nil:
		return fmt.Errorf("the %d bytes before it are not an entry, and it does not say that one was torn", start-w.at.End)
	case l.Torn != nil && *l.Torn != w.fragment(start):
		return errors.New("what is before it is not the torn line that it names")
	}
	return nil
}

// fragment describes what lies before a line that begins at start and is not a
// record.
func (w *walker) fragment(start int64) fragment {
	return fragment{start - w.at.End, sum(w.loose.Sum(nil))}
}

// errPrev is the error for a record with the wrong prev.
var errPrev = errors.New("does not have the hash of the line before it")

// gap is the error for missing or displaced records.
type gap struct{ want, got uint64 }

func (g *gap) Error() string {
	return fmt.Sprintf("is entry %d where entry %d belongs", g.got, g.want)
}

// maxLine is the maximum length of a line in bytes. Lines that are written are
// shorter.
const maxLine = 16 << 20

var errLong = fmt.Errorf("is longer than %d bytes, more than agent-wrapper ever writes", maxLine)

// lines calls take with each line of r including its line feed; rest is what
// follows the last line feed. A line longer than maxLine is an error.
func lines(r io.Reader, take func(line []byte) error) (rest []byte, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		switch {
		case len(long)+len(part) > maxLine:
			return nil, errLong
		case err == bufio.ErrBufferFull:
			long = append(long, part...)
			continue
		case err == io.EOF:
			return append(long, part...), nil
		case err != nil:
			return nil, err
		}
		if len(long) > 0 {
			part = append(long, part...)
			long = long[:0]
		}
		if err := take(part); err != nil {
			return nil, err
		}
	}
}

// stamp shows whether another process wrote to the file.
type stamp struct {
	size int64
	time time.Time
}

// locked excludes other writers, in this process and others.
func (l *Log) locked(do func() error) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bad != nil {
		return l.bad
	}
	if err := lock(l.file); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock(l.file)) }()
	return do()
}

// follow advances to the end of the record, which other processes may have
// extended. It ends and records what a crash left there.
func (l *Log) follow() error {
	info, err := l.ours()
	if err != nil {
		return err
	}
	if now := (stamp{info.Size(), info.ModTime()}); now == l.seen {
		return nil
	}
	if err := l.again(info.Size()); err != nil {
		return &Damage{l.path, l.head.path, err}
	}
	rest, err := l.readLines(info.Size())
	if err == nil && rest > 0 {
		if err = l.put([]byte("\n")); err == nil {
			_, err = l.readLines(info.Size() + 1)
		}
	}
	if err != nil {
		return err
	}
	if l.walk.torn() && l.walk.at.Seq > 0 {
		torn := l.walk.fragment(l.walk.offset)
		return l.write(&Entry{Kind: kindTorn, Torn: &torn})
	}
	return l.look()
}

// ours checks that the open file is still the one at the path.
func (l *Log) ours() (os.FileInfo, error) {
	open, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	named, err := os.Stat(l.path)
	if err != nil {
		return nil, fmt.Errorf("the audit log was removed while in use: %w", err)
	}
	if !os.SameFile(open, named) {
		return nil, fmt.Errorf("the audit log %s was replaced while in use: start the command again", l.path)
	}
	return open, nil
}

// again checks that the last line is still there.
func (l *Log) again(size int64) error {
	if l.walk.at.Seq == 0 {
		return nil
	}
	return l.walk.at.holds(l.file, size)
}

// readLines processes the lines from the walker's offset up to size; rest is
// the number of bytes behind the last line feed.
func (l *Log) readLines(size int64) (rest int, err error) {
	w := &l.walk
	w.offset = w.at.End
	w.loose.Reset()
	w.lines = 0
	part, err := lines(io.NewSectionReader(l.file, w.offset, size-w.offset), func(line []byte) error {
		if err := w.line(line); err != nil {
			return &Damage{l.path, l.head.path, fmt.Errorf("the line after entry %d %w", w.at.Seq, err)}
		}
		return nil
	})
	return len(part), err
}

// write appends a record; the caller holds the lock.
func (l *Log) write(e *Entry) error {
	e.V, e.Seq, e.Prev = version, l.walk.at.Seq+1, l.walk.before()
	e.Time = l.now().UTC().Format(time.RFC3339Nano)
	line, err := e.line()
	if err != nil {
		return err
	}
	if len(line) > maxLine {
		return fmt.Errorf("the line would have %d bytes, and the limit is %d", len(line), maxLine)
	}
	start := l.walk.offset
	if err := l.put(line); err != nil {
		return err
	}
	l.walk.move(e.Seq, line[:len(line)-1], start)
	l.late++
	if l.sync == SyncEach || e.Kind == kindBegin {
		if err := l.commit(l.walk.at); err != nil {
			return l.fail(err)
		}
		l.late = 0
	}
	return l.look()
}

// put writes to the file. A write that fails may leave an incomplete line,
// which follow then finds.
func (l *Log) put(text []byte) error {
	l.seen = stamp{}
	n, err := l.file.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return err
}

// look stores the stamp of the file.
func (l *Log) look() error {
	info, err := l.file.Stat()
	if err == nil && info.Size() == l.walk.offset {
		l.seen = stamp{info.Size(), info.ModTime()}
	}
	return err
}
