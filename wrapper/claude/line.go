package claude

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the length of the longest line that is read, in bytes. Tool results
// may contain images.
const maxLine = 64 << 20

var errLongLine = fmt.Errorf("the agent CLI wrote a line of more than %d MiB", maxLine>>20)

// readLines calls take for each line, without its line feed, until the input ends
// or take returns false. The last line may lack a line feed. The error is nil at
// the end of the input.
func readLines(r io.Reader, most int, take func(line []byte) bool) error {
	b := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > most {
			return errLongLine
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if trimmed := bytes.TrimRight(line, "\r\n"); len(trimmed) > 0 && !take(trimmed) {
			return nil
		}
		if err != nil {
			return atEnd(err)
		}
		line = nil // take may retain it
	}
}

// atEnd maps a closed pipe to the end of the stream, nil.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// whole replaces unpaired surrogate escapes in JSON text and reports whether
// there were any. They appear when the CLI cuts a command's output in the middle
// of a character, and our JSON readers reject them.
func whole(line []byte) (out []byte, broken bool) {
	if !bytes.Contains(line, []byte(`\ud`)) && !bytes.Contains(line, []byte(`\uD`)) {
		return line, false
	}
	out = bytes.Clone(line)
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		first := surrogate(out[i:])
		switch {
		case first == 0:
			i++ // skip the escaped character
		case first == highHalf && surrogate(out[min(i+6, len(out)):]) == lowHalf:
			i += 11
		default:
			copy(out[i+2:], "fffd")
			broken = true
			i += 5
		}
	}
	return out, broken
}

const (
	highHalf = 1 + iota
	lowHalf
)

// surrogate returns which half of a surrogate pair the escape at the start of s
// is, 0 if it is neither.
func surrogate(s []byte) int {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' || s[2]|0x20 != 'd' {
		return 0
	}
	for _, c := range s[4:6] {
		if hex(c) < 0 {
			return 0
		}
	}
	switch d := hex(s[3]); {
	case d >= 8 && d <= 11:
		return highHalf
	case d >= 12:
		return lowHalf
	}
	return 0
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
