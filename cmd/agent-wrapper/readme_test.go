//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/test/picture"
	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// listing is a block of code in a page: fenced, with a language, or indented.
type listing struct {
	language, text string
	line           int
}

// listings returns the blocks of a page in Markdown, in their order.
func listings(text string) (all []listing) {
	var open *listing
	close := func() {
		if open != nil {
			open.text = strings.TrimRight(open.text, "\n")
			all, open = append(all, *open), nil
		}
	}
	fenced, before := false, ""
	for i, line := range strings.Split(text, "\n") {
		language, fence := strings.CutPrefix(line, "```")
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case fence && fenced:
			fenced = false
			close()
		case fence:
			fenced = true
			open = &listing{language: language, line: i + 2}
		case fenced:
			open.text += line + "\n"
		case indented && (open != nil || before == ""):
			if open == nil {
				open = &listing{line: i + 1}
			}
			open.text += code + "\n"
		default:
			close()
		}
		before = line
	}
	close()
	return all
}

// Lines of a block: what ends with a backslash goes on, and a comment follows blanks.
var (
	goesOn  = regexp.MustCompile(`\\\n\s*`)
	comment = regexp.MustCompile(`\s+#.*$`)
)

// commands returns the commands of a block, without comments.
func (b listing) commands() (all []string) {
	for line := range strings.Lines(goesOn.ReplaceAllString(b.text, "")) {
		if line = strings.TrimSpace(comment.ReplaceAllString(strings.TrimSpace(line), "")); line != "" {
			all = append(all, line)
		}
	}
	return all
}

func TestListings(t *testing.T) {
	text := "# x\n\n    go a \\\n        --b   # why\n    c\n\n- item\n    goes on\n\n```toml\na = 1\n\n    b\n```\n\n```sh\nd\n```\n    e\n"
	var got []string
	for _, b := range listings(text) {
		got = append(got, fmt.Sprintf("%d %s %q", b.line, b.language, b.commands()))
	}
	want := []string{`3  ["go a --b" "c"]`, `11 toml ["a = 1" "b"]`, `17 sh ["d"]`}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// deed is what a reader does with a command of the README.
type deed struct {
	command string            // as the README has it
	typed   string            // what is typed in its place
	files   map[string]string // what the reader has written before, in the project
	uses    []string          // what the agent does
	acts    []act
	code    int
	shot    shot // of all that it has shown
	// alone means that it runs in CI: nothing is a terminal.
	alone bool
	// stays means that the command waits for what the next one does, in another terminal.
	stays bool
	// allows means that the reader then allows what waits, by its id.
	allows bool
}

// act is what the reader does while a command runs: waits until it shows something, takes
// a picture, presses a key once a key counts, or types.
type act struct {
	sees  string
	shot  shot
	press string
	types string
}

// shot is a picture: its name in docs/pictures and what it is called, what it shows.
type shot struct{ name, title, description string }

// reader is somebody who follows the README in a terminal of 80x24: a shell in a project.
type reader struct {
	*terminal
	row int // where the last command was typed
}

// shownHome is the home of the reader in pictures; the real one is as long.
const shownHome = "/home/dev"

// newHome makes a home with a project, and with the agent on PATH.
func newHome(t *testing.T) string {
	t.Helper()
	for range 1000 {
		home := fmt.Sprintf("/tmp/%04d", rand.IntN(1e4))
		if os.Mkdir(home, 0o700) != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(home) })
		for name, text := range map[string]string{
			"bin/claude":          "#!/bin/sh\nPRETEND_SESSION=5f0e4c1a PRETEND_TASK=$(cat \"$HOME/task\") exec pretend-agent \"$@\"\n",
			"shop/.git/HEAD":      "ref: refs/heads/main\n",
			"shop/go.mod":         "module shop\n\ngo 1.26\n",
			"shop/price.go":       "package shop\n\nfunc price(n int) int { return n * 99 }\n",
			"shop/web/index.html": "<h1>Shop</h1>\n",
			"tmp/x":               "",
		} {
			write(t, filepath.Join(home, name), text)
		}
		if err := os.Chmod(filepath.Join(home, "bin/claude"), 0o700); err != nil {
			t.Fatal(err)
		}
		return home
	}
	t.Fatal("no directory can be made")
	return ""
}

// shellMark is what the shell writes before its prompt, unseen: how the command ended. (The
// mark of FinalTerm for that, OSC 133)
var shellMark = regexp.MustCompile("\x1b\\]133;D;([0-9]+)\a\\$ ")

