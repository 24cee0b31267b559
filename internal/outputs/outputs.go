// Package outputs reads the end of what a program has written into files that it was given
// for its output. What is read is the program's: whoever uses it takes it for words.
package outputs

import (
	"fmt"
	"io"
	"os"
)

// most is how many bytes of the end of one file are read.
const most = 4 << 10

// Files are files that a program writes to, each from where it began.
type Files []output

type output struct {
	file *os.File
	from int64
}

// Of returns those of the files that are regular ones, each once, as they are before the
// program is started. The others, of which nothing can be read again, are left out.
func Of(files ...*os.File) Files {
	var all Files
	var seen []os.FileInfo
	for _, f := range files {
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() || len(seen) > 0 && os.SameFile(seen[0], info) {
			continue
		}
		seen = append(seen, info)
		all = append(all, output{f, info.Size()})
	}
	return all
}

// Read returns the end of what was written since Of, of one file after the other. What
// cannot be read is left out.
func (o Files) Read() []byte {
	var all []byte
	for _, one := range o {
		all = append(all, one.read()...)
	}
	return all
}

// read opens the file once more, since it may be open for writing only.
func (o output) read() []byte {
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", o.file.Fd()))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	from := o.from
	if info.Size() < from {
		from = 0 // it was cut
	}
	from = max(from, info.Size()-most)
	text := make([]byte, min(info.Size()-from, most))
	n, err := f.ReadAt(text, from)
	if err != nil && err != io.EOF {
		return nil
	}
	return text[:n]
}

// Kept passes on what is written, and keeps its end.
type Kept struct {
	To   io.Writer
	text []byte
}

// Write implements io.Writer.
func (k *Kept) Write(p []byte) (int, error) {
	n, err := k.To.Write(p)
	k.text = append(k.text, p[max(n-most, 0):max(n, 0)]...)
	if len(k.text) > 2*most {
		k.text = append(k.text[:0], k.text[len(k.text)-most:]...)
	}
	return n, err
}

// Read returns the end of what was written. It must not be called while something is.
func (k *Kept) Read() []byte { return k.text[max(len(k.text)-most, 0):] }
