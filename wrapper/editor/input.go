package editor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/agent-wrapper/agent-wrapper/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
)

// maxLine is the length of the longest line of the editor, in bytes.
const maxLine = 16 << 20

// input is a line of the editor. The fields that a type does not use are ignored.
type input struct {
	Type       string            `json:"type"`
	ApprovalID string            `json:"approval_id"`
	Digest     string            `json:"digest"`
	Choice     string            `json:"choice"`
	Rung       *int              `json:"rung"`
	Rules      []string          `json:"rules"`
	For        int               `json:"for"`
	Times      int               `json:"times"`
	Input      json.RawMessage   `json:"input"`
	Message    string            `json:"message"`
	Answers    map[string]string `json:"answers"`
	Text       string            `json:"text"`
	Mode       string            `json:"mode"`
}

// The types of lines.
const (
	approvalResponse = "approval_response"
	choicesResponse  = "choices_response"
	userMessage      = "user_message"
	interrupt        = "interrupt"
	setMode          = "set_mode"
	shutdown         = "shutdown"
)

// simple are the values of the options of approval_required, for editors that show no
// more than those.
var simple = map[string]string{
	"allow_once": desk.Once, "deny_once": desk.Deny, "allow_for_session": desk.Session, "deny_for_session": desk.Never,
}

// decode reads a line.
func decode(line []byte) (input, error) {
	var in input
	if err := strictjson.Decode(line, &in, strictjson.IgnoreUnknown, strictjson.NullAbsent, strictjson.MaxSize(maxLine)); err != nil {
		return input{}, fmt.Errorf("the line cannot be read: %w", err)
	}
	if in.Type == "" {
		return input{}, errors.New("the line has no type")
	}
	return in, nil
}

// reply returns the answer of a line to a question.
func (in *input) reply() desk.Reply {
	choice := in.Choice
	if name := simple[choice]; name != "" {
		choice = name
	}
	if in.Type == choicesResponse {
		return desk.Reply{ID: in.ApprovalID, Digest: in.Digest, Choice: desk.Answers, Answers: in.Answers}
	}
	return desk.Reply{
		ID: in.ApprovalID, Digest: in.Digest, Choice: choice, Rung: in.Rung, Rules: in.Rules,
		For: in.For, Times: in.Times, Input: in.Input, Message: in.Message,
	}
}

// errLong is the error for a line that is too long.
var errLong = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)

// readLines calls take for each line until the input ends or take returns false. A
// line that is too long is skipped; take gets the error for it. Empty lines are
// skipped too.
func readLines(r io.Reader, take func(line []byte, err error) bool) {
	b := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(b)
		if line = bytes.TrimSpace(line); err == nil || errors.Is(err, errLong) || len(line) > 0 {
			long := err
			if !errors.Is(err, errLong) {
				long = nil
			}
			if (long != nil || len(line) > 0) && !take(line, long) {
				return
			}
		}
		if err != nil && !errors.Is(err, errLong) {
			return
		}
	}
}

// readLine returns the next line in memory of its own. After errLong the next line
// can be read.
func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := b.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil && long:
			return nil, errLong
		}
		return line, err
	}
}
