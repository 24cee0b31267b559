//go:build linux

// Command logger is installed in the box under the name of every program. It
// records that the program was started, and then becomes the real program if
// there is one. Otherwise it is a stub that prints words that nothing should
// run.
package main

import (
	"encoding/binary"
	"path"
	"strings"
	"syscall"
)

const (
	trace  = "/log/trace"
	real   = "/real/name/"
	parent = "BOX_PARENT="
	stub   = "-rf --output=x c9\nc9 /outside/f\n"
)

func main() {
	args, env := argv(), syscall.Environ()
	name := ownName()
	if script(args) {
		become(name, args, env) // a real program that is itself a script
	}
	if name == "run" && len(args) > 1 {
		args = args[1:] // #!/usr/bin/run: the program that was started is the script
	}
	id := record(name, args, env)
	become(name, args, append(without(env), parent+id))
	syscall.Write(1, []byte(stub))
}

// argv returns the argument vector without package os, which would take longer
// to start.
func argv() []string {
	data := readFile("/proc/self/cmdline")
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

func readFile(name string) []byte {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		syscall.Exit(126)
	}
	defer syscall.Close(fd)
	var out []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := syscall.Read(fd, buf)
		if n <= 0 || err != nil {
			return out
		}
		out = append(out, buf[:n]...)
	}
}

// ownName returns the name of the file that was started, whatever its argv.
func ownName() string {
	buf := make([]byte, 4096)
	n, err := syscall.Readlink("/proc/self/exe", buf)
	if err != nil {
		syscall.Exit(126)
	}
	return path.Base(string(buf[:n]))
}

func script(args []string) bool { return len(args) > 1 && strings.HasPrefix(args[1], "/real/") }

func become(name string, args, env []string) {
	_ = syscall.Exec(real+name, args, env) // returns if there is no real program
}

// record appends what was started to the trace in one write, and returns its
// id.
func record(name string, args, env []string) string {
	var now syscall.Timeval
	syscall.Gettimeofday(&now)
	id := decimal(syscall.Getpid()) + "." + decimal(int(now.Sec%1000)*1_000_000+int(now.Usec))
	from := ""
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, parent); ok {
			from = rest
		}
	}
	dir, _ := syscall.Getwd()
	fields := append([]string{id, from, decimal(syscall.Getpid()), decimal(syscall.Getppid()), dir, name}, args...)
	out := binary.BigEndian.AppendUint32(nil, uint32(len(fields)))
	for _, f := range fields {
		out = binary.BigEndian.AppendUint32(out, uint32(len(f)))
		out = append(out, f...)
	}
	fd, err := syscall.Open(trace, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CLOEXEC, 0)
	if err == nil {
		_, err = syscall.Write(fd, out)
	}
	if err != nil {
		syscall.Exit(126) // nothing may run unrecorded
	}
	syscall.Close(fd)
	return id
}

func without(env []string) []string {
	var out []string
	for _, v := range env {
		if !strings.HasPrefix(v, parent) {
			out = append(out, v)
		}
	}
	return out
}

func decimal(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}
