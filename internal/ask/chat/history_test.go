package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHistory: prompts are kept with secrets masked, for the user alone, and not those
// that begin with a blank.
func TestHistory(t *testing.T) {
	f := FolderOf(t.TempDir(), "/w")
	h, err := openHistory(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "use PASSWORD=hunter2-and-more", " not this", "two\nlines", "two\nlines"} {
		if err := h.add(text); err != nil {
			t.Error(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(f.dir, promptsName))
	if want := "\"one\"\n\"use PASSWORD=REDACTED\"\n\"two\\nlines\"\n"; string(data) != want || err != nil {
		t.Errorf("the file: %q, %v", data, err)
	}
	for path, mode := range map[string]os.FileMode{f.dir: 0o700, filepath.Join(f.dir, promptsName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	var e edit
	h.older(&e)
	h.older(&e)
	if e.String() != "use PASSWORD=hunter2-and-more" {
		t.Errorf("in the same conversation: %q", e.String())
	}
	again, err := openHistory(f)
	if err != nil || !again.older(&e) || !again.older(&e) || e.String() != "use PASSWORD=REDACTED" {
		t.Errorf("in the next one: %q, %v", e.String(), err)
	}
	if other, _ := openHistory(FolderOf(filepath.Dir(filepath.Dir(f.dir)), "/other")); len(other.all) != 0 {
		t.Errorf("another workspace has %q", other.all)
	}
}

// TestHistoryEnds: it does not grow for ever, and what cannot be read is left out.
func TestHistoryEnds(t *testing.T) {
	f := FolderOf(t.TempDir(), "/w")
	h, _ := openHistory(f)
	for i := range 2*maxPrompts + 1 {
		h.add(fmt.Sprint("prompt ", i))
	}
	h.add(strings.Repeat("x", maxPromptSize+1))
	file, _ := os.OpenFile(filepath.Join(f.dir, promptsName), os.O_APPEND|os.O_WRONLY, 0)
	fmt.Fprintln(file, "{broken")
	file.Close()
	again, err := openHistory(f)
	if err != nil || len(again.all) != maxPrompts || again.all[maxPrompts-1] != fmt.Sprint("prompt ", 2*maxPrompts) {
		t.Errorf("%d prompts, %v", len(again.all), err)
	}
	if data, _ := os.ReadFile(filepath.Join(f.dir, promptsName)); strings.Count(string(data), "\n") != maxPrompts {
		t.Errorf("the file has %d lines", strings.Count(string(data), "\n"))
	}
}

// TestNothingKept: without a folder there are no files.
func TestNothingKept(t *testing.T) {
	h, err := openHistory(Folder{})
	if err != nil || h.add("one") != nil || FolderOf("", "/w") != (Folder{}) || (Folder{}).SetLast("s", time.Now()) != nil {
		t.Error("something is kept nowhere")
	}
}

func TestLast(t *testing.T) {
	f := FolderOf(t.TempDir(), "/w")
	if id, err := f.Last(); id != "" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	if err := f.SetLast("s-1", time.Now()); err != nil {
		t.Fatal(err)
	}
	if id, err := f.Last(); id != "s-1" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	for _, broken := range []string{"{}", `{"v":2,"session":"x"}`, `{"v":1,"session":"x","session":"y"}`, ""} {
		os.WriteFile(filepath.Join(f.dir, "last.json"), []byte(broken), 0o600)
		if id, err := f.Last(); err == nil {
			t.Errorf("%q gives %q", broken, id)
		}
	}
}
