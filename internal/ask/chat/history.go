package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// The limits of a history.
const (
	maxPrompts     = 500      // with twice as many, the older ones go
	maxPromptSize  = 16 << 10 // what is longer is not kept
	maxHistorySize = 8 << 20  // of the file
)

// promptsName is the file of the prompts, one JSON string a line.
const promptsName = "prompts.jsonl"

// Folder is the directory of what is kept of the conversations in one workspace: the
// prompts, with secrets masked, and the last session. Only the user can read it. The zero
// value keeps nothing.
type Folder struct{ dir string }

// FolderOf returns the folder of a workspace below the state directory.
func FolderOf(state, workspace string) Folder {
	if state == "" {
		return Folder{}
	}
	return Folder{filepath.Join(state, "conversations", fmt.Sprintf("%x", sha256.Sum256([]byte(workspace)))[:32])}
}

// last is the last session.
type last struct {
	V       int       `json:"v"`
	Session string    `json:"session"`
	At      time.Time `json:"at"`
}

// Last returns the last session of the workspace, "" if there is none.
func (f Folder) Last() (string, error) {
	if f.dir == "" {
		return "", nil
	}
	path := filepath.Join(f.dir, "last.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var l last
	if err == nil {
		err = strictjson.Decode(data, &l, strictjson.MaxSize(1<<16))
	}
	if err == nil && l.V != 1 {
		err = errors.New("it is of another version")
	}
	if err != nil {
		return "", fmt.Errorf("%s does not tell the last session, remove it: %w", path, err)
	}
	return l.Session, nil
}

// SetLast keeps the last session.
func (f Folder) SetLast(session string, at time.Time) error {
	if f.dir == "" {
		return nil
	}
	data, err := json.Marshal(last{1, session, at.UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return f.write("last.json", append(data, '\n'))
}

func (f Folder) write(name string, data []byte) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(f.dir, name), data, 0o600)
}

// append adds a prompt to the file, which other processes may do as well.
func (f Folder) append(prompt string) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(f.dir, promptsName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(encoded(prompt))
	return errors.Join(err, file.Close())
}

// history are the prompts that a person has typed, the oldest first.
type history struct {
	all   []string // as they were typed, or as they were kept
	at    int      // the index of what is in the line; len(all) for a new text
	draft string   // the new text, while an older one is in the line
	file  Folder
}

// open reads the history of a folder. What cannot be read is left out.
func openHistory(f Folder) (*history, error) {
	h := &history{file: f}
	if f.dir == "" {
		return h, nil
	}
	data, err := os.ReadFile(filepath.Join(f.dir, promptsName))
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	for line := range bytes.Lines(data[max(len(data)-maxHistorySize, 0):]) {
		var prompt string
		if json.Unmarshal(line, &prompt) == nil && prompt != "" {
			h.all = append(h.all, prompt)
		}
	}
	if len(h.all) >= 2*maxPrompts {
		h.all = h.all[len(h.all)-maxPrompts:]
		err = f.write(promptsName, encoded(h.all...))
	}
	h.at = len(h.all)
	return h, err
}

// encoded returns prompts as lines of the file.
func encoded(prompts ...string) []byte {
	var out bytes.Buffer
	for _, prompt := range prompts {
		line, _ := json.Marshal(prompt) // a string always can be
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

// add adds a prompt. One that begins with a blank is kept nowhere.
func (h *history) add(text string) error {
	defer func() { h.at, h.draft = len(h.all), "" }()
	if text == "" || strings.HasPrefix(text, " ") || len(h.all) > 0 && h.all[len(h.all)-1] == text {
		return nil
	}
	h.all = append(h.all, text)
	if h.file.dir == "" || len(text) > maxPromptSize {
		return nil
	}
	masked, _ := mask.Text(text)
	return h.file.append(masked)
}

// find returns the index of the newest prompt with the words, in small or large letters,
// that is not behind the index from; -1 if there is none.
func (h *history) find(words string, from int) int {
	words = strings.ToLower(words)
	for at := min(from, len(h.all)-1); at >= 0; at-- {
		if strings.Contains(strings.ToLower(h.all[at]), words) {
			return at
		}
	}
	return -1
}

// older puts the prompt before the one in the line into it.
func (h *history) older(e *edit) bool {
	if h.at == 0 {
		return false
	}
	if h.at == len(h.all) {
		h.draft = e.String()
	}
	h.at--
	e.set(h.all[h.at])
	return true
}

// newer puts the prompt behind the one in the line into it, and in the end the new text.
func (h *history) newer(e *edit) bool {
	if h.at >= len(h.all) {
		return false
	}
	h.at++
	if h.at == len(h.all) {
		e.set(h.draft)
	} else {
		e.set(h.all[h.at])
	}
	return true
}
