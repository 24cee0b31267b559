//go:build hosts

package doctor

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/netns"
)

// The names of the canaries of TestAnswers, which say what comes of them.
var answerKinds = []string{"allowed", "denied", "held-allowed", "held-denied", "held-edited"}

const answerPolicy = `allow = ["Bash(touch:*)"]
deny = ["Bash(touch *canary-denied*)"]
ask = ["Bash(touch *canary-held*)"]
`

// TestAnswers feeds each kind of answer of the real hook to each host on PATH once: an
// allow, a denial, and a question that waits until a person allows, denies or edits what
// is asked about. It is not among the usual tests:
//
//	AW_HOSTS_BINARY=/path/to/agent-wrapper unshare -n go test -tags hosts ./internal/hook/doctor -run TestAnswers -v
//
// AW_HOSTS_PACKAGE=1 takes the hook of Gemini CLI as an extension, not in the settings.
func TestAnswers(t *testing.T) {
	_ = netns.Up() // if we may
	program := os.Getenv("AW_HOSTS_BINARY")
	if !Alone() || program == "" {
		t.Skip("AW_HOSTS_BINARY is not set, or there is a network here")
	}
	packaged := os.Getenv("AW_HOSTS_PACKAGE") != ""
	for _, a := range agents() {
		path, err := exec.LookPath(a.program)
		if err != nil || packaged && a.name != "gemini" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			m := &Machine{Home: t.TempDir(), Dir: t.TempDir(), Env: []string{"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")}}
			if !packaged {
				runAt(t, m.Home, program, "install", a.name, "--yes")
			}
			b, err := newBox(m, answering, patience)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(b.dir) })
			s := script{key: b.key, subKey: b.subKey}
			for _, name := range answerKinds {
				c, _ := a.proof.canary(b, name)
				s.calls = append(s.calls, c)
			}
			scripted, err := startModel(a.proof.dialect, s)
			if err != nil {
				t.Fatal(err)
			}
			defer scripted.close()
			b.url = scripted.url
			if err := a.proof.lay(b); err != nil {
				t.Fatal(err)
			}
			if err := b.settle(); !packaged && err != nil {
				t.Fatal(err)
			}
			if packaged {
				runAt(t, b.home, program, "install", a.name, "--package", filepath.Join(b.home, ".gemini", "extensions", own))
			}
			put(t, filepath.Join(b.home, ".config", own, own+".toml"), answerPolicy)
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				answersAt(ctx, t, filepath.Join(b.home, ".local", "state", own, "approvals"))
			}()
			tr := &trial{proof: &Proof{Machine: *m, Isolated: true, Limit: time.Minute}, trials: a.proof, path: path, host: a.name}
			ended := tr.drive(t.Context(), b, scripted, len(answerKinds))
			cancel()
			<-gone
			edits := a.name != "qwen" // it ignores what a person has edited
			for name, want := range map[string]bool{"allowed": true, "denied": false, "held-allowed": true, "held-denied": false, "held-edited": false, "edited": edits} {
				if ran := exists(b.marker(name)); ran != want {
					t.Errorf("%s has run: %v (the host ended: %q)", name, ran, ended)
				}
			}
			for i, words := range map[int]string{1: "denied by rule", 3: "not this one, said anna"} {
				if !scripted.told(words, s.calls[i], s.calls[i+1].token) {
					t.Errorf("%s: the model was not told %q", answerKinds[i], words)
				}
			}
			if !edits && !scripted.told("cannot run what a person has edited", s.calls[4], "") {
				t.Error("the model was not told that an edit does not count")
			}
		})
	}
}

// runAt runs our program for a person with this home.
func runAt(t *testing.T, home, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = bare(filepath.Dir(program)+":"+os.Getenv("PATH"), home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// answersAt is a person who answers what waits, as the name of the canary says.
func answersAt(ctx context.Context, t *testing.T, dir string) {
	local, err := broker.OpenLocal(dir, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer local.Close()
	for after := int64(0); ; {
		all, err := local.List(ctx, approval.Filter{After: after})
		for _, e := range all {
			after = max(after, e.Seq)
			if e.Status == approval.Pending && err == nil {
				err = answerOne(ctx, local, &e)
			}
		}
		if err == nil {
			_, err = local.Wait(ctx, after)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

func answerOne(ctx context.Context, local *broker.Local, e *approval.Entry) error {
	r := desk.Reply{ID: e.ID, Digest: e.Digest, By: "anna", Choice: desk.Once}
	var q struct{ Input json.RawMessage }
	if err := json.Unmarshal(e.Question, &q); err != nil {
		return err
	}
	switch text := string(e.Question); {
	case strings.Contains(text, "canary-held-denied-"):
		r.Choice, r.Message = desk.Deny, "not this one, said anna"
	case strings.Contains(text, "canary-held-edited-"):
		r.Choice, r.Input = desk.Edit, json.RawMessage(strings.ReplaceAll(string(q.Input), "canary-held-edited-", "canary-edited-"))
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = local.Answer(ctx, approval.Event{
		Kind: desk.Kind(r.Choice), ID: e.ID, Digest: e.Digest, By: approval.Principal{Role: approval.Person, Name: "anna"}, Message: r.Message, Input: r.Input,
	}, text)
	return err
}
