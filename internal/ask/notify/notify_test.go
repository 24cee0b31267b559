package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

func asks(tool, input string) *permission.Request {
	return &permission.Request{Use: permission.ToolUse{Tool: tool, Input: json.RawMessage(input), Session: "s-1", Dir: "/w"}}
}

func bash(command string) *permission.Request {
	input, _ := json.Marshal(map[string]string{"command": command})
	return asks("Bash", string(input))
}

// noticed is a notifier whose ways note what they are told.
func noticed(o Options, fails error) (*Notifier, func() []string) {
	n := New(o)
	var mu sync.Mutex
	var got []string
	n.ways = []way{{"test", func(_ context.Context, x *notice, _ func(string)) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.TrimPrefix(x.Text, "agent-wrapper: "))
		return "", fails
	}}}
	return n, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

// A question is told of once, when it has waited; not if it was answered before.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, got := noticed(Options{After: 30 * time.Second}, nil)
		defer n.Close()
		passes := func(d time.Duration, want ...string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if d := cmp.Diff(want, got()); d != "" {
				t.Error(d)
			}
		}
		early := n.Waits(bash("ls"), nil)
		passes(30*time.Second - 1)
		early()
		passes(time.Minute)
		late := n.Waits(bash("make"), nil)
		passes(30*time.Second, "a question waits: Bash: make")
		passes(time.Hour, "a question waits: Bash: make")
		late()
		late()
		again := n.Waits(bash("make"), nil)
		passes(time.Minute, "a question waits: Bash: make", "a question waits: Bash: make")
		again()
	})
}

// Questions that are due within a few seconds are told of together, the oldest by name;
// one that comes later is told of by itself.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, got := noticed(Options{After: 30 * time.Second}, nil)
		defer n.Close()
		n.Waits(bash("one"), nil)
		time.Sleep(time.Second)
		gone := n.Waits(bash("two"), nil)
		n.Waits(bash("three"), nil)
		time.Sleep(3 * time.Second)
		n.Waits(bash("four"), nil)
		gone()
		time.Sleep(time.Second)
		n.Waits(bash("five"), nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if d := cmp.Diff([]string{"4 questions wait: Bash: one", "4 questions wait: Bash: five"}, got()); d != "" {
			t.Error(d)
		}
	})
}

// answering answers when it is told to.
type answering chan struct{}

func (a answering) Approve(ctx context.Context, _ permission.Request) (permission.Answer, error) {
	select {
	case <-a:
		return permission.Answer{Behavior: permission.Allow}, nil
	case <-ctx.Done():
		return permission.Answer{}, ctx.Err()
	}
}

// A way that hangs holds up neither the answer nor the end, and its failure is told once.
func TestNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var warned []string
		n := New(Options{After: time.Second, Warn: func(text string) { warned = append(warned, text) }})
		n.ways = []way{{"webhook", func(ctx context.Context, _ *notice, _ func(string)) (string, error) {
			<-ctx.Done()
			return "", errors.New("it did not answer")
		}}}
		next := make(answering, 1)
		begun := time.Now()
		ask := func(after time.Duration) {
			time.AfterFunc(after, func() { next <- struct{}{} })
			if a, err := n.Approver(next, nil).Approve(t.Context(), *bash("ls")); err != nil || a.Behavior != permission.Allow {
				t.Error(a, err)
			}
		}
		ask(2 * time.Second)
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("the answer came after %v", took)
		}
		ask(time.Minute)
		synctest.Wait()
		if d := cmp.Diff([]string{"no notice by notify.webhook that a question waits: it did not answer"}, warned); d != "" {
			t.Error(d)
		}
		ask(2 * time.Second)
		n.Close()
		if len(n.all) != 0 || len(warned) != 1 {
			t.Errorf("%d questions left, warned %q", len(n.all), warned)
		}
		n.Waits(bash("ls"), nil)()
	})
}

// Without a notifier, or nobody to ask, nothing is put in between.
func TestNone(t *testing.T) {
	var none *Notifier
	next := make(answering, 1)
	if none.Approver(next, nil) != permission.Approver(next) || New(Options{}).Approver(nil, nil) != nil {
		t.Error("something is between")
	}
	none.Waits(bash("ls"), nil)()
	none.Close()
}

// TestNoSecrets: what leaves this process has no secret of the tool use, also where it is
// cut.
func TestNoSecrets(t *testing.T) {
	const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for _, r := range []*permission.Request{
		bash("curl -H 'Authorization: Bearer " + secret + "' https://example.com"),
		bash("GITHUB_TOKEN=" + secret + " gh pr create"),
		bash(strings.Repeat("x", 180) + " --token " + secret),
		bash("sshpass -p hunter2hunter2 ssh host"),
		bash("curl -u me:hunter2hunter2 https://example.com"),
		bash("cat > k <<E\n-----BEGIN PRIVATE KEY-----\nhunter2hunter2hunter2hunter2hunter2\n-----END PRIVATE KEY-----\nE"),
		asks("mcp__git__push", `{"token":"`+secret+`","nested":{"password":"hunter2hunter2","list":["`+secret+`"]}}`),
		asks("mcp__"+secret, `{}`),
		asks("WebFetch", `{"url":"https://user:hunter2hunter2@example.com/?key=`+secret+`"}`),
		{Use: permission.ToolUse{Tool: "Read", Input: json.RawMessage(`{"file_path":"/a"}`), Dir: "/w/" + secret, Session: secret}},
		asks("Write", `{"file_path":"/w/a","content":"the content hunter2hunter2"}`),
	} {
		x := about(&r.Use)
		x.complete(time.Minute, 2)
		body, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{secret, secret[:20], "hunter2", "the content"} {
			if strings.Contains(string(body), word) {
				t.Errorf("%s is told: %s", word, body)
			}
		}
	}
}

