// Package prefix is the program that the agent CLI starts in front of each command of its
// shell and each of its MCP servers (CLAUDE_CODE_SHELL_PREFIX): this very program, or the
// small one beside it, by another name. It asks the process that drives the agent, on a socket beside that name,
// whether and how the command is to run, and does that. Nobody there, or no answer:
// the command does not run.
//
// The process takes over in init, before main, since it is started for every command.
// Only Linux has it.
package prefix

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// Name is the name by which the program is started; Socket is that of the socket beside it.
const (
	Name   = "agent-wrapper-shell"
	Socket = "socket"
)

// refused is the exit code of a command that does not run, as the shell's for a program
// that cannot be executed.
const refused = 126

// Asked is what is asked.
type Asked struct {
	Build string   // of the program that asks; see build.Name
	Text  string   // what the agent CLI would have its shell run
	Dir   string   // where
	Env   []string // with what environment
}

// Ended is what is told of a command that was started as a child, when it has ended.
type Ended struct {
	Exit   int
	Output []byte `json:",omitempty"` // of one that has failed: the end of what it has written, as far as that can be read
}

// Answer is the answer.
type Answer struct {
	Refused string `json:",omitempty"` // why it does not run; "" if it does
	Says    string `json:",omitempty"` // of the second: what is written behind the command's output

	// The program in its place, with its arguments, and the names of variables that it
	// does not get. If Process is not nil it is started as a child, in the root directory,
	// with the environment Env, those attributes and the descriptors that come with the
	// answer. When it has ended, an Ended tells so, and a second answer says whether it
	// was refused after all.
	Path    string
	Args    []string
	Drop    []string             `json:",omitempty"`
	Env     []string             `json:",omitempty"`
	Process *syscall.SysProcAttr `json:",omitempty"`
}

// maxMessage is the size of the longest message, in bytes.
const maxMessage = 16 << 20

// Write writes a message.
func Write(w io.Writer, message any) error {
	data, err := Encode(message)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// Encode returns a message with its length before it.
func Encode(message any) ([]byte, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	if len(text) > maxMessage {
		return nil, fmt.Errorf("the command and its environment have %d bytes, and %d are the most", len(text), maxMessage)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

// Read reads a message.
func Read(r io.Reader, message any) error {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxMessage {
		return errors.New("the message is too long")
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	return json.Unmarshal(text, message)
}
