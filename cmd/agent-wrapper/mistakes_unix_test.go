//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// mistakes is a document: what a newcomer types, and what the program says to it. Its
// first lines tell how it is written.
const mistakes = "testdata/mistakes.txt"

// mistake is one of them.
type mistake struct {
	about string
	files []mistakeFile
	// line is what is typed, read by sh.
	line string
	// wrong is the text that the message must name; "" if nothing is wrong, as with an
	// empty list.
	wrong string
	said  string
	code  int
}

type mistakeFile struct {
	name, text string
	mode       os.FileMode
	link       string // the target of a symbolic link
}

// Every message names what is wrong and says what to do, in words that are not those
// of a library.
func TestMistakes(t *testing.T) {
	slow.Test(t)
	doc, err := os.ReadFile(mistakes)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(strings.TrimRight(string(doc), "\n"), "\n\n")
	vars := places(t)
	t.Run("rows", func(t *testing.T) {
		for i, block := range blocks {
			if !strings.Contains(block, "\n  $ ") {
				continue // a heading, or how to read this
			}
			m, err := readMistake(block)
			if err != nil {
				t.Fatalf("%v:\n%s", err, block)
			}
			t.Run(m.about, func(t *testing.T) {
				t.Parallel()
				m.make(t, vars)
				m.judge(t)
				blocks[i] = m.String()
			})
		}
	})
	golden.Check(t, mistakes, strings.Join(blocks, "\n\n")+"\n")
}

// readMistake reads a block of the document.
func readMistake(block string) (*mistake, error) {
	m := &mistake{}
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(strings.TrimPrefix(line, "  "), " ")
		switch {
		case !strings.HasPrefix(line, "  "):
			m.about += line
		case word == "file":
			name, mode, _ := strings.Cut(rest, " ")
			perm, err := strconv.ParseUint("0"+strings.Trim(mode, "()"), 8, 32)
			if mode == "" {
				perm = 0o644
			} else if err != nil {
				return nil, err
			}
			m.files = append(m.files, mistakeFile{name: name, mode: os.FileMode(perm)})
		case word == "link":
			name, to, _ := strings.Cut(rest, " ")
			m.files = append(m.files, mistakeFile{name: name, link: to})
		case word == "|" && len(m.files) > 0:
			m.files[len(m.files)-1].text += rest + "\n"
		case word == "$" && m.line == "":
			m.line = rest
		case word == "wrong:":
			m.wrong = rest
		case word == ">" || word == "exit": // what it said last
		default:
			return nil, fmt.Errorf("unknown line %q", line)
		}
	}
	return m, nil
}

// String writes a mistake as it is read.
func (m *mistake) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, m.about)
	for _, f := range m.files {
		if f.link != "" {
			fmt.Fprintf(&b, "  link %s %s\n", f.name, f.link)
			continue
		}
		mode := ""
		if f.mode != 0o644 {
			mode = fmt.Sprintf(" (%03o)", f.mode)
		}
		fmt.Fprintf(&b, "  file %s%s\n", f.name, mode)
		for line := range strings.Lines(f.text) {
			fmt.Fprintf(&b, "  | %s", line)
		}
	}
	fmt.Fprintf(&b, "  $ %s\n", m.line)
	if m.wrong != "" {
		fmt.Fprintf(&b, "  wrong: %s\n", m.wrong)
	}
	for line := range strings.Lines(m.said) {
		fmt.Fprintf(&b, "  > %s\n", strings.TrimSuffix(line, "\n"))
	}
	fmt.Fprintf(&b, "  exit %d", m.code)
	return b.String()
}

// places returns what is there for all of them: a service with the token of an agent,
// an address that is taken, and one where nothing listens.
func places(t *testing.T) map[string]string {
	t.Helper()
	url, mint := approvalService(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	return map[string]string{
		"SERVER": url, "AGENT_TOKEN": mint("agent", "ci"),
		"TAKEN": taken.Addr().String(), "NOBODY": free.Addr().String(),
	}
}

// make makes the mistake, in a project and a home of its own, without any program
// but agent-wrapper.
func (m *mistake) make(t *testing.T, vars map[string]string) {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, project := filepath.Join(work, "home/ann"), filepath.Join(work, "src/web")
	for _, dir := range []string{home, project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range append(m.files, shellOfExec) {
		f.make(t, project)
	}
	program, err := exec.LookPath("agent-wrapper")
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", m.line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = project, &said, &said
	cmd.Env = []string{"PATH=" + filepath.Dir(program) + ":" + filepath.Join(project, filepath.Dir(shellOfExec.name)), "HOME=" + home, "NO_COLOR=1", "COLUMNS=80", "PWD=" + project}
	for name, value := range vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	m.code = exitOf(t, cmd.Run())
	m.said = strings.ReplaceAll(said.String(), work, "")
	for name, value := range vars {
		m.said = strings.ReplaceAll(m.said, value, "$"+name)
	}
}

// shellOfExec is what runs a command line of exec.
var shellOfExec = mistakeFile{name: "../bin/bash", text: "#!/bin/sh\nshift; exec /bin/sh \"$@\"\n", mode: 0o755}

func (f *mistakeFile) make(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, f.name)
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if f.link != "" {
		err = errors.Join(err, os.Symlink(f.link, name))
	} else {
		err = errors.Join(err, os.WriteFile(name, []byte(f.text), 0o600), os.Chmod(name, f.mode))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// exitOf returns the exit code of a program that ran.
func exitOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && !errors.Is(err, context.Canceled):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// raw are the words of libraries and of Go, which tell a person nothing.
var raw = regexp.MustCompile(`strconv|%!|dial tcp|invalid argument|panic|goroutine|executable file not found|x509|unmarshal|EOF|0x[0-9a-f]{6}|<nil>|` +
	`(?:^|[ (])(?:json|toml|yaml|url|exec|net|fs|os|syscall|http|pflag|cobra|context|errors|time|engine)[.:] ?[a-zA-Z]|` +
	`\b(?:open|stat|lstat|read|mkdir|fork/exec|connect|bind|listen tcp) [^ ]*: |\*[a-z]+\.[A-Z]|\[\]string|map\[|interface`)

// action is a clause that says what to do, or what was meant: a verb at its beginning, or
// what is to stand in a place.
var action = regexp.MustCompile(`(?:^|\(|[:;.,>] |\n\s*| or |, and )(?:did you mean|(?:` +
	`write|give|name|use|add|leave|put|make|set|run|start|see|choose|remove|quote|log in|install|look|try|check|create|save|close|change) )|` +
	` must be [a-z"]| is expected|the keys are `)

// judge holds what was said to what a message must have.
func (m *mistake) judge(t *testing.T) {
	t.Helper()
	if found := raw.FindString(m.said); found != "" {
		t.Errorf("%q reads like a library:\n%s", found, m.said)
	}
	if m.wrong == "" {
		if m.code != codeDone || m.said == "" {
			t.Errorf("nothing is wrong, and yet: exit code %d\n%s", m.code, m.said)
		}
		return
	}
	if m.code == codeDone {
		t.Errorf("exit code 0:\n%s", m.said)
	}
	if !strings.Contains(m.said, m.wrong) {
		t.Errorf("it does not name %s:\n%s", m.wrong, m.said)
	}
	if !action.MatchString(m.said) {
		t.Errorf("it does not say what to do:\n%s", m.said)
	}
}
