package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// Reads returns what a host's payload is read as, in a line.
func Reads(h *Host, payload string) (string, error) {
	r := &run{host: h, env: func(string) string { return "" }}
	e, err := r.read([]byte(payload))
	if err != nil {
		return "", err
	}
	var short bytes.Buffer
	_ = json.Compact(&short, e.Use.Input)
	return fmt.Sprintf("%s kind=%d %s %s dir=%s agent=%s id=%s asks=%v", e.Name, e.Kind, e.Use.Tool, short.String(), e.Use.Dir, e.Use.Agent, e.Use.ID, e.Asks), nil
}

// Resealed returns the file of a session with the digest of what it says now.
func Resealed(t testing.TB, text string) string {
	f := new(fixed)
	if err := json.Unmarshal([]byte(text), f); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.Digest, err = f.sum(); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
