package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

const (
	version = 3
	// maxLine is the length of the longest line that is read.
	maxLine = 4 << 20
	// maxSide is the greatest number of columns or rows (struct winsize).
	maxSide = math.MaxUint16
	// maxSeconds is the longest recording.
	maxSeconds = 1 << 30
)

// lineError is the error of a line.
type lineError struct {
	Line int // from 1 on
	Err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *lineError) Unwrap() error { return e.Err }

// Reader reads a recording.
type Reader struct {
	Header Header
	in     *bufio.Reader
	line   int
	buf    []byte
	at     time.Duration
	err    error
}

// NewReader reads the header, and returns a reader of the events. The error names the
// line, or is that of in.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{in: bufio.NewReaderSize(in, 64<<10)}
	line, err := r.next()
	if errors.Is(err, io.EOF) {
		err = r.fault(io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, err
	}
	if err := strictjson.Decode(line, &r.Header, strictjson.MaxSize(maxLine)); err != nil {
		return nil, r.fault(err)
	}
	if err := r.Header.check(); err != nil {
		return nil, r.fault(err)
	}
	return r, nil
}

// Next returns the next event. The error is io.EOF at the end, names the line, or is that
// of the underlying reader; after any of them there is nothing more. A last line without a
// line feed is not read: whoever wrote it did not come to its end, and the error wraps
// io.ErrUnexpectedEOF.
func (r *Reader) Next() (Event, error) {
	if r.err != nil {
		return Event{}, r.err
	}
	e, err := r.event()
	r.err = err
	return e, err
}

func (r *Reader) event() (Event, error) {
	line, err := r.next()
	for err == nil && bytes.HasPrefix(line, []byte("#")) {
		line, err = r.next()
	}
	if err != nil {
		return Event{}, err
	}
	e, interval, err := parse(line)
	if err == nil {
		err = e.check()
	}
	if e.At = r.at + interval; err == nil && e.At > maxSeconds*time.Second {
		err = fmt.Errorf("it is longer than %d s", maxSeconds)
	}
	if err != nil {
		return Event{}, r.fault(err)
	}
	r.at = e.At
	return e, nil
}

// next returns the next line without its line feed. It is valid until the next call.
func (r *Reader) next() ([]byte, error) {
	r.buf = r.buf[:0]
	r.line++
	for {
		part, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		switch {
		case len(r.buf) > maxLine:
			return nil, r.fault(fmt.Errorf("it is longer than %d bytes", maxLine))
		case err == nil:
			return r.buf[:len(r.buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(r.buf) > 0:
			return nil, r.fault(fmt.Errorf("it was cut after %d bytes: %w", len(r.buf), io.ErrUnexpectedEOF))
		default:
			return nil, err
		}
	}
}

func (r *Reader) fault(err error) error { return &lineError{r.line, err} }

// parse reads the line of an event.
func parse(line []byte) (e Event, interval time.Duration, err error) {
	var parts []json.RawMessage
	if err := strictjson.Decode(line, &parts, strictjson.MaxSize(maxLine)); err != nil {
		return e, 0, err
	}
	if len(parts) != 3 {
		return e, 0, errors.New("an event is [interval, code, data]")
	}
	var seconds float64
	for i, v := range []any{&seconds, &e.Code, &e.Data} {
		if err := strictjson.Decode(parts[i], v, strictjson.MaxSize(maxLine)); err != nil {
			return e, 0, err
		}
	}
	if !(seconds >= 0 && seconds <= maxSeconds) {
		return e, 0, fmt.Errorf("the interval %v is not from 0 to %d", seconds, maxSeconds)
	}
	return e, time.Duration(math.Round(seconds*1e6)) * time.Microsecond, nil
}

func (h *Header) check() error {
	switch {
	case h.Version != version:
		return fmt.Errorf("version %d: it is %d", h.Version, version)
	case h.Term.Columns < 1 || h.Term.Columns > maxSide || h.Term.Rows < 1 || h.Term.Rows > maxSide:
		return fmt.Errorf("term: %s is no size", Size(h.Term.Columns, h.Term.Rows))
	}
	return nil
}

var (
	sizes = lazyregexp.New(`^[1-9][0-9]{0,4}x[1-9][0-9]{0,4}$`)
	exits = lazyregexp.New(`^-?[0-9]{1,10}$`)
)

// check returns why an event is none.
func (e *Event) check() error {
	switch e.Code {
	case Output, Input:
		return nil
	case Marker:
		if strings.ContainsAny(e.Data, "\r\n") {
			return errors.New("a label has one line")
		}
		return nil
	case Resize:
		if sizes.MatchString(e.Data) {
			return nil
		}
	case Exit:
		if exits.MatchString(e.Data) {
			return nil
		}
	default:
		return fmt.Errorf("the code %q is none of o, i, m, r, x", e.Code)
	}
	return fmt.Errorf("%q is not what an event of the code %s says", e.Data, e.Code)
}
