package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Report is the result of Verify.
type Report struct {
	Lines   int    // of the file
	Records uint64 // seq of the last record
	Old     int    // lines of version 1 before the first record
	Torn    int    // crashes that a later writer recorded
	Head    string // hash of the last record; "" if there is none
	// Known is the seq of the record up to which the head proves that nothing
	// is missing; 0 if there is no head.
	Known uint64
	// Since is the number of records after the one with the given hash.
	Since uint64
	// Notes are findings that are not faults.
	Notes, Faults []Finding
}

// Finding is one finding of Verify. Line is the line of the file, counted from
// 1; 0 stands for the whole file.
type Finding struct {
	Line int
	Text string
}

// maxFaults is the maximum number of faults in a report.
const maxFaults = 20

// Verify reads a record from the start and checks its chain, its head and,
// unless hash is "", that it has the record with that hash, which was noted
// elsewhere. The error says why the record could not be read.
func Verify(path, headFile, hash string) (*Report, error) {
	v := &verifier{walk: newWalker(), report: &Report{}}
	if hash != "" {
		v.want = new(sum)
		if err := v.want.UnmarshalText([]byte(hash)); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := v.snapshot(f, headFile)
	if err != nil {
		return nil, err
	}
	return v.read(io.NewSectionReader(f, 0, size))
}

// verifier reads a record that may have been changed anywhere.
type verifier struct {
	walk   walker
	head   position
	want   *sum
	report *Report
	unread bool // the head cannot be read
	// claimed: there is a head, if only without a text, as a writer leaves that was killed
	// with its first entry.
	claimed bool

	met     bool // the record with the given hash was found
	reached bool // the record of the head was found, unchanged
	// doubt is a line whose hash is not the prev of the next line, so either
	// was changed. The line after that tells which.
	doubt *doubt
}

type doubt struct {
	line int // the line with the wrong prev
	hash sum // its own hash
	seq  uint64
}

// snapshot reads the length and the head under the lock.
func (v *verifier) snapshot(f *os.File, headFile string) (int64, error) {
	if err := share(f); err != nil {
		return 0, err
	}
	defer unlock(f)
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if v.head, err = (head{headFile}).position(); err != nil {
		v.unread = true
		v.fault(0, "%v", err)
	}
	v.claimed = head{headFile}.claimed()
	v.report.Known = v.head.Seq
	return info.Size(), nil
}

// read checks all lines.
func (v *verifier) read(r io.Reader) (*Report, error) {
	rest, err := lines(r, v.line)
	if errors.Is(err, errLong) {
		v.fault(v.report.Lines+1, "%v", err)
		return v.report, nil
	}
	if err != nil {
		return nil, err
	}
	v.end(rest)
	return v.report, nil
}

func (v *verifier) fault(line int, format string, args ...any) {
	if len(v.report.Faults) < maxFaults {
		v.report.Faults = append(v.report.Faults, Finding{line, fmt.Sprintf(format, args...)})
	}
}

func (v *verifier) note(line int, format string, args ...any) {
	v.report.Notes = append(v.report.Notes, Finding{line, fmt.Sprintf(format, args...)})
}

// line processes the next line. After a fault it continues from the line as it
// stands.
func (v *verifier) line(line []byte) error {
	v.report.Lines++
	start := v.walk.offset
	was := v.walk
	torn, loose := v.walk.torn(), v.walk.at.Seq == 0
	err := v.walk.line(line)
	l, ok := parse(line[:len(line)-1])
	switch {
	case err == errLoose:
		v.fault(v.report.Lines, "is not an entry")
		v.walk.loose.Write(line)
		return nil
	case !ok:
		return nil // torn, or of version 1; the next record tells
	case err != nil:
		v.broken(l, err, torn && !loose, was.at)
		v.walk.move(l.Seq, line[:len(line)-1], start)
	default:
		v.settle(l)
	}
	v.known(l, line)
	return nil
}

// broken reports a line that does not fit.
func (v *verifier) broken(l link, err error, torn bool, before position) {
	here := v.report.Lines
	var g *gap
	switch {
	case torn && l.Torn == nil:
		v.fault(here-1, "is not an entry: it was changed, or something was inserted")
	case errors.As(err, &g) && g.got > g.want:
		v.fault(here, "entries %d to %d are missing before it", g.want, g.got-1)
	case errors.As(err, &g):
		v.fault(here, "is entry %d, but entry %d belongs here: it was moved, duplicated or changed", g.got, g.want)
	case errors.Is(err, errPrev) && before.Seq > 0:
		v.settle(l)
		v.doubt = &doubt{line: here, seq: l.Seq}
		return
	default:
		v.fault(here, "%v", err)
	}
	v.settle(l)
}

// settle decides which of two lines was changed, given the third: it has the
// original hash of the second.
func (v *verifier) settle(l link) {
	d := v.doubt
	v.doubt = nil
	switch {
	case d == nil:
	case l.Seq == d.seq+1 && l.Prev == d.hash:
		v.fault(d.line-1, "was changed: the next line has a different hash for it")
	default:
		v.fault(d.line, "was changed: it does not have the hash of the line before it")
	}
}

// known compares a record with the head and the given hash.
func (v *verifier) known(l link, line []byte) {
	at := v.walk.at
	if v.doubt != nil && v.doubt.line == v.report.Lines {
		v.doubt.hash = at.Hash
	}
	r := v.report
	switch {
	case l.Kind == kindTorn:
		r.Torn++
		v.note(r.Lines, "closes off a line that was torn by a crash")
	case l.Kind == kindBegin:
		v.begun(line)
	case l.Kind == kindNote && l.Note == noteHeadless:
		v.fault(r.Lines, "says that the entries before it had no head: entries may have been cut off before it")
	}
	if l.Seq == v.head.Seq {
		v.reached = at.Hash == v.head.Hash
		if !v.reached && v.doubt == nil && len(r.Faults) == 0 {
			v.fault(r.Lines, "was changed: it is not entry %d as its head describes it", l.Seq)
		}
	}
	if v.want != nil && at.Hash == *v.want {
		v.met = true
		r.Since = 0
	} else if v.met {
		r.Since++
	}
}

// begun notes what the first record says.
func (v *verifier) begun(line []byte) {
	e, err := readEntry(line)
	if err != nil {
		return
	}
	if v.report.Old = e.Before; e.Before > 0 {
		v.note(v.report.Lines, "%d lines before it are version 1, which had no chain; they have not changed since it was written", e.Before)
	}
	if e.Lost != nil {
		v.fault(v.report.Lines, "begins in place of another audit log, which had reached entry %d and is missing", e.Lost.Seq)
	}
}

// end checks the end of the record; rest is what follows the last line feed.
func (v *verifier) end(rest []byte) {
	r, at := v.report, v.walk.at
	r.Records = at.Seq
	if at.Seq > 0 {
		r.Head = at.Hash.String()
	}
	behind := at.Seq < v.head.Seq
	if d := v.doubt; d != nil {
		last := link{Seq: d.seq + 1}
		if v.head.Seq == d.seq && v.head.Hash == d.hash {
			last.Prev = d.hash
		}
		v.settle(last)
	}
	loose := len(rest) > 0 || v.walk.torn()
	at1 := r.Lines
	if len(rest) > 0 {
		r.Lines++
		at1 = r.Lines
	}
	switch {
	case behind && loose:
		v.fault(at1, "is not an entry, but entry %d belongs here: it was changed, or the file was cut", at.Seq+1)
	case behind:
		v.fault(r.Lines, "is the last line, with entry %d, but %d were written: the file was cut", at.Seq, v.head.Seq)
	case loose && at.Seq == 0 && v.head.Seq == 0 && len(rest) == 0:
		r.Old = r.Lines
		v.note(0, "all lines are version 1, which had no chain")
	case loose:
		v.note(at1, "is torn: its writer ended in the middle of it; the next entry closes it off")
	case at.Seq == v.head.Seq && at.Seq > 0 && at.End != v.head.End:
		v.fault(0, "the last entry ends at byte %d, but its head says %d: bytes were inserted or removed", at.End, v.head.End)
	}
	switch {
	case v.head.Seq > 0 || v.unread || at.Seq == 1 && v.claimed:
	case at.Seq == 0 || v.met:
		v.note(0, "there is no head: cannot tell whether entries were cut off the end")
	default:
		v.fault(0, "there is no head: entries may have been cut off the end; with --head and a hash that you kept, a copy is verified up to it")
	}
	if v.want != nil && !v.met {
		v.fault(0, "no entry has the hash %s: it was changed, or cut off", *v.want)
	}
}

// CheckHash returns what is wrong with the text of a hash.
func CheckHash(text string) error { return new(sum).UnmarshalText([]byte(text)) }
