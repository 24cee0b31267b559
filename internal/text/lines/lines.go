// Package lines reads and writes protocols of one JSON object a line, UTF-8, in
// bounded memory.
package lines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// Max is the length of the longest line that is read, in bytes without its end.
const Max = 16 << 20

// ErrLong is the error for a line that is longer than Max. It was skipped, and the
// next can be read.
var ErrLong = fmt.Errorf("the line is longer than %d bytes", Max)

// Reader reads lines. It is not safe for concurrent use.
type Reader struct{ in *bufio.Reader }

// NewReader returns a reader of lines.
func NewReader(in io.Reader) *Reader { return &Reader{bufio.NewReaderSize(in, 64<<10)} }

// Next returns the next line that is not blank, without its end (LF or CR LF), which
// the last line may lack. It belongs to the caller. The error is ErrLong, io.EOF or
// one of reading.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.line()
		if line = bytes.TrimSpace(line); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

// line returns the next line. An error comes without one.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.in.ReadSlice('\n')
		long = long || len(line)+len(bytes.TrimRight(part, "\r\n")) > Max
		if !long {
			line = append(line, part...)
		} else {
			line = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, ErrLong
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

// Writer writes values as lines. It is safe for concurrent use. While the reader of
// the lines is slow, everybody who writes waits.
type Writer struct {
	waiting atomic.Int64 // lines that wait for mu
	mu      sync.Mutex
	out     *bufio.Writer
	err     error       // the first
	lost    func(error) // is called with it
}

// NewWriter returns a writer of lines. It calls lost, which may be nil, with the first
// error.
func NewWriter(out io.Writer, lost func(error)) *Writer {
	return &Writer{out: bufio.NewWriterSize(out, 64<<10), lost: lost}
}

// Write writes a value as one line of JSON. The line has left this process when the
// last of those that write at the same time returns. The error is the first that the
// writer had.
func (w *Writer) Write(v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	w.waiting.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.waiting.Add(-1) == 0
	if w.err != nil {
		return w.err
	}
	_, err := w.out.Write(line.Bytes())
	if err == nil && last {
		err = w.out.Flush()
	}
	if err != nil {
		w.err = err
		if w.lost != nil {
			w.lost(err)
		}
	}
	return err
}
