// Package plain puts into words what Go's libraries say of files, programs and the
// network. A person who reads "dial tcp 10.0.0.1:80: connect: connection refused" has to
// know Go; one who reads "nothing listens there" has not.
//
// It is for messages only: the error stays as it is, and programs look at that.
package plain

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Text returns the text of an error, with what libraries say in it put into words. It
// goes by the types of the errors that err wraps, never by their text, so that an error
// whose chain is cut (by %v for %w) stays as it is.
func Text(err error) string {
	text := err.Error()
	eachCause(err, func(cause error) bool {
		words := inWords(cause)
		if words == "" {
			return false
		}
		text = strings.ReplaceAll(text, cause.Error(), words)
		return true
	})
	return text
}

// eachCause calls f for an error and what it wraps, from the outside, until f returns
// true for it.
func eachCause(err error, f func(error) bool) {
	if err == nil || f(err) {
		return
	}
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		eachCause(err.Unwrap(), f)
	case interface{ Unwrap() []error }:
		for _, one := range err.Unwrap() {
			eachCause(one, f)
		}
	}
}

// inWords returns what an error of a library means, "" for any other error.
func inWords(err error) string {
	switch err := err.(type) {
	case *fs.PathError:
		return fileWords(err.Op, err.Path, err.Err)
	case *os.LinkError:
		return fileWords(err.Op, err.New, err.Err)
	case *exec.Error:
		return programWords(err.Name, err.Err)
	case *url.Error:
		return Text(err.Err)
	case *net.OpError:
		return netWords(err)
	case *net.DNSError:
		return "there is no host " + err.Name + ": check its name"
	case *net.AddrError:
		return "write HOST:PORT, such as 127.0.0.1:7717, with a port from 0 to 65535"
	case *tls.CertificateVerificationError:
		return "its certificate is not trusted on this machine: " + Text(err.Err)
	}
	if err == context.DeadlineExceeded {
		return "there was no answer in time"
	}
	return ""
}

// fileWords says why a file cannot be used.
func fileWords(op, path string, cause error) string {
	switch {
	case strings.HasPrefix(op, "fork/exec"):
		return programWords(path, cause)
	case errors.Is(cause, fs.ErrNotExist):
		return "there is no file or directory " + path
	case errors.Is(cause, fs.ErrPermission):
		return "you have no permission to use " + path
	case errors.Is(cause, syscall.EISDIR):
		return path + " is a directory"
	case errors.Is(cause, syscall.ENOTDIR):
		return "a part of " + path + " is not a directory"
	case errors.Is(cause, syscall.ELOOP):
		return path + " is a symbolic link that leads nowhere"
	case errors.Is(cause, syscall.ENOSPC):
		return "the disk is full: " + path
	}
	return path + ": " + cause.Error()
}

// programWords says why a program cannot be started.
func programWords(name string, cause error) string {
	var started *fs.PathError
	if errors.As(cause, &started) {
		cause = started.Err
	}
	switch {
	case errors.Is(cause, exec.ErrNotFound):
		return "there is no program " + name + " on PATH: install it, or name another"
	case errors.Is(cause, fs.ErrNotExist):
		return "there is no program " + name
	case errors.Is(cause, fs.ErrPermission):
		return name + " is not executable: make it so (chmod +x), or name another program"
	case errors.Is(cause, syscall.ENOEXEC):
		return name + " is not a program that this machine can run: name another"
	}
	if errors.Is(cause, syscall.EINVAL) {
		return name + " cannot be started: an argument holds a NUL byte"
	}
	return name + " cannot be started: " + Text(cause)
}

// netWords says why a connection or an address failed.
func netWords(err *net.OpError) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: start it, or give another address"
	case errors.Is(err, syscall.EADDRINUSE):
		return "something listens there already: give another port"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "that is not an address of this machine: give one that is"
	case err.Timeout():
		return "there was no answer in time"
	}
	if words := inWords(err.Err); words != "" {
		return words
	}
	return "the connection failed: " + err.Err.Error()
}