// sitDown opens a terminal with a shell in the project.
func sitDown(t *testing.T, home string) *reader {
	t.Helper()
	shell := exec.Command("sh", "-i")
	shell.Dir = filepath.Join(home, "shop")
	shell.Env = []string{
		"PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH"), "TMPDIR=" + home + "/tmp", "LANG=C.UTF-8",
		"NO_COLOR=", "ENV=", "EDITOR=", "COLUMNS=", "LINES=", "PS1=\x1b]133;D;$?\a$ ", "PS2=> ",
	}
	r := &reader{terminal: startedBy(t, home, "xterm-256color", shell)}
	r.resize()
	r.ends()
	return r
}

// resize makes the terminal one of 80x24. It does so from the side of the shell: on the other
// one Fd would make reading block.
func (r *reader) resize() {
	r.t.Helper()
	tty, err := os.OpenFile(r.name, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tty.Close()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		r.t.Fatal(err)
	}
}

// varying is what differs from run to run, and what is shown in its place.
var varying = []struct {
	pattern *regexp.Regexp
	shown   string
}{
	{regexp.MustCompile(`agent-wrapper-demo-[0-9]+`), "agent-wrapper-demo-1234567890"},
	{regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}([ T])[0-9]{2}:[0-9]{2}:[0-9]{2}`), "2026-03-01${1}12:00:00"},
	{regexp.MustCompile(`(?m)^[a-z0-9]{6}  [0-9]+s +`), "k3f9qz  0s   "},
	{regexp.MustCompile(`((?:approvals (?:allow|show|deny)|allowed) )[a-z0-9]{6}\b`), "${1}k3f9qz"},
	{regexp.MustCompile(`("duration_ms":)[0-9]+`), "${1}40"},
	{regexp.MustCompile(`(approved by )` + regexp.QuoteMeta(whoami()) + `\b`), "${1}dev"},
	{regexp.MustCompile(`(turns?, \$[0-9.]+, )[0-9]+s`), "${1}1s"},
}

// whoami returns the name of the user, which approvals gives as who answered.
func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "dev"
}

// steady replaces what differs from run to run.
func steady(text, home string) string {
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.shown)
	}
	return strings.ReplaceAll(text, home, shownHome)
}

// now returns the terminal as it is.
func (r *reader) now() *screen.Terminal {
	r.t.Helper()
	r.mu.Lock()
	written := r.text.String()
	r.mu.Unlock()
	s := screen.New(80, 24)
	s.Write([]byte(steady(written, r.home)))
	if unknown := s.Unknown(); len(unknown) > 0 {
		r.t.Errorf("the terminal does not know %q:\n%s", unknown, screen.Text(s.From(r.row)))
	}
	return s
}

// since returns what is shown from the last command on.
func (r *reader) since() [][]screen.Cell { return r.now().From(r.row) }

// sees waits until the terminal shows a text below the last command.
func (r *reader) sees(text string) {
	r.t.Helper()
	limit := time.After(30 * time.Second)
	for !strings.Contains(screen.Text(r.since()), text) {
		select {
		case _, open := <-r.more:
			if !open {
				r.t.Fatalf("the terminal was closed before it showed %q:\n%s", text, screen.Text(r.since()))
			}
		case <-limit:
			r.t.Fatalf("%q does not come:\n%s", text, screen.Text(r.since()))
		}
	}
}

// ends waits for the prompt of the shell and returns the exit code of the command.
func (r *reader) ends() int {
	r.t.Helper()
	r.wait("\x1b]133;D;")
	r.wait("\a$ ")
	marks := shellMark.FindAllStringSubmatch(r.screen(), -1)
	code, err := strconv.Atoi(marks[len(marks)-1][1])
	if err != nil {
		r.t.Fatal(err)
	}
	return code
}

// begins types a command.
func (r *reader) begins(command string) {
	r.t.Helper()
	r.row = r.now().Rows() - 1
	r.types(command + "\n")
}

// draws writes a picture of rows.
func draws(t *testing.T, s shot, rows [][]screen.Cell) {
	t.Helper()
	if s.name == "" {
		return
	}
	svg, err := picture.SVG(s.title, s.description, 80, rows)
	if err != nil {
		t.Error(err)
		return
	}
	golden.Check(t, "../../docs/pictures/"+s.name+".svg", svg)
	if alone := picture.ColourAlone(rows); alone != nil {
		t.Errorf("%s: only the colour says what these are: %q", s.name, alone)
	}
}

// TestPictures: the pictures of the docs that no command of the README gives.
func TestPictures(t *testing.T) {
	t.Parallel()
	r := sitDown(t, newHome(t))
	for _, d := range drawn {
		r.does(d)
		r.finishes(d)
	}
}

// TestReadmeMake: what the reader types in place of make is what make does.
func TestReadmeMake(t *testing.T) {
	makefile := page(t, "Makefile")
	for _, recipe := range []string{"\ndemo:\n\t@go run ./cmd/agent-wrapper demo\n", "\ntest:\n\tgo run ./internal/test/all\n"} {
		if !strings.Contains(makefile, recipe) {
			t.Errorf("the Makefile has no %q", recipe)
		}
	}
}

// TestPicturesShown: each picture of docs/pictures is on a page.
func TestPicturesShown(t *testing.T) {
	pictures, err := filepath.Glob("../../docs/pictures/*")
	if err != nil || len(pictures) < 5 {
		t.Fatal(pictures, err)
	}
	all := ""
	for _, text := range userPages(t) {
		all += text
	}
	for _, file := range pictures {
		if !strings.Contains(all, "pictures/"+filepath.Base(file)+")") {
			t.Errorf("no page shows %s", file)
		}
	}
}

// prepares writes the files that a deed needs, and what the agent will do.
func prepares(t *testing.T, home string, d deed) {
	t.Helper()
	for name, text := range d.files {
		write(t, filepath.Join(home, "shop", name), text)
	}
	write(t, filepath.Join(home, "task"), strings.Join(d.uses, "\n"))
}

// does begins a deed and does what it says while the command runs.
func (r *reader) does(d deed) {
	r.t.Helper()
	prepares(r.t, r.home, d)
	typed := d.command
	if d.typed != "" {
		typed = d.typed
	}
	r.begins(typed)
	for _, a := range d.acts {
		if a.sees != "" {
			r.sees(a.sees)
		}
		if a.press != "" {
			r.press("")
		}
		if a.shot.name != "" {
			s := r.now()
			draws(r.t, a.shot, s.From(max(r.row, s.Rows()-24)))
		}
		r.types(a.press + a.types)
	}
}

// finishes waits for the end of a deed and returns what it has shown.
func (r *reader) finishes(d deed) string {
	r.t.Helper()
	code := r.ends()
	rows := r.since()
	rows = rows[:len(rows)-1] // without the prompt
	draws(r.t, d.shot, rows)
	text := screen.Text(rows)
	if code != d.code {
		r.t.Errorf("%s: exit code %d, want %d:\n%s", d.command, code, d.code, text)
	}
	if strings.Contains(strings.ToLower(text), "error") {
		r.t.Errorf("%s shows an error:\n%s", d.command, text)
	}
	return text
}

// TestReadme: who follows the README, command by command, sees what testdata/readme.txt
// and the pictures show. A command that deeds does not know is a failure, and so is one
// that is in another place.
func TestReadme(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	home := newHome(t)
	first := sitDown(t, home)
	var out strings.Builder
	var waits *deed
	rest := deeds
	for _, b := range listings(page(t, "README.md")) {
		if b.language == "toml" {
			adopts(t, home, b)
			continue
		}
		for _, command := range b.commands() {
			if len(rest) == 0 || rest[0].command != command {
				t.Fatalf("README.md:%d: the next command of the test is not %q: write a deed for it", b.line, command)
			}
			d := rest[0]
			rest = rest[1:]
			if d.alone {
				fmt.Fprintf(&out, "== %s\n\n%s\n", command, runsAlone(t, home, d))
				continue
			}
			r := first
			if waits != nil {
				r = sitDown(t, home)
			}
			r.does(d)
			if d.stays {
				waits = &d
				continue
			}
			fmt.Fprintf(&out, "== %s\n\n%s\n", command, r.finishes(d))
			if d.allows {
				id := theOnly(t, home).ID
				next := deed{command: "agent-wrapper approvals allow " + id}
				r.does(next)
				fmt.Fprintf(&out, "%s\n", r.finishes(next))
			}
			if waits != nil {
				fmt.Fprintf(&out, "== meanwhile, %s\n\n%s\n", waits.command, first.finishes(*waits))
				waits = nil
			}
		}
	}
	for _, d := range rest {
		t.Errorf("%q is not in README.md", d.command)
	}
	golden.Check(t, "testdata/readme.txt", out.String())
}

// runsAlone does a deed where nothing is a terminal and returns what was written.
func runsAlone(t *testing.T, home string, d deed) string {
	t.Helper()
	prepares(t, home, d)
	cmd := exec.Command("sh", "-c", d.command)
	cmd.Dir = filepath.Join(home, "shop")
	cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != d.code {
		t.Errorf("%s: %v, exit code %d, want %d:\n%s", d.command, err, code, d.code, out)
	}
	return steady(string(out), home)
}

// adopts takes a policy of the README for the project, and trusts it.
func adopts(t *testing.T, home string, b listing) {
	t.Helper()
	file := filepath.Join(home, "shop", policy.FileName)
	write(t, file, b.text+"\n")
	cmd := exec.Command("agent-wrapper", "trust", "--yes", file)
	cmd.Env = append(os.Environ(), "HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("README.md:%d: %v\n%s", b.line, err, out)
	}
	cmd = exec.Command("agent-wrapper", "policy", "lint", file)
	cmd.Env = append(os.Environ(), "HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), ": no findings\n") {
		t.Errorf("README.md:%d: %v\n%s", b.line, err, out)
	}
}
