package patterns

import (
	"bufio"
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

// row is one case of the corpus.
type row struct {
	ID, Tool, Must, Level, Why string
	Policy                     struct{ Allow, Ask, Deny []string }
	Input                      map[string]any
	Context                    struct {
		Cwd, Home, Fs string
		Symlinks      map[string]string
	}
}

func readLines[T any](t testing.TB, name string) []T {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []T
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var r T
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows = append(rows, r)
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestBypass matches the attacks and benign cases about paths, URLs and names.
func TestBypass(t *testing.T) {
	t.Parallel()
	count := 0
	for _, r := range readLines[row](t, "../testdata/cases/bypass.jsonl") {
		if r.Tool == "Bash" {
			continue // its lines are for package shell
		}
		count++
		got := r.decide()
		ok := got == r.Must || r.Must == "not_allow" && got != "allow" || r.Must == "ask" && got == "deny"
		if !ok {
			t.Errorf("%s (%s): %v %v under %v: %s, must %s: %s", r.ID, r.Level, r.Tool, r.Input, r.Policy, got, r.Must, r.Why)
		}
	}
	if count < 200 {
		t.Errorf("only %d rows", count)
	}
}

// decide returns the strictest answer of the three lists, ask if there is none.
func (r *row) decide() string {
	place := Place{Workspace: r.Context.Cwd, Home: r.Context.Home, Fold: r.Context.Fs == "case-insensitive"}
	if place.Workspace == "" {
		place.Workspace, place.Home = "/home/dev/proj", "/home/dev"
	}
	sets := map[List]*Set{}
	for list, texts := range map[List][]string{Allow: r.Policy.Allow, Ask: r.Policy.Ask, Deny: r.Policy.Deny} {
		var rules []*Rule
		for _, text := range texts {
			rule, _, err := Parse(text, list, Source{})
			if err != nil {
				return "deny"
			}
			rules = append(rules, rule)
		}
		sets[list] = NewSet(place, rules...)
	}
	sub := r.subject(place)
	_, deny := sets[Deny].Match(sub, Query{})
	_, ask := sets[Ask].Match(sub, Query{})
	_, allow := sets[Allow].Match(sub, Query{})
	switch {
	case deny == Yes:
		return "deny"
	case deny == Maybe || ask > No || allow != Yes:
		return "ask"
	}
	return "allow"
}

func (r *row) subject(place Place) *Subject {
	sub := &Subject{Kind: UseTool, Tool: r.Tool, Name: tools.Name(r.Tool, r.Input)}
	word := func(field string) shell.Word {
		s, _ := r.Input[field].(string)
		return shell.Word{Text: s}
	}
	switch r.Tool {
	case "Read", "Edit":
		sub.Kind = ReadPath
		if r.Tool == "Edit" {
			sub.Kind = WritePath
		}
		links := links{dir: place.Workspace, to: r.Context.Symlinks}
		sub.Path = NewPath(word("file_path"), place.Workspace, place, links.resolve)
	case "WebFetch":
		sub.Kind, sub.URL = FetchURL, NewURL(word("url"))
	}
	return sub
}

// links is a file system that only contains symbolic links.
type links struct {
	dir string
	to  map[string]string
}

func (l links) resolve(name string) (string, bool) {
	for range 40 {
		next, moved := l.step(name)
		if !moved {
			return next, true
		}
		name = next
	}
	return "", false
}

// step resolves the first link of a path.
func (l links) step(name string) (string, bool) {
	at := "/"
	rest := strings.Split(name, "/")
	for i, part := range rest {
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		here := path.Join(at, part)
		for link, target := range l.to {
			if path.Join(l.dir, link) != here && link != here {
				continue
			}
			if !path.IsAbs(target) {
				target = at + "/" + target
			}
			return target + "/" + strings.Join(rest[i+1:], "/"), true
		}
		at = here
	}
	return at, false
}
