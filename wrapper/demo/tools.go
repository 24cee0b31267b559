package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tools are the agent's tools in the workspace dir.
type tools struct{ dir string }

// input has the fields of all tools' inputs.
type input struct {
	Path    string `json:"file_path"`
	Content string `json:"content"`
	Old     string `json:"old_string"`
	New     string `json:"new_string"`
	Command string `json:"command"`
}

// expand returns a step's input as the agent CLI would send it, with an absolute
// path.
func (t tools) expand(s Step) json.RawMessage {
	var fields map[string]json.RawMessage
	var in input
	if json.Unmarshal(s.Input, &fields) != nil || json.Unmarshal(s.Input, &in) != nil || in.Path == "" || filepath.IsAbs(in.Path) {
		return s.Input
	}
	path, err := json.Marshal(filepath.Join(t.dir, in.Path))
	if err != nil {
		return s.Input
	}
	fields["file_path"] = path
	whole, err := json.Marshal(fields)
	if err != nil {
		return s.Input
	}
	return whole
}

// use runs a tool and returns the text of its result.
func (t tools) use(tool string, raw json.RawMessage) (text string, failed bool) {
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		return err.Error(), true
	}
	text, err := t.try(tool, in)
	if err != nil {
		return err.Error(), true
	}
	return text, false
}

func (t tools) try(tool string, in input) (string, error) {
	switch tool {
	case "Read":
		return t.readFile(in.Path)
	case "Write":
		return "written", t.writeFile(in.Path, in.Content)
	case "Edit":
		return t.edit(in)
	case "Bash":
		return t.bash(in.Command)
	}
	return "(the demo only pretends to do this)", nil
}

// open opens the workspace; paths outside of it cannot be reached through it.
func (t tools) open(path string) (*os.Root, string, error) {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, "", err
	}
	rel := path
	if filepath.IsAbs(path) {
		if rel, err = filepath.Rel(t.dir, path); err != nil {
			root.Close()
			return nil, "", err
		}
	}
	return root, rel, nil
}

func (t tools) readFile(path string) (string, error) {
	root, rel, err := t.open(path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := root.ReadFile(rel)
	return string(text), err
}

func (t tools) writeFile(path, text string) error {
	root, rel, err := t.open(path)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.WriteFile(rel, []byte(text), 0o644)
}

func (t tools) edit(in input) (string, error) {
	text, err := t.readFile(in.Path)
	if err != nil {
		return "", err
	}
	if strings.Count(text, in.Old) != 1 {
		return "", fmt.Errorf("%q does not stand there once", in.Old)
	}
	return "edited", t.writeFile(in.Path, strings.Replace(text, in.Old, in.New, 1))
}

func (t tools) remove(path string) error {
	root, rel, err := t.open(path)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(rel)
}

// bash acts on the command lines that it knows, as their programs would. No
// line is ever given to a shell.
func (t tools) bash(line string) (string, error) {
	switch line {
	case "git status":
		return "On branch main\nnothing to commit, working tree clean", nil
	case "npm test":
		return "1 test passed", nil
	case "git push origin main":
		return "main -> main", nil
	case "git status && grep -r TOKEN .env":
		text, err := t.readFile(".env")
		return "On branch main\n" + text, err
	case "rm -rf build":
		return "", t.remove("build")
	}
	return "(the demo only pretends to run this)", nil
}
