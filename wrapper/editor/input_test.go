package editor

import (
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
)

// TestReply: what a line answers, in the names of the choices and in those of the
// options that older editors show.
func TestReply(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"approval_response","choice":"once"}`:               desk.Once,
		`{"type":"approval_response","choice":"allow_once"}`:         desk.Once,
		`{"type":"approval_response","choice":"deny_once"}`:          desk.Deny,
		`{"type":"approval_response","choice":"allow_for_session"}`:  desk.Session,
		`{"type":"approval_response","choice":"deny_for_session"}`:   desk.Never,
		`{"type":"approval_response","choice":"while","for":60}`:     desk.While,
		`{"type":"approval_response"}`:                               "",
		`{"type":"choices_response","choice":"once","answers":null}`: desk.Answers,
	} {
		in, err := decode([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if got := in.reply().Choice; got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// FuzzInput: no line of an editor is a crash, and none is read as two things.
func FuzzInput(f *testing.F) {
	for _, line := range []string{
		`{"type":"approval_response","approval_id":"1","digest":"d","choice":"while","rung":0,"rules":["Bash(a)"],"for":60,"times":2,"input":{"a":1},"message":"m"}`,
		`{"type":"choices_response","approval_id":"1","answers":{"q":"a"}}`, `{"type":"user_message","text":"x"}`, `{"type":"set_mode","mode":"plan"}`,
		`{"type":"interrupt"}`, `{"type":"shutdown","type":"interrupt"}`, `{"Type":"shutdown"}`, `{"type":1}`, `[]`, `{`, "\xff", `{"type":"a","rung":1.5}`, `null`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := decode(text)
		if err == nil && in.Type == "" {
			t.Errorf("%q has no type", text)
		}
		if err != nil && (in.Type != "" || in.Input != nil) {
			t.Errorf("%q is read in part: %+v", text, in)
		}
		_ = in.reply()
	})
}
