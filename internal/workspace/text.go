package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"
)

// maxText is the size of the largest file that ReadText reads, in bytes.
const maxText = 4 << 20

// ReadText reads a UTF-8 text file of at most 4 MiB. Any other file is an error.
func ReadText(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return "", errors.New("it is no file")
	case info.Size() > maxText:
		return "", errors.New("it is larger than 4 MiB")
	}
	file, err := open(path, false)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxText+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxText:
		return "", errors.New("it is larger than 4 MiB")
	case !utf8.Valid(data):
		return "", errors.New("it is no UTF-8 text")
	}
	return string(data), nil
}
