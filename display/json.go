package display

import (
	"bytes"
	"encoding/json"
)

// JSON writes the ask for an editor or a web page: one line, its fields as
// documented at Ask. Every text in it is fit to be shown as it is; it is to be
// shown as text, never as markup.
func (a *Ask) JSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	if err := encoder.Encode(a); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
