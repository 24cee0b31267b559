package audit

import (
	"errors"
	"io"
	"os"
)

// Tail reads the end of a record and what is appended to it.
type Tail struct {
	f  *os.File
	at int64 // behind the last line that was read
}

// NewTail returns a Tail that begins with the last n lines of the record.
func NewTail(f *os.File, n int) (*Tail, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at, err := lastLines(f, info.Size(), n)
	return &Tail{f, at}, err
}

// lastLines returns where the last n whole lines of the first size bytes begin.
func lastLines(f io.ReaderAt, size int64, n int) (int64, error) {
	buf := make([]byte, 64<<10)
	seen := -1 // number of line feeds before that of the last line
	for end := size; end > 0; {
		part := buf[:min(int64(len(buf)), end)]
		end -= int64(len(part))
		if _, err := f.ReadAt(part, end); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] != '\n' {
				continue
			}
			if seen++; seen == n {
				return end + int64(i) + 1, nil
			}
		}
	}
	return 0, nil
}

// Next calls each with the records that were appended since the last call, up
// to the last whole line. It is an error if the record became shorter.
func (t *Tail) Next(each func(e *Entry, line []byte) error) error {
	info, err := t.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < t.at {
		return errors.New("the audit log became shorter: inspect it with agent-wrapper audit verify")
	}
	_, err = lines(io.NewSectionReader(t.f, t.at, info.Size()-t.at), func(line []byte) error {
		t.at += int64(len(line))
		e, err := readEntry(line)
		if err != nil {
			return nil // not a record; see Verify
		}
		return each(e, line[:len(line)-1])
	})
	return err
}
