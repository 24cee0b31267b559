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
)

// Name is the name by which the program is started; Socket is that of the socket beside it.
const (
	Name   = "agent-wrapper-shell"
	Socket = "socket"
)

// refused is the exit code of a command that does not run, as the shell's for a program
// that cannot be executed.
const refused = 126

// Asked is what is asked. The streams of the command come with it.
type Asked struct {
	Build string   // of the program that asks; see build.Name
	Text  string   // what the agent CLI would have its shell run
	Dir   string   // where
	Env   []string // with what environment
}

// exact is Asked as a message: the text of JSON has no bytes that are not UTF-8, which names of
// directories and values of variables may have.
type exact struct {
	Build     string
	Text, Dir []byte
	Env       [][]byte
}

// MarshalJSON returns the message.
func (a *Asked) MarshalJSON() ([]byte, error) {
	e := exact{Build: a.Build, Text: []byte(a.Text), Dir: []byte(a.Dir)}
	for _, entry := range a.Env {
		e.Env = append(e.Env, []byte(entry))
	}
	return json.Marshal(e)
}

// UnmarshalJSON reads it.
func (a *Asked) UnmarshalJSON(data []byte) error {
	var e exact
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	*a = Asked{Build: e.Build, Text: string(e.Text), Dir: string(e.Dir)}
	for _, entry := range e.Env {
		a.Env = append(a.Env, string(entry))
	}
	return nil
}

// Signal is sent after it, for each signal that comes.
type Signal struct{ Number int }

// Answer is the answer: the command does not run, or it runs in place of this process, or
// whoever decides has run it.
type Answer struct {
	Refused string `json:",omitempty"` // why it does not run; "" if it does

	Ran  bool   `json:",omitempty"`
	Code int    `json:",omitempty"` // the exit code of what has run
	Says string `json:",omitempty"` // what is written behind its output

	// The program in its place, with its arguments, and the names of variables that it
	// does not get.
	Path string   `json:",omitempty"`
	Args []string `json:",omitempty"`
	Drop []string `json:",omitempty"`
}

// maxMessage is the size of the longest message, in bytes.
const maxMessage = 16 << 20

// Write writes a message.
func Write(w io.Writer, message any) error {
	data, err := encode(message)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// encode returns a message with its length before it.
func encode(message any) ([]byte, error) {
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
