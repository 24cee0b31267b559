package workspace

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
)

// gitlinks returns the paths of the submodules in the index of a repository whose
// hashes have a number of bytes (gitformat-index(5)).
func gitlinks(store string, hash int) (links []string, err error) {
	err = eachIndexed(store, hash, func(name []byte, mode uint32) {
		if mode&0o170000 == kindGitlink {
			links = append(links, string(name))
		}
	})
	return links, err
}

// eachIndexed calls visit with the path and the mode of each entry of the index of a
// repository.
func eachIndexed(store string, hash int, visit func(name []byte, mode uint32)) error {
	x := indexReader{hash: hash}
	var err error
	x.data, err = readRegular(filepath.Join(store, "index"), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err = x.each(visit); err != nil || x.shared == "" {
		return err
	}
	completed := indexReader{hash: hash}
	if completed.data, err = readRegular(filepath.Join(store, "sharedindex."+x.shared), maxIndex); err != nil {
		return err
	}
	return completed.each(visit)
}

// indexReader reads an index.
type indexReader struct {
	data   []byte
	hash   int // bytes of a hash
	at     int
	shared string // the name of the index that this one completes, "" if none
	failed bool
}

var errIndex = errors.New("the index cannot be read")

// take returns the next n bytes.
func (x *indexReader) take(n int) []byte {
	if x.failed || n < 0 || n > len(x.data)-x.at {
		x.failed = true
		return make([]byte, max(0, min(n, 64)))
	}
	x.at += n
	return x.data[x.at-n : x.at]
}

func (x *indexReader) number() int { return int(binary.BigEndian.Uint32(x.take(4))) }

const (
	statSize    = 40 // bytes of an entry before its hash
	modeAt      = 24
	kindGitlink = 0o160000
)

// each calls visit with the path and the mode of each entry.
func (x *indexReader) each(visit func(name []byte, mode uint32)) error {
	if string(x.take(4)) != "DIRC" {
		return errIndex
	}
	version, entries := x.number(), x.number()
	if version < 2 || version > 4 {
		return errIndex
	}
	var name []byte
	for range entries {
		start := x.at
		mode := binary.BigEndian.Uint32(x.take(statSize)[modeAt:])
		x.take(x.hash)
		if flags := binary.BigEndian.Uint16(x.take(2)); version > 2 && flags&0x4000 != 0 {
			x.take(2)
		}
		name = x.name(version, name)
		if version < 4 {
			x.take((8 - (x.at-start)%8) % 8)
		}
		if x.failed {
			return errIndex
		}
		visit(name, mode)
	}
	return x.extensions()
}

// name returns the name of an entry, with the NUL bytes behind it taken: in version 4
// it is what changes of the name before.
func (x *indexReader) name(version int, before []byte) []byte {
	if version == 4 {
		strip := x.varint()
		if strip > len(before) {
			x.failed = true
			return nil
		}
		before = before[:len(before)-strip]
	} else {
		before = nil
	}
	if x.failed {
		return nil
	}
	n := bytes.IndexByte(x.data[x.at:], 0)
	rest := x.take(n)
	x.take(1)
	return append(bytes.Clone(before), rest...)
}

// varint reads a number as git encodes offsets (gitformat-pack(5)).
func (x *indexReader) varint() int {
	b := x.take(1)[0]
	value := int(b & 0x7f)
	for b&0x80 != 0 && !x.failed && value < maxIndex {
		b = x.take(1)[0]
		value = (value+1)<<7 | int(b&0x7f)
	}
	return value
}

// extensions reads what follows the entries, up to the hash at the end.
func (x *indexReader) extensions() error {
	for !x.failed && len(x.data)-x.at > x.hash {
		name := string(x.take(4))
		body := x.take(x.number())
		if name == "link" && len(body) >= x.hash {
			x.shared = hex.EncodeToString(body[:x.hash])
		}
	}
	if x.failed || len(x.data)-x.at != x.hash {
		return errIndex
	}
	return nil
}
