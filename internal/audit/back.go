package audit

import (
	"bytes"
	"errors"
	"io"
)

// backChunk is how many bytes are read at once backwards, unless a line is longer.
const backChunk = 256 << 10

// ScanBack reads records from the newest to the oldest, of those whose seq is below
// before, or all with 0, and calls each with those that f selects. R is a record of size
// bytes. It stops behind the line that exceeds most bytes: next is the seq before which to
// go on, 0 if nothing is left. Like Scan it skips what is no record, and it skips lines
// of version 1, which have no seq. Where before lies is found by bisection, so that a
// record whose order was changed may be read in part; see Verify.
func ScanBack(r io.ReaderAt, size int64, before uint64, most int64, f *Filter, each func(e *Entry, line []byte) error) (next uint64, err error) {
	end, err := lastLines(r, size, 0)
	if err == nil && before > 0 {
		end, err = startOf(r, end, before)
	}
	if err != nil {
		return 0, err
	}
	err = linesBack(r, end, func(line []byte) error {
		most -= int64(len(line))
		line = line[:len(line)-1]
		e, err := readEntry(line)
		if err != nil || e.Seq == 0 {
			return nil
		}
		next = e.Seq
		if f.matches(e, line) {
			if err := each(e, line); err != nil {
				return err
			}
		}
		if most <= 0 {
			return errFar
		}
		return nil
	})
	if err == nil || next == 1 {
		next = 0
	}
	if errors.Is(err, errFar) {
		err = nil
	}
	return next, err
}

// errFar ends a reading backwards that has read enough.
var errFar = errors.New("far enough")

// linesBack calls take with the lines of the first end bytes of r, the last one first.
// They end with a line feed. A line is valid until take returns.
func linesBack(r io.ReaderAt, end int64, take func(line []byte) error) error {
	buf := make([]byte, backChunk)
	for end > 0 {
		part := buf[:min(int64(len(buf)), end)]
		if _, err := r.ReadAt(part, end-int64(len(part))); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		first, was := end == int64(len(part)), len(part)
		for len(part) > 0 {
			at := bytes.LastIndexByte(part[:len(part)-1], '\n') + 1
			if at == 0 && !first {
				break // the line begins before what was read
			}
			if err := take(part[at:]); err != nil {
				return err
			}
			part = part[:at]
		}
		if len(part) == was {
			if len(buf) > maxLine {
				return errLong
			}
			buf = make([]byte, 2*len(buf))
		}
		end -= int64(was - len(part))
	}
	return nil
}

// startOf returns where the first record begins whose seq is seq or greater, size if
// there is none.
func startOf(r io.ReaderAt, size int64, seq uint64) (int64, error) {
	low, high := int64(0), size // what is before low is too early, what begins at high or behind is not
	for high-low > near {
		mid := low + (high-low)/2
		at, start, end, err := recordFrom(r, mid, size)
		switch {
		case err != nil:
			return 0, err
		case at == 0 || start >= high || at >= seq:
			high = mid
		default:
			low = end
		}
	}
	end := low
	_, err := lines(io.NewSectionReader(r, low, size-low), func(line []byte) error {
		if end >= high {
			return errFar
		}
		end += int64(len(line))
		if l, ok := parse(line[:len(line)-1]); ok && l.Seq >= seq {
			return errFar
		} else if ok {
			low = end
		}
		return nil
	})
	if errors.Is(err, errFar) {
		err = nil
	}
	return low, err
}

// near is from where on records are read one after the other: as much as is read at once.
const near = 64 << 10

// recordFrom returns the seq and the place of the first record that begins at from or
// behind, with seq 0 if there is none.
func recordFrom(r io.ReaderAt, from, size int64) (seq uint64, start, end int64, err error) {
	end = max(from-1, 0)
	skip := from > 0 // the rest of the line before
	_, err = lines(io.NewSectionReader(r, end, size-end), func(line []byte) error {
		start, end = end, end+int64(len(line))
		if l, ok := parse(line[:len(line)-1]); ok && !skip {
			seq = l.Seq
			return errFar
		}
		skip = false
		return nil
	})
	if errors.Is(err, errFar) {
		err = nil
	}
	return seq, start, end, err
}
