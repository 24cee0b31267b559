package audit

import (
	"errors"
	"io"
	"os"
	"slices"
)

// Watch verifies a record that grows: each line once, unless the file was replaced, cut,
// or changed without growing, or its last verified line is another one; then it begins
// anew. What is changed before that line by somebody who lets the file grow too shows
// only to a Watch that begins later, and to Verify. It is not safe for concurrent use.
type Watch struct {
	path, head string
	v          *verifier // nil: begins anew
	file       os.FileInfo
}

// Progress is how far a Watch has come.
type Progress struct {
	Report
	Bytes, Size int64 // that are verified, and that there are
	Anew        bool  // this call began at the first line
}

// Done reports whether all of the record was verified.
func (p *Progress) Done() bool { return p.Bytes == p.Size }

// NewWatch returns a Watch over the record at a path, with its head.
func NewWatch(path, headFile string) *Watch { return &Watch{path: path, head: headFile} }

// Again has the next call of Next begin at the first line.
func (w *Watch) Again() { w.v = nil }

// Next verifies up to about most bytes more; most is at least the length of the longest
// line that is written, 16 MiB. The error says why the record could not be read.
func (w *Watch) Next(most int64) (*Progress, error) {
	f, err := os.Open(w.path)
	if err != nil {
		w.v = nil
		return nil, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &Progress{}
	if w.v == nil || !w.continues(f, before) {
		w.v, p.Anew = &verifier{walk: newWalker(), report: &Report{}}, true
	}
	known := len(w.v.report.Faults)
	size, err := w.v.snapshot(f, w.head)
	if err != nil {
		return nil, err
	}
	w.file = before
	v := w.v
	if len(v.report.Faults) > known {
		w.v = nil // the head cannot be read: it is tried again
	}
	return w.read(v, f, size, most, p)
}

// continues reports whether the file may be the one that was verified so far.
func (w *Watch) continues(f *os.File, now os.FileInfo) bool {
	if !os.SameFile(w.file, now) || now.Size() < w.v.walk.offset || now.Size() == w.file.Size() && !now.ModTime().Equal(w.file.ModTime()) {
		return false
	}
	at := w.v.walk.at
	return at.Seq == 0 || at.holds(f, now.Size()) == nil
}

// read verifies further lines, and says how it stands.
func (w *Watch) read(v *verifier, f *os.File, size, most int64, p *Progress) (*Progress, error) {
	until := min(size, v.walk.offset+most)
	rest, err := lines(io.NewSectionReader(f, v.walk.offset, until-v.walk.offset), v.line)
	if errors.Is(err, errLong) {
		v.fault(v.report.Lines+1, "%v", err)
		w.v = nil
		p.Report, p.Bytes, p.Size = *v.report, size, size
		return p, nil
	}
	if err != nil {
		w.v = nil
		return nil, err
	}
	now := v.clone()
	if h := v.head; h.Seq > 0 && h.Seq <= v.walk.at.Seq && len(now.report.Faults) == 0 {
		if err := h.holds(f, size); err != nil { // it was read before the head knew it
			now.fault(0, "the head: %v", err)
		}
	}
	p.Size, p.Bytes = size, v.walk.offset
	if until == size {
		now.end(rest)
		p.Bytes = size
	} else if at := v.walk.at; at.Seq > 0 {
		now.report.Records, now.report.Head = at.Seq, at.Hash.String()
	}
	p.Report = *now.report
	return p, nil
}

// clone returns a verifier that may be ended while v goes on.
func (v *verifier) clone() *verifier {
	other, report := *v, *v.report
	report.Faults, report.Notes = slices.Clone(report.Faults), slices.Clone(report.Notes)
	other.report = &report
	return &other
}