// A real webhook gets the notice, and a real program has it as its input.
func TestWebhookAndCommand(t *testing.T) {
	bodies := make(chan string, 2)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	defer hook.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2hunter2")
	script(t, filepath.Join(home, "tell"), `cat > got.json; env > got.env; echo "$*" > got.args; pwd -P > got.dir; mv got.json done.json`)
	warned := make(chan string, 1)
	n := New(Options{Path: os.Getenv("PATH"), After: time.Millisecond, Command: []string{"./tell", "$(id)", "a b"}, Webhook: hook.URL, Warn: func(text string) { warned <- text }})
	answered := n.Waits(bash("git push origin main"), nil)
	const want = `{"title":"agent-wrapper: a question waits","text":"agent-wrapper: a question waits: Bash: git push origin main","tool":"Bash","summary":"git push origin main","session":"s-1","dir":"/w","waited_s":0,"waiting":1}`
	if got := <-bodies; got != want {
		t.Errorf("the webhook: %s", got)
	}
	n.sends.Wait()
	answered()
	n.Close()
	select {
	case text := <-warned:
		t.Error(text)
	default:
	}
	for name, want := range map[string]string{"done.json": want, "got.args": "$(id) a b\n", "got.dir": home + "\n"} {
		got, err := os.ReadFile(filepath.Join(home, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if env, err := os.ReadFile(filepath.Join(home, "got.env")); err != nil || strings.Contains(string(env), "hunter2") || !strings.Contains(string(env), "HOME=") {
		t.Errorf("the program's environment: %s, %v", env, err)
	}
}

// script writes a program.
func script(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Each way says in words how it went.
func TestTry(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("SSH_CONNECTION", "")
	t.Setenv("TERM", "xterm")
	gone := httptest.NewServer(nil)
	gone.Close()
	script(t, filepath.Join(home, "fails"), "exit 3")
	var written strings.Builder
	terminal := func(text string) { written.WriteString(text) }
	use := bash("ls").Use
	tried := func(o Options, terminal func(string)) string {
		var out []string
		n := New(o)
		defer n.Close()
		n.Try(t.Context(), &use, terminal, func(way, how string, err error) {
			if err != nil {
				how = "FAILED " + err.Error()
			}
			out = append(out, way+": "+how)
		})
		return strings.Join(out, "\n")
	}
	for _, c := range []struct {
		o        Options
		terminal func(string)
		want     string
	}{
		{Options{Bell: true, Command: []string{"./fails"}, Webhook: gone.URL}, terminal, "bell: the terminal was rung\ncommand: FAILED ./fails ended with exit code 3\nwebhook: FAILED nothing listens at the webhook's address"},
		{Options{Bell: true}, nil, "bell: no terminal asks here, so none rings"},
		{Options{Command: []string{"no-such-program"}}, nil, "command: FAILED no-such-program cannot be started: it is not on PATH, or may not be run"},
	} {
		if got := tried(c.o, c.terminal); got != c.want {
			t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
		}
	}
	if written.String() != "\a" {
		t.Errorf("the terminal got %q", written.String())
	}
}

// The desktop's program gets what the agent wrote as text; without one, and through SSH,
// the terminal is asked, if it may know how.
func TestDesktop(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	script(t, filepath.Join(dir, "notify-send"), `printf '%s|' "$@" > `+dir+`/got`)
	x := about(&bash("-u critical <b>\x1b]9;x\a && rm").Use)
	x.complete(0, 1)
	if argv := notifier("darwin", &x); argv[0] != "osascript" || argv[len(argv)-1] != "Bash: -u critical <b><U+001B>]9;x<U+0007> && rm" {
		t.Errorf("%q", argv)
	}
	if argv := notifier("windows", &x); argv != nil {
		t.Errorf("%q", argv)
	}
	var written strings.Builder
	terminal := func(text string) { written.WriteString(text) }
	for _, c := range []struct {
		name, ssh, term, path string
		terminal              func(string)
		fails                 bool
		want                  string // on the terminal
	}{
		{"program", "", "xterm", dir + ":/usr/bin:/bin", terminal, false, ""},
		{"remote", "1.2.3.4", "xterm", dir + ":/usr/bin:/bin", terminal, false, "\x1b]9;agent-wrapper: a question waits: Bash: -u critical <b><U+001B>]9;x<U+0007> && rm\a"},
		{"no program", "", "xterm", "/nowhere", terminal, false, "\x1b]9;agent-wrapper: a question waits: Bash: -u critical <b><U+001B>]9;x<U+0007> && rm\a"},
		{"dumb", "", "dumb", "/nowhere", terminal, true, ""},
		{"nothing", "", "xterm", "/nowhere", nil, true, ""},
	} {
		t.Setenv("SSH_CONNECTION", c.ssh)
		t.Setenv("TERM", c.term)
		t.Setenv("PATH", c.path)
		written.Reset()
		if how, err := (&Notifier{o: Options{Path: c.path}}).desktop(t.Context(), &x, c.terminal); (err != nil) != c.fails || written.String() != c.want {
			t.Errorf("%s: %q, %v; the terminal got %q", c.name, how, err, written.String())
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "got"))
	if want := "--app-name=agent-wrapper|--|agent-wrapper: a question waits|Bash: -u critical &lt;b&gt;&lt;U+001B&gt;]9;x&lt;U+0007&gt; &amp;&amp; rm|"; err != nil || string(got) != want {
		t.Errorf("notify-send got %s, %v", got, err)
	}
}
