// Package ledger copies the record of a server's decisions (package audit) to a store,
// so that the records of several servers are in one place. The local record stays what
// counts: a decision is recorded there before it is told, and copied later. The lines
// are copied as they are, so that a copy proves as much as its record.
package ledger

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// Store is the part of a store.Store that holds the copies.
type Store interface {
	AppendAudit(ctx context.Context, server string, after int64, lines ...[]byte) error
	AuditServers(ctx context.Context) (map[string]int64, error)
}

// Copier copies one record. It is not safe for concurrent use.
type Copier struct {
	store        Store
	server, path string

	name   string // of the copy; "" before the first line was read
	lines  int64  // copied
	offset int64  // behind them, in the file
}

// New returns a Copier for the record at path of the server with that name.
func New(s Store, server, path string) *Copier { return &Copier{store: s, server: server, path: path} }

// The limits of what is copied at once, in lines and in bytes, and of a line.
const (
	maxLines = 256
	maxBytes = 1 << 20
	maxLine  = 16 << 20 // as package audit has it
)

// Copy copies the whole lines that the store does not have yet. It begins where any
// Copier before has ended. A record that was moved away and begun anew gets a copy of
// its own: the name of a copy is that of the server, "#" and the beginning of the hash
// of the first line.
func (c *Copier) Copy(ctx context.Context) error {
	f, err := os.Open(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing is decided yet
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := c.begin(ctx, f); err != nil || c.name == "" {
		return err
	}
	for {
		n, err := c.some(ctx, f)
		if errors.Is(err, store.ErrChanged) { // another one copies the same record
			c.name = ""
			err = c.begin(ctx, f)
		}
		if err != nil || n == 0 {
			return err
		}
	}
}

// begin finds the copy of the file's record, and what of it is copied.
func (c *Copier) begin(ctx context.Context, f *os.File) error {
	first, err := next(bufio.NewReader(io.NewSectionReader(f, 0, maxLine+1)))
	if err != nil || first == nil {
		return err
	}
	sum := sha256.Sum256(first)
	name := c.server + "#" + hex.EncodeToString(sum[:6])
	if name == c.name {
		return nil
	}
	known, err := c.store.AuditServers(ctx)
	if err != nil {
		return err
	}
	in, offset := bufio.NewReader(io.NewSectionReader(f, 0, math.MaxInt64)), int64(0)
	for n := range known[name] {
		line, err := next(in)
		if err != nil {
			return err
		}
		if line == nil {
			return fmt.Errorf("the audit log %s has %d lines, and its copy %s has %d: it was cut", c.path, n, name, known[name])
		}
		offset += int64(len(line)) + 1
	}
	c.name, c.lines, c.offset = name, known[name], offset
	return nil
}

// some copies the next lines, and returns how many.
func (c *Copier) some(ctx context.Context, f *os.File) (n int, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() < c.offset {
		return 0, fmt.Errorf("the audit log %s has %d bytes, and its first %d are in the copy %s: it was cut", c.path, info.Size(), c.offset, c.name)
	}
	in := bufio.NewReader(io.NewSectionReader(f, c.offset, info.Size()-c.offset))
	var lines [][]byte
	size := 0
	for len(lines) < maxLines && size < maxBytes {
		line, err := next(in)
		if err != nil {
			return 0, err
		}
		if line == nil {
			break
		}
		lines, size = append(lines, line), size+len(line)+1
	}
	if len(lines) == 0 {
		return 0, nil
	}
	if err := c.store.AppendAudit(ctx, c.name, c.lines, lines...); err != nil {
		return len(lines), err
	}
	c.lines, c.offset = c.lines+int64(len(lines)), c.offset+int64(size)
	return len(lines), nil
}

// next returns the next whole line without its line feed, nil if there is none.
func next(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case err == io.EOF:
			return nil, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		case len(line) > maxLine:
			return nil, fmt.Errorf("a line is longer than %d bytes: it is none of an audit log", maxLine)
		}
	}
}

// Follow copies what is added to the record every so often until ctx ends, and once
// more then. After an error it tries again; failed is told of the first of several.
func (c *Copier) Follow(ctx context.Context, every time.Duration, failed func(error)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for failing := false; ctx.Err() == nil; {
		err := c.Copy(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			failed(err)
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
	defer cancel()
	if err := c.Copy(ctx); err != nil {
		failed(err)
	}
}

// lastTime is how long the last copying may take.
const lastTime = 5 * time.Second
