package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
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
