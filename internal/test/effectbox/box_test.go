//go:build oracle && linux

package effectbox

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	Main(nil)
	os.Exit(m.Run())
}

func open(t *testing.T) *Box {
	t.Helper()
	box, err := Open(Config{
		Real: []string{"sh", "dash", "bash", "cat", "env", "xargs", "find", "rm", "egrep", "grep", "sleep", "id", "ls"}, Stubs: []string{"c1", "c2"},
		Dir: "/w", Home: "/home",
		Tree: []File{
			{Path: "/w", Kind: Dir}, {Path: "/home", Kind: Dir}, {Path: "/tmp", Kind: Dir},
			{Path: "/w/a", Data: []byte("a\n")}, {Path: "/w/l", Kind: Link, Data: []byte("a")}, {Path: "/w/d", Kind: Dir},
			{Path: "/w/tool", Data: []byte("#!/usr/bin/run\n"), Mode: 0o755}, {Path: "/w/d/b"},
		},
	}, t.TempDir())
	if err == ErrNotRoot {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}

// TestSeen checks that what a line starts and changes is reported, however it
// is done.
func TestSeen(t *testing.T) {
	box := open(t)
	tests := []struct {
		line    string
		extra   []File
		started string // argv, one record each; > for each ancestor
		changes string
	}{
		{line: "c1 'a b' ''", started: "c1|a b|"},
		{line: "none x"},
		{line: "echo x >n", changes: "/w/n created"},
		{line: "echo x >/n; echo x >/usr/bin/c1; echo x >/log/bare; echo >/real/bin/cat"},
		{line: "rm a d/b", started: "rm|a|d/b", changes: "/w/a removed, /w/d/b removed"},
		{line: "cat a", started: "cat|a"}, // restored
		{line: "chmod +x a; echo >>a", changes: "/w/a content"},
		{line: "find d -exec c2 {} ';'", started: "find|d|-exec|c2|{}|;, >c2|d, >c2|d/b"},
		{line: "echo x | xargs env X=1 c1", started: "xargs|env|X=1|c1, >env|X=1|c1|x, >>c1|x"},
		{line: "env -i /bin/sh -c 'c1; c2'", started: "env|-i|/bin/sh|-c|c1; c2, >/bin/sh|-c|c1; c2, >>c1, >>c2"},
		{line: "(exec -a other c1 y)", started: "other|y"},
		{line: "./tool x", started: "./tool|x"},
		{line: "egrep x a", started: "egrep|x|a, >grep|-E|x|a"},
		{line: "c1 $(c2)", started: "c2, c1|-rf|--output=x|c9|c9|/outside/f"},
		{line: "c1 *.x", extra: []File{{Path: "/w/-o.x"}}, started: "c1|-o.x"},
		{line: "(sleep 0.2; echo >late) & c1", started: "c1, sleep|0.2", changes: "/w/late created"},
		{line: "ln -s /etc l2; cat </dev/null 2>/dev/null", started: "cat"},
	}
	for _, tt := range tests {
		got, err := box.Run(Request{Line: tt.line, Extra: tt.extra})
		if err != nil {
			t.Fatalf("%s: %v", tt.line, err)
		}
		started := list(got.Started)
		if strings.Contains(tt.line, "&") { // the order of the two is not defined
			slices.Sort(started)
		}
		if d := cmp.Diff(tt.started, strings.Join(started, ", ")); d != "" {
			t.Errorf("%s started\n%s", tt.line, d)
		}
		var changes []string
		for _, c := range got.Changes {
			changes = append(changes, c.Path+" "+c.What)
		}
		if d := cmp.Diff(tt.changes, strings.Join(changes, ", ")); d != "" {
			t.Errorf("%s changed\n%s", tt.line, d)
		}
	}
}

func list(all []Started) (out []string) {
	for _, s := range all {
		text := strings.Join(s.Argv, "|")
		for at := s.Parent; at >= 0; at = all[at].Parent {
			text = ">" + text
		}
		out = append(out, text)
	}
	return out
}

// TestIsolated checks that a line runs unprivileged, alone, without a network
// and for a limited time.
func TestIsolated(t *testing.T) {
	box := open(t)
	for _, tt := range []struct{ line, changed string }{
		{"[ $(id -u) = 64999 ] && echo >yes", "/w/yes"},
		{"ls /proc/[0-9]* -d | { n=0; while read x; do n=$((n+1)); done; [ $n -lt 6 ] && echo >few; }", "/w/few"},
		{"[ $(ls /proc/self/root/) ] ; [ -e /work ] || [ -e /root ] || [ -e /var ] || echo >closed", "/w/closed"},
		{"exec 3<>/dev/tcp/127.0.0.1/1 || echo >offline", "/w/offline"},
		{"while read x; do case $x in lo:*) ;; *:*) echo >net;; esac; done </proc/net/dev", ""},
	} {
		got, err := box.Run(Request{Line: tt.line})
		if err != nil {
			t.Fatal(err)
		}
		changed := ""
		for _, c := range got.Changes {
			changed += c.Path
		}
		if changed != tt.changed {
			t.Errorf("%s changed %q, want %q", tt.line, changed, tt.changed)
		}
	}
	got, err := box.Run(Request{Line: "(trap '' TERM; sleep 100) & while :; do :; done"})
	if err != nil || !got.TimedOut {
		t.Errorf("an endless line: %+v, %v", got, err)
	}
	if got, err = box.Run(Request{Line: "c1"}); err != nil || len(got.Started) != 1 || got.TimedOut {
		t.Errorf("the line after it: %+v, %v", got, err)
	}
}
