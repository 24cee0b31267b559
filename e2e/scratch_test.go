//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// privateDir is the session's directory, as the agent CLI tells it to the model.
var privateDir = regexp.MustCompile(`Put temporary files into (/[^ ,"]+/agent-wrapper-scratch-[0-9]+/tmp)`)

// inPrivate is the input of a call with the directory in place of PRIVATE.
func inPrivate(fields in) func(*model) any {
	return func(m *model) any {
		dir := "not told"
		for _, body := range m.bodies { // the caller holds the lock
			if found := privateDir.FindStringSubmatch(body); found != nil {
				dir = found[1]
			}
		}
		full := in{}
		for name, value := range fields {
			full[name] = strings.ReplaceAll(value.(string), "PRIVATE", dir)
		}
		return full
	}
}

// scratchRow is a tool use and what comes back of it: Says only if it ran.
type scratchRow struct {
	call
	Runs bool
	Says string
}

func scratchRows(b *box) []scratchRow {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: inPrivate(in{"command": command, "description": name})}
	}
	file := func(name, tool string, fields in) call { return call{Name: name, Tool: tool, Input: inPrivate(fields)} }
	temp := b.Dir + "/tmp"
	return []scratchRow{
		{bash("variable", "echo secret-of-x > $TMPDIR/x && cat PRIVATE/x"), true, "secret-of-x"},
		{file("write", "Write", in{"file_path": "PRIVATE/dir/w.txt", "content": "secret-of-w\n"}), true, ""},
		{file("read", "Read", in{"file_path": "PRIVATE/dir/w.txt"}), true, "secret-of-w"},
		{file("edit", "Edit", in{"file_path": "PRIVATE/dir/w.txt", "old_string": "secret-of-w", "new_string": "secret-of-e"}), true, ""},
		{bash("tree", `cp a.txt "$TMPDIR"/dir && cat $TMPDIR/dir/*.txt && rm -rf $TMPDIR/dir && ls $TMPDIR`), true, "secret-of-e"},
		{file("own", "Write", in{"file_path": temp + "/own.txt", "content": "secret-of-own\n"}), true, ""},
		{file("own-read", "Read", in{"file_path": temp + "/own.txt"}), true, "secret-of-own"},
		{bash("own-more", "echo more >> "+temp+"/own.txt; cat "+temp+"/own.txt"), true, "more"},
		{bash("own-gone", "rm "+temp+"/own.txt && ls "+temp), true, "old.txt"},
		{file("old-read", "Read", in{"file_path": temp + "/old.txt"}), false, "secret-of-old"},
		{bash("old-write", "echo evil > "+temp+"/old.txt"), false, ""},
		{bash("old-gone", "rm -rf "+temp+"/old.txt"), false, ""},
		{bash("others", "rm -rf "+temp+"/*"), false, ""},
		{bash("link", "echo evil > "+temp+"/link"), false, ""},
		{bash("out", "echo evil > $TMPDIR/../old.txt"), false, ""},
		{bash("run", "echo 'echo it-ran' > $TMPDIR/x.sh; sh $TMPDIR/x.sh"), false, "it-ran"},
		{bash("policy", "echo evil > $TMPDIR/agent-wrapper.toml"), false, ""},
		{bash("last", "ls $TMPDIR"), true, "x"},
	}
}

// layScratch puts into the directory for temporary files what was there before, and
// into the home start-up files of shells that name another one.
func layScratch(t *testing.T, b *box) {
	t.Helper()
	for _, name := range []string{".profile", ".bash_profile", ".bashrc"} {
		b.write("home/"+name, "export TMPDIR="+b.Out+"\n")
	}
	b.write("tmp/old.txt", "secret-of-old\n")
	b.write("tmp/agent-wrapper-scratch-7/left", "by a run that was killed\n")
	if err := os.Symlink(b.Work+"/a.txt", b.Dir+"/tmp/link"); err != nil {
		t.Fatal(err)
	}
}

func privateDirs(b *box) []string {
	dirs, _ := filepath.Glob(b.Dir + "/tmp/agent-wrapper-scratch-*")
	return dirs
}

// TestScratch: the agent has a directory of its own and may make, read and remove
// temporary files, but no others; afterwards the directory is gone.
func TestScratch(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		layScratch(t, b)
		rows := scratchRows(b)
		s := script{}
		for _, x := range rows {
			s["main"] = append(s["main"], turn{x.call})
		}
		m := startModel(t, s)
		x := wrapped{release: r}
		x.run(t, b, m, startWeb(t, b))
		for _, row := range rows {
			got, ok := m.result(row.Name)
			ran := !got.Error && strings.Contains(got.Text, row.Says)
			if !ok || ran != row.Runs {
				t.Errorf("%s: ran %v, want %v: %s", row.Name, ran, row.Runs, short(got.Text))
			}
		}
		if b.has("out/x") {
			t.Error("TMPDIR is what a start-up file of the shell says")
		}
		if old := b.readFile("tmp/old.txt"); old != "secret-of-old\n" {
			t.Errorf("old.txt became %q", old)
		}
		if a := b.readFile("repo/a.txt"); !strings.Contains(a, "secret-of-a") {
			t.Errorf("a.txt became %q", a)
		}
		if record := b.readFile("audit.jsonl"); strings.Count(record, "scratch: only temporary files") < 5 {
			t.Errorf("the record does not say scratch:\n%s", record)
		}
		if left := privateDirs(b); len(left) > 0 || b.has("tmp/own.txt") {
			t.Errorf("left: %q", left)
		}
	})
}

// TestScratchOfAKilledRun: the directory goes with a run that a signal ends, and
// with the next run if even the wrapper is killed.
func TestScratchOfAKilledRun(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		long := call{Name: "long", Tool: "Bash", Input: in{"command": "echo x > $TMPDIR/begun && tail -f $TMPDIR/begun", "description": "x"}}
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			m := startModel(t, script{"main": {turn{long}}})
			cmd := wrapped{release: r}.command(t, b, m, startWeb(t, b))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			begun := func() bool {
				found, _ := filepath.Glob(b.Dir + "/tmp/agent-wrapper-scratch-*/tmp/begun")
				return len(found) == 1
			}
			if !until(90*time.Second, begun) {
				t.Errorf("%v: the agent never came to write: %q", sig, privateDirs(b))
			}
			cmd.Process.Signal(sig)
			cmd.Wait()
			reap()
			gone(r.Path, 5*time.Second)
			end(descendants()) // of a killed wrapper
			if left := len(privateDirs(b)); sig == syscall.SIGTERM && left != 0 || sig == syscall.SIGKILL && left != 1 {
				t.Errorf("%v left %q", sig, privateDirs(b))
			}
		}
		wrapped{release: r}.run(t, b, startModel(t, script{}), startWeb(t, b))
		if left := privateDirs(b); len(left) > 0 {
			t.Errorf("the next run left %q", left)
		}
	})
}
